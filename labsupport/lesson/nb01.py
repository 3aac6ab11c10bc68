"""Notebook 01, Chunking: its predictions, its judges, the chunk map, the price of overlap, and citations lit in their source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from labsupport.chunking import chunk_document
from labsupport.index import Index
from labsupport.leaky.chunking import BlankLines, FixedWindows
from labsupport.lesson.checks import Endless, Exercise, Failed, Verdict, right, wrong
from labsupport.lesson.figures import LINES, MARKERS, PALETTE, new_figure
from labsupport.lesson.hits import first_words
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.model import Chunk, Document, Principal
from labsupport.retriever import AuthorizedRetriever
from labsupport.tokens import estimate_tokens
from labsupport.worlds import World, load_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Splitter = Callable[[Document], Sequence[Chunk]]

QUESTION = "amendment of a payment"

PREDICTIONS = {
    "01.1": Prediction(
        "How many of the 12 rows sit in a chunk that also holds the header?",
        {
            "a": ("12", "to you a table is one thing. To a window it is words, and the window is full before the table ends."),
            "b": ("10", "ten rows are whole, so you counted what was not cut. Count the rows that still know their column names."),
            "c": ("2", "the first window holds the header and ends in the third row. Nobody carries the header any further."),
        },
        "c",
    ),
    "01.2": Prediction(
        "How many of the bank's 136 citations open on their own text?",
        {
            "a": ("all of them", "only blanks were folded, you thought. Each folded blank moves everything that stands behind it."),
            "b": ("about half", "you expected the early ones to hold. A page begins with its title and an empty line, and there the first character is lost."),
            "c": ("none", "each page loses a character under its title. Most citations open a few letters early, which a glance forgives."),
        },
        "c",
    ),
    "01.3": Prediction(
        "How many old ids now stand for other words: running numbers, and ids made of headings?",
        {
            "a": ("1 and 1", "one edit, one id, you thought. A running number counts what stands above, so everything below moves."),
            "b": ("3 and 0", "three sections stood below the new one. Their headings are what they were, and so are the ids made of them."),
            "c": ("3 and 3", "the page changed, so you expected its ids to change. A heading path does not know what stands above it."),
        },
        "b",
    ),
    "01.4": Prediction(
        "With 16 tokens of overlap, how many of the 12 rows sit in a chunk with the header?",
        {
            "a": ("12", "all twelve rows are whole now, and that is what overlap is for. Whole is not yet usable: ten of them have no column names."),
            "b": ("6", "the overlap would have to reach back to the header. It carries the end of a window, and the header stands in the middle of the first."),
            "c": ("2", "each window begins with the last words of the one before. The header is never among them."),
        },
        "c",
    ),
}

LEAK = LeakLine(
    notebook="01",
    name="a quotation torn from its table, cited by counting",
    sounded_reasonable="Every chunk has the same size, a little overlap mends the borders, and a citation counts lines.",
    observed="the fee of another row, in a letter, with a source under it",
    closed_by="chunks follow the structure; a citation is a span of the source; an id is made of headings",
)

SPLITTERS: dict[str, Splitter] = {
    "fixed 64": FixedWindows(64),
    "fixed 64, overlap 16": FixedWindows(64, 16),
    "fixed 96": FixedWindows(96),
    "fixed 192": FixedWindows(192),
    "blank lines": BlankLines(),
    "structure": chunk_document,
}


def page_of(world: World, doc_id: str) -> Document:
    """The page of the world's own tenant."""
    return next(page for page in world.documents if page.doc_id == doc_id and page.tenant == world.tenant)


def best_chunk(world: World, splitter: Splitter, question: str, reader: Principal) -> Chunk:
    """What a reader's search finds first where all pages of the world went through this splitter."""
    index = Index(tenant=world.tenant)
    index.add_many(chunk for page in world.documents for chunk in splitter(page))
    return AuthorizedRetriever(index).retrieve(question, reader).hits[0].chunk


