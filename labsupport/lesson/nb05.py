"""Notebook 05, Pre-filter: its predictions, its judges, the crowd of hidden pages, the bird list and the game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

from labsupport.entitlement import can_read
from labsupport.index import Index, Ranking
from labsupport.leaky import CountsReported, CutThenFilter, OneLegFiltered, OverFetch, TenantWideStatistics
from labsupport.lesson.checks import Exercise, Verdict, right, wrong
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.lesson.two_worlds import Seen, differences, two_worlds
from labsupport.model import CLASSIFICATIONS, EVERYONE, AccessLabel, Chunk, Document, Principal
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy, RetrievalResult
from labsupport.worlds import World, load_world

QUESTION = "Acme Trading FZE"
BIRDS = ("albatross", "buzzard", "condor", "eagle", "falcon", "gannet", "heron", "kestrel", "merlin", "osprey", "plover", "wren")

PREDICTIONS = {
    "05.1": Prediction(
        "How many sources does Ines get?",
        {
            "a": ("1", "her own page matches every word. It stands behind the twelve that were cut off, so nobody looks at it."),
            "b": ("5, some of them worse", "the list is cut first. What the filter takes out is not replaced by what stood behind."),
            "c": ("0", "twelve places, twelve closed pages in them, and the filter runs on those twelve."),
        },
        "c",
    ),
    "05.2": Prediction(
        "The twelve scores are",
        {
            "a": ("all equal", "you reasoned from what Ines may read. This index reasons from all that it stores, and then hides most of it."),
            "b": ("equal, but falcon is higher", "closed pages do mention falcon. For BM25 a word that more pages hold is less telling, so the score falls."),
            "c": ("equal, but falcon is lower", "the closed pages that hold the word made it count for less, on a page about a walk."),
        },
        "c",
    ),
    "05.3": Prediction(
        "We stop returning scores. Is the leak closed?",
        {
            "a": ("yes", "the number is gone and its effect is not: the list is sorted by it."),
            "b": ("no", "order is made of scores. Whoever sees the order sees part of the scores."),
        },
        "b",
    ),
    "05.4": Prediction(
        "From how many closed pages on is the longer list empty again?",
        {
            "a": ("practically never", "fifty places fill as twelve did. It takes fifty pages, and somebody writes them."),
            "b": ("50", "a list of fifty is full of fifty better matches. The cliff has moved, and it is as steep as before."),
            "c": ("100", "half of the list would have to stay free for her. Nothing keeps a place free for anybody."),
        },
        "b",
    ),
    "05.5": Prediction(
        "For how many of the questions does the best score move?",
        {
            "a": ("none", "where no closed page holds the words, each closed page still counts in n and in the mean length."),
            "b": ("only those that share a word", "the weight of a word needs the number of all pages. A page without the word moves that number too."),
            "c": ("all of them", "n and the mean length stand in every score. One page more, anywhere in the tenant, and all of them move."),
        },
        "c",
    ),
}

LEAK = LeakLine(
    notebook="05",
    name="filter after the cut, statistics over the tenant",
    sounded_reasonable="Every result is checked before it leaves, so nothing closed is ever returned.",
    observed="an empty list, its length, a score, an order: each moves with pages that nobody was shown",
    closed_by="filter, then rank, then cut: rankers are handed open shelves, and every sum runs over those",
)


class Safe:
    """The safe design in the wrong designs' clothes, so that one line swaps them."""

    def __init__(self, index: Index):
        self.index = index

    def retrieve(self, query: str, principal: Principal, **options) -> RetrievalResult:
        return AuthorizedRetriever(self.index).retrieve(query, principal, **options)

    def lexical(self, query: str, *, principal: Principal, **options) -> Ranking:
        return self.index.lexical(query, principal=principal, **options)


DESIGNS = {"cut, then filter": CutThenFilter, "statistics over the tenant": TenantWideStatistics, "safe: filter, rank, cut": Safe}


def crowd(hidden: int) -> Index:
    """The bank without its deal pages, and so many closed notes that hold every word of the question twice."""
    index = load_world("twins").a.index
    index.add_many(_note(number) for number in range(hidden))
    return index


def _note(number: int) -> Chunk:
    text = f"Acme Trading FZE called, note {number}: Acme Trading FZE asks for terms."
    label = AccessLabel("wholesale", "restricted", "advisory", frozenset({EVERYONE}))
    return Chunk(f"note-{number:03d}#body", f"note-{number:03d}", 1, text, (), 0, len(text), label, 0)


