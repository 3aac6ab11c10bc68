"""A quotation is a slice of one returned page, letter for letter. Typography folds; nothing else does."""

from __future__ import annotations

import re
import time
import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from labsupport.chunking import chunk_document
from labsupport.errors import QuoteNotFound
from labsupport.guardrails import EMPTY_ANSWER
from labsupport.model import EVERYONE, AccessLabel, Chunk, Document, Hit
from labsupport.quotes import check_evidence, quote_in
from labsupport.tokens import tokenize

CASES = {
    "F03": "test_stitched_misattributed_and_true_are_three_outcomes",
    "F06": "test_typography_rejects_no_honest_quote",
    "F10": "test_a_page_without_text_backs_no_quote",
}

OPEN = AccessLabel("northline", "internal", None, frozenset({EVERYONE}))


def hits(**pages: str) -> list[Hit]:
    return [Hit(Chunk(name, name, 1, text, (), 7, 7 + len(text), OPEN, 0), 1.0) for name, text in pages.items()]


def handoff(*pieces: tuple[str, str], answer: str = "So it is.") -> SimpleNamespace:
    return SimpleNamespace(evidence=[{"id": name, "quote": quote} for name, quote in pieces], answer=answer)


letters = "abcXYZ 019.,\n-'\"\u2011\u2013\u201c\u2019\u00a0\u00ad\u00b2\u00e9\u0301\u5e8a\u660e"
pages = st.text(letters, max_size=60)
words = st.lists(st.text("abX019\u00e9", min_size=1, max_size=4), min_size=2, max_size=6)
LOOKS = {
    "-": "-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "'": "'\u2018\u2019\u201a\u201b\u2039\u203a",
    '"': '"\u201c\u201d\u201e\u201f\u00ab\u00bb', " ": [" ", "\n", "  ", "\u00a0", " \u00ad ", "\r\n  ", "\u2009", "\t"],
}


def flat(text: str) -> str:
    """The folding once more, by expressions instead of a map."""
    for plain in "-'\"":
        text = re.sub(f"[{LOOKS[plain]}]", plain, text)
    return re.sub(r"\s+", " ", text.replace("\u00ad", ""))


# --- found ----------------------------------------------------------------------------------------------------------

@given(pages, pages, words, st.sampled_from([" ", ", ", "\n\n", "\u00a0", " \u2013 "]), pages)
def test_every_slice_of_a_page_is_a_quote_and_its_span_slices_the_page(other, before, middle, joint, after):
    quote = joint.join(middle)
    texts = {"a": other, "b": before + quote + after}
    span = quote_in(hits(**texts), quote)
    assert texts[span.chunk_id][span.start:span.end] == span.text
    assert (span.start_char, span.end_char) == (7 + span.start, 7 + span.end)
    assert flat(span.text).strip() == flat(quote).strip()
    assert span.chunk_id == "b" or flat(quote).strip() in flat(other)


@given(st.lists(st.sampled_from("the fee AED 120 non-refundable HELD 0.80 \"as is\" don't 5-7".split(" ")), min_size=2), st.data())
def test_typesetting_a_page_rejects_no_honest_quote(said, data):
    quote = " ".join(said)
    assume(len(tokenize(quote)) > 1)
    page = "".join(data.draw(st.sampled_from(LOOKS.get(c, [c, c, "\u00ad" + c]))) for c in quote)
    span = quote_in(hits(a="Before. " + page + " After."), quote)
    assert span.text.strip("\u00ad") == page.strip("\u00ad")


def test_a_span_resolves_in_the_document_and_its_citation_names_it():
    document = Document("leave", "northline", "Leave", "# Leave\n\nSee below.\n\n## Notice\n\nTell us  eight\nweeks before.\n")
    chunks = chunk_document(document)
    span = quote_in([Hit(chunk, 1.0) for chunk in chunks], "us eight weeks")
    assert document.text[span.start_char:span.end_char] == span.text == "us  eight\nweeks"
    assert span.citation == f"leave@v1#Leave/Notice[{span.start_char}:{span.end_char}]"


