"""Authorized Retrieval, a hands-on lab: the package that every notebook imports. Modules are the map, this is the door.

A name is loaded from its room when it is first asked for, so that `import labsupport` is quick and pandas, matplotlib and
ipywidgets come in only where something is drawn. Data flows one way through the rooms:

    document → chunk → label → shelf → rankings → fusion → hits → grounding → prompt
"""

from __future__ import annotations

import importlib

_ROOMS = {
    "model": ("EVERYONE", "CLASSIFICATIONS", "Document", "AccessLabel", "Chunk", "Principal", "Hit"),
    "entitlement": ("can_read",),
    "tokens": ("tokenize", "estimate_tokens", "ranked_text"),
    "chunking": ("chunk_document",),
    "embedding": ("hash_embed", "cosine"),
    "minilm": ("MiniLM",),
    "vectors": ("StoredEmbedder", "committed_vectors"),
    "bm25": ("idf",),
    "index": ("Index", "Ranking"),
    "fusion": ("RRF_K", "reciprocal_rank_fusion"),
    "reranking": ("lexical_overlap_reranker", "rerank"),
    "retriever": ("RetrievalPolicy", "RetrievalResult", "AuditRecord", "AuthorizedRetriever"),
    "ingestion": ("CorpusScope", "IngestJob", "ingest"),
    "guardrails": ("EMPTY_ANSWER", "check_query", "clean_answer", "has_card_number", "has_secret_key", "keyed_hash"),
    "quotes": ("Span", "quote_in", "check_evidence"),
    "grounding": ("Claim", "GroundingReport", "Verdict", "check_grounding"),
    "assembly": ("AssembledContext", "Segment", "UnreadableChunk", "assemble_context"),
    "caching": ("LAB_PRICES", "LAYOUTS", "PROVIDER_PRICES", "CacheStatistics", "PrefixCache", "PromptPrices", "ResultCache",
                "break_even_read_price", "cache_key", "conversation", "shared_prefix", "simulate"),
    "session": ("Session", "Handoff", "parrot", "search_policy"),
    "worlds": ("World", "Twins", "load_world"),
    "generator": ("generate",),
    "errors": ("RetrievalError", "StaleVersion", "StaleLabel", "FetchForbidden", "OutOfScope", "QueryRefused", "QuoteNotFound",
               "EmbeddingMismatch", "EmbeddingFailed", "BudgetTooSmall", "WorldError", "SavedIndexError", "LegsFailed"),
    "lesson.predictions": ("predict", "reveal", "surprises"),
    "lesson.checks": ("check", "TODO"),
    "lesson.switch": ("Switch", "side_by_side"),
    "lesson.tables": ("show_table",),
    "lesson.hits": ("show_hits",),
    "lesson.figures": ("PALETTE", "HATCHES", "MARKERS", "LINES", "new_figure", "show_figure"),
    "lesson.assistant": ("serve", "compare_designs"),
    "lesson.two_worlds": ("two_worlds", "Seen", "differences"),
    "lesson.readers": ("readers",),
    "lesson.leak_log": ("leak_log",),
    "lesson.shown": ("show_source",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = list(_ROOM_OF)


def __getattr__(name: str):
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'labsupport' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"labsupport.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
