"""A sentence against a page: the same, or turned round. Markers and their reach, opposites, and what is not seen."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labsupport.grounding import is_content
from labsupport.polarity import MOST_PAIRS, clauses, contradiction

CASES: dict[str, str] = {}


def turned(claim: str, page: str) -> str | None:
    found = contradiction(claim, page, is_content)
    return found and found[0]


some_words = st.lists(max_size=25, elements=st.sampled_from(
    "leave is not no paid weeks 16 , . but and may never without staff who unpaid above 5 or nor \n that; less".split(" ")))
subjects = st.sampled_from(["The bill", "Parental leave", "Every payment above AED 100,000", "Staff"])
verbs = st.sampled_from([("is", "paid"), ("was", "saved"), ("may be", "released"), ("will be", "carried over"), ("can be",
    "approved by one officer")])


@given(some_words)
def test_nothing_contradicts_itself(words):
    text = " ".join(words)
    assert turned(text, text) is None


@given(subjects, verbs, st.sampled_from(["", " Visitors park outside.", "\n\nAsk the desk first, or call."]))
def test_a_not_on_one_side_turns_a_sentence_round_and_on_both_it_does_not(subject, verb, more):
    auxiliary, rest = verb
    first, *be = auxiliary.split()
    plain, denied = f"{subject} {auxiliary} {rest}.", f"{subject} {' '.join([first, 'not', *be])} {rest}."
    assert turned(denied, plain + more) == turned(plain, denied + more) == "negation"
    assert turned(plain, plain + more) is turned(denied, denied + more) is None


@given(st.sampled_from("is was are were do does did has have could should would must need".split()), st.sampled_from(["n't",
    "n\u2019t", "nt"]))
def test_a_contraction_is_a_not(verb, ending):
    assert turned(f"It {verb}{ending} change", f"It {verb} not change") is None
    assert turned(f"It {verb}{ending} change", f"It {verb} change") == "negation"


@pytest.mark.parametrize(("claim", "page"), [
    ("Not 16 weeks", "Parental leave is 16 weeks for every employee."),
    ("No employee may see pay", "Every employee may see pay."),
    ("Neither staff nor visitors may park", "Staff and visitors may park."),
    ("Nobody approves a held payment", "Two officers: who approves a held payment is written down."),
    ("It is not true that leave is 16 weeks", "Leave is 16 weeks."),
    ("A payment is released without two officers", "A payment is released: two officers approve."),
    ("Managers may approve without a second officer", "Managers may not approve without a second officer."),
    ("It can't be carried over", "It can be carried over."),
    ("Leave is 12 weeks", "Leave is not 12 weeks but 16 weeks."),
    ("The plan covers cosmetic care", "The plan does not cover dental, optical or cosmetic care."),
    ("Weekends count", "Weekends: no."), ("Dental care is covered", "Dental care: not covered"),
    ("Leave is unpaid", "Leave is paid."), ("Leave is paid", "Leave is unpaid."), ("Tickets are refundable",
    "Tickets are non-refundable."),
    ("It fails to expire", "It does expire."),
    ("Staff may see pay", "Staff work hard.\n\n- Staff may not see pay\n- Visitors wait"),
])
def test_a_marked_flip_is_seen(claim, page):
    assert turned(claim, page) == "negation"


@pytest.mark.parametrize(("claim", "page"), [
    ("The bill was not saved.", "The bill was not saved."),
    ("Paid leave isn't given during probation", "No paid leave is given during probation."),
    ("Leave is not paid", "Leave is unpaid."),
    ("Leave is 16 weeks", "Leave is not 12 weeks but 16 weeks."),
    ("Leave is 16 weeks", "Leave is 16 weeks and does not depend on tenure."),
    ("Leave is 16 weeks", "Leave needs no form and is 16 weeks."),
    ("You may ask for 16 weeks", "If you are not a manager, you may ask for 16 weeks."),
    ("Severance is paid", "**Bonus:** not before March\n**Severance:** is paid"),
    ("Severance is paid", "Bonus: never  \nSeverance is paid"),
    ("Staff may see pay", "Staff who are not managers may see pay."),
    ("It is not true that leave is 16 weeks", "Leave is not 16 weeks."),
    ("Managers approve", "Managers approve. Visitors do not approve."),
    ("Managers not only approve but also pay", "Managers approve and pay."),
    ("See No. 5 of the list", "See number 5 of the list."),
    ("Answer within 5 days", "Answer no later than 5 days."),
    ("A limit of at most AED 100", "A limit of no more than AED 100."),
    ("Ask whether or not it counts", "Ask whether it counts."),
])
def test_what_agrees_raises_no_alarm(claim, page):
    assert turned(claim, page) is None


@pytest.mark.parametrize(("claim", "page"), [
    ("PMT-771 is released", "PMT-771 is held."), ("Payments below AED 100,000 need two officers",
    "Payments above AED 100,000 need two officers."),
    ("More than 5 days", "No more than 5 days."), ("At least 5 officers", "Up to 5 officers."), ("Rooms are open on Sunday",
    "Rooms are closed on Sunday."),
])
def test_a_known_opposite_is_not_vouched_for(claim, page):
    assert turned(claim, page) == "not-verified"


@pytest.mark.parametrize(("claim", "page"), [
    ("The desk laughs at payments", "The desk weeps at payments."),       # opposites outside the short list
    ("Staff may take leave", "Staff must take leave."),                   # what may be and what must be
    ("Ines checks Wes", "Wes checks Ines."),                              # who does it to whom
])
def test_a_flip_without_a_marker_is_not_claimed_to_be_seen(claim, page):
    assert turned(claim, page) is None


def test_a_condition_that_is_denied_can_raise_a_false_alarm():
    # The reach of a negation goes to the end of its clause: no grammar tells that only the form is not needed.
    assert turned("Leave is 16 weeks", "You do not need a form for leave of 16 weeks.") == "negation"


def test_a_clause_keeps_what_a_negation_reaches_apart():
    first, second = clauses("The bill was not saved, but it was printed.")
    assert first.negated == {"saved"} and "bill" in first.plain
    assert second.negated == set() and "printed" in second.plain


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(claim, page):
    assert turned(claim, page) in (None, "negation", "not-verified")


def test_too_much_to_compare_is_said_and_not_guessed():
    many = " ".join(f"a{n} is b{n}." for n in range(1_000))
    start = time.process_time()
    kind, why = contradiction(many, many, is_content)
    assert kind == "not-verified" and "too long" in why and 1_000 * 1_000 > MOST_PAIRS
    assert time.process_time() - start < 5


@pytest.mark.parametrize("page", [
    " " * 100_000 + "x", "\n" * 100_000, "not, " * 50_000, "No " * 50_000, "at least " * 30_000, "- " * 50_000, "or " * 80_000,
])
def test_reading_takes_time_in_proportion(page):
    start = time.process_time()
    turned("Leave is not 16 weeks", page)
    assert time.process_time() - start < 5
