"""The worlds load, say what is wrong with them at the door, and keep every lesson that rests on their words true."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from labsupport import leaky
from labsupport.chunking import chunk_document
from labsupport.entitlement import can_read
from labsupport.errors import FetchForbidden, OutOfScope, WorldError
from labsupport.ingestion import ingest
from labsupport.manifest import read_manifest
from labsupport.manifest_parts import CLAIM_KINDS, QUESTION_KINDS
from labsupport.retriever import RetrievalPolicy
from labsupport.tokens import ranked_text, tokenize
from labsupport.worlds import DATA, build_world, load_world, world_names

CASES: dict[str, str] = {}

WORLDS = [name for name in world_names() if name != "twins"]


@pytest.fixture(scope="module")
def worlds():
    return {name: load_world(name) for name in WORLDS}


# ---- the traps: one test, all worlds, both directions -----------------------------------------------------------------


class RightDesign:
    """The world as it is, with the two methods that a wrong design offers."""

    def __init__(self, world):
        self.lexical, self.retrieve = world.index.lexical, world.retriever.retrieve


def _asked(design, world, trap, query):
    if trap.leg == "lexical":
        return list(design.lexical(query, principal=world.principals[trap.principal], limit=10))
    return list(_answer(design, world, trap, query).hits)


def _answer(design, world, trap, query):
    return design.retrieve(query, world.principals[trap.principal], now_tick=trap.now_tick, policy=RetrievalPolicy(**trap.policy))


def _place(world, hits, reference):
    """The first place, from 0, of a chunk that the reference names; None where it is not in the list."""
    return next((at for at, hit in enumerate(hits) if world.matches(reference, hit.chunk)), None)


def _first_scores(design, world, trap):
    return {word: (hits[0].score if (hits := _asked(design, world, trap, word)) else None) for word in trap.words}


def _wrong_design(world, trap):
    """Built on the full index; a design that keeps old versions (`of`) is built from every version in the order loaded."""
    made = getattr(leaky, trap.design)
    design = made.of(world.history) if hasattr(made, "of") else made(world.index)
    if trap.after:
        design.retrieve(trap.query, world.principals[trap.after], now_tick=trap.now_tick, policy=RetrievalPolicy(**trap.policy))
    return design


def _does_not_bite(design, world, trap):
    """What the manifest says of the wrong design and does not happen on this one."""
    if trap.words:
        scores = _first_scores(design, world, trap)
        others = {score for word, score in scores.items() if word != trap.odd_word}
        return [] if len(others) == 1 and scores[trap.odd_word] not in others else [f"the scores are {scores}"]
    hits = _asked(design, world, trap, trap.query)
    seen = [hit.chunk.citation() for hit in hits]
    missing = [f"{one} is not in {seen}" for one in trap.must_leak if _place(world, hits, one) is None]
    if trap.leak_first and _place(world, hits, trap.leak_first) != 0:
        missing.append(f"{trap.leak_first} is not first of {seen}")
    missing += [f"{one} is in {seen}" for one in trap.must_lose if _place(world, hits, one) is not None]
    if trap.turned:
        one, other = (_place(world, hits, each) for each in trap.order)
        if one is None or other is None or one < other:
            missing.append(f"{trap.order} is not turned in {seen}")
    if trap.told and not getattr(_answer(design, world, trap, trap.query), trap.told, 0) > 0:
        missing.append(f"{trap.told} is not told")
    right = _asked(RightDesign(world), world, trap, trap.query) if trap.moved else []
    for reference in trap.moved:
        there, here = _place(world, hits, reference), _place(world, right, reference)
        if there is None or here is None or hits[there].score == right[here].score:
            missing.append(f"{reference} has not moved")
    return missing


def _is_open(design, world, trap):
    """What the manifest says of the right design and does not happen on this one."""
    if trap.words:
        scores = _first_scores(design, world, trap)
        if len(set(scores.values())) != 1 or None in scores.values():
            return [f"the scores are {scores}"]
    wrong = []
    principal = world.principals[trap.principal]
    if trap.told and hasattr(_answer(design, world, trap, trap.query), trap.told):
        wrong.append(f"{trap.told} is told")
    for query in trap.words or (trap.query,):
        hits = _asked(design, world, trap, query)
        seen = [hit.chunk.citation() for hit in hits]
        wrong += [f"{one} is in {seen}" for one in trap.must_not if _place(world, hits, one) is not None]
        wrong += [f"{one} is not in {seen}" for one in trap.must_find if _place(world, hits, one) is None]
        if trap.first and _place(world, hits, trap.first) != 0:
            wrong.append(f"{trap.first} is not first of {seen}")
        if trap.empty and hits:
            wrong.append(f"{query!r} finds {seen}")
        wrong += [f"the first hit does not hold {text!r}" for text in trap.holds if not hits or text not in hits[0].chunk.text]
        if trap.order:
            places = [_place(world, hits, each) for each in trap.order]
            if None in places or places != sorted(places):
                wrong.append(f"{trap.order} is not the order of {seen}")
        if not all(can_read(principal, hit.chunk.label) for hit in hits):
            wrong.append(f"a closed chunk is in {seen}")
        if trap.no_shared_word:
            words = set(tokenize(query))
            for document in world.documents:
                if can_read(principal, document.label):
                    shared = [words & set(tokenize(ranked_text(chunk))) for chunk in chunk_document(document)]
                    wrong += [f"{document.doc_id} shares {sorted(one)}" for one in shared if one]
    return wrong


def test_each_trap_bites_on_its_wrong_design_and_is_closed_on_the_right_one(worlds):
    failures, bitten, closed = [], 0, 0
    for name, world in worlds.items():
        for trap in world.traps:
            if trap.design != "none":
                wrong = _wrong_design(world, trap)
                failures += [f"{name}/{trap.name} does not bite: {why}" for why in _does_not_bite(wrong, world, trap)]
                bitten += 1
            failures += [f"{name}/{trap.name} is open: {why}" for why in _is_open(RightDesign(world), world, trap)]
            closed += 1
    assert not failures, "\n".join(failures)
    written = [(DATA / name / "world.toml").read_text(encoding="utf-8").count("\n[[trap]]") for name in WORLDS]
    assert closed == sum(written) > 0
    assert 0 < bitten <= closed


def test_a_trap_notices_when_the_two_designs_are_swapped(worlds):
    """The test above could pass for nothing: with the right design in the wrong one's place it must complain, and vice versa."""
    swapped = 0
    for world in worlds.values():
        for trap in (one for one in world.traps if one.design != "none"):
            assert _does_not_bite(RightDesign(world), world, trap), trap.name
            if not trap.moved:  # a score that moved is told by comparing the two, which the line above does
                assert _is_open(_wrong_design(world, trap), world, trap), trap.name
            swapped += 1
    assert swapped > 0


