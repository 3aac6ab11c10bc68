"""Reciprocal rank fusion: positions and nothing else, summed exactly, in one order whatever the order of the lists."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_index import READER, chunk, indexed, scored

from labsupport import RRF_K, Chunk, Hit, reciprocal_rank_fusion

CASES = {
    "C01": "test_ranks_count_from_one_and_an_absent_chunk_gets_nothing",
    "C02": "test_with_k_1_one_list_outweighs_two_agreeing_ones",
    "C03": "test_a_repeat_counts_once_at_its_best_rank_and_uses_up_no_place",
    "C05": "test_both_legs_speak_of_a_chunk_by_one_id_and_other_ids_are_refused",
    "C06": "test_weights_weigh_and_bad_ones_are_refused",
    "C07": "test_two_lists_that_disagree_tie_and_the_id_decides_under_every_hash_seed",
    "C09": "test_a_tie_inside_a_leg_is_settled_by_id_before_fusion",
    "C10": "test_bounds_of_k_and_of_the_limit",
}

ids = st.sampled_from("abcdefgh")
rankings = st.lists(st.lists(ids, max_size=8), max_size=4)
ks = st.one_of(st.just(RRF_K), st.integers(1, 10_000))
weights = st.one_of(st.integers(0, 5), st.floats(0, 10))


def fused(lists, **options) -> list[tuple[str, float]]:
    return scored(reciprocal_rank_fusion(lists, limit=None, **options))


def by_hand(lists, k: int, weighed) -> list[tuple[str, Fraction]]:
    """The formula of the paper in fractions, written out again."""
    sums: dict[str, Fraction] = {}
    for ranking, weight in zip(lists, weighed, strict=True):
        for rank, name in enumerate(dict.fromkeys(ranking), start=1):
            sums[name] = sums.get(name, Fraction(0)) + Fraction(weight) * Fraction(1, k + rank)
    return sorted(((name, total) for name, total in sums.items() if total), key=lambda pair: (-pair[1], pair[0]))


# --- properties -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.lists(ids, max_size=8), weights), max_size=4), ks)
def test_the_sum_is_the_papers_formula_rounded_once(pairs, k):
    lists, weighed = [ranking for ranking, _ in pairs], [weight for _, weight in pairs]
    assert fused(lists, k=k, weights=weighed) == [(name, float(total)) for name, total in by_hand(lists, k, weighed)]


@given(rankings, ks, st.randoms(use_true_random=False))
def test_the_order_of_the_lists_changes_nothing(lists, k, random):
    assert fused(random.sample(lists, len(lists)), k=k) == fused(lists, k=k)


@given(rankings, ks, st.integers(1, 10))
def test_a_limit_cuts_and_changes_nothing_else(lists, k, limit):
    assert scored(reciprocal_rank_fusion(lists, k=k, limit=limit)) == fused(lists, k=k)[:limit]


@given(rankings, st.lists(ids, min_size=1, max_size=3))
def test_what_no_list_holds_is_not_there_and_all_else_is_there_once(lists, extra):
    found = [name for name, _ in fused([*lists, extra])]
    assert len(found) == len(set(found)) and set(found) == set(extra).union(*lists)


@given(rankings, ids)
def test_one_more_place_in_a_list_never_lowers_a_chunk(lists, name):
    before = dict(fused(lists)).get(name, 0.0)
    assert dict(fused([*lists, [name]]))[name] > before


@given(st.permutations(["a", "b", "c", "d"]), st.permutations(["a", "b", "c", "d"]))
def test_scores_are_never_read(one, other):
    """The same places with every score turned round: what a leg's numbers are is nobody's business here."""
    pages = {name: chunk(name, f"the page {name}") for name in one}

    def lists(sign):
        return [[Hit(pages[name], sign * 10.0 ** place) for place, name in enumerate(ranking)] for ranking in (one, other)]

    assert fused(lists(1)) == fused(lists(-1)) == fused([one, other])


# --- examples -------------------------------------------------------------------------------------------------------


def test_ranks_count_from_one_and_an_absent_chunk_gets_nothing():
    assert fused([["X", "a", "Y"], ["b", "c", "Y"]]) == [("Y", 2 / 63), ("X", 1 / 61), ("b", 1 / 61), ("a", 1 / 62), ("c", 1 / 62)]


def test_with_k_1_one_list_outweighs_two_agreeing_ones():
    lists = [["Y", "p", "q", "X"], ["r", "s", "t", "X"]]
    assert fused(lists)[0] == ("X", 2 / 64)
    assert fused(lists, k=1)[:3] == [("Y", 0.5), ("r", 0.5), ("X", 0.4)]


def test_a_repeat_counts_once_at_its_best_rank_and_uses_up_no_place():
    """Places are closed up: after three times d1, d2 is second. (Fault D19 of the reference counts d1 three times.)"""
    assert fused([["d1", "d1", "d1", "d2"], ["d2"]]) == [("d2", float(Fraction(1, 62) + Fraction(1, 61))), ("d1", 1 / 61)]
    assert fused([["d1", "d2", "d1"]]) == [("d1", 1 / 61), ("d2", 1 / 62)]
    first, again = (Hit(chunk("d1", "a page"), 1.0, lexical_rank=rank) for rank in (1, 3))
    assert reciprocal_rank_fusion([[first, again]])[0].lexical_rank == 1


def test_first_on_one_list_is_worth_place_62_on_both():
    """Two thirds beat a first and a tenth, and two seconds lose by a hair to a first and a third."""

    def both(rank):
        return 2 * Fraction(1, RRF_K + rank)

    assert both(62) == Fraction(1, RRF_K + 1)
    filler = [[f"{leg}{place:03}" for place in range(70)] for leg in "uv"]
    for rank, first_wins in ((61, False), (63, True)):
        one, other = filler[0][:], filler[1][:]
        one[rank - 1] = other[rank - 1] = "even"
        order = [name for name, _ in fused([one, other, ["alone"]])]
        assert (order.index("alone") < order.index("even")) == first_wins
    assert Fraction(1, 61) + Fraction(1, 63) > both(2) and both(3) > Fraction(1, 61) + Fraction(1, 70)


def test_two_lists_that_disagree_tie_and_the_id_decides_under_every_hash_seed():
    tie = float(Fraction(1, 61) + Fraction(1, 62))
    assert fused([["a", "b"], ["b", "a"]]) == fused([["b", "a"], ["a", "b"]]) == [("a", tie), ("b", tie)]
    code = ("from labsupport import reciprocal_rank_fusion as f;"
            "print([(h.chunk_id, h.score) for h in f([['a', 'b', 'c'], ['c', 'b', 'a'], ['b'], ['a']])])")
    said = set()
    for seed in ("0", "1", "77"):
        run = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        said.add(run.stdout)
    assert len(said) == 1


def test_a_sum_of_many_lists_ties_exactly_where_floats_would_not():
    """1/61 + 1/62 + 1/67 in six orders: sums of floats differ in the last bit, and a deploy would change the ranking."""
    places = list(permutations((1, 2, 7)))
    names = "fedcba"
    floats = {sum(1 / (RRF_K + rank) for rank in triple) for triple in places}
    assert len(floats) > 1, "floats tie here too: this example shows nothing"
    lists = []
    for leg in range(3):
        for place, name in zip(places, names):
            lists.append([f"x{leg}{name}{n}" for n in range(place[leg] - 1)] + [name])
    order = [(name, score) for name, score in fused(lists) if name in names]
    assert [name for name, _ in order] == sorted(names) and len({score for _, score in order}) == 1


def test_weights_weigh_and_bad_ones_are_refused():
    assert fused([["a"], ["b"]], weights=[1, 0]) == [("a", 1 / 61)]
    assert fused([["a"], ["b"]], weights=[1, 4]) == [("b", 4 / 61), ("a", 1 / 61)]
    assert fused([["a"], ["b"]], weights=(weight for weight in (1, 4)))[0][0] == "b"
    for bad in ([1], [1, 2, 3], [1, -1], [1, float("nan")], [1, float("inf")], [1, "2"], [1, None], [True, True]):
        with pytest.raises(ValueError, match="weight"):
            reciprocal_rank_fusion([["a"], ["b"]], weights=bad)


def test_bounds_of_k_and_of_the_limit():
    for bad in (0, -1, -60, 1.5, 60.0, True, "60", None):
        with pytest.raises(ValueError, match="k must be a whole number from 1"):
            reciprocal_rank_fusion([["x", "y"]], k=bad)
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="limit must be a whole number from 1"):
            reciprocal_rank_fusion([["x", "y"]], limit=bad)
    assert fused([]) == fused([[], []]) == []
    assert [name for name, _ in fused([["p"], ["q"]])] == ["p", "q"] == [name for name, _ in fused([["q"], ["p"]])]
    assert [name for name, _ in fused([["x", "y", "p", "q"], ["x", "y", "q", "p"]])] == ["x", "y", "p", "q"]
    assert len(reciprocal_rank_fusion([[f"d{n}" for n in range(30)]])) == 10, "ten unless you say otherwise"


NO_RANKINGS = {"a number and a text": [[4], ["4"]], "nothing": [[None]], "a pair": [[("a", 1.0)]], "a text": ["abc"],
               "bytes": [b"abc"], "a set": [{"a", "b"}], "a mapping": [{"a": 1.0}], "no list of lists": "abc"}


@pytest.mark.parametrize("lists", NO_RANKINGS.values(), ids=NO_RANKINGS.keys())
def test_what_has_no_id_or_no_order_is_refused(lists):
    """A bare string would rank its letters, a set would rank by hash seed, and pairs of id and score would fuse with nothing."""
    with pytest.raises(TypeError, match="ranking"):
        reciprocal_rank_fusion(lists)


def test_one_id_both_bare_and_as_a_chunk_is_refused():
    with pytest.raises(TypeError, match="bare ids or chunks"):
        reciprocal_rank_fusion([["a"], [chunk("a", "the page a")]])
    with pytest.raises(TypeError, match="bare ids or chunks"):
        reciprocal_rank_fusion([[chunk("a", "the page a")], ["a"]])


def test_both_legs_speak_of_a_chunk_by_one_id_and_other_ids_are_refused():
    index = indexed(["acme wire", "acme fee", "shuttle"])
    legs = [leg("acme wire", principal=READER) for leg in (index.lexical, index.dense)]
    found = reciprocal_rank_fusion(legs)
    assert scored(found)[0] == ("d000", 2 / 61)
    assert (found[0].lexical_rank, found[0].dense_rank) == (1, 1)
    for hit in found:
        ranks = [rank for rank in (hit.lexical_rank, hit.dense_rank) if rank]
        assert hit.score == float(sum(Fraction(1, RRF_K + rank) for rank in ranks))
    with pytest.raises(TypeError):
        reciprocal_rank_fusion([[4], ["4"]])


def test_fusion_is_keyed_by_id_never_by_text():
    same = "the same words on two pages"
    lists = [[chunk("a", same), chunk("b", same)], [chunk("b", same)]]
    assert [name for name, _ in fused(lists)] == ["b", "a"]


def test_a_chunk_a_hit_and_their_ranks_survive():
    page = chunk("a", "the page a")
    hit = Hit(page, 9.0, lexical_rank=3)
    near = replace(hit, lexical_rank=None, dense_rank=2)
    for lists in ([[hit], [near]], [[near], [hit]]):
        (found,) = reciprocal_rank_fusion(lists)
        assert found == Hit(page, 2 / 61, lexical_rank=3, dense_rank=2)
    (found,) = reciprocal_rank_fusion([[page]])
    assert found.chunk is page and isinstance(page, Chunk)
    best_first = [[replace(hit, lexical_rank=2)], [replace(hit, lexical_rank=5)]]
    for lists in (best_first, best_first[::-1]):
        assert reciprocal_rank_fusion(lists)[0].lexical_rank == 2, "two rankings of one leg: the best rank, whichever comes first"


def test_a_tie_inside_a_leg_is_settled_by_id_before_fusion():
    """Two chunks with one BM25 score, stored in both orders: unique ranks by id, and the same fused list."""
    pages = [chunk("b", "acme wire"), chunk("a", "wire acme"), chunk("c", "acme wire fee")]
    seen = []
    for order in (pages, pages[::-1]):
        index = indexed(order)
        legs = [leg("acme", principal=READER) for leg in (index.lexical, index.dense)]
        assert legs[0][0].score == legs[0][1].score and [hit.chunk_id for hit in legs[0][:2]] == ["a", "b"]
        seen.append(reciprocal_rank_fusion(legs))
    assert seen[0] == seen[1]
