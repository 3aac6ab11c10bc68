"""Notebook 06, Freshness: its predictions, its judges, the eight wordings, the log of events and the timeline."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from labsupport.chunking import chunk_document
from labsupport.embedding import hash_embed
from labsupport.entitlement import can_read
from labsupport.errors import RetrievalError
from labsupport.index import Index
from labsupport.ingestion import IngestJob, ingest
from labsupport.leaky import AppendOnly
from labsupport.lesson.checks import Exercise, Verdict, right, wrong
from labsupport.lesson.figures import MARKERS, new_figure
from labsupport.lesson.hits import first_words
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown, brief_text
from labsupport.lesson.tables import show_table
from labsupport.model import Document, Hit, Principal
from labsupport.retriever import AuthorizedRetriever
from labsupport.worlds import World, load_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREDICTIONS = {
    "06.1": Prediction(
        "How many of the eight are answered from version 1?",
        {
            "a": ("0", "nothing in a ranking knows which page is newer. It counts words, and both versions have them."),
            "b": ("3", "a birth, two blocks, a form: where you use version 1's words, version 1 is the better match."),
            "c": ("4", "no coin is thrown. The same words bring the same version every time, and three wordings are nearer to the old one."),
        },
        "b",
    ),
    "06.2": Prediction(
        "Is the rule of the two blocks still answered?",
        {
            "a": ("no, version 2 replaced the page", "an upsert replaces an id. Version 2 has no section with this id, so nothing came to replace it."),
            "b": ("yes, from version 1", "the id of a heading that vanished is nobody's to overwrite. It stays until somebody kills it."),
        },
        "b",
    ),
    "06.3": Prediction(
        "Which of the four are stored?",
        {
            "a": ("the review page alone", "its text says public, its job says manager, and the job decides. The other three are refused."),
            "b": ("the review page and the late version", "the last to arrive is not the newest. The number on the job decides, and 1 is below 2."),
            "c": ("the review page, and the draft as an empty page", "a refused fetch is no empty page. Of the draft nothing is stored, not even its name."),
        },
        "a",
    ),
    "06.4": Prediction(
        "How many of the eight are still answered from version 1?",
        {
            "a": ("0", "version 2 dropped a rule. Twice the score of a page without the words is less than the score of the page that has them."),
            "b": ("1", "two of the three are pushed down. The rule that version 2 dropped stands in version 1 alone."),
            "c": ("3", "doubling moves two of them. It cannot give version 2 words that it does not have."),
        },
        "b",
    ),
}

LEAK = LeakLine(
    notebook="06",
    name="append-only, the newest on top",
    sounded_reasonable=AppendOnly.sentence,
    observed="a dropped rule, first in the list or second: the wording of the question decides",
    closed_by="a swap at one instant, and tombstones that keep a floor and never the text",
)

ASKED = {"Eli's wording": "How many weeks of parental leave after a birth?", "his colleague's": "How many weeks is parental leave?"}


def wordings(world: World) -> list[str]:
    """Eight ways to ask about parental leave, from the world's folder."""
    listed = tomllib.loads((world.folder / "phrasings.toml").read_text(encoding="utf-8"))["phrasing"]
    return [one["text"] for one in listed]


def versions(design: object, question: str, reader: Principal, **how) -> list[int]:
    """The versions of `leave` among a reader's sources, in the order of the list."""
    return [hit.chunk.version for hit in design.retrieve(question, reader, **how).hits if hit.chunk.doc_id == "leave"]


def answered(design: object, questions: Sequence[str], reader: Principal, caption: str) -> Shown:
    """For each wording: the version of the first source, and every version of `leave` among the five."""
    rows = []
    for question in questions:
        found = versions(design, question, reader)
        rows.append({"question": question, "first source": f"version {found[0]}", "versions among the five": sorted(set(found))})
    return show_table(rows, caption, hatch=("version 1",))