# ---- what the traps rest on, stated directly ----------------------------------------------------------------------------

BIRDS = "albatross buzzard condor eagle falcon gannet heron kestrel merlin osprey plover wren".split()


@pytest.fixture(scope="module")
def bank(worlds):
    return worlds["bank"]


def _open_chunks(world, key):
    principal = world.principals[key]
    return [chunk for document in world.documents if can_read(principal, document.label) for chunk in chunk_document(document)]


def test_no_open_page_but_the_walking_clubs_names_a_bird(bank):
    seen = 0
    for key in ("ines", "wes", "cleo", "rita"):
        for chunk in _open_chunks(bank, key):
            words = tokenize(ranked_text(chunk))
            if chunk.doc_id == "walk-club":
                assert [words.count(bird) for bird in BIRDS] == [1] * 12
                seen += 1
            else:
                assert not set(words) & set(BIRDS), chunk.citation()
    assert seen == 3


def test_prize_and_shuttle_weigh_the_same_for_everybody_outside(bank):
    (prize,), (shuttle,) = (bank.find(page) for page in ("prize", "shuttle"))
    assert len(tokenize(ranked_text(prize))) == len(tokenize(ranked_text(shuttle))) == 10
    for key in ("ines", "wes", "cleo"):
        words = [tokenize(ranked_text(chunk)) for chunk in _open_chunks(bank, key)]
        assert [sum(words_of.count(word) for words_of in words) for word in ("diligence", "shuttle")] == [1, 1]


