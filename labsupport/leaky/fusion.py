"""Fusions that read scores, and fusions that run before the filter. Attacked in notebook 03."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from labsupport.entitlement import can_read
from labsupport.fusion import reciprocal_rank_fusion
from labsupport.guardrails import check_query
from labsupport.index import Index
from labsupport.leaky.entitlement import WrongDesign
from labsupport.model import Hit, Principal
from labsupport.namespace import OpenShelves
from labsupport.retriever import RetrievalPolicy, RetrievalResult


def add_scores(rankings: Sequence[Sequence[Hit]], *, limit: int | None = 10) -> list[Hit]:
    """Adds what each ranking calls its score, whatever its scale: the longer scale decides. Notebook 03."""
    return _added(rankings, [{hit.chunk_id: hit.score for hit in ranking} for ranking in rankings], limit)


def add_normalised(rankings: Sequence[Sequence[Hit]], *, limit: int | None = 10) -> list[Hit]:
    """Brings each ranking to the range from 0 to 1, then adds: its two ends decide about all the rest. Notebook 03."""
    return _added(rankings, [normalised(ranking) for ranking in rankings], limit)


def normalised(ranking: Sequence[Hit]) -> dict[str, float]:
    """Each score of one ranking as its share of the way from the worst (0) to the best (1)."""
    scores = {hit.chunk_id: hit.score for hit in ranking}
    worst, best = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {chunk_id: (score - worst) / (best - worst) if best > worst else 1.0 for chunk_id, score in scores.items()}


def _added(rankings: Sequence[Sequence[Hit]], shares: Sequence[dict[str, float]], limit: int | None) -> list[Hit]:
    hits: dict[str, Hit] = {}
    for ranking in rankings:
        for hit in ranking:
            seen = hits.get(hit.chunk_id, hit)
            ranks = {leg: getattr(seen, leg) or getattr(hit, leg) for leg in ("lexical_rank", "dense_rank")}
            hits[hit.chunk_id] = replace(seen, **ranks)
    sums = {chunk_id: sum(share.get(chunk_id, 0.0) for share in shares) for chunk_id in hits}
    order = sorted(sums, key=lambda chunk_id: (-sums[chunk_id], chunk_id))[:limit]
    return [replace(hits[chunk_id], score=sums[chunk_id]) for chunk_id in order]


class FuseThenFilter(WrongDesign):
    """Ranks the whole tenant on both legs, fuses the positions, and then drops what the reader may not see. Notebook 03.

    Nothing closed is returned and nothing starves. The positions were counted with closed pages in between.
    `dense_times` is what the supplier of the embeddings multiplies every score by.
    """

    sentence = "Positions hold no scores, so they give nothing away: fuse first, drop what is closed at the end."
    fuse: Callable[..., list[Hit]] = staticmethod(reciprocal_rank_fusion)

    def __init__(self, index: Index, *, dense_times: float = 1):
        super().__init__(index)
        self.dense_times = dense_times

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        query = check_query(query)
        limit = self._leg_limit(policy)
        lexical = self.lexical(query, principal=principal, limit=limit)
        dense = self.dense(query, principal=principal, limit=limit, collisions=False)
        fused = self.fuse([lexical, [replace(hit, score=self.dense_times * hit.score) for hit in dense]], limit=None)
        hits = tuple(hit for hit in fused if can_read(principal, hit.chunk.label))[: policy.result_limit]
        return RetrievalResult(hits, (), 0, tuple(hit.chunk.citation() for hit in hits))

    @staticmethod
    def _leg_limit(policy: RetrievalPolicy) -> int | None:
        return None


class NormaliseThenFilter(FuseThenFilter):
    """The same with scores brought to one range first: a closed page with an extreme score squeezes all others. Notebook 03."""

    sentence = "Brought to the range from 0 to 1, the two scores can be added fairly."
    fuse = staticmethod(add_normalised)


class ScoresAdded(FuseThenFilter):
    """Opens what the reader may read and nothing else, and adds BM25 to cosine: a failure and no leak. Notebook 03."""

    sentence = "Both numbers say how well a page fits, so we add them."
    fuse = staticmethod(add_scores)

    def _open(self, principal: Principal, limit: int | None = None) -> OpenShelves:
        return Index._open(self, principal, limit)

    @staticmethod
    def _leg_limit(policy: RetrievalPolicy) -> int | None:
        return policy.candidate_limit
