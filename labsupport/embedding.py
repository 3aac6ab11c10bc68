"""Text to vectors: the hash embedder that needs no download, and the door that checks what any embedder returns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Protocol

import numpy as np

from labsupport.errors import EmbeddingFailed
from labsupport.model import whole_number
from labsupport.tokens import numbered, tokenize


class Embedder(Protocol):
    """Maps a list of n texts to float32 (n, `dimensions`). `name` says which model made a vector: two never mix."""

    name: str
    dimensions: int
    knows_meaning: bool

    def __call__(self, texts: Sequence[str]) -> np.ndarray: ...


class HashEmbedder:
    """Signed feature hashing: every word falls on one of `dimensions` slots, plus or minus. It knows no meaning.

    Two texts without a shared word do not match, except by collision: two words on one slot. Built in notebook 02.
    """

    knows_meaning = False

    def __init__(self, dimensions: int = 96):
        self.dimensions = whole_number("dimensions", dimensions)
        self.name = f"hash-blake2b-{dimensions}"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return self.of_words(*numbered(map(tokenize, texts)))

    def of_words(self, vocabulary: Sequence[str], words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The vectors of texts that are cut already: `words` runs through all texts and numbers into `vocabulary`."""
        # Cells are not kept between calls: a cache would remember the words of past questions.
        cells = np.fromiter(map(self._cell, vocabulary), np.int64, len(vocabulary))
        sign, slot = np.where(cells < self.dimensions, 1.0, -1.0), cells % self.dimensions
        place = np.repeat(np.arange(len(lengths)) * self.dimensions, lengths) + slot[words]
        signed = np.bincount(place, sign[words], minlength=len(lengths) * self.dimensions)
        signed = signed.astype(np.float64, copy=False).reshape(len(lengths), self.dimensions)  # where no text has a word
        norms = np.sqrt(np.einsum("ij,ij->i", signed, signed))[:, None]  # sums of whole numbers: exact in any order
        signed /= np.where(norms > 0, norms, 1)
        return signed.astype(np.float32)

    def _cell(self, word: str) -> int:
        """The word's slot, moved up by `dimensions` where its sign is minus."""
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        slot = int.from_bytes(digest[:4], "big") % self.dimensions
        return slot if digest[4] % 2 == 0 else slot + self.dimensions


def hash_embed(text: str, dimensions: int = 96) -> np.ndarray:
    """One text as an L2-normed float32 vector of shape (dimensions,), or zeros where it has no token.

    Per occurrence of a word: slot = first four bytes of BLAKE2b (8 bytes, big-endian) mod dimensions, plus one if the
    fifth byte is even, minus one if odd. Knows no meaning: without a shared word there is no match. Built in notebook 02.
    """
    return HashEmbedder(dimensions)([text])[0]


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """The cosine of the angle between two vectors of one length, from -1 to 1; 0.0 where either is zero. Notebook 02.

    Raises `ValueError` for two lengths or a value that is not finite.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"cosine needs two vectors of one length, got shapes {a.shape} and {b.shape}")
    rows = np.stack([a, b])
    if not np.isfinite(rows).all():
        raise ValueError(f"cosine needs finite numbers, got {rows[~np.isfinite(rows)][0]}")
    a, b = _of_order_one(rows)
    length = float(np.sqrt(inner(a[None], a)[0]) * np.sqrt(inner(b[None], b)[0]))
    return max(-1.0, min(1.0, float(inner(a[None], b)[0]) / length)) if length else 0.0


def _of_order_one(rows: np.ndarray) -> np.ndarray:
    """Each row times a power of two, which is exact: its largest number lies in [0.5, 1) then, and no square overflows."""
    return np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1, initial=0))[1][:, None])


def inner(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Inner product of each row with the vector, in float64, dimension after dimension: a row's result depends on that
    row and the vector alone, bit for bit, wherever the row lies. (A matrix product's last bits depend on its place.)"""
    total = np.zeros(len(rows))
    vector = vector.astype(np.float64)
    for slot in np.flatnonzero(vector):
        total += rows[:, slot].astype(np.float64) * vector[slot]
    return total