def test_each_entry_of_the_deal_log_names_the_client_twice_and_ines_has_one_page_that_does(bank):
    entries = [chunk for chunk in bank.find("deal-log") if len(chunk.heading_path) == 2]
    assert len(entries) == 24
    assert all(chunk.text.count("Acme Trading FZE") == 2 for chunk in entries)
    assert sum("Falcon" in chunk.text for chunk in entries) == 5
    assert sum("diligence" in chunk.text for chunk in entries) == 1
    named = [chunk for chunk in _open_chunks(bank, "ines") if "acme" in tokenize(ranked_text(chunk))]
    assert [chunk.doc_id for chunk in named] == ["acme-counterparty"]
    assert all(tokenize(ranked_text(named[0])).count(word) == 1 for word in ("acme", "trading", "fze"))


def test_seven_open_pages_share_a_word_with_the_client_so_that_a_short_list_counts_what_is_hidden(bank):
    hits = bank.index.lexical("Acme Trading FZE", principal=bank.principals["ines"], limit=None)
    assert len(hits) >= 7


def test_the_fee_table_has_twelve_rows_and_neighbours_that_can_be_swapped(bank):
    (table,) = bank.find("fees#Tariff")
    rows = [line for line in table.text.splitlines() if line.startswith("| ") and "AED" in line]
    assert len(rows) == 12
    assert rows.index("| Recall of a payment | AED 120 | per attempt |") == rows.index("| Amendment | AED 75 | per change |") + 1


@pytest.mark.parametrize(
    ("page", "fact"),
    [
        ("pol-hold-release@v2", "above AED 100,000 is released under dual control"),
        ("pol-hold-release@v1", "above AED 50,000 is released under dual control"),
        ("pol-escalation", "A match score above 0.80 is escalated to Group Compliance"),
        ("pmt-771", "PMT-771 is an outgoing payment of AED 250,000"),
        ("pmt-771", "held since value date 2026-03-12"),
        ("pmt-717", "AED 25,000"),
        ("acme-counterparty", "LEI 5493001KJTIIGC8Y1R12"),
        ("deal-falcon", "Project Falcon is the acquisition of Acme Trading FZE"),
        ("memo-open", "Classification: public"),
        ("vendor-note", "\n[instructions]\n"),
        ("retail/arrears-2210", "director of Acme Trading FZE. The personal loan is 60 days past due"),
    ],
)
def test_the_facts_that_the_notebooks_tell_stand_in_the_pages(bank, page, fact):
    assert any(fact in chunk.text for chunk in bank.find(page))


def test_the_bank_is_as_large_as_its_statistics_need(bank):
    assert len(bank.documents) >= 40
    assert sum(len(chunk_document(document)) for document in bank.documents) >= 120
    assert {document.tenant for document in bank.documents} == {"wholesale", "retail"}


def test_the_bank_seats_its_five_people(bank):
    people = {
        key: (one.user_id, one.tenant, one.max_classification, one.barriers, one.groups) for key, one in bank.principals.items()
    }
    nothing = frozenset()
    assert people == {
        "ines": ("u-1", "wholesale", "internal", nothing, nothing),
        "wes": ("u-42", "wholesale", "confidential", nothing, nothing),
        "ada": ("u-99", "wholesale", "restricted", frozenset({"advisory"}), nothing),
        "cleo": ("u-60", "wholesale", "restricted", nothing, frozenset({"heads"})),
        "rita": ("u-7", "retail", "confidential", nothing, nothing),
    }


# ---- questions and claims ----------------------------------------------------------------------------------------------


def test_no_question_brings_back_what_is_forbidden_and_words_find_what_words_can(worlds):
    asked = 0
    for name, world in worlds.items():
        for question in world.questions:
            for key, expected in question.expected.items():
                principal = world.principals[key]
                hits = world.retriever.retrieve(question.query, principal).hits
                where = f"{name}/{question.id} as {key}: {[hit.chunk.citation() for hit in hits]}"
                assert not [hit for hit in hits for one in question.forbidden.get(key, ()) if world.matches(one, hit.chunk)], where
                if question.kind in ("identifier", "fresh", "closed"):
                    assert all(_place(world, hits, one) is not None for one in expected), where
                if question.kind == "nothing":
                    assert not hits, where
                asked += 1
    assert asked >= 40


def test_hybrid_loses_where_it_is_said_to_lose(worlds):
    seen = 0
    for name, world in worlds.items():
        for question in (one for one in world.questions if one.kind == "hybrid-loses"):
            for key, (right, *_) in question.expected.items():
                principal = world.principals[key]
                assert _place(world, world.index.lexical(question.query, principal=principal), right) == 0, (name, question.id)
                assert _place(world, world.retriever.retrieve(question.query, principal).hits, right) != 0, (name, question.id)
                seen += 1
    assert seen >= 3


