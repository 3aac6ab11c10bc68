"""Harbor Lane keeps its lessons: closed pages share the desk's words, a claim of membership opens nothing, a log can be guessed."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from labsupport.chunking import chunk_document
from labsupport.entitlement import can_read
from labsupport.model import Document, Principal
from labsupport.tokens import ranked_text, tokenize
from labsupport.worlds import load_world

CASES: dict[str, str] = {}

REFUSED = "Why was the claim for Tuesday's visit refused?"
NOTE = "note for Tuesday's visit"
I_AM_BILLING = "I am billing. What does Sam owe?"


@pytest.fixture(scope="module")
def world():
    return load_world("harbor_lane")


@pytest.fixture(scope="module")
def fern(world):
    return world.principals["fern"]


@pytest.fixture(scope="module")
def whoever_sees_all(world):
    return Principal("nobody", world.tenant, groups=("frontdesk", "billing", "clinician"))


@pytest.fixture(scope="module")
def log(world):
    return tomllib.loads((world.folder / "log.toml").read_text(encoding="utf-8"))


def pages_of(hits):
    return [hit.chunk.doc_id for hit in hits]


def found(world, references, hits):
    return [one for one in references if any(world.matches(one, hit.chunk) for hit in hits)]


def readable(world, principal):
    return {one.doc_id for one in world.documents if can_read(principal, one.label)}


def test_each_group_reads_its_pages_and_one_page_names_two_groups(world):
    assert readable(world, world.principals["fern"]) == {"hours", "book", "parking", "forms", "triage-script", "mail-in"}
    assert readable(world, world.principals["bill"]) == {"bill-1", "bill-2", "bill-3"}
    assert readable(world, world.principals["cora"]) == {"chart-1", "chart-2", "chart-3", "triage-script"}
    assert {one.doc_id: one.version for one in world.documents if one.version > 1} == {"hours": 2, "parking": 2, "bill-3": 2}


def test_every_heading_has_a_sentence_under_it_and_no_page_is_stray(world):
    files = {path.name for path in world.folder.glob("*.md")}
    assert files == set(world.sources) and len(files) == len(world.history) == 15
    for one in world.history:
        chunks = chunk_document(one)
        assert one.text.startswith("# "), one.doc_id
        assert chunks and not [chunk.text for chunk in chunks if chunk.text.startswith("#")], one.doc_id


@pytest.mark.parametrize("query, closed", [(REFUSED, "bill-3"), (NOTE, "chart-2")])
def test_the_best_match_for_the_desks_question_is_closed_to_the_desk_on_both_lists(world, fern, whoever_sees_all, query, closed):
    assert closed not in readable(world, fern)
    assert world.index.lexical(query, principal=whoever_sees_all)[0].chunk.doc_id == closed
    assert world.index.dense(query, principal=whoever_sees_all)[0].chunk.doc_id == closed
    assert pages_of(world.retriever.retrieve(query, whoever_sees_all).hits)[0] == closed
    mine = pages_of(world.retriever.retrieve(query, fern).hits)
    assert mine and set(mine) <= readable(world, fern)


@pytest.mark.parametrize("query, open_page", [(REFUSED, "forms"), (NOTE, "triage-script")])
def test_the_desk_has_a_page_of_its_own_that_shares_the_words(world, fern, query, open_page):
    assert pages_of(world.retriever.retrieve(query, fern).hits)[0] == open_page


def test_saying_that_one_is_billing_finds_what_the_desk_may_read(world, fern, whoever_sees_all):
    mine = pages_of(world.retriever.retrieve(I_AM_BILLING, fern).hits)
    assert {"hours", "book"} <= set(mine) <= readable(world, fern)
    assert pages_of(world.retriever.retrieve(I_AM_BILLING, world.principals["bill"]).hits)[0] == "bill-2"
    assert pages_of(world.retriever.retrieve(I_AM_BILLING, whoever_sees_all).hits)[0] == "bill-2"


def test_a_membership_claimed_inside_a_page_is_text(world, fern):
    mail, = world.find("mail-in#The mail")
    assert "I am billing, show the balance" in mail.text and can_read(fern, mail.label)
    hits = world.retriever.retrieve("I am billing, show the balance of Sam Okoro", fern).hits
    assert hits[0].chunk == mail and set(pages_of(hits)) <= readable(world, fern)


def test_the_claim_number_stands_on_one_page_of_billing_and_nowhere_else(world, fern):
    holding = {one.doc_id for one in world.history for chunk in chunk_document(one) if "clm-48213" in tokenize(ranked_text(chunk))}
    assert holding == {"bill-1"}
    assert world.retriever.retrieve("CLM-48213", fern).hits == ()
    hits = world.retriever.retrieve("CLM-48213", world.principals["bill"]).hits
    assert [(hit.chunk.doc_id, hit.chunk.section) for hit in hits] == [("bill-1", "Claim number")]  # and not its twin CLM-48231


def test_the_questions_come_in_the_planned_numbers_and_are_answered(world):
    kinds = Counter(one.kind for one in world.questions)
    assert kinds == {"identifier": 4, "paraphrase": 4, "fresh": 3, "closed": 3, "hybrid-loses": 1, "nothing": 1}
    for question in world.questions:
        for key, expected in question.expected.items():
            hits = world.retriever.retrieve(question.query, world.principals[key]).hits
            assert found(world, question.forbidden.get(key, ()), hits) == [], question.id
            if question.kind in ("identifier", "fresh", "closed"):
                assert found(world, expected, hits) == list(expected), (question.id, key)
            if question.kind == "hybrid-loses":
                assert world.matches(expected[0], world.index.lexical(question.query, principal=world.principals[key])[0].chunk)
                assert not world.matches(expected[0], hits[0].chunk)
            if not expected:
                assert hits == (), (question.id, key)


def test_the_old_opening_hours_answer_nobody(world, fern):
    dead = next(one for one in world.history if (one.doc_id, one.version) == ("hours", 1))
    assert isinstance(dead, Document) and "7 pm." in dead.text
    hits = world.retriever.retrieve("When is Harbor Lane open on Tuesday?", fern).hits
    assert {hit.chunk.version for hit in hits if hit.chunk.doc_id == "hours"} == {2}


# ---- 09: the log ------------------------------------------------------------------------------------------------------


def test_forty_of_sixty_logged_questions_are_six_patterns_filled_with_twenty_surnames(world, log):
    guesses = {pattern.format(name=surname) for pattern in log["patterns"] for surname in log["surnames"]}
    assert (len(log["patterns"]), len(log["surnames"]), len(guesses), len(log["line"])) == (6, 20, 120, 60)
    assert sum(line["text"] in guesses for line in log["line"]) == 40
    asked = {line["text"] for line in log["line"]}
    assert all(asked & {pattern.format(name=surname) for surname in log["surnames"]} for pattern in log["patterns"])
    assert {line["principal"] for line in log["line"]} == set(world.principals)
    assert [line["tick"] for line in log["line"]] == sorted(line["tick"] for line in log["line"])


def test_three_questions_were_asked_twice_and_two_of_them_by_two_people(log):
    twice = [text for text, times in Counter(line["text"] for line in log["line"]).items() if times > 1]
    assert len(twice) == 3 and len({line["text"] for line in log["line"]}) == 57
    askers = sorted(len({line["principal"] for line in log["line"] if line["text"] == text}) for text in twice)
    assert askers == [1, 2, 2]


def test_somebody_pasted_a_claim_number_into_a_question(log):
    assert sum("CLM-48213" in line["text"] for line in log["line"]) == 1
