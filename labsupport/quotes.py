"""Does a quotation stand in a returned page, letter for letter? Only typography is folded, and the span shows the original.

Built in notebook 07.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from labsupport.errors import QuoteNotFound
from labsupport.guardrails import EMPTY_ANSWER, returned_chunks
from labsupport.model import Chunk, Hit
from labsupport.tokens import tokenize

# What typesetting changes and nobody means: curly quotes, look-alikes of the hyphen, the soft hyphen. Never a letter, a
# digit or a case, and no compatibility forms: 10² is not 102. A run of white space is one blank.
_FOLDS = (dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a", "'") | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"')
          | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-") | {"\u00ad": ""})


@dataclass(frozen=True)
class Span:
    """Where a quotation stands: `chunk.text[start:end] == text`, and `document.text[start_char:end_char] == text`.

    `text` is the page's own writing, typography included. `citation` names the span in the document, not the whole chunk.
    """

    chunk_id: str
    start: int
    end: int
    start_char: int
    end_char: int
    text: str
    citation: str


class _Folded:
    """A text with its typography folded, and for each character where it stood in the original."""

    def __init__(self, original: str):
        self.original = original
        pieces, self.starts, self.ends = [], [], []
        for at, character in enumerate(original):
            if character.isspace():
                if pieces and pieces[-1] == " ":
                    self.ends[-1] = at + 1
                    continue
                character = " "
            elif (character := _FOLDS.get(character, character)) == "":
                continue
            pieces.append(character)
            self.starts.append(at)
            self.ends.append(at + 1)
        self.text = "".join(pieces)

    def span(self, chunk: Chunk, start: int, end: int) -> Span:
        first, last = self.starts[start], self.ends[end - 1]
        start_char, end_char = chunk.start_char + first, chunk.start_char + last
        citation = f"{chunk.citation().rpartition('[')[0]}[{start_char}:{end_char}]"
        return Span(chunk.chunk_id, first, last, start_char, end_char, self.original[first:last], citation)


def quote_in(hits: Iterable[Hit], quote: str) -> Span:
    """Where the quote stands in **one** of these chunks: the first in order of rank, the first place in it.

    Letter for letter, case included; only curly quotes, look-alikes of the hyphen, soft hyphens and runs of white space
    are folded. It must hold at least two tokens: a single word is in too many pages to be evidence. Raises
    `QuoteNotFound`, with the nearest returned text, its span, and the character that made the difference; `TypeError`
    for what is no text. A quote may begin inside a word: it is a quotation, not a claim. Built in notebook 07.
    """
    return _find(returned_chunks(hits).values(), quote)


class _HandsOver(Protocol):
    evidence: list[Mapping[str, str]]
    answer: str


def check_evidence(handoff: _HandsOver, hits: Iterable[Hit]) -> list[Span]:
    """One span for each piece of evidence: its quote stands in the very chunk that its `id` names, and that was returned.

    Raises `QuoteNotFound` for an id that is not among the hits, a quote that is nowhere, a quote that stands in another
    chunk than the one named, and for an answer that hands over no evidence at all. Built in notebook 07.
    """
    chunks = returned_chunks(hits)
    if not handoff.evidence and handoff.answer != EMPTY_ANSWER:
        raise QuoteNotFound(f"evidence must back the answer, got none; only {EMPTY_ANSWER!r} needs none")
    return [_evidence(chunks, piece) for piece in handoff.evidence]


def _evidence(chunks: Mapping[str, Chunk], piece: Mapping[str, str]) -> Span:
    if not isinstance(piece, Mapping) or not piece.keys() >= {"id", "quote"}:
        raise TypeError(f"each piece of evidence must hold 'id' and 'quote', got {piece!r}")
    if piece["id"] not in chunks:
        raise QuoteNotFound(f"evidence must name a returned chunk, got id {piece['id']!r}; returned were {_names(chunks)}")
    try:
        return _find([chunks[piece["id"]]], piece["quote"])
    except QuoteNotFound as problem:
        missing = problem
    try:
        elsewhere = _find(chunks.values(), piece["quote"])
    except QuoteNotFound:
        raise missing from None
    raise QuoteNotFound(f"the evidence says that the quote {_short(piece['quote'])} stands in {piece['id']!r}; it stands in "
                        f"{elsewhere.chunk_id!r}", nearest=elsewhere.text, span=elsewhere)


def _names(chunks: Mapping[str, Chunk]) -> str:
    return ", ".join(map(repr, chunks)) or "none"


def _find(chunks: Iterable[Chunk], quote: str) -> Span:
    if not isinstance(quote, str):
        raise TypeError(f"quote must be text, got {quote!r}")
    wanted = _Folded(quote).text.strip(" ")
    if len(tokenize(quote)) < 2:
        raise QuoteNotFound(f"a quote must hold at least two words, got {_short(quote)}: less is in too many pages to be evidence")
    pages = [(chunk, _Folded(chunk.text)) for chunk in chunks]
    for chunk, page in pages:
        at = page.text.find(wanted)
        if at >= 0:
            return page.span(chunk, at, at + len(wanted))
    raise _not_found(pages, wanted)


# --- the nearest text, for the error --------------------------------------------------------------------------------

_NEAR = 3
"""Characters that must agree before a text is called near."""


def _not_found(pages: list[tuple[Chunk, _Folded]], wanted: str) -> QuoteNotFound:
    what = f"no returned chunk holds the quote {_short(wanted)} letter for letter"
    alignments = [one for number, (_, page) in enumerate(pages) for one in _alignments(number, page.text, wanted)]
    agreeing, number, start, at = max(alignments, default=(0, 0, 0, 0), key=lambda one: one[0])
    if agreeing < _NEAR:
        return QuoteNotFound(f"{what}, nor anything near it")
    chunk, page = pages[number]
    span = page.span(chunk, max(start, 0), min(len(page.text), start + len(wanted)))
    there = start + at
    has = _named(page.text[there]) if 0 <= there < len(page.text) else f"nothing: its text {'begins' if there < 0 else 'ends'} here"
    return QuoteNotFound(f"{what}; nearest in {chunk.chunk_id!r}: {_short(span.text)}; character {at + 1} of the quote is "
                         f"{_named(wanted[at])}, the page has {has}", nearest=span.text, span=span)


def _alignments(number: int, page: str, quote: str) -> Iterator[tuple[int, int, int, int]]:
    """The page's two best places: for the quote's longest beginning, and for its longest end, upper and lower case alike.

    Each is (agreeing characters, number of the page, where on it the quote would start, the character that differs).
    """
    small, wanted = _caseless(page), _caseless(quote)
    size = _longest(len(wanted), lambda size: wanted[:size] in small)
    start = small.find(wanted[:size])
    yield size, number, start, next(at for at in range(len(quote)) if page[start + at:start + at + 1] != quote[at])
    size = _longest(len(wanted), lambda size: wanted[len(wanted) - size:] in small)
    start = small.find(wanted[len(wanted) - size:]) + size - len(wanted)
    yield size, number, start, next(at for at in reversed(range(len(quote))) if start + at < 0 or page[start + at] != quote[at])


def _caseless(text: str) -> str:
    """Case is ignored to find the nearest text, never to accept a quote. One character stays one, so that places agree."""
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest size up to `most` that fits, where every smaller one fits too."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _named(character: str) -> str:
    return f"{character!r} (U+{ord(character):04X} {unicodedata.name(character, 'without a name')})"


def _short(text: str, most: int = 80) -> str:
    return repr(text if len(text) <= most else text[:most] + "…")
