"""Two caches: nobody is served, or learns of, what is not theirs; and what a changed first byte costs."""

from __future__ import annotations

import os
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport.assembly import SEGMENTS, assemble_context
from labsupport.caching import (
    LAB_PRICES,
    LAYOUTS,
    PROVIDER_PRICES,
    SIZES,
    CacheStatistics,
    PrefixCache,
    PromptPrices,
    ResultCache,
    break_even_read_price,
    cache_key,
    conversation,
    shared_prefix,
    simulate,
)
from labsupport.errors import LegsFailed, QueryRefused
from labsupport.index import Index
from labsupport.model import EVERYONE, AccessLabel, Chunk, Document, Principal
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy
from labsupport.tokens import estimate_tokens

CASES = {
    "A20": "test_the_same_question_by_another_is_a_miss_and_a_repeat_a_hit",
    "A22": "test_whatever_can_change_the_result_changes_the_key",
    "A23": "test_bob_sees_the_same_cache_whatever_alice_asked_and_whatever_is_hidden",
    "A24": "test_no_prefix_that_another_sent_is_ever_credited",
    "A31": "test_another_entitlement_never_shares_an_entry",
}

ALICE = Principal("alice", "northline", "confidential", groups=("employee", "payroll"))
BOB = Principal("bob", "northline", groups=("employee",))
CAROL = Principal("carol", "northline", groups=("employee",))  # may read what Bob may
RITA = Principal("rita", "harbor", groups=("employee",))
READERS = (ALICE, BOB, CAROL, RITA)

PAGES = (
    Document("leave", "northline", "Leave", "# Leave\nParental leave is sixteen weeks."),
    Document("desk", "northline", "Desk", "# Desk\nThe desk opens at nine.", acl=("employee",)),
    Document("pay", "northline", "Pay", "# Pay\nThe balance of your leave pay is 912.", "confidential", acl=("payroll",)),
    Document("fees", "harbor", "Fees", "# Fees\nThe balance fee is 4."),
    Document("leave", "harbor", "Leave", "# Leave\nLeave is ten days."),
)
QUERY = "What is my leave balance?"


def world() -> tuple[Index, ResultCache, list]:
    index, log = Index(tenant="northline"), []
    index.add_many(PAGES)
    return index, ResultCache(AuthorizedRetriever(index, audit=log.append)), log


def edited(page: Document, text: str) -> Document:
    return replace(page, text=text, version=page.version + 1)


# --- The result cache: noninterference --------------------------------------------------------------------------------

QUERIES = (QUERY, "leave", "desk fee", "pay")
POLICIES = (RetrievalPolicy(), RetrievalPolicy(result_limit=1))
asks = st.tuples(st.just("ask"), st.sampled_from(READERS), st.sampled_from(QUERIES), st.sampled_from(POLICIES), st.integers(0, 1))
edits = st.tuples(st.just("edit"), st.sampled_from(PAGES), st.sampled_from(["# X\nleave pay fee", "# X\nbalance desk leave", ""]))
kills = st.tuples(st.just("kill"), st.sampled_from(PAGES))
histories = st.lists(asks | asks | edits | kills, min_size=4, max_size=16)


def play(events) -> dict[Principal, list]:
    """What each reader observes of a cache while the events happen: results and their own counts."""
    index, cache, _ = world()
    versions = {(page.tenant, page.doc_id): page.version for page in PAGES}
    seen: dict[Principal, list] = {reader: [] for reader in READERS}
    for kind, subject, *rest in events:
        if kind == "ask":
            query, policy, tick = rest
            result = cache.retrieve(query, subject, policy=policy, now_tick=tick)
            seen[subject].append((result, cache.statistics(subject)))
        else:
            name = (subject.tenant, subject.doc_id)
            versions[name] += 1
            if kind == "edit":
                index.add(replace(subject, text=rest[0] or "# X\nempty", version=versions[name]))
            else:
                index.tombstone_doc(subject.doc_id, below_version=versions[name], tenant=subject.tenant)
    return seen


@settings(deadline=None)
@given(histories)
def test_bob_sees_the_same_cache_whatever_alice_asked_and_whatever_is_hidden(events):
    bobs = (BOB, *(page for page in PAGES if page.tenant == "northline" and page.doc_id != "pay"))
    assert play(events)[BOB] == play([event for event in events if event[1] in bobs])[BOB]


