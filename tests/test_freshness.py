"""One version answers, at every instant: swaps that die at any line, labels that only move on, tombstones, the low door, age.

The wrong designs of notebook 06 are here too, doing what their sentence hides.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from histories import ACLS, EMPLOYEE, MANAGER, SCOPE, SOUTH, fetch, job, page, readable, restarted, run, seen
from hypothesis import given, settings
from hypothesis import strategies as st

import labsupport
from labsupport.chunking import chunk_document
from labsupport.embedding import HashEmbedder, hash_embed
from labsupport.errors import EmbeddingFailed, EmbeddingMismatch, RetrievalError, StaleLabel, StaleVersion
from labsupport.index import Index
from labsupport.ingestion import ingest
from labsupport.leaky import AppendOnly, NewestBoost
from labsupport.model import EVERYONE, Document
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy
from labsupport.tokens import tokenize
from labsupport.versions import DocumentState
from labsupport.worlds import load_world

CASES = {
    "E01": "test_a_shorter_version_leaves_no_tail_of_the_longer_one",
    "E02": "test_the_same_delivery_in_batches_of_any_size_is_stored_once",
    "E03": "test_what_a_source_no_longer_has_is_gone_though_nothing_else_changed",
    "E04": "test_both_legs_hold_the_same_ids_and_a_file_that_lost_a_vector_is_refused",
    "E05": "test_one_update_reaches_both_legs_and_one_index_never_touches_another",
    "E06": "test_the_same_version_three_times_is_stored_once",
    "E07": "test_a_version_that_arrives_late_is_refused_whatever_the_order",
    "E09": "test_equal_versions_with_two_texts_are_an_error_and_the_first_stays",
    "E10": "test_only_a_version_above_the_floor_lives_again_and_with_its_own_text",
    "E11": "test_vectors_of_two_models_never_mix_though_their_size_is_the_same",
    "E12": "test_other_chunks_of_the_same_text_need_a_higher_version",  # the saved file: tests/test_storage.py
    "E13": "test_a_failed_embedding_leaves_no_old_vector_under_a_later_text",
    "E14": "test_time_is_a_number_that_is_passed_in_and_never_negative",
    "E15": "test_a_swap_that_dies_at_any_line_leaves_one_version_whole",
}

PACKAGE = Path(labsupport.__file__).parent
ROOMS = {str(PACKAGE / f"{room}.py") for room in ("ingestion", "index", "versions", "namespace", "shelf", "embedding")}


class Died(BaseException):
    """The process is gone: nothing in the package may catch this."""


def lines_of(act):
    """Each line that `act` runs in the rooms of a swap, and the first of each function elsewhere in the package, once."""
    lines = {}

    def each(frame, event, _):
        if event == "line":
            lines.setdefault((frame.f_code.co_filename, frame.f_lineno))
        return each if frame.f_code.co_filename in ROOMS else None

    sys.settrace(lambda frame, event, _: each if frame.f_code.co_filename.startswith(str(PACKAGE)) else None)
    try:
        act()
    finally:
        sys.settrace(None)
    return list(lines)


def at_line(act, place, do):
    """Run `act`, and `do` just before its first run of the line at `place`."""
    done = False

    def each(frame, event, _):
        nonlocal done
        if event == "line" and not done and (frame.f_code.co_filename, frame.f_lineno) == place:
            done = True
            do()
        return each

    sys.settrace(lambda frame, event, _: each if frame.f_code.co_filename == place[0] else None)
    try:
        act()
    finally:
        sys.settrace(None)
    assert done


def looks_at(act, index):
    """What is seen at every line that `act` runs in these rooms, loops and all, whenever the index holds other things."""
    held, looks = None, []

    def each(frame, event, _):
        nonlocal held
        holds = [id(value) for value in vars(index).values()]
        if holds != held:
            held = holds
            looks.append(seen(index))
        return each

    sys.settrace(lambda frame, event, _: each if frame.f_code.co_filename in ROOMS else None)
    try:
        act()
    finally:
        sys.settrace(None)
    return looks


def other_model(texts):
    return np.stack([hash_embed(text, 7) for text in texts])


CHANGES = {
    "the same version under another label": lambda index: run(index, job("a", 1, 2)),
    "a later version under another label": lambda index: run(index, job("a", 3, 2)),
    "four pages of two tenants in one delivery": lambda index: index.add_many(
        [page("a", 2), page("b", 2), page("a", 2, "south"), page("fourth", 2, "south")]),
    "a tombstone": lambda index: index.tombstone_doc("a"),
    "a chunk through the low door": lambda index: index.upsert(
        chunk_id="a#leave", doc_id="a", text="handbook eighteen weeks", acl=ACLS[0], version=2),
    "another model": lambda index: index.rebuild(other_model),
}


def pages_of_two_tenants():
    index = Index(tenant="north")
    for doc_id, tenant in (("a", "north"), ("b", "north"), ("a", "south")):
        run(index, job(doc_id, 1, 0, tenant))
    return index


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_swap_that_dies_at_any_line_leaves_one_version_whole(change):
    """Whoever looks at any line of it, and whoever looks after it died there, sees the old state or the later one: on both legs,
    for all readers, in the operator's books. A retry then ends as if nothing had happened."""
    before, index = seen(pages_of_two_tenants()), pages_of_two_tenants()
    lines = lines_of(lambda: change(index))
    after = seen(index)
    assert readable(index) != before[0] and len(lines) > 20
    index = pages_of_two_tenants()
    assert looks_at(lambda: change(index), index) == [before, after], "there is one switch"
    ends = []
    for place in lines:
        index = pages_of_two_tenants()

        def look_and_die():
            assert seen(index) in (before, after), f"neither the old nor the later one at {place}"
            raise Died

        with pytest.raises(Died):
            at_line(lambda: change(index), place, look_and_die)
        end = seen(index)
        assert end in (before, after), f"neither the old nor the later one after dying at {place}"
        ends.append(end == after)
        if not ends[-1]:
            change(index)
            assert seen(index) == after
    assert not ends[0] and sum(ends) < len(ends)


