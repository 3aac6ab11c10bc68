"""The second look at the fused top, with a floor: without one "nothing relevant" looks like "the least irrelevant"."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from labsupport.model import Chunk, Hit, whole_number
from labsupport.tokens import ranked_text, tokenize

Reranker = Callable[[str, Chunk], float]


def lexical_overlap_reranker(query: str, chunk: Chunk) -> float:
    """The lab's stand-in for a cross-encoder: the share of the distinct query words that the chunk holds, plus a quarter
    of (their occurrences / the chunk's tokens). From 0.0 to 1.25. It counts shared words and knows no meaning. Notebook 10.
    """
    return overlap(query, chunk, tokenizer=tokenize)


def overlap(query: str, chunk: Chunk, *, tokenizer: Callable[[str], list[str]]) -> float:
    """`lexical_overlap_reranker` by the words of another tokenizer: what an index found by its own, its floor must not drop."""
    wanted = set(tokenizer(query))
    words = Counter(tokenizer(ranked_text(chunk)))
    if not wanted or not words:
        return 0.0
    occurrences = sum(words[word] for word in sorted(wanted))
    return sum(word in words for word in wanted) / len(wanted) + 0.25 * (occurrences / words.total())


def rerank(query: str, candidates: Sequence[Hit], *, reranker: Reranker = lexical_overlap_reranker, limit: int = 5,
           min_score: float = 0.0) -> list[Hit]:
    """Score each candidate again, keep those strictly above `min_score`, best first, ties by chunk id; at most `limit`.

    It reads the pair of question and chunk, so nothing can be computed ahead: that is why it runs over a few candidates
    and never over the index. Raises `ValueError` for a limit below 1, a floor that is no number or a score that is not
    finite. Notebook 10.
    """
    whole_number("limit", limit)
    if not isinstance(min_score, (int, float)) or math.isnan(min_score):
        raise ValueError(f"min_score must be a number, got {min_score!r}")
    scored = []
    for hit in candidates:
        score = float(reranker(query, hit.chunk))
        if not math.isfinite(score):
            raise ValueError(f"reranker returned {score!r}; a score must be finite")
        scored.append(replace(hit, score=score))
    scored.sort(key=lambda hit: (-hit.score, hit.chunk_id))
    return [hit for hit in scored if hit.score > min_score][:limit]
