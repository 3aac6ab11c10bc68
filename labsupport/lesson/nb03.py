"""Notebook 03, RRF arithmetic: its predictions, its judges, lists on paper, and the tables and the figure of fused sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from labsupport.entitlement import can_read
from labsupport.fusion import reciprocal_rank_fusion
from labsupport.index import Index, Ranking
from labsupport.leaky import NoFilter
from labsupport.leaky.fusion import normalised
from labsupport.lesson.checks import Exercise, Verdict, right, wrong
from labsupport.lesson.figures import PALETTE, new_figure
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.model import Hit, Principal
from labsupport.retriever import AuthorizedRetriever, RetrievalResult
from labsupport.worlds import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CUT = 12
"""Places of each list that a retrieval keeps: the default of `RetrievalPolicy.candidate_limit`."""

PREDICTIONS = {
    "03.1": Prediction(
        "How many of the answers change, in their five sources or in the order of them?",
        {
            "a": ("none", "each list keeps its order, and you took the sum for a thing of two orders. It is a sum of two scales, and one of them grew."),
            "b": ("fewer than half", "a factor of ten sounds like a detail of one list. It takes the weight of the other list away, in every answer at once."),
            "c": ("more than half", "BM25 runs up to ten and more, a cosine ends at 1. On Friday words decided nearly alone; on Monday meaning had caught up."),
        },
        "c",
    ),
    "03.2": Prediction(
        "Which of the two has the larger sum?",
        {
            "a": ("A", "a first place is worth 1/61 and a third 1/63, hardly less. The tenth place costs A more than the first one brings."),
            "b": ("B", "60 is large beside the ranks, so the sum nearly goes by the sum of the ranks: 6 beats 11."),
            "c": ("neither, they are equal", "0.0307 and 0.0317 look alike, and fractions are compared to the end."),
        },
        "b",
    ),
    "03.3": Prediction(
        "Which of the two has the larger sum now?",
        {
            "a": ("C", "from first to second costs more than from second to third, so the uneven pair is ahead: 0.032266 to 0.032258."),
            "b": ("D", "B won because its ranks added up to less. Here both pairs add up to 4, and evenness is no merit of its own."),
            "c": ("neither, they are equal", "both pairs add up to 4, and RRF adds ranks only nearly. 1/x bends, and the bend decides."),
        },
        "a",
    ),
    "03.4": Prediction(
        "Which of the two stands higher in the fused list?",
        {
            "a": ("E", "one list has 1/61 to give and no more. Two fiftieth places bring 2/110."),
            "b": ("F", "standing on both lists counts for more than standing first on one, down to the 61st place on both."),
            "c": ("neither, they are equal", "the exact tie comes later, at the 62nd place on both: 2/122 is 1/61."),
        },
        "b",
    ),
}

LEAK = LeakLine(
    notebook="03",
    name="scores of two scales added, or brought to one range before the filter",
    sounded_reasonable="Bring both lists to the range from 0 to 1, then adding them is fair.",
    observed="the order of pages that the reader may read: it turns with a supplier's scale, and with one closed page",
    closed_by="filter first, then add positions: 1/(60+rank), nothing from a list that does not hold the page",
)

SIX = {"A": (1, 10), "B": (3, 3), "C": (1, 3), "D": (2, 2), "E": (1, None), "F": (50, 50)}
"""Six pairs of places on two lists; `None` where a list does not hold the page."""


# ---- lists on paper ----------------------------------------------------------------------------------------------------


def lists(**places: tuple[int | None, int | None]) -> list[list[str]]:
    """Two rankings of bare ids in which each name stands at its places; `None`: not on that list. Other ids fill the rest.

    Raises `ValueError` where two names want one place.
    """
    rankings = []
    for number in (0, 1):
        wanted = {pair[number]: name for name, pair in places.items() if pair[number]}
        if len(wanted) < len([pair for pair in places.values() if pair[number]]):
            raise ValueError(f"two names want one place on list {number + 1}: {places!r}")
        rankings.append([wanted.get(place, f"other {number + 1}.{place}") for place in range(1, max(wanted, default=0) + 1)])
    return rankings


def fused_sum(pair: tuple[int | None, int | None], k: int) -> float:
    """The fused score that the package gives to a page with these two places."""
    return next(hit.score for hit in reciprocal_rank_fusion(lists(page=pair), k=k, limit=None) if hit.chunk_id == "page")


def spoken(pair: Sequence[int | None]) -> str:
    return " and ".join(_ordinal(place) if place else "absent" for place in pair)


def _ordinal(place: int) -> str:
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def compare(on_paper: Callable[..., Fraction], **pairs: tuple[int | None, int | None]) -> Shown:
    """Pairs of places side by side: their sum, and the sum of 1/(60+rank) as the learner's function gives it."""
    rows = [{"page": name, "ranks": spoken(pair), "sum of ranks": sum(pair) if all(pair) else "–",
             "1/(60+rank) sum": str(on_paper(*filter(None, pair))), "as a decimal": f"{float(on_paper(*filter(None, pair))):.6f}"}
            for name, pair in pairs.items()]
    return show_table(rows, f"{max(pairs, key=lambda name: on_paper(*filter(None, pairs[name])))} has the larger sum")