@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("step", ["fetch", "tokenizer", "embedder"])
def test_a_step_that_fails_at_its_nth_call_stores_nothing(step, number):
    """The same through the doors that a user has: a source, a tokenizer and a model of one's own, of which one fails."""
    calls = dict.fromkeys(("fetch", "tokenizer", "embedder"), 0)
    armed, looks = False, []

    def counted(name, function):
        def call(*args, **options):
            if armed:
                calls[name] += 1
                looks.append(whole(index))
                if (name, calls[name]) == (step, number):
                    raise OSError("the line is down")
            return function(*args, **options)
        return call

    def whole(index):
        found = index._namespaces["north"].open(EMPLOYEE).shelves
        return sorted((chunk.chunk_id, chunk.version) for shelf in found for chunk in shelf.chunks)

    embedder, tokenizer = counted("embedder", lambda text: hash_embed(text, 8)), counted("tokenizer", tokenize)
    index = Index(tenant="north", embedder=embedder, tokenizer=tokenizer)
    run(index, job("a", 1, 0))
    before = whole(index)
    armed = True
    try:
        ingest(index, job("a", 2, 1), fetch=counted("fetch", fetch), scope=SCOPE)
    except (OSError, EmbeddingFailed):
        assert whole(index) == before
    else:
        assert calls[step] < number
    armed = False
    assert looks and all(look == before for look in looks)
    run(index, job("a", 2, 1))
    assert {version for _, version in whole(index)} == {2}


# ---- versions at the index's door: cases of area E ---------------------------------------------------------------------


def found(index, query, reader=EMPLOYEE):
    """(document, version, section) of everything that either leg finds, both legs having found the same."""
    lexical = {hit.chunk for hit in index.lexical(query, principal=reader, limit=None)}
    assert lexical == {hit.chunk for hit in index.dense(query, principal=reader, limit=None, collisions=False)}
    return sorted((chunk.doc_id, chunk.version, chunk.section) for chunk in lexical)


def test_a_shorter_version_leaves_no_tail_of_the_longer_one():
    index = Index(tenant="north")
    index.ingest("d", 1, "# One\n\ntop\n\n" + "\n\n".join(f"## Part {n}\n\nhandbook part {n}" for n in range(5)), {"employee"})
    index.ingest("d", 2, "# One\n\ntop\n\n## Part 0\n\nhandbook part 0", {"employee"})
    assert found(index, "handbook part 4 3 2") == [("d", 2, "Part 0")]
    assert [chunk.version for chunk in index._namespaces["north"].chunks_of("d")] == [2, 2]


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_the_same_delivery_in_batches_of_any_size_is_stored_once(size):
    text = "# Long\n\ntop\n\n" + "\n\n".join(f"## Part {n}\n\nhandbook part {n}" for n in range(201))
    documents = [Document("long", "north", "long", text)]
    documents += [Document(f"d{n}", "north", "d", f"# D\n\npage {n}") for n in range(201)]
    embedded = []
    index = Index(tenant="north", embedder=Counting(embedded))
    for _ in range(2):
        for first in range(0, len(documents), size):
            index.add_many(documents[first:first + size])
        assert len(index._namespaces["north"].holder) == 202 + 201
    assert len(embedded) == 202 + 201, "the second delivery embeds nothing"


