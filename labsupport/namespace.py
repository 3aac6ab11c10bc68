"""A tenant's partition: its shelves, one for each access label, and the way in that opens only what a principal may read.

Immutable: a change makes another namespace, and the index swaps the two in one assignment. A reader holds one of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from labsupport.entitlement import can_read
from labsupport.model import AccessLabel, Chunk, Principal
from labsupport.shelf import Batch, Shelf
from labsupport.versions import DocumentState


@dataclass(frozen=True)
class OpenShelves:
    """What one principal may read, at one instant. Rankers are handed this and nothing else. Built in notebook 04.

    Rows of all open shelves are numbered through, shelf after shelf in label order.
    """

    shelves: tuple[Shelf, ...]

    @cached_property
    def offsets(self) -> list[int]:
        """The number of the first row of each shelf, and the number of rows at the end."""
        return [0, *np.cumsum([len(shelf.chunks) for shelf in self.shelves], dtype=np.int64).tolist()]

    @property
    def size(self) -> int:
        """How many chunks are readable."""
        return self.offsets[-1]

    @cached_property
    def ranked_chunks(self) -> int:
        """n in BM25: readable chunks with a token."""
        return sum(shelf.ranked_chunks for shelf in self.shelves)

    @cached_property
    def mean_length(self) -> float:
        """Mean number of tokens of the readable chunks that have one; 0.0 where there is none."""
        return sum(shelf.total_length for shelf in self.shelves) / self.ranked_chunks if self.ranked_chunks else 0.0

    def fresh(self, stale_before: int | None) -> np.ndarray | None:
        """A mask over the rows: True where the chunk was updated at that tick or later. None where everything is fresh."""
        if stale_before is None:
            return None
        return np.concatenate([np.zeros(0, bool), *(shelf.ticks >= stale_before for shelf in self.shelves)])

    def chunk(self, row: int) -> Chunk:
        shelf = bisect_right(self.offsets, row) - 1  # an empty shelf has the same offset as the one behind it
        return self.shelves[shelf].chunks[row - self.offsets[shelf]]

    def find(self, chunk_id: str) -> Chunk | None:
        for shelf in self.shelves:
            if chunk_id in shelf.row_of:
                return shelf.chunks[shelf.row_of[chunk_id]]
        return None

    def best(self, rows: np.ndarray, scores: np.ndarray, limit: int | None) -> list[tuple[Chunk, float]]:
        """The best rows as (chunk, score): score descending, then chunk id ascending, a total order."""
        if limit is not None and len(rows) > limit:
            cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            rows, scores = rows[scores >= cut], scores[scores >= cut]  # every tie at the cut stays: the id decides
        found = [(self.chunk(row), score) for row, score in zip(rows.tolist(), scores.tolist())]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].chunk_id))[:limit]


@dataclass(frozen=True)
class Namespace:
    """One tenant's shelves, and what is known of its documents' versions. Nothing but the tenant selects it."""

    tenant: str
    dimensions: int
    shelves: Mapping[AccessLabel, Shelf] = field(default_factory=dict)
    documents: Mapping[str, DocumentState] = field(default_factory=dict)
    holder: Mapping[str, str] = field(default_factory=dict)  # chunk id -> the document that holds it
    generations: Mapping[AccessLabel, int] = field(default_factory=dict)

    def open(self, principal: Principal) -> OpenShelves:
        """Ask `can_read` of each label, a handful, and hand over the shelves that answer yes. The only way in."""
        return OpenShelves(tuple(self.shelves[label] for label in self.open_labels(principal) if label in self.shelves))

    def open_labels(self, principal: Principal) -> list[AccessLabel]:
        """The labels that this principal may read, in label order, emptied ones too."""
        return [label for label in self.labels if can_read(principal, label)]

    @cached_property
    def labels(self) -> list[AccessLabel]:
        """The operator's: every label that was ever used here, in label order."""
        return sorted(self.generations, key=lambda label: label.sort_key)

    def chunk(self, label: AccessLabel, chunk_id: str) -> Chunk:
        shelf = self.shelves[label]
        return shelf.chunks[shelf.row_of[chunk_id]]

    def vector(self, chunk: Chunk) -> np.ndarray:
        shelf = self.shelves[chunk.label]
        return shelf.vectors[shelf.row_of[chunk.chunk_id]]

    def chunks_of(self, doc_id: str) -> list[Chunk]:
        """The operator's: the live chunks of a document, in the order of the text."""
        state = self.documents.get(doc_id)
        chunks = [self.chunk(label, chunk_id) for chunk_id, label in state.chunk_labels.items()] if state else []
        return sorted(chunks, key=lambda chunk: (chunk.start_char, chunk.end_char, chunk.chunk_id))

    def changed(self, *, removed: Iterable[Chunk], batch: Batch | None, documents: Mapping[str, DocumentState]) -> Namespace:
        """This namespace after one swap: chunks that leave, a batch that arrives, and the documents' states after it.

        A shelf's generation moves when that shelf changes, and never because another did.
        """
        leaving: dict[AccessLabel, list[str]] = {}
        holder = dict(self.holder)
        for chunk in removed:
            leaving.setdefault(chunk.label, []).append(chunk.chunk_id)
            del holder[chunk.chunk_id]
        arriving = dict(batch.by_label()) if batch is not None else {}
        if batch is not None:
            holder.update((chunk.chunk_id, chunk.doc_id) for chunk in batch.chunks)
        shelves, generations = dict(self.shelves), dict(self.generations)
        for label in leaving.keys() | arriving.keys():
            shelf = shelves.get(label) or Shelf.empty(label, self.dimensions)
            shelf = shelf.changed(without=leaving.get(label, ()), batch=arriving.get(label))
            generations[label] = generations.get(label, 0) + 1
            if shelf.chunks:
                shelves[label] = shelf
            else:
                del shelves[label]
        return replace(self, shelves=shelves, generations=generations, holder=holder,
                       documents={**self.documents, **documents})