def sources(hits: Sequence[Hit], caption: str, *, replaced: int = 1) -> Shown:
    """A ranking with the version of each source; the one that was replaced is marked."""
    rows = [{"place": place, "page": hit.chunk.doc_id, "version": f"version {hit.chunk.version}", "text": first_words(hit.chunk.text, 12)}
            for place, hit in enumerate(hits, 1)]
    return show_table(rows, caption, hatch=(f"version {replaced}",))


# ---- who looks between two steps of a replacement ----------------------------------------------------------------------


def looks(road: Callable[[Index, Document], object], pages: Sequence[Document], reader: Principal) -> list[str]:
    """Version 1 is stored; then `road(index, page)` brings version 2, and a reader looks whenever a text is embedded and after
    each change of the index. What they find, in words, without repeats of the same answer."""
    whole = {page.version: {chunk.chunk_id for chunk in chunk_document(page)} for page in pages}
    seen: list[str] = []

    class Watched(Index):
        """An index that somebody reads while it is written."""

        def look(self) -> None:
            found = {hit.chunk_id: hit.chunk.version for hit in self.lexical("parental leave", principal=reader, limit=None)}
            version, *others = sorted(set(found.values())) or [0]
            said = "both" if others else "neither" if not found else f"version {version}"
            if version and not others and set(found) != whole[version]:
                said = f"half of version {version}"
            if seen[-1:] != [said]:
                seen.append(said)

        def _publish(self, namespaces) -> None:
            super()._publish(namespaces)
            self.look()

    watched: list[Watched] = []

    def embedder(text: str):
        for index in watched:
            index.look()
        return hash_embed(text)

    index = Watched(tenant=pages[0].tenant, embedder=embedder)
    index.add(pages[0])
    watched.append(index)
    road(index, pages[1])
    return seen


# ---- the log of one page -------------------------------------------------------------------------------------------------


class WorkerDied(Exception):
    """The worker is gone in the middle of its job."""


@dataclass(frozen=True)
class Event:
    """Something that happens to the page `leave` at a tick: a job (which may die half-way), or its deletion. What comes too
    late does not count."""

    tick: int
    what: str
    job: IngestJob | None = None
    dies: bool = False
    counts: bool = True


@cache
def _world() -> World:
    return load_world("northline")


@cache
def events() -> tuple[Event, ...]:
    """The life of `leave`, in the order in which things arrive."""
    jobs = _world().jobs
    return (
        Event(20, "version 1 is published", jobs["leave@v1"]),
        Event(60, "the file moves to a folder for managers too", jobs["leave@v1-moved"]),
        Event(118, "the job of version 2 dies half-way", jobs["leave@v2"], dies=True, counts=False),
        Event(120, "the job of version 2 runs again", jobs["leave@v2"]),
        Event(125, "version 1 arrives late", jobs["leave@v1-late"], counts=False),
        Event(150, "the file moves to the managers' folder", replace(jobs["leave@v2"], acl=["manager"], label_tick=2)),
        Event(155, "a job from before the move is retried", jobs["leave@v2"], counts=False),
        Event(180, "the page is deleted"),
        Event(185, "a zombie: version 2's job comes once more", jobs["leave@v2-zombie"], counts=False),
    )


def stops() -> dict[str, int]:
    """The stops of the selector: how many events have happened."""
    return {"0 · nothing yet": 0} | {f"{n} · tick {event.tick}: {event.what}": n for n, event in enumerate(events(), 1)}


@cache
def replay(design: type[Index], count: int) -> tuple[Index, str]:
    """An index after the first `count` events, and what came of the last one: a pure function of the prefix."""
    index, outcome = design(tenant=_world().tenant), "nothing yet"
    for event in events()[:count]:
        outcome = "success"
        try:
            if event.job is None:
                index.tombstone_doc("leave")
            else:
                ingest(index, event.job, fetch=_cut_short if event.dies else _world().fetch, scope=_world().scope)
        except (RetrievalError, WorkerDied) as failure:
            outcome = "nothing, it died" if event.dies else f"refused: {type(failure).__name__}"
    return index, outcome


