"""A claim against the returned pages: covered by one of them, with its numbers and its polarity, or a reason why not."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labsupport.chunking import chunk_document
from labsupport.grounding import LONGEST_CLAIM, REASONS, Claim, check_grounding, is_abstention, is_content
from labsupport.guardrails import EMPTY_ANSWER
from labsupport.model import EVERYONE, AccessLabel, Chunk, Document, Hit
from labsupport.polarity import MARKERS
from labsupport.tokens import tokenize
from labsupport.worlds import load_world

CASES = {
    "F01": "test_a_wrong_number_unit_or_currency_is_not_supported",
    "F08": "test_nothing_claimed_is_never_full_marks",
    "F09": "test_what_cannot_be_checked_is_neither_supported_nor_called_wrong",
    "F11": "test_an_honest_denial_is_an_abstention_and_a_true_no_is_supported",
    "F12": "test_short_true_answers_are_supported",
}

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden" / "reference.json"
OPEN = AccessLabel("northline", "internal", None, frozenset({EVERYONE}))
LEAVE = "Parental leave is 16 weeks for every employee."


def hits(*pages: str, headings: tuple[str, ...] = ()) -> list[Hit]:
    return [Hit(Chunk(f"e{n}", f"e{n}", 1, page, headings, 0, len(page), OPEN, 0), 1.0) for n, page in enumerate(pages)]


def verdict(claim: str, *pages: str, **options):
    only, = check_grounding([Claim(claim)], hits(*pages), **options).verdicts
    return only


def reason(claim: str, *pages: str, **options) -> str:
    return verdict(claim, *pages, **options).reason


words = st.sampled_from(
    "ledger review limit copper desk vessel ticket amber bridge meadow 16 weeks AED 250,000 PMT-771 not no without the is".split())
sentences = st.lists(words, min_size=1, max_size=8).map(" ".join)
evidence = st.lists(st.lists(sentences, min_size=1, max_size=3).map(". ".join), max_size=4)
thresholds = st.sampled_from([0.01, 0.3, 0.5, 0.6, 0.9, 1.0])


# --- properties -----------------------------------------------------------------------------------------------------

@given(sentences, evidence, thresholds)
def test_every_verdict_has_a_reason_and_only_a_supported_one_a_citation(claim, pages, threshold):
    report = check_grounding([Claim(claim)], hits(*pages), min_overlap=threshold)
    only, = report.verdicts
    assert only.reason in REASONS and 0 <= only.overlap <= 1
    assert (only.reason == "supported") == (only.citation is not None) == report.is_grounded == (report.coverage == 1.0)
    assert bool(only.detail) == (only.reason not in ("supported", "abstained"))
    if only.reason == "supported":
        assert report.supported == [replace(Claim(claim), citation=only.citation)] and report.unsupported == []
        assert only.overlap >= threshold and only.citation in {hit.chunk.citation() for hit in hits(*pages)}


@given(sentences, evidence, thresholds, st.randoms(use_true_random=False))
def test_the_order_of_the_hits_decides_the_citation_and_nothing_else(claim, pages, threshold, random):
    ranked = hits(*pages)
    shuffled = ranked[:]
    random.shuffle(shuffled)
    one, other = (check_grounding([claim], some, min_overlap=threshold).verdicts[0] for some in (ranked, shuffled))
    assert one.reason == other.reason
    if one.reason != "supported":
        assert one == other


@given(sentences, evidence, st.tuples(thresholds, thresholds))
def test_a_lower_threshold_takes_no_support_away(claim, pages, both):
    if reason(claim, *pages, min_overlap=max(both)) == "supported":
        assert reason(claim, *pages, min_overlap=min(both)) == "supported"


@given(sentences, evidence)
def test_a_page_without_a_word_of_the_claim_changes_no_verdict(claim, pages):
    before, after = verdict(claim, *pages), verdict(claim, *pages, "Zebras graze quietly")
    assert before.reason == after.reason and (before == after or before.overlap == 0)


@given(st.lists(sentences, min_size=1, max_size=4), st.data())
def test_a_sentence_of_a_page_is_supported_by_the_page(said, data):
    claim = data.draw(st.sampled_from(said))
    assume(any(map(is_content, tokenize(claim))))
    page = ". ".join(said) + "."
    assert reason(claim, page, min_overlap=1.0) == "supported" or any(word in page.split() for word in ("not", "no", "without"))
    assert reason(page, page, min_overlap=1.0) == "supported"


@given(st.integers(2, 10**9), st.integers(2, 10**9),
       st.sampled_from(["{} weeks of leave", "the limit is AED {}", "code X-{} holds", "pay within {} days"]))
def test_another_number_is_a_mismatch_at_every_threshold(one, other, frame):
    assume(one != other)
    for threshold in (0.1, 0.6, 1.0):
        assert reason(frame.format(one), frame.format(one), min_overlap=threshold) == "supported"
        found = verdict(frame.format(one), f"{frame.format(other)} for everyone", min_overlap=threshold)
        assert found.reason == "number-mismatch" and str(one) in found.detail


@given(st.integers(2, 999_999), st.integers(1, 9))
def test_a_longer_number_is_another_number(number, digit):
    assert reason(f"limit {number}{digit}", f"limit {number}") == "number-mismatch"
    assert reason(f"limit {number}", f"limit {number}{digit}") == "number-mismatch"


@given(st.lists(sentences, max_size=6), evidence)
def test_claims_are_judged_one_by_one_and_reported_in_their_order(claims, pages):
    report = check_grounding([Claim(claim) for claim in claims], hits(*pages))
    assert [v.claim.text for v in report.verdicts] == claims
    assert [v.reason for v in report.verdicts] == [reason(claim, *pages) for claim in claims]
    assert [c.text for c in report.supported] == [v.claim.text for v in report.verdicts if v.reason == "supported"]
    assert [c.text for c in report.unsupported] == [v.claim.text for v in report.verdicts if v.reason != "supported"]
    assert report.coverage == (len(report.supported) / len(claims) if claims else None)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_claim_can_be_held_against_any_page(claim, page):
    assert reason(claim, page) in REASONS
    assert reason(claim) in ("low-overlap", "empty", "abstained")


# --- the reference, and what it got wrong (D11, D12) ------------------------------------------------------------------

def test_the_reference_figures_are_reproduced():
    if not GOLDEN.exists():
        pytest.skip("the reference figures lie outside the repository and are not here")
    blocks = json.loads(GOLDEN.read_text(encoding="utf-8"))["grounding"]
    claims = ["ledger review limit is 250", "the vessel passes a quartz meadow", "copper desk lantern orchard",
              "every vessel ticket passes the amber bridge"]
    for block in blocks:
        report = check_grounding(map(Claim, claims), hits(*block["evidence"]), min_overlap=block["min_overlap"])
        assert [[claim.text, claim.citation] for claim in report.supported] == block["supported"]
        assert [claim.text for claim in report.unsupported] == block["unsupported"]
        assert report.coverage == block["coverage"]
    assert len(blocks) == 3


def test_twelve_weeks_are_not_grounded_by_sixteen_though_five_of_six_words_are():
    found = verdict("Parental leave is 12 weeks for every employee", LEAVE)
    assert (found.reason, found.overlap) == ("number-mismatch", 5 / 6) and "12" in found.detail
    assert reason("Parental leave is not 16 weeks for every employee", LEAVE) == "negation"
    assert reason("Parental leave is 12 weeks for every employee", LEAVE, min_overlap=0.1) == "number-mismatch"
    assert reason("Parental leave lasts 12 weeks for every employee", LEAVE) == "number-mismatch"


@pytest.mark.parametrize("claim", ["", "  ", "it is the and", "It is.", "???", "\u00ad", "Not.", "no, never"])
def test_a_claim_without_a_content_word_is_empty_and_no_evidence(claim):
    report = check_grounding([Claim(claim)], hits(LEAVE, "it is the and"))
    assert report.verdicts[0].reason == "empty"
    assert report.unsupported == [Claim(claim)] and report.coverage == 0.0 and not report.is_grounded


# --- cases ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("claim", "page"), [
    ("The notice period is 16 weeks after probation ends.", "The notice period is 12 weeks after probation ends."),
    ("Return goods within 30 hours.", "Return goods within 30 days."),
    ("The fee is USD 120", "The fee is AED 120"), ("The sum is 1.200", "The sum is 1,200"),
    ("The notice is ten weeks", "The notice is twelve weeks"),
    ("PMT-717 is held", "PMT-771 is held"), ("Held since value date 12 March 2025", "Held since value date 2026-03-12"),
    ("A match score above 0.85 is escalated", "A match score above 0.80 is escalated"), ("A share of 80%", "A share of 0.80"),
])
def test_a_wrong_number_unit_or_currency_is_not_supported(claim, page):
    assert reason(claim, page) == "number-mismatch"
    assert reason(page, page) == "supported"


def test_nothing_claimed_is_never_full_marks():
    nothing = check_grounding([], hits(LEAVE))
    assert (nothing.coverage, nothing.is_grounded, nothing.verdicts) == (None, False, ())
    assert check_grounding([Claim("")], hits(LEAVE)).coverage == 0.0
    out_of_thin_air = check_grounding([Claim("X is 5")], [])
    assert (out_of_thin_air.coverage, out_of_thin_air.verdicts[0].reason) == (0.0, "low-overlap")
    honest = check_grounding([Claim("I do not know")], hits(LEAVE))
    assert (honest.coverage, honest.is_grounded, honest.verdicts[0].reason) == (None, False, "abstained")
    assert honest.supported == honest.unsupported == []


def test_what_cannot_be_checked_is_neither_supported_nor_called_wrong():
    gone = check_grounding([Claim("Parental leave is 16 weeks", citation="e9")], hits(LEAVE)).verdicts[0]
    assert gone.reason == "not-verified" and "'e9'" in gone.detail and gone.citation is None
    for claim in ("\u0627\u0644\u0625\u062c\u0627\u0632\u0629 \u0627\u0644\u0648\u0627\u0644\u062f\u064a\u0629",
        "\u80b2\u513f\u5047"):
        assert reason(claim, LEAVE) == "not-verified"
    assert reason("Elternzeit", LEAVE) == "low-overlap"                   # the same script: words can be compared
    assert reason("word " * LONGEST_CLAIM, LEAVE) == "not-verified"
    assert reason("PMT-771 of AED 250,000 is released", "PMT-771 of AED 250,000 is held.") == "not-verified"


def test_a_claim_that_cites_is_held_against_that_chunk_alone():
    both = hits(LEAVE, "A desk by the window.")
    for cited in ("e0", both[0].chunk.citation()):
        claim = Claim("Parental leave is 16 weeks", citation=cited)
        assert check_grounding([claim], both).supported == [replace(claim, citation=both[0].chunk.citation())]
    wrong = check_grounding([Claim("Parental leave is 16 weeks", citation="e1")], both)
    assert wrong.verdicts[0].reason == "low-overlap" and "'e0' supports it" in wrong.verdicts[0].detail
    assert wrong.unsupported == [Claim("Parental leave is 16 weeks", citation="e1")]
    for mark in ("E0", "e0 ", "e", "e00", "e0#x", "[e0]", ""):
        unknown, = check_grounding([Claim("Parental leave is 16 weeks", citation=mark)], both).verdicts
        assert unknown.reason == "not-verified", mark


def test_an_honest_denial_is_an_abstention_and_a_true_no_is_supported():
    page = "The bill was not saved."
    assert reason("The bill was not saved.", page) == "supported"
    assert reason("The bill wasn't saved.", page) == "supported"
    assert reason("The bill was saved.", page) == "negation"
    assert reason("I cannot confirm that the bill was saved.", page) == "abstained"
    assert reason("The policy does not cover dental care.", "The policy does not cover dental care.") == "supported"
    assert reason("The policy does not specify a limit.", "The policy does not specify a limit.") == "supported"
    assert reason("The policy does not specify a limit.", LEAVE) == "abstained"


@pytest.mark.parametrize("text", [
    "I do not know.", "I don't know", "We did not know whether it is paid", "I cannot say", "I can't tell from these pages",
    "I could not find any page",
    "Sorry, I am unable to answer this.", "The handbook does not say whether dogs may come.", "This page does not mention it",
    "The documents say nothing about dogs.", "Nothing in the handbook covers dogs.", "There is no information about dogs.",
    "Dogs are not mentioned in the handbook.", "The handbook doesn't state how long leave is.",
    "We found no page on this.", EMPTY_ANSWER,
])
def test_these_are_abstentions(text):
    assert is_abstention(text) and reason(text, LEAVE) == "abstained"


@pytest.mark.parametrize("text", [
    "I do not know the details, but parental leave is 12 weeks.", "The handbook does not say. Leave is 12 weeks.",
    "I do not know, leave is 12 weeks.",
    "The handbook does not say how long, and leave is 12 weeks.", "The policy does not cover dental care.",
    "We do not answer calls after 5 pm.",
    "The bill was not saved.", "We cannot tell clients the result.", "Nothing is paid.", "The limit is 12.", "",
])
def test_these_are_claims_like_any_other(text):
    assert not is_abstention(text) and reason(text, LEAVE) != "abstained"


def test_abstentions_count_in_no_share():
    answer = [Claim("Parental leave is 16 weeks"), Claim("The handbook does not say whether it is paid.")]
    report = check_grounding(answer, hits(LEAVE))
    assert report.coverage == 1.0 and report.is_grounded and len(report.verdicts) == 2
    report = check_grounding([Claim("Parental leave is 12 weeks"), Claim("I do not know.")], hits(LEAVE))
    assert report.coverage == 0.0 and not report.is_grounded


def test_short_true_answers_are_supported():
    for claim in ("Paris", "The capital is Paris.", "Capital: Paris"):
        assert reason(claim, "Capital: Paris.") == "supported"
    assert reason("16 weeks", LEAVE) == "supported" and reason("12 weeks", LEAVE) == "number-mismatch"


@pytest.mark.parametrize("claim", [
    "The payment of AED 250k is held since 12 March 2026", "The payment of AED 250,000.00 is held since March 12, 2026",
    "The payment of 250,000 AED is held since 12.03.2026",
])
def test_another_notation_of_a_fact_counts_as_covered(claim):
    assert reason(claim, "Payment PMT-771 of AED 250,000 is held since value date 2026-03-12.", min_overlap=1.0) == "supported"


# --- one chunk at a time ------------------------------------------------------------------------------------------------

def test_two_halves_of_the_truth_are_no_source():
    halves = ("Parental leave is paid.", "Glasses are covered yearly.")
    assert reason("Parental leave is paid and glasses are covered yearly", *halves) == "low-overlap"
    assert reason("The yearly fee is AED 120", "The yearly fee is AED 75", "A tax of AED 120") == "number-mismatch"


def test_the_first_supporting_page_in_order_of_rank_is_cited():
    report = check_grounding([Claim("Parental leave is 16 weeks")], hits("A desk.", LEAVE, LEAVE))
    assert report.supported[0].citation == "e1@v1#body[0:46]"


def test_the_headings_of_a_page_are_words_of_it():
    page = hits("16 weeks for every employee.", headings=("Handbook", "Parental leave"))
    assert check_grounding([Claim("Parental leave is 16 weeks")], page).is_grounded
    assert not check_grounding([Claim("Parental leave is 16 weeks")], hits("16 weeks for every employee.")).is_grounded
    assert not check_grounding([Claim("Parental leave")], hits(" ", headings=("Parental leave",))).is_grounded


def test_a_page_that_holds_more_of_the_claim_and_denies_it_outweighs_one_that_holds_less():
    denied, vague = "A payment on hold is not repaired.", "A hold stops a payment."
    assert reason("A payment on hold is repaired", vague) == "supported"
    assert reason("A payment on hold is repaired", vague, denied) == "negation"
    assert reason("Leave is 16 weeks", "Leave is 16 weeks.", "Leave is not 16 weeks for visitors.") == "supported"


def test_what_the_threshold_leaves_open_may_be_anything_and_that_is_a_limit():
    assert verdict("Parental leave is 16 weeks and pancakes fly", LEAVE).reason == "supported"
    assert verdict("Parental leave is 16 weeks and pancakes fly", LEAVE, min_overlap=0.9).reason == "low-overlap"


def test_swapped_rows_of_one_table_are_supported_by_the_check_and_that_is_its_limit():
    table = "| Service | Fee |\n|---|---|\n| Amendment | AED 75 |\n| Recall of a payment | AED 120 |"
    found = verdict("Amendment AED 120 and recall of a payment AED 75", table)
    assert (found.reason, found.overlap) == ("supported", 1.0)
    assert reason("Amendment AED 130", table) == "number-mismatch"
    chunk, = chunk_document(Document("fees", "northline", "Fees", table))
    assert check_grounding([Claim("Amendment AED 120 and recall of a payment AED 75")], [Hit(chunk, 1.0)]).is_grounded


# --- the labelled claims of the worlds ------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def labelled():
    found = []
    for name in ("northline", "bank"):
        world = load_world(name)
        for claim in world.claims:
            returned = world.retriever.retrieve(claim.query, world.principals[claim.reader]).hits
            found.append((claim, returned))
    return found


def test_every_labelled_claim_of_the_worlds_gets_its_verdict(labelled):
    assert len(labelled) >= 60
    for claim, returned in labelled:
        found, = check_grounding([Claim(claim.text)], returned).verdicts
        assert found.reason == claim.verdict, (claim.id, found)


def test_false_accepts_are_row_swaps_alone_and_false_rejects_are_free_paraphrases_alone(labelled):
    accepted, refused = Counter(), Counter()
    for claim, returned in labelled:
        supported = check_grounding([Claim(claim.text)], returned).is_grounded
        if supported and not claim.true:
            accepted[claim.kind] += 1
        if not supported and claim.true and claim.verdict != "abstained":
            refused[claim.kind] += 1
    assert set(accepted) == {"row-swap"} and accepted["row-swap"] >= 4
    assert set(refused) == {"paraphrase", "closed"}                       # closed: the reader's evidence lacks the page, and should


@pytest.fixture(scope="module")
def sentences_of_the_worlds():
    """(sentence, the chunk that it was taken from) for every page of three worlds."""
    ends = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n|\n(?=[-|*])")
    return [(sentence.strip(), chunk) for name in ("northline", "bank", "harbor_lane") for document in load_world(name).documents
            for chunk in chunk_document(document) for sentence in ends.split(chunk.text) if len(sentence) > 15]


def test_no_sentence_of_a_page_raises_an_alarm_against_its_own_page(sentences_of_the_worlds):
    judged = Counter()
    for sentence, chunk in sentences_of_the_worlds:
        judged[check_grounding([Claim(sentence)], [Hit(chunk, 1.0)], min_overlap=1.0).verdicts[0].reason] += 1
    assert judged["supported"] > 500 and set(judged) <= {"supported", "empty"}


def test_a_not_put_into_a_sentence_of_a_page_is_nearly_always_seen(sentences_of_the_worlds):
    judged = Counter()
    for sentence, chunk in sentences_of_the_worlds:
        verb = re.search(r"\b(?:is|are|was|may|must|can|will)\b(?! not)", sentence)
        if verb and MARKERS.isdisjoint(tokenize(sentence)):
            flipped = f"{sentence[:verb.end()]} not{sentence[verb.end():]}"
            judged[check_grounding([Claim(flipped)], [Hit(chunk, 1.0)]).verdicts[0].reason] += 1
    assert judged.total() > 150 and judged["negation"] >= 0.97 * judged.total(), judged


def test_a_threshold_alone_separates_nothing(labelled):
    wrong = [v for claim, returned in labelled if claim.kind == "wrong-number"
             for v in check_grounding([Claim(claim.text)], returned).verdicts if v.overlap >= 0.9]
    honest = [v for claim, returned in labelled if claim.kind == "paraphrase"
              for v in check_grounding([Claim(claim.text)], returned).verdicts if v.overlap < 0.5]
    assert wrong and honest
    assert all(v.reason == "number-mismatch" for v in wrong)


# --- bad input ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("threshold", [0, -0.1, 1.0001, 2, float("nan"), float("inf"), True, "0.6", None])
def test_the_threshold_is_a_share_above_nothing(threshold):
    with pytest.raises(ValueError, match=r"min_overlap must be in \(0, 1\]"):
        check_grounding([Claim("a claim")], hits(LEAVE), min_overlap=threshold)


def test_what_is_no_claim_and_no_hit_is_refused():
    for claims in ("a bare text", Claim("one"), None, 5):
        with pytest.raises(TypeError, match="claims must be a list"):
            check_grounding(claims, hits(LEAVE))
    for claims in ([None], [5], [["a"]], [b"x"]):
        with pytest.raises(TypeError, match="claims must hold Claim"):
            check_grounding(claims, hits(LEAVE))
    for text, citation in ((None, None), (5, None), ("a", 5)):
        with pytest.raises(TypeError):
            Claim(text, citation)
    with pytest.raises(TypeError, match="hits must hold"):
        check_grounding([Claim("a")], [LEAVE])
    with pytest.raises(ValueError, match="each chunk once"):
        check_grounding([Claim("a")], hits(LEAVE) * 2)
    assert check_grounding([LEAVE], hits(LEAVE)).supported == [Claim(LEAVE, "e0@v1#body[0:46]")]


@pytest.mark.parametrize("claim", [
    " ".join(f"w{n}" for n in range(100_000)), "leave, " * 100_000, "not " * 100_000, "16 " * 100_000, "a1, is not b1. " * 30_000,
    "x" * 600_000, "the handbook does not say " * 20_000, "\u5e8a" * 200_000, "\u0301" * 100_000, "n't " * 100_000,
    "AED " * 100_000, "[" * 100_000,
])
def test_a_claim_of_a_hundred_thousand_words_is_judged_in_bounded_time(claim):
    start = time.process_time()
    assert reason(claim, LEAVE) in REASONS
    assert reason(claim[:LONGEST_CLAIM], claim[:100_000]) in REASONS
    assert time.process_time() - start < 10