@settings(deadline=None)
@given(histories)
def test_a_cached_answer_is_the_answer_that_a_search_would_give(events):
    index, cache, _ = world()
    plain = AuthorizedRetriever(index)
    versions = {(page.tenant, page.doc_id): page.version for page in PAGES}
    for kind, subject, *rest in events:
        if kind == "ask":
            query, policy, tick = rest
            answers = {"policy": policy, "now_tick": tick}
            assert cache.retrieve(query, subject, **answers) == plain.retrieve(query, subject, **answers)
            continue
        name = (subject.tenant, subject.doc_id)
        versions[name] += 1
        if kind == "edit":
            index.add(replace(subject, text=rest[0] or "# X\nempty", version=versions[name]))
        else:
            index.tombstone_doc(subject.doc_id, below_version=versions[name], tenant=subject.tenant)


# --- The result cache: whose answer -----------------------------------------------------------------------------------


def test_the_same_question_by_another_is_a_miss_and_a_repeat_a_hit():
    _, cache, _ = world()
    alices = cache.retrieve(QUERY, ALICE)
    assert any("912" in hit.chunk.text for hit in alices.hits)
    bobs = cache.retrieve(QUERY, BOB)
    assert cache.statistics(BOB) == CacheStatistics(hits=0, misses=1, kept=1)
    assert bobs.hits and not any("912" in hit.chunk.text for hit in bobs.hits)
    assert cache.retrieve(QUERY, ALICE) is alices
    assert cache.statistics(ALICE) == CacheStatistics(hits=1, misses=1, kept=1)


def test_the_same_question_in_another_tenant_reads_the_other_tenants_page():
    """`leave` is a page of both tenants: a cache by document id, or by the question, would mix them."""
    _, cache, _ = world()
    ours, theirs = cache.retrieve("leave", BOB), cache.retrieve("leave", RITA)
    assert {hit.chunk.tenant for hit in ours.hits} == {"northline"} and {hit.chunk.tenant for hit in theirs.hits} == {"harbor"}


@pytest.mark.parametrize("other", [
    replace(BOB, groups=("employee", "guest")), replace(BOB, groups=()), replace(BOB, max_classification="public"),
    replace(BOB, barriers=("deal",)), replace(BOB, user_id="bo"), CAROL,
])
def test_another_entitlement_never_shares_an_entry(other):
    """Also where both may read the same pages: a miss costs a search, a shared entry tells what somebody asked."""
    _, cache, _ = world()
    cache.retrieve(QUERY, BOB)
    cache.retrieve(QUERY, other)
    assert cache.statistics(other) == CacheStatistics(misses=1, kept=1)


def test_groups_have_no_order():
    _, cache, _ = world()
    for groups in (("employee", "payroll"), ["payroll", "employee"], {"employee", "payroll"}):
        cache.retrieve(QUERY, replace(ALICE, groups=groups))
    assert cache.statistics(ALICE) == CacheStatistics(hits=2, misses=1, kept=1)


def test_a_grant_or_a_revocation_takes_effect_at_once():
    _, cache, _ = world()
    granted = replace(BOB, max_classification="confidential", groups=("employee", "payroll"))
    for reader, sees in ((BOB, False), (granted, True), (BOB, False)):
        assert any("912" in hit.chunk.text for hit in cache.retrieve(QUERY, reader).hits) == sees


# --- The result cache: the key ----------------------------------------------------------------------------------------

OTHER_VALUES = {"max_stale_ticks": 3, "enable_rerank": False, "min_score": 0.25, "candidate_limit": 8, "result_limit": 3,
                "max_chunks_per_doc": 1, "expand_parent": True, "parent_max_tokens": 64, "rrf_k": 10}


def test_whatever_can_change_the_result_changes_the_key():
    label = AccessLabel("northline", "internal", None, frozenset({EVERYONE}))
    other_label = replace(label, classification="public")
    inputs = {"principal": BOB, "query": QUERY, "policy": RetrievalPolicy(), "now_tick": 0, "generations": ((label, 1),)}
    assert set(OTHER_VALUES) == {field.name for field in fields(RetrievalPolicy)}, "a knob of the policy has no second value here"
    principals = (
        {"tenant": "harbor"}, {"user_id": "bo"}, {"max_classification": "public"}, {"barriers": ("deal",)}, {"groups": ()})
    changed = [
        *({"principal": replace(BOB, **one)} for one in principals),
        *({"policy": RetrievalPolicy(**{name: value})} for name, value in OTHER_VALUES.items()),
        {"query": QUERY.lower()}, {"now_tick": 1}, {"generations": ()}, {"generations": ((label, 2),)},
        {"generations": ((other_label, 1),)}, {"generations": ((label, 1), (other_label, 1))},
    ]
    keys = {cache_key(**inputs), *(cache_key(**{**inputs, **change}) for change in changed)}
    assert len(keys) == 1 + len(changed) == 21
    assert all(isinstance(key, tuple) for key in keys)