def _cut_short(source: str, *, uploader: str) -> str:
    _world().fetch(source, uploader=uploader)[:40]
    raise WorkerDied


def in_force(count: int) -> IngestJob | None:
    """The job whose version and label are right after the first `count` events, told from the events alone, without an index."""
    return next((event.job for event in reversed(events()[:count]) if event.counts), None)


def verdict(hit: Hit, reader: Principal, count: int) -> str:
    """What a first source is worth at that moment, in one word or two, and what it is."""
    now = in_force(count)
    fates = ["DEAD"] if now is None else []
    if now and hit.chunk.version < now.version:
        fates.append("SUPERSEDED")
    if now and not can_read(reader, now.document("").label):
        fates.append("CLOSED")
    said = next((f"{number} weeks" for number in (12, 16) if f"{number} weeks" in hit.chunk.text), f"section {hit.chunk.section}")
    return f"{', '.join(fates) or 'in force'}: v{hit.chunk.version}, {said}"


def after(principal: Principal, events_so_far: int) -> Shown:
    """What two wordings bring a reader after so many events, on the design that only appends and on the one that swaps."""
    designs = {"append-only": replay(AppendOnly, events_so_far), "swap": replay(Index, events_so_far)}
    rows = [{"asked": "the worker was told"} | {name: outcome for name, (_, outcome) in designs.items()}]
    for who, question in ASKED.items():
        first = {name: AuthorizedRetriever(index).retrieve(question, principal).hits[:1] for name, (index, _) in designs.items()}
        rows.append({"asked": who} | {
            name: verdict(hits[0], principal, events_so_far) if hits else "nothing" for name, hits in first.items()})
    return show_table(rows, "What the first source says", hatch=("SUPERSEDED", "DEAD", "CLOSED"))


def broken(design: type[Index], readers: Collection[Principal], questions: Sequence[str]) -> list[tuple[int, str, str]]:
    """Every (events so far, reader, wording) at which two versions answer, or a wrong one, or none though one is in force."""
    found = []
    for count, reader, question in product(range(len(events()) + 1), readers, questions):
        now = in_force(count)
        due = {now.version} if now and can_read(reader, now.document("").label) else set()
        if set(versions(AuthorizedRetriever(replay(design, count)[0]), question, reader)) != due:
            found.append((count, reader.user_id, question))
    return found


# ---- the timeline of three versions ----------------------------------------------------------------------------------------

RULES = ("Can I return goods within 30 days?", "Can I return goods within 14 days?")
END = 200


def timeline(design: type[Index], world: World, reader: Principal) -> dict[int, dict[int, tuple[int, ...]]]:
    """For each tick at which `refunds` changes: for each version that lives then, the rules (30 or 14 days) that it answers."""
    pages = sorted((page for page in world.history if page.doc_id == "refunds"), key=lambda page: page.version)
    lanes = {}
    for count, page in enumerate(pages, 1):
        index = design(tenant=world.tenant)
        index.add_many(pages[:count])
        live = {hit.chunk.version for hit in index.lexical("refunds", principal=reader, limit=None)}
        first = [AuthorizedRetriever(index).retrieve(rule, reader).hits[0].chunk.version for rule in RULES]
        lanes[page.updated_tick] = {version: tuple(n for n, found in enumerate(first) if found == version) for version in sorted(live)}
    return lanes