def sources(index: Index, reader: Principal, *, candidates: int | None) -> int:
    """How many sources a reader gets: cut to so many candidates and then filtered, or, with `None`, filtered first."""
    design = Safe(index) if candidates is None else CutThenFilter(index)
    policy = RetrievalPolicy() if candidates is None else RetrievalPolicy(candidate_limit=candidates)
    return len(design.retrieve(QUESTION, reader, policy=policy).hits)


def cliff(reader: Principal, hidden: Sequence[int], lists: Sequence[int | None]) -> dict[int | None, list[int]]:
    """Sources that the reader gets, for each length of the candidate list, at each number of hidden pages."""
    crowds = [crowd(number) for number in hidden]
    return {length: [sources(index, reader, candidates=length) for index in crowds] for length in lists}


@cache
def _twins():
    return load_world("twins")


def _ines() -> Principal:
    return _twins().b.principals["ines"]


def answer(design: Callable[[Index], object], index: Index, question: str, reader: Principal) -> Seen:
    """What a reader sees of the keyword leg: five places of a list that was cut at twelve, and the work that a clock would tell."""
    ranking = design(index).lexical(question, principal=reader, limit=12)
    return Seen(ranking[:5], work=ranking.postings)


def game(design: Callable[[Index], object], question: str) -> Shown:
    """One round: the two worlds' answers as Ines sees them, and whether she can tell the worlds apart."""
    a, b = (answer(design, world.index, question, _ines()) for world in (_twins().a, _twins().b))
    return two_worlds(a, b, reader="Ines", scale="BM25")


def told_apart(design: Callable[[Index], object]) -> list[tuple[str, str]]:
    """Every (reader, question) that tells world A from world B, over all readers who may read none of the pages that differ."""
    twins = _twins()
    rounds = product(twins.same_for, twins.questions)
    return [(name, question) for name, question in rounds
            if differences(*(answer(design, world.index, question, world.principals[name]) for world in (twins.a, twins.b)))]


def label_table(world: World, pages: Sequence[str]) -> Shown:
    """The four fields of some pages' labels, and who may read each: `can_read` at work."""
    rows = []
    for page in (next(each for each in world.documents if each.doc_id == doc_id and each.tenant == world.tenant) for doc_id in pages):
        readers = [world.people[key].name for key, principal in world.principals.items() if can_read(principal, page.label)]
        rows.append({"page": page.doc_id, "tenant": page.tenant, "classification": page.classification, "barrier": page.barrier or "none",
                     "acl": ", ".join(sorted(page.acl)), "read by": ", ".join(readers)})
    return show_table(rows, "Six pages: four fields, one answer each")


# ---- the judges of the exercises ---------------------------------------------------------------------------------------

STARVING = {
    "post-12": ("cut at 12, then filter", lambda index: CutThenFilter(index), 12),
    "post-200": ("cut at 200, then filter", lambda index: CutThenFilter(index), 200),
    "over-fetch": ("fetch more until five are readable", lambda index: OverFetch(index), 5),
    "filter-first": ("filter both legs, then rank, then cut", lambda index: Safe(index), 12),
    "dense-only": ("filter the vector leg, drop the rest at the exit", lambda index: OneLegFiltered(index), 12),
}


@cache
def starving() -> dict[str, int]:
    """Sources that Ines gets from each of five designs, with 250 closed pages that match better than hers."""
    index = crowd(250)
    return {name: len(make(index).retrieve(QUESTION, _ines(), policy=RetrievalPolicy(candidate_limit=limit)).hits)
            for name, (_, make, limit) in STARVING.items()}


def _starvers(answer: set) -> Verdict:
    got = {str(name).strip() for name in ([answer] if isinstance(answer, str) else answer)}
    counts = starving()
    hungry = {name for name, count in counts.items() if count < 5}
    if unknown := sorted(got - set(STARVING)):
        return wrong(f"{unknown[0]!r} is none of the five designs: {', '.join(STARVING)}.")
    if "over-fetch" in got:
        ranking = OverFetch(crowd(250)).lexical(QUESTION, principal=_ines(), limit=5)
        return wrong(f"over-fetch found all five. It also read {ranking.postings:,} postings to do so: slow and measurable, not starved.")
    if "filter-first" in got:
        return wrong(f"filter-first gave {counts['filter-first']} sources. Closed pages took none of its places: it never saw them.")
    if "post-200" not in got:
        return wrong("post-200 starves too: 250 closed pages match better, and its 200 places are theirs.")
    if "dense-only" not in got:
        return wrong(f"dense-only gave {counts['dense-only']} of 5: the keyword leg was unfiltered, its places were closed pages, and the drop came after the cut.")
    if "post-12" not in got:
        return wrong("post-12 is the design of the incident: 24 closed pages were enough to empty it.")
    return right(f"Counted, not guessed: {', '.join(f'{name} {counts[name]}' for name in sorted(hungry))}, of 5 that are there.")


