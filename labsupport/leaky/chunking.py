"""Splitters whose chunks cannot be quoted: torn tables, spans and lines that open elsewhere, ids that move. Notebook 01."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from labsupport.model import Chunk, Document
from labsupport.tokens import estimate_tokens

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class FixedWindows:
    """Windows of so many estimated tokens, with overlap, across whatever stands in the page. Notebook 01.

    A window takes words while they fit; the next one carries back the longest tail within the overlap. Spans are right here;
    tables are torn, headings are words, and ids are running numbers.
    """

    sentence: ClassVar[str] = "Every chunk has the same size, and a little overlap mends the borders."

    max_tokens: int = 64
    overlap_tokens: int = 0

    def __call__(self, document: Document) -> list[Chunk]:
        return _numbered(document, ((start, end, ()) for start, end in self._spans(document.text)))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        def tokens(first: int, last: int) -> int:
            return estimate_tokens(text[words[first][0] : words[last][1]])

        words = [word.span() for word in _WORD.finditer(text)]
        first = last = 0
        while first < len(words):
            while last + 1 < len(words) and tokens(first, last + 1) <= self.max_tokens:
                last += 1
            yield words[first][0], words[last][1]
            if last + 1 == len(words):
                return
            tail = last + 1
            while tail - 1 > first and tokens(tail - 1, last) <= self.overlap_tokens:
                tail -= 1
            first, last = tail, max(tail, last)


class JoinedWindows(FixedWindows):
    """Folds all white space to single blanks, cuts that, and counts its spans in what it cut. Notebook 01."""

    sentence = "White space carries no meaning, so we fold it before we cut."

    def __call__(self, document: Document) -> list[Chunk]:
        return super().__call__(replace(document, text=" ".join(document.text.split())))


class BlankLines:
    """Cuts at blank lines. A heading is parted from its text, a code block at its own blank line. Notebook 01."""

    sentence = "A blank line is where a thought ends."

    def __call__(self, document: Document) -> list[Chunk]:
        blocks = re.finditer(r"\S.*?(?=\s*\n[ \t]*\r?\n|\s*\Z)", document.text, re.DOTALL)
        return _numbered(document, ((*block.span(), ()) for block in blocks))


class LineSections:
    """Cuts at every line that begins with `## `, also inside a code block, and numbers the sections as they come. Notebook 01."""

    sentence = "A heading is a line that begins with two hashes, and sections are numbered as they come."

    def __call__(self, document: Document) -> list[Chunk]:
        return _numbered(document, self._sections(document.text))

    @staticmethod
    def _sections(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        start, path, at = 0, (), 0
        for line in [*text.splitlines(keepends=True), None]:
            if line is None or line.strip().startswith("## "):
                body = text[start:at]
                if body.strip():
                    first = start + len(body) - len(body.lstrip())
                    yield first, start + len(body.rstrip()), path
                if line is None:
                    return
                start, path = at + len(line), (line.strip()[3:].strip(),)
            at += len(line)


def counted_lines(chunks: Sequence[Chunk]) -> list[int]:
    """The line on which each chunk is said to begin: "each chunk knows its lines, so we add them up". Notebook 01.

    A line that a border tears is counted in both chunks, so that every citation behind it is one line late.
    """
    begins, lines = [], 1
    for chunk in chunks:
        begins.append(lines)
        lines += len(chunk.text.splitlines())
    return begins


def _numbered(document: Document, pieces) -> list[Chunk]:
    """Chunks under running numbers: `fees::1`, `fees::2`."""
    return [
        Chunk(f"{document.doc_id}::{number}", document.doc_id, document.version, document.text[start:end], path, start, end,
              document.label, document.updated_tick)
        for number, (start, end, path) in enumerate(pieces, 1)
    ]