def test_the_order_of_labels_is_no_part_of_the_key():
    index, _, _ = world()
    generations = index.open_labels(ALICE)
    assert len(generations) == 3
    one, other = (cache_key(ALICE, QUERY, RetrievalPolicy(), 0, order) for order in (generations, generations[::-1]))
    assert one == other


@given(st.lists(st.text(min_size=1, max_size=3).filter(str.strip), min_size=4, max_size=4))
def test_no_two_pairs_of_name_and_question_are_one_key(words):
    """('ab', 'c') and ('a', 'bc'): joined with any separator, some pair collides."""
    tenant, query, other_tenant, other_query = words
    pairs = {(tenant, query), (other_tenant, other_query)}
    assert len({cache_key(Principal("u", name), text, RetrievalPolicy(), 0, ()) for name, text in pairs}) == len(pairs)


# --- The result cache: what is never kept -----------------------------------------------------------------------------


def test_an_edit_is_seen_at_the_next_question():
    index, cache, _ = world()
    cache.retrieve("leave", BOB)
    index.add(edited(PAGES[0], "# Leave\nParental leave is eighteen weeks."))
    assert any("eighteen" in hit.chunk.text for hit in cache.retrieve("leave", BOB).hits)
    index.tombstone_doc("leave")
    assert not any("weeks" in hit.chunk.text for hit in cache.retrieve("leave", BOB).hits)


def test_a_page_that_comes_back_is_not_answered_from_before_it_went():
    index, cache, _ = world()
    first = cache.retrieve("sixteen weeks", BOB)
    index.tombstone_doc("leave")
    assert cache.retrieve("sixteen weeks", BOB).hits == ()
    index.add(replace(PAGES[0], text="# Leave\nNot sixteen weeks, but twenty.", version=2))
    again = cache.retrieve("sixteen weeks", BOB)
    assert again != first and "twenty" in again.hits[0].chunk.text


def test_a_moved_page_is_gone_from_the_cache_of_who_lost_it():
    index, cache, _ = world()
    assert any(hit.chunk.doc_id == "leave" for hit in cache.retrieve("leave", BOB).hits)
    index.add(replace(PAGES[0], version=2, acl=("payroll",), classification="confidential"))
    assert not any(hit.chunk.doc_id == "leave" for hit in cache.retrieve("leave", BOB).hits)


def test_another_embedder_makes_every_kept_result_old():
    from labsupport.embedding import as_embedder, hash_embed

    index, cache, _ = world()
    cache.retrieve("leave", BOB)
    index.rebuild(as_embedder(lambda texts: [hash_embed(text[::-1], 96) for text in texts]))
    cache.retrieve("leave", BOB)
    assert cache.statistics(BOB) == CacheStatistics(misses=2, kept=1)


def test_an_edit_of_a_hidden_page_costs_nobody_a_hit():
    index, cache, _ = world()
    cache.retrieve(QUERY, BOB)
    index.add(edited(PAGES[2], "# Pay\nThe balance of your leave pay is 1,000."))
    index.add(replace(PAGES[2], doc_id="deal", barrier="deal"))
    cache.retrieve(QUERY, BOB)
    assert cache.statistics(BOB) == CacheStatistics(hits=1, misses=1, kept=1)


def test_a_degraded_result_is_never_kept():
    _, cache, _ = world()
    shed = RetrievalPolicy(enable_rerank=False)
    for _ in range(2):
        assert cache.retrieve(QUERY, BOB, policy=shed).degraded == ("rerank",)
    assert cache.statistics(BOB) == CacheStatistics(misses=2, kept=0)


def test_a_search_that_failed_is_asked_again():
    index, cache, _ = world()
    tokenizer = index.tokenizer

    def fails(*_):
        raise OSError("no answer")

    index.tokenizer = fails  # the words are gone, and with them both legs of an embedder that knows no meaning
    with pytest.raises(LegsFailed):
        cache.retrieve(QUERY, BOB)
    index.tokenizer = tokenizer
    assert cache.retrieve(QUERY, BOB).hits and cache.statistics(BOB) == CacheStatistics(misses=2, kept=1)


