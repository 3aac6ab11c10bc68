"""Exercises: `check` answers at once, in one of three states, with the counter-example that shows it. It never raises."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from html import escape
from itertools import islice

from labsupport.lesson.chapters import entry
from labsupport.lesson.shown import Shown, box, brief, brief_text, prose

STEP_LIMIT = 500_000
"""Lines that one call of a learner's function may run. Counted, not timed, so the verdict is the same on every machine."""

LENGTH_LIMIT = 1_000
"""Items that are taken from a generator of a learner, which may have no end."""

STATES = {"not tried yet": ("○", "#767676"), "right": ("✔", "#009E73"), "wrong": ("✘", "#D55E00")}


class _Todo:
    """Stands in a stub where an answer will stand."""

    def __repr__(self) -> str:
        return "TODO"


TODO = _Todo()


@dataclass(frozen=True)
class Verdict:
    """What a judge says of an answer: its state and one sentence made for that answer."""

    state: str
    sentence: str


def right(sentence: str) -> Verdict:
    return Verdict("right", sentence)


def wrong(sentence: str) -> Verdict:
    return Verdict("wrong", sentence)


@dataclass(frozen=True)
class Exercise:
    """`judge(answer)` returns `right(...)` or `wrong(...)`; `expects` says what kind of answer it can read.

    A judge asks for behaviour, so that every right answer passes. Where the answer is a function, the judge calls it
    freely: a `TODO`, an exception or an endless loop inside comes out of `check` as a verdict.
    """

    expects: str
    judge: Callable[..., Verdict]


class _NotTried(Exception):
    """The learner's function returned `TODO`."""


class Failed(Exception):
    """The learner's function raised; the message is the sentence to show."""


class Endless(Failed):
    """The learner's function did not end. A judge that has a better sentence for it may catch this."""


def check(id: str, *answers: object) -> Shown:
    """The verdict on exercise `id`: not tried yet, right, or wrong with what shows it. Never raises for an answer."""
    exercise: Exercise = entry(id, "EXERCISES")
    try:
        if any(_holds_todo(answer) for answer in answers):
            raise _NotTried
        verdict = exercise.judge(*[guarded(answer) if callable(answer) else answer for answer in answers])
    except _NotTried:
        verdict = Verdict("not tried yet", f"Put your answer where TODO stands: {exercise.expects}.")
    except Failed as failure:
        verdict = wrong(str(failure))
    except Exception:
        verdict = wrong(f"I cannot read {', '.join(map(brief, answers))}. This exercise expects {exercise.expects}.")
    shape, colour = STATES[verdict.state]
    html = f"<strong>{shape} exercise {escape(id)} · {verdict.state}</strong><br>{prose(verdict.sentence)}"
    return Shown(
        f"{shape} exercise {id} · {verdict.state}\n  {verdict.sentence}", box(html, kind="check", colour=colour, role="status")
    )


def guarded(function: Callable) -> Callable:
    """`function`, with its failures turned into verdicts: raising, looping on, returning `TODO`, never-ending generators."""

    @wraps(function)
    def call(*args, **kwargs):
        asked = ", ".join([*map(brief, args), *(f"{name}={brief(value)}" for name, value in kwargs.items())])
        outcome = _bounded(function, args, kwargs)
        if outcome.stopped_after:
            raise Endless(f"Called with ({asked}), your function does not end. I stopped it after {outcome.stopped_after}.")
        if isinstance(outcome.error, (_NotTried, NotImplementedError)) or _holds_todo(outcome.value):
            raise _NotTried
        if isinstance(outcome.error, Failed):
            raise outcome.error
        if outcome.error:
            said = f"{type(outcome.error).__name__}: {brief_text(str(outcome.error))}"
            raise Failed(f"Called with ({asked}), your function raised {said}")
        return outcome.value

    return call


@dataclass
class _Outcome:
    value: object = None
    error: BaseException | None = None
    stopped_after: str = ""


def _bounded(function: Callable, args: tuple, kwargs: dict) -> _Outcome:
    """Call in a thread of its own, counting lines in the learner's namespace; the lab's own code runs at full speed.

    At the limit the thread is parked for good and not interrupted: a bare `except:` in a loop would swallow an interruption.
    A loop that never returns to Python (`list(itertools.count())`) is beyond this.
    """
    home = getattr(function, "__globals__", None) or getattr(type(function).__call__, "__globals__", None)
    outcome, settled, steps = _Outcome(), threading.Event(), 0

    def each_line(frame, event, _):
        nonlocal steps
        steps += event == "line"
        if steps > STEP_LIMIT:
            outcome.stopped_after = f"{STEP_LIMIT:,} lines"
            settled.set()
            threading.Event().wait()
        return each_line

    def work():
        sys.settrace(lambda frame, event, arg: each_line(frame, event, arg) if frame.f_globals is home else None)
        try:
            value = function(*args, **kwargs)
            if isinstance(value, Iterator):
                value = list(islice(value, LENGTH_LIMIT + 1))
                outcome.stopped_after = f"{LENGTH_LIMIT:,} items" if len(value) > LENGTH_LIMIT else ""
            outcome.value = value
        except BaseException as error:  # also SystemExit: an exit() in a cell must not end the lesson
            outcome.error = error
        finally:
            sys.settrace(None)
            settled.set()

    threading.Thread(target=work, daemon=True).start()
    settled.wait()
    return outcome


def _holds_todo(answer: object) -> bool:
    if isinstance(answer, Mapping):
        return any(map(_holds_todo, answer.values()))
    if isinstance(answer, (list, tuple, set, frozenset)):
        return any(map(_holds_todo, answer))
    return answer is TODO
