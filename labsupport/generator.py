"""A seeded corpus of any size for figures and benchmarks: Zipf words, and labels dealt out at random or by topic.

The words are invented and mean nothing. The same arguments give the same chunks on every machine: PCG64 draws, and
nothing but sums, quotients and comparisons follows (no logarithm, whose last bit is the platform's).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from labsupport.model import EVERYONE, AccessLabel, Chunk, whole_number

TOPICS = 40
"""How many topics a corpus has. Access by topic opens whole topics, so its share comes in steps of 1/40."""

BLOCK = 10_000
"""Chunks are drawn in blocks of this size: a larger corpus begins with the smaller one, and memory stays bounded."""


@dataclass(frozen=True)
class Corpus:
    """`chunks`, the topic number of each, and `queries` made of the words of random chunks, one common word and rarer ones."""

    chunks: tuple[Chunk, ...]
    topics: tuple[int, ...]
    queries: tuple[str, ...]


def generate(
    size: int, *, seed: int = 7, mean_words: int = 60, vocabulary: int = 20_000, visible: float = 0.1, by_topic: bool = False,
    tenant: str = "default", queries: int = 50,
) -> Corpus:
    """`size` chunks of one tenant, of which about a share of `visible` is open to everyone and the rest to the group `closed`.

    A chunk has between half and one and a half times `mean_words` words (5 at least): half from the whole vocabulary, half
    from its topic's own slice, so that chunks of a topic resemble each other. Word frequencies fall as 1/(rank + 2.7)
    (Mandelbrot's form of Zipf's law). With `by_topic`, whole topics are open, as departments are; without, each chunk by a
    draw of its own. The words and the topics do not depend on `visible` or `by_topic`. Raises `ValueError`. Used in notebook 11.
    """
    knobs = (("size", size, 1), ("mean_words", mean_words, 5), ("vocabulary", vocabulary, TOPICS), ("queries", queries, 0))
    for name, value, least in knobs:
        whole_number(name, value, least=least)
    if not 0 <= visible <= 1:
        raise ValueError(f"visible must be between 0 and 1, got {visible!r}")
    blocks = [_block(seed, start // BLOCK, min(BLOCK, size - start), mean_words, vocabulary) for start in range(0, size, BLOCK)]
    topics = np.concatenate([block[0] for block in blocks])
    open_ = _open(seed, topics, visible, by_topic)
    everyone = AccessLabel(tenant, "internal", None, frozenset({EVERYONE}))
    closed = AccessLabel(tenant, "internal", None, frozenset({"closed"}))
    spelled = np.array([spell(number) for number in range(vocabulary)], dtype=object)
    chunks: list[Chunk] = []
    for _, ends, words in blocks:
        for piece in np.split(words, ends[:-1]):
            number = len(chunks)
            text = " ".join(spelled[piece])
            label = everyone if open_[number] else closed
            chunks.append(Chunk(f"g{number:07d}#body", f"g{number:07d}", 1, text, (), 0, len(text), label, 0))
    return Corpus(tuple(chunks), tuple(topics.tolist()), _queries(seed, chunks, queries))


def relabelled(chunks, *, acl: str) -> list[Chunk]:
    """The same chunks, closed to all but one group: hidden pages for a design to trip over."""
    return [replace(chunk, label=replace(chunk.label, acl=frozenset({acl}))) for chunk in chunks]


def spell(number: int) -> str:
    """An invented word for a word number: syllables in base 105, so that common words are short."""
    consonants, vowels = "bcdfghjklmnprstvwxyzq", "aeiou"
    word = ""
    while True:
        number, syllable = divmod(number, len(consonants) * len(vowels))
        word += consonants[syllable // len(vowels)] + vowels[syllable % len(vowels)]
        if number == 0:
            return word
        number -= 1


def _block(seed: int, number: int, size: int, mean_words: int, vocabulary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Topics, ends and word numbers of one block: always drawn for `BLOCK` chunks and then cut, so that sizes agree.

    Each place draws from Zipf's law over all words, or over the topic's own slice, which is every `TOPICS`-th word.
    """
    draw = np.random.Generator(np.random.PCG64([seed, 0, number]))
    lengths = np.clip(draw.integers(mean_words // 2, mean_words + (mean_words + 1) // 2 + 1, size=BLOCK), 5, None)[:size]
    topics = draw.integers(TOPICS, size=BLOCK)[:size]
    draw = np.random.Generator(np.random.PCG64([seed, 1, number]))
    coins = draw.random((3, BLOCK * (2 * mean_words + 5)))[:, : lengths.sum()]
    general = _zipf(coins[0], vocabulary)
    special = _zipf(coins[1], vocabulary // TOPICS) * TOPICS + np.repeat(topics, lengths)
    return topics, np.cumsum(lengths), np.where(coins[2] < 0.5, general, special).astype(np.int32)


def _zipf(coins: np.ndarray, ranks: int) -> np.ndarray:
    weights = 1.0 / (np.arange(ranks) + 2.7)
    bounds = np.cumsum(weights)
    return np.minimum(np.searchsorted(bounds / bounds[-1], coins, side="right"), ranks - 1)


def _open(seed: int, topics: np.ndarray, visible: float, by_topic: bool) -> np.ndarray:
    """Which chunks are open: each by a coin of its own, or by topic, the first of a drawn order of topics."""
    draw = np.random.Generator(np.random.PCG64([seed, 2]))
    if not by_topic:
        return draw.random(len(topics)) < visible
    chosen = draw.permutation(TOPICS)[: round(visible * TOPICS)]
    return np.isin(topics, chosen)


def _queries(seed: int, chunks: list[Chunk], count: int) -> tuple[str, ...]:
    """Three words of a random chunk each, as people type: the commoner first, and none of the chunk's two commonest.

    A shorter word is a commoner one here (`spell`), which is near enough and needs no pass over the corpus.
    """
    draw = np.random.Generator(np.random.PCG64([seed, 3]))
    found: list[str] = []
    for place in draw.integers(len(chunks), size=count).tolist():
        distinct = sorted(set(chunks[place].text.split()), key=lambda word: (len(word), word))
        rarer = distinct[2:] if len(distinct) >= 5 else distinct
        found.append(" ".join(rarer[at] for at in sorted(draw.permutation(len(rarer))[:3].tolist())))
    return tuple(found)