def with_new_section(document: Document, heading: str, body: str) -> Document:
    """The next version: a section stands above the page's first one."""
    first = document.text.index("\n## ") + 1
    text = f"{document.text[:first]}## {heading}\n\n{body}\n\n{document.text[first:]}"
    return replace(document, text=text, version=document.version + 1)


# ---- what a splitter does to a page ------------------------------------------------------------------------------------


def rows_of(text: str) -> tuple[str, list[str]]:
    """The header line of the page's table and its rows; a blank header where there is no table."""
    header, _, *rows = [line for line in text.splitlines() if line.startswith("|")] or ["", ""]
    return header, rows


def rows_with_header(text: str, chunks: Iterable[Chunk]) -> int:
    header, rows = rows_of(text)
    together = [chunk.text for chunk in chunks if header in chunk.text]
    return sum(any(row in piece for piece in together) for row in rows)


def whole_sentences(text: str, chunks: Iterable[Chunk]) -> tuple[int, int]:
    """Sentences of a page of plain prose that stand whole in some chunk, and all of them."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    sentences, pieces = re.findall(r"[A-Z][^.]*\.", body), [chunk.text for chunk in chunks]
    return sum(any(sentence in piece for piece in pieces) for sentence in sentences), len(sentences)


def times_the_source(text: str, chunks: Iterable[Chunk]) -> float:
    return sum(len(chunk.text) for chunk in chunks) / len(text)


def verdict(document: Document, chunks: Sequence[Chunk]) -> str:
    """One line on a page and its chunks: how many, what is whole, how large."""
    text, said = document.text, [f"{len(chunks)} chunk{'s' * (len(chunks) != 1)}"]
    if rows := rows_of(text)[1]:
        said.append(f"{rows_with_header(text, chunks)} of {len(rows)} rows with their header")
    else:
        said.append("{} of {} sentences whole".format(*whole_sentences(text, chunks)))
    if fence := re.search(r"^```.*?^```", text, re.DOTALL | re.MULTILINE):
        said.append(f"code block {'whole' if any(fence[0] in chunk.text for chunk in chunks) else 'TORN'}")
    return " · ".join([*said, f"{times_the_source(text, chunks):.2f} times the source"])


_TINTS = ("0,114,178", "213,94,0", "0,158,115", "204,121,167", "230,159,0", "86,180,233")
_SLOPES = (None, 45, 135, 90, 60, 120)  # degrees; a level line would strike the words out


def chunk_map(splitter: Splitter, page: Document) -> Shown:
    """The page as it stands, and the chunks as bands over it: a letter, a colour and a hatch for each, both letters in an overlap."""
    chunks, text = splitter(page), page.text
    letters = [chr(ord("A") + place) for place in range(len(chunks))]
    borders = sorted({0, len(text), *(at for chunk in chunks for at in (chunk.start_char, chunk.end_char))})
    bands, line = [], f"{page.doc_id}: {verdict(page, chunks)}"
    for start, end in zip(borders, borders[1:], strict=False):
        inside = [place for place, chunk in enumerate(chunks) if chunk.start_char <= start and end <= chunk.end_char]
        bands.append(_band(text[start:end], inside, letters))
    said = [f"  {letter} [{chunk.start_char}:{chunk.end_char}] {first_words(chunk.text, 8)}" for letter, chunk in zip(letters, chunks, strict=True)]
    drawn = (
        f"<p><strong>{escape(line)}</strong></p>"
        f'<pre style="white-space:pre-wrap;word-break:normal;overflow-wrap:break-word;line-height:1.6;max-width:60em;font-size:13px">{"".join(bands)}</pre>'
    )
    return Shown("\n".join([line, *said]), drawn)


def _band(piece: str, inside: list[int], letters: Sequence[str]) -> str:
    """A stretch of the source: in no chunk, in one, or in several."""
    if not inside or not piece.strip():
        return f'<span style="color:#595959">{escape(piece)}</span>'
    tint, slope = _TINTS[inside[0] % len(_TINTS)], _SLOPES[inside[0] % len(_SLOPES)]
    style = f"background-color:rgba({tint},.16);border-left:3px solid rgb({tint})"
    if len(inside) > 1:
        style += ";border-bottom:3px double"
    if slope is not None:
        style += f";background-image:repeating-linear-gradient({slope}deg,rgba({tint},.25) 0 1px,transparent 1px 10px)"
    name = "+".join(letters[place] for place in inside)
    return f'<span style="{style}"><b> {name} </b>{escape(piece)}</span>'


def openings(document: Document, chunks: Sequence[Chunk], caption: str) -> Shown:
    """What each chunk says beside what its citation opens on, by their first and last words."""
    rows = [
        {"chunk": chunk.chunk_id, "the chunk says": _ends(chunk.text),
         "its citation opens on": _ends(document.text[chunk.start_char : chunk.end_char])}
        for chunk in chunks
    ]
    return show_table(rows, caption)


def _ends(text: str, first: int = 4, last: int = 3) -> str:
    words = text.split()
    return " ".join([*words[:first], "…", *words[-last:]])


def before_and_after(old: Document, new: Document, splitter: Splitter) -> Shown:
    """What each old id stood for, and what it stands for in the next version."""
    after = {chunk.chunk_id: chunk for chunk in splitter(new)}
    rows = [
        {"id": chunk.chunk_id, "stood for": _headed(chunk),
         "stands for": "the same" if after[chunk.chunk_id].text == chunk.text else _headed(after[chunk.chunk_id])}
        for chunk in splitter(old)
    ]
    return show_table(rows, "Saved ids, before and after the edit")


def _headed(chunk: Chunk) -> str:
    return f"{chunk.section}: {first_words(chunk.text, 7)}"


def price_of_overlap(fees: Document, glossary: Document, overlaps: Iterable[int]) -> list[dict[str, float]]:
    """For each overlap, at windows of 64: sentences kept whole (%), rows with their header, size of the index (times the source)."""
    points = []
    for overlap in overlaps:
        of_fees, of_glossary = (FixedWindows(64, overlap)(page) for page in (fees, glossary))
        whole, sentences = whole_sentences(glossary.text, of_glossary)
        points.append({"overlap": overlap, "sentences": 100 * whole / sentences, "rows": rows_with_header(fees.text, of_fees),
                       "size": times_the_source(fees.text, of_fees)})
    return points


def overlap_figure(points: Sequence[Mapping[str, float]], rows: int) -> tuple[Figure, str]:
    """Three panels over one x axis, with their alt text."""
    figure, panels = new_figure("Overlap mends sentences, at a price; it does not give a row its header back", panels=3, size=(9.6, 3.1))
    x = [point["overlap"] for point in points]
    named = (("sentences", "sentences kept whole (%)", (80, 102)), ("rows", f"rows with their header (of {rows})", (0, rows + 0.6)),
             ("size", "index (times the source)", (0, 3.4)))
    for axes, (name, label, limits), colour, marker, line in zip(panels, named, PALETTE, MARKERS, LINES, strict=False):
        axes.plot(x, [point[name] for point in points], color=colour, marker=marker, linestyle=line)
        axes.set_xlabel("overlap (tokens), window 64")
        axes.set_ylabel(label)
        axes.set_ylim(*limits)
        axes.set_xticks(x)
    panels[1].axhline(rows, color="#767676", linewidth=1)
    panels[1].text(x[-1], rows - 0.3, f"cut by structure: {rows}", ha="right", va="top", fontsize=9)
    said = "; ".join(f"{point['overlap']:.0f}: {point['sentences']:.0f} %, {point['rows']:.0f} rows, {point['size']:.2f}" for point in points)
    return figure, f"Overlap: sentences whole, rows with their header of {rows}, times the source. {said}. Cut by structure, all {rows} rows have it."


# ---- citations, and who may open them ----------------------------------------------------------------------------------


def five_citations(world: World) -> dict[str, str]:
    """Four citations that exist somewhere in the bank, and one that looks like them and does not."""
    chunks = {(page.tenant, chunk.chunk_id): chunk.citation() for page in world.documents for chunk in chunk_document(page)}
    return {
        "fees, Waivers": chunks["wholesale", "fees#wire-fees/waivers"],
        "pmt-771, Next step": chunks["wholesale", "pmt-771#payment-pmt-771/next-step"],
        "deal-falcon, Insiders": chunks["wholesale", "deal-falcon#project-falcon/insiders"],
        "col-script, of the retail bank": chunks["retail", "col-script#collections-script/late-fee"],
        "a page that nobody wrote": "deal-swift@v1#Project Swift/Insiders[225:431]",
    }


def lit(document: Document, chunk: Chunk, margin: int = 40) -> Shown:
    """A quotation lit in its source: some characters before it, the span marked, some behind it."""
    start, end, text = chunk.start_char, chunk.end_char, document.text
    before, after = (" ".join(piece.split()) for piece in (text[max(0, start - margin) : start], text[end : end + margin]))
    quote = f'<mark style="background-color:#FFE8A3;color:#000">{escape(text[start:end])}</mark>'
    dim = '<span style="color:#595959">{}</span>'
    body = dim.format(f"… {escape(before)} ") + quote + dim.format(f" {escape(after)} …" if after else " end of the page")
    where = f"{document.doc_id}, characters {start} to {end}"
    return Shown(f"{where}: {text[start:end]}", f'<p>{escape(where)}</p><p style="max-width:34em">{body}</p>')


# ---- the property ------------------------------------------------------------------------------------------------------


def faults(splitter: Splitter, documents: Iterable[Document]) -> dict[str, int]:
    """What is wrong with a splitter's chunks as quotations, counted over some pages."""
    elsewhere = torn = moved = 0
    for page in documents:
        chunks = splitter(page)
        elsewhere += sum(page.text[chunk.start_char : chunk.end_char] != chunk.text for chunk in chunks)
        torn += len(rows_of(page.text)[1]) - rows_with_header(page.text, chunks)
        later = {chunk.chunk_id: chunk.text for chunk in splitter(replace(page, text=f"# Notice\n\nRead this first.\n\n{page.text}"))}
        moved += sum(later.get(chunk.chunk_id) != chunk.text for chunk in chunks)
    return {"open elsewhere": elsewhere, "rows without header": torn, "ids that moved": moved}


