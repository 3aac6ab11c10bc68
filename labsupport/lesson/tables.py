"""Tables that a screen reader can walk: a caption, headers with a scope, no empty header, and no ids at all.

Written out here and not by a DataFrame's styler: its header cells have no scope, its markup changes with its version, and
two copies of one table on a page would share their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from labsupport.lesson.shown import Shown

HATCH = "background:repeating-linear-gradient(45deg,rgba(213,94,0,.30) 0 3px,transparent 3px 9px);font-weight:bold"
"""A second cue beside the word: what is closed, leaked or different is hatched and bold."""

_LEFT = "text-align:left;vertical-align:top"


def show_table(rows, caption: str, *, hatch: Iterable[str] = (), digits: int = 4) -> Shown:
    """A table from a DataFrame, or from a list of mappings that share their keys. The first column names the rows.

    `caption` states the finding. Cells whose text begins with a word of `hatch` get a second cue beside that word. Floats
    have `digits` places, so that the last bits of another machine do not show. A DataFrame with a named index begins with it.
    Raises `ValueError` for no rows or an unnamed column.
    """
    head, body = _columns_and_cells(rows)
    if not body or not all(head):
        raise ValueError(f"a table needs rows and a name for each column, got {len(body)} rows under {head!r}")
    cells = [[_spelled(value, digits) for value in line] for line in body]
    text = "\n".join([caption, *("  " + " · ".join(_text(cell) for cell in line) for line in [head, *cells])])
    return Shown(text, table_html(head, cells, caption, hatch=tuple(hatch)))


def table_html(
    head: Sequence[str], body: Sequence[Sequence[object]], caption: str, *, hatch: tuple[str, ...] = (), row_heads: bool = True
) -> str:
    """The HTML of one table. A cell is text, or a `Shown` whose HTML stands in the cell; the first of each row is its header."""
    heads = "".join(f'<th scope="col" style="{_LEFT}">{escape(name)}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(_cell(cell, hatch, header=row_heads and i == 0) for i, cell in enumerate(line)) + "</tr>" for line in body
    )
    return (
        f'<table class="dataframe lab-table" style="margin-left:0{";min-width:24em" if row_heads else ""}">'
        f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _cell(cell: object, hatch: tuple[str, ...], *, header: bool) -> str:
    body = cell.html if isinstance(cell, Shown) else escape(str(cell))
    if header:
        return f'<th scope="row" style="{_LEFT};font-weight:normal">{body}</th>'
    marked = bool(hatch) and _text(cell).startswith(hatch)
    return f'<td style="{_LEFT}{";" + HATCH if marked else ""}">{body}</td>'


def _text(cell: object) -> str:
    return cell.text if isinstance(cell, Shown) else str(cell)


def _spelled(value: object, digits: int) -> object:
    if isinstance(value, Shown):
        return value
    if value is None or value != value:  # None and NaN both mean: nothing stands here
        return "–"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if isinstance(value, (set, frozenset)):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


def _columns_and_cells(rows) -> tuple[list[str], list[list[object]]]:
    if hasattr(rows, "columns"):
        frame = rows.reset_index() if any(rows.index.names) else rows
        return [str(name) for name in frame.columns], frame.astype(object).to_numpy().tolist()
    listed: list[Mapping] = list(rows)
    head = list(listed[0]) if listed else []
    return [str(name) for name in head], [[row[name] for name in head] for row in listed]