class Counting:
    """The hash embedder, keeping what it was asked to embed."""

    name, dimensions, knows_meaning = "counting", 16, False

    def __init__(self, embedded):
        self.embedded = embedded

    def __call__(self, texts):
        self.embedded += texts
        return HashEmbedder(16)(texts)


def test_what_a_source_no_longer_has_is_gone_though_nothing_else_changed():
    index = Index(tenant="north")
    for version, parts in enumerate((["a", "b", "c"], ["a", "b"], []), 1):
        index.ingest("source", version, "\n\n".join(f"# {part}\n\nhandbook {part}" for part in parts), {"employee"})
        assert found(index, "handbook") == [("source", version, part) for part in parts]
    with pytest.raises(StaleVersion):  # an empty page lives: it is version 3, and version 2 is not next in line
        index.ingest("source", 2, "# a\n\nhandbook a", {"employee"})


def test_both_legs_hold_the_same_ids_and_a_file_that_lost_a_vector_is_refused(tmp_path):
    index = pages_of_two_tenants()
    run(index, job("a", 2, 1))
    assert found(index, "handbook") == [
        ("a", 2, "Leave"), ("a", 2, "Notice"), ("b", 1, "Form"), ("b", 1, "Leave"), ("b", 1, "Two blocks")]
    index.save(tmp_path / "saved")
    whole = (tmp_path / "saved").read_bytes()
    (tmp_path / "saved").write_bytes(whole[:-4 * 96])
    with pytest.raises(labsupport.SavedIndexError, match="Save it again from its source"):
        Index.load(tmp_path / "saved")


def test_one_update_reaches_both_legs_and_one_index_never_touches_another():
    one, other = pages_of_two_tenants(), pages_of_two_tenants()
    before = seen(other)
    run(one, job("a", 2, 1))
    assert ("a", 2, "Notice") in found(one, "handbook") and seen(other) == before
    run(other, job("a", 2, 1))
    assert seen(one) == seen(other)


def test_the_same_version_three_times_is_stored_once():
    index = Index(tenant="north")
    first = index.add(page("a", 1))
    before, generations = seen(index), index.open_labels(EMPLOYEE)
    assert index.add(page("a", 1)) == index.add(page("a", 1)) == first
    assert run(index, job("a", 1, 0)) == first
    assert seen(index) == before
    assert index.open_labels(EMPLOYEE) == generations, "a repeat does not even move the shelf's generation"


def test_a_version_that_arrives_late_is_refused_whatever_the_order():
    index = Index(tenant="north")
    index.ingest("d", 2, "16 weeks", {"employee"})
    with pytest.raises(StaleVersion, match="version 1 of 'd' came after version 2"):
        index.ingest("d", 1, "12 weeks", {"employee"})
    assert [hit.chunk.text for hit in index.lexical("weeks", principal=EMPLOYEE)] == ["16 weeks"]
    index.ingest("d", 10, "18 weeks", {"employee"})
    with pytest.raises(StaleVersion):  # numbers, not text: "9" would come after "10"
        index.ingest("d", 9, "17 weeks", {"employee"})
    assert [hit.chunk.text for hit in index.lexical("weeks", principal=EMPLOYEE)] == ["18 weeks"]


def test_equal_versions_with_two_texts_are_an_error_and_the_first_stays():
    index = Index(tenant="north")
    index.ingest("d", 5, "x", {"employee"})
    before = seen(index)
    with pytest.raises(RetrievalError, match="version 5 of 'd' lives with another text; another text needs a higher version"):
        index.ingest("d", 5, "y", {"employee"})
    with pytest.raises(RetrievalError, match="lives with another text"):  # white space is text
        index.ingest("d", 5, "x ", {"employee"})
    index.ingest("d", 5, "x", {"employee"})
    assert seen(index) == before


@pytest.mark.parametrize("restart", [False, True])
def test_only_a_version_above_the_floor_lives_again_and_with_its_own_text(restart):
    index = Index(tenant="north")
    index.ingest("d", 1, "old words", {"employee"})
    index.tombstone_doc("d", below_version=4)
    index = restarted(index) if restart else index
    for version in (1, 2, 3):
        with pytest.raises(StaleVersion, match="only version 4 or higher"):
            index.ingest("d", version, "old words", {"employee"})
        assert found(index, "old words") == []
    index.ingest("d", 4, "later words", {"employee"})
    assert [hit.chunk.text for hit in index.lexical("old later words", principal=EMPLOYEE)] == ["later words"]