def test_the_first_page_in_order_of_rank_and_the_first_place_on_it_are_named():
    both = hits(b="one two. one two.", a="one two.")
    assert (quote_in(both, "one two").chunk_id, quote_in(both, "one two").start) == ("b", 0)
    assert quote_in(both[::-1], "one two").chunk_id == "a"


def test_typography_rejects_no_honest_quote():
    page = "Goods are non\u2011refundable\u00a0\u201cas\n  is\u201d\u00ad"
    for quote in ('non-refundable "as is"', "non\u2010refundable \u201cas is\u201d", "non-refundable\n\u00abas   is\u00bb",
                  '\u00ad non-refundable "as is" '):
        span = quote_in(hits(a=page), quote)
        assert page[span.start:span.end] == span.text == "non\u2011refundable\u00a0\u201cas\n  is\u201d"


# --- not found ------------------------------------------------------------------------------------------------------

@given(st.lists(st.sampled_from("Fee fee AED HELD 10\u00b2 102 is the \u00e9t\u00e9 pmt-771 717".split()), min_size=2), st.data())
def test_one_changed_character_is_no_quote_and_is_named(said, data):
    page = " ".join(said)
    at = data.draw(st.integers(0, len(page) - 1).filter(lambda at: not page[at].isspace() and page[at] != "-"))
    quote = page[:at] + "\u00df" + page[at + 1:]
    with pytest.raises(QuoteNotFound) as missing:
        quote_in(hits(a=page), quote)
    if missing.value.span is not None:
        assert "U+00DF LATIN SMALL LETTER SHARP S" in str(missing.value)
        assert f"U+{ord(page[at]):04X} {unicodedata.name(page[at])}" in str(missing.value)
        assert missing.value.nearest == page[missing.value.span.start:missing.value.span.end]
    else:
        assert len(page) - 1 - at < 3 and at < 3                        # nothing of any length agrees


@pytest.mark.parametrize(("quote", "said", "page"), [
    ("PMT-771 is held", "LATIN SMALL LETTER H", "LATIN CAPITAL LETTER H"),
    ("the 102 rule", "DIGIT TWO", "SUPERSCRIPT TWO"),
    ("the cafe\u0301 bar", "LATIN SMALL LETTER E", "LATIN SMALL LETTER E WITH ACUTE"),
    ("a letter\u2014or two", "EM DASH", "HYPHEN-MINUS"),
    ("pmt-771 is HELD", "LATIN SMALL LETTER P", "LATIN CAPITAL LETTER P"),
])
def test_the_character_that_made_the_difference_is_named(quote, said, page):
    with pytest.raises(QuoteNotFound) as missing:
        quote_in(hits(z="Another page.", a="PMT-771 is HELD. See the 10\u00b2 rule in the caf\u00e9 bar, a letter-or two."), quote)
    assert said in str(missing.value) and page in str(missing.value)
    assert missing.value.span.chunk_id == "a" and missing.value.nearest[:2].lower() == quote[:2].lower()


def test_a_quote_that_runs_past_the_page_says_so():
    with pytest.raises(QuoteNotFound, match="its text ends here"):
        quote_in(hits(a="the fee is waived"), "the fee is waived by us")
    with pytest.raises(QuoteNotFound, match="its text begins here"):
        quote_in(hits(a="fee is waived"), "no fee is waived")


@given(pages, pages, st.text(letters, max_size=40))
@example("", "", "ab cd")
@example("ab", "x", "AB cd")
def test_whatever_is_asked_the_outcome_is_a_span_or_a_quote_not_found(one, other, quote):
    try:
        span = quote_in(hits(a=one, b=other), quote)
    except QuoteNotFound as missing:
        near = missing.span
        assert near is None or {"a": one, "b": other}[near.chunk_id][near.start:near.end] == missing.nearest
    else:
        assert span.text


