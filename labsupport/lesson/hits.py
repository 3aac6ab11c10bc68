"""Shows a ranking: place, page, the words that were returned, and, for the author's eye, whether the reader may read them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from labsupport.entitlement import can_read
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.model import Hit, Principal


def show_hits(
    hits: Sequence[Hit], caption: str, *, scale: str | None = None, reader: Principal | None = None, name: str = "", words: int = 12
) -> Shown:
    """One row a hit. `scale` names and shows the score: `BM25`, `cosine`, `1/(60+rank) sum`, `rerank`; without it, no number.

    With `reader` (and `name`, where the id is no name) a last column says `reads` or `CLOSED`: the lab's own view, which no
    reader has. No hits: a line that says so.
    """
    if not hits:
        return Shown(f"{caption}\n  nothing was returned", f"<p><strong>{escape(caption)}</strong><br>nothing was returned</p>")
    return show_table(
        [_row(place, hit, scale, reader, name, words) for place, hit in enumerate(hits, 1)], caption, hatch=("CLOSED",)
    )


def _row(place: int, hit: Hit, scale: str | None, reader: Principal | None, name: str, words: int) -> dict:
    row = {"place": place, "chunk": hit.chunk_id, "text": first_words(hit.chunk.text, words)}
    if scale:
        row[scale] = hit.score
    if reader:
        row[f"to {name or reader.user_id}"] = "reads" if can_read(reader, hit.chunk.label) else "CLOSED"
    return row


def first_words(text: str, count: int) -> str:
    """The opening of a text on one line, with an ellipsis where it was cut."""
    words = text.split()
    return " ".join(words[:count]) + (" …" if len(words) > count else "")