@pytest.mark.parametrize("query", ["", "my card is 4111 1111 1111 1111"])
def test_a_refused_question_is_stored_nowhere(query):
    _, cache, log = world()
    for _ in range(2):
        with pytest.raises(QueryRefused):
            cache.retrieve(query, BOB)
    assert cache.statistics(BOB) == CacheStatistics() and log == [] and not cache._partitions


def test_there_is_no_asking_without_a_principal():
    _, cache, _ = world()
    for nobody in (None, "bob"):
        with pytest.raises(TypeError):
            cache.retrieve(QUERY, nobody)
    with pytest.raises(TypeError):
        cache.retrieve(QUERY)


def test_forgetting_leaves_no_dead_text():
    index, cache, _ = world()
    cache.retrieve("leave", BOB)
    index.tombstone_doc("leave")
    cache.forget()
    assert cache.statistics(BOB) == CacheStatistics(misses=1, kept=0)


def test_room_is_each_readers_own():
    index, _, _ = world()
    cache = ResultCache(AuthorizedRetriever(index), max_entries=2)
    cache.retrieve(QUERY, BOB)
    for number in range(5):
        cache.retrieve(f"leave {number}", CAROL)
    assert cache.statistics(CAROL).kept == 2
    cache.retrieve(QUERY, BOB)
    assert cache.statistics(BOB) == CacheStatistics(hits=1, misses=1, kept=1)


def test_the_result_that_was_not_used_for_longest_goes_first():
    index, _, _ = world()
    cache = ResultCache(AuthorizedRetriever(index), max_entries=2)
    for query in ("leave", "desk", "leave", "pay", "leave"):
        cache.retrieve(query, BOB)
    assert cache.statistics(BOB) == CacheStatistics(hits=2, misses=3, kept=2)


def test_an_answer_from_the_cache_stands_in_the_audit_log():
    """Who got what is the operator's to know, searched or not; the work is what was really done."""
    index, cache, log = world()
    first = cache.retrieve(QUERY, BOB)
    index.add(replace(PAGES[2], doc_id="pay-2"))
    assert cache.retrieve(QUERY, BOB) is first
    searched, served = log
    assert searched.postings_read > 0 and (served.postings_read, served.vectors_read) == (0, 0)
    assert served.excluded_by_entitlement == searched.excluded_by_entitlement + 1
    assert replace(served, postings_read=searched.postings_read, vectors_read=searched.vectors_read,
                   excluded_by_entitlement=searched.excluded_by_entitlement) == searched
    assert served.returned == tuple(hit.chunk_id for hit in first.hits)


def test_the_log_of_a_cached_search_is_the_log_of_a_search():
    index, cache, log = world()
    cache.retrieve(QUERY, ALICE)
    AuthorizedRetriever(index, audit=log.append).retrieve(QUERY, ALICE)
    assert log[0] == log[1]


def test_a_cache_needs_room_and_an_engine_that_tells_generations():
    index, _, _ = world()
    for rooms in (0, True, 1.5):
        with pytest.raises(ValueError, match="max_entries must be a whole number from 1"):
            ResultCache(AuthorizedRetriever(index), max_entries=rooms)
    with pytest.raises(TypeError, match=r"generations of its shelves \(open_labels\), got object"):
        ResultCache(AuthorizedRetriever(object()))


# --- The prefix cache -------------------------------------------------------------------------------------------------


@given(st.text(), st.text(), st.text())
def test_a_shared_prefix_ends_at_the_first_difference(common, a, b):
    a, b = common + a, common + b
    shared = shared_prefix(a, b)
    assert shared == shared_prefix(b, a) == len(os.path.commonprefix([a, b])) >= len(common)


@pytest.mark.parametrize(("a", "b", "length"), [
    ("'abXd", "'abYd", 3), ("abX", "abY", 2), ("", "a", 0), ("ab", "abc", 2), ("a\nbX", "a\nbY", 3),
])
def test_equal_positions_after_the_difference_do_not_count(a, b, length):
    assert shared_prefix(a, b) == length


# Prompts that share long beginnings, as those of one conversation do.
prompts_of_a_talk = st.builds(
    lambda base, length, end: base[:length] + end,
    st.sampled_from(["a" * 40, "ab" * 20]), st.integers(0, 40), st.text("abc\n", max_size=6))


