"""Which version lives: the decision by a table and by properties, and an index that forgets in which order it was told.

The machine at the end throws versions, label ticks, tombstones, batches and restarts at one index, in any order, beside a
dictionary that knows only *which* of them there were.
"""

from __future__ import annotations

import itertools

import pytest
from histories import ACLS, EMPLOYEE, HISTORY, TEXTS, job, page, restarted, run, seen
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from labsupport.chunking import chunk_document
from labsupport.errors import RetrievalError, StaleLabel, StaleVersion
from labsupport.index import Index
from labsupport.model import EVERYONE, AccessLabel, Chunk, Document, Principal
from labsupport.versions import Decision, DocumentState, bury, decide

CASES: dict[str, str] = {}

OPEN = AccessLabel("north", "internal", None, frozenset({"employee"}))
NARROW = AccessLabel("north", "internal", None, frozenset({"manager"}))
NOTHING_YET = DocumentState()
LIVE_3 = DocumentState(highest=3, digest="three", label=OPEN, label_tick=5)
DEAD_3 = DocumentState(floor=4)


# ---- the decision ----------------------------------------------------------------------------------------------------

TABLE = [
    # what is known, version, text, label, tick -> what happens
    (NOTHING_YET, 1, "one", OPEN, None, Decision.STORE),
    (NOTHING_YET, 7, "seven", OPEN, 0, Decision.STORE),
    (LIVE_3, 4, "four", OPEN, 5, Decision.STORE),
    (LIVE_3, 4, "three", OPEN, 5, Decision.STORE),  # the old text again is a new version all the same
    (LIVE_3, 4, "four", NARROW, 6, Decision.STORE),
    (LIVE_3, 4, "four", NARROW, None, Decision.STORE),
    (LIVE_3, 4, "four", OPEN, 4, StaleLabel),
    (LIVE_3, 3, "three", OPEN, 5, Decision.NOTHING),
    (LIVE_3, 3, "three", OPEN, None, Decision.NOTHING),
    (LIVE_3, 3, "three", NARROW, 6, Decision.RELABEL),
    (LIVE_3, 3, "three", OPEN, 6, Decision.RELABEL),
    (LIVE_3, 3, "three", NARROW, 4, StaleLabel),
    (LIVE_3, 3, "three", OPEN, 0, StaleLabel),
    (LIVE_3, 3, "three", NARROW, 5, RetrievalError),  # one tick, two labels
    (LIVE_3, 3, "three", NARROW, None, RetrievalError),  # a narrowed list is never swallowed as a no-op
    (LIVE_3, 3, "other", OPEN, 5, RetrievalError),  # one version, two texts
    (LIVE_3, 3, "other", NARROW, 6, RetrievalError),
    (LIVE_3, 2, "two", OPEN, 9, StaleVersion),
    (DEAD_3, 3, "three", OPEN, 9, StaleVersion),
    (DEAD_3, 4, "four", OPEN, 0, Decision.STORE),
]


@pytest.mark.parametrize(("state", "version", "digest", "label", "tick", "outcome"), TABLE)
def test_what_is_known_and_what_is_offered_decide(state, version, digest, label, tick, outcome):
    def asked():
        return decide("leave", state, version=version, digest=digest, label=label, label_tick=tick)

    if isinstance(outcome, Decision):
        assert asked() is outcome
    else:
        with pytest.raises(outcome, match="leave") as refusal:
            asked()
        assert type(refusal.value) is outcome and str(version if outcome is not StaleLabel else tick) in str(refusal.value)


def test_a_refusal_names_both_versions_or_both_ticks():
    with pytest.raises(StaleVersion, match=r"version 9 of 'leave' came after version 10, which lives"):
        decide("leave", DocumentState(highest=10, digest="x", label=OPEN), version=9, digest="y", label=OPEN, label_tick=0)
    with pytest.raises(StaleVersion, match=r"version 3 of 'leave' is dead: a tombstone lets only version 4 or higher live"):
        decide("leave", DEAD_3, version=3, digest="y", label=OPEN, label_tick=0)
    with pytest.raises(StaleLabel, match=r"label_tick 4 of 'leave' is below 5, which is in force"):
        decide("leave", LIVE_3, version=3, digest="three", label=OPEN, label_tick=4)


states = st.builds(
    DocumentState, highest=st.integers(0, 9), floor=st.integers(0, 9), digest=st.sampled_from([None, "x", "y"]),
    label=st.sampled_from([None, OPEN, NARROW]), label_tick=st.integers(0, 4),
)
offers = st.fixed_dictionaries({
    "version": st.integers(1, 9), "digest": st.sampled_from(["x", "y"]), "label": st.sampled_from([OPEN, NARROW]),
    "label_tick": st.one_of(st.none(), st.integers(0, 4)),
})