def six_in_order(k: int) -> Shown:
    """The six pairs, best first, each with the sum that the package gives with this k."""
    sums = {name: fused_sum(pair, k) for name, pair in SIX.items()}
    scores = list(sums.values())
    lines = [f"{name} ({', '.join(str(rank or '–') for rank in SIX[name])}) · {sums[name]:.7f}{' tie' * (scores.count(sums[name]) > 1)}"
             for name in sorted(sums, key=lambda name: (-sums[name], name))]
    return _in_order(f"k = {k}", lines)


def _in_order(name: str, lines: Sequence[str]) -> Shown:
    items = "".join(f"<li>{line}</li>" for line in lines)
    return Shown("\n".join([name, *(f"  {place}. {line}" for place, line in enumerate(lines, 1))]), f'<ol style="margin:0;padding-left:1.4em">{items}</ol>')


def contour_figure(ks: Sequence[int]) -> tuple[Figure, str]:
    """One panel for each k: lines of equal sum over the places on two lists, and the six pairs. With its alt text."""
    import numpy as np

    title = "At k = 60 the contours are almost straight: RRF nearly adds ranks.\nAt k = 1 they bend: a first place counts for much more"
    figure, panels = new_figure(title, panels=len(ks), size=(9.8, 5.2), sharey=True)
    ranks = np.linspace(1, 15, 113)
    said = []
    for axes, k in zip(panels, ks, strict=True):
        one, two = np.meshgrid(ranks, ranks)
        levels = sorted(2 / (k + rank) for rank in (1.5, 2, 3, 4.5, 6.5, 9, 12))
        axes.contour(one, two, 1 / (k + one) + 1 / (k + two), levels=levels, colors="#767676", linewidths=1, linestyles="solid")
        axes.axhspan(15.6, 17.4, facecolor="#EEEEEE", hatch="...", edgecolor="#BBBBBB", linewidth=0)
        for name, (x, y) in SIX.items():
            outside = name == "F"
            here = (14.6, 14.6) if outside else (x, y or 16.5)
            axes.plot(*here, marker=(3, 0, -45) if outside else "o", markersize=9, color=PALETTE[0])
            axes.annotate("F, beyond, at (50, 50)" if outside else name, here, xytext=(-12, -4) if outside else (9, -4), textcoords="offset points",
                          ha="right" if outside else "left", fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
        axes.set_title(f"k = {k}: towards the lower left is better", fontsize=10)
        axes.set_xticks([1, 5, 10, 15])
        axes.set_yticks([1, 5, 10, 15, 16.5], ["1", "5", "10", "15", "absent"])
        axes.set_xlim(0, 15.9)
        axes.set_ylim(0, 17.6)
        axes.set_xlabel("rank on list 1")
        axes.set_ylabel("rank on list 2" if axes is panels[0] else " ")
        sums = {name: fused_sum(pair, k) for name, pair in SIX.items()}
        said.append(f"k = {k}: " + ", ".join(f"{name} {sums[name]:.5f}" for name in sorted(sums, key=lambda name: (-sums[name], name))))
    pairs = ", ".join(f"{name} {spoken(pair)}" for name, pair in SIX.items())
    return figure, f"Lines of equal sum over the ranks on two lists, and six pages: {pairs}. Their sums: {'; '.join(said)}."


# ---- the bank's own lists ----------------------------------------------------------------------------------------------


def page_of(hit: Hit) -> str:
    return f"{hit.chunk.doc_id} · {hit.chunk.section}"


def legs(index: Index, question: str, reader: Principal) -> list[Ranking]:
    """The two lists that a retrieval fuses for this reader: by words (BM25) and by meaning (cosine), each cut at twelve."""
    return [leg(question, principal=reader, limit=CUT) for leg in (index.lexical, index.dense)]


def two_lists(index: Index, question: str, reader: Principal, caption: str, *, rows: int = 4) -> Shown:
    """The best pages of both lists, each with its place and its score on either; `–` where a list does not hold it."""
    words, meaning = legs(index, question, reader)
    found = {hit.chunk_id: hit for hit in [*words[:rows], *meaning[:rows]]}
    by_words, by_meaning = ({hit.chunk_id: hit for hit in leg} for leg in (words, meaning))
    return show_table([{
        "page": page_of(hit),
        "rank by words": getattr(by_words.get(id), "lexical_rank", None), "BM25": getattr(by_words.get(id), "score", None),
        "rank by meaning": getattr(by_meaning.get(id), "dense_rank", None), "cosine": getattr(by_meaning.get(id), "score", None),
    } for id, hit in found.items()], caption)


def sums_of_scores(friday: Sequence[Hit], monday: Sequence[Hit], *, rows: int = 3) -> Shown:
    """Two days' sums of scores for the pages that led on Friday."""
    later = {hit.chunk_id: (place, hit.score) for place, hit in enumerate(monday, 1)}
    return show_table([{
        "page": page_of(hit), "Friday: BM25 + cosine": hit.score, "place": place,
        "Monday: BM25 + 10 × cosine": later[hit.chunk_id][1], "place on Monday": later[hit.chunk_id][0],
    } for place, hit in enumerate(friday[:rows], 1)], f"First on Friday: {page_of(friday[0])}. First on Monday: {page_of(monday[0])}", digits=3)


def places(hits: Iterable[Hit], name: str) -> Shown:
    """Pages in fused order, each with its place by words and by meaning."""
    return _in_order(name, [f"{page_of(hit)} ({hit.lexical_rank or '–'}, {hit.dense_rank or '–'})" for hit in hits])


def fused_table(hits: Sequence[Hit], caption: str) -> Shown:
    """A fused list: each page's place on both lists and its sum."""
    return show_table([{"fused": place, "page": page_of(hit), "by words": hit.lexical_rank, "by meaning": hit.dense_rank,
                        "1/(60+rank) sum": f"{hit.score:.6f}"} for place, hit in enumerate(hits, 1)], caption)


class Supplier:
    """An index whose embedding supplier multiplies every score: same vectors, same neighbours, another scale."""

    def __init__(self, index: Index, times: float):
        self._index, self._times = index, times

    def __getattr__(self, name: str):
        return getattr(self._index, name)

    def snapshot(self) -> Supplier:
        return self

    def dense(self, query: str, **options) -> Ranking:
        ranking = self._index.dense(query, **options)
        return Ranking((replace(hit, score=self._times * hit.score) for hit in ranking), postings=ranking.postings, vectors=ranking.vectors)


class FilterThenFuse:
    """The safe design in the wrong designs' clothes: open shelves, cut, then positions."""

    def __init__(self, index: Index, *, dense_times: float = 1):
        self.retriever = AuthorizedRetriever(Supplier(index, dense_times))

    def retrieve(self, query: str, principal: Principal, **options) -> RetrievalResult:
        return self.retriever.retrieve(query, principal, **options)


def moved_by_the_supplier(design: Callable[..., object], index: Index, rounds: Iterable[tuple[str, Principal]]) -> int:
    """In how many rounds of (question, reader) the answer differs where the supplier multiplies every cosine by ten."""
    friday, monday = design(index), design(index, dense_times=10)
    return sum(_ids(friday, *each) != _ids(monday, *each) for each in rounds)


def moved_by_closed_pages(design: Callable[..., object], index: Index, without: Index, rounds: Iterable[tuple[str, Principal]]) -> int:
    """In how many rounds of (question, reader) the answer differs where the pages closed to that reader are gone."""
    there, gone = design(index), design(without)
    return sum(_ids(there, *each) != _ids(gone, *each) for each in rounds)


def _ids(design: object, question: str, reader: Principal) -> list[str]:
    return [hit.chunk_id for hit in design.retrieve(question, reader).hits]


def squeezed(bank: World, without: World, question: str, reader: Principal, pages: Iterable[Hit]) -> Shown:
    """What is left of some readable pages' scores after both lists of the tenant were brought to the range from 0 to 1, in two worlds.

    The first row is the page that is best by words in the first world, for the author's eye.
    """
    whole = {}
    for name, index in (("with PMT-771", bank.index), ("without it", without.index)):
        ask = NoFilter(index)
        whole[name] = [leg(question, principal=reader, limit=None) for leg in (ask.lexical, ask.dense)]
    best = whole["with PMT-771"][0][0]
    rows: list[dict[str, object]] = []
    for hit in {hit.chunk_id: hit for hit in [best, *pages]}.values():
        row: dict[str, object] = {"page": page_of(hit), "to the reader": "reads" if can_read(reader, hit.chunk.label) else "CLOSED"}
        for name, legs_of_all in whole.items():
            shares = [normalised(leg).get(hit.chunk_id, 0.0) for leg in legs_of_all]
            there = any(hit.chunk_id == other.chunk_id for leg in legs_of_all for other in leg)
            row[f"{name}: words + meaning"] = f"{shares[0]:.3f} + {shares[1]:.3f} = {sum(shares):.3f}" if there else "–"
        rows.append(row)
    return show_table(rows, "A closed page takes the 1 on both lists, and two open pages change places", hatch=("CLOSED",))


# ---- the judges of the exercises ---------------------------------------------------------------------------------------


def _sum(*ranks: int, k: int = 60) -> Fraction:
    return sum((Fraction(1, k + rank) for rank in ranks), Fraction(0))


def _smallest_k(answer: object) -> Verdict:
    if isinstance(answer, bool) or isinstance(answer, str):
        return wrong(f"{answer!r} is no number. Asked is the smallest whole k at which B has the larger sum.")
    k = Fraction(answer)
    if k == Fraction(13, 5):
        return wrong("At 13/5 the two are equal, exactly. Asked is the smallest whole k at which B is ahead.")
    if k.denominator != 1 or k < 1:
        return wrong(f"k is a whole number from 1; you wrote {answer}.")
    a, b = _sum(1, 10, k=int(k)), _sum(3, 3, k=int(k))
    if int(k) == 1:
        return wrong(f"k = 1: A {float(a):.4f}, B {float(b):.4f}. A first place takes all here.")
    if b <= a:
        return wrong(f"k = {int(k)}: A {float(a):.4f}, B {float(b):.4f}. One more.")
    if int(k) > 3:
        return wrong(f"Works at {int(k)}, and at 3 already.")
    return right(f"k = 3: A {float(a):.4f}, B {float(b):.4f}. At 13/5 they are equal, and below that a first place wins.")


PAPER = {"PMT-771": (1, 9), "PMT-717": (2, 1), "fees": (3,)}


def _three_sums(answer: Mapping[str, object], first: object) -> Verdict:
    told = {name: Fraction(value if isinstance(value, str) else str(value)) for name, value in answer.items()}
    if missing := [name for name in PAPER if name not in told]:
        return wrong(f"{missing[0]} has no sum yet. I need all three: {', '.join(PAPER)}.")

    def is_near(name: str, other: Fraction) -> bool:
        return abs(told[name] - other) < Fraction(6, 100_000)

    for name, ranks in PAPER.items():
        exact = _sum(*ranks)
        if is_near(name, exact):
            continue
        terms = " + ".join(f"1/{60 + rank}" for rank in ranks)
        if is_near(name, _sum(*(rank - 1 for rank in ranks))) or any(is_near(name, exact - _sum(rank) + _sum(rank - 1)) for rank in ranks):
            return wrong(f"Ranks start at 1: first place is 1/61, not 1/60. {name} is {terms}; yours is {_short(told[name])}.")
        if is_near(name, exact / 2):
            return wrong("You divided by two. Then a page on one list (1/61) would beat one on both (1st, 10th): the sum is not shared out.")
        if len(ranks) == 1 and told[name] > exact:
            return wrong(f"{name} is on one list. You gave it a second rank; an absent page adds nothing.")
        return wrong(f"{name} is {' and '.join(map(_ordinal, ranks))}: {terms}. Yours is {_short(told[name])}, that would be {float(exact):.4f}.")
    winner = str(first).strip().upper()
    if winner == "PMT-771":
        return wrong("Your sums are right, and they say something else: 0.0325 for PMT-717, 0.0309 for PMT-771. First by words is not first.")
    if winner != "PMT-717":
        return wrong(f"Your sums are right. The largest of them does not belong to {first}.")
    return right("130/4209, 123/3782 and 1/63. PMT-717 is first, another payment: hybrid loses here, and BM25 alone was right.")


def _short(value: Fraction) -> str:
    return str(value) if value.denominator < 100_000 else f"{float(value):.4f}"


def _pairs(found: object) -> dict[str, float]:
    """A learner's fused list as {id: score}, in its order."""
    pairs = list(found.items()) if isinstance(found, Mapping) else [tuple(pair) for pair in found]
    return {str(name): float(score) for name, score in pairs}


def _my_rrf(learners: Callable[..., object]) -> Verdict:
    words, meaning = [("a", 9.0), ("b", 8.0), ("d", 1.0)], [("c", 0.9), ("b", 0.7), ("a", 0.6)]
    louder = [(name, 10 * score) for name, score in meaning]
    try:
        before, after = _pairs(learners([words, meaning])), _pairs(learners([words, louder]))
    except (TypeError, ValueError):
        return wrong("I cannot read what came back. Return pairs (id, fused score), best first.")
    if list(before) != list(after):
        return wrong(f"I multiplied one list's scores by 10; your order changed from {', '.join(before)} to {', '.join(after)}.")
    if before != after:
        return wrong(f"I multiplied one list's scores by 10; your sum for `{next(n for n in before if before[n] != after[n])}` moved. A rank does not.")
    if missing := sorted({"a", "b", "c", "d"} - set(before)):
        return wrong(f"`{missing[0]}` stands on one list and is gone from yours. It gets what that one list gives, and nothing from the other.")
    exact = {"a": _sum(1, 3), "b": _sum(2, 2), "c": _sum(1), "d": _sum(3)}
    if _close(before["a"], _sum(0, 2)) or _close(before["c"], _sum(0)):
        return wrong(f"Ranks start at 1: a first place is worth 1/61 = 0.0164, yours gives {before['c']:.4f}.")
    if _close(before["a"], exact["a"] / 2):
        return wrong("You divided by the number of lists. Then a page on one list (1/61) would beat one that is first and tenth on two.")
    if _close(before["a"], exact["a"]) and before["c"] > float(exact["c"]) + 1e-9:
        return wrong(f"`c` is on one list: 0.0164. Yours is {before['c']:.4f}; you gave it a rank on the list that does not hold it.")
    if off := next((name for name in exact if not _close(before[name], exact[name])), None):
        return wrong(f"`{off}`: yours is {before[off]:.4f}, the sum of 1/(60+rank) is {float(exact[off]):.4f}.")
    if list(before) != ["a", "b", "c", "d"]:
        return wrong(f"Right sums in the order {', '.join(before)}. Best first, please: a 0.0323, b 0.0323 by a hair less, c, d.")
    repeated = _pairs(learners([[("m", 3.0), ("m", 2.0), ("x", 1.0)], [("x", 1.0)]]))
    if not _close(repeated["m"], _sum(1)):
        again = "one list can give it only 0.0164" if repeated["m"] > float(_sum(1)) else "its best place counts, 0.0164"
        return wrong(f"`m` stands twice in list 1: yours {repeated['m']:.4f}, {again}.")
    one, two = [("b", 2.0), ("a", 1.0)], [("a", 2.0), ("b", 1.0)]
    orders = [list(_pairs(learners(fed))) for fed in ([one, two], [two, one])]
    if orders[0] != orders[1]:
        return wrong("Two reversed lists: yours says b first when b is fed first, a first when a is. The id must decide.")
    if orders[0] != ["a", "b"]:
        return wrong("Two reversed lists: a and b have one sum. The id decides, ascending: a before b.")
    if _pairs(learners([words, meaning], k=1))["c"] != 0.5:
        return wrong("With k = 1 a first place is worth 1/2. Yours does not listen to k.")
    return _against_the_lab(learners)


def _against_the_lab(learners: Callable[..., object]) -> Verdict:
    dice, tried = Random(3), 40
    for _ in range(tried):
        rankings = [[(name, 1.0 / place) for place, name in enumerate(dice.sample("abcdefgh", dice.randint(0, 8)), 1)] for _ in range(dice.randint(1, 3))]
        k = dice.choice((1, 10, 60))
        lab = {name: _sum(*(1 + [n for n, _ in ranking].index(name) for ranking in rankings if name in dict(ranking)), k=k)
               for ranking in rankings for name, _ in ranking}
        yours = _pairs(learners(rankings, k=k))
        short = [[name for name, _ in ranking] for ranking in rankings]
        if set(yours) != set(lab) or any(not _close(yours[name], lab[name]) for name in lab):
            return wrong(f"k = {k} and the lists {short}: yours gives {{{', '.join(f'{n}: {s:.4f}' for n, s in yours.items())}}}, "
                         f"the lab {{{', '.join(f'{n}: {float(s):.4f}' for n, s in sorted(lab.items(), key=lambda pair: (-pair[1], pair[0])))}}}.")
        order = list(yours)
        if any(lab[one] < lab[two] for one, two in zip(order, order[1:], strict=False)):
            return wrong(f"k = {k} and the lists {short}: yours puts {', '.join(order)}, and that is not best first.")
    return right(f"{tried} sets of lists, repeats, ties, three values of k: yours agrees with the lab's. Scores were in your hands and you did not look.")


def _close(one: float, other: Fraction) -> bool:
    return abs(one - float(other)) < 1e-9


def _two_deploys(answer: Sequence[Sequence[str]]) -> Verdict:
    rankings = [list(ranking) for ranking in answer]
    if len(rankings) != 2 or any(len(ranking) != 3 for ranking in rankings):
        return wrong(f"Two lists of three ids each, please; I count {', '.join(str(len(ranking)) for ranking in rankings) or 'nothing'}.")
    if any(len(set(ranking)) != 3 for ranking in rankings):
        return wrong("One id stands twice in a list. It counts once, so the list has no three places.")
    if set(rankings[0]) != set(rankings[1]):
        return wrong("Closer. Rank the same three ids on both lists. Ties come from equal rank *pairs*: (1, 3) and (3, 1).")
    if rankings[0] == rankings[1]:
        return wrong("The same list twice. No tie: the scores are strictly decreasing.")
    sums = {name: _sum(*(1 + ranking.index(name) for ranking in rankings)) for name in rankings[0]}
    deploys = [sorted(ranking, key=lambda name: -sums[name]) for ranking in rankings]  # stable: what arrived first stays first
    if deploys[0] == deploys[1]:
        return wrong(f"All three scores differ: {', '.join(f'{name} {float(score):.6f}' for name, score in sums.items())}. Both deploys agree without the rule.")
    tied = [name for name in sorted(sums) if list(sums.values()).count(sums[name]) > 1]
    return right(f"{' and '.join(map(str, tied))} tie at {sums[tied[0]]}. One deploy says {', '.join(map(str, deploys[0]))}, the other {', '.join(map(str, deploys[1]))}.")


EXERCISES = {
    "03.1": Exercise("a whole number", _smallest_k),
    "03.2": Exercise('three sums, such as Fraction(1, 61) + Fraction(1, 62), and the id that is first', _three_sums),
    "03.3": Exercise("a function my_rrf(rankings, k=60) that returns pairs (id, fused score), best first", _my_rrf),
    "03.4": Exercise('two lists of three ids, such as [["a", "b", "c"], ["b", "c", "a"]]', _two_deploys),
}