@given(st.lists(st.tuples(st.sampled_from(READERS), prompts_of_a_talk), max_size=12), st.integers(1, 3))
def test_no_prefix_that_another_sent_is_ever_credited(sent, held):
    crowded, alone = PrefixCache(prompts_held=held), PrefixCache(prompts_held=held)
    bills = [(reader, crowded.send(prompt, reader)) for reader, prompt in sent]
    bobs = [prompt for reader, prompt in sent if reader == BOB]
    assert [bill for reader, bill in bills if reader == BOB] == [alone.send(prompt, BOB) for prompt in bobs]


def test_a_colleagues_retrieved_text_is_no_credit_even_with_one_cache_for_all():
    """A provider whose cache knows no readers: what keeps them apart is the mark of the reader in the prompt itself."""
    label = AccessLabel("northline", "internal", None, frozenset({EVERYONE}))
    text = "Parental leave is sixteen weeks. " * 40
    same = {"instructions": "Answer. " * 50, "policy": "Quote. " * 50, "memory": "The talk is of leave. " * 20, "question": QUERY,
            "retrieved": [Chunk("leave/1", "leave", 1, text, ("Leave",), 0, len(text), label, 0)], "budget_tokens": 2_000}
    bobs, carols = (assemble_context(**same, principal=reader) for reader in (BOB, CAROL))
    operator = Principal("the provider's one account", "everybody")
    (_, first), (_, second) = simulate([bobs.text, carols.text], principal=operator).turns
    header = estimate_tokens("\n\n[memory 0123456789abcdef]\n")
    assert first == 0 and bobs.stable_prefix_tokens - 1 <= second <= bobs.stable_prefix_tokens + header


SMALL_PRICES = PromptPrices("small", read=0.1, write_surcharge=0.25, minimum_prefix=3, step=2)


@given(st.lists(prompts_of_a_talk, max_size=8), st.integers(1, 3), st.sampled_from([LAB_PRICES, SMALL_PRICES]))
def test_a_bill_adds_up(prompts, held, prices):
    bill = simulate(prompts, principal=BOB, prices=prices, prompts_held=held)
    assert [tokens for tokens, _ in bill.turns] == [estimate_tokens(prompt) for prompt in prompts]
    for at, (tokens, reused) in enumerate(bill.turns):
        earlier = prompts[max(0, at - held) : at]
        assert 0 <= reused <= tokens and reused % prices.step == 0
        assert reused == 0 or reused >= prices.minimum_prefix
        assert 4 * reused <= max((shared_prefix(prompts[at], one) for one in earlier), default=0)
    full = sum(tokens - reused for tokens, reused in bill.turns)
    assert full + bill.reused * prices.read <= bill.cost <= full * (1 + prices.write_surcharge) + bill.reused * prices.read


def test_a_bill_by_hand():
    """Twelve tokens twice, ten of them shared, of which two steps of four count; then five tokens, too few to be kept."""
    prices = PromptPrices("by hand", read=0.5, write_surcharge=0.25, minimum_prefix=8, step=4)
    taken = simulate(["a" * 40 + "b" * 8, "a" * 40 + "c" * 8, "a" * 20], principal=BOB, prices=prices)
    assert taken.turns == ((12, 0), (12, 8), (5, 0))
    assert taken.cost == 12 * 1.25 + 4 * 1.25 + 8 * 0.5 + 5
    assert (taken.tokens, taken.reused, taken.reused_share) == (29, 8, 8 / 29)


def test_a_minimum_is_reached_exactly():
    for minimum, reused in ((10, 10), (11, 0)):
        prices = PromptPrices("by hand", read=0.5, minimum_prefix=minimum)
        assert simulate(["a" * 40 + "b", "a" * 40 + "c"], principal=BOB, prices=prices).reused == reused


def test_what_a_cache_holds_decides_what_is_reused():
    prompts = ["a" * 40, "b" * 40, "a" * 40]
    assert [simulate(prompts, principal=BOB, prompts_held=held).reused for held in (1, 2)] == [0, 10]


# --- The figures of notebook 08 ---------------------------------------------------------------------------------------


def bill(layout: str, **options):
    return simulate(conversation(**LAYOUTS[layout]), principal=BOB, **options)


