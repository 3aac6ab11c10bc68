"""Notebook 07, Grounding: its predictions, the labelled claims beside both checks, and its judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from labsupport.errors import QuoteNotFound
from labsupport.facts import Fact, find_facts
from labsupport.grounding import REASONS, GroundingReport, Verdict, check_grounding, is_content
from labsupport.leaky import overlap_check
from labsupport.lesson.checks import Exercise, right, wrong
from labsupport.lesson.checks import Verdict as Judgement
from labsupport.lesson.figures import LINES, MARKERS, PALETTE, new_figure
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.manifest_parts import LabelledClaim
from labsupport.model import Hit, Principal
from labsupport.quotes import quote_in
from labsupport.tokens import ranked_text, tokenize
from labsupport.worlds import World, load_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTER = "Parental leave is 12 weeks for every employee."
SWAPPED = "Amendment AED 120 and recall of a payment AED 75."

PREDICTIONS = {
    "07.1": Prediction(
        "What share of its content words stands in the source?",
        {
            "a": ("0 of 6", "the fact is wrong, and a check that read facts would give nothing for it. This one reads words."),
            "b": ("3 of 6", "you gave the number half of the weight. It is one word of six, like any other."),
            "c": ("5 of 6", "parental, leave, weeks, every, employee: 83 %. The sixth word is the one that Mo signed for."),
        },
        "c",
    ),
    "07.2": Prediction(
        "How many of the ten wrong numbers still pass?",
        {
            "a": ("none", "a threshold asks for more of the words. It does not know which of them is the number."),
            "b": ("3 of 10", "only the short sentences fell. In a long one the wrong word weighs one part in fourteen."),
            "c": ("7 of 10", "the longer the sentence, the less its wrong number weighs."),
        },
        "c",
    ),
    "07.3": Prediction(
        "What does the full check say?",
        {
            "a": ("number-mismatch", "both numbers stand in that chunk. The check looks for them there, and not in a row."),
            "b": ("low-overlap", "every word of the claim stands in the table. So do the words of any other mixture of its rows."),
            "c": ("supported", "the words are there, the numbers are there, nothing is denied. That the rows changed places is no part of the check."),
        },
        "c",
    ),
    "07.4": Prediction(
        "What do the two checks say to an answer that claims nothing?",
        {
            "a": ("both say grounded", "ours has no verdict to average. Its coverage is None, which is neither 0 nor 1."),
            "b": ("words alone say grounded, ours says no", "nothing was unsupported, so words alone were satisfied. Nothing was supported either."),
            "c": ("both say not grounded", "the simplest code says otherwise: of no claims, all are supported."),
        },
        "b",
    ),
}

LEAK = LeakLine(
    notebook="07",
    name="a citation taken for a proof",
    sounded_reasonable="Most of the words are in the source, and we show the source.",
    observed="a signed letter that says 12, above a source that says 16",
    closed_by="every number, date and code of a claim must stand in the cited chunk, and nothing may be turned round",
)


# ---- the labelled claims -----------------------------------------------------------------------------------------------

KINDS = ("verbatim", "paraphrase", "wrong-number", "wrong-date-or-id", "negation", "row-swap", "invented", "denial", "closed", "empty")
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(1, 11))
NUMBERS_WRONG = ("wrong-number", "wrong-date-or-id")

Check = Callable[..., GroundingReport]


@dataclass(frozen=True, eq=False)
class Case:
    """One labelled claim, and what its own reader's search returned for it. Each is itself alone, so that a verdict is found once."""

    claim: LabelledClaim
    hits: tuple[Hit, ...]

    @property
    def kind(self) -> str:
        return self.claim.kind

    @property
    def text(self) -> str:
        return self.claim.text


def cases(*worlds: World) -> list[Case]:
    """Every labelled claim of these worlds, with the hits that its reader gets."""
    return [Case(claim, world.retriever.retrieve(claim.query, world.principals[claim.reader]).hits) for world in worlds for claim in world.claims]


@cache
def verdict(check: Check, case: Case, threshold: float = 0.6) -> Verdict:
    """What a check says to one claim."""
    only, = check([case.text], case.hits, min_overlap=threshold).verdicts
    return only


def passed(check: Check, cases: Iterable[Case], threshold: float = 0.6) -> list[Case]:
    """The claims that a check supports."""
    return [case for case in cases if verdict(check, case, threshold).reason == "supported"]