def test_a_tombstone_for_a_page_that_was_never_stored_keeps_a_late_job_out():
    index = Index(tenant="north")
    index.tombstone_doc("a", below_version=3)
    for version in (1, 2):
        with pytest.raises(StaleVersion):
            run(index, job("a", version, 1))
    assert run(index, job("a", 3, 2))
    index.tombstone_doc("never")  # and without a version there is nothing that it could keep out
    index.ingest("never", 1, "handbook", {"employee"})
    assert ("never", 1, "body") in found(index, "handbook")


def test_a_tombstone_below_the_live_version_lets_it_live():
    index = pages_of_two_tenants()
    run(index, job("a", 2, 1))
    before = readable(index)
    for floor in (1, 2):
        index.tombstone_doc("a", below_version=floor)
        assert readable(index) == before
    index.tombstone_doc("a", below_version=3)
    assert {doc_id for doc_id, _, _ in found(index, "handbook")} == {"b"}


@pytest.mark.parametrize("below", [0, -1, True, 2.0, "2"])
def test_a_tombstone_says_what_a_version_is(below):
    with pytest.raises(ValueError, match="below_version must be a whole number from 1, or None for all"):
        pages_of_two_tenants().tombstone_doc("a", below_version=below)


def test_the_same_id_in_two_tenants_is_two_documents():
    index = pages_of_two_tenants()
    north, south = readable(index), [(hit.chunk, hit.score) for hit in index.lexical("handbook", principal=SOUTH)]
    run(index, job("a", 2, 1, "south"))
    run(index, job("a", 4, 3, "south"))
    index.tombstone_doc("a", tenant="south")
    assert {key: hits for key, hits in readable(index).items() if key[0] != "south"} == {
        key: hits for key, hits in north.items() if key[0] != "south"}
    assert not index.lexical("handbook", principal=SOUTH) and south
    index.tombstone_doc("a")  # without a tenant: the index's own
    with pytest.raises(StaleVersion):
        run(index, job("a", 1, 0, "north"))
    with pytest.raises(StaleVersion, match="only version 5"):
        run(index, job("a", 4, 3, "south"))


# ---- labels move on --------------------------------------------------------------------------------------------------


def test_a_moved_page_is_on_another_shelf_at_once_and_only_for_whom_it_is_named():
    index = Index(tenant="north")
    run(index, job("a", 1, 0))
    assert found(index, "handbook", EMPLOYEE) and not found(index, "handbook", MANAGER)
    retriever = AuthorizedRetriever(index)  # made before the move, as a session would
    run(index, job("a", 1, 1))
    assert found(index, "handbook", EMPLOYEE) == found(index, "handbook", MANAGER) != []
    run(index, job("a", 1, 2))
    assert not found(index, "handbook", EMPLOYEE) and found(index, "handbook", MANAGER)
    assert retriever.retrieve("handbook", EMPLOYEE).hits == ()
    assert index.get("a#leave", principal=EMPLOYEE) is None


def test_a_retried_old_job_may_not_widen_access_again():
    index = Index(tenant="north")
    run(index, job("a", 1, 2))
    before = seen(index)
    for tick in (0, 1):
        with pytest.raises(StaleLabel, match=f"label_tick {tick} of 'a' is below 2"):
            run(index, job("a", 1, tick))
        with pytest.raises(StaleLabel):  # not with a later text either
            run(index, job("a", 2, tick))
    run(index, job("a", 1, 2))
    assert seen(index) == before
    index.tombstone_doc("a", below_version=1)
    assert restarted(index)._namespaces["north"].documents["a"].label_tick == 2


@pytest.mark.parametrize("door", ["add", "add_many", "ingest", "upsert"])
def test_a_door_without_a_tick_never_swallows_a_narrowed_list(door):
    index = Index(tenant="north")
    index.ingest("d", 1, "handbook", {"employee"})
    index.upsert(chunk_id="low", doc_id="low", text="handbook", acl={"employee"}, version=1)
    before = seen(index)
    narrowed = Document("d", "north", "d", "handbook", acl={"manager"})
    act = {
        "add": lambda: index.add(narrowed),
        "add_many": lambda: index.add_many([narrowed]),
        "ingest": lambda: index.ingest("d", 1, "handbook", {"manager"}),
        "upsert": lambda: index.upsert(chunk_id="low", doc_id="low", text="handbook", acl={"manager"}, version=1),
    }[door]
    with pytest.raises(RetrievalError, match="lives with another label"):
        act()
    assert seen(index) == before


def test_moving_a_page_embeds_nothing_again():
    embedded = []
    index = Index(tenant="north", embedder=Counting(embedded))
    run(index, job("a", 1, 0))
    count = len(embedded)
    run(index, job("a", 1, 1))
    run(index, job("a", 1, 2))
    assert len(embedded) == count > 0


