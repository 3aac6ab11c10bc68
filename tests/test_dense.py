"""The dense leg: exact whatever lies beside, never a match by collision, and no vector that was not checked is ever stored."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_index import CLOSED, OPEN, READER, TENANT, Table, chunk, indexed, numbered, scored

from labsupport import (
    EVERYONE,
    AuthorizedRetriever,
    Document,
    EmbeddingFailed,
    EmbeddingMismatch,
    Index,
    cosine,
    hash_embed,
    tokenize,
)
from labsupport.embedding import HashEmbedder, as_embedder, embed

CASES = {
    "B12": "test_zero_and_broken_vectors_never_win",
    "B13": "test_a_blank_chunk_is_like_nothing",
}

WORDS = ("acme", "wire", "fee", "pmt-771", "the", "and", "shuttle", "été", "desk", "limit")
texts = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
questions = st.lists(st.sampled_from((*WORDS, "unseen")), min_size=1, max_size=4).map(" ".join)
numbers = st.floats(-8, 8, width=32).map(float)
vectors = arrays(np.float64, 5, elements=numbers)


def ranked(index: Index, query: str = "asked", **options) -> list[tuple[str, float]]:
    return scored(index.dense(query, principal=READER, **{"limit": None, **options}))


def bits(ranking) -> list[tuple[str, bytes]]:
    return [(name, struct.pack(">d", score)) for name, score in ranking]


def table(rows, question, **options) -> tuple[Table, list[str]]:
    """An embedder that knows the given rows by the texts t0, t1, … and the question `asked`."""
    names = [f"t{place}" for place in range(len(rows))]
    return Table({**dict(zip(names, rows, strict=True)), "asked": question}, **options), names


# --- properties -----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(vectors, min_size=1, max_size=30), vectors, st.integers(1, 31), st.integers(1, 4))
def test_the_top_is_that_of_exact_arithmetic(rows, question, limit, shelves):
    """Brute force in fractions over the stored float32 vectors: no score is further off than float64 rounds, no place is wrong."""
    embedder, names = table(rows, question)
    labels = [replace(OPEN, acl=frozenset({EVERYONE, f"g{n}"})) for n in range(shelves)]
    index = indexed([chunk(name, name, labels[place % shelves]) for place, name in enumerate(names)], embedder=embedder)
    stored, (asked,) = embed(embedder, names), embed(embedder, ["asked"])
    exact = {name: sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, asked)) for name, row in zip(names, stored)}
    everything, top = ranked(index), ranked(index, limit=limit)
    assert bits(top) == bits(everything[:limit]), "the product that preselects lost one of the best"
    assert [score for _, score in everything] == sorted((score for _, score in everything), reverse=True)
    for name, score in everything:
        assert abs(Fraction(score) - exact[name]) < Fraction(1, 10**14) and score > 0
    returned = {name for name, _ in everything}
    assert all(exact[name] < Fraction(1, 10**14) for name in names if name not in returned)


@given(st.lists(texts, min_size=1, max_size=8), st.lists(texts, max_size=8), questions, st.randoms(use_true_random=False))
def test_a_score_is_a_function_of_the_two_vectors_alone(corpus, others, query, random):
    """Wherever the row lies, on whatever shelf, and whatever else is stored, readable or not: the same bits."""
    expected = dict(bits(ranked(indexed(corpus), query)))
    chunks = numbered(corpus) + numbered(others, first="x") + numbered(others, CLOSED, first="y")
    beside = indexed(random.sample(chunks, len(chunks)))
    found = {name: score for name, score in bits(ranked(beside, query)) if name[0] == "d"}
    assert found == expected
    for name, score in expected.items():
        alone = indexed([chunk(name, corpus[int(name[1:])])])
        assert bits(ranked(alone, query)) == [(name, score)]


def test_the_last_bits_do_not_depend_on_the_place_among_thousands():
    """A matrix product sums in another order at the edge of a block; equal texts must still tie."""
    embedder, _ = table([], np.linspace(0.1, 1.7, 96), dimensions=96)
    embedder.vectors |= {f"w{n}": np.sin(np.arange(96) * (n + 1.3)) for n in range(2000)} | {"same": np.cos(np.arange(96) * 0.01)}
    filler = [chunk(f"f{n:04}", f"w{n}") for n in range(2000)]
    twins = [chunk(f"t{n}", "same") for n in range(9)]
    for place in range(9):
        filler.insert(place * 223, twins[place])
    index = indexed(filler, embedder=embedder)
    everything = ranked(index)
    assert len({score for name, score in everything if name[0] == "t"}) == 1
    for limit in (1, 3, 8, 50):
        assert bits(ranked(index, limit=limit)) == bits(everything[:limit])


@pytest.mark.parametrize("shelves", [1, 3])
def test_the_product_that_preselects_loses_nothing_where_its_last_bits_lie(shelves):
    """Hundreds of vectors that differ by less than a float32 product rounds: its own order is wrong where the cut falls."""
    draw = np.random.Generator(np.random.PCG64(7))
    base = draw.normal(size=96)
    embedder, names = table(base + 1e-7 * draw.normal(size=(400, 96)), base)
    labels = [replace(OPEN, acl=frozenset({EVERYONE, f"g{n}"})) for n in range(shelves)]
    index = indexed([chunk(name, name, labels[place % shelves]) for place, name in enumerate(names)], embedder=embedder)
    everything = ranked(index)
    product = (embed(embedder, names) @ embed(embedder, ["asked"])[0]).astype(float)
    assert [names[place] for place in np.argsort(-product, kind="stable")][:50] != [name for name, _ in everything][:50]
    for limit in (1, 3, 10, 50):
        assert bits(ranked(index, limit=limit)) == bits(everything[:limit])


@given(st.lists(texts, min_size=1, max_size=8), questions, st.integers(1, 9))
def test_ranks_have_no_gaps_and_a_limit_is_a_prefix(corpus, query, limit):
    index = indexed(corpus)
    for collisions in (True, False):
        everything = index.dense(query, principal=READER, limit=None, collisions=collisions)
        assert [hit.dense_rank for hit in everything] == list(range(1, len(everything) + 1))
        assert list(index.dense(query, principal=READER, limit=limit, collisions=collisions)) == list(everything)[:limit]
        assert scored(everything) == sorted(scored(everything), key=lambda pair: (-pair[1], pair[0]))


@given(st.lists(texts, min_size=1, max_size=8), questions, st.integers(1, 4))
def test_with_hashes_a_collision_is_no_match(corpus, query, dimensions):
    """So few slots that words collide all the time. The raw list shows it; what a search uses does not hold one."""
    index = indexed(corpus, embedder=HashEmbedder(dimensions))
    raw = ranked(index, query)
    sharing = {f"d{place:03}" for place, text in enumerate(corpus) if not set(tokenize(text)).isdisjoint(tokenize(query))}
    assert ranked(index, query, collisions=False) == [(name, score) for name, score in raw if name in sharing]
    found = AuthorizedRetriever(index, reranker=None).retrieve(query, READER).hits
    assert {hit.chunk_id for hit in found} <= sharing
    assert {row["chunk_id"] for row in index.query(query, groups=(), k=50)} == sharing


@given(arrays(np.float64, (4, 6), elements=numbers), st.integers(-700, 700))
def test_only_the_direction_of_a_vector_counts(rows, power):
    """Unnormalised vectors, tiny and huge ones too: times a power of two, the same bits are stored."""
    plain, scaled = table(rows[1:], rows[0])[0], table(np.ldexp(rows, power)[1:], np.ldexp(rows, power)[0])[0]
    names = ["t0", "t1", "t2", "asked"]
    ours = embed(plain, names)
    # A row of length 1 is kept as it comes.
    assume(all(abs(math.hypot(*row) - 1) > 1e-5 for row in (*rows.tolist(), *np.ldexp(rows, power).tolist())))
    assert np.array_equal(embed(scaled, names), ours)
    lengths = np.linalg.norm(ours.astype(float), axis=1)
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6))


@given(vectors, vectors, st.integers(-400, 400))
def test_cosine_is_symmetric_bounded_and_blind_to_length(a, b, power):
    assert cosine(a, b) == cosine(b, a) == cosine(np.ldexp(a, power), b)
    assert -1.0 <= cosine(a, b) <= 1.0 and cosine(a, -b) == -cosine(a, b)
    length = math.sqrt(math.fsum(x * x for x in a)) * math.sqrt(math.fsum(x * x for x in b))
    assume(length > 1e-30)
    assert cosine(a, b) == pytest.approx(math.fsum(x * y for x, y in zip(a, b)) / length, abs=1e-14)


@given(texts)
def test_the_stored_vector_is_hash_embed_of_what_is_ranked(text):
    """The index numbers its words once for both legs; the vectors are those of `hash_embed` all the same, bit for bit."""
    index = Index(tenant=TENANT)
    document = Document("d", TENANT, "a title", f"## Limits of the desk\n\n{text} acme")
    (page,) = index.add(document)
    stored = index._namespace(TENANT).vector(page)
    assert np.array_equal(stored, hash_embed(f"Limits of the desk\n{page.text}"))


# --- what is wrong is refused whole ---------------------------------------------------------------------------------


class Broken:
    """An embedder that is fine until it is told to fail in one way."""

    name, dimensions, knows_meaning = "broken", 3, True

    def __init__(self):
        self.answer = None

    def __call__(self, texts):
        good = np.array([[1.0, len(text), 2.0] for text in texts])
        return good if self.answer is None else self.answer(good)


def raising(good):
    raise RuntimeError("the model is gone")


def poisoned(value):
    def answer(good):
        good[-1, 0] = value
        return good

    return answer


FAILURES = {
    "raises": raising,
    "NaN": poisoned(math.nan),
    "infinite": poisoned(-math.inf),
    "one vector too few": lambda good: good[:-1],
    "one vector too many": lambda good: np.concatenate([good, good[:1]]),
    "other dimensions": lambda good: good[:, :2],
    "one dimension less": lambda good: good[0],
    "one axis more": lambda good: good[:, :, None],
    "nothing": lambda good: None,
    "words": lambda good: [["a", "b", "c"]] * len(good),
    "ragged": lambda good: [[1.0, 2.0, 3.0]] * (len(good) - 1) + [[1.0]],
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failing_embedder_leaves_nothing_half_stored(failure):
    broken = Broken()
    index = Index(tenant=TENANT, embedder=broken)
    index.add(Document("a", TENANT, "a", "acme wire"))
    before = (ranked(index, "acme"), scored(index.lexical("acme fee", principal=READER)), index.open_labels(READER))
    broken.answer = failure
    for call in (
        lambda: index.add(Document("b", TENANT, "b", "acme fee")),
        lambda: index.add_many([Document("c", TENANT, "c", "acme"), Document("a", TENANT, "a", "acme fee fee", version=2)]),
        lambda: index.upsert(chunk_id="u", doc_id="u", text="acme", acl=[EVERYONE], version=1),
        lambda: index.rebuild(broken),
        lambda: ranked(index, "acme"),
    ):
        with pytest.raises(EmbeddingFailed):
            call()
    broken.answer = None
    assert (ranked(index, "acme"), scored(index.lexical("acme fee", principal=READER)), index.open_labels(READER)) == before
    index.add(Document("b", TENANT, "b", "acme fee"))
    assert len(ranked(index, "acme")) == 2, "and the same job, run again, is stored"


def test_a_failed_embedding_repeats_no_text():
    index = Index(embedder=Table({"probe": [1.0]}, name="m"))
    index.embedder.vectors = None
    with pytest.raises(EmbeddingFailed) as failure:
        index.add(Document("a", "default", "a", "the secret number is 771"))
    assert "771" not in str(failure.value) and "'m'" in str(failure.value)


def test_an_embedder_keeps_its_own_numbers():
    """What it returned may be its cache: normalising must not write into it."""
    kept = np.array([[3.0, 4.0]])
    embedder = Table({"asked": [1.0, 0.0]})
    embedder.__class__ = type("Caching", (Table,), {"__call__": lambda self, texts: kept})
    assert np.array_equal(embed(embedder, ["x"]), np.float32([[0.6, 0.8]]))
    assert np.array_equal(kept, [[3.0, 4.0]])
    kept.flags.writeable = False
    assert np.array_equal(embed(embedder, ["x"]), np.float32([[0.6, 0.8]]))


def test_zero_and_broken_vectors_never_win():
    embedder, names = table([[1, 0], [0.5, 0.5], [0, 0], [-1, 0]], [1, 0])
    index = indexed((chunk(name, name) for name in names), embedder=embedder)
    assert ranked(index, limit=2) == [("t0", 1.0), ("t1", pytest.approx(0.7071, abs=1e-4))]
    assert [name for name, _ in ranked(index)] == ["t0", "t1"]
    for value in (math.nan, math.inf):
        embedder.vectors["bad"] = np.array([value, 1.0])
        with pytest.raises(EmbeddingFailed, match="not finite"):
            index.add_many([chunk("bad", "bad")])
    embedder.vectors["asked"] = np.zeros(2)
    assert ranked(index) == [], "a question that is like nothing finds nothing"


def test_a_blank_chunk_is_like_nothing():
    index = indexed(["", "email address", "placeholder", " \n "])
    for query in ("count active customers", "email"):
        assert {name for name, _ in ranked(index, query)} <= {"d001", "d002"}
    assert index.add(Document("blank", TENANT, "blank", " \n\n ")) == []


@pytest.mark.parametrize("answer", [lambda text: [3.0, float(len(text)), 1.0], lambda text: np.ones(3, np.float32)])
def test_a_bare_function_of_one_text_is_an_embedder(answer):
    def one(text):
        assert isinstance(text, str)
        return answer(text)

    made = as_embedder(one)
    assert (made.dimensions, made.knows_meaning) == (3, True) and made.name.endswith("one")
    assert embed(made, ["a", "bb"]).shape == (2, 3)
    assert [name for name, _ in ranked(indexed(["acme wire"], embedder=one), "anything")] == ["d000"]


def test_a_bare_function_of_a_list_is_an_embedder_and_is_asked_once_for_all():
    asked = []

    def many(texts):
        assert isinstance(texts, list)
        asked.append(len(texts))
        return np.array([[1.0, len(text)] for text in texts])

    index = indexed(["acme", "wire", "fee"], embedder=many)
    assert asked == [1, 3] and len(ranked(index)) == 3


def test_a_function_that_takes_both_is_asked_with_a_list():
    def both(texts):
        return np.ones(2) if isinstance(texts, str) else np.ones((len(texts), 2))

    assert as_embedder(both).batched


@pytest.mark.parametrize("function", [
    lambda texts: 1.0, lambda texts: [], lambda texts: [[]], raising, lambda texts: np.ones((2, 2, 2)),
], ids=["a number", "nothing", "no dimension", "raises", "three axes"])
def test_a_function_that_is_no_embedder_is_refused_at_the_door(function):
    with pytest.raises(EmbeddingFailed, match="maps a list of n texts to"):
        Index(embedder=function)
    with pytest.raises(TypeError, match="callable"):
        Index(embedder=5)


@pytest.mark.parametrize("dimensions", [0, -1, 1.5, True, "96"])
def test_dimensions_that_are_no_count_are_refused(dimensions):
    with pytest.raises(ValueError, match="dimensions must be a whole number from 1"):
        hash_embed("acme", dimensions)


@pytest.mark.parametrize("a, b", [([1, 2], [1]), ([[1.0]], [[1.0]]), (1.0, 1.0), ([math.nan], [1.0]), ([math.inf], [1.0])])
def test_cosine_refuses_what_has_no_angle(a, b):
    with pytest.raises(ValueError, match="cosine needs"):
        cosine(a, b)
    assert cosine([0, 0], [1, 2]) == 0.0 and cosine([], []) == 0.0


# --- one model at a time --------------------------------------------------------------------------------------------


def test_two_models_of_one_size_never_mix():
    """Same dimensions, another name: every door refuses, and nothing changes."""
    one = Table({"acme wire": [1, 0], "acme fee": [0, 1], "asked": [1, 1]}, name="one")
    index = indexed(["acme wire", "acme fee"], embedder=one)
    before = ranked(index)
    right, index.embedder = index.embedder, Table({"asked": [1, 1]}, name="two")
    for call in (
        lambda: ranked(index),
        lambda: index.add_many([chunk("new", "acme")]),
        lambda: index.query("acme", groups=()),
        lambda: AuthorizedRetriever(index).retrieve("acme", READER),
    ):
        with pytest.raises(EmbeddingMismatch, match="'one', 2.*'two', 2.*rebuild"):
            call()
    index.embedder = right
    assert ranked(index) == before


def test_a_saved_index_is_refused_to_another_model(tmp_path):
    index = indexed(["acme wire"], embedder=partial(hash_embed, dimensions=64))
    index.save(tmp_path / "index")
    with pytest.raises(EmbeddingMismatch, match="hash-blake2b-64.*hash-blake2b-96"):
        Index.load(tmp_path / "index")
    loaded = Index.load(tmp_path / "index", embedder=partial(hash_embed, dimensions=64))
    assert ranked(loaded, "acme") == ranked(index, "acme")


def test_one_function_with_two_models_filled_in_is_two_embedders_and_its_name_tells_no_key():
    def encode(text, *, model, key="k"):
        return [1.0, float(len(model))]

    small, large, again = (as_embedder(partial(encode, model=model, key="sk-secret")) for model in ("small", "large", "small"))
    assert small.name == again.name != large.name and "secret" not in small.name
    index = indexed(["acme"], embedder=partial(encode, model="small"))
    index.embedder = as_embedder(partial(encode, model="large"))
    with pytest.raises(EmbeddingMismatch):
        ranked(index, "acme")


def test_a_rebuild_embeds_all_of_it_at_one_instant():
    """The new model asks the index while it is at work: until the swap the old vectors answer, after it only the new ones."""
    seen = []
    index = indexed([*numbered(["acme wire", "acme fee"]), *numbered(["acme", "acme"], CLOSED, first="x")])
    before, words = ranked(index, "acme"), scored(index.lexical("acme", principal=READER))

    class Asking(Table):
        def __call__(self, texts):
            if len(texts) > 1:
                seen.append((len(texts), ranked(index, "acme")))
            return super().__call__(texts)

    after = Asking({"acme wire": [1, 0], "acme fee": [1, 1], "acme": [1, 0]}, name="asking")
    index.rebuild(after)
    assert seen == [(2, before), (2, before)], "shelf by shelf, and the old vectors answer until the last one is done"
    assert [name for name, _ in ranked(index, "acme")] == ["d000", "d001"] and ranked(index, "acme")[0][1] == 1.0
    assert scored(index.lexical("acme", principal=READER)) == words
    index.rebuild(hash_embed)
    assert bits(ranked(index, "acme")) == bits(before)


def test_a_rebuild_that_fails_changes_nothing():
    index = indexed(["acme wire", "acme fee"])
    before = bits(ranked(index, "acme"))
    with pytest.raises(EmbeddingFailed):
        index.rebuild(Table({"acme wire": [1, 0], "acme fee": [math.nan, 0]}))
    assert bits(ranked(index, "acme")) == before and isinstance(index.embedder, HashEmbedder)


def test_a_snapshot_outlives_a_rebuild():
    index = indexed(["acme wire", "acme fee"])
    instant, before = index.snapshot(), bits(ranked(index, "acme"))
    index.rebuild(Table({"acme wire": [1, 0], "acme fee": [0, 1]}))
    assert bits(ranked(instant, "acme")) == before and len(ranked(index, "acme")) == 0


# --- work -----------------------------------------------------------------------------------------------------------


@given(st.lists(texts, max_size=8), st.lists(texts, max_size=8), questions)
def test_the_vectors_read_are_those_of_the_open_shelves(corpus, hidden, query):
    index = indexed([*numbered(corpus), *numbered(hidden, CLOSED, first="x")])
    assert index.dense(query, principal=READER, limit=1).vectors == (len(corpus) if tokenize(query) else 0)


@pytest.mark.parametrize("nothing", ["???", "  ", "-"])
def test_a_question_without_a_token_finds_nothing_whatever_the_embedder_makes_of_it(nothing):
    index = indexed(["acme wire"], embedder=Table({"acme wire": [1, 0], nothing: [1, 0]}))
    assert index.dense(nothing, principal=READER) == []
    assert index.dense(nothing, principal=READER).vectors == 0
