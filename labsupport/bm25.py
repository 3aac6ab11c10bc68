"""BM25 (Okapi) over the open shelves: every count in it is a sum over what this principal may read. Notebooks 02 and 05."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from labsupport.namespace import OpenShelves


def idf(n: int, df: int) -> float:
    """How telling a word is: `ln((n - df + 0.5) / (df + 0.5) + 1)` for a word in `df` of `n` chunks. Always positive.

    Falls as more chunks hold the word. `n` and `df` count readable chunks only. Built in notebook 02.
    """
    return math.log((n - df + 0.5) / (df + 0.5) + 1)


def scores(shelves: OpenShelves, tokens: Sequence[str], *, k1: float, b: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows that hold a word of the query, their BM25 scores (float64), and how many postings were read.

    Sum over the query's words, as a multiset, of `idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))`.
    Words are added in alphabetical order, so that the last bit does not depend on how the question was put.
    """
    pieces, offsets, sizes, weights = [], [], [], []
    for word, times in sorted(Counter(tokens).items()):
        first = len(pieces)
        for shelf, offset in zip(shelves.shelves, shelves.offsets):
            term = shelf.terms.get(word)
            if term is not None:
                start, end = shelf.starts[term], shelf.starts[term + 1]
                pieces.append(shelf.postings[:, start:end])
                offsets.append(offset)
                sizes.append(end - start)
        df = sum(sizes[first:])
        weights += [times * idf(shelves.ranked_chunks, df) * (k1 + 1)] * (len(pieces) - first)
    if not pieces:
        return np.zeros(0, np.int64), np.zeros(0), 0
    row, tf, length = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)
    row = row + np.repeat(offsets, sizes)
    saturated = tf / (tf + (k1 * (1 - b) + (k1 * b / shelves.mean_length) * length))
    if len(row) * 32 < shelves.size:  # few postings: sort them, rather than sum into a place for every readable chunk
        rows, place = np.unique(row, return_inverse=True)
        return rows, np.bincount(place, np.repeat(weights, sizes) * saturated), len(row)
    total = np.bincount(row, np.repeat(weights, sizes) * saturated)
    rows = np.flatnonzero(total > 0)
    return rows, total[rows], len(row)