def test_an_edit_embeds_the_chunks_that_it_changed_and_no_other():
    embedded = []
    index = Index(tenant="north", embedder=Counting(embedded))
    text = "# Page\n\ntop\n\n## First\n\none\n\n## Second\n\ntwo\n\n## Third\n\nthree"
    index.ingest("d", 1, text, {"employee"})
    ids = [chunk.chunk_id for chunk in index._namespaces["north"].chunks_of("d")]
    embedded.clear()
    index.ingest("d", 2, text.replace("two", "2").replace("## First", "## Before\n\nadded\n\n## First"), {"employee"})
    assert len(embedded) == 2 and sorted(one.split()[-1] for one in embedded) == ["2", "added"]
    assert set(ids) < {chunk.chunk_id for chunk in index._namespaces["north"].chunks_of("d")}


# ---- the low door ------------------------------------------------------------------------------------------------------


def low(index, chunk_id, text, version, doc_id="leave", acl=("employee",), **more):
    return index.upsert(chunk_id=chunk_id, doc_id=doc_id, text=text, acl=acl, version=version, **more)


def test_upsert_replaces_one_id_and_leaves_its_siblings_until_the_tombstone():
    index = Index(tenant="north")
    low(index, "leave#weeks", "handbook twelve", 1)
    low(index, "leave#blocks", "handbook blocks", 1)
    low(index, "leave#weeks", "handbook sixteen", 2)
    assert found(index, "handbook") == [("leave", 1, "body"), ("leave", 2, "body")]
    index.tombstone_doc("leave", below_version=2)
    assert found(index, "handbook") == [("leave", 2, "body")]
    assert index.get("leave#blocks", principal=EMPLOYEE) is None


def test_upsert_refuses_what_is_late_another_text_another_label_and_anothers_id():
    index = Index(tenant="north")
    low(index, "x", "sixteen", 2)
    before = seen(index)
    with pytest.raises(StaleVersion):
        low(index, "x", "twelve", 1)
    with pytest.raises(StaleVersion):  # below the document's highest, though this id never lived
        low(index, "y", "twelve", 1)
    with pytest.raises(RetrievalError, match="lives with another text"):
        low(index, "x", "eighteen", 2)
    with pytest.raises(RetrievalError, match="lives with another label"):
        low(index, "x", "sixteen", 2, acl=("manager",))
    with pytest.raises(RetrievalError, match="belongs to another document"):
        low(index, "x", "sixteen", 9, doc_id="other")
    assert low(index, "x", "sixteen", 2) == low(index, "x", "sixteen", 2, updated_tick=5)
    assert seen(index) == before
    low(index, "x", "sixteen", 1, doc_id="other", tenant="south")  # the same id in another tenant is another's business
    index.tombstone_doc("leave", below_version=5)
    with pytest.raises(StaleVersion, match="only version 5"):
        low(index, "x", "sixteen", 4)


def test_upsert_after_a_page_was_added_whole_and_a_page_after_upsert():
    index = Index(tenant="north")
    index.add(page("a", 1))
    low(index, "a#extra", "handbook extra", 2, doc_id="a")
    assert {version for _, version, _ in found(index, "handbook")} == {1, 2}
    with pytest.raises(RetrievalError, match="lives with another text"):  # nobody knows what the whole of version 2 is
        index.add(page("a", 2))
    index.add(page("a", 3))
    assert {version for _, version, _ in found(index, "handbook")} == {3} and index.get("a#extra", principal=EMPLOYEE) is None


@pytest.mark.parametrize(("field", "value", "error"), [
    ("acl", (), ValueError), ("acl", "employee", TypeError), ("version", 0, ValueError), ("version", "2", ValueError),
    ("version", True, ValueError), ("text", "  \n", ValueError), ("chunk_id", " ", ValueError), ("doc_id", "", ValueError),
    ("classification", "secret", ValueError), ("updated_tick", -1, ValueError),
])
def test_upsert_says_what_is_wrong_and_stores_nothing(field, value, error):
    index = pages_of_two_tenants()
    before = seen(index)
    good = dict(chunk_id="x", doc_id="x", text="handbook", acl=("employee",), version=1)
    with pytest.raises(error):
        index.upsert(**good | {field: value})
    with pytest.raises(TypeError, match="text of 'x' must be text, got None"):
        index.upsert(**good | {"text": None})
    assert seen(index) == before


# ---- the handbook's worked example ---------------------------------------------------------------------------------------


def handbook():
    index = Index(tenant="northline")
    both = {"employee", "manager"}
    index.upsert(chunk_id="leave-1", doc_id="leave", text="Parental leave is 12 weeks for every employee.", acl=both, version=1)
    index.upsert(chunk_id="comp-1", doc_id="comp", text="Compensation band L5 starts at 180000.", acl={"manager"}, version=1)
    return index