def written_otherwise(documents: Iterable[Document]) -> list[Document]:
    """Each page three times: as it stands, with the line ends of another system, with more blank lines."""
    ways: tuple[Callable[[str], str], ...] = (str, lambda text: text.replace("\n", "\r\n"), lambda text: "\n \n" + text.replace("\n\n", "\n\n\n"))
    return [replace(page, text=way(page.text)) for page in documents for way in ways]


# ---- the judges of the exercises ---------------------------------------------------------------------------------------

SIZES = (64, 96, 128, 160, 192, 256)


def _smallest_window(answer: object) -> Verdict:
    size = int(answer)
    if size != float(answer) or size not in SIZES:
        return wrong(f"Take one of {', '.join(map(str, SIZES))}, got {answer!r}.")
    text = (page := page_of(load_world("bank"), "fees")).text
    header, rows = rows_of(text)
    held = {each: rows_with_header(text, FixedWindows(each)(page)) for each in SIZES}
    begins = estimate_tokens(text[: text.index(header)])
    long = estimate_tokens(text[text.index(header) : text.index(rows[-1]) + len(rows[-1])])
    whole = sum(any(row in chunk.text for chunk in FixedWindows(64)(page)) for row in rows)
    best = next(each for each in SIZES if held[each] == len(rows))
    if size == SIZES[0]:
        return wrong(f"{held[size]} of {len(rows)}. You may have counted whole rows, {whole}; count rows that still know their column names.")
    if size < best:
        return wrong(f"{held[size]} of {len(rows)}. The table is {long} tokens long, and no window starts where the table starts: {begins} tokens stand before it.")
    if size > best:
        return wrong("Works. So does a smaller one in the list; try the next below.")
    edited = replace(page, text=text.replace("\n\n## Tariff", " Branch staff read them out before the order is signed.\n\n## Tariff"))
    left = rows_with_header(edited.text, FixedWindows(size)(edited))
    return right(f"{size}: {begins} tokens before the table and {long} in it, one window. Somebody adds one sentence above the table, and {left} of {len(rows)} rows are left.")