def timeline_figure(designs: Mapping[str, Mapping[int, Mapping[int, tuple[int, ...]]]]) -> tuple[Figure, str]:
    """Lanes of versions over ticks, one panel for each design: a hatched bar lives, a marker answers. With its alt text."""
    spans = {name: two_answer(lanes) for name, lanes in designs.items()}
    title = f"Append-only: two rules answer for {spans['append-only']} ticks. Swap: one, at every tick"
    figure, panels = new_figure(title, panels=len(designs), size=(9.6, 2.9), sharey=True)
    said = []
    for axes, (name, lanes) in zip(panels, designs.items(), strict=True):
        ends = [*list(lanes)[1:], END]
        for (tick, live), end in zip(lanes.items(), ends, strict=True):
            for version, rules in live.items():
                axes.barh(version, end - tick, left=tick, height=0.62, color="#DCE6EE", hatch="//", edgecolor="#8A99A6")
                for rule in rules:
                    axes.plot(tick + (end - tick) * (0.35 + 0.3 * rule), version, MARKERS[rule], markersize=9,
                              color=("#0072B2", "#D55E00")[rule], markeredgecolor="white")
            answers = ", ".join(f"version {version}" for version, rules in live.items() if rules)
            said.append(f"{name}, ticks {tick} to {end}: {len(live)} live, {answers} answers")
        axes.set_title(name, fontsize=10)
        axes.set_xlim(0, END)
        axes.set_xlabel("tick")
        axes.set_yticks(range(1, 4), ["version 1\n30 days", "version 2\n14 days", "version 3\n30 days"])
        axes.set_ylabel("refunds" if axes is panels[0] else " ")
    for rule, question in enumerate(RULES):
        panels[0].plot([], [], MARKERS[rule], color=("#0072B2", "#D55E00")[rule], label=f"answers: {question}")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure, "; ".join(said) + "."


def two_answer(lanes: Mapping[int, Mapping[int, tuple[int, ...]]]) -> int:
    """For how many ticks, up to the end, more than one version answers."""
    ends = [*list(lanes)[1:], END]
    return sum(end - tick for (tick, live), end in zip(lanes.items(), ends, strict=True) if sum(map(bool, live.values())) > 1)


# ---- for those who go deeper -------------------------------------------------------------------------------------------------


def longest_wait(every: int, change: Callable[[Index], object], over: Callable[[Index], bool], *, at_once: bool) -> int:
    """For an engine that takes changes up only when it is rebuilt, at every so many ticks: how many ticks the old state answers
    on, at worst, after a change. `at_once`: this change does not wait for the rebuild."""
    longest = 0
    for happened in range(1, every + 1):
        index, now = replay(Index, 1)[0].snapshot(), happened
        if at_once:
            change(index)
        while not over(index) and now < happened + 2 * every:
            if now % every == 0:
                change(index)
            now += not over(index)
        longest = max(longest, now - happened)
    return longest


def saved(index: Index) -> bytes:
    """The bytes that `index.save` writes."""
    with TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        return (Path(folder) / "index").read_bytes()


# ---- the judges of the exercises ---------------------------------------------------------------------------------------------

FATES = ("old", "superseded", "dead", "fine")
NOW, CONTRACT = 200, 90

CASES: dict[str, tuple[int, int | None, int | None, dict[str, str]]] = {
    # version: (written at, replaced at, deleted at, what to say to whoever takes it for something else)
    "time-off v1": (0, None, None, {
        "superseded": "Nobody replaced `time-off`. It is 200 ticks old against a contract of 90: old.",
        "dead": "Nobody deleted `time-off`. It is 200 ticks old against a contract of 90: old.",
        "fine": "`time-off` may well be right. The contract allows 90 ticks and it is 200 old, so whoever asked for the contract gets it left out: old.",
    }),
    "expenses v2": (185, 190, None, {
        "old": "`expenses` version 2 is 15 ticks old. Its trouble is that version 3 exists, not its age: superseded.",
        "dead": "The page `expenses` lives on. It is only this version that has a successor: superseded.",
        "fine": "`expenses` version 2 is young, and version 3 came five ticks after it: superseded.",
    }),
    "leave v2": (120, None, 190, {
        "old": "`leave` version 2 is 80 ticks old, within the contract. The page was deleted at tick 190: dead.",
        "superseded": "There is no version 3 of `leave`. The page was deleted at tick 190: dead.",
        "fine": "The page was deleted at tick 190. A job that comes at 195 must not revive it: dead.",
    }),
    "refunds v3": (140, None, None, {
        "old": "`refunds` version 3 is 60 ticks old, and the contract allows 90: fine.",
        "superseded": "Version 3 has version 1's text, and it is version 3 all the same. The number decides, nobody compares texts: fine.",
        "dead": "Version 1's text was replaced. Version 3 brought the same words back, under a number that lives: fine.",
    }),
    "training v1": (120, None, None, {
        "old": "A narrowed label is no birthday. `training` was written at tick 120 and is 80 ticks old: fine.",
        "superseded": "The label of `training` changed, its version did not: fine.",
        "dead": "Managers still read `training`. A label says who reads a page, not whether it lives: fine.",
    }),
}


