"""Reciprocal rank fusion: positions, not scores, added up exactly. Built in notebook 03."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction

from labsupport.model import Chunk, Hit, whole_number

RRF_K = 60
"""The constant of the formula in the paper that named it. Nobody retunes it on three documents."""


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Hit | Chunk | str]], *, k: int = RRF_K, limit: int | None = 10,
                           weights: Sequence[float] | None = None) -> list[Hit]:
    """Fuse rankings into one: a chunk's score is the sum over rankings of `weight / (k + rank)`, ranks from 1.

    Reads positions only. A repeat inside one ranking counts once, at its best rank, and does not use up a place; a chunk
    that a ranking does not hold gets nothing from it. Sums are exact fractions, so a true tie is a tie, and the chunk id
    decides it, ascending. Fusion is keyed by chunk id, never by text. For arithmetic on paper a ranking may hold bare ids.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009. Raises `ValueError` for `k` below 1, a limit below 1, or weights that
    are negative, not finite, or not one for each ranking; `TypeError` for what is no hit, chunk or id, for one id both bare
    and as a chunk, and for a ranking that is a set (it has no order) or a bare string. Notebook 03.
    """
    whole_number("k", k)
    if limit is not None:
        whole_number("limit", limit)
    rankings = [_in_order(ranking) for ranking in rankings]
    weights = [1] * len(rankings) if weights is None else list(weights)
    if len(weights) != len(rankings):
        raise ValueError(f"weights must be one for each of {len(rankings)} rankings, got {weights!r}")
    for weight in weights:
        if isinstance(weight, bool) or not (isinstance(weight, (int, float)) and 0 <= weight < float("inf")):
            raise ValueError(f"each weight must be a finite number from 0, got {weight!r}")

    sums: dict[str, Fraction] = {}
    fused: dict[str, Hit] = {}
    for ranking, weight in zip(rankings, weights):
        if not weight:
            continue
        distinct: dict[str, Hit] = {}
        for hit in ranking:
            distinct.setdefault(hit.chunk_id, hit)
        for rank, (chunk_id, hit) in enumerate(distinct.items(), start=1):
            sums[chunk_id] = sums.get(chunk_id, Fraction(0)) + Fraction(weight) / (k + rank)
            fused[chunk_id] = _merged(fused[chunk_id], hit) if chunk_id in fused else hit
    order = sorted(sums, key=lambda chunk_id: (-sums[chunk_id], chunk_id))[:limit]
    return [replace(fused[chunk_id], score=float(sums[chunk_id])) for chunk_id in order]


def _in_order(ranking: Sequence[Hit | Chunk | str]) -> list[Hit]:
    if isinstance(ranking, (str, bytes, Set, Mapping)):
        raise TypeError(f"a ranking is a list, best first, got {ranking!r}")
    return [_as_hit(item) for item in ranking]


def _merged(one: Hit, other: Hit) -> Hit:
    """What two rankings say of one chunk, whichever comes first: its best rank on each leg."""
    if isinstance(one.chunk, str) != isinstance(other.chunk, str):
        raise TypeError(f"rankings hold bare ids or chunks, got {one.chunk_id!r} as both")
    return replace(one, lexical_rank=_best(one.lexical_rank, other.lexical_rank),
                   dense_rank=_best(one.dense_rank, other.dense_rank))


def _best(*ranks: int | None) -> int | None:
    return min((rank for rank in ranks if rank is not None), default=None)


def _as_hit(item: Hit | Chunk | str) -> Hit:
    if isinstance(item, Hit):
        return item
    if isinstance(item, (Chunk, str)):
        return Hit(item, 0.0)
    raise TypeError(f"a ranking holds hits, chunks or chunk ids, got {item!r}")
