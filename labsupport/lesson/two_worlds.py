"""The game: worlds A and B differ only in pages that the principal may not read. Which one are you in?

One answer from each world goes in; both columns come out as the principal sees them, and a last line that says SAME, or
DIFFERS and in what. On a safe design nobody can tell the worlds apart: that is noninterference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import HATCH, table_html
from labsupport.model import Hit

OBSERVABLES = ("text", "count", "order", "score", "rank", "work")


@dataclass(frozen=True)
class Seen:
    """What one principal can observe of one answer.

    `hits` in the order received. `work` is what a clock would tell: postings and vectors read, or `None` where nobody could
    measure it. `notes` are further things in plain sight, such as `{"log": "…"}` or `{"status": "200 OK"}`.
    """

    hits: Sequence[Hit]
    work: int | None = None
    notes: Mapping[str, str] | None = None


def differences(a: Seen, b: Seen) -> list[str]:
    """The observables in which two answers differ, in the order of `OBSERVABLES`, then the names of differing notes.

    *text* and *count* compare the whole answers; *order*, *score* and *rank* the chunks that both hold, so that each word
    names a channel of its own. Scores are compared bit for bit: rounding is for display.
    """
    in_a, in_b = _by_id(a), _by_id(b)
    both = [id for id in in_a if id in in_b]
    differ = {
        "text": {id: _words(hit) for id, hit in in_a.items()} != {id: _words(hit) for id, hit in in_b.items()},
        "count": len(a.hits) != len(b.hits),
        "order": both != [id for id in in_b if id in in_a],
        "score": any(in_a[id].score != in_b[id].score for id in both),
        "rank": any(_ranks(in_a[id]) != _ranks(in_b[id]) for id in both),
        "work": a.work != b.work,
    }
    notes_a, notes_b = a.notes or {}, b.notes or {}
    return [name for name in OBSERVABLES if differ[name]] + sorted(n for n in notes_a | notes_b if notes_a.get(n) != notes_b.get(n))


def two_worlds(a: Seen, b: Seen, *, reader: str, scale: str) -> Shown:
    """Both answers side by side as `reader` sees them. `scale` names what the numbers are: `BM25`, `cosine`, `1/(60+rank)`."""
    found = differences(a, b)
    looked_at = [name for name in OBSERVABLES if name != "work" or (a.work, b.work) != (None, None)] + sorted(a.notes or {})
    verdict = f"DIFFERS in {', '.join(found)}" if found else f"SAME in {', '.join(looked_at)}"
    head = ["place", f"world A, as {reader} sees it", f"world B, as {reader} sees it"]
    length = max(len(a.hits), len(b.hits))
    body = [[str(i + 1), _line(a, i, scale), _line(b, i, scale)] for i in range(length)]
    body.append(["sources", str(len(a.hits)), str(len(b.hits))])
    if a.work is not None or b.work is not None:
        body.append(["work", *("–" if seen.work is None else f"{seen.work:,} postings and vectors" for seen in (a, b))])
    for name in sorted({**(a.notes or {}), **(b.notes or {})}):
        body.append([name, *((seen.notes or {}).get(name, "–") for seen in (a, b))])
    html = table_html(head, body, f"Two worlds, as {reader} sees them")
    last = f'<p class="lab-verdict" style="{HATCH if found else "font-weight:bold"}">{escape(verdict)}</p>'
    return Shown("\n".join([" · ".join(line) for line in [head, *body]] + [verdict]), html + last)


def _by_id(seen: Seen) -> dict[str, Hit]:
    return {hit.chunk_id: hit for hit in seen.hits}


def _words(hit: Hit) -> str:
    return hit.chunk if isinstance(hit.chunk, str) else hit.chunk.text


def _ranks(hit: Hit) -> tuple:
    return hit.lexical_rank, hit.dense_rank


def _line(seen: Seen, i: int, scale: str) -> str:
    if i >= len(seen.hits):
        return "–"
    hit = seen.hits[i]
    ranks = "".join(f" · {leg} {rank}" for leg, rank in (("word rank", hit.lexical_rank), ("vector rank", hit.dense_rank)) if rank)
    return f"{hit.chunk_id} · {scale} {hit.score:.4f}{ranks}"
