"""The way in for a question: open shelves, drop stale, rank both legs, cut, fuse, cap, rerank, floor, cut. Notebook 05.

A result holds only what the principal may know. What the operator may know goes to the audit record.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from labsupport.errors import EmbeddingMismatch, LegsFailed
from labsupport.fusion import RRF_K, reciprocal_rank_fusion
from labsupport.guardrails import check_query, keyed_hash
from labsupport.index import Ranking
from labsupport.model import Chunk, Hit, Principal
from labsupport.reranking import Reranker, lexical_overlap_reranker, overlap, rerank
from labsupport.tokens import estimate_tokens, tokenize


@dataclass(frozen=True)
class RetrievalPolicy:
    """The knobs of one retrieval, checked at construction.

    `max_stale_ticks`: oldest age that may answer (`None`: any). `candidate_limit`: cut of each leg. `result_limit`: final cut.
    `min_score`: the reranker's floor, exclusive. `max_chunks_per_doc`: diversity. `expand_parent`: hand over the readable
    parent section in `Hit.context`, up to `parent_max_tokens`. `rrf_k`: the constant of the fusion.
    """

    max_stale_ticks: int | None = None
    enable_rerank: bool = True
    min_score: float = 0.0
    candidate_limit: int = 12
    result_limit: int = 5
    max_chunks_per_doc: int | None = None
    expand_parent: bool = False
    parent_max_tokens: int = 256
    rrf_k: int = RRF_K

    def __post_init__(self):
        for name, least, optional in (("max_stale_ticks", 0, True), ("candidate_limit", 1, False), ("result_limit", 1, False),
                                      ("max_chunks_per_doc", 1, True), ("parent_max_tokens", 1, False), ("rrf_k", 1, False)):
            value = getattr(self, name)
            if value is None and optional:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number from {least}{' or None' if optional else ''}, got {value!r}")
        for name in ("enable_rerank", "expand_parent"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if isinstance(self.min_score, bool) or not isinstance(self.min_score, (int, float)) or not math.isfinite(self.min_score):
            raise ValueError(f"min_score must be a finite number, got {self.min_score!r}")


@dataclass(frozen=True)
class RetrievalResult:
    """What the principal may know, and no more: every field is a function of the question and of what they may read.

    `degraded` names what was shed or failed: `lexical`, `dense`, `rerank`. `excluded_by_freshness` counts readable live
    chunks over the age limit, whatever the question. `citations` stand in the order of the hits.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    excluded_by_freshness: int
    citations: tuple[str, ...]


@dataclass(frozen=True)
class AuditRecord:
    """The operator's side of one retrieval: no query text and no chunk text. Read in notebook 09.

    `excluded_by_entitlement` counts the distinct chunks of the tenant on closed shelves. `postings_read` and `vectors_read`
    are the work, which depends on the open shelves alone. `query_hash` is keyed: a plain hash of a short question can be guessed.
    """

    actor: str
    tenant: str
    groups: tuple[str, ...]
    query_hash: str
    query_length: int
    returned: tuple[str, ...]
    dropped: tuple[str, ...]
    excluded_by_entitlement: int
    excluded_by_freshness: int
    postings_read: int
    vectors_read: int
    degraded: tuple[str, ...]
    now_tick: int
    policy: RetrievalPolicy


class Engine(Protocol):
    """What a store must offer so that a retriever can ask it: rankings for a principal, never without one."""

    def lexical(self, query: str, *, principal: Principal, limit: int | None, stale_before: int | None) -> list[Hit]: ...

    def dense(self, query: str, *, principal: Principal, limit: int | None, stale_before: int | None,
              collisions: bool) -> list[Hit]: ...

    def stale(self, *, principal: Principal, stale_before: int) -> int: ...

    def closed_to(self, principal: Principal) -> int: ...

    def siblings(self, chunk: Chunk, *, principal: Principal) -> list[Chunk]: ...

    def snapshot(self) -> Engine: ...


def stand_in(query: str, chunk: Chunk) -> float:
    """The default: `lexical_overlap_reranker`, by the engine's own tokenizer, where its embedder knows no meaning; no reranker
    where it does."""
    return lexical_overlap_reranker(query, chunk)


