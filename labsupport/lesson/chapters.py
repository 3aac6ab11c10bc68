"""Finds the module of a notebook by its number: `05.3` and `05` both live in `labsupport/lesson/nb05.py`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

NUMBERS = tuple(f"{n:02}" for n in range(13))


def chapter(id: str) -> ModuleType:
    """The module that holds the predictions, exercises and leak-log line of the notebook that `id` begins with.

    Raises `ValueError` for an id that does not begin with the two digits of a notebook.
    """
    number = str(id)[:2]
    name = f"labsupport.lesson.nb{number}"
    if number not in NUMBERS or find_spec(name) is None:
        raise ValueError(f"an id begins with the two digits of a notebook, such as '05.3', got {id!r}")
    return import_module(name)


def chapters() -> list[ModuleType]:
    """The modules of all notebooks that have one, in teaching order."""
    return [chapter(number) for number in NUMBERS if find_spec(f"labsupport.lesson.nb{number}")]


def entry(id: str, shelf: str):
    """One entry of a chapter's `PREDICTIONS` or `EXERCISES`. Raises `ValueError` that lists the ids that exist."""
    entries = getattr(chapter(id), shelf)
    if id not in entries:
        raise ValueError(f"no {shelf.lower()[:-1]} {id!r} in this notebook; there are: {', '.join(entries)}")
    return entries[id]
