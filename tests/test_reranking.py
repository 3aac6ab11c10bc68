"""The second look: a pair at a time, over a few, with a strict floor, in a total order."""

from __future__ import annotations

import inspect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_index import READER, chunk, indexed

from labsupport import Chunk, Hit, lexical_overlap_reranker, rerank, tokenize
from labsupport.model import EVERYONE, AccessLabel

WORDS = ("acme", "wire", "fee", "pmt-771", "the", "été")
texts = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
questions = st.lists(st.sampled_from((*WORDS, "unseen")), max_size=4).map(" ".join)
scores = st.one_of(st.sampled_from((-1.0, 0.0, 0.5)), st.floats(-5, 5))


def candidates(texts_or_scores) -> list[Hit]:
    return [Hit(chunk(f"d{place:03}", str(text)), 1.0 / (61 + place), lexical_rank=place + 1)
            for place, text in enumerate(texts_or_scores)]


def by_text(query: str, page: Chunk) -> float:
    return float(page.text)


@given(st.lists(scores, max_size=12), scores, st.integers(1, 13), st.randoms(use_true_random=False))
def test_it_keeps_what_is_strictly_above_the_floor_in_a_total_order(numbers, floor, limit, random):
    hits = candidates(numbers)
    found = rerank("?", hits, reranker=by_text, limit=limit, min_score=floor)
    expected = sorted((-score, f"d{place:03}") for place, score in enumerate(numbers) if score > floor)
    assert [(-hit.score, hit.chunk_id) for hit in found] == expected[:limit]
    assert found == rerank("?", random.sample(hits, len(hits)), reranker=by_text, limit=limit, min_score=floor)
    assert found == rerank("?", hits, reranker=by_text, limit=limit + 1, min_score=floor)[:limit], "a smaller limit is a prefix"


@given(questions, texts)
def test_the_stand_in_is_the_formula_of_the_lesson(query, text):
    wanted, words = set(tokenize(query)), tokenize(text)
    expected = 0.0
    if wanted and words:
        expected = len(wanted & set(words)) / len(wanted) + 0.25 * sum(word in wanted for word in words) / len(words)
    found = lexical_overlap_reranker(query, chunk("d", text))
    assert found == pytest.approx(expected, rel=1e-15) and 0.0 <= found <= 1.25
    assert (found > 0) == bool(wanted & set(words)), "no shared word, no score: the floor at 0 drops it"


def test_the_ranks_of_the_legs_and_the_chunk_survive():
    (hit,) = rerank("acme", candidates(["acme wire"]))
    assert (hit.lexical_rank, hit.dense_rank, hit.chunk.text) == (1, None, "acme wire")
    assert hit.score == 1.0 + 0.25 / 2


def test_headings_are_read_with_the_text():
    label = AccessLabel("library", "internal", None, frozenset({EVERYONE}))
    page = Chunk("leave#parental", "leave", 1, "16 weeks", ("Leave", "Parental leave"), 0, 8, label, 0)
    assert lexical_overlap_reranker("parental leave", page) == 1.0 + 0.25 * 3 / 5


def test_without_a_floor_the_least_irrelevant_looks_like_an_answer():
    pages = candidates(["shuttle to the desk", "nothing of it"])
    assert rerank("acme wire", pages) == []
    assert [hit.score for hit in rerank("acme wire", pages, min_score=-math.inf)] == [0.0, 0.0]


def test_a_score_at_the_floor_is_out():
    assert rerank("?", candidates([0.5, 0.25]), reranker=by_text, min_score=0.5) == []
    assert len(rerank("?", candidates([0.5, 0.25]), reranker=by_text, min_score=math.nextafter(0.5, 0))) == 1


def test_it_reads_pairs_and_never_the_index():
    """What makes it dear is that the question is in every pair: one call for each candidate, with the question as it was put."""
    asked = []
    index = indexed([f"acme wire {n}" for n in range(50)])
    few = index.lexical("acme", principal=READER, limit=4)
    rerank("acme fee?", few, reranker=lambda query, page: asked.append((query, page.chunk_id)) or 1.0)
    assert asked == [("acme fee?", hit.chunk_id) for hit in few]
    assert list(inspect.signature(rerank).parameters)[:2] == ["query", "candidates"]


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -1}, {"limit": 1.5}, {"limit": True}, {"limit": None},
                                     {"min_score": math.nan}, {"min_score": "0"}, {"min_score": None}], ids=str)
def test_bad_bounds_are_refused_by_name(options):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=rf"^{name} must be .*got {value!r}$"):
        rerank("acme", candidates(["acme"]), **options)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="must be finite"):
        rerank("acme", candidates(["acme"]), reranker=lambda query, page: value)


def test_nothing_in_gives_nothing_out():
    assert rerank("acme", []) == [] and rerank("", candidates(["acme"])) == [] and rerank("???", candidates(["acme"])) == []
