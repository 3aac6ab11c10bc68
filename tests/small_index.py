"""An index of a few bare texts, for tests that are about ranking: each text is one chunk, open to everyone unless it says not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from labsupport import EVERYONE, AccessLabel, Chunk, Index, Principal

TENANT = "library"
OPEN = AccessLabel(TENANT, "internal", None, frozenset({EVERYONE}))
CLOSED = AccessLabel(TENANT, "restricted", None, frozenset({EVERYONE}))
READER = Principal("ines", TENANT)


def chunk(chunk_id: str, text: str, label: AccessLabel = OPEN, *, doc_id: str | None = None, tick: int = 0) -> Chunk:
    return Chunk(chunk_id, doc_id or chunk_id, 1, text, (), 0, len(text), label, tick)


def numbered(texts: Iterable[str], label: AccessLabel = OPEN, *, first: str = "d") -> list[Chunk]:
    """Chunks d000, d001, …, so that the order of ids is the order of the texts."""
    return [chunk(f"{first}{place:03}", text, label) for place, text in enumerate(texts)]


def indexed(chunks: Iterable[Chunk | str], **settings) -> Index:
    """An index of these chunks; bare texts are numbered."""
    chunks = list(chunks)
    if all(isinstance(one, str) for one in chunks):
        chunks = numbered(chunks)
    index = Index(tenant=TENANT, **settings)
    index.add_many(chunks)
    return index


def scored(ranking) -> list[tuple[str, float]]:
    return [(hit.chunk_id, hit.score) for hit in ranking]


class Table:
    """A real embedder of given vectors: a text is looked up, and one that is not there has a vector of zeros."""

    def __init__(self, vectors: Mapping[str, Iterable[float]], *, name: str = "table", dimensions: int | None = None,
                 knows_meaning: bool = True):
        self.vectors = {text: np.asarray(vector, np.float64) for text, vector in vectors.items()}
        self.name = name
        self.dimensions = dimensions or len(next(iter(self.vectors.values())))
        self.knows_meaning = knows_meaning

    def __call__(self, texts):
        return [self.vectors.get(text, np.zeros(self.dimensions)) for text in texts]