def test_what_is_forbidden_is_closed_superseded_or_anothers(worlds):
    seen = 0
    for name, world in worlds.items():
        live = {(document.tenant, document.doc_id): document.version for document in world.documents}
        for question in world.questions:
            for key, references in question.forbidden.items():
                for reference in references:
                    for chunk in world.find(reference):
                        closed = not can_read(world.principals[key], chunk.label)
                        assert closed or chunk.version < live[chunk.tenant, chunk.doc_id], f"{name}/{question.id}: {reference}"
                        seen += 1
    assert seen > 0


def test_what_is_expected_can_be_read(worlds):
    for name, world in worlds.items():
        for question in world.questions:
            for key, references in question.expected.items():
                for reference in references:
                    chunks, principal = world.find(reference), world.principals[key]
                    where = f"{name}/{question.id}: {reference}"
                    assert chunks and all(can_read(principal, chunk.label) for chunk in chunks), where


def test_there_are_enough_questions_and_claims_of_each_kind(worlds):
    questions = [question for world in worlds.values() for question in world.questions]
    assert len(questions) >= 40
    assert {question.kind for question in questions} == set(QUESTION_KINDS)
    claims = [claim for world in worlds.values() for claim in world.claims]
    least = {"verbatim": 10, "paraphrase": 12, "wrong-number": 10, "wrong-date-or-id": 6}
    least |= {"invented": 6, "closed": 6, "row-swap": 4, "empty": 3}
    counted = {kind: sum(claim.kind == kind for claim in claims) for kind in CLAIM_KINDS}
    assert len(claims) >= 60
    assert counted["negation"] + counted["denial"] >= 8 and counted["denial"] >= 2
    assert all(counted[kind] >= number for kind, number in least.items()), counted


def test_a_claim_from_a_closed_page_is_true_and_out_of_its_readers_sight(worlds):
    seen = 0
    for world in worlds.values():
        for claim in (one for one in world.claims if one.kind == "closed"):
            assert claim.true
            assert world.find(claim.source)
            assert not any(can_read(world.principals[claim.reader], chunk.label) for chunk in world.find(claim.source))
            seen += 1
    assert seen > 0


# ---- twins -------------------------------------------------------------------------------------------------------------


def test_the_twins_are_one_world_to_everybody_who_may_not_read_the_difference():
    twins = load_world("twins")
    hidden = {(document.tenant, document.doc_id): document for document in twins.b.documents}
    for document in twins.a.documents:
        assert hidden.pop((document.tenant, document.doc_id)) == document
    assert {doc_id for _, doc_id in hidden} == {"deal-falcon", "deal-log"}
    games = 0
    for key in twins.same_for:
        assert not any(can_read(twins.principals[key], document.label) for document in hidden.values())
        for question in twins.questions:
            sides = [side.retriever.retrieve(question, twins.principals[key]) for side in (twins.a, twins.b)]
            assert sides[0] == sides[1]
            games += 1
    assert games >= 8
    assert any(can_read(twins.principals["ada"], document.label) for document in hidden.values())


def test_a_pair_can_be_made_of_any_world():
    without = load_world("bank", without=("pmt-771",))
    assert "pmt-771" not in {document.doc_id for document in without.documents}
    with pytest.raises(WorldError, match="without names 'pmt-999'"):
        load_world("bank", without=("pmt-999",))
    with pytest.raises(TypeError, match="without must be a collection"):
        load_world("bank", without="pmt-771")


# ---- loading -----------------------------------------------------------------------------------------------------------


def test_every_world_loads_in_half_a_second():
    for name in world_names():
        load_world(name)  # imports and caches of the libraries are not the world's
        start = time.process_time()
        load_world(name)
        assert time.process_time() - start < 0.5


def test_a_world_is_found_from_any_folder(tmp_path):
    code = "from labsupport.worlds import load_world; print(len(load_world('bank').documents))"
    env = {**os.environ, "PYTHONPATH": str(DATA.parent)}
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert int(ran.stdout) >= 40


def test_what_one_reader_does_to_a_world_reaches_nobody_else():
    one, other = load_world("bank"), load_world("bank")
    before = other.retriever.retrieve("wire fee", other.principals["ines"])
    one.index.tombstone_doc("fees")
    assert other.retriever.retrieve("wire fee", other.principals["ines"]) == before
    assert load_world("bank").retriever.retrieve("wire fee", other.principals["ines"]) == before


