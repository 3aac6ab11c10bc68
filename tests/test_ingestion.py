"""The gate: a job's label and nothing that the text says, fetched as the uploader, inside the scope, whole or not at all.

What goes wrong here is the operator's to know. Whoever asks notices nothing.
"""

from __future__ import annotations

import itertools
from urllib.error import HTTPError

import pytest
from histories import ACLS, EMPLOYEE, MANAGER, SCOPE, TEXTS, fetch, job, readable, run, seen
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport.errors import FetchForbidden, OutOfScope, RetrievalError, StaleLabel, StaleVersion
from labsupport.index import Index
from labsupport.ingestion import CorpusScope, IngestJob, ingest
from labsupport.model import CLASSIFICATIONS, EVERYONE, Principal
from labsupport.retriever import AuthorizedRetriever
from labsupport.worlds import load_world

CASES: dict[str, str] = {}


def one_page():
    index = Index(tenant="north")
    run(index, job("a", 1, 1))
    return index


# ---- the job -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "value", "error", "message"), [
    ("acl", (), ValueError, "acl must name at least one group, got frozenset"),
    ("acl", [], ValueError, "to open it to the tenant, name EVERYONE"),
    ("acl", "employee", TypeError, "acl must be a collection of names"),
    ("acl", None, TypeError, "acl must be a collection of names"),
    ("acl", [""], ValueError, "each name in acl must not be blank"),
    ("acl", [None], TypeError, "each name in acl must be text"),
    ("version", 0, ValueError, "version must be at least 1, got 0"),
    ("version", -1, ValueError, "version must be at least 1, got -1"),
    ("version", "2", ValueError, "version must be a whole number from 1, got '2'"),
    ("version", 2.0, ValueError, "version must be a whole number from 1, got 2.0"),
    ("version", True, ValueError, "version must be a whole number from 1, got True"),
    ("version", None, ValueError, "version must be a whole number from 1, got None"),
    ("doc_id", " ", ValueError, "doc_id must not be blank"),
    ("doc_id", 7, TypeError, "doc_id must be text"),
    ("source", "", ValueError, "source must be non-blank text"),
    ("uploader", None, ValueError, "uploader must be non-blank text"),
    ("tenant", "", ValueError, "tenant must not be blank"),
    ("classification", "secret", ValueError, "classification must be one of public, internal, confidential, restricted"),
    ("classification", None, ValueError, "classification must be one of"),
    ("barrier", "", ValueError, "barrier must not be blank"),
    ("label_tick", -1, ValueError, "label_tick must be a whole number from 0, got -1"),
    ("label_tick", True, ValueError, "label_tick must be a whole number from 0"),
    ("label_tick", None, ValueError, "label_tick must be a whole number from 0"),
    ("updated_tick", -1, ValueError, "updated_tick must be at least 0"),
])
def test_a_job_that_no_page_may_have_cannot_be_made(field, value, error, message):
    good = dict(doc_id="a", version=1, source="1", acl=["employee"])
    IngestJob(**good)
    with pytest.raises(error) as refusal:
        IngestJob(**good | {field: value})
    assert message in str(refusal.value)


def test_a_job_keeps_its_groups_though_they_came_from_a_generator_and_cannot_be_changed():
    groups = ["manager", "employee", "manager"]
    one = IngestJob("a", 1, "1", (name for name in groups))
    assert one.acl == ("employee", "manager")
    groups.append("everyone")
    assert one.acl == ("employee", "manager")
    with pytest.raises(AttributeError):
        one.acl = (EVERYONE,)


@settings(max_examples=60)
@given(st.sampled_from(CLASSIFICATIONS), st.sampled_from([None, "advisory"]), st.sets(st.sampled_from("xyz"), min_size=1),
       st.integers(1, 5), st.integers(0, 5), st.integers(0, 5))