def _can_read_judge(learners: Callable[[Principal, AccessLabel], bool]) -> Verdict:
    world = _twins().b
    people, page = world.principals, {document.doc_id: document.label for document in world.documents if document.tenant == "wholesale"}
    ines, cleo = people["ines"], people["cleo"]
    retail_page = next(document.label for document in world.documents if document.tenant == "retail" and document.doc_id == "fees")
    eli = Principal("eli", "northline", groups=("employee",))
    leave = AccessLabel("northline", "internal", None, frozenset({"employee", "manager"}))
    told = [
        (ines, page["pmt-771"], "Ines, internal, should read a *confidential* page? As text 'confidential' comes before 'internal'; as clearance it stands above."),
        (cleo, page["bonus-heads"], "`bonus-heads` has no barrier and Cleo is a head; yours asks whether None is among her barriers, and says no."),
        (ines, page["walk-club"], "`walk-club` names EVERYONE; yours says no to Ines."),
        (eli, leave, "`leave` names employee and manager. Eli is in one of them; one is enough."),
        (cleo, page["deal-falcon"], "Cleo, cleared for restricted, is outside *advisory*; yours lets her read `deal-falcon`."),
        (ines, page["bonus-heads"], "`bonus-heads` names the heads and nobody else; yours lets Ines read it."),
        (ines, retail_page, "`fees` of the retail bank: same id, other tenant; yours lets Ines read it."),
    ]
    for principal, label, sentence in told:
        if bool(learners(principal, label)) != can_read(principal, label):
            return wrong(sentence)
    tried = 0
    barriers, groups = (None, "advisory", "research"), (frozenset({EVERYONE}), frozenset({"heads"}), frozenset({"heads", "staff"}))
    for tenant, classification, barrier, acl in product(("wholesale", "retail"), CLASSIFICATIONS, barriers, groups):
        for clearance, inside, member in product(CLASSIFICATIONS, ((), ("advisory",)), ((), ("staff",))):
            who = Principal("u", "wholesale", clearance, inside, member)
            label = AccessLabel(tenant, classification, barrier, acl)
            tried += 1
            if bool(learners(who, label)) != can_read(who, label):
                return wrong(f"Cleared for {clearance}, inside {', '.join(inside) or 'no barrier'}, in {', '.join(member) or 'no group'}, and a page of "
                             f"{tenant}, {classification}, {barrier or 'no barrier'}, for {', '.join(sorted(acl))}: should be {can_read(who, label)}.")
    return right(f"{tried} pairs of reader and label, each field alone and all together: yours agrees with the lab's.")


def _leak_test_judge(learners: Callable) -> Verdict:
    pairs = [(_twins().a.index, _twins().b.index)]
    later = load_world("twins")
    for world in (later.a, later.b):
        world.index.add(Document("news", "wholesale", "News", "# News\n\nAcme Trading FZE opens a shuttle stop for the falcon walk."))
    pairs.append((later.a.index, later.b.index))
    if learners(Safe, *pairs[0]):
        return wrong("Alarms on the safe design. Compare what Ines sees in the two worlds, not what the worlds hold.")
    if learners(Safe, *pairs[1]):
        return wrong("Alarms on the safe design after an open page was added to both worlds. Compare two worlds, not today with yesterday.")
    reasons = {
        CutThenFilter: "your questions match nothing hidden, or you look at too little. Try the words of a closed page, and count.",
        TenantWideStatistics: "no closed id is ever returned. It is a score that moved: look at `hit.score` too.",
        CountsReported: "this design tells Ines what was excluded. Compare all that the result holds, not the hits alone.",
    }
    for design, reason in reasons.items():
        if not any(learners(design, *pair) for pair in pairs):
            return wrong(f"Silent on {design.__name__}: {reason}")
    return right("It alarms on three leaky designs and stays quiet on the safe one, also after an open page arrived. Take it to work.")


EXERCISES = {
    "05.1": Exercise('a set of names, such as {"post-12"}', _starvers),
    "05.2": Exercise("a function of a principal and a label that returns True or False", _can_read_judge),
    "05.3": Exercise("a function leak_test(design, a, b) that returns True where it alarms", _leak_test_judge),
}