def words_of(text: str) -> int:
    """How many distinct content words a claim has."""
    return len(set(filter(is_content, tokenize(text))))


def of_words(verdict: Verdict) -> str:
    """`5 of 6`: the content words found in the page that came nearest."""
    count = words_of(verdict.claim.text)
    return f"{round(verdict.overlap * count)} of {count}" if count else "no words"


def show_verdicts(report: GroundingReport, caption: str) -> Shown:
    """One row a claim: words found, verdict, why, and what it cites."""
    rows = [{"claim": each.claim.text, "words found": of_words(each), "verdict": each.reason, "why": each.detail or "–", "cites": each.citation or "–"}
            for each in report.verdicts]
    return show_table(rows, caption)


def tally(cases: Sequence[Case]) -> Shown:
    """For each kind of claim, how many the two checks treat rightly: precision against each fault, recall of each truth.

    A row of false claims: of all true claims that passed and of this fault's, the share that is true. A row of true ones: the
    share that passed. A claim from a closed page is treated rightly if it does not pass.
    """
    rows = []
    for kind in KINDS:
        some = [case for case in cases if case.kind == kind]
        measure = "refused" if kind == "closed" else "recall" if kind in TRUE_KINDS else "precision"
        rows.append({"kind": kind, "claims": len(some), "measure": measure,
                     **{name: _share(*_measured(check, cases, kind)) for name, check in CHECKS.items()}})
    rows.append({"kind": "all", "claims": len(cases), "measure": "precision", **{n: _share(*precision(c, cases)) for n, c in CHECKS.items()}})
    rows.append({"kind": "all", "claims": len(cases), "measure": "recall", **{n: _share(*recall(c, cases)) for n, c in CHECKS.items()}})
    return show_table(rows, "Words alone, and with the checks: the same recall, twice the precision")


CHECKS: dict[str, Check] = {"words alone": overlap_check, "with checks": check_grounding}
TRUE_KINDS = ("verbatim", "paraphrase", "denial")
"""Kinds that a perfect check would support: true, from a page that the reader may read, and asserting something."""


def _owed(case: Case) -> bool:
    return case.kind in TRUE_KINDS and case.claim.verdict != "abstained"


def precision(check: Check, cases: Sequence[Case], threshold: float = 0.6, *, against: Sequence[str] = KINDS) -> tuple[int, int]:
    """(true and supported, supported), over the true claims and the false ones of some kinds."""
    supported = passed(check, [case for case in cases if case.claim.true or case.kind in against], threshold)
    return sum(case.claim.true for case in supported), len(supported)


def recall(check: Check, cases: Sequence[Case], threshold: float = 0.6, *, of: Sequence[str] = TRUE_KINDS) -> tuple[int, int]:
    """(supported, true and readable and asserted), over the true claims of some kinds."""
    owed = [case for case in cases if _owed(case) and case.kind in of]
    return len(passed(check, owed, threshold)), len(owed)


def _measured(check: Check, cases: Sequence[Case], kind: str) -> tuple[int, int]:
    if kind == "closed":
        closed = [case for case in cases if case.kind == kind]
        return len(closed) - len(passed(check, closed)), len(closed)
    return recall(check, cases, of=(kind,)) if kind in TRUE_KINDS else precision(check, cases, against=(kind,))


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {part / whole:.2f}"


# ---- figures -----------------------------------------------------------------------------------------------------------


def strip_plot(cases: Sequence[Case], threshold: float = 0.6, higher: float = 0.9) -> tuple[Figure, str]:
    """Every labelled claim that has a content word: its overlap, in the row of its kind."""
    figure, axes = new_figure("No threshold separates a wrong number from an honest paraphrase", size=(8, 4.4))
    kinds = [kind for kind in KINDS if kind != "empty"]
    said = []
    for row, kind in enumerate(reversed(kinds)):
        shares = sorted(verdict(overlap_check, case).overlap for case in cases if case.kind == kind)
        side = kind in (*TRUE_KINDS, "closed")
        axes.scatter(shares, [row + height for height in _stacked(shares)], color=PALETTE[0 if side else 1], marker=MARKERS[0 if side else 5],
                     s=34, linewidths=0, label={"verbatim": "true", "wrong-number": "false"}.get(kind))
        said.append(f"{kind} {len(shares)} between {shares[0]:.2f} and {shares[-1]:.2f}")
    for place, line in ((threshold, "--"), (higher, ":")):
        axes.axvline(place, color="#000000", linestyle=line, linewidth=1, label=f"threshold {place}")
    axes.set_yticks(range(len(kinds)), reversed(kinds))
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("overlap: share of the claim's content words found in one page")
    axes.set_ylabel("kind of claim")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure, f"Overlap of each labelled claim, by kind: {'; '.join(reversed(said))}."