def test_the_worked_example_to_the_letter():
    index = handbook()
    (hit,) = index.query("parental leave weeks", groups={"employee"})
    assert {"chunk_id", "doc_id", "text", "score"} <= set(hit)
    assert (hit["chunk_id"], hit["doc_id"], hit["version"]) == ("leave-1", "leave", 1) and "12 weeks" in hit["text"]
    assert hit["score"] == 2 / 61 and hit["citation"] == "leave@v1#body[0:46]"

    both = {"employee", "manager"}
    index.upsert(chunk_id="leave-2", doc_id="leave", text="Parental leave is 16 weeks for every employee.", acl=both, version=2)
    live = [hit["chunk_id"] for hit in index.query("parental leave weeks", groups={"employee"})]
    assert live == ["leave-1", "leave-2"], "a tie stands by id"
    index.tombstone_doc("leave", below_version=2)
    (hit,) = index.query("parental leave weeks", groups={"employee"})
    assert hit["chunk_id"] == "leave-2" and "16 weeks" in hit["text"]
    with pytest.raises(StaleVersion):
        index.upsert(chunk_id="leave-1", doc_id="leave", text="Parental leave is 12 weeks for every employee.", acl=both, version=1)

    assert index.query("compensation band", groups={"employee"}) == []
    assert [hit["chunk_id"] for hit in index.query("compensation band", groups={"employee", "manager"})] == ["comp-1"]
    assert [hit["chunk_id"] for hit in index.query("compensation band", groups=["manager"], k=1)] == ["comp-1"]


def test_groups_are_given_by_name_and_an_acl_that_names_nobody_is_refused():
    index = handbook()
    with pytest.raises(TypeError):
        index.query("parental leave", ["employee"])
    with pytest.raises(TypeError):
        index.query("parental leave")
    with pytest.raises(TypeError, match="groups must be a collection of names"):
        index.query("parental leave", groups="employee")
    assert index.query("parental leave", groups=()) == []
    with pytest.raises(ValueError, match="acl must name at least one group"):
        index.upsert(chunk_id="x", doc_id="x", text="parental leave", acl=set(), version=1)
    assert len(index._namespaces["northline"].holder) == 2
    index.upsert(chunk_id="all", doc_id="all", text="parental leave", acl={EVERYONE}, version=1)
    assert [hit["chunk_id"] for hit in index.query("parental leave", groups=())] == ["all"]


def test_equal_scores_stand_by_id_whatever_came_first():
    orders = set()
    for seed in range(6):
        index = Index(tenant="northline")
        ids = [f"page-{n}" for n in range(12)]
        random.Random(seed).shuffle(ids)
        for chunk_id in ids:
            index.upsert(chunk_id=chunk_id, doc_id=chunk_id, text="parental leave", acl={"employee"}, version=1)
        orders.add(tuple(hit["chunk_id"] for hit in index.query("parental leave", groups={"employee"}, k=12)))
    assert orders == {tuple(sorted(f"page-{n}" for n in range(12)))}


# ---- another model -----------------------------------------------------------------------------------------------------


class Model(HashEmbedder):
    def __init__(self, name, dimensions=64):
        super().__init__(dimensions)
        self.name = name


def test_vectors_of_two_models_never_mix_though_their_size_is_the_same(tmp_path):
    index = Index(tenant="north", embedder=Model("hash-v1"))
    index.add(page("a", 1))
    index.save(tmp_path / "saved")
    before = readable(index)
    for other in (Model("hash-v2"), Model("hash-v1", 32)):
        with pytest.raises(EmbeddingMismatch, match="hash-v1"):
            Index.load(tmp_path / "saved", embedder=other)
        mixed = Index.load(tmp_path / "saved", embedder=Model("hash-v1"))
        mixed.embedder = other
        for act in (lambda: mixed.add(page("b", 1)), lambda: mixed.dense("handbook", principal=EMPLOYEE),  # noqa: B023
                    lambda: low(mixed, "x", "handbook", 1), lambda: AuthorizedRetriever(mixed).retrieve("handbook", EMPLOYEE)):  # noqa: B023
            with pytest.raises(EmbeddingMismatch, match=r"rebuild\(embedder\)"):
                act()
        assert len(mixed._namespaces["north"].holder) == 3
        mixed.rebuild(other)
        mixed.add(page("b", 1))
        assert len(found(mixed, "handbook")) == 6
    assert readable(index) == before


