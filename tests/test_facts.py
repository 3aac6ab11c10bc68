"""Numbers, dates, times and codes: one fact whatever its notation, and never two facts taken for one."""

from __future__ import annotations

import datetime
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labsupport.facts import Stated, find_facts
from labsupport.tokens import tokenize

CASES: dict[str, str] = {}

MONTHS = [datetime.date(2026, month, 1).strftime("%B") for month in range(1, 13)]


def facts(text: str) -> set[tuple]:
    return {fact[:3] for fact in find_facts(text)}


def states(page: str, claim: str) -> bool:
    """Does the page state every fact of the claim? It must hold one at all."""
    found = find_facts(claim)
    assert found, f"no fact in {claim!r}"
    stated = Stated(page, tokenize(page))
    return all(stated.holds(fact) for fact in found)


# --- one fact, many notations ---------------------------------------------------------------------------------------

def in_words(number: int) -> str:
    """English words of 0 to 999,999: an oracle that builds what the package takes apart."""
    small = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
             "eighteen nineteen").split()
    tens = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
    if number < 20:
        return small[number]
    if number < 100:
        return tens[number // 10] + (f"-{small[number % 10]}" if number % 10 else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number % size
    return f"{in_words(number // size)} {name}" + ((" and " if rest < 100 else " ") + in_words(rest) if rest else "")


@given(st.integers(2, 999_999))
def test_a_number_is_one_fact_however_it_is_written(number):
    grouped = f"{number:,}"
    notations = [
        str(number), grouped, grouped.replace(",", "\u00a0"), grouped.replace(",", "'"), f"{number}.0", f"{grouped}.00",
        in_words(number), in_words(number).capitalize(), "".join(chr(0x660 + int(d)) for d in str(number)),
    ]
    for notation in notations:
        assert facts(f"about {notation} of them") == {("number", str(number), None)}, notation
        assert facts(f"AED {notation.lower()} or so") <= {("number", str(number), "aed"), ("number", str(number), None)}


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_two_numbers_are_one_fact_only_if_they_are_equal(one, other):
    assert states(f"the sum is {one}", f"the sum is {other:,}") == (one == other)


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_a_date_is_one_fact_however_it_is_written(date):
    month = MONTHS[date.month - 1]
    notations = [
        date.isoformat(), f"{date.day} {month} {date.year}", f"{month} {date.day}, {date.year}",
        f"{date.day} {month[:3]} {date.year}", f"{date.day}th of {month}, {date.year}", f"{date.day}.{date.month}.{date.year}",
    ]
    notations += [f"{date.day:02}/{date.month:02}/{date.year}"] if date.day > 12 or date.day == date.month else []
    for notation in notations:
        assert facts(f"held since {notation}.") == {("date", (str(date.year), date.month, date.day), None)}, notation
        page = f"held since {notation}."
        assert states(page, f"since {date.day} {month}") and states(page, f"in {date.year}")
        assert not states(page, f"since {date + datetime.timedelta(1)}")


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_clock_time_is_one_fact(hour, minute):
    half = "pm" if hour >= 12 else "am"
    one = {("time", str(60 * hour + minute), None)}
    assert facts(f"at {hour}:{minute:02}") == facts(f"at {hour % 12 or 12}:{minute:02} {half}") == one


@pytest.mark.parametrize(("page", "claim"), [
    ("AED 250,000", "250,000 AED"), ("AED 250,000", "AED 250k"), ("AED 250,000", "AED250k"), ("AED 250,000", "AED 0.25 million"),
    ("AED 250,000", "AED 250 000"), ("AED 250,000.00", "AED 250,000"), ("AED 5,000,000", "AED 5m"), ("5,000,000,000", "5 bn"),
    ("USD 40", "$40"), ("40 euros", "\u20ac40"),
    ("AED 250,000", "250,000"),                                       # the claim says less
    ("Fee (AED): 120", "AED 120"), ("weeks of leave: 16", "16 weeks"),   # a table writes the unit once
    ("twelve weeks", "12 weeks"), ("a 16-week leave", "sixteen weeks"), ("two-week notice", "2 weeks"), ("24h", "24 hours"),
    ("80 percent", "80%"), ("80 per cent", "80 %"), ("a score of 0.80", "a score of 0.8"), ("2\u00bd days", "2.5 days"),
    ("5 working days", "5 business days"), ("5 working days", "5 days"), ("12\u201316 weeks", "16 weeks"), ("12-16 weeks",
    "12 weeks"),
    ("RULE-A002 applies", "rule-a002"), ("PMT\u2011771", "PMT-771"), ("LEI 5493001KJTIIGC8Y1R12", "5493001kjtiigc8y1r12"),
    ("value date 2026-03-12", "12 March"), ("value date 2026-03-12", "March 2026"), ("value date 2026-03-12", "in 2026"),
    ("at 9:30", "at 9:30 am"), ("at 17:00", "at 5 pm"), ("03/12/2026", "03/12/2026"), ("1.2.3", "1.2.3"), ("-5%", "\u22125 %"),
])
def test_the_page_states_it(page, claim):
    assert states(page, claim)


@pytest.mark.parametrize(("page", "claim"), [
    ("16 weeks", "12 weeks"), ("16 weeks", "16 days"), ("30 days", "30 hours"), ("5 working days", "5 calendar days"),
    ("14 days", "2 weeks"),
    ("AED 250,000", "USD 250,000"), ("AED 250,000", "AED 25,000"), ("AED 250,000", "AED 250"), ("AED 250 000", "AED 250"),
    ("250", "AED 250"),
    ("1,200", "1.200"), ("0.80", "0.08"), ("0.80", "80%"), ("80", "80%"), ("5%", "-5%"), ("10\u00b2", "102"), ("10\u00b2", "10"),
    ("2\u00bd days", "2 days"), ("0.80", "80"), ("1.20", "1.2.0"),
    ("PMT-771", "PMT-717"), ("PMT-771", "PMT-7710"), ("PMT-7710", "PMT-771"), ("PMT-771", "771"), ("RULE-A002", "A002"), ("L5",
    "L6"),
    ("2026-03-12", "2026-12-03"), ("2026-03-12", "13 March 2026"), ("2026-03-12", "12 March 2025"), ("12 March", "12 March 2026"),
    ("2026-03-12", "12 weeks"), ("03/12/2026", "12 March 2026"), ("03/12/2026", "3 December 2026"),
    ("at 9:30", "at 9:30 pm"), ("5m", "AED 5m"), ("the page names no number", "12"), ("5493001KJTIIGC8Y1R12",
    "5493001KJTIIGC8Y1R13"),
])
def test_the_page_does_not_state_it(page, claim):
    assert not states(page, claim)


@pytest.mark.parametrize("text", ["", "one of the officers", "no one may", "the second officer", "a form", "it may be held",
    "\u00b2", "\u5e8a", "- * _"])
def test_there_is_no_fact_here(text):
    assert find_facts(text) == []


def test_a_unit_belongs_to_the_number_beside_it():
    assert facts("pay 20 AED 250 in 12 weeks 3 days") == {("number", "20", None), ("number", "250", "aed"), ("number", "12",
        "week"), ("number", "3", "day")}


def test_a_month_named_may_is_told_from_the_verb():
    assert facts("on 12 May") == {("date", (None, 5, 12), None)}
    assert facts("rule 12 may apply") == {("number", "12", None)}


# --- whatever comes -------------------------------------------------------------------------------------------------

@given(st.text(max_size=80), st.text("0123456789.,-/: AEDkm%\u00b2\u00bd\u0661\u2011$thone", max_size=80))
def test_any_text_can_be_read_and_states_its_own_facts(one, other):
    for text in (one, other):
        stated = Stated(text, tokenize(text))
        assert all(stated.holds(fact) for fact in find_facts(text))


@pytest.mark.parametrize("text", [
    "9 " * 50_000, "9" * 100_000, "AED " + "999 " * 50_000, "9" + ",999" * 50_000, "twelve " * 50_000, "a-" * 50_000, "1/" * 50_000,
    "1.2" * 50_000, "12 march " * 20_000, "9" + " " * 100_000, "one and " * 30_000, "AED " * 30_000,
])
def test_reading_takes_time_in_proportion(text):
    start = time.process_time()
    find_facts(text)
    assert time.process_time() - start < 6
