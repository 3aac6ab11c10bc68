"""One shelf: all chunks of one access label, with their postings and vectors side by side. Immutable.

What is read is what may be read: a shelf holds nothing of another label, and nothing of a chunk that has left it (no
word, no vector), so that neither a score nor the work for it can depend on what is closed or dead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from labsupport.model import AccessLabel, Chunk


@dataclass(frozen=True)
class Entry:
    """A chunk on its way to a shelf: what its words are, how many, and its vector of shape (dimensions,)."""

    chunk: Chunk
    tokens: Sequence[str]
    vector: np.ndarray


@dataclass(frozen=True, eq=False)
class Shelf:
    """Rows are chunks; `postings` has a column for each (term, row): row, occurrences, length of the row in tokens.

    The columns of one term stand together, at `starts[t]:starts[t + 1]` for t = `terms[word]`. Built in notebook 04.
    """

    label: AccessLabel
    chunks: tuple[Chunk, ...]
    terms: dict[str, int]
    starts: list[int]
    postings: np.ndarray  # int32 (3, number of postings)
    lengths: np.ndarray  # int32 (rows,)
    ticks: np.ndarray  # int64 (rows,)
    vectors: np.ndarray  # float32 (rows, dimensions)

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {chunk.chunk_id: row for row, chunk in enumerate(self.chunks)}

    @cached_property
    def rows_of_document(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, chunk in enumerate(self.chunks):
            rows.setdefault(chunk.doc_id, []).append(row)
        return rows

    @cached_property
    def ranked_chunks(self) -> int:
        """How many chunks have a token. The others count nowhere: not in n, not in the mean length."""
        return int(np.count_nonzero(self.lengths))

    @cached_property
    def total_length(self) -> int:
        return int(self.lengths.sum(dtype=np.int64))

    def entries_kept(self, without: Collection[str]) -> np.ndarray:
        """A mask over the rows: True where the chunk stays when the ids in `without` leave."""
        keep = np.ones(len(self.chunks), bool)
        keep[[self.row_of[chunk_id] for chunk_id in without]] = False
        return keep

    @classmethod
    def empty(cls, label: AccessLabel, dimensions: int) -> Shelf:
        return cls(label, (), {}, [0], np.zeros((3, 0), np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64),
                   np.zeros((0, dimensions), np.float32))

    def changed(self, *, without: Collection[str] = (), entries: Sequence[Entry] = ()) -> Shelf:
        """This shelf without some chunks and with some others. Cost: a copy of the shelf's arrays, and the words of the entries."""
        keep = self.entries_kept(without)
        kept = keep[self.postings[0]]
        old = self.postings[:, kept]
        old[0] = (np.cumsum(keep, dtype=np.int32) - 1)[old[0]]
        per_term = np.add.reduceat(np.append(kept, False), self.starts[:-1], dtype=np.int64) if self.terms else np.zeros(0, np.int64)

        words = list(chain.from_iterable(entry.tokens for entry in entries))
        terms = dict(self.terms)
        for word in dict.fromkeys(words):
            terms.setdefault(word, len(terms))
        lengths = np.fromiter((len(entry.tokens) for entry in entries), np.int64, len(entries))
        term = np.fromiter(map(terms.__getitem__, words), np.int64, len(words))
        row = np.repeat(np.arange(len(entries)), lengths)
        pair, count = np.unique(term * max(len(entries), 1) + row, return_counts=True)
        term, row = np.divmod(pair, max(len(entries), 1))
        added = np.stack([row + int(keep.sum()), count, lengths[row] if len(row) else row]).astype(np.int32)

        ends = np.zeros(len(terms), np.int64)  # rows that arrive stand behind the rows of their term that were there
        ends[: len(per_term)] = np.cumsum(per_term)
        ends[len(per_term):] = old.shape[1]
        postings = np.insert(old, ends[term], added, axis=1) if old.shape[1] else added
        sizes = np.bincount(term, minlength=len(terms))
        sizes[: len(per_term)] += per_term
        if (sizes == 0).any():  # a word that only a departed chunk held leaves with it
            terms = {word: number for number, word in enumerate(w for w, t in terms.items() if sizes[t])}
            sizes = sizes[sizes > 0]
        return Shelf(
            self.label,
            tuple(chunk for chunk, stays in zip(self.chunks, keep) if stays) + tuple(entry.chunk for entry in entries),
            terms,
            [0, *np.cumsum(sizes).tolist()],
            np.ascontiguousarray(postings),
            np.concatenate([self.lengths[keep], lengths.astype(np.int32)]),
            np.concatenate([self.ticks[keep], np.fromiter((entry.chunk.updated_tick for entry in entries), np.int64, len(entries))]),
            np.concatenate([self.vectors[keep], *([np.stack([entry.vector for entry in entries])] if entries else [])]),
        )
