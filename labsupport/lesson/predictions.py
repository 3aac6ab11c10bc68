"""Predict, run, reveal. A guess is kept in the kernel's memory alone, is never scored, and never stops a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from numbers import Real

from labsupport.lesson.chapters import entry
from labsupport.lesson.shown import Shown, box, brief, prose

NOBODY_GUESSED = "no guess yet, and that is allowed: two seconds are enough"


@dataclass(frozen=True)
class Prediction:
    """A question with two to five options; each has a label and the sentence that answers whoever chose it.

    `options` maps a key (a letter or a number) to `(label, sentence)`. `key` is the option that the run must give: a
    test holds the story to it, `reveal` itself believes only the run.
    """

    question: str
    options: Mapping[object, tuple[str, str]]
    key: object

    def __post_init__(self):
        if self.key not in self.options:
            raise ValueError(f"key must be one of {list(self.options)}, got {self.key!r}")
        for option, (label, sentence) in self.options.items():
            if not label.strip() or not sentence.strip():
                raise ValueError(f"option {option!r} needs a label and a sentence")

    def find(self, answer: object):
        """The option's key that `answer` means ("A", "a", 12, "12", or the label), or `None`."""
        try:
            wanted = str(answer).strip().strip("()").casefold()
        except Exception:
            return None
        for option, (label, _) in self.options.items():
            same_number = isinstance(answer, Real) and not isinstance(answer, bool) and option == answer
            if same_number or wanted in (str(option).casefold(), label.casefold()):
                return option
        return None


@dataclass
class Memory:
    """What this kernel has seen: the last guess and the last fact for each id, so that a repeat changes nothing."""

    guesses: dict[str, object] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)


memory = Memory()


def predict(id: str, guess: object = None) -> Shown:
    """Show the options of prediction `id` and mark the learner's. A bad guess is told what would be right, not raised."""
    prediction: Prediction = entry(id, "PREDICTIONS")
    chosen = None if guess is None else prediction.find(guess)
    memory.guesses[id] = chosen
    if chosen is not None:
        note = f"your guess is {chosen}. Run on; nobody keeps score"
    elif guess is None:
        note = NOBODY_GUESSED
    else:
        keys = ", ".join(repr(option) for option in prediction.options)
        note = f"{brief(guess)} is none of the options; write {keys} or None"
    rows = [_Row(option, label, "", option == chosen) for option, (label, _) in prediction.options.items()]
    return _listed(f"prediction {id}", note, rows)


def reveal(id: str, fact: object) -> Shown:
    """Show what the run gave and, for *every* option, its own sentence, the learner's first.

    `fact` is an option's key (or its label), computed without knowledge of the guess.
    """
    prediction: Prediction = entry(id, "PREDICTIONS")
    happened, chosen = prediction.find(fact), memory.guesses.get(id)
    memory.facts[id] = happened
    if happened is None:
        keys = ", ".join(map(str, prediction.options))
        note = f"the run gave {brief(fact)}, which is none of the options ({keys}): the lesson is wrong here"
        return _listed(f"prediction {id}", note, [])
    order = sorted(prediction.options, key=lambda option: option != chosen)  # stable: the learner's first, then as asked
    rows = [_Row(option, *prediction.options[option], option == chosen, option == happened) for option in order]
    return _listed(f"prediction {id}", f"{happened} is what happened: {prediction.options[happened][0]}", rows)


def surprises() -> Shown:
    """One line at the end of a notebook: how many predictions held, and which moves are worth reading again."""
    asked = sorted(id for id, guess in memory.guesses.items() if guess is not None and id in memory.facts)
    if not asked:
        text = "No guesses in this run, and that is allowed. With some, this line names the moves that surprised you."
    else:
        wrong = [id for id in asked if memory.guesses[id] != memory.facts[id]]
        verb = f"{_count(len(wrong))} surprised you: {', '.join(wrong)}. Read {'it' if len(wrong) == 1 else 'them'} once more."
        text = f"You predicted {len(asked) - len(wrong)} of {len(asked)}; " + (verb if wrong else "none surprised you.")
    return Shown(text, box(escape(text), kind="surprises", role="status"))


@dataclass(frozen=True)
class _Row:
    option: object
    label: str
    sentence: str
    mine: bool
    happened: bool = False

    @property
    def mark(self) -> str:
        return "◉ yours ·" if self.mine else "○"

    @property
    def answer(self) -> str:
        return f"{'You' if self.mine else 'If you'} said {self.option}: {self.sentence}"


def _listed(name: str, note: str, rows: list[_Row]) -> Shown:
    lines = [f"  {row.mark} {row.answer if row.sentence else f'{row.option}: {row.label}'}" for row in rows]
    items = "".join(
        f'<li style="list-style:none;margin-bottom:4px">{row.mark} <strong>{escape(str(row.option))} · {prose(row.label)}</strong>'
        + (" ← what happened" if row.happened else "")
        + (f"<br>{prose(row.answer)}" if row.sentence else "")
        + "</li>"
        for row in rows
    )
    body = f"<p><strong>{escape(name)}</strong> · {prose(note)}</p>" + (f'<ul style="padding-left:0">{items}</ul>' if rows else "")
    return Shown("\n".join([f"{name} · {note}", *lines]), box(body, kind="prediction", colour="#0072B2", role="status"))


def _count(n: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four"}.get(n, str(n))