def _starts(n_words: int, size: int, overlap: int) -> list[int]:
    starts = [0]
    while starts[-1] + size < n_words:
        starts.append(starts[-1] + size - overlap)
    return starts


def _window_starts(learners: Callable[[int, int, int], Iterable[int]]) -> Verdict:
    for n_words, size, overlap in ((10, 5, 2), (12, 4, 0), (100, 10, 3), (11, 5, 2), (3, 5, 2), (8, 5, 2), (50, 7, 6), (5, 5, 4), (1, 1, 0)):
        asked = f"{n_words} words, size {size}, overlap {overlap}"
        try:
            given = list(learners(n_words, size, overlap))
        except Endless:
            return wrong(f"{asked}: your list never ends. I stopped it.")
        if any(isinstance(start, (tuple, list)) for start in given):
            return wrong(f"{asked}: return one number a window, its first word; yours begins with {given[0]!r}.")
        got, expected = [int(start) for start in given], _starts(n_words, size, overlap)
        if got == expected:
            continue
        if not got or got[0] != 0:
            return wrong(f"{asked}: your windows begin at {got[0] if got else 'no word at all'}; the first begins at word 0.")
        steps = {b - a for a, b in zip(got, got[1:], strict=False)}
        if overlap and steps == {size}:
            return wrong(f"Words {size - overlap}-{size + overlap - 1} straddle a border in yours and are whole in no window: the overlap is unused.")
        if got[: len(expected)] == expected:
            return wrong(f"{asked}: your window at {got[len(expected)]} holds nothing that the one before it did not.")
        if max(got) + size < n_words:
            return wrong(f"{asked}: your last window ends before word {max(got) + size}, and words {max(got) + size}-{n_words - 1} are in no window.")
        return wrong(f"{asked}: {expected} expected, each {size - overlap} words after the one before, yours is {got}.")
    for size, overlap in ((4, 4), (4, 6)):
        try:
            got = [int(start) for start in learners(20, size, overlap)]
        except Endless:
            return wrong(f"size {size}, overlap {overlap}: your list never ends. I stopped it.")
        except Failed as failure:
            if "ValueError" in str(failure):
                continue  # refused at the door, as the lab's own does
            raise
        if got != sorted(set(got)) or not got or got[-1] + size < 20:
            return wrong(f"size {size}, overlap {overlap}: your windows are {got[:6]}, and 20 words are not covered. Advance by one word at least, or raise a ValueError.")
    return right("It covers every word, always advances, and ends where the words end.")


