"""From a document to quotations: chunks that follow the Markdown structure, resolve to the source, and keep their ids."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token

from labsupport.model import Chunk, Document
from labsupport.tokens import SPACELESS, marks

_DEEPEST = 12  # levels of lists and quotes that are opened; what lies deeper is text of the level above
_LONGEST_NAME = 100  # characters of a heading that an id spells out; of a longer one it holds a digest
_RESERVED = ("body", "front-matter")  # sections without a heading; a real heading of that name counts as a repeat
_WORD = re.compile(r"\S+")
_SAYS_SOMETHING = re.compile(r"[^\W_]")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_KEY_LINE = re.compile(r"""[\w"'][^:\n]*:(\s|$)""")


class _Unit(NamedTuple):
    """A stretch of a section: words that windows may part, or one block that they may not."""

    start: int
    end: int
    whole: bool
    mute: bool = False  # holds no letter or digit (a rule, a lone quote mark): goes with its neighbour


class _Section(NamedTuple):
    key: str
    path: tuple[str, ...]
    units: list[_Unit]


def chunk_document(document: Document, *, max_tokens: int = 96, overlap_tokens: int = 16) -> list[Chunk]:
    """Cut a document into chunks, in the order of the text. `document.text[c.start_char:c.end_char] == c.text`, always.

    Headings are those of CommonMark (ATX and setext, outside lists and quotes), as written, in source form. A section
    longer than `max_tokens` (see `estimate_tokens`) becomes windows of words; each carries back up to `overlap_tokens`
    from the one before. A table, a code block, an HTML block, front matter or a list item stays whole, also over the
    target size, and so does a word of its own; a smaller block shares a window with its neighbours. A heading with no
    body is a chunk of its heading line. Every other character that is not blank is in at least one chunk.

    Ids are `doc_id#heading/sub`, made of the document and the heading path alone, with `~2` for a repeat under the same
    parent and `+2` for a second window; text before any heading is `#body`. They do not depend on the version, so an edit
    changes the ids of no other section; only a repeat put above its namesake shifts the namesake's suffix.

    Raises `ValueError` for a size below 1, a negative overlap, or an overlap that is not smaller than the size. Time is
    linear in the text. Built in notebook 01.
    """
    if not isinstance(document, Document):
        raise TypeError(f"chunk_document needs a Document, got {document!r}")
    _check_sizes(max_tokens, overlap_tokens)
    text, origin = _with_plain_line_ends(document.text)
    name = _escaped(document.doc_id, "%#[]")
    chunks = []
    for key, path, units in _sections(text):
        for number, (first, last) in enumerate(_windows(_atoms(text, units, 4 * max_tokens), max_tokens, overlap_tokens), 1):
            start, end = origin(first), origin(last)
            chunks.append(
                Chunk(
                    chunk_id=f"{name}#{key}" + (f"+{number}" if number > 1 else ""),
                    doc_id=document.doc_id,
                    version=document.version,
                    text=document.text[start:end],
                    heading_path=path,
                    start_char=start,
                    end_char=end,
                    label=document.label,
                    updated_tick=document.updated_tick,
                )
            )
    return chunks


def _check_sizes(max_tokens: int, overlap_tokens: int) -> None:
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in (max_tokens, overlap_tokens))
    if not whole or not 0 <= overlap_tokens < max_tokens:
        raise ValueError(
            "max_tokens must be a whole number from 1 and overlap_tokens one from 0 that is smaller, "
            f"got max_tokens={max_tokens!r}, overlap_tokens={overlap_tokens!r}"
        )


def _with_plain_line_ends(source: str) -> tuple[str, Callable[[int], int]]:
    """The text as the parser wants it, and the way back from its offsets to the source's.

    Sizes are taken here, so a document is cut at the same words whatever its line ends, with or without a byte-order mark.
    """
    mark = 1 if source.startswith("\ufeff") else 0
    shortened = [found.start() - mark - before for before, found in enumerate(re.finditer("\r\n", source))]
    text = source[mark:].replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text, lambda at: at + mark + bisect_left(shortened, at)


