"""Who may read what in a world: the small matrix that stands, folded, under the set-up cell of every notebook."""

from __future__ import annotations

from labsupport.entitlement import can_read
from labsupport.lesson.shown import Shown, folded
from labsupport.lesson.tables import show_table


def readers(world, pages=None, caption: str = "") -> Shown:
    """Pages × people of a world, all its live pages where `pages` is None. A cell says `reads` or `closed` in words.

    Under a caption it stands open; without one it is folded away, to be opened whenever you wonder who is who.
    """
    pages = world.documents if pages is None else pages
    rows = [
        {"page": page_name(page, world)}
        | {person_name(key, world): "reads" if can_read(who, page.label) else "closed" for key, who in world.principals.items()}
        for page in pages
    ]
    table = show_table(rows, caption or "Who may read what", hatch=("closed",))
    if caption:
        return table
    people = ", ".join(person_name(key, world) for key in world.principals)
    return Shown(
        f"Who may read what, folded: {len(pages)} pages · {people}", folded(f"Who may read what ({len(pages)} pages)", table.html)
    )


def page_name(page, world) -> str:
    """`leave`, or `retail/fees` where the page belongs to another tenant than the world's own."""
    return page.doc_id if page.tenant == world.tenant else f"{page.tenant}/{page.doc_id}"


def person_name(key: str, world) -> str:
    return f"{world.people[key].name}, {world.people[key].role}"