def test_an_edit_never_rebuilds_and_a_rebuild_keeps_floors_and_ticks():
    index = pages_of_two_tenants()
    run(index, job("a", 1, 2))
    index.tombstone_doc("b")
    books = seen(index)[1]
    index.rebuild(other_model)
    assert seen(index)[1] == books and books["north", "b"] == DocumentState(floor=2)
    for late, error in ((job("a", 1, 1), StaleLabel), (job("b", 1, 0), StaleVersion)):
        with pytest.raises(error):
            run(index, late)


def test_a_failed_embedding_leaves_no_old_vector_under_a_later_text():
    class Failing(Model):
        fails = False

        def __call__(self, texts):
            if self.fails:
                raise ConnectionError("no model")
            return super().__call__(texts)

    index = Index(tenant="north", embedder=Failing("remote"), tokenizer=lambda text: tokenize(text))
    index.ingest("d", 1, "handbook twelve", {"employee"})
    before = readable(index)
    index.embedder.fails = True
    with pytest.raises(EmbeddingFailed, match="'remote' failed: ConnectionError"):
        index.ingest("d", 2, "handbook sixteen", {"employee"})
    index.ingest("d", 1, "handbook twelve", {"employee"})  # a repeat needs no model
    index.embedder.fails = False
    assert readable(index) == before
    index.ingest("d", 2, "handbook sixteen", {"employee"})
    (hit,) = index.dense("handbook sixteen", principal=EMPLOYEE)
    assert hit.chunk.version == 2 and hit.score == pytest.approx(1.0)


def test_other_chunks_of_the_same_text_need_a_higher_version():
    document = Document("d", "north", "d", "# Long\n\n" + " ".join(f"handbook-{n}" for n in range(200)))
    index = Index(tenant="north")
    index.add_many(chunk_document(document, max_tokens=48))
    few = len(index._namespaces["north"].holder)
    with pytest.raises(RetrievalError, match="lives with another text; another text needs a higher version"):
        index.add_many(chunk_document(document, max_tokens=96))
    assert len(index._namespaces["north"].holder) == few
    again = Document("d", "north", "d", document.text, version=2)
    index.add_many(chunk_document(again, max_tokens=96))
    assert 1 < len(index._namespaces["north"].holder) < few
    assert {chunk.version for chunk in index._namespaces["north"].chunks_of("d")} == {2}


# ---- age: a contract, and no way to tell which version is right ----------------------------------------------------------


ticks = st.lists(st.integers(0, 20), min_size=1, max_size=8)


@settings(max_examples=60)
@given(ticks, st.integers(0, 25), st.integers(0, 25), st.sampled_from(["handbook", "handbook d0", "???", "unseen"]))
def test_too_old_is_no_candidate_and_the_count_does_not_depend_on_the_question(updated, now, most, query):
    index = Index(tenant="north")
    index.add_many(
        Document(f"d{n}", "north", "d", f"handbook d{n}", acl=ACLS[n % 2], updated_tick=tick) for n, tick in enumerate(updated))
    index.add(Document("closed", "north", "d", "handbook", acl=["manager"], updated_tick=0))
    retriever = AuthorizedRetriever(index)
    result = retriever.retrieve(query, EMPLOYEE, now_tick=now, policy=RetrievalPolicy(max_stale_ticks=most, result_limit=20))
    age = {f"d{n}": max(0, now - tick) for n, tick in enumerate(updated)}
    assert all(age[hit.chunk.doc_id] <= most for hit in result.hits)
    assert result.excluded_by_freshness == sum(one > most for one in age.values())
    free = {hit.chunk_id: hit.score for hit in index.lexical(query, principal=EMPLOYEE, limit=None)}
    kept = {hit.chunk_id: hit.score for hit in index.lexical(query, principal=EMPLOYEE, limit=None, stale_before=now - most)}
    assert kept == {chunk_id: score for chunk_id, score in free.items() if age[chunk_id.split("#")[0].split("@")[0]] <= most}
    if query == "handbook":
        assert {hit.chunk.doc_id for hit in result.hits} == {doc_id for doc_id, one in age.items() if one <= most}
        assert sorted(hit.lexical_rank for hit in result.hits) == list(range(1, len(result.hits) + 1))


def test_without_a_contract_nothing_is_too_old_and_a_dead_page_is_not_counted():
    index = Index(tenant="north")
    for version in (1, 2):
        index.add(page("a", version))
    policy = RetrievalPolicy(max_stale_ticks=0)
    assert AuthorizedRetriever(index).retrieve("handbook", EMPLOYEE, now_tick=9).excluded_by_freshness == 0
    assert AuthorizedRetriever(index).retrieve("handbook", EMPLOYEE, now_tick=9, policy=policy).excluded_by_freshness == 2
    index.tombstone_doc("a")
    assert AuthorizedRetriever(index).retrieve("handbook", EMPLOYEE, now_tick=9, policy=policy).excluded_by_freshness == 0