class AuthorizedRetriever:
    """Asks an engine in a principal's name. There is no way to ask without one.

    `reranker` scores (question, chunk); the default is the stand-in that counts shared words, or none where the engine's
    embedder knows meaning; one that is named is used whatever the embedder knows; `None` turns it off. `audit` is called with
    an `AuditRecord` for each retrieval. Raises `TypeError` for a reranker that cannot be called. Notebook 05.
    """

    def __init__(self, engine: Engine, *, reranker: Reranker | None = stand_in,
                 audit: Callable[[AuditRecord], object] | None = None):
        if reranker is not None and not callable(reranker):
            raise TypeError(f"reranker must be a function of a question and a chunk, or None, got {reranker!r}")
        if reranker is stand_in:
            knows_meaning = getattr(getattr(engine, "embedder", None), "knows_meaning", False)
            reranker = None if knows_meaning else partial(overlap, tokenizer=getattr(engine, "tokenizer", tokenize))
        self.engine = engine
        self.reranker = reranker
        self.audit = audit

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        """The best readable chunks for a question, at most `policy.result_limit`, with citations.

        Without a reranker the fused order stands and `min_score` is not applied: sums of 1/(60+rank) are no scale of
        relevance. If one leg or the reranker fails, the rest answers and `degraded` says so; if both legs fail, `LegsFailed`.
        Raises `QueryRefused` for a question that must not be searched, `TypeError` without a principal.
        """
        if not isinstance(principal, Principal):
            raise TypeError(f"retrieve needs a Principal, who asks; got {principal!r}")
        if not isinstance(policy, RetrievalPolicy):
            raise TypeError(f"policy must be a RetrievalPolicy, got {policy!r}")
        if isinstance(now_tick, bool) or not isinstance(now_tick, int):
            raise ValueError(f"now_tick must be a whole number of ticks, got {now_tick!r}")
        query = check_query(query)
        engine = self.engine.snapshot()  # both legs read one instant
        stale_before = None if policy.max_stale_ticks is None else now_tick - policy.max_stale_ticks
        legs, degraded = self._legs(engine, query, principal, stale_before, policy.candidate_limit)
        fused = reciprocal_rank_fusion(legs, k=policy.rrf_k, limit=None)
        hits = _at_most_per_document(fused, policy.max_chunks_per_doc)
        if self.reranker is not None:
            reranked = self._second_look(query, hits, policy)
            if reranked is None:
                degraded += ("rerank",)
            else:
                hits = reranked
        hits = hits[: policy.result_limit]
        if policy.expand_parent:
            windows = [engine.siblings(hit.chunk, principal=principal) for hit in hits]
            parents = [_parent(hit.chunk, around, policy.parent_max_tokens) for hit, around in zip(hits, windows)]
            hits = [replace(hit, context=parent) for hit, parent in zip(hits, parents)]
        excluded = 0 if stale_before is None else engine.stale(principal=principal, stale_before=stale_before)
        result = RetrievalResult(tuple(hits), degraded, excluded, tuple(hit.chunk.citation() for hit in hits))
        if self.audit is not None:
            returned = tuple(hit.chunk_id for hit in hits)
            self.audit(AuditRecord(
                actor=principal.user_id, tenant=principal.tenant, groups=tuple(sorted(principal.groups)),
                query_hash=keyed_hash(query), query_length=len(query), returned=returned,
                dropped=tuple(hit.chunk_id for hit in fused if hit.chunk_id not in returned),
                excluded_by_entitlement=engine.closed_to(principal), excluded_by_freshness=excluded,
                postings_read=sum(getattr(leg, "postings", 0) for leg in legs),
                vectors_read=sum(getattr(leg, "vectors", 0) for leg in legs),
                degraded=degraded, now_tick=now_tick, policy=policy))
        return result

    def _second_look(self, query: str, hits: list[Hit], policy: RetrievalPolicy) -> list[Hit] | None:
        """The reranked hits, or `None` where the reranker was shed or failed: the fused order is still an answer."""
        if not policy.enable_rerank:
            return None
        try:
            return rerank(query, hits, reranker=self.reranker, limit=policy.result_limit, min_score=policy.min_score)
        except Exception:
            return None

    @staticmethod
    def _legs(engine: Engine, query: str, principal: Principal, stale_before: int | None,
              limit: int) -> tuple[list[list[Hit]], tuple[str, ...]]:
        legs: list[list[Hit]] = []
        degraded: tuple[str, ...] = ()
        failures: list[Exception] = []
        for name, ask in (("lexical", engine.lexical), ("dense", lambda *args, **kw: engine.dense(*args, collisions=False, **kw))):
            try:
                legs.append(ask(query, principal=principal, limit=limit, stale_before=stale_before))
            except EmbeddingMismatch:
                raise  # a wrong set-up, not a bad moment: half an answer would hide it
            except Exception as failure:
                legs.append(Ranking())
                degraded += (name,)
                failures.append(failure)
        if len(failures) == len(legs):
            raise LegsFailed("both legs of the search failed; nothing was searched") from failures[0]
        return legs, degraded


def _at_most_per_document(hits: list[Hit], most: int | None) -> list[Hit]:
    if most is None:
        return hits
    seen: Counter[str] = Counter()
    kept = []
    for hit in hits:
        seen[hit.chunk.doc_id] += 1
        if seen[hit.chunk.doc_id] <= most:
            kept.append(hit)
    return kept


def _parent(chunk: Chunk, siblings: list[Chunk], max_tokens: int) -> str:
    """The readable windows around a chunk, merged by span, as far as the budget lasts.

    Made from chunks that are readable now, never from a stored copy of the whole document. Between two windows of one
    section there is nothing but blanks.
    """
    if len({other.start_char for other in siblings}) < len(siblings):
        return chunk.text  # given one by one, through `upsert`: their spans say nothing of each other
    first = next(number for number, other in enumerate(siblings) if other.chunk_id == chunk.chunk_id)
    last = first + 1
    while True:
        wider = [(start, end) for start, end in ((first, last + 1), (first - 1, last)) if 0 <= start and end <= len(siblings)
                 and estimate_tokens(_merged(siblings[start:end])) <= max_tokens]
        if not wider:
            return _merged(siblings[first:last])
        first, last = wider[0]


def _merged(windows: list[Chunk]) -> str:
    """One text of windows in the order of their spans: what two of them share stands once, blanks between them as a break."""
    text, end = "", windows[0].start_char
    for window in windows:
        text += "\n" * min(2, max(0, window.start_char - end)) + window.text[max(0, end - window.start_char):]
        end = max(end, window.end_char)
    return text
