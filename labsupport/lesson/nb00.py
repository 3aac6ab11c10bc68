"""Notebook 00, Start here: its predictions, its exercises' judges, its leak-log line and its map."""

from __future__ import annotations

import re
from functools import cache

from labsupport.entitlement import can_read
from labsupport.leaky import NoFilter
from labsupport.lesson.assistant import serve
from labsupport.lesson.checks import Exercise, Verdict, right, wrong
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.model import EVERYONE, Principal
from labsupport.retriever import RetrievalPolicy
from labsupport.tokens import tokenize
from labsupport.worlds import World, load_world

QUESTION = "How much am I paid during parental leave?"
GIVEAWAYS = frozenset({"band", "bands", "pay", "paid", "compensation"})

PREDICTIONS = {
    "00.1": Prediction(
        "What does the person on call see?",
        {
            "a": ("a 403", "a 403 needs somebody who checks. Nothing on this path looks at who is asking."),
            "b": ("a warning", "a warning needs a line of code that knows something is wrong. To this design all is well."),
            "c": ("an empty answer", "empty is what a filter would have left. There is none, so the list is full."),
            "d": ("nothing unusual", "that is the difficulty: a leak has the same status as a good answer."),
        },
        "d",
    ),
    "00.2": Prediction(
        "You switch the reader from Eli to Mo. Which column changes?",
        {
            "a": ("both", "the sloppy column never asks who is reading, so another reader cannot move it."),
            "b": ("only the sloppy one", "the sloppy column is the one that stays: the reader is no part of what it computes."),
            "c": ("only the safe one", "a design whose answer does not depend on who asks cannot be protecting anybody."),
        },
        "c",
    ),
    "00.3": Prediction(
        "How many pay figures are in the text that the model reads?",
        {
            "a": ("none", "the sentence asks the model to keep quiet. It takes nothing out of the text in front of it."),
            "b": ("fewer than before", "an instruction is one more line of text. It has no way to remove another line."),
            "c": ("as many as before", "the sentence stands above the figures, and the figures still stand below the sentence."),
        },
        "c",
    ),
}

LEAK = LeakLine(
    notebook="00",
    name="no filter",
    sounded_reasonable=NoFilter.sentence,
    observed="two sections of a closed pay page, first in the list, with 200 OK",
    closed_by="entitlement before ranking: a search opens only the shelves that the reader may read",
)


def pay_figures(text: str) -> list[str]:
    """The amounts of pay in a text, in order: five digits or more, with or without a comma and cents."""
    return re.findall(r"\b\d{2,3},?\d{3}(?:\.\d\d)?\b", text)


@cache
def _northline() -> World:
    return load_world("northline")


def _band_reader(answer: object) -> Verdict:
    world = _northline()
    key = (answer.user_id if isinstance(answer, Principal) else answer).strip().lower()
    page = next(page for page in world.documents if page.doc_id == "comp")
    if key == EVERYONE:
        return wrong("EVERYONE is a group that a page can name, not a person who asks.")
    if key not in world.principals:
        return wrong(f"No principal {key!r} here. You can ask as: {', '.join(world.principals)}.")
    if not can_read(world.principals[key], page.label):
        name, groups = world.people[key].name, ", ".join(sorted(world.principals[key].groups))
        count = sum(can_read(world.principals[key], each.label) for each in world.documents)
        only = ", ".join(page.acl)
        return wrong(f"{name}, {groups}, may read {count} pages. `comp` names one group, {only}, and {name} is not in it.")
    return right(f"{world.people[key].name} is in the group that `comp` names. Nothing else about the person decides.")