_PLAIN = "A hold stops a payment. A release lets\n\nit go on. A recall asks for money back.\n\n| Amendment | AED 75 | per change |\n| Recall | AED 120 | per attempt |"
_TWICE = "Fees are charged at entry today. " + "A waiver drops a fee for now. " * 2 + "Trace and recall are charged per request. A waiver drops a fee for now."
_LATE = f"\n\n{_PLAIN}"
_ODD = "Résumé\tof  a naïve 🦅 note,\r\nkept by Ines\u00a0& Wes.   It has \n many blanks, and  one bird."


def _quotations(learners: Callable[[str], Iterable[tuple[int, int, str]]]) -> Verdict:
    size, count = 8, 0
    for text in (_PLAIN, _TWICE, _LATE, _ODD):
        words = [found.span() for found in re.finditer(r"\S+", text)]
        expected = [(words[first][0], words[min(first + size, len(words)) - 1][1]) for first in range(0, len(words), size)]
        got = [(int(start), int(end), str(quote)) for start, end, quote in learners(text)]
        for number, ((start, end, quote), (first, last)) in enumerate(zip(got, expected, strict=False), 1):
            opened, count = text[start:end], count + 1
            if start < 0:
                return wrong(f"Chunk {number} begins at {start}: `find` did not find it, because the page has a line break where yours has a blank.")
            if text is _LATE and (text[start + 2 : end + 2], first - start) in ((quote, 2), (text[first:last], 2)):
                return wrong("The page begins with two blank lines; every offset of yours is 2 early.")
            if opened != quote and "\n" in text[first:last] and "\n" not in quote:
                if len(opened) != len(quote):
                    return wrong(f"Chunk {number} holds a line break: `text[start:end]` has {len(opened)} characters, your chunk {len(quote)}.")
                return wrong(f"Chunk {number} holds an empty line, yours a blank: `text[start:end]` ends in {opened[-9:]!r}, your chunk in {quote[-9:]!r}.")
            if opened != quote:
                return wrong(f"Chunk {number}: `text[start:end]` is {opened[:24]!r}, your chunk says {quote[:24]!r}.")
            if start != first and quote == text[first:last]:
                return wrong(f"The sentence stands twice in this page; yours points at the first one (chunk {number} → {start}, should be {first}).")
            if (start, end) != (first, last):
                if start != first:
                    return wrong(f"Chunk {number} begins with {quote[:12]!r}; its {size} words begin with {text[first:last][:12]!r}.")
                return wrong(f"Chunk {number} ends in {quote[-12:]!r}; its {size} words end in {text[first:last][-12:]!r}.")
        if len(got) != len(expected):
            return wrong(f"{len(expected)} windows of {size} words, yours gives {len(got)}.")
    return right(f"{count} chunks, and each is a slice of its page: line breaks, a sentence that stands twice, blank lines on top, an eagle.")


