"""The pipeline: open shelves, drop stale, rank both legs, cut, fuse, cap, rerank, floor, cut; and what it says of itself."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_index import CLOSED, OPEN, READER, TENANT, Table, chunk, indexed, numbered, scored

from labsupport import (
    EVERYONE,
    AccessLabel,
    AuditRecord,
    AuthorizedRetriever,
    Chunk,
    Document,
    Index,
    LegsFailed,
    Principal,
    QueryRefused,
    RetrievalPolicy,
    keyed_hash,
    lexical_overlap_reranker,
    reciprocal_rank_fusion,
    rerank,
    tokenize,
)
from labsupport.embedding import HashEmbedder

WORDS = ("acme", "wire", "fee", "pmt-771", "the", "shuttle", "été")
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
questions = st.lists(st.sampled_from((*WORDS, "unseen")), min_size=1, max_size=4).map(" ".join)
corpora = st.lists(st.tuples(texts, st.sampled_from("abc"), st.integers(0, 6)), min_size=1, max_size=12)
policies = st.builds(
    RetrievalPolicy, max_stale_ticks=st.sampled_from((None, 0, 2, 5)), enable_rerank=st.booleans(),
    min_score=st.sampled_from((0.0, 0.3, 1.0, -1.0)), candidate_limit=st.integers(1, 8), result_limit=st.integers(1, 6),
    max_chunks_per_doc=st.sampled_from((None, 1, 2)), rrf_k=st.sampled_from((1, 60)))


def stocked(corpus) -> Index:
    """Chunks of three documents with ticks; `d000` is the first text. So few slots that words collide, and cosines are negative."""
    chunks = [chunk(f"d{place:03}", text, doc_id=doc_id, tick=tick) for place, (text, doc_id, tick) in enumerate(corpus)]
    return indexed(chunks, embedder=HashEmbedder(3))


def ids(result) -> list[str]:
    return [hit.chunk_id for hit in result.hits]


def audited(index, query, policy=RetrievalPolicy(), *, who=READER, now_tick=0, **options):
    records = []
    result = AuthorizedRetriever(index, audit=records.append, **options).retrieve(query, who, now_tick=now_tick, policy=policy)
    (record,) = records
    return result, record


# --- the whole of it ------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(corpora, questions, policies)
def test_the_pipeline_is_its_steps_in_their_order(corpus, query, policy):
    """The steps once more, one by one, from the public pieces: what is left out or moved is seen in some bank."""
    index, now = stocked(corpus), 6
    fresh = {f"d{place:03}" for place, (_, _, tick) in enumerate(corpus)
             if policy.max_stale_ticks is None or now - tick <= policy.max_stale_ticks}
    legs = []
    for leg in (index.lexical, index.dense):
        everything = [hit for hit in leg(query, principal=READER, limit=None) if hit.chunk_id in fresh
                      and not set(tokenize(hit.chunk.text)).isdisjoint(tokenize(query))]
        legs.append([replace(hit, lexical_rank=rank if hit.lexical_rank else None, dense_rank=rank if hit.dense_rank else None)
                     for rank, hit in enumerate(everything[: policy.candidate_limit], start=1)])
    hits, seen = [], []
    for hit in reciprocal_rank_fusion(legs, k=policy.rrf_k, limit=None):
        seen.append(hit.chunk.doc_id)
        if policy.max_chunks_per_doc is None or seen.count(hit.chunk.doc_id) <= policy.max_chunks_per_doc:
            hits.append(hit)
    if policy.enable_rerank:
        hits = rerank(query, hits, limit=policy.result_limit, min_score=policy.min_score)
    result = AuthorizedRetriever(index).retrieve(query, READER, now_tick=now, policy=policy)
    assert list(result.hits) == hits[: policy.result_limit]
    assert result.degraded == (() if policy.enable_rerank else ("rerank",))
    assert result.excluded_by_freshness == len(corpus) - len(fresh)
    assert result.citations == tuple(hit.chunk.citation() for hit in result.hits)


@given(corpora, questions, policies)
def test_ranks_have_no_gaps_among_candidates(corpus, query, policy):
    policy = replace(policy, result_limit=99, enable_rerank=False, max_chunks_per_doc=None)
    hits = AuthorizedRetriever(stocked(corpus)).retrieve(query, READER, now_tick=6, policy=policy).hits
    for leg in ("lexical_rank", "dense_rank"):
        ranks = sorted(rank for rank in (getattr(hit, leg) for hit in hits) if rank is not None)
        assert ranks == list(range(1, len(ranks) + 1)) and len(ranks) <= policy.candidate_limit
    assert len(ids_ := [hit.chunk_id for hit in hits]) == len(set(ids_))


@given(corpora, questions, policies)
def test_a_smaller_result_limit_is_a_prefix(corpus, query, policy):
    retriever = AuthorizedRetriever(stocked(corpus))
    more = retriever.retrieve(query, READER, now_tick=6, policy=replace(policy, result_limit=policy.result_limit + 1))
    less = retriever.retrieve(query, READER, now_tick=6, policy=policy)
    assert less.hits == more.hits[: policy.result_limit]
    assert (less.degraded, less.excluded_by_freshness) == (more.degraded, more.excluded_by_freshness)


@given(corpora, questions, policies)
def test_the_audit_sees_everything_and_changes_nothing(corpus, query, policy):
    index = stocked(corpus)
    result, record = audited(index, query, policy, now_tick=6)
    assert result == AuthorizedRetriever(index).retrieve(query, READER, now_tick=6, policy=policy)
    assert record.returned == tuple(ids(result)) and not set(record.returned) & set(record.dropped)
    assert (record.degraded, record.excluded_by_freshness) == (result.degraded, result.excluded_by_freshness)
    unlimited = AuthorizedRetriever(index, reranker=None).retrieve(query, READER, now_tick=6,
                                                                   policy=replace(policy, result_limit=99, max_chunks_per_doc=None))
    assert {*record.returned, *record.dropped} == set(ids(unlimited)), "every candidate is on the record once"


# --- each step --------------------------------------------------------------------------------------------------------


def test_entitlement_comes_before_the_cut():
    """Fault D1 of the reference: 20 closed chunks that match better, one open one that matches: nothing was found."""
    index = indexed([*numbered(["acme wire fee"] * 20, CLOSED, first="x"), chunk("d000", "acme and other things")])
    assert ids(AuthorizedRetriever(index).retrieve("acme wire fee", READER, policy=RetrievalPolicy(candidate_limit=1))) == ["d000"]


def test_stale_chunks_leave_before_the_cut_and_stay_in_the_statistics():
    index = indexed([chunk("old1", "acme wire fee", tick=0), chunk("old2", "acme wire fee", tick=1),
                     chunk("new", "acme and others", tick=9)])
    policy = RetrievalPolicy(max_stale_ticks=3, candidate_limit=1, result_limit=1)
    result = AuthorizedRetriever(index, reranker=None).retrieve("acme wire", READER, now_tick=10, policy=policy)
    assert ids(result) == ["new"] and (result.hits[0].lexical_rank, result.hits[0].dense_rank) == (1, 1)
    fresh = index.lexical("acme wire", principal=READER, stale_before=7)
    everything = dict(scored(index.lexical("acme wire", principal=READER)))
    assert scored(fresh) == [("new", everything["new"])], "its score is the one that it has among all"


def test_the_stale_count_is_of_readable_live_chunks_whatever_is_asked():
    index = indexed([chunk("old", "acme", tick=0), chunk("new", "acme", tick=5), chunk("x", "acme", CLOSED, tick=0)])
    retriever = AuthorizedRetriever(index)
    for query in ("acme", "nosuchword", "???"):
        for now, most, count in ((5, 4, 1), (5, 5, 0), (5, 0, 1), (99, 0, 2), (0, 0, 0), (10**30, 0, 2), (-(10**30), 0, 0)):
            result = retriever.retrieve(query, READER, now_tick=now, policy=RetrievalPolicy(max_stale_ticks=most))
            assert result.excluded_by_freshness == count, (query, now, most)
    assert retriever.retrieve("acme", READER, now_tick=99).excluded_by_freshness == 0, "no contract, nothing stale"
    index.tombstone_doc("old")
    assert retriever.retrieve("acme", READER, now_tick=99, policy=RetrievalPolicy(max_stale_ticks=0)).excluded_by_freshness == 1


def test_a_chunk_of_the_future_has_age_nought():
    index = indexed([chunk("d", "acme", tick=50)])
    assert ids(AuthorizedRetriever(index).retrieve("acme", READER, now_tick=1, policy=RetrievalPolicy(max_stale_ticks=0))) == ["d"]


def test_the_cap_comes_before_the_second_look_and_after_fusion():
    """With the cap after the reranker, the best two of one document would use up the result."""
    index = indexed([chunk("a1", "acme wire", doc_id="a"), chunk("a2", "acme acme", doc_id="a"),
                     chunk("b1", "acme of the other", doc_id="b")])
    policy = RetrievalPolicy(max_chunks_per_doc=1, result_limit=2)
    asked = []
    retriever = AuthorizedRetriever(index, reranker=lambda query, page: asked.append(page.chunk_id) or 1.0)
    result = retriever.retrieve("acme", READER, policy=policy)
    assert len(asked) == 2 and {page[0] for page in asked} == {"a", "b"} == {hit.chunk.doc_id for hit in result.hits}
    fused = AuthorizedRetriever(index, reranker=None).retrieve("acme", READER)
    assert asked[0] == next(hit.chunk_id for hit in fused.hits if hit.chunk.doc_id == "a"), "the best of each document stays"
    assert len(AuthorizedRetriever(index).retrieve("acme", READER).hits) == 3, "off unless it is asked for"


def test_the_second_look_is_taken_of_candidates_alone():
    index, asked = indexed(["acme wire"] * 30), []
    AuthorizedRetriever(index, reranker=lambda query, page: asked.append(page) or 1.0).retrieve("acme", READER)
    assert len(asked) == RetrievalPolicy().candidate_limit == 12


def test_the_floor_is_strict_and_empties_a_result_that_holds_nothing():
    index = indexed(["acme wire", "the shuttle"])
    retriever = AuthorizedRetriever(index)
    score = retriever.retrieve("acme wire", READER).hits[0].score
    assert score == 1.25
    assert ids(retriever.retrieve("acme wire", READER, policy=RetrievalPolicy(min_score=score))) == []
    assert ids(retriever.retrieve("acme wire", READER, policy=RetrievalPolicy(min_score=math.nextafter(score, 0)))) == ["d000"]
    assert retriever.retrieve("nosuchword", READER).hits == ()


def test_without_a_reranker_the_fused_order_stands_and_no_floor_is_applied():
    index = indexed(["acme wire", "acme wire fee", "wire"])
    result = AuthorizedRetriever(index, reranker=None).retrieve("acme wire", READER, policy=RetrievalPolicy(min_score=0.9))
    legs = [leg("acme wire", principal=READER, limit=12) for leg in (index.lexical, index.dense)]
    assert list(result.hits) == reciprocal_rank_fusion(legs) and result.degraded == ()


# --- under pressure -----------------------------------------------------------------------------------------------------


def test_the_second_look_is_shed_first_and_an_answer_is_still_an_answer():
    index = indexed(["acme wire", "acme wire fee", "wire"])
    policy = RetrievalPolicy(enable_rerank=False, min_score=0.9)
    shed = AuthorizedRetriever(index).retrieve("acme wire", READER, policy=policy)
    assert shed.degraded == ("rerank",)
    assert shed.hits == AuthorizedRetriever(index, reranker=None).retrieve("acme wire", READER).hits and len(shed.hits) == 3


@pytest.mark.parametrize("broken", [lambda query, page: 1 / 0, lambda query, page: math.nan, lambda query, page: None,
                                    lambda query: 1.0], ids=["raises", "NaN", "nothing", "one argument"])
def test_a_reranker_that_fails_is_shed(broken):
    index = indexed(["acme wire", "acme wire fee", "wire"])
    result, fused = (AuthorizedRetriever(index, reranker=reranker).retrieve("acme wire", READER) for reranker in (broken, None))
    assert result.degraded == ("rerank",) and result.hits == fused.hits


class Failing:
    """An engine whose legs fail by name; all else is the index."""

    def __init__(self, index, *legs):
        self.index, self.legs, self.embedder = index, legs, index.embedder

    def snapshot(self):
        return self

    def __getattr__(self, name):
        if name in self.legs:
            def failing(*args, **options):
                raise RuntimeError(f"{name} is down, and page x000 is hidden")

            return failing
        return getattr(self.index, name)


@pytest.mark.parametrize(("down", "up"), [("dense", "lexical"), ("lexical", "dense")])
def test_if_one_leg_fails_the_other_answers_and_says_so(down, up):
    index = indexed(["acme wire", "acme wire fee", "wire"])
    result, record = audited(Failing(index, down), "acme wire", reranker=None)
    leg = getattr(index, up)("acme wire", principal=READER, limit=12)
    assert result.degraded == record.degraded == (down,)
    assert list(result.hits) == reciprocal_rank_fusion([leg]) and len(result.hits) == 3
    assert (record.vectors_read > 0) == (up == "dense"), "what a leg that failed had read is not on the record"


def test_if_both_legs_fail_it_is_an_error_never_an_empty_result():
    records = []
    retriever = AuthorizedRetriever(Failing(indexed(["acme"]), "lexical", "dense"), audit=records.append)
    with pytest.raises(LegsFailed, match="both legs") as failure:
        retriever.retrieve("acme", READER)
    assert "x000" not in str(failure.value) and records == []


def test_a_real_embedder_that_is_down_leaves_bm25():
    embedder = Table({"acme wire": [1, 0], "acme fee": [0, 1]})
    index = indexed(["acme wire", "acme fee"], embedder=embedder)
    embedder.vectors = None
    result = AuthorizedRetriever(index).retrieve("acme", READER)
    assert ids(result) == ["d000", "d001"] and result.degraded == ("dense",)


# --- which reranker -----------------------------------------------------------------------------------------------------


def test_an_embedder_that_knows_meaning_has_no_reranker_unless_one_is_named():
    """The stand-in counts shared words, so it would drop what meaning found. Named by its name it is used all the same."""
    index = indexed(["sixteen weeks for parents", "weeks of the wire desk"],
                    embedder=Table({"sixteen weeks for parents": [1, 0], "weeks of the wire desk": [0.5, 1], "maternity": [1, 0]}))
    found = AuthorizedRetriever(index).retrieve("maternity", READER)
    assert ids(found)[0] == "d000" and found.degraded == ()
    assert AuthorizedRetriever(index, reranker=lexical_overlap_reranker).retrieve("maternity", READER).hits == ()
    assert AuthorizedRetriever(index, reranker=lambda query, page: 1.0).retrieve("maternity", READER).hits[0].score == 1.0
    assert AuthorizedRetriever(indexed(["acme"])).retrieve("acme", READER).hits[0].score == 1.25, "with hashes it is the default"


@pytest.mark.parametrize("reranker", ["lexical", 5, True])
def test_a_reranker_that_cannot_be_called_is_refused_at_the_door(reranker):
    """Found out only when it is called, it would degrade every answer in silence."""
    with pytest.raises(TypeError, match="reranker must be a function"):
        AuthorizedRetriever(indexed(["acme"]), reranker=reranker)


# --- the parent section ---------------------------------------------------------------------------------------------------


def windows(index: Index, words: int = 400, **fields) -> list:
    """A section that is cut in several windows."""
    text = "## Fees\n\n" + " ".join(f"w{n}" for n in range(words)) + "\n\n## Other\n\nacme shuttle"
    return index.add(Document("fees", TENANT, "t", text, **fields))


def expanded(index, query, who=READER, **options):
    options = {"max_tokens": 256} | options
    policy = RetrievalPolicy(expand_parent=True, parent_max_tokens=options["max_tokens"], result_limit=1)
    (hit,) = AuthorizedRetriever(index).retrieve(query, who, policy=policy).hits
    return hit


@settings(max_examples=60)
@given(st.integers(40, 500), st.integers(1, 400), st.integers(0, 499))
def test_the_parent_is_merged_by_span_and_keeps_to_its_budget(words, budget, asked):
    index = Index(tenant=TENANT)
    chunks = windows(index, words)
    hit = expanded(index, f"w{min(asked, words - 1)}", max_tokens=budget)
    body = " ".join(f"w{n}" for n in range(words))
    assert hit.chunk.text in hit.context and hit.context in body, "one stretch of the section, without a word twice"
    assert len(hit.context) <= max(4 * budget, len(hit.chunk.text))
    section = [one for one in chunks if one.heading_path == ("Fees",)]
    if 4 * budget >= len(body):
        assert hit.context == body
    if len(section) > 1 and 4 * budget >= 2 * max(len(one.text) for one in section):
        assert len(hit.context) > len(hit.chunk.text), "there is room for one more window"


def test_only_windows_of_the_same_section_and_version_are_merged():
    index = Index(tenant=TENANT)
    windows(index)
    windows(index, 300, version=2)
    hit = expanded(index, "w150", max_tokens=4_000)
    assert hit.chunk.version == 2 and hit.context.split()[-1] == "w299" and "shuttle" not in hit.context
    assert AuthorizedRetriever(index).retrieve("w150", READER).hits[0].context is None, "off unless it is asked for"


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=6, unique_by=lambda span: span[0]),
       st.integers(1, 40), st.data())
def test_windows_that_others_cut_are_merged_too(spans, budget, data):
    """Overlapping, nested and torn spans of one section: each character stands once, in its place, and gaps are breaks."""
    source = "".join(chr(0x4E00 + place) for place in range(71))
    pages = [Chunk(f"d#s+{place}", "d", 1, source[start:start + size], (), start, start + size, OPEN, 0)
             for place, (start, size) in enumerate(spans)]
    asked = data.draw(st.sampled_from(pages))
    hit = expanded(indexed(pages), asked.text, max_tokens=budget)
    stretches = hit.context.split()
    assert "".join(stretches) == "".join(sorted(set("".join(stretches)))), "no character twice, none out of its place"
    assert all(stretch in source for stretch in stretches) and hit.chunk.text in hit.context
    assert len(hit.context) <= max(4 * budget, len(hit.chunk.text))
    if budget >= 40:
        held = {place for start, size in spans for place in range(start, start + size)}
        assert {source.index(character) for character in "".join(stretches)} == held


def test_a_closed_window_is_never_handed_over():
    """The chunks of one section under two labels, given one by one: the parent is made of what may be read now."""
    index, closed = Index(tenant=TENANT), replace(OPEN, acl=frozenset({"heads"}))
    for place, (label, text) in enumerate(((OPEN, "acme opens"), (closed, "the closed fee"), (OPEN, "acme goes on"))):
        index.upsert(chunk_id=f"doc#fees+{place + 1}" if place else "doc#fees", doc_id="doc", text=text, acl=label.acl, version=1)
    for who, sees in ((READER, False), (replace(READER, groups=("heads",)), True)):
        siblings = index.siblings(index.get("doc#fees", principal=who), principal=who)
        assert ("the closed fee" in [one.text for one in siblings]) == sees and len(siblings) == 2 + sees
        assert "closed" not in expanded(index, "acme opens", who).context


def test_blocks_that_were_cut_apart_stand_apart_again():
    text = "## Fees\n\n" + "\n\n".join(f"Paragraph {n} says {'x ' * 60}end{n}." for n in range(6))
    index = Index(tenant=TENANT)
    index.add(Document("fees", TENANT, "t", text))
    hit = expanded(index, "end3", max_tokens=4_000)
    assert re.sub(r"\s+", " ", hit.context) == re.sub(r"\s+", " ", text.split("\n\n", 1)[1])


# --- one instant --------------------------------------------------------------------------------------------------------


def test_both_legs_read_one_instant():
    """An edit lands between the two rankings. Each search still answers with one version: before it, or after it."""
    armed = []

    def tokenizer(text):
        tokens = tokenize(text)
        if armed and text == "acme wire":
            armed.pop()()
        return tokens

    for ask in (
        lambda index: [hit.chunk.version for hit in AuthorizedRetriever(index).retrieve("acme wire", READER).hits],
        lambda index: [row["version"] for row in index.query("acme wire", groups=())],
    ):
        index = Index(tenant=TENANT, tokenizer=tokenizer)
        index.add(Document("d", TENANT, "t", "## One\n\nacme wire one\n\n## Two\n\nacme wire two"))
        armed[:] = [lambda: index.add(Document("d", TENANT, "t", "## One\n\nacme wire\n\n## Three\n\nacme wire three", version=2))]
        assert ask(index) == [1, 1] and not armed
        assert ask(index) == [2, 2]


# --- the record -----------------------------------------------------------------------------------------------------------


def test_the_record_holds_no_text_of_the_question_nor_of_a_page():
    who = Principal("ines", TENANT, groups=("desk", "a-group"))
    index = indexed([chunk("d000", "acme zebra"), chunk("d001", "acme quagga"), chunk("x000", "acme okapi", CLOSED)])
    result, record = audited(index, "acme giraffe", RetrievalPolicy(result_limit=1), who=who, now_tick=7)
    for word in ("acme", "zebra", "quagga", "okapi", "giraffe"):
        assert word not in repr(record)
    assert (record.actor, record.tenant, record.groups, record.now_tick) == ("ines", TENANT, ("a-group", "desk"), 7)
    assert (record.query_hash, record.query_length) == (keyed_hash("acme giraffe"), len("acme giraffe"))
    assert (record.returned, record.dropped) == (("d000",), ("d001",)) and record.policy == RetrievalPolicy(result_limit=1)
    assert (record.excluded_by_entitlement, record.postings_read, record.vectors_read) == (1, 4, 2)
    with pytest.raises(FrozenInstanceError):
        record.actor = "somebody else"
    assert {one.name for one in fields(AuditRecord)} & {"query", "text", "hits", "chunks"} == set()


def test_closed_chunks_are_counted_once_each_and_only_of_the_tenant():
    """Fault D3 of the reference: it counts one chunk once for each ranker, and tells the caller."""
    other = AccessLabel("elsewhere", "internal", None, frozenset({EVERYONE}))
    index = indexed([*numbered(["acme wire"] * 3, CLOSED, first="x"), *numbered(["acme"] * 5, other, first="y"),
                     chunk("d000", "acme")])
    assert audited(index, "acme wire")[1].excluded_by_entitlement == 3
    assert audited(index, "nosuchword")[1].excluded_by_entitlement == 3


def test_a_refused_question_leaves_no_record():
    records = []
    retriever = AuthorizedRetriever(indexed(["acme"]), audit=records.append)
    for query in ("", "  ", "card 4111 1111 1111 1111", "x" * 5_000):
        with pytest.raises(QueryRefused):
            retriever.retrieve(query, READER)
        with pytest.raises(QueryRefused):
            retriever.engine.query(query, groups=())
    assert records == []
    assert retriever.retrieve("???", READER).hits == () and len(records) == 1, "without a word it is legal, and finds nothing"


# --- what is asked for wrongly --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), [
    ("max_stale_ticks", -1), ("max_stale_ticks", 1.5), ("max_stale_ticks", True), ("enable_rerank", None), ("enable_rerank", 1),
    ("min_score", math.nan), ("min_score", math.inf), ("min_score", "0"), ("min_score", None), ("min_score", True),
    ("candidate_limit", 0), ("candidate_limit", None), ("candidate_limit", 2.0), ("result_limit", 0), ("result_limit", "5"),
    ("max_chunks_per_doc", 0), ("max_chunks_per_doc", True), ("expand_parent", "yes"), ("parent_max_tokens", 0),
    ("rrf_k", 0), ("rrf_k", 60.0),
])
def test_a_knob_out_of_bounds_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be .*got {re.escape(repr(value))}$"):
        RetrievalPolicy(**{name: value})


def test_a_policy_is_frozen_and_a_wrong_one_is_refused():
    with pytest.raises(FrozenInstanceError):
        RetrievalPolicy().result_limit = 50
    retriever = AuthorizedRetriever(indexed(["acme"]))
    for policy in (None, {"result_limit": 3}, RetrievalPolicy):
        with pytest.raises(TypeError, match="policy must be a RetrievalPolicy"):
            retriever.retrieve("acme", READER, policy=policy)


@pytest.mark.parametrize("now_tick", [1.5, None, "7", True])
def test_a_time_that_is_no_number_of_ticks_is_refused(now_tick):
    with pytest.raises(ValueError, match="now_tick must be a whole number"):
        AuthorizedRetriever(indexed(["acme"])).retrieve("acme", READER, now_tick=now_tick)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_the_short_form_refuses_a_k_that_is_no_count(k):
    with pytest.raises(ValueError, match="k must be a whole number from 1"):
        indexed(["acme"]).query("acme", groups=(), k=k)


# --- the handbook's short form --------------------------------------------------------------------------------------------


@given(st.lists(texts, min_size=1, max_size=10), questions, st.integers(1, 12))
def test_the_short_form_ranks_every_chunk_that_shares_a_word_on_both_lists(corpus, query, k):
    """No cut-off before fusion; one whose cosine is not positive takes the last places, by id."""
    index = indexed(corpus, embedder=HashEmbedder(3))
    lexical = index.lexical(query, principal=READER, limit=None)
    cosine = dict(scored(index.dense(query, principal=READER, limit=None)))
    near = sorted((hit.chunk_id for hit in lexical if hit.chunk_id in cosine), key=lambda name: (-cosine[name], name))
    far = sorted(hit.chunk_id for hit in lexical if hit.chunk_id not in cosine)
    expected = reciprocal_rank_fusion([[hit.chunk_id for hit in lexical], near + far], limit=k)
    rows = index.query(query, groups=(), k=k)
    assert [(row["chunk_id"], row["score"]) for row in rows] == scored(expected)
    assert all({"chunk_id", "doc_id", "text", "score"} <= row.keys() for row in rows)
