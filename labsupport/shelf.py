"""One shelf: all chunks of one access label, with their postings and vectors side by side. Immutable.

What is read is what may be read: a shelf holds nothing of another label, and nothing of a chunk that has left it (no
word, no vector), so that neither a score nor the work for it can depend on what is closed or dead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labsupport.model import AccessLabel, Chunk
from labsupport.tokens import numbered


@dataclass(frozen=True, eq=False)
class Batch:
    """Chunks on their way to shelves: the words of each, run together as numbers into `vocabulary`, and a vector for each."""

    chunks: Sequence[Chunk]
    vocabulary: Sequence[str]
    words: np.ndarray  # int64 (all words of all chunks,)
    lengths: np.ndarray  # int64 (chunks,): words of each
    vectors: np.ndarray  # float32 (chunks, dimensions)

    @classmethod
    def of(cls, chunks: Sequence[Chunk], tokens: Iterable[Sequence[str]],
           embed_words: Callable[[Sequence[str], np.ndarray, np.ndarray], np.ndarray]) -> Batch:
        """Number the words of all chunks, then embed: `embed_words(vocabulary, words, lengths)` returns the vectors."""
        vocabulary, words, lengths = numbered(tokens)
        return cls(chunks, vocabulary, words, lengths, embed_words(vocabulary, words, lengths))

    def by_label(self) -> Iterator[tuple[AccessLabel, Batch]]:
        """One batch for each label among the chunks."""
        rows: dict[AccessLabel, list[int]] = {}
        for row, chunk in enumerate(self.chunks):
            rows.setdefault(chunk.label, []).append(row)
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        for label, picked in rows.items():
            lengths = self.lengths[picked]
            # The places of the picked chunks' words: each run begins at its start and counts on.
            before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            places = np.repeat(starts[picked] - before, lengths) + np.arange(lengths.sum())
            chunks = [self.chunks[row] for row in picked]
            yield label, Batch(chunks, self.vocabulary, self.words[places], lengths, self.vectors[picked])


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

    def changed(self, *, without: Collection[str] = (), batch: Batch | None = None) -> Shelf:
        """This shelf without some chunks and with a batch of others. Cost: a copy of the shelf's arrays, and the batch's words."""
        keep = self.entries_kept(without)
        kept = keep[self.postings[0]]
        old = self.postings[:, kept]
        old[0] = (np.cumsum(keep, dtype=np.int32) - 1)[old[0]]
        sizes = np.add.reduceat(np.append(kept, False), self.starts[:-1], dtype=np.int64) if self.terms else np.zeros(0, np.int64)
        terms, postings = dict(self.terms), old
        chunks = tuple(chunk for chunk, stays in zip(self.chunks, keep.tolist()) if stays)
        lengths, ticks, vectors = self.lengths[keep], self.ticks[keep], self.vectors[keep]

        if batch is not None:
            used = np.flatnonzero(np.bincount(batch.words, minlength=len(batch.vocabulary)))
            names = [batch.vocabulary[place] for place in used.tolist()]
            unseen = [name for name in names if name not in terms]
            terms.update(zip(unseen, range(len(terms), len(terms) + len(unseen))))
            term_of = np.zeros(len(batch.vocabulary), np.int64)
            term_of[used] = np.fromiter(map(terms.__getitem__, names), np.int64, len(names))
            term = term_of[batch.words]
            row = np.repeat(np.arange(len(batch.chunks)), batch.lengths)
            pair, count = np.unique(term * len(batch.chunks) + row, return_counts=True)
            term, row = np.divmod(pair, len(batch.chunks))
            added = np.stack([row + len(chunks), count, batch.lengths[row]]).astype(np.int32)
            ends = np.full(len(terms), old.shape[1])  # rows that arrive stand behind the rows of their term that were there
            ends[: len(sizes)] = np.cumsum(sizes)
            postings = np.insert(old, ends[term], added, axis=1) if old.shape[1] else added
            sizes = np.bincount(term, minlength=len(terms)) + np.pad(sizes, (0, len(terms) - len(sizes)))
            chunks += tuple(batch.chunks)
            lengths = np.concatenate([lengths, batch.lengths.astype(np.int32)])
            ticks = np.concatenate([ticks, np.array([chunk.updated_tick for chunk in batch.chunks], np.int64)])
            vectors = np.concatenate([vectors, batch.vectors])

        if not sizes.all():  # a word that only a departed chunk held leaves with it
            terms = {word: place for place, word in enumerate(word for word, term in terms.items() if sizes[term])}
            sizes = sizes[sizes > 0]
        starts = [0, *np.cumsum(sizes).tolist()]
        return Shelf(self.label, chunks, terms, starts, np.ascontiguousarray(postings), lengths, ticks, vectors)