@pytest.mark.parametrize(("layout", "tokens", "reused", "percent", "cost"), [
    ("cache order", 21_900, 12_000, 55, 11_100),
    ("time stamp last", 21_950, 12_000, 55, 11_150),
    ("time stamp first", 21_950, 0, 0, 21_950),
    ("tools in alternating order", 21_900, 3_600, 16, 18_660),
    ("tools on every second turn", 18_900, 3_600, 19, 15_660),
    ("memory before policy", 21_900, 11_800, 54, 11_280),
    ("retrieved before policy", 21_900, 9_000, 41, 13_800),
    ("question first", 21_900, 0, 0, 21_900),
])
def test_the_layouts_cost_what_the_notebook_says(layout, tokens, reused, percent, cost):
    taken = bill(layout)
    assert (taken.tokens, taken.reused, round(100 * taken.reused_share), taken.cost) == (tokens, reused, percent, cost)


def test_every_layout_has_its_figures():
    assert len(LAYOUTS) == 8 and all(bill(layout).tokens for layout in LAYOUTS)


def test_trimming_tools_costs_more_and_breaks_even_near_two_thirds():
    whole, trimmed = bill("cache order"), bill("tools on every second turn")
    assert trimmed.tokens < whole.tokens and round(100 * (trimmed.cost / whole.cost - 1)) == 41
    price = break_even_read_price(whole, trimmed)
    assert round(price, 2) == 0.64
    for read, dearer in ((price - 0.01, trimmed), (price + 0.01, whole)):
        prices = PromptPrices("try", read=read)
        costs = {one: replace(one, prices=prices).cost for one in (whole, trimmed)}
        assert max(costs, key=costs.get) == dearer


def test_a_cache_that_keeps_two_prompts_softens_it_and_trimming_still_does_not_pay():
    """The figures above are of a cache that keeps the last turn alone. Said here, so that nobody takes them for more."""
    whole, trimmed, turned = (bill(name, prompts_held=2) for name in (
        "cache order", "tools on every second turn", "tools in alternating order"))
    assert (whole.reused, turned.reused, trimmed.reused) == (12_000, 10_900, 8_500)
    assert trimmed.cost == 11_250 > whole.cost == 11_100
    assert round(break_even_read_price(whole, trimmed), 2) == 0.14


def test_the_time_stamp_first_is_dearer_at_every_published_price():
    assert PROVIDER_PRICES
    for prices in PROVIDER_PRICES:
        assert bill("time stamp first", prices=prices).cost > bill("cache order", prices=prices).cost


def test_a_published_price_has_a_source_and_a_date():
    assert PROVIDER_PRICES
    for prices in PROVIDER_PRICES:
        assert prices.source.startswith("https://") and len(prices.as_of.split("-")) == 3


def test_no_price_at_which_equal_reuse_breaks_even():
    assert break_even_read_price(bill("cache order"), bill("time stamp last")) is None


def test_the_conversation_has_the_sizes_it_says():
    prompts = conversation()
    assert len(prompts) == 10 and sum(SIZES.values()) == 2_190 and tuple(SIZES) == SEGMENTS
    assert {len(prompt) for prompt in prompts} == {4 * 2_190}


def test_any_order_with_the_stable_segments_first_and_the_question_last_is_best():
    best = bill("cache order").reused
    for order in (SEGMENTS, ("tool_schemas", "instructions", *SEGMENTS[2:]), (*SEGMENTS[2::-1], *SEGMENTS[3:])):
        assert simulate(conversation(order=order), principal=BOB).reused == best


@pytest.mark.parametrize("wrong", [{"order": SEGMENTS[:5]}, {"stamp": "top"}, {"tools": "sometimes"}])
def test_a_layout_that_does_not_exist_is_named(wrong):
    with pytest.raises(ValueError, match="got"):
        conversation(**wrong)


@pytest.mark.parametrize("wrong", [{"read": 1.5}, {"read": -0.1}, {"read": 0.1, "write_surcharge": -1}, {"read": 0.1, "step": 0}])
def test_a_price_is_a_share_of_the_full_price(wrong):
    with pytest.raises(ValueError, match="got"):
        PromptPrices("wrong", **wrong)


def test_a_prompt_is_sent_in_somebodys_name():
    with pytest.raises(TypeError, match="needs a Principal"):
        PrefixCache().send("prompt", "bob")
    for held in (0, True):
        with pytest.raises(ValueError, match="prompts_held must be a whole number from 1"):
            PrefixCache(prompts_held=held)
