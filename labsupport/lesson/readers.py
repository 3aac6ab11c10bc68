"""Who may read what in a world: the small matrix that stands, folded, under the set-up cell of every notebook."""

from __future__ import annotations

from labsupport.entitlement import can_read
from labsupport.lesson.shown import Shown, folded
from labsupport.lesson.tables import show_table


def readers_table(world, pages=None, caption: str = "Who may read what") -> Shown:
    """Pages × people of a world (all its live documents where `pages` is None). A cell says `reads` or `closed` in words."""
    rows = [
        {"page": page_name(page, world)}
        | {person_name(key, world): "reads" if can_read(who, page.label) else "closed" for key, who in world.principals.items()}
        for page in (world.documents if pages is None else pages)
    ]
    return show_table(rows, caption, hatch=("closed",))


def readers(world) -> Shown:
    """`readers_table`, folded away: open it whenever you wonder who is who."""
    table = readers_table(world)
    people = ", ".join(person_name(key, world) for key in world.principals)
    return Shown(
        f"Who may read what, folded: {len(world.documents)} pages · {people}",
        folded(f"Who may read what ({len(world.documents)} pages)", table.html),
    )


def page_name(page, world) -> str:
    """`leave`, or `retail/fees` where the page belongs to another tenant than the world's own."""
    return page.doc_id if page.tenant == world.tenant else f"{page.tenant}/{page.doc_id}"


def person_name(key: str, world) -> str:
    return f"{world.people[key].name}, {world.people[key].role}"
