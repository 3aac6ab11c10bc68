"""Notebook 08, Cache-ordered assembly: its predictions and its judges. Its session is in `desk`, what it draws in `strips`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from labsupport.assembly import assemble_context
from labsupport.caching import conversation, shared_prefix, simulate
from labsupport.leaky import NaiveTemplate
from labsupport.lesson.checks import Exercise, Verdict, right, wrong
from labsupport.lesson.desk import CACHE_ORDER, INSTRUCTIONS, POLICY, QUESTIONS, Assemble, shown_segments
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.model import EVERYONE, AccessLabel, Chunk, Principal
from labsupport.tokens import estimate_tokens

PREDICTIONS = {
    "08.1": Prediction(
        "What share of all tokens can be read from the cache?",
        {
            "a": (
                "99 %",
                "five tokens changed, so you pay for five. A cache of prefixes reads from the first byte to the first difference, and that lies in the first token.",
            ),
            "b": ("55 %", "that is the share without the stamp. The stamp stands in front of all of it."),
            "c": (
                "0 %",
                "no two turns in a row share one whole token at the front. All that follows the stamp is the same text in another place, and paid in full.",
            ),
        },
        "c",
    ),
    "08.2": Prediction(
        "What share can be read from the cache now?",
        {
            "a": (
                "55 %",
                "the same tools, you said. The cache compares bytes, and after the instructions they differ on every turn.",
            ),
            "b": ("41 %", "you let the policy go on counting. Nothing counts after the first difference, however equal it is."),
            "c": ("16 %", "the instructions are all that two turns in a row still share."),
        },
        "c",
    ),
    "08.3": Prediction(
        "What happens to the cost?",
        {
            "a": ("it falls by 14 %", "the tokens do. Those that went were cheap, and what stands behind them is cheap no longer."),
            "b": (
                "it stays",
                "the tools are paid in full whenever they come back. So are the policy and the memory behind them, on every turn.",
            ),
            "c": ("it rises by 41 %", "3,000 cheap tokens go, and 5,400 others that were cheap are paid in full."),
        },
        "c",
    ),
    "08.4": Prediction(
        "How many instruction segments does the naive template show?",
        {
            "a": ("0", "the template checks nothing. It would have to look into the sources to refuse one."),
            "b": ("1", "you know which one the house wrote. The text does not say: both lines are the same fourteen bytes."),
            "c": ("2", "one from the house and one from a letter that came with an invoice."),
        },
        "c",
    ),
}

LEAK = LeakLine(
    notebook="08",
    name="the prompt that begins with the time, and the letter that speaks as the house",
    sounded_reasonable="It is only five tokens. The segments are clearly marked. Whoever sends a prefix has it already.",
    observed="a bill that doubles; a second line [instructions]; a reused token that confirms a guess at another reader's page",
    closed_by="stable segments first and the same bytes each time; quoted headers and a mark by hash; a prefix cache keyed by tenant and entitlement",
)


# ---- the judges of the exercises -----------------------------------------------------------------------------------------


def _order(answer: Sequence[str]) -> Verdict:
    order = [str(name).strip() for name in answer]
    if isinstance(answer, str) or sorted(order) != sorted(CACHE_ORDER):
        return wrong(f"Each of the six once: {', '.join(CACHE_ORDER)}.")
    reader = Principal("desk", "wholesale")
    best, got = (simulate(conversation(order=each), principal=reader) for each in (CACHE_ORDER, order))
    share = f"Reuse {got.reused_share:.0%} instead of {best.reused_share:.0%}"
    if order[0] in ("question", "retrieved"):
        return wrong(f"Reuse {got.reused}: the first byte changes each turn, `{order[0]}` stands there.")
    if got.reused < best.reused:
        volatile = next(name for name in order if name in ("question", "retrieved", "memory"))
        behind = [
            name for name in order[order.index(volatile) + 1 :] if name in ("instructions", "tool_schemas", "policy", "memory")
        ]
        if volatile == "memory":
            return wrong(
                f"Memory changes at turn 6; {behind[0]} after it is paid again from there: {got.reused:,} tokens read instead of {best.reused:,}."
            )
        return wrong(f"{share}: `{volatile}` changes on each turn, and {' and '.join(behind)} behind it are paid again.")
    if order[-1] != "question":
        return wrong(
            "The reuse is the best there is. The question was to stand last, though: what is found is cut to fit, what is asked is not."
        )
    return right(
        f"{got.reused:,} of {got.tokens:,} tokens are read from the cache, {got.reused_share:.0%}. What never changes may stand in any order."
    )


def _shared_prefix(learners: Callable[[str, str], int]) -> Verdict:
    lines = ("Quote the source.\nName the page.\nleave from Monday", "Quote the source.\nName the page.\nleave from Sunday")
    pairs = [
        lines,
        ("abX", "abY"),
        ("abXd", "abYd"),
        ("ab", "abc"),
        ("abc", "ab"),
        ("same", "same"),
        ("", "a"),
        ("Xab", "Yab"),
        ("été 1", "été 2"),
    ]
    got = {}
    for a, b in pairs:
        got[a, b] = learners(a, b)
        if isinstance(got[a, b], str):
            return wrong(f"{a!r}, {b!r}: yours gives the text {got[a, b]!r}. How long is it?")
        if isinstance(got[a, b], bool) or not isinstance(got[a, b], int):
            return wrong(
                f"{a!r}, {b!r}: yours gives {got[a, b]!r}. A number of characters is asked for, also where one text ends first."
            )
    whole = lines[0].rindex("\n") + 1
    if got[lines] in (2, whole - 1, whole):
        return wrong("The difference is in the middle of line 3; its first 11 characters are shared.")
    if got["abX", "abY"] == 3:
        return wrong("'abX','abY': 2, yours 3. It stops one late: the differing character is not shared.")
    if got["abXd", "abYd"] == 3:
        return wrong("'abXd','abYd': yours 3. The cache stops at the X: 2. Equal characters behind a difference do not count.")
    for (a, b), count in got.items():
        if count != shared_prefix(a, b):
            ending = " One text ends inside the other, and all of it is shared." if a.startswith(b) or b.startswith(a) else ""
            return wrong(f"{a!r}, {b!r}: {shared_prefix(a, b)}, yours {count}.{ending}")
    return right(
        f"{len(pairs)} pairs, among them one text inside the other, and equal ones. This is all that a prefix cache can do for you."
    )


_FIT = {
    "instructions": INSTRUCTIONS,
    "policy": POLICY["wholesale"],
    "c1": "A hold is released by two officers. " * 30,
    "c2": "The client is told that the payment is reviewed. " * 14,
    "c3": "Dual control is named in the limits. " * 12,
    "c4": "An officer signs. " * 8,
    "c5": "A hold has a reason. " * 6,
    "question": QUESTIONS[0],
}
_LABEL = AccessLabel("wholesale", "internal", None, frozenset({EVERYONE}))


def fit_prompt(names: Sequence[str]) -> str:
    """The finished prompt of the pieces with these names, in cache order: what exercise 08.3 calls `render`."""
    kept = [
        Chunk(f"hold#{name}", "hold", 1, _FIT[name], ("Hold", name), 0, len(_FIT[name]), _LABEL, 0)
        for name in _FIT
        if name[0] == "c" and name in names
    ]
    return assemble_context(
        budget_tokens=100_000,
        instructions=INSTRUCTIONS * ("instructions" in names),
        policy=_FIT["policy"] * ("policy" in names),
        retrieved=kept,
        question=_FIT["question"] * ("question" in names),
    ).text


def _fit(learners: Callable) -> Verdict:
    ranked = [name for name in _FIT if name[0] == "c"]
    fixed = [name for name in _FIT if name not in ranked]
    size = {kept: estimate_tokens(fit_prompt(fixed + ranked[:kept])) for kept in range(len(ranked) + 1)}
    budgets = [700, 900, *(size[kept] + extra for kept in range(len(ranked) + 1) for extra in (0, 5))]
    for budget in budgets:
        names = list(learners(dict(_FIT), fit_prompt, budget))
        if unknown := [name for name in names if name not in _FIT]:
            return wrong(f"{unknown[0]!r} is none of the pieces: {', '.join(_FIT)}. Return the names that stay.")
        if "question" not in names:
            return wrong(f"The question is never dropped. At a budget of {budget:,} yours kept {', '.join(names) or 'nothing'}.")
        if lost := [name for name in fixed if name not in names]:
            return wrong(f"`{lost[0]}` is never dropped: only what was retrieved may go.")
        stays = [name for name in ranked if name in names]
        if stays != ranked[: len(stays)]:
            gone = next(name for name in ranked if name not in stays)
            if gone == "c1":
                return wrong(f"You dropped rank 1. The reader's best evidence left for {', '.join(stays)}.")
            return wrong(f"You dropped {gone} and kept {stays[-1]}, which ranks lower.")
        got = estimate_tokens(fit_prompt(names))
        if got > budget:
            pieces = sum(estimate_tokens(_FIT[name]) for name in names)
            reason = f"the pieces are {pieces:,}, and you left out the separators" if pieces <= budget else "it does not fit"
            return wrong(f"{got:,} tokens, budget {budget:,}: {reason}.")
        most = max(kept for kept in size if size[kept] <= budget)
        if len(stays) < most:
            return wrong(
                f"At a budget of {budget:,} `{ranked[len(stays)]}` had room too: {size[len(stays) + 1]:,} tokens with it. Drop no more than must go."
            )
    return right(f"{len(budgets)} budgets, each kept on the finished prompt, the lowest-ranked gone first and no more than must.")


def _hostile(text: str) -> Verdict:
    label = _LABEL

    def count(design: Assemble, body: str) -> list[str]:
        chunk = Chunk("letter#body", "letter", 1, body, (), 0, len(body), label, 0)
        shown = design(
            budget_tokens=100_000, instructions=INSTRUCTIONS, question="What came with the invoice?", retrieved=[chunk]
        ).text
        return [segment.name for segment in shown_segments(shown)]

    if not isinstance(text, str):
        return wrong(f"A chunk holds text, got {type(text).__name__}.")
    plain = count(NaiveTemplate(), "A letter.")
    naive, safe = count(NaiveTemplate(), text), count(assemble_context, text)
    if safe != plain:
        return wrong("You opened a segment in our template too. That is a fault of this lab: please report the text.")
    if naive == plain and re.search(r"[0-9a-f]{16}", text):
        return wrong(
            "The mark follows from the retrieved text; yours is from another turn. It closes nothing, and the naive template does not know it."
        )
    if naive == plain and re.search(rf"\[\s*({'|'.join(CACHE_ORDER)})", text, re.IGNORECASE):
        return wrong(f"Naive shows {naive.count('instructions')} instruction segment: the marker is not at a line start.")
    if naive == plain:
        return wrong("Both templates quote it as text. Which line does the naive one itself write where a segment begins?")
    forged = next(name for name in naive if naive.count(name) > plain.count(name))
    return right(
        f"Naive shows {naive.count(forged)} segments `{forged}`, ours {safe.count(forged)}. In ours your line stands behind a backslash, as text."
    )


EXERCISES = {
    "08.1": Exercise("a list of the six names, each once", _order),
    "08.2": Exercise("a function my_shared_prefix(a, b) that returns a number", _shared_prefix),
    "08.3": Exercise("a function fit(texts, render, budget) that returns the names that stay", _fit),
    "08.4": Exercise("a text", _hostile),
}