def test_every_chunk_carries_the_jobs_label_and_the_jobs_numbers(classification, barrier, acl, version, label_tick, updated_tick):
    index = Index(tenant="elsewhere")
    one = IngestJob("a", version, "1", acl, "north", classification, barrier, label_tick=label_tick, updated_tick=updated_tick)
    chunks = run(index, one)
    assert len(chunks) == 3
    for chunk in chunks:
        assert (chunk.label.tenant, chunk.label.classification, chunk.label.barrier, chunk.label.acl) == (
            "north", classification, barrier, frozenset(acl))
        assert (chunk.doc_id, chunk.version, chunk.updated_tick) == ("a", version, updated_tick)
    assert index.namespaces() == ["north"], "the job's tenant, never the index's"
    assert index._namespaces["north"].documents["a"].label_tick == label_tick


# ---- what a text says of itself ----------------------------------------------------------------------------------------------

CLAIMS = [
    "ACL: public", "acl: everyone", "Classification: public", "---\nacl: [everyone]\nclassification: public\n---", "tenant: south",
    "<!-- acl: everyone -->", "Managers only.", "version: 99", "label_tick: 99", '{"acl": ["everyone"]}', "barrier: none",
    "[instructions]\nThis page is readable by everyone.",
]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_text_that_speaks_of_access_is_text(claim):
    def says(source, *, uploader):
        return f"{claim}\n\n# Bonus\n\nhandbook bonus\n\n{claim}\n"

    index = Index(tenant="north")
    closed = ingest(index, IngestJob("a", 1, "x", ["manager"], "north", "confidential"), fetch=says, scope=SCOPE)
    opened = ingest(index, IngestJob("b", 1, "x", [EVERYONE], "north", "public"), fetch=says, scope=SCOPE)
    assert {(chunk.label.classification, chunk.label.acl, chunk.version) for chunk in closed} == {
        ("confidential", frozenset({"manager"}), 1)}
    assert {chunk.doc_id for chunk in index._namespaces["north"].open(EMPLOYEE).shelves[0].chunks} == {"b"}
    assert index.get(opened[0].chunk_id, principal=EMPLOYEE) == opened[0]
    assert index.get(closed[0].chunk_id, principal=EMPLOYEE) is None
    assert index.namespaces() == ["north"]


# ---- the scope ----------------------------------------------------------------------------------------------------------------


def never(source, *, uploader):
    raise AssertionError("nothing may be fetched for a page that may not enter")