def fate(case: str) -> str:
    """Old, superseded, dead or fine, from the numbers of a case: what is dead is dead first, and age comes last."""
    written, replaced, deleted, _ = CASES[case]
    if deleted is not None:
        return "dead"
    if replaced is not None:
        return "superseded"
    return "old" if NOW - written > CONTRACT else "fine"


def _fates(answer: dict) -> Verdict:
    for case in CASES:
        if case not in answer:
            return wrong(f"`{case}` is missing from your answer.")
        said = str(answer[case]).strip().lower()
        if said not in FATES:
            return wrong(f"`{case}`: {said!r} is none of {', '.join(FATES)}.")
        if said != fate(case):
            return wrong(CASES[case][3][said])
    return right("Age, successor, deletion: three questions, three tools. An age limit answers the first one only.")


CARDS = ("fetch", "embed", "stage", "publish", "switch", "tombstone", "clean up")
_NEEDS = {"embed": "fetch", "stage": "fetch", "publish": "fetch", "switch": "stage"}


def _steps(answer: Sequence[str]) -> Verdict:
    """Plays the cards, and after each lets the worker die and Eli ask: on both legs version 1, or on both version 2."""
    words, vectors, done = {1}, {1}, []
    for number, card in enumerate((str(each).strip().lower() for each in answer), 1):
        if card not in CARDS:
            return wrong(f"{card!r} is none of the cards: {', '.join(CARDS)}.")
        if (needed := _NEEDS.get(card)) and needed not in done:
            return wrong(f"Your step {number}, {card}, has nothing to work on: {needed} comes before it.")
        done.append(card)
        if card == "publish":
            words, vectors = words | {2}, vectors | ({2} if "embed" in done else set())
        elif card == "switch":
            words, vectors = {2}, {2} if "embed" in done else set()
        elif card == "embed" and 2 in words:
            vectors = vectors | {2}
        elif card in ("tombstone", "clean up"):
            words, vectors = words - {1}, vectors - {1}
        if not words and not vectors:
            return wrong(f"Died after your step {number}, {card}: Eli gets nothing. Never neither.")
        if len(words | vectors) > 1:
            return wrong(f"After your step {number}, {card}, both versions answer. Never both.")
        if words != vectors:
            return wrong(f"Died after your step {number}, {card}: BM25 finds version 2, dense does not.")
    if words != {2}:
        return wrong(f"All {len(done)} steps are done and version 1 still answers. Something must let readers find version 2.")
    if "clean up" not in done:
        return wrong("Version 2 answers. Version 1 still lies on the disk, and what is not cleaned up comes back with a restore.")
    return right("Whatever step the worker dies at, one version answers, on both legs. There is one instant, and it is the switch.")


def _reference(live: tuple[int, str] | None, dead_below: int, job: tuple[int, str]) -> str:
    version, text = job
    if version < dead_below or (live and version < live[0]):
        return "refuse"
    if live and version == live[0]:
        return "no-op" if text == live[1] else "refuse"
    return "store"