def _stacked(shares: Sequence[float]) -> Iterator[float]:
    """A height for each mark, so that marks at one place stand above and below each other."""
    seen: Counter[int] = Counter()
    for share in shares:
        place = round(40 * share)
        yield 0.08 * ((seen[place] + 1) // 2) * (-1) ** seen[place]
        seen[place] += 1


def curves(cases: Sequence[Case]) -> tuple[Figure, str]:
    """Precision and recall of both checks at ten thresholds."""
    figure, panels = new_figure("The worst threshold with checks is more precise than the best one without", panels=2, size=(8, 3.2), sharey=True)
    said = []
    for axes, measure in zip(panels, (precision, recall)):
        for (name, check), colour, marker, line, size in zip(CHECKS.items(), (PALETTE[1], PALETTE[0]), MARKERS, LINES[1::-1], (8, 4)):
            shares = [part / whole for part, whole in (measure(check, cases, threshold) for threshold in THRESHOLDS)]
            axes.plot(THRESHOLDS, shares, color=colour, marker=marker, markersize=size, linestyle=line, label=name)
            at = {threshold: shares[THRESHOLDS.index(threshold)] for threshold in (0.3, 0.6, 0.9, 1.0)}
            said.append(f"{measure.__name__}, {name}: {', '.join(f'{share:.2f} at {threshold}' for threshold, share in at.items())}")
        axes.set_xlabel("threshold")
        axes.set_ylabel("share")
        axes.set_title(measure.__name__, fontsize=10)
        axes.set_ylim(0, 1.04)
    panels[1].legend(loc="lower left")
    return figure, "; ".join(said) + "."


# ---- the two switches --------------------------------------------------------------------------------------------------

EIGHT = ("nl-c12", "bank-c14", "nl-c20", "bank-c02", "bank-c26", "nl-c08", "bank-c10", "bank-c33")


def knob(cases: Sequence[Case]) -> Callable[..., Shown]:
    """A renderer over threshold × check: eight claims, each judged, and whether the judgement is right."""
    chosen = {case.claim.id: case for case in cases}
    eight = [chosen[id] for id in EIGHT]

    def render(threshold: float, check: Check) -> Shown:
        rows = []
        for case in eight:
            found = verdict(check, case, threshold)
            supported = found.reason == "supported"
            so = "right" if supported == case.claim.true else "TRUE, refused" if case.claim.true else "FALSE, passes"
            rows.append({"claim": case.text, "words found": of_words(found), "verdict": found.reason, "so": so})
        missed = sum(row["so"] != "right" for row in rows)
        return show_table(rows, f"{missed} of {len(rows)} judged wrongly", hatch=("FALSE", "TRUE"))

    return render


READERS_CLAIMS = {
    "PMT-771 is an outgoing payment of AED 250,000.": "PMT-771",
    "The fee for an amendment is AED 75.": "wire amendment fee",
    "A held payment above AED 100,000 is released under dual control.": "held payment released under dual control",
    "The late fee is AED 100 a month.": "late fee",
}
"""Four sentences, and the question with which each reader looks for evidence."""


def for_reader(world: World) -> Callable[..., Shown]:
    """A renderer over principal × claim: what the evidence of this reader is worth to each check."""

    def render(principal: Principal, claim: str) -> Shown:
        hits = world.retriever.retrieve(READERS_CLAIMS[claim], principal).hits
        rows = []
        for name, check in CHECKS.items():
            found, = check([claim], hits).verdicts
            because = {"number-mismatch": found.detail, "supported": f"{of_words(found)} words, in {(found.chunk_id or '').partition('#')[0]}"}
            rows.append({"check": name, "verdict": found.reason, "because": because.get(found.reason, f"{of_words(found)} words")})
        return show_table(rows, claim, hatch=("number", "low"))

    return render


# ---- one number changed ------------------------------------------------------------------------------------------------

_WORDS = "two three four five six seven eight nine ten eleven twelve fourteen fifteen sixteen eighteen twenty thirty sixty ninety".split()
_NUMBERS = re.compile(rf"\d(?:[\d,.]*\d)?|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


def one_number_changed(case: Case) -> Iterator[str]:
    """The claim with one number changed, for each of its numbers in three ways, to one that no page of the evidence holds.

    Found by its own rule and not by the check's: what the check cannot see must fail here.
    """
    evidence = {token for hit in case.hits for token in tokenize(ranked_text(hit.chunk))}
    said = set(tokenize(case.text))
    for number in _NUMBERS.finditer(case.text):
        for other in _others(number.group()):
            changed = case.text[:number.start()] + other + case.text[number.end():]
            if evidence.isdisjoint(set(tokenize(changed)) - said):
                yield changed


def _others(number: str) -> tuple[str, ...]:
    if number.isalpha():
        return "seventeen", "nineteen", "seventy"
    first, last = str(int(number[0]) % 9 + 1), str((int(number[-1]) + 1) % 10)
    return first + number[1:], number[:-1] + last, number[:-1] + str((int(last) + 1) % 10)


# ---- tables of the moves and exercises ---------------------------------------------------------------------------------


def tariff(hits: Iterable[Hit]) -> dict[str, tuple[str, str]]:
    """Service → (fee, when it is charged), read from the rows of the tariff."""
    text = next(hit.chunk.text for hit in hits if hit.chunk.section == "Tariff")
    rows = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {service: (fee, charged) for service, fee, charged in rows[2:]}


def tariff_table(hits: Iterable[Hit]) -> Shown:
    return show_table([{"service": service, "fee": fee, "charged": charged} for service, (fee, charged) in tariff(hits).items()],
                      "One chunk, twelve rows")


def quoted(hits: Iterable[Hit], quote: str) -> str:
    """Where a quotation stands, or why it stands nowhere."""
    try:
        return quote_in(hits, quote).citation
    except QuoteNotFound as problem:
        return str(problem)


SIX = {
    "A": ("nl-c12", ["Parental leave is 16 weeks for every employee."]),
    "B": ("bank-c10", ["A held payment above AED 100,000 is released under dual control: two authorised officers approve it, and neither of them "
                       "may have keyed the payment."]),
    "C": ("nl-c20", ["Parental leave is 16 weeks for every employee."]),
    "D": ("bank-c26", ["A timeout is not an approval."]),
    "E": ("bank-c34", ["| Trace | AED 90 | per request |", "| Confirmation copy | AED 25 | per copy |"]),
    "F": ("nl-c23", []),
}


@cache
def _cases() -> dict[str, Case]:
    return {case.claim.id: case for case in cases(load_world("northline"), load_world("bank"))}


def six_claims(cases: Sequence[Case]) -> Shown:
    """The claims of exercise 07.1, each beside the words of the source that it comes from, quoted letter for letter."""
    found = {case.claim.id: case for case in cases}
    rows = [{"letter": letter, "claim": found[id].text, "its source says": " … ".join(quote_in(found[id].hits, quote).text for quote in quotes)
             or "nothing about it was returned"} for letter, (id, quotes) in SIX.items()]
    return show_table(rows, "Six claims, and what their sources say")


# ---- the judges of the exercises ---------------------------------------------------------------------------------------

_SIX_SAY = {
    "A": "A: 16 stands in the source, 12 does not: number-mismatch.",
    "B": "B: two officers, neither keyed it: all there, in other words. The check calls it low-overlap, which means *not verified*, not false.",
    "C": "C: the words and the number are right, and one word turned it round: negation.",
    "D": "D: the page says *not* as well. Claim and page agree: supported.",
    "E": "E: 25 and 90 both stand in that chunk, and the check does not tie them to a row: supported, and false.",
    "F": "F: it asserts nothing about dogs. An honest “does not say” is abstained, and counts in no share.",
}


def _six(answer: Mapping[str, str]) -> Judgement:
    given = {str(letter).strip().upper(): str(reason).strip().lower() for letter, reason in dict(answer).items()}
    if missing := [letter for letter in SIX if letter not in given]:
        return wrong(f"No reason for {', '.join(missing)}: each of the six letters needs one.")
    for letter in SIX:
        if given[letter] not in REASONS:
            return wrong(f"{given[letter]!r} is none of the reasons: {', '.join(REASONS)}.")
    for letter, (id, _) in SIX.items():
        if given[letter] != verdict(check_grounding, _cases()[id]).reason:
            return wrong(_SIX_SAY[letter])
    return right("Six claims, five different reasons. One of the two that pass is false, and two of the four that do not are true.")


def _threshold(answer: float | None) -> Judgement:
    """None, or a threshold in (0, 1]."""
    everything = list(_cases().values())
    wrong_numbers = [case for case in everything if case.kind in NUMBERS_WRONG]
    honest = [case for case in everything if case.kind == "paraphrase"]
    if answer is None:
        low, high = (pick(verdict(overlap_check, case).overlap for case in some) for pick, some in ((min, honest), (max, wrong_numbers)))
        return right(f"There is none: a wrong number reaches {high:.2f}, and an honest paraphrase has {low:.2f}. The two overlap; no line separates them.")
    if isinstance(answer, bool):
        raise TypeError
    if not 0 < answer <= 1:
        return wrong(f"A threshold is a share in (0, 1], or None; got {answer}.")
    letter, amount = _cases()["nl-c12"], _cases()["bank-c14"]
    if letter in passed(overlap_check, wrong_numbers, answer):
        return wrong(f"'12 weeks' passes with {of_words(verdict(overlap_check, letter))}.")
    if passed(overlap_check, wrong_numbers, answer):
        found = verdict(overlap_check, amount)
        return wrong(f"{of_words(found)} words: 'AED 150,000' passes at {found.overlap:.2f}.")
    refused = len(honest) - len(passed(overlap_check, honest, answer))
    swaps = [case for case in everything if case.kind == "row-swap"]
    return wrong(f"No wrong number passes now, and {refused} of {len(honest)} honest paraphrases are refused with them. "
                 f"{len(passed(overlap_check, swaps, answer))} of {len(swaps)} swapped rows pass all the same.")


@cache
def _quotable() -> tuple[Hit, ...]:
    world = load_world("bank")
    wes = world.principals["wes"]
    pages = [(world.retriever.retrieve(query, wes).hits, section) for query, section in (("wire amendment fee", "Tariff"), ("PMT-771", "Payment PMT-771"))]
    return tuple(next(hit for hit in hits if hit.chunk.section == section) for hits, section in pages)


def _quote_ok(learners: Callable[[Sequence[Hit], str], object]) -> Judgement:
    fees, payment = hits = _quotable()
    for quote in ("| Amendment | AED 75 | per change |", "held since value date 2026-03-12", "Amendment | AED"):
        if not learners(hits, quote):
            return wrong(f"'{quote}' stands in a page letter for letter, and yours says no.")
    if learners([], "value date"):
        return wrong("Nothing was returned, and yours finds 'value date' in it.")
    if learners([fees], "value date 2026-03-12"):
        return wrong("'value date 2026-03-12' stands in `pmt-771`, which this reader did not get. Look in the hits alone.")
    if learners(hits, "It is HELD since value date"):
        return wrong("'HELD' for 'held': not what the page says. A quotation keeps the case.")
    tail, head = "Returned payment | AED 35 | per return |", "PMT-771 is an outgoing payment"
    if any(learners(hits, tail + between + head) for between in (" ", "\n", "\n\n", "")):
        return wrong("The quote begins in `fees` and ends in `pmt-771`. Nobody wrote that sentence: look into one chunk at a time.")
    if learners(hits, "Amendment | AED 120"):
        return wrong("'Amendment | AED 120': each word stands somewhere in the table, and nowhere in this order.")
    for quote in ("Amendment", "PMT-771"):
        if learners(hits, quote):
            return wrong(f"'{quote}' is one word. One word is in too many pages to be evidence.")
    for quote in ("", "  "):
        if learners(hits, quote):
            return wrong("The empty quote is inside every text. It is evidence for nothing.")
    return right("Two words at least, letter for letter, in one returned chunk. The lab's `quote_in` also folds what typesetting changes.")


_CHARGED = ("at entry", "on credit", "per change", "per attempt", "per order", "per request", "per month", "per copy", "per cheque", "per return")
_PLAIN = frozenset("amount amounts charge charges client comes cost costs customer each every pay pays price takes".split())
_COMPARES = re.compile(r"\b(more|less|fewer|dearer|cheaper|higher|lower|than|except|other|besides)\b", re.IGNORECASE)


def _false_claim(answer: str) -> Judgement:
    """A claim about what services cost, or when they are charged, that the full check supports and that the table does not say."""
    if not isinstance(answer, str):
        raise TypeError
    world = load_world("bank")
    hits = world.retriever.retrieve("wire amendment fee", world.principals["ines"]).hits
    found, = check_grounding([answer], hits).verdicts
    if found.reason == "number-mismatch":
        return wrong(f"Caught: number-mismatch. {found.detail[0].upper()}{found.detail[1:]}.")
    if found.reason == "negation":
        return wrong("Caught: negation. Say something that is false without a *not*.")
    if found.reason != "supported":
        return wrong(f"Caught: {found.reason}. {found.detail or 'It asserts nothing'}. Stay with the words of the table.")
    services, said = _said(answer, tariff(hits))
    if not services or not said or _COMPARES.search(answer):
        return wrong("Supported. I cannot tell whether it is false: name a service of the table, and say what it costs or when it is charged.")
    if _table_says_so(services, said, tariff(hits)):
        words = set(tokenize(ranked_text(next(hit.chunk for hit in hits if hit.chunk.section == "Tariff")))) | _PLAIN
        if unsaid := [word for word in tokenize(answer) if is_content(word) and word not in words]:
            return wrong(f"Supported. The table says what you say of {services[0]}, and not '{unsaid[0]}': that is the other hole of Move 3. "
                         "Here let the table's own words say something false.")
        return wrong("Supported, and rightly: the table says so.")
    if tokenize(answer) == tokenize(SWAPPED):
        return wrong("That is the sentence of Move 3: supported, and false. There are dozens; find one of your own.")
    return right("Supported by the full check, with a citation, and false. Keep the sentence: it is what a signature under a green mark is worth.")


def _said(claim: str, rows: Mapping[str, tuple[str, str]]) -> tuple[list[str], list[list[str]]]:
    """The services of the table that a claim names, in order, and in order what it says of them: fees, then times of charge."""
    text = " ".join(claim.casefold().split())
    names = {name: min(rows, key=lambda service: (not service.casefold().startswith(name), service)) for name in
             (*(service.casefold() for service in rows), "recall")}
    services = [names[match] for match in re.findall("|".join(sorted(map(re.escape, names), key=len, reverse=True)), text)]
    if not services and re.search(r"\b(every|each|all|any)\b", text):
        services = list(rows)
    fees = [f"AED {fact.value}" for fact in _in_order(find_facts(text), text) if fact.kind == "number"]
    charged = re.findall("|".join(_CHARGED), text)
    return services, [said for said in (fees, charged) if said]


def _in_order(facts: Iterable[Fact], text: str) -> list[Fact]:
    """Facts as they stand in the text; one that stands there twice was found twice."""
    behind: dict[str, int] = {}
    placed = []
    for number, fact in enumerate(facts):
        at = text.find(fact.text, behind.get(fact.text, 0))
        behind[fact.text] = at + 1
        placed.append((at, number, fact))
    return [fact for _, _, fact in sorted(placed, key=lambda each: each[:2])]


def _table_says_so(services: Sequence[str], said: Sequence[Sequence[str]], rows: Mapping[str, tuple[str, str]]) -> bool:
    """Does each thing said hold of its service? The first of the first, and so on; one thing said of several holds of each."""
    for values in said:
        told = list(values) * len(services) if len(values) == 1 else list(values)
        names = list(services) * len(told) if len(services) == 1 else list(services)
        if any(value not in rows[service] for service, value in zip(names, told)):
            return False
    return True


EXERCISES = {
    "07.1": Exercise('a reason for each letter, such as {"A": "supported", …}', _six),
    "07.2": Exercise("a number in (0, 1], or None", _threshold),
    "07.3": Exercise("a function quote_ok(hits, quote) that returns True or False", _quote_ok),
    "07.4": Exercise("a claim about the fee table, as text", _false_claim),
}
