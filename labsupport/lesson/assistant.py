"""The stand-in for the assistant around a search: a status for the person on call, and an answer that repeats the best source.

It is a parrot on purpose: the worst case of a model, and the same on every machine. What is leaked to it is leaked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from labsupport.entitlement import can_read
from labsupport.errors import QueryRefused
from labsupport.guardrails import EMPTY_ANSWER
from labsupport.lesson.hits import first_words
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import HATCH, table_html
from labsupport.model import Hit, Principal


@dataclass(frozen=True)
class Reply:
    """What goes out: the status line that monitoring sees, the sources, and the text that the person who asked reads."""

    status: str
    hits: tuple[Hit, ...]
    answer: str

    @property
    def log_line(self) -> str:
        """All that the person on call sees of it."""
        return f"{self.status} · {len(self.hits)} sources"


def serve(design, question: str, reader: Principal, **how) -> Reply:
    """Ask a design (anything with `retrieve`) in a reader's name. A refused question is a 400; whatever comes back is a 200."""
    try:
        hits = tuple(design.retrieve(question, reader, **how).hits)
    except QueryRefused as refusal:
        return Reply("400 Bad Request", (), str(refusal))
    return Reply("200 OK", hits, hits[0].chunk.text if hits else EMPTY_ANSWER)


def compare_designs(world, designs: Mapping[str, object], question: str, reader: str, **how) -> Shown:
    """One question, one reader (a key of the world's principals), several designs side by side: status and sources.

    Each source says in words whether this reader may read it: the lab's view, which the reader does not have.
    """
    who, name = world.principals[reader], world.people[reader].name
    replies = {label: serve(design, question, who, **how) for label, design in designs.items()}
    caption = f"{name} asks: {question}"
    text = "\n".join([caption, *(f"  {label}: {reply.log_line}" for label, reply in replies.items())])
    return Shown(
        text, table_html(list(replies), [[_sources(reply, who, name) for reply in replies.values()]], caption, row_heads=False)
    )


def _sources(reply: Reply, who: Principal, name: str) -> Shown:
    items = "".join(
        f"<li>{_verdict(hit, who, name)} <code>{escape(hit.chunk_id)}</code><br>{escape(first_words(hit.chunk.text, 14))}</li>"
        for hit in reply.hits
    )
    return Shown(reply.log_line, f'<p><strong>{escape(reply.log_line)}</strong></p><ol style="padding-left:1.5em">{items}</ol>')


def _verdict(hit: Hit, who: Principal, name: str) -> str:
    if can_read(who, hit.chunk.label):
        return f"<span>{escape(name)} reads</span>"
    return f'<span style="{HATCH}">CLOSED to {escape(name)}</span>'