# ---- sections --------------------------------------------------------------------------------------------------------


def _sections(text: str) -> Iterator[_Section]:
    """Front matter, the text before any heading, then one section for each heading; those with something to quote."""
    body = _end_of_front_matter(text)
    if body:
        yield _Section("front-matter", (), [_Unit(*_trimmed(text, 0, body), whole=True)])
    lines = _line_starts(text, body)
    seen: Counter[tuple[str, str]] = Counter({("", name): 1 for name in _RESERVED})
    above: list[tuple[int, str, str]] = []  # level, heading, key of each open section
    section, heading_line = _Section("body", (), []), None
    cursor = 0
    for token, title in _leaves(_parse(text[body:])):
        first, last = token.map
        _add(section.units, text, lines[cursor], lines[first], whole=False)  # what no block owns, such as link definitions
        cursor = last
        if title is None:
            whole = token.type not in ("paragraph_open", "heading_open", "hr")
            _add(section.units, text, lines[first], lines[last], whole=whole, indented=token.type == "code_block")
            continue
        yield from _finished(section, heading_line)
        heading_line = _Unit(*_trimmed(text, lines[first], lines[last]), whole=True)
        level = int(token.tag[1])
        while above and above[-1][0] >= level:
            above.pop()
        parent = above[-1][2] if above else ""
        slug = _slug(title)
        seen[parent, slug] += 1
        key = (f"{parent}/" if parent else "") + slug + (f"~{seen[parent, slug]}" if seen[parent, slug] > 1 else "")
        # A heading without text closes the sections that it outranks and adds nothing to the path.
        above.append((level, title, key if title else parent))
        section = _Section(key, tuple(name for _, name, _ in above if name), [])
    _add(section.units, text, lines[cursor], len(text), whole=False)
    yield from _finished(section, heading_line)


def _finished(section: _Section, heading_line: _Unit | None) -> Iterator[_Section]:
    if section.units:
        yield section
    elif heading_line:
        yield section._replace(units=[heading_line])


