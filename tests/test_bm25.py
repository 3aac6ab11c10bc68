"""BM25 over the open shelves: equal to a library that others wrote, and a function of the words that a reader may read alone."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from dataclasses import replace

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_index import CLOSED, OPEN, READER, TENANT, chunk, indexed, numbered, scored

from labsupport import EVERYONE, AccessLabel, AuthorizedRetriever, Document, Index, Principal, generate, idf, tokenize

CASES = {
    "B01": "test_a_word_in_half_the_chunks_still_counts",
    "B02": "test_a_common_word_never_turns_the_ranking_round",
    "B03": "test_an_empty_corpus_and_an_empty_question_find_nothing_and_say_nothing",
    "B04": "test_only_chunks_that_hold_a_word_are_returned",
    "B09": "test_chunks_without_a_token_count_nowhere",
    "B10": "test_a_repeated_word_counts_twice",
    "B11": "test_one_shelf_and_twenty_shelves_give_the_same_bits",
}

WORDS = ("acme", "wire", "fee", "pmt-771", "the", "and", "shuttle", "été")
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
corpora = st.lists(texts, min_size=1, max_size=12)
questions = st.lists(st.sampled_from((*WORDS, "unseen")), min_size=1, max_size=5)
k1s = st.one_of(st.sampled_from((0.0, 0.9, 1.2, 1.5, 2.0)), st.floats(0, 5))
bs = st.one_of(st.sampled_from((0.0, 0.4, 0.75, 1.0)), st.floats(0, 1))


def ranked(index: Index, query: str, principal: Principal = READER, limit: int | None = None) -> list[tuple[str, float]]:
    return scored(index.lexical(query, principal=principal, limit=limit))


# --- properties -----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(corpora, questions, k1s, bs)
def test_a_well_known_library_gives_the_same_scores(corpus, question, k1, b):
    """bm25s, an outside oracle: its `atire` saturation with its `lucene` idf is the formula of the lesson, words as a multiset."""
    held = [tokenize(text) for text in corpus if tokenize(text)]  # what has no token is no chunk for the library
    if not held:
        assert ranked(indexed(corpus, k1=k1, b=b), " ".join(question)) == []
        return
    oracle = bm25s.BM25(method="atire", idf_method="lucene", dtype="float64", k1=k1, b=b)
    oracle.index(held, show_progress=False)
    asked = [word for word in question if word in oracle.vocab_dict]
    expected = oracle.get_scores(asked) if asked else np.zeros(len(held))
    places = [place for place, text in enumerate(corpus) if tokenize(text)]
    found = dict(ranked(indexed(corpus, k1=k1, b=b), " ".join(question)))
    assert len(found) == int((expected > 0).sum())
    for place, score in zip(places, expected.tolist(), strict=True):
        assert found.get(f"d{place:03}", 0.0) == pytest.approx(score, rel=1e-6, abs=1e-12)


def test_a_larger_corpus_gives_the_librarys_scores_for_rare_and_for_common_words():
    """Few postings among many chunks are summed in another way than many: both give what the library gives."""
    corpus = generate(2_000, visible=1.0, tenant=TENANT, queries=40)
    index = indexed(corpus.chunks)
    oracle = bm25s.BM25(method="atire", idf_method="lucene", dtype="float64", k1=1.5, b=0.75)
    oracle.index([tokenize(page.text) for page in corpus.chunks], show_progress=False)
    ids = [page.chunk_id for page in corpus.chunks]
    postings = []
    for question in corpus.queries:
        for words in (question.split(), question.split()[-1:]):
            expected = dict(zip(ids, oracle.get_scores(words).tolist(), strict=True))
            ranking = index.lexical(" ".join(words), principal=READER, limit=None)
            postings.append(ranking.postings)
            assert {hit.chunk_id for hit in ranking} == {name for name, score in expected.items() if score > 0}
            assert all(hit.score == pytest.approx(expected[hit.chunk_id], rel=1e-6) for hit in ranking)
    assert min(postings) * 32 < len(ids) < max(postings) * 32, "both ways were gone"


@given(corpora, questions, k1s, bs)
def test_the_formula_of_the_lesson_word_by_word(corpus, question, k1, b):
    """The sum as notebook 02 writes it, chunk by chunk and word by word, without an index."""
    bags = [Counter(tokenize(text)) for text in corpus]
    lengths = [bag.total() for bag in bags]
    n = sum(map(bool, lengths))
    expected = {}
    for place, bag in enumerate(bags):
        total = 0.0
        for word in question:
            df = sum(word in other for other in bags)
            if bag[word]:
                norm = 1 - b + b * lengths[place] / (sum(lengths) / n)
                total += math.log((n - df + 0.5) / (df + 0.5) + 1) * bag[word] * (k1 + 1) / (bag[word] + k1 * norm)
        if total:
            expected[f"d{place:03}"] = total
    found = dict(ranked(indexed(corpus, k1=k1, b=b), " ".join(question)))
    assert found.keys() == expected.keys()
    assert all(found[name] == pytest.approx(expected[name], rel=1e-12) for name in expected)


@given(corpora, questions, st.randoms(use_true_random=False))
def test_neither_the_order_of_words_nor_of_insertion_moves_a_bit(corpus, question, random):
    chunks = numbered(corpus)
    expected = ranked(indexed(chunks), " ".join(question))
    shuffled = indexed(random.sample(chunks, len(chunks)))
    assert ranked(shuffled, " ".join(random.sample(question, len(question)))) == expected
    one_by_one = Index(tenant=TENANT)
    for page in random.sample(chunks, len(chunks)):
        one_by_one.add_many([page])
    assert ranked(one_by_one, " ".join(question)) == expected


@given(corpora, questions, st.integers(1, 20), st.randoms(use_true_random=False))
def test_one_shelf_and_twenty_shelves_give_the_same_bits(corpus, question, shelves, random):
    """Shelves are how it is stored. Statistics are sums over the open ones, so that scores from shelf to shelf are one scale."""
    labels = [AccessLabel(TENANT, "internal", None, frozenset({EVERYONE, f"g{n}"})) for n in range(shelves)]
    chunks = numbered(corpus)
    split = indexed([replace(page, label=random.choice(labels)) for page in chunks])
    for limit in (None, 3):
        assert ranked(split, " ".join(question), limit=limit) == ranked(indexed(chunks), " ".join(question), limit=limit)


@given(corpora, corpora, questions)
def test_what_lies_on_a_closed_shelf_moves_nothing(corpus, hidden, question):
    query = " ".join(question)
    both = indexed([*numbered(corpus), *numbered(hidden, CLOSED, first="x")])
    assert ranked(both, query) == ranked(indexed(corpus), query)
    everything = Principal("cleared", TENANT, "restricted")
    assert ranked(both, query, everything) == ranked(indexed([*numbered(corpus), *numbered(hidden, first="x")]), query)


@given(corpora, questions, st.integers(1, 13))
def test_a_limit_cuts_and_changes_nothing_else(corpus, question, limit):
    index = indexed(corpus)
    everything = index.lexical(" ".join(question), principal=READER, limit=None)
    cut = index.lexical(" ".join(question), principal=READER, limit=limit)
    assert list(cut) == list(everything)[:limit]
    assert [hit.lexical_rank for hit in everything] == list(range(1, len(everything) + 1))
    assert scored(everything) == sorted(scored(everything), key=lambda pair: (-pair[1], pair[0]))


@given(st.integers(1, 30), st.integers(1, 30), st.floats(0, 3), st.floats(0, 1))
def test_one_more_occurrence_never_lowers_a_score(times, padding, k1, b):
    """At the same length: a word of the padding turns into the word that is asked for."""
    pages = ["wire " * count + "pad " * (times + padding - count) for count in (times, times + 1)]
    fewer, more = (dict(ranked(indexed([page, "something else"], k1=k1, b=b), "wire"))["d000"] for page in pages)
    assert more > fewer if k1 > 1e-6 else more >= fewer


@given(corpora, questions)
def test_the_work_is_the_postings_of_the_open_shelves_and_nothing_else(corpus, question):
    """Speed as a count, on any machine: one posting for each chunk that a reader may read and each distinct word that it holds."""
    hidden = numbered((f"{text} {' '.join(question)}" for text in corpus), CLOSED, first="x")
    index = indexed([*numbered(corpus), *hidden])
    df = sum(word in tokenize(text) for word in set(question) for text in corpus)
    assert index.lexical(" ".join(question), principal=READER, limit=1).postings == df
    records = []
    AuthorizedRetriever(index, audit=records.append).retrieve(" ".join(question), READER)
    dense = index.dense(" ".join(question), principal=READER, collisions=False)
    assert records[0].postings_read == df + dense.postings == 2 * df, "each leg reads them once"
    assert records[0].vectors_read == dense.vectors == sum(not set(question).isdisjoint(tokenize(text)) for text in corpus)


# --- what goes in, comes out and leaves ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abcd"), texts), min_size=1, max_size=12), questions, st.sets(st.sampled_from("abcd")))
def test_statistics_after_edits_and_deaths_are_those_of_what_lives(edits, question, dead):
    """A shelf that was written to and cut many times counts like one that was filled once."""
    index, live = Index(tenant=TENANT), {}
    for version, (name, text) in enumerate(edits, start=1):
        index.add(Document(name, TENANT, name, text, version=version))
        live[name] = Document(name, TENANT, name, text, version=version)
    for name in sorted(dead):
        index.tombstone_doc(name)
        live.pop(name, None)
    fresh = Index(tenant=TENANT)
    fresh.add_many(live.values())
    query = " ".join(question)
    assert list(index.lexical(query, principal=READER, limit=None)) == list(fresh.lexical(query, principal=READER, limit=None))
    assert index.lexical(query, principal=READER).postings == fresh.lexical(query, principal=READER).postings
    words = {word for shelf in index._namespace(TENANT).shelves.values() for word in shelf.terms}
    assert words == {word for document in live.values() for word in tokenize(document.text)}, "a dead word stays in no memory"


# --- examples -------------------------------------------------------------------------------------------------------


def test_a_word_in_half_the_chunks_still_counts():
    index = indexed(["hello there good man", "it is quite windy in london"], k1=1.2)
    ((first, score),) = ranked(index, "windy london")
    assert first == "d001"
    assert score == pytest.approx(sum(math.log(2) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / 5)) for _ in range(2)))
    common = indexed(["wire"] * 9 + ["wire fee"])
    assert all(score > 0 for _, score in ranked(common, "wire")) and len(ranked(common, "wire")) == 10


def test_a_common_word_never_turns_the_ranking_round():
    index = indexed(["pink " * 10, "blue blue blue blue pink", "red red blue purple pink"], b=0, k1=1.2)
    (first, one), (_, other), (_, third) = ranked(index, "pink")
    assert first == "d000" and one > other == third > 0
    assert one == pytest.approx(idf(3, 3) * 10 * 2.2 / (10 + 1.2)), "df counts chunks, not occurrences"


def test_an_empty_corpus_and_an_empty_question_find_nothing_and_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for corpus in ([], ["", "  ", "!!!"]):
            assert ranked(indexed(corpus), "x") == ranked(indexed(corpus), "???") == ranked(indexed(corpus), "") == []
        for query in ("", "???", "unseen"):
            ranking = indexed(["a b"]).lexical(query, principal=READER)
            assert (list(ranking), ranking.postings) == ([], 0)


def test_only_chunks_that_hold_a_word_are_returned():
    found = ranked(indexed(["foo", "dog", "baz", "quick god", "quick fox"]), "quick", limit=5)
    assert [name for name, _ in found] == ["d003", "d004"] and found[0][1] == found[1][1] > 0


def test_chunks_without_a_token_count_nowhere():
    corpus = ["acme wire fee", "acme shuttle", "the fee"]
    before = ranked(indexed(corpus), "acme fee")
    assert ranked(indexed([*corpus, "", "---", "\u2014 \u2026"]), "acme fee") == before
    assert ranked(indexed([*corpus, "the and"]), "acme fee") != before, "a stop word is a word like any other"


def test_a_repeated_word_counts_twice():
    index = indexed(["alice met bob", "alice", "bob bob", "carol"])
    once, twice = dict(ranked(index, "alice")), dict(ranked(index, "alice alice"))
    assert {name: 2 * score for name, score in once.items()} == twice
    both, more = dict(ranked(index, "alice bob")), dict(ranked(index, "alice alice bob"))
    assert more["d000"] == pytest.approx(both["d000"] + once["d000"]) and more["d002"] == both["d002"]


def test_ties_at_the_cut_are_settled_by_id():
    pages = [chunk(name, "acme wire") for name in "zyxwvutsrq"]
    index = indexed([*pages, chunk("a", "acme fee shuttle")])
    assert [name for name, _ in ranked(index, "acme", limit=3)] == ["q", "r", "s"]
    assert len({score for _, score in ranked(index, "wire")}) == 1


def test_a_tie_is_one_under_any_split_of_shelves():
    """Ten equal chunks on two shelves and a cut in the middle: the id decides, not the shelf."""
    other = replace(OPEN, acl=frozenset({EVERYONE, "desk"}))
    index = indexed(chunk(f"c{n}", "acme wire", other if n % 2 else OPEN) for n in range(10))
    assert [name for name, _ in ranked(index, "acme", limit=5)] == [f"c{n}" for n in range(5)]


@pytest.mark.parametrize("setting", [
    {"k1": -0.1}, {"k1": math.inf}, {"k1": math.nan}, {"k1": "1.5"}, {"k1": None}, {"k1": True}, {"b": -0.1}, {"b": 1.1},
    {"b": math.nan}, {"b": "0.75"}, {"b": True},
], ids=str)
def test_k1_and_b_out_of_bounds_are_refused_by_name(setting):
    ((name, value),) = setting.items()
    with pytest.raises(ValueError, match=rf"^{name} must be .*got {re.escape(repr(value))}$"):
        Index(**setting)


@pytest.mark.parametrize("tokenizer", [None, 5, "split", str.lower, lambda text: text])
def test_a_tokenizer_that_gives_no_list_of_words_is_refused(tokenizer):
    """A string would be taken letter by letter, and everything would match everything."""
    with pytest.raises(TypeError, match="tokenizer must map a text to a list of words"):
        Index(tokenizer=tokenizer)


def test_words_are_what_the_index_cuts_with_from_end_to_end():
    """A tokenizer of one's own: the leg finds by it, and the second look counts by it, so that its floor drops nothing found."""
    index = indexed(["the fee of a wire", "a shuttle"], tokenizer=lambda text: [word.rstrip("s") for word in tokenize(text)])
    assert [name for name, _ in ranked(index, "fees")] == ["d000"]
    (hit,) = AuthorizedRetriever(index).retrieve("fees", READER).hits
    assert hit.score == 1 + 0.25 / 5


@pytest.mark.parametrize("limit", [0, -1, 2.0, True, "3"])
def test_a_limit_that_is_no_count_is_refused(limit):
    with pytest.raises(ValueError, match="limit must be a whole number from 1"):
        indexed(["acme"]).lexical("acme", principal=READER, limit=limit)


@given(st.integers(1, 1000), st.data())
def test_idf_is_positive_and_falls_as_a_word_gets_common(n, data):
    df = data.draw(st.integers(0, n - 1))
    assert idf(n, df) > idf(n, df + 1) > 0