def _leaked(answer) -> Verdict:
    """Lists of ten places from the sloppy design and of five from the safe one: absent from the short list is not closed."""
    world = _northline()
    sloppy, safe = NoFilter(world.index), world.retriever
    for key, question in (("eli", QUESTION), ("eli", "How many weeks is parental leave?"), ("mo", QUESTION)):
        reader, name = world.principals[key], world.people[key].name
        returned = sloppy.retrieve(question, reader, policy=RetrievalPolicy(result_limit=10)).hits
        readable = {hit.chunk_id for hit in safe.retrieve(question, reader).hits}
        got = {
            getattr(item, "chunk_id", item) for item in answer(list(returned), list(safe.retrieve(question, reader).hits), reader)
        }
        due = {hit.chunk_id: rank for rank, hit in enumerate(returned, 1) if not can_read(reader, hit.chunk.label)}
        for hit in returned:
            if hit.chunk_id in got and hit.chunk_id not in due:
                if hit.chunk_id in readable:
                    return wrong(f"`{hit.chunk_id}` is in your set. {name} may read it: returned is not the same as leaked.")
                return wrong(
                    f"`{hit.chunk_id}` is missing from the safe list only because five better chunks stood before it; "
                    f"{name} may read it. Ask `can_read`, not the other list."
                )
        if missed := [f"`{id}` at rank {rank}" for id, rank in due.items() if id not in got]:
            return wrong(
                f"{len(due)} closed chunks came back to {name}, you name {len(due) - len(missed)}. Missing: {', '.join(missed)}."
            )
        if strangers := sorted(map(str, got - set(due))):
            return wrong(f"`{strangers[0]}` was never returned to {name}. What did not come back did not leak.")
    return right("Returned, and closed to the one who asked: both conditions, and nothing else.")


def _leaking_question(question: str, asked_by: str) -> Verdict:
    world = _northline()
    key = (asked_by.user_id if isinstance(asked_by, Principal) else asked_by).strip().lower()
    if giveaways := sorted(GIVEAWAYS & set(tokenize(question))):
        return wrong(f"Your question holds the word {giveaways[0]!r}. Find a closed page without band, pay or compensation.")
    if key not in world.principals:
        return wrong(f"No principal {key!r} here. You can ask as: {', '.join(world.principals)}.")
    who, name = world.principals[key], world.people[key].name
    reply = serve(NoFilter(world.index), question, who)
    if reply.status != "200 OK":
        return wrong("A blank question is refused before any index sees it, in both designs.")
    eli = world.principals["eli"]
    leaked = [hit.chunk_id for hit in reply.hits if not can_read(who, hit.chunk.label)]
    if leaked:
        return right(f"{name} got `{leaked[0]}`, with {reply.log_line}. No word in your question says that anything is closed.")
    if closed := [hit.chunk_id for hit in reply.hits if not can_read(eli, hit.chunk.label)]:
        return wrong(f"{name} may read `{closed[0]}`. It leaks only when the person who asks may not.")
    pages = ", ".join(dict.fromkeys(hit.chunk.doc_id for hit in reply.hits)) or "nothing"
    return wrong(
        f"Sloppy returned {pages}; {name} may read all of it. Try a word that a closed page uses and an employee would type too."
    )


EXERCISES = {
    "00.1": Exercise('a name in quotes, such as "eli"', _band_reader),
    "00.2": Exercise("a function that returns a set of chunk ids", _leaked),
    "00.3": Exercise("a question in quotes, and who asks it", _leaking_question),
}

STATIONS = (
    ("a page in a folder", ""),
    ("a live version with a label", "06"),
    ("chunks", "01"),
    ("shelves in a namespace", "04"),
    ("the shelves open to you", "05"),
    ("two rankings", "02"),
    ("one list", "03"),
    ("a prompt", "08"),
    ("an answer with its sources", "07"),
    ("a line in the log", "09"),
)
VERBS = (
    ("find it", "01 Chunking, 02 BM25 vs dense, 03 RRF arithmetic"),
    ("wall it", "04 Namespaces, 05 Pre-filter"),
    ("keep it true", "06 Freshness, 07 Grounding"),
    ("hand it over", "08 Assembly"),
    ("answer for it", "09 Identity and audit, 10 Measure it, 11 Real engines, 12 Leak gallery"),
)


def pipeline_map() -> Shown:
    """A page's way from the folder to the answer, the number of a notebook on each arrow; under it the series in five verbs."""
    title = "From a page in a folder to a line in the log: each arrow is a notebook"
    way = " ".join(f"—{number}→ {station}" if number else station for station, number in STATIONS)
    verbs = [f"{verb}: {notebooks}" for verb, notebooks in VERBS]
    steps = "".join(
        f'<li style="display:inline-block;margin:3px 0">{f"<strong> —{number}→ </strong>" if number else ""}'
        f'<span style="border:1px solid #767676;padding:2px 6px">{station}</span></li>'
        for station, number in STATIONS
    )
    lines = "".join(f"<li><strong>{verb}</strong>: {notebooks}</li>" for verb, notebooks in VERBS)
    html = f'<p><strong>{title}</strong></p><ol style="list-style:none;padding-left:0">{steps}</ol><ul>{lines}</ul>'
    return Shown("\n".join([title, f"  {way}", *(f"  {line}" for line in verbs)]), html)