def test_two_loads_are_equal_and_the_order_of_hashes_does_not_matter(tmp_path):
    code = (
        "from labsupport.worlds import load_world; w = load_world('bank')\n"
        "for q in w.questions:\n"
        "    for p in q.expected:\n"
        "        print([(h.chunk.citation(), h.score) for h in w.retriever.retrieve(q.query, w.principals[p]).hits])"
    )
    outputs = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONPATH": str(DATA.parent), "PYTHONHASHSEED": seed}
        outputs.add(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 1 and "fees@v1" in outputs.pop()


def test_an_unknown_world_names_the_known_ones():
    with pytest.raises(WorldError, match=r"no world 'bnak'.*bank.*twins"):
        load_world("bnak")
    with pytest.raises(WorldError, match="'../data/bank'"):
        load_world("../data/bank")


def test_an_unknown_scope_names_the_known_ones():
    with pytest.raises(WorldError, match="scope 'pilot' is not there; the scopes are assistant"):
        load_world("bank", scope="pilot")


def test_a_source_is_fetched_with_its_uploaders_rights(worlds):
    seen = 0
    for world in worlds.values():
        for job in world.sources.values():
            if job.source_readers is None:
                assert world.fetch(job.source, uploader=job.uploader).startswith("# ")
                continue
            assert job.uploader in job.source_readers or not job.load
            with pytest.raises(FetchForbidden):
                world.fetch(job.source, uploader="nobody-of-this-world")
            seen += 1
        with pytest.raises(FetchForbidden):
            world.fetch("no-such-page.md", uploader="ops-sync")
    assert seen > 0


def test_a_page_on_the_out_list_is_kept_out_and_says_so(tmp_path):
    manifest = read_manifest(_copy(tmp_path, "out = []", 'out = ["pmt-771"]'))
    world = build_world(manifest)
    assert world.kept_out == ("pmt-771@v1",)
    with pytest.raises(OutOfScope):
        ingest(world.index, world.jobs["pmt-771@v1"], fetch=world.fetch, scope=world.scope)
    assert not world.retriever.retrieve("PMT-771", world.principals["wes"]).hits


# ---- a manifest cannot be half right -----------------------------------------------------------------------------------


def _copy(tmp_path: Path, old: str = "", new: str = "", file: str = "world.toml") -> Path:
    """The bank's folder with one place of one file changed."""
    folder = tmp_path / "bank"
    shutil.copytree(DATA / "bank", folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


WRONG_WORLD = [
    ('title  = "Bank"', "", "title is missing"),
    ('title  = "Bank"', "title = 3", "title must be text, got 3"),
    ('title  = "Bank"', 'title = "Bank"\ncolour = "blue"', "colour is not a field here"),
    ("Fictional, no credential", "Confidential", "notice must say 'fictional, no credential'"),
    ("[[principal]]", "[[principal", "the file cannot be read as TOML"),
    ('key = "wes"', 'key = "ines"', "principal[2].key repeats 'ines', which principal[1] has already"),
    ('user_id = "u-42"', 'user_id = "u-1"', "principal[2].user_id repeats 'u-1'"),
    ('max_classification = "internal"', 'max_classification = "secret"', "principal[1].max_classification must be one of public"),
    ('barriers = ["advisory"]', 'barriers = "advisory"', "principal[3].barriers must be a list of names, got 'advisory'"),
    ('barriers = ["advisory"]', 'badges = ["advisory"]', "principal[3].badges is not a field here"),
    ('scope  = "assistant"', 'scope = "pilot"', "scope must be one of assistant, got 'pilot'"),
    ("[scopes.assistant]", "[[scopes]]", "scopes must be written [scopes.name]"),
    ("out = []", 'out = ["nowhere"]', "scopes.assistant names 'nowhere', and no job has this doc id"),
    ("out = []", 'out = ["retail/fees"]', "scopes.assistant names 'retail/fees'"),
    ('classification = "public"', 'classification = "open"', "job[1].classification must be one of public"),
    ('source = "prize.md"', 'source = "price.md"', "job[2].source names 'price.md', which is no file of bank/"),
    ('source = "prize.md"', 'source = "../bank/prize.md"', "job[2].source names"),
    ('source = "prize.md"', "", "job[2].source is missing"),
    ("version = 2", 'version = "2"', "job[6].version must be a whole number, got '2'"),
    ("version = 2", "version = 0", "job[6].version must be at least 1, got 0"),
    ("version = 2", "version = 1", "job[6].name repeats 'pol-hold-release@v1'"),
    ("updated_tick = 12", "updated_tick = -1", "job[1].updated_tick must be at least 0, got -1"),
    ("[[job]]", '[[job]]\nname = "again"\ndoc_id = "prize"\nsource = "prize.md"\nuploader = "hr"\nsource_readers = ["hr"]\n[[job]]',
     "job[3].source_readers must be the same in every job of 'prize.md', got None after ('hr',)"),
    ('acl = ["heads"]', "acl = []", "acl must name at least one group"),
    ('acl = ["heads"]', 'acl = "heads"', "acl must be a list of names, got 'heads'"),
    ('must_lose = ["acme-counterparty"]', 'must_lose = ["acme"]', "trap[1] names 'acme', and no job makes such a page"),
    ('must_lose = ["acme-counterparty"]', 'must_lose = ["acme-counterparty@v3"]', "trap[1] names 'acme-counterparty@v3'"),
    ('must_lose = ["acme-counterparty"]', "", "trap[1] must say what the right design shows"),
    ('must_lose = ["acme-counterparty"]', "policy = { k = 3 }", "trap[1]"),
    ('query = "Acme Trading FZE"', "", "trap[1] must have either query or words"),
    ('principal = "ines"', 'principal = "inez"', "trap[1].principal must be one of ines"),
]
WRONG_QUESTIONS = [
    ('kind = "identifier"', 'kind = "id"', "question[1].kind must be one of identifier"),
    ('expected.wes  = ["pmt-771"]', 'expected.joe = ["pmt-771"]', "question[1].expected must be one of ines"),
    ('expected.wes  = ["pmt-771"]', 'expected.wes = ["pmt-772"]', "question[1].expected names 'pmt-772'"),
    ('forbidden.ines', "forbidden.cleo", "question[1].expected must name everybody who asks"),
]
WRONG_CLAIMS = [
    ('verdict = "supported"', 'verdict = "yes"', "claim[1].verdict must be one of supported"),
    ("true = true", 'true = "yes"', "claim[1].true must be true or false, got 'yes'"),
    ('id = "bank-c02"', 'id = "bank-c01"', "claim[2].id repeats 'bank-c01'"),
    ('reader = "ines"', 'reader = "everyone"', "claim[1].reader must be one of ines"),
]
WRONG = [
    (file, *wrong)
    for file, rows in (("world.toml", WRONG_WORLD), ("questions.toml", WRONG_QUESTIONS), ("claims.toml", WRONG_CLAIMS))
    for wrong in rows
]


@pytest.mark.parametrize(("file", "old", "new", "message"), WRONG)
def test_a_wrong_manifest_is_refused_with_file_and_field(tmp_path, file, old, new, message):
    with pytest.raises(WorldError) as refusal:
        read_manifest(_copy(tmp_path, old, new, file))
    assert f"bank/{file}: " in str(refusal.value) and message in str(refusal.value)


def test_a_page_without_a_title_is_refused(tmp_path):
    with pytest.raises(WorldError, match="bank/prize.md: the first line must be '# Title'"):
        build_world(read_manifest(_copy(tmp_path, "# Prize", "Prize", "prize.md")))


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(WorldError, match="bank/world.toml: the file is missing"):
        read_manifest(tmp_path / "bank")


def test_no_heading_of_a_page_stands_alone(worlds):
    """A heading with nothing under it would be a chunk of its own and rank above real pages."""
    seen = 0
    for name, world in worlds.items():
        for document in world.history:
            for chunk in chunk_document(document):
                assert not chunk.text.startswith("#") or chunk.text.count("\n"), f"{name}/{chunk.citation()}"
                seen += 1
    assert seen > 0


def test_every_page_has_a_job_and_every_world_says_that_it_is_fiction(worlds):
    for name, world in worlds.items():
        pages = {file.name for file in world.folder.glob("*.md")}
        assert pages == set(world.sources), name
        assert "fictional, no credential" in world.notice.lower()
    twins = tomllib.loads((DATA / "twins" / "world.toml").read_text(encoding="utf-8"))
    assert "fictional, no credential" in twins["notice"].lower()