_BLOCKS = {"fence": "a fenced code block", "code_block": "indented code", "html_block": "HTML", "paragraph_open": "a paragraph that goes on"}


def _fools_the_line_splitter(answer: str) -> Verdict:
    if not isinstance(answer, str):
        raise TypeError("a page is text")
    page = answer.strip("\r\n")
    lines = page.splitlines()
    tokens = MarkdownIt("commonmark").parse(page)
    headings = {token.map[0] for token in tokens if token.type == "heading_open"}
    seen = [at for at, line in enumerate(lines) if line.strip().startswith("## ")]
    if not seen:
        unspaced = any(re.match(r"##[^#\s]", line.strip()) for line in lines)
        why = "a blank must follow the two hashes" if unspaced else "the line does not begin with `## `" if "##" in page else "no line has `## `"
        return wrong(f"The line splitter sees none here: {why}.")
    fooled = [at for at in seen if at not in headings]
    if not fooled:
        return wrong("CommonMark also says heading. Both are right, nothing is torn.")
    if len(lines) > 6:
        return wrong(f"Correct, but {len(lines)} lines. It can be done in three.")
    at = fooled[0]
    kinds = [token.type for token in tokens if token.map and token.map[0] <= at < token.map[1] and token.type in _BLOCKS]
    block = _BLOCKS[kinds[-1]] if kinds else "no heading"
    return right(f"Line {at + 1} is {block}. The line splitter makes it the heading “{lines[at].strip()[3:].strip()}”.")


EXERCISES = {
    "01.1": Exercise(f"one of the sizes {', '.join(map(str, SIZES))}", _smallest_window),
    "01.2": Exercise("a function window_starts(n_words, size, overlap) that returns the first word of each window", _window_starts),
    "01.3": Exercise("a function my_chunks(text) that returns a list of (start, end, quote)", _quotations),
    "01.4": Exercise("a text of at most six lines", _fools_the_line_splitter),
}