def _end_of_front_matter(text: str) -> int:
    """Where the body starts: after a closed block of `---` lines at the very top whose first entry is a key, else 0."""
    closed = re.match(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", text, re.DOTALL)
    if not closed:
        return 0
    entries = (line for line in closed[1].split("\n") if line.strip() and not line.startswith("#"))
    return closed.end() if _KEY_LINE.match(next(entries, "")) else 0


def _line_starts(text: str, body: int) -> list[int]:
    """Offsets of the body's lines, with the end of the text for the line after the last."""
    starts = [body]
    starts.extend(found.end() for found in re.compile("\n").finditer(text, body))
    return [*starts, len(text)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    stretch = text[start:end]
    return start + len(stretch) - len(stretch.lstrip()), start + len(stretch.rstrip())


def _add(units: list[_Unit], text: str, start: int, end: int, *, whole: bool, indented: bool = False) -> None:
    first, last = _trimmed(text, start, end)
    if first >= last:
        return
    if indented:
        first = start  # the first line of indented code is indented too
    unit = _Unit(first, last, whole, mute=not whole and not _SAYS_SOMETHING.search(text, first, last))
    if units and (unit.mute or units[-1].mute):
        before = units.pop()
        unit = _Unit(before.start, last, before.whole or whole, before.mute and unit.mute)
    units.append(unit)


# ---- ids -------------------------------------------------------------------------------------------------------------


def _slug(title: str) -> str:
    """A heading's part of an id: case and spacing folded, link targets, code and emphasis marks gone, separators escaped.

    `~`, `+`, `/` and `#` stand in an id only where this module put them, so no heading can imitate a suffix.
    """
    title = _LINK.sub(r"\1", _LINK.sub(r"\1", title))  # twice: an image may stand in a link
    shown = title[:_LONGEST_NAME]
    name = unicodedata.normalize("NFC", unicodedata.normalize("NFC", shown).casefold())
    slug = _escaped("-".join(name.replace("`", "").replace("*", "").split()), '%#/~+[]<>"') or "~"
    if shown == title:
        return slug
    return f"{slug}~x{blake2b(title.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _escaped(part: str, separators: str) -> str:
    """Percent-escape the separators and what cannot be printed, so that different parts stay different."""
    return "".join(
        mark
        if mark.isprintable() and mark not in separators
        else "".join(f"%{byte:02X}" for byte in mark.encode("utf-8", "surrogatepass"))
        for mark in part
    )


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _leaves(tokens: list[Token]) -> Iterator[tuple[Token, str | None]]:
    """The blocks that are not parted further, in order; with its text where one is a heading that opens a section.

    Lists are opened to their items and quotes to their blocks; a heading inside either is a line like others.
    """
    inside = None  # level of the block that is being skipped
    for at, token in enumerate(tokens):
        if inside is not None:
            if token.nesting == -1 and token.level == inside:
                inside = None
            continue
        if token.type in ("bullet_list_open", "ordered_list_open", "blockquote_open") or token.nesting == -1:
            continue
        if token.nesting == 1:
            inside = token.level
        is_heading = token.type == "heading_open" and token.level == 0
        yield token, " ".join(line.strip() for line in tokens[at + 1].content.split("\n")) if is_heading else None


def _parse(text: str) -> list[Token]:
    """The block structure alone: inline rules, which can take quadratic time, never run."""
    tokens: list[Token] = []
    parser = _parser()
    parser.block.parse(text, parser, {}, tokens)
    return tokens


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 1_000}).enable("table")
    rules = parser.block.ruler
    rules.at("list", _down_to_the_deepest(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    rules.at("blockquote", _down_to_the_deepest(blockquote), {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def _down_to_the_deepest(rule: Callable[[StateBlock, int, int, bool], bool]) -> Callable[[StateBlock, int, int, bool], bool]:
    """The parser's own bound drops the rest of the document, headings included; this one reads deeper levels as text."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return (silent or state.level < _DEEPEST) and rule(state, start, end, silent)

    return bounded


# ---- windows ---------------------------------------------------------------------------------------------------------


def _atoms(text: str, units: list[_Unit], longest: int) -> Iterator[tuple[int, int, bool]]:
    """What a window takes or leaves: blocks, words, and the characters of an overlong word in a script without spaces.

    Start, end, and whether it is a block. Plain tuples: a text of 50 MB has eight million of them.
    """
    for unit in units:
        if unit.whole:
            yield unit.start, unit.end, True
            continue
        for word in _WORD.finditer(text, unit.start, unit.end):
            start, end = word.span()
            if end - start <= longest:
                yield start, end, False
            else:
                yield from ((*piece.span(), False) for piece in _spaceless().finditer(text, start, end))


@cache
def _spaceless() -> re.Pattern[str]:
    """One character of a script without spaces, with what must not be parted from it; or a stretch of any other script.

    Thai and Lao write some vowels before their consonant; the Khmer sign U+17D2 joins the next consonant.
    """
    one = f"[{SPACELESS}][{marks()}]*"
    return re.compile(rf"[\u0e40-\u0e44\u0ec0-\u0ec4]?{one}(?:(?<=\u17d2){one})*[^\s{SPACELESS}]*|[^\s{SPACELESS}]+")


def _windows(atoms: Iterator[tuple[int, int, bool]], max_tokens: int, overlap_tokens: int) -> Iterator[tuple[int, int]]:
    """Spans: atoms while the estimate holds, one at least; the next window carries back the longest tail within the overlap.

    The tail never holds its window's first atom, so that windows advance. (characters + 3) // 4 <= n is characters <= 4n.
    """
    size, overlap = 4 * max_tokens, 4 * overlap_tokens
    starts: deque[int] = deque()  # of the atoms in the open window, which ends at `last`
    last = 0
    for start, end, whole in atoms:
        while starts and end - starts[0] > size:
            yield starts.popleft(), last
            while starts and last - starts[0] > overlap:
                starts.popleft()
            while starts and whole and end - starts[0] > size:
                starts.popleft()  # a tail alone would only say again what the window before it said
        starts.append(start)
        last = end
    if starts:
        yield starts[0], last
