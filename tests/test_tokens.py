"""Words: one rule for index and question, in any script; what a text costs; what of a chunk is ranked."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport.chunking import chunk_document
from labsupport.index import Index
from labsupport.model import AccessLabel, Chunk, Document
from labsupport.tokens import estimate_tokens, ranked_text, tokenize

CASES = {
    "B05": "test_a_script_without_spaces_finds_the_one_text_that_holds_the_word",
    "B06": "test_accents_and_other_alphabets_are_words",
    "B08": "exempt: a whole code is one token by rule (A002 does not find RULE-A002); "
    "test_a_code_is_one_token_however_its_hyphen_is_typed holds the rest",
}

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden" / "reference.json"
LABEL = AccessLabel("t", "internal", None, frozenset({"everyone"}))
SPACELESS_WORD = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)

calm = settings(deadline=None)  # a busy machine is no failure


def golden(name):
    if not GOLDEN.exists():
        pytest.skip(f"the golden figures are not here: {GOLDEN.parent.name}/{GOLDEN.name}")
    return json.loads(GOLDEN.read_text(encoding="utf-8"))[name]


def chunk(text, path=()):
    return Chunk("d#x", "d", 1, text, path, 0, len(text), LABEL, 0)


# ---- tokens ----------------------------------------------------------------------------------------------------------


@calm
@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_gives_the_references_tokens_exactly(text):
    assert tokenize(text) == re.findall(r"[a-z0-9][a-z0-9-]*", text.lower())


@calm
@given(st.text(st.characters(max_codepoint=127)))
def test_one_letter_beyond_ascii_changes_no_other_token(text):
    assert tokenize(text + " é") == [*tokenize(text), "é"]


@calm
@given(st.text())
def test_a_token_starts_with_a_letter_mark_or_digit_and_holds_nothing_but_these_and_hyphens(text):
    for token in tokenize(text):
        assert unicodedata.category(token[0])[0] in "LMN"
        assert all(mark == "-" or unicodedata.category(mark)[0] in "LMN" for mark in token)


@calm
@given(st.text())
def test_no_letter_or_digit_is_lost(text):
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    wanted = Counter(mark for mark in folded if mark.isalnum())
    found = Counter("".join(tokenize(text)))
    assert not [mark for mark in wanted if found[mark] < wanted[mark] and unicodedata.normalize("NFKC", mark.casefold()) == mark]


@calm
@given(st.text())
def test_composed_and_decomposed_letters_are_the_same_words(text):
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(unicodedata.normalize("NFC", text))


@calm
@given(st.text(st.sampled_from("straße STRASSE Ça ΣΊΣΥΦΟΣ Привет ﬁ Ⅷ K \u2011-\u00ad")))
def test_case_and_compatibility_forms_do_not_matter(text):
    assert tokenize(text.upper()) == tokenize(text.lower()) == tokenize(unicodedata.normalize("NFKC", text))


@calm
@given(st.text())
def test_tokens_are_words_of_their_own(text):
    again = [token for token in tokenize(text) if not SPACELESS_WORD.search(token)]
    assert tokenize(" ".join(again)) == again


def test_the_golden_ascii_tokens_are_reproduced():
    cases = [case for case in golden("tokenize") if case["text"].isascii()]
    assert len(cases) >= 5
    for case in cases:
        assert tokenize(case["text"]) == case["tokens"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("l'été 2026", ["l", "été", "2026"]),
        ("naïve", ["naïve"]),
        ("PMT‑771 pmt‐771 P\u00adMT-771", ["pmt-771"] * 3),
        ("d‑ -d", ["d-", "d"]),
        ("snake_case é", ["snake", "case", "é"]),
        ("Ｆｕｌｌ－１ ﬁne x² №", ["full-1", "fine", "x2", "no"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("العربية ١٢٣", ["العربية", "١٢٣"]),
        ("床前明月光", ["床前", "前明", "明月", "月光"]),
        ("月", ["月"]),
        ("スーパー", ["スー", "ーパ", "パー"]),
        ("東京、大阪", ["東京", "大阪"]),
        ("第3章 iPhone手机 d-漢字-abc", ["第", "3", "章", "iphone", "手机", "d-", "漢字", "abc"]),
        ("葛\U000e0100城", ["葛\U000e0100", "\U000e0100城"]),
        ("ไทย", ["ไท", "ทย"]),
        ("ລາວ", ["ລາ", "າວ"]),
        ("ខ្មែរ", ["ខ្", "្ម", "មែ", "ែរ"]),
        ("??? — 🙂 é", ["é"]),
        ("\ud800 é", ["é"]),
    ],
)
def test_words_by_example(text, tokens):
    assert tokenize(text) == tokens


def test_a_script_without_spaces_finds_the_one_text_that_holds_the_word():
    index = Index()
    for number, line in enumerate(("床前明月光", "疑是地上霜", "举头望明月", "低头思故乡")):
        index.add(Document(f"line-{number}", "default", "", line))
    assert [hit["doc_id"] for hit in index.query("故乡", groups=(), k=2)] == ["line-3"]


def test_accents_and_other_alphabets_are_words():
    assert tokenize("café naïve") == ["café", "naïve"]
    assert tokenize("покажи портфель") == ["покажи", "портфель"]
    assert tokenize("초과근무 승인") == ["초과근무", "승인"]
    assert tokenize("§ 12(3)") == ["12", "3"]  # the stated policy: a sign is no letter, mark or digit, so `§` separates


@pytest.mark.parametrize("code", ["RULE-A002", "CVE-2024-1234", "MS17-010", "31-5-6"])
def test_a_code_is_one_token_however_its_hyphen_is_typed(code):
    for typed in (code, code.lower(), code.replace("-", "\u2010"), code.replace("-", "\u2011")):
        assert tokenize(f"see {typed}, please") == ["see", code.lower(), "please"]


@pytest.mark.parametrize("value", [None, b"bytes", 7, ["a", "list"]])
def test_what_is_no_text_is_a_type_error(value):
    with pytest.raises(TypeError, match="tokenize needs text"):
        tokenize(value)


def test_a_flood_of_combining_marks_takes_time_in_proportion_to_its_length():
    start = time.process_time()
    assert tokenize("a" + "\u0301\u0316" * 300_000)  # sorted naively: twenty minutes
    assert time.process_time() - start < 20


# ---- what a text costs -----------------------------------------------------------------------------------------------


def test_the_golden_estimates_are_reproduced():
    cases = golden("estimate_tokens")
    assert cases
    for case in cases:
        assert estimate_tokens(case["text"]) == case["tokens"]


@calm
@given(st.text(), st.text())
def test_four_characters_are_a_token_rounded_up(one, two):
    assert 4 * estimate_tokens(one) - 3 <= len(one) <= 4 * estimate_tokens(one)
    assert estimate_tokens(one) <= estimate_tokens(one + two) <= estimate_tokens(one) + estimate_tokens(two)


# ---- what is ranked --------------------------------------------------------------------------------------------------


def test_headings_are_ranked_with_the_text_and_outermost_first():
    assert tokenize(ranked_text(chunk("16 weeks.", ("Leave", "Parents")))) == ["leave", "parents", "16", "weeks"]


@pytest.mark.parametrize(
    "source",
    [
        "# Pay bands",
        "## Pay bands ##\n",
        "Pay bands\n=====\n",
        "  Pay\n  bands\n---\n",
        "# `Pay` [bands](x)",
        "Pay bands\r\n---\r\n",
    ],
)
def test_a_heading_without_a_body_is_counted_once(source):
    (only,) = chunk_document(Document("d", "t", "", source))
    words = Counter(tokenize(ranked_text(only)))
    assert words["pay"] == words["bands"] == 1


@pytest.mark.parametrize(
    "body", ["Pay bands", "> # Pay bands", "Pay bands\n\n---", "    # Pay bands", "- # Pay bands", "Pay bands ="]
)
def test_a_body_that_repeats_its_heading_is_counted_twice(body):
    (only,) = chunk_document(Document("d", "t", "", f"# Pay bands\n\n{body}\n"))
    words = Counter(tokenize(ranked_text(only)))
    assert words["pay"] == words["bands"] == 2


def test_a_piece_that_looks_like_a_heading_line_keeps_its_own_heading():
    assert tokenize(ranked_text(chunk("# of copies: two", ("Recalls",)))) == ["recalls", "of", "copies", "two"]


def test_every_piece_of_a_split_section_keeps_its_heading():
    pieces = chunk_document(
        Document("d", "t", "", "# Recalls\n\n" + "an amendment costs a fee " * 60), max_tokens=24, overlap_tokens=4
    )
    assert len(pieces) > 10
    assert all(tokenize(ranked_text(piece)).count("recalls") == 1 for piece in pieces)


def test_the_title_is_not_ranked():
    (only,) = chunk_document(Document("d", "t", "Zebra", "stripes"))
    assert ranked_text(only) == "stripes"


def test_a_heading_as_long_as_a_page_is_not_ranked_whole_with_each_of_its_sections():
    assert len(ranked_text(chunk("x", ("word " * 100_000,)))) < 10_000