def test_no_quote_is_put_together_from_two_pages():
    both = hits(a="The fee is AED 75", b="and PMT-771 is HELD")
    with pytest.raises(QuoteNotFound):
        quote_in(both, "AED 75 and PMT-771")


@pytest.mark.parametrize("quote", ["", " ", "\n\t", "\u00ad", "held", "HELD.", "\u201cas\u201d", "!!! ???", "PMT-771"])
def test_less_than_two_words_are_evidence_for_nothing(quote):
    with pytest.raises(QuoteNotFound, match="at least two words"):
        quote_in(hits(a="PMT-771 is held. HELD. \u201cas\u201d !!! ???"), quote)


@pytest.mark.parametrize("quote", [None, 5, b"two words", ["two", "words"]])
def test_what_is_no_text_is_no_quote(quote):
    with pytest.raises(TypeError, match="quote must be text"):
        quote_in(hits(a="two words"), quote)


def test_without_pages_nothing_is_near():
    with pytest.raises(QuoteNotFound, match="nor anything near it") as missing:
        quote_in([], "two words")
    assert missing.value.span is None and missing.value.nearest == ""


def test_a_page_without_text_backs_no_quote():
    for quote in ("anything at all", "", "body text"):
        with pytest.raises(QuoteNotFound):
            quote_in(hits(a=""), quote)
        with pytest.raises(QuoteNotFound):
            check_evidence(handoff(("a", quote)), hits(a=""))


# --- a hand-over ----------------------------------------------------------------------------------------------------

def test_stitched_misattributed_and_true_are_three_outcomes():
    both = hits(c1="supports a 128k context", c2="outputs 3072 dims")
    with pytest.raises(QuoteNotFound, match="no returned chunk holds"):
        check_evidence(handoff(("c1", "supports 3072 dims")), both)
    with pytest.raises(QuoteNotFound, match="'c1'; it stands in 'c2'") as misattributed:
        check_evidence(handoff(("c1", "outputs 3072 dims")), both)
    assert misattributed.value.span.chunk_id == "c2"
    assert [span.chunk_id for span in check_evidence(handoff(("c2", "outputs 3072 dims")), both)] == ["c2"]


def test_evidence_names_a_chunk_that_was_returned():
    for name in ("c9", "C1", "c1 ", "c", ""):
        with pytest.raises(QuoteNotFound, match="returned"):
            check_evidence(handoff((name, "one two")), hits(c1="one two"))


def test_one_bad_piece_fails_the_whole_hand_over():
    good = ("c1", "one two")
    assert len(check_evidence(handoff(good, good), hits(c1="one two"))) == 2
    with pytest.raises(QuoteNotFound):
        check_evidence(handoff(good, ("c1", "two one")), hits(c1="one two"))


def test_an_answer_without_evidence_fails_unless_it_is_the_fixed_sentence():
    with pytest.raises(QuoteNotFound, match="must back the answer"):
        check_evidence(handoff(), hits(c1="one two"))
    assert check_evidence(handoff(answer=EMPTY_ANSWER), []) == []


@pytest.mark.parametrize("piece", [{"id": "c1"}, {"quote": "one two"}, "c1", None, {"id": "c1", "text": "one two"}])
def test_evidence_has_an_id_and_a_quote(piece):
    with pytest.raises(TypeError, match="'id' and 'quote'"):
        check_evidence(SimpleNamespace(evidence=[piece], answer="x"), hits(c1="one two"))


@pytest.mark.parametrize(("page", "quote"), [
    ("ab " * 50_000, "ab " * 60_000), ("x" * 500_000, "a b" * 10), ("w " * 100_000, "w " * 50_000 + "x"),
    ("\u00ad" * 300_000, "two words"), (" " * 300_000 + "a b", "a b c"),
])
def test_long_pages_and_long_quotes_take_time_in_proportion(page, quote):
    start = time.process_time()
    with pytest.raises(QuoteNotFound):
        quote_in(hits(a=page), quote)
    assert time.process_time() - start < 8
