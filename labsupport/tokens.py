"""Words: how a text becomes tokens, how long it counts, and which text of a chunk is ranked."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from labsupport.model import Chunk

_ASCII_TOKENS = re.compile(r"[a-z0-9][a-z0-9-]*")
_ATX_LINE = re.compile(r" {0,3}#{1,6}(?:[ \t][^\r\n]*)?[\r\n]*")
_SETEXT_LINES = re.compile(r".*\S[ \t]*(?:\r\n?|\n) {0,3}(?:=+|-+)\s*", re.DOTALL)
_RANKED_OF_A_HEADING = 2_000  # characters; a page-long "heading" is not read again for each of its thousand sections

# Blocks of the scripts that put no blank between words: Thai and Lao, Khmer, Kana, Han.
SPACELESS = (
    "\u0e00-\u0eff\u1780-\u17ff"
    "\u3005-\u3007\u3021-\u302f\u3031-\u303b\u3041-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)


def tokenize(text: str) -> list[str]:
    """The tokens of a text, in order: the same rule for what is indexed and for what is asked.

    A token starts with a letter, mark or digit of any script and runs on through letters, marks, digits and hyphens, so
    that `PMT-771` is one token. Compatibility forms are folded (NFKC) and so is case; U+2010 and U+2011 count as a
    hyphen, U+00AD is dropped. Runs of Han, Kana, Thai, Lao or Khmer, which write no blanks, give overlapping pairs of
    characters. Everything else (`§`, `_`, emoji) separates. Time is linear in the text. Built in notebook 02.
    """
    if not isinstance(text, str):
        raise TypeError(f"tokenize needs text, got {text!r}")
    if text.isascii():
        return _ASCII_TOKENS.findall(text.lower())
    words, spaceless, pieces, _ = _patterns()
    folded = _fold(text)
    if not spaceless.search(folded):
        return words.findall(folded)
    tokens: list[str] = []
    for word in words.findall(folded):
        for run, other in pieces.findall(word):
            if other:
                tokens.append(other)
            elif len(run) == 1:
                tokens.append(run)
            else:
                tokens.extend(run[at : at + 2] for at in range(len(run) - 1))
    return tokens


def _fold(text: str) -> str:
    """Compatibility caseless form (The Unicode Standard, definition D146), with the look-alikes of a hyphen settled."""
    # Sorting a run of marks is quadratic in CPython, so very long runs are cut as the Stream-Safe Text Format (UAX 15) says.
    text = _patterns()[3].sub("\\g<0>\u034f", text.replace("\u00ad", ""))
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", text).casefold())
    text = unicodedata.normalize("NFKC", text.casefold())
    return text.replace("\u2010", "-").replace("\u2011", "-").replace("_", " ")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Words, a spaceless character, the pieces of a mixed word, a long run of marks: compiled when a text first needs them."""
    inside = marks()
    return (
        re.compile(rf"[\w{inside}][\w{inside}-]*"),
        re.compile(rf"[{SPACELESS}]"),
        re.compile(rf"([{SPACELESS}][{SPACELESS}{inside}]*)|([^{SPACELESS}-][^{SPACELESS}]*)"),
        re.compile(rf"[{inside}]{{30}}"),
    )


@cache
def marks() -> str:
    """The marks of all scripts as the inside of a character class: Python's `\\w` has letters and digits alone."""
    spans: list[list[int]] = []
    for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(code))[0] != "M":
            continue
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


def numbered(texts: Iterable[Sequence[str]]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts that are cut into words, in columns: the distinct words in order of appearance, the number of each word of each
    text run together (int64), and how many words each text has (int64)."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__  # a word that is met for the first time takes the next number
    words, lengths = array("q"), array("q")
    for text in texts:
        words.extend(map(number.__getitem__, text))
        lengths.append(len(text))
    return list(number), np.array(words, np.int64), np.array(lengths, np.int64)


def estimate_tokens(text: str) -> int:
    """How many tokens of a language model a text will cost, about: (characters + 3) // 4.

    An estimate, four characters to a token, rounded up; a real tokenizer gives more for code and for most scripts but
    Latin. Budgets and window sizes are in this unit. Built in notebook 01.
    """
    return (len(text) + 3) // 4


def ranked_text(chunk: Chunk) -> str:
    """What both rankers read of a chunk: its headings, outermost first, then its text; each heading once.

    Every piece of a split section so keeps its heading. Where a section has no body, the text *is* the heading line and
    stands in for the last heading. The title of the document is not ranked. Met in notebook 02.
    """
    path = chunk.heading_path
    if path and _is_heading_line(chunk.text) and Counter(tokenize(path[-1])) <= Counter(tokenize(chunk.text)):
        path = path[:-1]
    return "\n".join((*(heading[:_RANKED_OF_A_HEADING] for heading in path), chunk.text))


def _is_heading_line(text: str) -> bool:
    return bool(_ATX_LINE.fullmatch(text)) or (text.rstrip()[-1:] in ("=", "-") and bool(_SETEXT_LINES.fullmatch(text)))