class _BareFunction:
    """A function of one text, or of a list of texts, with the attributes of an embedder."""

    knows_meaning = True  # a hash is what we ship; whoever brings a function brings a model

    def __init__(self, function: Callable):
        answers = []
        for self.batched, probe in ((True, ["probe"]), (False, "probe")):  # a model that takes both is faster with a list
            try:
                shape = np.asarray(function(probe), np.float64).shape
            except Exception as failure:
                answers.append(type(failure).__name__)
                continue
            if len(shape) == 1 + self.batched and shape[-1] > 0 and shape[:-1] in ((), (1,)):
                break
            answers.append(f"shape {shape}")
        else:
            raise EmbeddingFailed("an embedder maps a list of n texts to (n, d), or a text to (d,); "
                                  f"{_named(function)} answered {answers[0]} to a list of one, {answers[1]} to a text")
        self.function = function
        self.dimensions = shape[-1]
        self.name = _named(function)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return self.function(list(texts)) if self.batched else [self.function(text) for text in texts]


def _named(function: Callable) -> str:
    """Where a function is from. A partial is told apart by what it fills in: the same function may hold two models."""
    if isinstance(function, functools.partial):
        filled = [(name, value if isinstance(value, (str, int, float)) else type(value).__name__)
                  for name, value in (*enumerate(function.args), *sorted(function.keywords.items()))]
        # Hashed: a name is saved and stands in errors, and what is filled in may be a secret key.
        return f"{_named(function.func)}({blake2b(ascii(filled).encode('ascii'), digest_size=8).hexdigest()})"
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', type(function).__name__)}"


def as_embedder(embedder: Embedder | Callable) -> Embedder:
    """An `Embedder` as it is; `hash_embed`, or a partial of it, as `HashEmbedder`; a bare function wrapped.

    A bare function maps a list of n texts to (n, d) or one text to (d,), and is taken to know meaning. Its name is where
    it is from: two closures of one function are not told apart, so give an embedder with a `name` where models change.
    """
    if all(hasattr(embedder, field) for field in ("name", "dimensions", "knows_meaning")) and callable(embedder):
        return embedder
    if embedder is hash_embed:
        return HashEmbedder()
    if isinstance(embedder, functools.partial) and embedder.func is hash_embed:
        return HashEmbedder(*embedder.args, **embedder.keywords)
    if callable(embedder):
        return _BareFunction(embedder)
    raise TypeError(f"embedder must be callable on a list of texts, got {embedder!r}")


def embed(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    """What the embedder returns for these texts, checked and L2-normed: float32, shape (n, dimensions).

    A row of zeros stays zero and matches nothing. Raises `EmbeddingFailed` for a wrong count, a wrong shape or a value
    that is not finite: nothing is stored then.
    """
    if not texts:
        return np.zeros((0, embedder.dimensions), np.float32)
    try:
        matrix = np.array(embedder(list(texts)), np.float64)  # a copy: the embedder may keep what it returned
    except EmbeddingFailed:
        raise
    except Exception as failure:
        raise EmbeddingFailed(f"embedder {embedder.name!r} failed: {type(failure).__name__}") from failure
    if matrix.shape != (len(texts), embedder.dimensions):
        raise EmbeddingFailed(f"embedder {embedder.name!r} returned shape {matrix.shape}, "
                              f"right would be {(len(texts), embedder.dimensions)}")
    if not np.isfinite(matrix).all():
        raise EmbeddingFailed(f"embedder {embedder.name!r} returned a value that is not finite")
    with np.errstate(over="ignore"):
        squares = _squares(matrix)
    off = np.abs(squares - 1) > 1e-6
    scaled = _of_order_one(matrix[off])
    lengths = np.sqrt(_squares(scaled))[:, None]
    matrix[off] = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return np.ascontiguousarray(matrix, np.float32)


def _squares(rows: np.ndarray) -> np.ndarray:
    """The squared length of each row, dimension after dimension: the same bits wherever the row lies."""
    total = np.zeros(len(rows))
    for column in rows.T:
        total += column * column
    return total
