"""The leak log: one line for each notebook, kept where the notebook ends and read again where notebook 12 begins."""

from __future__ import annotations

from dataclasses import dataclass

from labsupport.lesson.chapters import chapter, chapters
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table


@dataclass(frozen=True)
class LeakLine:
    """A leak in four phrases: its name, the sentence that sounded reasonable, what could be observed, what closed it."""

    notebook: str
    name: str
    sounded_reasonable: str
    observed: str
    closed_by: str


def leak_log(number: str | None = None) -> Shown:
    """The line of one notebook ("05"), or every line so far, in teaching order."""
    lines: list[LeakLine] = [chapter(number).LEAK] if number else [each.LEAK for each in chapters() if hasattr(each, "LEAK")]
    rows = [
        {
            "notebook": line.notebook,
            "leak": line.name,
            "sounded reasonable": line.sounded_reasonable,
            "could be observed": line.observed,
            "closed by": line.closed_by,
        }
        for line in lines
    ]
    return show_table(rows, f"Leak log, notebook {number}" if number else f"Leak log, {len(rows)} lines")
