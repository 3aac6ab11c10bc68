"""Chunks are quotations: they resolve, they are whole, they lose nothing, and their ids outlive an edit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from labsupport.chunking import chunk_document
from labsupport.model import Document
from labsupport.tokens import estimate_tokens, ranked_text, tokenize

CASES = {
    "D01": "test_the_same_paragraph_forty_times_has_forty_places",
    "D02": "test_every_chunk_is_the_slice_that_it_says",
    "D03": "test_a_comment_line_in_a_fence_is_no_heading",
    "D04": "test_fences_follow_their_length_kind_and_info_string",
    "D05": "test_sizes_that_cannot_end_are_refused_by_name",
    "D07": "test_a_skipped_level_makes_no_sibling_a_parent",
    "D08": "test_going_back_up_drops_the_deeper_heading_and_keeps_the_title",
    "D09": "test_documents_without_bodies_or_headings_lose_nothing",
    "D10": "test_underlined_headings_are_headings_and_rules_are_not",
    "D11": "test_front_matter_is_no_heading_and_a_rule_is_no_front_matter",
    "D12": "test_one_name_four_times_gives_four_ids",
    "D13": "test_a_real_name_never_collides_with_a_suffix",
    "D14": "test_a_table_stays_with_its_header_over_any_size",
    "D15": "test_line_ends_marks_and_wide_characters_shift_nothing",
    "D17": "test_runs_of_blanks_keep_their_places",
    "D18": "test_a_heading_is_counted_once_with_its_text",
}

SHARED = Path(__file__).resolve().parents[2] / "shared"
MARKDOWN = SHARED / "data" / "markdown"
GOLDEN = SHARED / "golden" / "reference.json"

calm = settings(deadline=None)  # a busy machine is no failure


def cut(text, *, doc_id="d", version=1, **sizes):
    return chunk_document(Document(doc_id, "t", "", text, version=version), **sizes)


def paths(text):
    return [chunk.heading_path for chunk in cut(text)]


def headings(text):
    """Each heading that has a chunk, in order of the text."""
    found = []
    for chunk in cut(text):
        if chunk.heading_path and (not found or found[-1] != chunk.heading_path):
            found.append(chunk.heading_path)
    return [path[-1] for path in found]


def in_plain_lines(chunks):
    """What two documents that differ in their line ends alone must have in common."""
    return [(c.chunk_id, c.heading_path, c.text.replace("\r\n", "\n").replace("\r", "\n")) for c in chunks]


def shared_lines(name):
    if not (MARKDOWN / name).exists():
        pytest.skip(f"the shared Markdown is not here: data/markdown/{name}")
    return [json.loads(line) for line in (MARKDOWN / name).read_text(encoding="utf-8").splitlines()]


def shared_text(path):
    with open(MARKDOWN / path, encoding="utf-8", newline="") as file:
        return file.read()


def uncovered(text, chunks, heading_lines):
    """Characters that are not blank, not in a heading line and in no chunk. Lines count from 1."""
    held = bytearray(len(text))
    for chunk in chunks:
        held[chunk.start_char : chunk.end_char] = b"\1" * len(chunk.text)
    lost, at = [], 0
    for number, line in enumerate(re.split("(?<=\n)", text.replace("\r\n", "\0\n").replace("\r", "\n").replace("\0\n", "\r\n")), 1):
        if number not in heading_lines:
            lost += [(number, mark) for step, mark in enumerate(line) if not mark.isspace() and not held[at + step]]
        at += len(line)
    return lost


def heading_lines(text):
    """An outside oracle for documents without front matter: the lines of top-level headings, by a full CommonMark parse."""
    lines = set()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "heading_open" and token.level == 0:
            lines |= set(range(token.map[0] + 1, token.map[1] + 1))
    return lines


# ---- properties ------------------------------------------------------------------------------------------------------

BITS = st.sampled_from(
    (
        "# A·## A·### B ##·#·# ·#A·####### x·Title·===·---·- - -·***·```·````·~~~·``` py·``` `·    code·\tcode·"
        "- item·  - deep·1. one·1) one·+ x·> quote·>·> # no·- # no·a | b·-|-·|:-:|:-:|·| c || d |·a | b\n-|-\nc | d·"
        "<div>·</div>·<!-- note·-->·<a b='c'>·[a]: /b·[a]: <·'t·\\·`x`·*a*·two  words·  led·_·\u3000·\xa0·"
        "\x0b·\x1c·\u2028·é·漢字かな交じり文·สวัสดี·\U0001f642·e\u0301·\ud800·\0·\ufeff·"
        "word word word word word word·aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    ).split("·")
)
ENDS = st.sampled_from(["\n", "\n\n", "\r\n", "\r", " ", "\n\n\n"])
NASTY = st.lists(st.tuples(st.one_of(BITS, st.text(max_size=6)), ENDS), max_size=25).map(lambda bits: "".join(map("".join, bits)))
SIZES = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@calm
@given(NASTY, SIZES)
def test_every_chunk_is_the_slice_that_it_says(text, sizes):
    chunks = cut(text, max_tokens=sizes[0], overlap_tokens=sizes[1])
    for chunk in chunks:
        assert text[chunk.start_char : chunk.end_char] == chunk.text and chunk.text.strip()
    starts = [chunk.start_char for chunk in chunks]
    assert starts == sorted(set(starts))


@calm
@given(NASTY, SIZES)
def test_nothing_but_heading_lines_and_blanks_is_left_out(text, sizes):
    text = "x\n\n" + text  # so that front matter and a byte-order mark, which the oracle does not know, cannot start
    assert not uncovered(text, cut(text, max_tokens=sizes[0], overlap_tokens=sizes[1]), heading_lines(text))


@calm
@given(NASTY)
def test_every_heading_has_a_chunk_of_its_own(text):
    text = "x\n\n" + text
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    opened = sum(token.type == "heading_open" and token.level == 0 for token in tokens)
    sections = {chunk.chunk_id.split("+")[0] for chunk in cut(text, max_tokens=8, overlap_tokens=2)}
    assert len(sections) == opened + 1


@calm
@given(NASTY, SIZES)
def test_ids_are_distinct_and_the_same_in_every_version(text, sizes):
    one, two = (cut(text, version=version, max_tokens=sizes[0], overlap_tokens=sizes[1]) for version in (1, 2))
    ids = [chunk.chunk_id for chunk in one]
    assert len(set(ids)) == len(ids) and ids == [chunk.chunk_id for chunk in two]
    assert all(chunk.version == 2 for chunk in two)


@calm
@given(NASTY.map(lambda text: text.replace("\r", "\n").lstrip("\ufeff")), SIZES)
def test_line_ends_and_a_byte_order_mark_change_no_chunk(text, sizes):
    def seen(source):
        return in_plain_lines(cut(source, max_tokens=sizes[0], overlap_tokens=sizes[1]))

    as_written = seen(text)
    for variant in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text, "\ufeff" + text.replace("\n", "\r\n")):
        assert seen(variant) == as_written


@calm
@given(NASTY, NASTY)
def test_an_insertion_above_changes_no_other_section(text, inserted):
    """Both parts stand between headings of their own, at the top level, so that neither reaches into the other."""
    quiet = re.sub(r"[#=\-`~<>+*]|\d[.)]", "", inserted)
    below = f"# Below\n\n{text}"

    def of_below(source):
        chunks = cut(source, max_tokens=12, overlap_tokens=3)
        first = next(at for at, chunk in enumerate(chunks) if chunk.heading_path[:1] == ("Below",))
        return [(chunk.chunk_id, chunk.text, chunk.heading_path) for chunk in chunks[first:]]

    assert of_below(f"# Above\n\n{quiet}\n\n{below}") == of_below(f"# Above\n\n{below}") == of_below(below)


@calm
@given(st.text(max_size=12).filter(str.strip), st.text(max_size=12).filter(str.strip), NASTY, NASTY)
def test_two_documents_never_share_an_id(one, other, text, another):
    if one != other:
        assert not {c.chunk_id for c in cut(text, doc_id=one)} & {c.chunk_id for c in cut(another, doc_id=other)}


def test_a_document_cannot_be_named_like_an_escaped_one():
    ids = [cut("x", doc_id=name)[0].chunk_id for name in ("a#b", "a%23b", "a", "a%2523b", "a[b]", "a\nb")]
    assert len(set(ids)) == len(ids) and not set("[]\n") & set("".join(ids))
    assert [identity.count("#") for identity in ids] == [1] * len(ids)


def windows_by_the_formula(text, size, overlap):
    """The rule of the specification, as slowly as it reads: lists of words, no queue."""
    words = [found.span() for found in re.finditer(r"\S+", text)]
    spans, first = [], 0
    while first < len(words):
        last = first
        while last + 1 < len(words) and estimate_tokens(text[words[first][0] : words[last + 1][1]]) <= size:
            last += 1
        spans.append((words[first][0], words[last][1]))
        if last + 1 == len(words):
            return spans
        following = last + 1
        while following - 1 > first and estimate_tokens(text[words[following - 1][0] : words[last][1]]) <= overlap:
            following -= 1
        first = following
    return spans


@calm
@given(st.lists(st.text("abcé.\U0001f642", min_size=1, max_size=30), max_size=60), st.sampled_from([" ", "  ", "\n"]), SIZES)
def test_prose_is_cut_by_the_formula(words, blank, sizes):
    text = blank.join(words)
    spans = [(chunk.start_char, chunk.end_char) for chunk in cut(text, max_tokens=sizes[0], overlap_tokens=sizes[1])]
    assert spans == windows_by_the_formula(text, *sizes)


@calm
@given(st.lists(st.text("漢字仮名交り文。", min_size=1, max_size=400), min_size=1, max_size=4), st.integers(2, 40))
def test_a_script_without_spaces_keeps_to_the_limit_too(lines, size):
    for chunk in cut("\n\n".join(lines), max_tokens=size, overlap_tokens=1):
        word = max((found.end() - found.start() for found in re.finditer("[漢字仮名交り文]?。*", chunk.text)), default=0)
        assert estimate_tokens(chunk.text) <= size or len(chunk.text) == word


WHOLE = {
    "table": "| name | fee |\n|---|---|\n" + "| recall | AED 120 |\n" * 39 + "| end | 1 |",
    "pipeless table": "name | fee\n-|-\n" + "recall | 120\n" * 39 + "end | 1",
    "fence": "```python\n" + "# a comment\n\nrun()\n" * 40 + "```",
    "tilde fence": "~~~~\n" + "## no heading\n~~~\n" * 40 + "~~~~",
    "indented code": "    first()\n\n" + "        second()\n" * 60 + "    last()",
    "list item": "- first\n\n" + "  more of it, in a paragraph of its own\n\n" * 30 + "  end",
    "ordered item": "7. first\n" + "   - nested point number one\n" * 40 + "   - end",
    "HTML block": "<table>\n" + "<tr><td>recall</td><td>120</td></tr>\n" * 30 + "</table>",
    "comment": "<!--\n" + "# not a heading\n\n" * 40 + "-->",
}


@pytest.mark.parametrize("kind", WHOLE)
@calm
@given(st.integers(1, 60), st.booleans(), st.booleans())
def test_a_block_stays_whole_over_any_size(kind, size, before, after):
    block = WHOLE[kind]
    text = "# A\n\n" + "some words before it\n\n" * 9 * before + block + "\n\n<!-- -->\n\n" + "some words after it\n\n" * 9 * after
    chunks = cut(text, max_tokens=size, overlap_tokens=size - 1)
    assert sum(block in chunk.text for chunk in chunks) == 1
    lines = set(block.split("\n")) - {""}
    assert not [chunk.text for chunk in chunks if lines & set(chunk.text.split("\n")) and block not in chunk.text]


# ---- the golden figures, the real files, the specification -----------------------------------------------------------


def test_the_golden_windows_are_reproduced():
    if not GOLDEN.exists():
        pytest.skip(f"the golden figures are not here: {GOLDEN.parent.name}/{GOLDEN.name}")
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["windows"]
    assert cases
    for case in cases:
        chunks = cut(case["text"], max_tokens=case["max_tokens"], overlap_tokens=case["overlap_tokens"])
        assert [[chunk.start_char, chunk.end_char] for chunk in chunks] == case["spans"]


def test_every_real_file_has_the_oracles_headings_and_loses_nothing():
    files = 0
    for record in shared_lines("oracle_headings.jsonl"):
        if not (MARKDOWN / record["path"]).exists():
            continue
        files += 1
        text = shared_text(record["path"])
        chunks = cut(text)
        assert all(text[chunk.start_char : chunk.end_char] == chunk.text for chunk in chunks), record["path"]
        assert len({chunk.chunk_id for chunk in chunks}) == len(chunks), record["path"]

        stack, expected, lines = [], {}, set()
        for heading in record["headings"]:
            if heading["nested"]:
                continue
            lines |= {heading["line"], heading["line"] + (heading["kind"] == "setext")}
            while stack and stack[-1][0] >= heading["level"]:
                stack.pop()
            stack.append((heading["level"], heading["text"]))
            expected[tuple(name for _, name in stack if name)] = None
        found = dict.fromkeys(chunk.heading_path for chunk in chunks)
        assert [path for path in found if path] == [path for path in expected if path], record["path"]
        assert not uncovered(text, chunks, lines), record["path"]

        other_ends = text.replace("\r\n", "\n") if "\r\n" in text else text.replace("\n", "\r\n")
        for variant in (other_ends, "\ufeff" + text):
            assert in_plain_lines(cut(variant)) == in_plain_lines(chunks), record["path"]
    assert files >= 100


def test_the_hand_checked_hard_lines_are_headings_or_are_not():
    checked = 0
    for case in shared_lines("nasty.jsonl"):
        if not (MARKDOWN / case["path"]).exists():
            continue
        checked += 1
        text = shared_text(case["path"])
        starts = [0, *(found.end() for found in re.finditer("\n", text))]
        chunks = cut(text)
        for line in case["lines"]:
            inside = starts[line - 1]
            quoted = [chunk for chunk in chunks if chunk.start_char <= inside < chunk.end_char and not chunk.text.startswith("#")]
            assert bool(quoted) != case["heading_at_line"] or text[inside:].lstrip().startswith("\n"), (case["id"], line)
    assert checked >= 5


class TopLevelHeadings(HTMLParser):
    """Counts the headings of a rendered page that stand in no list and no quote."""

    def __init__(self, html):
        super().__init__()
        self.deep, self.count = 0, 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.deep += tag in ("blockquote", "li")
        self.count += bool(re.fullmatch("h[1-6]", tag)) and not self.deep

    def handle_endtag(self, tag):
        self.deep -= tag in ("blockquote", "li")


def test_every_example_of_the_commonmark_specification_has_its_headings():
    path = MARKDOWN / "commonmark-spec" / "commonmark.json"
    if not path.exists():
        pytest.skip("the CommonMark examples are not here: data/markdown/commonmark-spec/commonmark.json")
    examples = json.loads(path.read_text(encoding="utf-8"))
    assert len(examples) > 600
    for example in examples:
        chunks = cut(example["markdown"], max_tokens=8, overlap_tokens=2)
        assert all(example["markdown"][chunk.start_char : chunk.end_char] == chunk.text for chunk in chunks)
        sections = {chunk.chunk_id.split("+")[0] for chunk in chunks} - {"d#body", "d#front-matter"}
        assert len(sections) == TopLevelHeadings(example["html"]).count, example


def test_the_commonmark_specification_itself_is_cut_whole():
    if not (MARKDOWN / "commonmark-spec" / "spec.md").exists():
        pytest.skip("the CommonMark specification is not here: data/markdown/commonmark-spec/spec.md")
    text = shared_text("commonmark-spec/spec.md")
    chunks = cut(text)
    assert "Setext headings" in headings(text)
    assert all(text[chunk.start_char : chunk.end_char] == chunk.text for chunk in chunks)
    fences = re.findall(r"^`{32} example.*?^`{32}$", text, re.DOTALL | re.MULTILINE)
    assert len(fences) > 600
    together = "\0".join(chunk.text for chunk in chunks)
    assert all(fence in together for fence in fences)


# ---- the faults that others met --------------------------------------------------------------------------------------


def test_the_same_paragraph_forty_times_has_forty_places():
    assert [c.start_char for c in cut("chunk chunk", max_tokens=2, overlap_tokens=0)] == [0, 6]
    text = "The same words again.\n\n" * 40
    assert [c.start_char for c in cut(text, max_tokens=6, overlap_tokens=0)] == list(range(0, len(text), 23))


def test_a_comment_line_in_a_fence_is_no_heading():
    text = "# A\n```bash\n# install\nrun\n```\n~~~\n## not a heading\n~~~\n## B\nx"
    assert headings(text) == ["A", "B"]
    (holder,) = [chunk for chunk in cut(text) if "install" in tokenize(ranked_text(chunk))]
    assert holder.text == "```bash\n# install\nrun\n```\n~~~\n## not a heading\n~~~"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("````md\n```\n# no\n```\n````\n# yes", ["yes"]),
        ("```\n~~~\n# no\n```\n# yes", ["yes"]),
        ("```js\n```py\n# no\n```\n# yes", ["yes"]),
        ("```\n# no (never closed)", []),
        ("``` a`b\n# yes", ["yes"]),
        ("~~~ a`b\n# no\n~~~~\n# yes", ["yes"]),
        ("    ```\n# yes", ["yes"]),
        ("   ```\n# no\n  ```  \n# yes", ["yes"]),
    ],
)
def test_fences_follow_their_length_kind_and_info_string(text, expected):
    assert headings(text) == expected
    assert headings("# next document") == ["next document"]


@pytest.mark.parametrize(
    ("size", "overlap"),
    [(100, 100), (100, 150), (0, 0), (0, 16), (100, -1), (-5, -9), (1.5, 0), (True, False), ("96", 16), (None, None)],
)
def test_sizes_that_cannot_end_are_refused_by_name(size, overlap):
    with pytest.raises(ValueError, match="max_tokens.*overlap_tokens") as refused:
        cut("a" * 5000, max_tokens=size, overlap_tokens=overlap)
    assert f"max_tokens={size!r}, overlap_tokens={overlap!r}" in str(refused.value)


def test_a_skipped_level_makes_no_sibling_a_parent():
    assert paths("# A\n### B\nb\n### C\nc\n## D\nd")[1:] == [("A", "B"), ("A", "C"), ("A", "D")]


def test_going_back_up_drops_the_deeper_heading_and_keeps_the_title():
    found = {chunk.text: chunk.heading_path for chunk in cut("# T\n### S\np1\n## Sec\np2")}
    assert found == {"# T": ("T",), "p1": ("T", "S"), "p2": ("T", "Sec")}


def test_documents_without_bodies_or_headings_lose_nothing():
    assert [(c.text, c.heading_path) for c in cut("# Only a title\n")] == [("# Only a title", ("Only a title",))]
    assert [c.text for c in cut("# A\n# B\n")] == ["# A", "# B"]
    assert [(c.text, c.heading_path, c.section) for c in cut("no headings at all")] == [("no headings at all", (), "body")]
    assert cut("") == cut(" \n\t\n\u00a0\n") == cut("\ufeff") == []


def test_underlined_headings_are_headings_and_rules_are_not():
    assert paths("Title\n=====\nbody\n\nSub\n---\nx\n\n---\n\ny") == [("Title",), ("Title", "Sub")]
    assert headings("two\nlines\n=\nx") == ["two lines"]
    assert cut("x\n\n---\n\ny")[0].text == "x\n\n---\n\ny"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: x\ndescription: y\n---\n# A\nb", ["A"]),
        ("\ufeff---\r\nname: x\r\n...\r\n# A\r\nb", ["A"]),
        ('---\n# a YAML comment\n"name": x\n---\n# A\nb', ["A"]),
        ("H2 Title\n\n---\nSome text", []),
        ("---\nnever closed\n# A", ["A"]),
        ("---\n\nA rule, then text.\n\n---\n\n# A", ["A"]),
        ("---\n# A\n---\nb", ["A"]),
        ("\n---\nname: x\n---\n# A", ["name: x", "A"]),
    ],
)
def test_front_matter_is_no_heading_and_a_rule_is_no_front_matter(text, expected):
    assert headings(text) == expected
    assert all(text[chunk.start_char : chunk.end_char] == chunk.text for chunk in cut(text))


def test_front_matter_is_a_chunk_of_its_own_and_moves_no_other():
    body = "intro\n\n# A\nb"
    with_it = cut(f"---\ntitle: x\n---\n{body}")
    assert with_it[0].text == "---\ntitle: x\n---" and with_it[0].chunk_id == "d#front-matter"
    assert [c.chunk_id for c in with_it[1:]] == [c.chunk_id for c in cut(body)] == ["d#body", "d#a"]


def test_one_name_four_times_gives_four_ids():
    chunks = cut("# S\n## Setup\na\n## Setup\nb\n## setup\nc\n## `Setup`\nd")
    assert [chunk.chunk_id for chunk in chunks[1:]] == ["d#s/setup", "d#s/setup~2", "d#s/setup~3", "d#s/setup~4"]
    assert [chunk.text for chunk in chunks[1:]] == ["a", "b", "c", "d"]


def test_a_real_name_never_collides_with_a_suffix():
    names = "Setup Setup Setup-1 Setup-1 Setup~2 Setup+2 A/B A a%2Fb Body Front-matter ~ ** [x] x # C# C++ C".split()
    long = " ".join(["word"] * 150)
    text = f"{long}\n\n" + "".join(f"# {name}\n\n{long}\n\n## B\n\n{long}\n\n" for name in [*names, *names, long, long + "!"])
    ids = [chunk.chunk_id for chunk in cut(text, max_tokens=40)]
    assert len(set(ids)) == len(ids) > 400
    assert not set("[]<>\n") & set("".join(ids))


def test_a_repeat_elsewhere_moves_no_id():
    changelog = "# 1.1\n## Fixed\na\n# 1.0\n## Fixed\nb\n"
    more = "# 1.1\n## Fixed\na\n## Fixed\nnew\n# 1.0\n## Fixed\nb\n"
    kept = {c.text: c.chunk_id for c in cut(changelog)}
    assert {c.text: c.chunk_id for c in cut(more) if c.text != "new"} == kept
    assert kept["b"] == "d#1.0/fixed"
    assert cut("# S\n## Setup\na\n# Setup\nb")[-1].chunk_id == "d#setup"
    page = "word " * 40
    assert cut(f"# {page}two\nb")[0].chunk_id == cut(f"# {page}one\na\n# {page}two\nb")[-1].chunk_id  # alike for 200 characters


def test_ids_are_read_off_the_heading_path():
    text = (
        "intro\n# Parental leave\n## Two  blocks?\n"
        + "word " * 100
        + "\n## Élan vital\nx\n## 手続き\ny\n## See [the form](http://x/y)\nz"
    )
    assert [c.chunk_id for c in cut(text, doc_id="hr/leave.md#1", max_tokens=96)] == [
        "hr/leave.md%231#body",
        "hr/leave.md%231#parental-leave",
        "hr/leave.md%231#parental-leave/two-blocks?",
        "hr/leave.md%231#parental-leave/two-blocks?+2",
        "hr/leave.md%231#parental-leave/élan-vital",
        "hr/leave.md%231#parental-leave/手続き",
        "hr/leave.md%231#parental-leave/see-the-form",
    ]


def test_ids_do_not_depend_on_the_process():
    code = (
        "from labsupport import model, chunking\n"
        "print([c.chunk_id for c in chunking.chunk_document(model.Document('d', 't', '', '# S\\n# S\\n# ' + 'x' * 300))])"
    )
    root = Path(__file__).resolve().parents[1]
    said = set()
    for seed in ("1", "2"):
        run = [sys.executable, "-c", code]
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        said.add(subprocess.run(run, cwd=root, env=env, capture_output=True, text=True, check=True).stdout)
    assert len(said) == 1 and "d#s~2" in said.pop()


def test_a_table_stays_with_its_header_over_any_size():
    table = "| a | b |\n|---|---|\n| unit | AED |\n" + "| row | 1 |\n" * 40
    chunks = cut(f"# Fees\n\nBefore it.\n\n{table}\nAfter it.", max_tokens=75)
    (holder,) = [chunk for chunk in chunks if "row" in chunk.text]
    assert table.strip() in holder.text


def test_a_long_list_is_parted_between_its_items_only():
    items = [f"- item {number} of the list, with some words\n  - and a nested one" for number in range(30)]
    chunks = cut("\n".join(items), max_tokens=50, overlap_tokens=0)
    assert len(chunks) > 5
    assert "\n".join(chunk.text for chunk in chunks) == "\n".join(items)
    assert all(chunk.text.startswith("- item") for chunk in chunks)


def test_a_quote_is_parted_between_words_but_its_blocks_stay_whole():
    fence = "> ```\n" + "> # x = 1\n" * 30 + "> ```"
    text = "> " + "quoted words " * 60 + f"\n>\n{fence}\n>\n> end"
    chunks = cut(text, max_tokens=30, overlap_tokens=5)
    assert sum(fence in chunk.text for chunk in chunks) == 1 and len(chunks) > 5
    assert not uncovered(text, chunks, set())


def test_no_window_before_a_block_only_repeats_the_one_before_it():
    table = "| a |\n|---|\n" + "| row |\n" * 40
    chunks = cut("some words before the table " * 9 + f"\n\n{table}\nafter", max_tokens=20, overlap_tokens=8)
    assert len(chunks) > 4
    assert all(one.end_char < other.end_char for one, other in zip(chunks, chunks[1:], strict=False))


def test_small_blocks_share_a_chunk():
    text = "# A\n\nOne.\n\n- two\n- three\n\n```\nfour\n```\n\n| f |\n|---|\n| 5 |\n\n<p>six</p>"
    assert [chunk.text for chunk in cut(text)] == [text[5:]]


def test_a_rule_or_a_quote_mark_alone_is_no_chunk_where_it_has_a_neighbour():
    table = "| a |\n|---|\n" + "| row |\n" * 40
    for text in (f"{table}\n---\n\n{table}", f"***\n\n{table}", f"{table}\n>\n"):
        chunks = cut(text, max_tokens=8, overlap_tokens=2)
        assert all(tokenize(chunk.text) for chunk in chunks) and chunks
        assert not uncovered(text, chunks, set())


def test_headings_in_lists_and_quotes_are_lines_like_others():
    assert headings("- # no\n- x\n\n> # no\n> Sub\n> ---\n\n1. Title\n   =====\n\n# yes") == ["yes"]


def test_an_empty_heading_leaves_no_hole_in_the_path():
    text = "# A\n## B\nb\n# \n## C\nc\n"
    assert paths(text) == [("A",), ("A", "B"), (), ("C",)]
    assert cut(text)[-1].chunk_id == "d#c"
    assert cut(text)[-1].citation() == "d@v1#C[19:20]"


def test_closing_hashes_go_and_hashes_of_the_name_stay():
    text = "### Full Computation ### \nx\n### Truncating Time Steps###\ny\n# C#\nz\n# C \\#\nw"
    assert headings(text) == ["Full Computation", "Truncating Time Steps###", "C#", "C \\#"]


def test_line_ends_marks_and_wide_characters_shift_nothing():
    for text in ("# A\r\nrésumé 😀\r\n## B\r\nok", "\ufeff# A\r\nrésumé 😀\r\n## B\r\nok"):
        chunks = cut(text)
        assert [(c.text, c.heading_path) for c in chunks] == [("résumé 😀", ("A",)), ("ok", ("A", "B"))]
        assert all(text[c.start_char : c.end_char] == c.text for c in chunks)


def test_runs_of_blanks_keep_their_places():
    (only,) = cut("some       text\n\n\n\tmore")
    assert only.text == "some       text\n\n\n\tmore"
    (only,) = cut("  \n  led by blanks  \n\n")
    assert (only.text, only.start_char) == ("led by blanks", 5)


def test_a_heading_is_counted_once_with_its_text():
    (only,) = cut("## Section A\n\nbody words")
    assert only.text == "body words"
    assert tokenize(ranked_text(only)) == ["section", "a", "body", "words"]
    assert estimate_tokens(ranked_text(only)) == estimate_tokens("Section A\nbody words")


def test_chunks_carry_the_documents_label_version_and_tick():
    document = Document("d", "bank", "Title", "# A\nb", "confidential", "advisory", ("desk",), version=7, updated_tick=9)
    (only,) = chunk_document(document)
    assert (only.label, only.version, only.updated_tick, only.doc_id) == (document.label, 7, 9, "d")


def test_only_a_document_is_cut():
    with pytest.raises(TypeError, match="needs a Document"):
        chunk_document("# A\nb")


# ---- bad input: a right answer in bounded time -----------------------------------------------------------------------


def test_a_word_longer_than_the_limit_is_one_chunk():
    chunks = cut("short " + "a" * 5000 + " short", max_tokens=10, overlap_tokens=0)
    assert [chunk.text for chunk in chunks] == ["short", "a" * 5000, "short"]


def test_a_size_of_one_and_an_overlap_of_size_minus_one_end():
    words = ["one", "two", "three", "four"] * 50
    assert [c.text for c in cut(" ".join(words), max_tokens=1, overlap_tokens=0)] == words
    assert len(cut(" ".join(words), max_tokens=20, overlap_tokens=19)) < len(words)


@pytest.mark.parametrize(
    "text",
    ["\ud800 lone \udfff", "[a]: \ud800", "# \ud800", "<a \ud800>", bytes(range(256)).decode("latin-1") * 20, "\0\1\2# x\0"],
)
def test_what_is_not_text_is_cut_as_it_stands(text):
    chunks = cut(text)
    assert chunks and all(text[c.start_char : c.end_char] == c.text for c in chunks)


STAIRS = "".join("  " * depth + "- a\n" for depth in range(60))


@pytest.mark.parametrize("opening", ["- " * 40, "> " * 500, "1. " * 40, "> - " * 30, STAIRS])
def test_a_heading_after_deep_nesting_is_still_a_heading(opening):
    assert headings(f"{opening}deep\n\n# After\nx") == ["After"]


SIZE = 200_000
FLOODS = {
    "# in a line": "#" * SIZE,
    "# on lines": "#\n" * (SIZE // 10),
    "> in a line": ">" * SIZE,
    "> on lines": ">\n" * (SIZE // 4),
    "lazy lines under deep quotes": ">" * 50 + "a\n" * (SIZE // 10),
    "brackets": "[" * SIZE,
    "open labels": "[a\n" * (SIZE // 6),
    "a host of many letters": "[a]: http://" + "".join(map(chr, range(0x4E00, 0x9F00))),
    "open titles": "[a]: b '\n" * (SIZE // 9),
    "stairs": "".join("  " * depth + "- a\n" for depth in range(400)),
    "list marks": "- " * (SIZE // 2),
    "fences in fences": "".join("`" * (3 + step % 50) + "\n" for step in range(SIZE // 28)),
    "open comments": "<!--\n" * (SIZE // 5),
    "open tags": "<a" + " a" * (SIZE // 2),
    "pipes": "|" * SIZE + "\n" + "|-" * (SIZE // 2),
    "dashes": "-" * SIZE,
    "dashes on lines": "-\n" * (SIZE // 10),
    "blanks": " " * SIZE + "a",
    "marks in a heading": "# a" + "\u0301\u0316" * (SIZE // 2),
    "open front matter": "---\na: b\n" * (SIZE // 30) + "x",
    "5,000 rows": "| a | b |\n|---|---|\n" + "| c | d |\n" * 5_000,
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_is_cut_in_time_that_grows_with_its_length(kind):
    """Each takes about a second or less; with a quadratic step it would take minutes."""
    text = FLOODS[kind]
    start = time.process_time()
    chunks = cut(text)
    assert time.process_time() - start < 30
    assert chunks and all(text[c.start_char : c.end_char] == c.text for c in chunks)


def test_fifty_megabytes_on_one_line_are_cut():
    text = "a" * 25_000_000 + " " + "#" * 25_000_000
    start = time.process_time()
    assert [(c.start_char, c.end_char) for c in cut(text)] == [(0, 25_000_000), (25_000_001, 50_000_001)]
    assert time.process_time() - start < 60