def _decide_judge(learners: Callable) -> Verdict:
    told = [
        (None, 0, (1, "12 weeks"), "Nothing lives and nothing is dead: a first version is stored. Yours said {said}."),
        ((2, "16 weeks"), 0, (2, "12 weeks"), "Version 2 with *another* text was {said} over version 2. Equal and different is an error: refuse."),
        ((2, "16 weeks"), 0, (2, "16 weeks"), "Version 2 with the same text came once more. A job that is run again is harmless: no-op. Yours said {said}."),
        ((9, "16 weeks"), 0, (10, "18 weeks"), "Version 10 was {said} against version 9: compare numbers, not text."),
        ((2, "16 weeks"), 0, (1, "12 weeks"), "Version 1 came after version 2, and yours said {said}. The last to arrive is not the newest."),
        (None, 3, (2, "16 weeks"), "A job for version 2 revived a deleted document: versions below 3 are dead. Yours said {said}."),
        (None, 3, (3, "18 weeks"), "The floor is 3 and version 3 may live. Yours said {said}."),
    ]
    past = {"store": "accepted", "refuse": "refused", "no-op": "ignored"}
    for live, dead_below, job, sentence in told:
        said = learners(live, dead_below, job)
        if said not in past:
            return wrong(f"Your function returned {said!r}; it must return 'store', 'no-op' or 'refuse'.")
        if said != _reference(live, dead_below, job):
            return wrong(sentence.format(said=past[said] if "was {said}" in sentence else repr(said)))
    tried = 0
    lives = (None, (2, "16 weeks"), (9, "18 weeks"))
    for live, dead_below, version, text in product(lives, (0, 2, 10), (1, 2, 9, 10, 11), ("16 weeks", "18 weeks")):
        if live and live[0] < dead_below:
            continue  # what is dead does not live
        tried += 1
        if learners(live, dead_below, (version, text)) != _reference(live, dead_below, (version, text)):
            return wrong(f"Live {live}, dead below {dead_below}, job {(version, text)}: should be {_reference(live, dead_below, (version, text))!r}.")
    return right(f"{tried} more cases agree. Versions only rise, so it does not matter in which order the jobs arrive.")


def _confusing(events: Sequence[tuple[int, str]], question: str) -> Verdict:
    """Replays at most five versions of one page on both designs and asks as Eli."""
    eli, arrived = _world().principals["eli"], list(events)
    if len(arrived) > 5:
        return wrong(f"{len(arrived)} events. Five are enough.")
    if not all(isinstance(each, (tuple, list)) and len(each) == 2 for each in arrived) or not isinstance(question, str):
        raise TypeError
    ours, theirs = Index(tenant="northline"), AppendOnly(tenant="northline")
    for version, text in arrived:
        try:
            page = Document("page", "northline", "page", text, acl=["employee"], version=version)
        except (ValueError, TypeError):
            return wrong(f"Refused by both: version {version!r} is not a version, or {brief_text(str(text))!r} is no text.")
        for index in (ours, theirs):
            try:
                index.add(page)
            except RetrievalError:
                pass  # late: ours refuses, and that is the point
    right_one, first = (AuthorizedRetriever(index).retrieve(question, eli).hits for index in (ours, theirs))
    if not first:
        return wrong(f"Neither design finds anything for {brief_text(question)!r}. Ask with a word of the page.")
    live = max(version for version, _ in arrived)
    if len({version for version, _ in arrived}) == 1:
        return wrong(f"Nothing to confuse yet: {brief_text(first[0].chunk.text)!r} is right in both.")
    if first[0].chunk.version == live:
        both = "returned both" if len({hit.chunk.version for hit in first}) > 1 else "returned one version"
        return wrong(f"Append-only {both}, but the first hit was right. Make version {live} shorter, or ask with a word that it dropped.")
    now = f"{brief_text(right_one[0].chunk.text)!r}, version {right_one[0].chunk.version}" if right_one else "nothing, since the words are gone"
    return right(f"Append-only answers {brief_text(first[0].chunk.text)!r}, version {first[0].chunk.version}. Ours answers {now}.")


EXERCISES = {
    "06.1": Exercise('a word for each version: "old", "superseded", "dead" or "fine"', _fates),
    "06.2": Exercise('a list of cards in order, such as ["fetch", …]', _steps),
    "06.3": Exercise('a function of (live, dead_below, job) that returns "store", "no-op" or "refuse"', _decide_judge),
    "06.4": Exercise("a list of pairs (version, text), and a question in quotes", _confusing),
}