def test_time_is_a_number_that_is_passed_in_and_never_negative():
    for tick in (-1, True, 1.5, "1"):
        with pytest.raises(ValueError, match="updated_tick"):
            Document("d", "north", "d", "x", updated_tick=tick)
        with pytest.raises(ValueError, match="updated_tick"):
            labsupport.IngestJob("d", 1, "x", ["employee"], updated_tick=tick)
    index = Index(tenant="north")
    for number, tick in enumerate((10, 9, 8)):  # clocks that go back are no business of an index
        index.add(Document(f"d{number}", "north", "d", "handbook", acl=["employee"], updated_tick=tick))
    policy = RetrievalPolicy(max_stale_ticks=0)
    result = AuthorizedRetriever(index).retrieve("handbook", EMPLOYEE, now_tick=5, policy=policy)
    assert len(result.hits) == 3 and result.excluded_by_freshness == 0, "an age is never negative"
    assert {chunk.updated_tick for chunk in index.add(Document("two", "north", "d", "# A\n\na\n\n# B\n\nb", updated_tick=7))} == {7}
    clocks = ("import time", "import datetime", "from datetime", "from time", "perf_counter")
    rooms = sorted(PACKAGE.glob("*.py"))
    assert len(rooms) > 20 and not [room.name for room in rooms if any(clock in room.read_text("utf-8") for clock in clocks)]


# ---- the wrong designs ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def northline():
    return load_world("northline")


def versions_of_leave(design, query, reader, **policy):
    hits = design.retrieve(query, reader, policy=RetrievalPolicy(**policy)).hits
    return [hit.chunk.version for hit in hits if hit.chunk.doc_id == "leave"]


def test_append_only_keeps_every_version_and_still_asks_who_reads(northline):
    design = AppendOnly.of(northline.history)
    eli, mo = northline.principals["eli"], northline.principals["mo"]
    assert {*versions_of_leave(design, "How many weeks of parental leave after a birth?", eli)} == {1, 2}
    assert versions_of_leave(design, "How many weeks of parental leave after a birth?", eli)[0] == 1
    assert all(labsupport.can_read(eli, hit.chunk.label) for hit in design.retrieve("compensation band L5", eli).hits)
    assert design.retrieve("compensation band L5", mo).hits[0].chunk.doc_id == "comp"
    stored = {chunk_id for namespace in design._namespaces.values() for chunk_id in namespace.holder}
    assert len(stored) == len(northline.chunks)


def test_append_only_takes_a_late_version_for_one_more_and_a_repeat_for_none(northline):
    one, two = (page for page in northline.history if page.doc_id == "leave")
    late, early = AppendOnly.of([two, one]), AppendOnly.of([one, two, one, two])
    late.add(one)
    assert seen_by(late, northline) == seen_by(early, northline) and len(seen_by(late, northline)) == 5


def seen_by(design, world):
    return [(hit.chunk, hit.score) for hit in design.lexical("parental leave", principal=world.principals["eli"], limit=None)]


def test_a_bonus_multiplies_the_newest_versions_score_and_nothing_else(northline):
    eli, query = northline.principals["eli"], "parental leave"
    plain, doubled = (
        {hit.chunk_id: hit for hit in design.retrieve(query, eli, policy=RetrievalPolicy(result_limit=12)).hits}
        for design in (AppendOnly.of(northline.history), NewestBoost.of(northline.history)))
    assert plain.keys() == doubled.keys()
    newest = {page.doc_id: page.version for page in northline.documents}
    factors = {
        (hit.chunk.version == newest[hit.chunk.doc_id], doubled[chunk_id].score / hit.score) for chunk_id, hit in plain.items()}
    assert factors == {(True, 2.0), (False, 1.0)}


def test_no_bonus_finds_what_the_newest_version_no_longer_says(northline):
    eli, query = northline.principals["eli"], "Can I split parental leave in two blocks?"
    assert versions_of_leave(NewestBoost.of(northline.history), query, eli)[0] == 1
    tripled = versions_of_leave(NewestBoost.of(northline.history, factor=3), query, eli)
    assert tripled[0] == 2 and 1 in tripled, "hidden from the first place, and still in the same prompt"
    assert set(versions_of_leave(northline.retriever, query, eli)) == {2}


def test_each_wrong_design_has_the_sentence_that_sounds_reasonable():
    for design in (AppendOnly, NewestBoost):
        assert design.sentence.endswith(".") and design.__doc__ and design.sentence not in (Index.__doc__, "")
