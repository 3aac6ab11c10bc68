"""Hashing without signs: every collision adds and none takes away, so that strangers look alike. Attacked in notebook 02."""

from __future__ import annotations

from labsupport.embedding import HashEmbedder


class UnsignedHashEmbedder(HashEmbedder):
    """The hash embedder without its signs: every word counts plus one on its slot. Notebook 02.

    No number of a vector is below zero, so no cosine is: two texts without a common word are similar on average, and the
    more so the fewer dimensions there are.
    """

    sentence = "Words are counted, and a count is never negative: leave the sign out."

    def __init__(self, dimensions: int = 96):
        super().__init__(dimensions)
        self.name = f"hash-unsigned-{dimensions}"

    def _cell(self, word: str) -> int:
        return super()._cell(word) % self.dimensions
