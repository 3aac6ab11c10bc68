"""Whatever a principal can observe of a retrieval is a function of the question and of what they may read. Nothing else.

Random banks, random readers, random questions. What a reader may not read is added, edited, relabelled, killed and put in
another order; then every observable is compared bit for bit, errors included. Only the operator's audit may differ.
"""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import documents, labels, principals, queries, texts

from labsupport import AuthorizedRetriever, Document, Index, Principal, RetrievalPolicy, can_read, chunk_document
from labsupport.leaky import CountsReported, CutThenFilter, ExitFilter, NoFilter, OneLegFiltered, Pool, TenantWideStatistics

RICH = RetrievalPolicy(max_stale_ticks=4, candidate_limit=4, result_limit=3, max_chunks_per_doc=1, expand_parent=True)
POLICIES = (RetrievalPolicy(), RetrievalPolicy(enable_rerank=False, candidate_limit=3), RICH)


def bits(value: object) -> object:
    """A value with every float as its bits, so that equal means equal to the last one."""
    if isinstance(value, float):
        return struct.pack(">d", value)
    if isinstance(value, (list, tuple)):
        return tuple(map(bits, value))
    return value


def observed(index: Index, principal: Principal, query: str, chunk_ids: list[str]) -> dict[str, object]:
    """All that this principal can observe through every public door, errors as their type and text."""

    def tried(call):
        try:
            return call()
        except Exception as error:
            return type(error).__name__, str(error)

    def hits(ranking):
        return bits([(hit.chunk, hit.score, hit.lexical_rank, hit.dense_rank, hit.context) for hit in ranking])

    seen: dict[str, object] = {}
    for limit in (1, 3, None):
        seen[f"lexical {limit}"] = tried(lambda: hits(index.lexical(query, principal=principal, limit=limit)))
        seen[f"dense {limit}"] = tried(lambda: hits(index.dense(query, principal=principal, limit=limit)))
    seen["stale"] = index.stale(principal=principal, stale_before=5)
    seen["open labels"] = index.open_labels(principal)
    seen["get"] = [index.get(chunk_id, principal=principal) for chunk_id in chunk_ids]
    seen["bad limit"] = tried(lambda: index.lexical(query, principal=principal, limit=0))
    for number, policy in enumerate(POLICIES):
        records = []
        retriever = AuthorizedRetriever(index, audit=records.append)
        seen[f"retrieve {number}"] = tried(lambda: (lambda r: (hits(r.hits), r.degraded, r.excluded_by_freshness, r.citations))(
            retriever.retrieve(query, principal, now_tick=9, policy=policy)))
        seen[f"work {number}"] = [(record.postings_read, record.vectors_read, record.excluded_by_freshness) for record in records]
    seen["blank"] = tried(lambda: AuthorizedRetriever(index).retrieve("  ", principal))
    return seen


def filled(bank: list[Document]) -> Index:
    index = Index(tenant="wholesale")
    for document in bank:
        try:
            index.add(document)
        except ValueError:
            pass  # a late version, a second text: refused, as it should be
    return index


def apart(bank: list[Document], principal: Principal) -> tuple[list[Document], list[Document]]:
    """What the principal may read, and the rest under ids of its own: an identity is not shared across the wall."""
    open_ = [document for document in bank if can_read(principal, document.label)]
    closed = [replace(document, doc_id=f"x-{document.doc_id}") for document in bank if not can_read(principal, document.label)]
    return open_, closed


@settings(max_examples=120, deadline=None)
@given(st.lists(documents(), max_size=10), principals, queries, st.randoms(use_true_random=False),
       st.lists(texts, min_size=1, max_size=3))
def test_nothing_that_is_closed_can_be_observed(bank, principal, query, random, edits):
    open_, closed = apart(bank, principal)
    alone = filled(open_)
    ids = sorted({chunk.chunk_id for document in bank for chunk in chunk_document(document)})
    expected = observed(alone, principal, query, ids)

    turns = [iter(open_)] * len(open_) + [iter(random.sample(closed, len(closed)))] * len(closed)
    random.shuffle(turns)  # open documents keep an order among themselves: it decides which version wins
    beside = filled([next(turn) for turn in turns])
    assert observed(beside, principal, query, ids) == expected

    for document, text in zip(closed, edits * len(closed)):
        try:
            beside.add(replace(document, text=text, version=9, updated_tick=9))
        except ValueError:
            pass
    assert observed(beside, principal, query, ids) == expected
    for document in closed:
        beside.tombstone_doc(document.doc_id, tenant=document.tenant)
    assert observed(beside, principal, query, ids) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(documents(), max_size=8), principals, queries, st.lists(st.tuples(labels(), texts), min_size=1, max_size=4))
def test_upserts_under_labels_that_are_closed_cannot_be_observed(bank, principal, query, chunks):
    index = filled(apart(bank, principal)[0])
    expected = observed(index, principal, query, ["x0", "x1"])
    for number, (label, text) in enumerate(chunks):
        if not can_read(principal, label) and text.strip():
            index.upsert(chunk_id=f"x{number}", doc_id=f"x{number}", text=text, acl=label.acl, version=1, tenant=label.tenant,
                         classification=label.classification, barrier=label.barrier)
    assert observed(index, principal, query, ["x0", "x1"]) == expected