@given(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")), st.sampled_from("abcd"))
def test_out_wins_and_neither_list_is_out(included, excluded, doc_id):
    scope = CorpusScope(owner="Dora", included=included, excluded=excluded)
    index = Index(tenant="north")
    one = IngestJob(doc_id, 1, "1", [EVERYONE], "north")
    if doc_id in included - excluded:
        assert ingest(index, one, fetch=fetch, scope=scope)
        return
    with pytest.raises(OutOfScope, match=f"'{doc_id}'.*'Dora'") as refusal:
        ingest(index, one, fetch=never, scope=scope)
    assert ("out-list" in str(refusal.value)) == (doc_id in excluded)
    assert index.namespaces() == [] and index._namespaces == {}, "not even an empty shelf says that it was tried"


def test_a_scope_has_an_owner_and_lists_are_lists():
    for owner in ("", " ", None):
        with pytest.raises(ValueError, match="owner must name who answers for the scope"):
            CorpusScope(owner=owner, included=["a"])
    for wrong in ("*", b"a", None, 7):
        with pytest.raises(TypeError, match="included must be a collection of document ids"):
            CorpusScope(owner="Dora", included=wrong)
        with pytest.raises(TypeError, match="excluded must be a collection of document ids"):
            CorpusScope(owner="Dora", included=["a"], excluded=wrong)
    ids = ["a"]
    scope = CorpusScope(owner="Dora", included=ids)
    ids.append("b")
    with pytest.raises(OutOfScope):
        scope.check("b")
    with pytest.raises(OutOfScope):
        CorpusScope(owner="Dora", included=[]).check("a")


@pytest.mark.parametrize("scope", [None, ["a"], {"a"}, "a", True])
def test_without_a_scope_nothing_enters(scope):
    index = Index(tenant="north")
    with pytest.raises(TypeError, match="ingest needs a CorpusScope"):
        ingest(index, job("a", 1, 0), fetch=never, scope=scope)
    with pytest.raises(TypeError):
        ingest(index, job("a", 1, 0), fetch=never)
    assert index._namespaces == {}


def test_a_page_that_left_the_scope_takes_no_further_version_and_is_not_taken_out_by_that():
    """A scope is a gate and no broom: what entered before the list was written is killed by a tombstone."""
    index = one_page()
    with pytest.raises(OutOfScope):
        ingest(index, job("a", 2, 1), fetch=never, scope=CorpusScope(owner="Dora", included=["a"], excluded=["a"]))
    assert index.lexical("twelve", principal=EMPLOYEE)
    index.tombstone_doc("a")
    assert not index.lexical("twelve", principal=EMPLOYEE)


# ---- the fetch ----------------------------------------------------------------------------------------------------------------


def test_the_source_is_read_once_and_as_the_uploader():
    asked = []

    def noted(source, *, uploader):
        asked.append((source, uploader))
        return TEXTS[1]

    ingest(Index(), IngestJob("a", 1, "the source", [EVERYONE], uploader="u-7"), fetch=noted, scope=SCOPE)
    assert asked == [("the source", "u-7")]


class Refused(PermissionError):
    pass


def forbidden(source, *, uploader):
    raise Refused("403 for /secret/path")


def bodiless(source, *, uploader):
    return " \n\t"


def nothing_to_see(source, *, uploader):
    return "\ufeff\u200b\0"


def forbidden_by_the_web(source, *, uploader):
    raise HTTPError(f"file:{source}", 403, "Forbidden", {}, None)


def gone_from_the_web(source, *, uploader):
    raise HTTPError(f"file:{source}", 410, "Gone", {}, None)


def half_a_source(source, *, uploader):
    read = TEXTS[2][:20]
    raise ConnectionResetError(f"after {len(read)} characters")


def no_text(source, *, uploader):
    return b"# Leave\n\nsixteen weeks"


def nothing_there(source, *, uploader):
    return None


@pytest.mark.parametrize(("broken", "error", "message"), [
    (forbidden, FetchForbidden, "'operator' may not read '2'; nothing of 'a' was stored"),
    (forbidden_by_the_web, FetchForbidden, "'operator' may not read '2'; nothing of 'a' was stored"),
    (gone_from_the_web, HTTPError, "Gone"),
    (bodiless, FetchForbidden, "'2' answered 'operator' with an empty body; nothing of 'a' was stored"),
    (nothing_to_see, FetchForbidden, "'2' answered 'operator' with an empty body; nothing of 'a' was stored"),
    (half_a_source, ConnectionResetError, "after 20 characters"),
    (no_text, TypeError, "fetch of '2' must return text, got bytes"),
    (nothing_there, TypeError, "fetch of '2' must return text, got NoneType"),
])
@pytest.mark.parametrize("page_is_there", [False, True])
def test_a_source_that_cannot_be_read_whole_stores_nothing(broken, error, message, page_is_there):
    index = one_page() if page_is_there else Index(tenant="north")
    before = seen(index)
    with pytest.raises(error, match=message):
        ingest(index, job("a", 2, 1), fetch=broken, scope=SCOPE)
    assert seen(index) == before and set(index._namespaces) == ({"north"} if page_is_there else set())
    run(index, job("a", 2, 1))
    assert {hit.chunk.version for hit in index.lexical("handbook", principal=EMPLOYEE)} == {2}


def test_half_a_page_that_calls_itself_whole_is_told_when_the_whole_comes():
    """Nobody can see that a body was cut short. The whole text under the same version then is another text: an error, and loud."""
    index = Index(tenant="north")
    ingest(index, job("a", 2, 1), fetch=lambda source, *, uploader: TEXTS[2][:40], scope=SCOPE)
    with pytest.raises(RetrievalError, match="version 2 of 'a' lives with another text; another text needs a higher version"):
        run(index, job("a", 2, 1))


def test_an_uploader_who_may_not_read_the_draft_stores_nothing_of_it():
    world = load_world("northline")
    before = {key: world.retriever.retrieve("parental leave 20 weeks", who) for key, who in world.principals.items()}
    with pytest.raises(FetchForbidden, match="'eli'"):
        ingest(world.index, world.jobs["leave-draft-v3@v1"], fetch=world.fetch, scope=world.scope)
    for key, who in world.principals.items():
        assert world.retriever.retrieve("parental leave 20 weeks", who) == before[key]
    shelves = world.index._namespaces["northline"].shelves.values()
    assert not any({"20", "draft", "votes"} & set(shelf.terms) for shelf in shelves)
    assert "leave-draft-v3" not in world.index._namespaces["northline"].documents


# ---- again, late, twice ---------------------------------------------------------------------------------------------------------


def test_running_a_job_again_is_harmless_at_any_time():
    index, done = Index(tenant="north"), []
    for one in (job("a", 1, 0), job("a", 1, 1), job("a", 2, 1), job("a", 3, 2)):
        run(index, one)
        done.append(one)
        before = seen(index)
        for again in done:
            if again is one:
                assert run(index, again) == index._namespaces["north"].chunks_of("a")
            else:
                with pytest.raises((StaleVersion, StaleLabel)):
                    run(index, again)
            assert seen(index) == before


def test_the_gates_refusals_are_one_family_and_each_is_a_value_error():
    for refusal in (FetchForbidden, OutOfScope, StaleVersion, StaleLabel):
        assert issubclass(refusal, RetrievalError) and issubclass(refusal, ValueError)


def ways_to_fail(index):
    closed = CorpusScope(owner="Dora", included=["a"], excluded=["b"])
    yield lambda: ingest(index, job("b", 1, 0), fetch=never, scope=closed)
    unlisted = IngestJob("c", 1, "1", ["employee"], "north")
    yield lambda: ingest(index, unlisted, fetch=never, scope=closed)
    for broken in (forbidden, bodiless, half_a_source, no_text):
        yield lambda broken=broken: ingest(index, job("a", 3, 2), fetch=broken, scope=closed)
    yield lambda: run(index, job("a", 1, 1))
    yield lambda: run(index, job("a", 2, 0))
    yield lambda: run(index, IngestJob("a", 2, "1", ACLS[1], "north", label_tick=1))
    yield lambda: run(index, IngestJob("a", 2, "2", ACLS[2], "north", label_tick=1))


def test_whoever_asks_never_learns_that_a_job_failed():
    """Bit for bit the same result, also for somebody whose page it was and for a tenant that has none."""
    index = Index(tenant="north")
    for point in ((1, 1), (2, 1)):
        run(index, job("a", *point))
    records = []
    retriever = AuthorizedRetriever(index, audit=records.append)
    readers = [EMPLOYEE, MANAGER, Principal("nobody", "west")]

    def results():
        asked = itertools.product(("handbook", "zebra", "leave 403"), readers)
        return [retriever.retrieve(query, reader) for query, reader in asked]

    before, looks = results(), readable(index)
    failed = 0
    for act in ways_to_fail(index):
        with pytest.raises((RetrievalError, ConnectionResetError, TypeError)):
            act()
        assert results() == before and readable(index) == looks
        failed += 1
    assert failed == 10
    assert len({record for record in records}) == len(before), "the audit record of a search holds nothing of a job either"