@given(states, offers)
def test_what_is_let_in_never_lowers_a_version_or_a_tick_nor_goes_below_a_floor(state, offer):
    try:
        decision = decide("leave", state, **offer)
    except RetrievalError:
        return
    assert offer["version"] >= state.floor
    if state.lives:
        assert offer["version"] >= state.highest
        assert offer["label_tick"] is None or offer["label_tick"] >= state.label_tick
        assert decision is not Decision.NOTHING or (offer["digest"], offer["label"]) == (state.digest, state.label)
        assert decision is Decision.STORE or offer["version"] == state.highest


@given(st.integers(0, 9), st.lists(st.integers(1, 12), max_size=4))
def test_tombstones_with_a_version_commute_and_a_floor_never_falls(highest, floors):
    ends = {bury_all(highest, order) for order in itertools.permutations(floors)}
    assert ends == {max([0, *floors])}


def bury_all(highest, floors):
    state = DocumentState(highest=highest, digest="x")
    for floor in floors:
        lower = state.floor
        state = bury(state, floor)
        assert state.floor >= lower
    return state.floor


@given(st.integers(0, 9), st.integers(0, 12))
def test_a_tombstone_for_all_lets_nothing_live_that_was_ever_stored(highest, floor):
    assert bury(DocumentState(highest=highest, floor=floor), None).floor > highest


# ---- one history, any order ------------------------------------------------------------------------------------------

def told(index, operation):
    """Tell an index one thing. A refusal is an answer and changes nothing."""
    before = seen(index)
    try:
        kind, *what = operation
        if kind == "job":
            run(index, job(*what))
        elif kind == "tombstone":
            doc_id, floor = what
            index.tombstone_doc(doc_id, below_version=floor, tenant="north")
        else:
            index.add_many([page(*each) for each in what])
    except RetrievalError:
        if operation[0] != "add_many":  # of a batch, the others are stored
            assert seen(index) == before
    return index


OPERATIONS = st.one_of(
    st.tuples(st.just("job"), st.just("a"), st.sampled_from(HISTORY)).map(lambda one: (one[0], one[1], *one[2])),
    st.tuples(st.just("add"), st.tuples(st.just("b"), st.sampled_from(sorted(TEXTS)))),
    st.tuples(st.just("tombstone"), st.sampled_from(["a", "b"]), st.integers(1, 5)),
)


@settings(max_examples=40)
@given(st.lists(OPERATIONS, min_size=2, max_size=9, unique=True), st.data())
def test_the_end_depends_on_the_set_of_operations_and_on_nothing_else(operations, data):
    ends = []
    for _ in range(2):
        order = data.draw(st.permutations(operations))
        repeats = data.draw(st.lists(st.sampled_from(operations), max_size=3))
        index = Index(tenant="north")
        for operation in [*order, *repeats]:
            told(index, operation)
            if data.draw(st.integers(0, 7)) == 0:
                index = restarted(index)
        ends.append(seen(index))
    assert ends[0] == ends[1]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(sorted(TEXTS))), min_size=2, max_size=8), st.data())
def test_how_a_delivery_is_cut_into_batches_does_not_matter(pages, data):
    whole = told(Index(tenant="north"), ("add_many", *pages))
    parts, rest = Index(tenant="north"), list(pages)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        told(parts, ("add_many", *rest[:size]))
        rest = rest[size:]
    assert seen(whole) == seen(parts)


def loose(chunk_id, doc_id, version):
    text = f"handbook {doc_id} {version}"
    return Chunk(chunk_id, doc_id, version, text, (), 0, len(text), OPEN, 0)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("ab"), st.integers(1, 3)), min_size=1, max_size=6,
                unique_by=(lambda one: one[1:])))
def test_an_id_that_a_delivery_frees_can_be_given_again_within_it(chunks):
    """One chunk for each (document, version), cut elsewhere: in one batch or one by one, the ids end with the same documents."""
    together, singly = Index(tenant="north"), Index(tenant="north")
    try:
        together.add_many(loose(*each) for each in chunks)
    except RetrievalError:
        pass
    for each in chunks:
        try:
            singly.add_many([loose(*each)])
        except RetrievalError:
            pass
    assert seen(together) == seen(singly)


def test_chunks_cut_elsewhere_are_one_version_in_whatever_order_they_come():
    index = Index(tenant="north")
    pieces = [loose("x", "a", 1), loose("y", "a", 1), loose("z", "a", 1)]
    index.add_many(pieces)
    before = seen(index)
    for order in itertools.permutations(pieces):
        index.add_many(order)  # a repeat, and no other text
        assert seen(index) == before
    with pytest.raises(RetrievalError, match="lives with another text"):
        index.add_many(pieces[:2])


# ---- the machine -----------------------------------------------------------------------------------------------------

ANYBODY = {tenant: Principal("all", tenant, groups=["employee", "manager"]) for tenant in ("north", "south")}
PAGES = [("north", "a"), ("north", "b"), ("south", "a")]