class ReadsItsNeighbours:
    """A model whose numbers depend on what else is in the list: the last bits of a padded batch, made coarse."""

    name, dimensions, knows_meaning = "reads-its-neighbours", 3, True

    def __call__(self, texts):
        longest = max(map(len, texts))
        return [[1.0, len(text) / longest, len(texts)] for text in texts]


@settings(max_examples=60, deadline=None)
@given(st.lists(documents(), max_size=12), principals, queries)
def test_a_closed_page_in_the_same_delivery_moves_no_vector_of_an_open_one(bank, principal, query):
    open_, closed = apart(list({(document.tenant, document.doc_id): document for document in bank}.values()), principal)
    seen = []
    for delivery in (open_, closed + open_, open_ + closed):
        index = Index(tenant="wholesale", embedder=ReadsItsNeighbours())
        index.add_many(delivery)
        seen.append(observed(index, principal, query, []))
        index.rebuild(ReadsItsNeighbours())
        seen[-1]["rebuilt"] = observed(index, principal, query, [])
    assert seen[1] == seen[0] and seen[2] == seen[0]


@settings(max_examples=60, deadline=None)
@given(st.lists(documents(), min_size=1, max_size=10), principals, queries, st.randoms(use_true_random=False))
def test_the_order_of_insertion_cannot_be_observed(bank, principal, query, random):
    once = {(document.tenant, document.doc_id): document for document in bank}
    bank = list(once.values())
    shuffled = random.sample(bank, len(bank))
    in_one_batch = Index(tenant="wholesale")
    in_one_batch.add_many(bank)
    expected = observed(filled(bank), principal, query, [])
    assert observed(filled(shuffled), principal, query, []) == expected
    assert observed(in_one_batch, principal, query, []) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(documents(), max_size=10), principals, queries, st.sampled_from((1, 2, 5, 12)))
def test_the_fast_path_finds_what_the_naive_one_finds(bank, principal, query, limit):
    """The oracle: authorize, put what is left into an index of its own, score everything."""
    index = filled(bank)
    chunks = [chunk for namespace in index._namespaces.values() for shelf in namespace.shelves.values() for chunk in shelf.chunks]
    readable = [chunk for chunk in chunks if can_read(principal, chunk.label)]
    naive = Index(tenant="wholesale")
    naive.add_many(readable)
    for leg in ("lexical", "dense"):
        fast = getattr(index, leg)(query, principal=principal, limit=limit)
        slow = getattr(naive, leg)(query, principal=principal, limit=None)
        assert [(hit.chunk, hit.score) for hit in fast] == [(hit.chunk, hit.score) for hit in slow[:limit]]
        assert all(can_read(principal, hit.chunk.label) for hit in fast)
    assert AuthorizedRetriever(index).retrieve(query, principal) == AuthorizedRetriever(naive).retrieve(query, principal)


def test_the_wall_between_tenants_stands_when_the_label_check_says_yes_to_all(monkeypatch):
    """Two mechanisms: with `can_read` broken, a search still opens one namespace and no other."""
    import labsupport.namespace

    monkeypatch.setattr(labsupport.namespace, "can_read", lambda principal, label: True)
    index = filled([Document("a", "wholesale", "t", "acme wire fee"),
                    Document("a", "retail", "t", "acme wire fee owed", "restricted")])
    for tenant, size in (("wholesale", 3), ("retail", 4)):
        hits = AuthorizedRetriever(index).retrieve("acme", Principal("u", tenant)).hits
        assert [len(hit.chunk.text.split()) for hit in hits] == [size]


def test_the_label_check_stands_when_the_wall_between_tenants_falls():
    """The other one: every chunk in one pool, and each label is still asked."""
    index = filled([Document("a", "wholesale", "t", "acme wire"), Document("b", "wholesale", "t", "acme secret", "restricted"),
                    Document("c", "retail", "t", "acme retail secret", "restricted")])
    hits = Pool(index, tenant_check=False, label_check=True).retrieve("acme", Principal("u", "wholesale")).hits
    assert [hit.chunk_id for hit in hits] == ["a#body"]


CLOSED = Document("x", "wholesale", "t", "acme acme acme falcon falcon", "restricted")
OPEN = [Document(f"d{n}", "wholesale", "t", f"acme {word} and wire") for n, word in enumerate(("fee", "falcon", "shuttle"))]


@pytest.mark.parametrize("design", [NoFilter, CutThenFilter, TenantWideStatistics, ExitFilter, OneLegFiltered, CountsReported],
                         ids=lambda design: design.__name__)
def test_each_wrong_design_can_be_told_apart(design):
    """The property bites: the same comparison, on a design that leaks, finds a difference."""
    ines, policy = Principal("ines", "wholesale"), RetrievalPolicy(candidate_limit=2, result_limit=2)
    one, other = filled(OPEN), filled([*OPEN, CLOSED])

    def seen(index):
        made = design(index)
        return made.retrieve("acme falcon", ines, policy=policy), list(made.lexical("falcon wire", principal=ines, limit=2))

    assert bits(repr(seen(one))) != bits(repr(seen(other)))
