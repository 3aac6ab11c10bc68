"""Notebook 04, Namespaces: its predictions, its judges, and the table of who saw whose."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from labsupport.index import Index
from labsupport.leaky import NoFilter, ParentFallback, Pool
from labsupport.lesson.checks import Exercise, Verdict, right, wrong
from labsupport.lesson.figures import new_figure
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.model import EVERYONE, AccessLabel, Document, Hit, Principal
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy
from labsupport.worlds import World, load_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Acme Trading director"
TENANTS = ("wholesale", "retail")

PREDICTIONS = {
    "04.1": Prediction(
        "How many of Wes's five sources are the retail bank's?",
        {
            "a": ("0", "forty green tests say so. In none of them had the two tenants a word in common."),
            "b": ("1", "one page of the retail bank names the director, and it is the first in the list."),
            "c": ("5", "the retail bank has one page with these words. The others are Wes's own."),
        },
        "b",
    ),
    "04.2": Prediction(
        "Who sees the other tenant's chunks?",
        {
            "a": ("silo, pool and namespaces", "you took the label check for the wall. In two of the three the other tenant was never in the room."),
            "b": ("the pool alone", "silo and namespaces pick the tenant's store before they look at any label. In the pool the tenant check was one of the checks that you switched off."),
            "c": ("pool and namespaces", "a namespace is picked by the tenant of the session. No label is asked for that, so a broken one cannot undo it."),
        },
        "b",
    ),
    "04.3": Prediction(
        "Whose answer does Wes get?",
        {
            "a": ("his own", "the index would have filtered. It was never asked: the words were in the cache."),
            "b": ("Rita's", "the key was the question, and the question was the same."),
            "c": ("none, the cache misses", "it misses when the words differ. Two colleagues ask for the wire fee in the same two words."),
        },
        "b",
    ),
}

LEAK = LeakLine(
    notebook="04",
    name="one pool, and a cache keyed by the question",
    sounded_reasonable="The tenant id is on every row, and every query filters by it.",
    observed="another tenant's file, first in the list; another reader's answer, word for word",
    closed_by="the tenant picks the namespace before anything is ranked; a cache is keyed by tenant and open labels",
)


def who_saw_whose(hits: Sequence[Hit], reader: str) -> Shown:
    """The pages that one reader got, and whose they are."""
    rows = [{"place": place, "page": hit.chunk.doc_id, "belongs to": hit.chunk.tenant} for place, hit in enumerate(hits, 1)]
    return show_table(rows, f"What {reader} gets") if rows else Shown(f"{reader} gets nothing", f"<p>{reader} gets nothing</p>")


def crossings(design: object, world: World) -> dict[tuple[str, str], int]:
    """For every question of the world and every reader: chunks counted by (tenant that asks, tenant whose chunk came back)."""
    counts = {(asks, owns): 0 for asks in TENANTS for owns in TENANTS}
    for question in world.questions:
        for principal in world.principals.values():
            for hit in design.retrieve(question.query, principal).hits:
                counts[principal.tenant, hit.chunk.tenant] += 1
    return counts


def crossing_figure(counts: Mapping[str, Mapping[tuple[str, str], int]]) -> tuple[Figure, str]:
    """One panel for each design: who asks, whose chunks came back; what crosses is hatched and says so. With its alt text."""
    title = "Switch the label check off: only the pool crosses the line"
    figure, panels = new_figure(title, panels=len(counts), size=(9.6, 2.9), sharey=True)
    crossed = {}
    for axes, (name, cells) in zip(panels, counts.items(), strict=True):
        crossed[name] = sum(count for (asks, owns), count in cells.items() if asks != owns)
        for x, owns in enumerate(TENANTS):
            for y, asks in enumerate(TENANTS):
                leak = asks != owns and cells[asks, owns] > 0
                axes.bar(x, 0.96, 0.96, bottom=y - 0.48, color="#F6D5C3" if leak else "#E8EEF4", hatch="///" if leak else "", edgecolor="#767676")
                axes.text(x, y, f"{cells[asks, owns]}{' LEAK' if leak else ''}", ha="center", va="center", fontsize=10,
                          fontweight="bold" if leak else "normal", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(len(TENANTS)), TENANTS)
        axes.set_yticks(range(len(TENANTS)), TENANTS)
        axes.set_xlabel("whose chunks came back")
        axes.set_ylabel("who asks" if axes is panels[0] else " ")
    said = "; ".join(f"{name} {count}" for name, count in crossed.items())
    return figure, (f"Chunks that crossed between the tenants, over all questions and readers of the bank: {said}.")


# ---- the judges of the exercises ---------------------------------------------------------------------------------------


@cache
def _bank() -> World:
    return load_world("bank")


@cache
def _crossing_of(refactor: str) -> str:
    """The first crossing that a refactor causes, over all questions and readers; empty where nothing crosses."""
    world = _bank()
    design = {"A": lambda: Pool(world.index, tenant_check=True), "B": lambda: Pool(world.index), "C": lambda: ParentFallback(world.index)}[refactor]()
    for question in world.questions:
        for key, principal in world.principals.items():
            for hit in design.retrieve(question.query, principal).hits:
                if hit.chunk.tenant != principal.tenant:
                    return f"{world.people[key].name} got `{hit.chunk.doc_id}` of {hit.chunk.tenant}"
    return ""


def _refactors(answer: object) -> Verdict:
    got = {str(name).strip().upper() for name in ([answer] if isinstance(answer, str) else answer)}
    if unknown := sorted(got - {"A", "B", "C"}):
        return wrong(f"{unknown[0]!r} is none of the refactors A, B, C.")
    asked = len(_bank().questions)
    if got == {"A", "B", "C"}:
        return wrong("A is harmless. A test that flags harmless changes is switched off by Friday.")
    if "A" in got:
        return wrong(f"A renames a variable. I ran {asked} questions as each principal: nothing crossed.")
    if "C" not in got:
        return wrong(f"C too: it filters, then a fallback fetches sections by id from the shared store. {_crossing_of('C')}.")
    if "B" not in got:
        return wrong(f"B too: the check moved, and a later change took it for a duplicate. {_crossing_of('B')}.")
    return right(f"B: {_crossing_of('B')}. C: {_crossing_of('C')}. A: nothing crossed in {asked} questions.")


def _label(tenant: str, classification: str = "internal") -> AccessLabel:
    return AccessLabel(tenant, classification, None, frozenset({EVERYONE}))


def _cache_key(learners: Callable[..., Hashable]) -> Verdict:
    """`generations`: ((label, generation), …) of the labels open to the principal."""
    wes, ines = Principal("u-42", "wholesale", "confidential"), Principal("u-1", "wholesale")
    rita = Principal("u-7", "retail", "confidential")
    internal, confidential, retail = _label("wholesale"), _label("wholesale", "confidential"), _label("retail")
    plain, wide = RetrievalPolicy(), RetrievalPolicy(result_limit=9)
    asked = (wes, "wire fee", plain, 0, ((internal, 3), (confidential, 1)))
    told = [
        ((rita, "wire fee", plain, 0, ((retail, 3),)), "Wes got Rita's answer to “wire fee”."),
        ((ines, "wire fee", plain, 0, ((internal, 3),)), "Ines got Wes's answer, inside one tenant: what is open to them decides too."),
        ((wes, "wire fees", plain, 0, asked[4]), "Two questions share one answer: “wire fee” and “wire fees”."),
        ((wes, "wire fee", wide, 0, asked[4]), "Nine sources were asked for and five came back: the policy decides too."),
        ((wes, "wire fee", plain, 9, asked[4]), "Asked at tick 9 and answered from tick 0: what is stale depends on the time."),
        ((wes, "wire fee", plain, 0, ((internal, 4), (confidential, 1))), "An open page was edited, and the old answer came back: its generation moved from 3 to 4."),
    ]
    key = learners(*asked)
    try:
        hash(key)
    except TypeError:
        return wrong(f"A {type(key).__name__} cannot be looked up: a key must be hashable, such as a tuple.")
    if learners(*asked) != key:
        return wrong("The same reader asks the same thing twice and misses the cache: equal inputs need equal keys.")
    if key is None:
        return wrong("Your key is None for everybody: the first answer is everybody's answer.")
    for other, sentence in told:
        if learners(*other) == key:
            return wrong(sentence)
    glued = [("ab", "c", 1, 23), ("a", "bc", 1, 23), ("ab", "c", 12, 3)]
    made = [learners(Principal(user, user), query, plain, tick, ((_label(user), generation),)) for user, query, tick, generation in glued]
    if isinstance(key, str) and len(set(made)) < len(made):
        return wrong("('ab', 'c') and ('a', 'bc') make the same key: keep a tuple, or lengths.")
    if learners(Principal("u-43", "wholesale", "confidential"), *asked[1:]) != key:
        return right("Nothing that decides the answer is missing. Two colleagues with the same rights do not share an entry, which costs a search and tells nobody anything.")
    return right("Equal where everything that decides the answer is equal, and nowhere else.")


def _wall_test(learners: Callable[[Callable[..., object]], object]) -> Verdict:
    world = _bank()
    quiet = Index(tenant="wholesale")  # a bank whose retail labels happen to hide that the wall is gone
    for tenant, group in (("wholesale", EVERYONE), ("retail", "branch")):
        for number, text in enumerate(("wire fee and late fee", "Acme Trading director", "hold and release", "opening hours, telephone")):
            quiet.add(Document(f"{tenant}-{number}", tenant, "t", text, acl=(group,)))

    def pool(index: Index):
        return lambda label_check=True: Pool(index, tenant_check=False, label_check=label_check)

    def namespaces(index: Index):
        return lambda label_check=True: AuthorizedRetriever(index) if label_check else NoFilter(index)

    if learners(namespaces(world.index)):
        return wrong("Red on the safe design as well: Rita is allowed to see retail pages. Compare the owner of each hit with the tenant of the one who asks.")
    if not learners(pool(world.index)):
        return wrong("Green on both. A test with one tenant, or with words that only one tenant uses, cannot see a wall.")
    if not learners(pool(quiet)):
        return wrong("Green on a pool whose labels hide the missing wall. Switch the label check off in your test: `design(label_check=False)`.")
    return right("Red on the pool, also where the labels hide it, and green on namespaces. It tests one mechanism with the other switched off.")


EXERCISES = {
    "04.1": Exercise('a set of letters, such as {"A"}', _refactors),
    "04.2": Exercise("a function cache_key(principal, query, policy, now_tick, generations) that returns a key", _cache_key),
    "04.3": Exercise("a function wall_test(design) that returns True where it is red", _wall_test),
}