class OneIndexAndADictionary(RuleBasedStateMachine):
    """`offered` and `floors` are sets and a maximum: they cannot know an order. From them follows what must live."""

    @initialize()
    def nothing(self):
        self.index = Index(tenant="north")
        self.offered = {key: set() for key in PAGES}
        self.floors = dict.fromkeys(PAGES, 0)

    def lives(self, key):
        return max((point for point in self.offered[key] if point[0] >= self.floors[key]), default=None)

    def refusal(self, key, point):
        live = self.lives(key)
        if point[0] < self.floors[key] or (live and point[0] < live[0]):
            return StaleVersion
        return StaleLabel if live and point[1] < live[1] else None

    @rule(key=st.sampled_from(PAGES), point=st.sampled_from(HISTORY), again=st.booleans())
    def a_job_runs(self, key, point, again):
        tenant, doc_id = key
        for _ in range(1 + again):
            refusal, before = self.refusal(key, point), seen(self.index)
            self.offered[key].add(point)
            if refusal is None:
                assert run(self.index, job(doc_id, *point, tenant)) == self.expected(key)
                continue
            with pytest.raises(refusal):
                run(self.index, job(doc_id, *point, tenant))
            assert seen(self.index) == before

    @rule(points=st.lists(st.tuples(st.sampled_from(PAGES), st.sampled_from(sorted(TEXTS))), min_size=1, max_size=5))
    def a_batch_arrives(self, points):
        """Documents under the label that their version's first job gave: `add` carries no tick."""
        first = {version: min(tick for v, tick in HISTORY if v == version) for version in TEXTS}
        batch, refused = [], 0
        for key, version in points:
            if any(v == version and tick > first[version] for v, tick in self.offered[key]) or any(
                    v < version and tick > first[version] for v, tick in self.offered[key]):
                continue  # relabelled since: what `add` says to that is in the table above
            batch.append(page(key[1], version, key[0], ACLS[first[version]]))
            refused += self.refusal(key, (version, first[version])) is not None
            self.offered[key].add((version, first[version]))
        if refused:
            with pytest.raises(StaleVersion):
                self.index.add_many(batch)
        else:
            self.index.add_many(batch)

    @rule(key=st.sampled_from(PAGES), below=st.one_of(st.none(), st.integers(1, 5)))
    def a_tombstone_falls(self, key, below):
        tenant, doc_id = key
        self.index.tombstone_doc(doc_id, below_version=below, tenant=tenant)
        ever = max((version for version, _ in self.offered[key]), default=0)
        self.floors[key] = max(self.floors[key], ever + 1 if below is None else below)

    @rule()
    def the_process_restarts(self):
        before = seen(self.index)
        self.index = restarted(self.index)
        assert seen(self.index) == before

    @rule()
    def every_vector_is_made_again(self):
        before = seen(self.index)
        self.index.rebuild(self.index.embedder)
        assert seen(self.index) == before

    def expected(self, key):
        live = self.lives(key)
        if live is None:
            return []
        tenant, doc_id = key
        return chunk_document(page(doc_id, live[0], tenant, ACLS[live[1]]))

    @invariant()
    def readers_see_one_version_whole_or_none_on_both_legs(self):
        for tenant, reader in ANYBODY.items():
            due = {chunk.chunk_id: chunk for key in PAGES if key[0] == tenant for chunk in self.expected(key)}
            for hits in (self.index.lexical("handbook", principal=reader, limit=None),
                         self.index.dense("handbook", principal=reader, limit=None, collisions=False)):
                assert {hit.chunk_id: hit.chunk for hit in hits} == due and len(hits) == len(due)
        employees = {hit.chunk for hit in self.index.lexical("handbook", principal=EMPLOYEE, limit=None)}
        assert employees == {chunk for key in PAGES[:2] for chunk in self.expected(key) if chunk.label.acl & {"employee", EVERYONE}}

    @invariant()
    def postings_vectors_and_bookkeeping_hold_the_same_ids_and_no_word_of_the_dead(self):
        for tenant, namespace in self.index._namespaces.items():
            due = [chunk for key in PAGES if key[0] == tenant for chunk in self.expected(key)]
            assert sorted(namespace.holder) == sorted(chunk.chunk_id for chunk in due)
            kept = {word for shelf in namespace.shelves.values() for word in shelf.terms}
            assert kept == {word for chunk in due for word in self.index.tokenizer(" ".join([*chunk.heading_path, chunk.text]))}
            for shelf in namespace.shelves.values():
                assert len(shelf.chunks) == len(shelf.vectors) == len(shelf.lengths) == len(shelf.ticks) > 0
                assert {chunk.label for chunk in shelf.chunks} == {shelf.label}
            for doc_id, state in namespace.documents.items():
                if not self.expected((tenant, doc_id)):
                    assert state == DocumentState(floor=self.floors[tenant, doc_id]), "a dead document keeps its floor and no more"


OneIndexAndADictionary.TestCase.settings = settings(max_examples=40, stateful_step_count=20)
TestOneIndexAndADictionary = OneIndexAndADictionary.TestCase


@pytest.mark.parametrize("field", ["version", "updated_tick"])
def test_a_number_that_no_shelf_can_hold_is_refused_at_the_door(field):
    with pytest.raises(ValueError, match=f"{field} must be at most"):
        Document("d", "t", "d", "text", **{field: 2**70})
