"""Does a sentence say the same as a page, or the opposite? Markers of negation and their reach, and a short list of opposites.

No grammar is parsed. A negation reaches from its marker to the end of its clause; a flip without a marker, outside the
short list, is not seen.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from labsupport.tokens import tokenize

MARKERS = frozenset("not no never none nobody nothing nowhere neither nor without hardly scarcely barely".split())
MOST_PAIRS = 250_000
"""Clauses of the claim times clauses of the page. Over it the check gives up and says so, rather than run for minutes."""

_STOPS_AT_A_VERB = frozenset(("not", "never"))      # "not managers | may see pay"; but "no employee may see pay"
_VERBS = frozenset("is are was were has have had may might must can could will would shall should do does did".split())
_PRONOUNS = frozenset("i you he she it we they this that these those there".split())
_OPENERS = frozenset(
    "but however although though while whereas because unless except if when which who whose where so then".split())
_OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in (
    "above/below before/after earlier/later more/less more/fewer higher/lower inside/outside internal/external minimum/maximum "
    "first/last start/end starts/ends open/closed held/released approved/rejected approved/refused accepted/refused "
    "accepted/rejected granted/denied allowed/forbidden permitted/prohibited included/excluded enabled/disabled increase/decrease "
    "increased/decreased increases/decreases required/optional mandatory/optional all/none debit/credit buy/sell").split())
_OPPOSITE_WORDS = frozenset().union(*_OPPOSITES)


class Clause(NamedTuple):
    """The tokens of one clause, apart by whether a negation reaches them. A token may be in both."""

    plain: frozenset[str]
    negated: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        return self.plain | self.negated


_AMOUNT = r"\s+(?=(?:of\s+)?(?:[a-z]{3}\s?|[$€£]\s?)?\d)"
_AT_MOST = (r"(?:not|no) (?:more|later|greater|longer|higher) than|(?:may|must|shall|does|do) not exceed|at most|up to|less than"
            r"|fewer than|below|under|within|(?:a )?maximum(?: of)?")
_AT_LEAST = (r"(?:not|no) (?:less|fewer|earlier|lower|sooner) than|at least|more than|greater than|above|over|exceed(?:s|ing)?"
             r"|(?:a )?minimum(?: of)?")
_CONTRACTIONS = [(re.compile(pattern, re.IGNORECASE), by) for pattern, by in (
    (r"\b(ca|wo|sha)n['\u2019\u02bc]?t\b", r"\1n not"),
    (r"(\w)n['\u2019\u02bc]t\b", r"\1 not"),
    (r"\b(do|does|did|is|are|was|were|has|have|had|could|should|would|must|need)nt\b", r"\1 not"),
    (r"\bcannot\b", "can not"),
)]
_LOOK_ALIKES = [(re.compile(pattern, flags), by) for pattern, flags, by in (
    (r"\bNo\.?\s?(?=\d)", 0, "number "),                                        # No. 5
    (r"\bno[ -]one\b", re.I, "nobody"),
    (r"\bor not\b", re.I, " "),                                                 # whether or not
    (r"\b(?:not|no) (?:only|just|merely|least|doubt|matter)\b", re.I, " "),      # "not only" denies nothing
    (r"\b(?:rather than|instead of|fails? to|failed to)\b", re.I, " not "),
    (rf"\b(?:{_AT_MOST}){_AMOUNT}", re.I, "below "),                             # "no more than 5" is a bound, no denial
    (rf"\b(?:{_AT_LEAST}){_AMOUNT}", re.I, "above "),
)]


def spelt_out(text: str) -> str:
    """The text with its contractions apart: `don't`, `dont` and `do not` are the same words."""
    for pattern, by in _CONTRACTIONS:
        text = pattern.sub(by, text)
    return text


def _settled(text: str) -> str:
    for pattern, by in _LOOK_ALIKES:
        text = pattern.sub(by, text)
    return text


_SENTENCES = re.compile(r"""
      [.!?;](?=\s|$) | \n\s*(?:\n|[-*+>#|]\s|\|) | \n(?=\s*\d+[.)]\s)         # marks; blank lines, items and rows of a table
    | (?:(?<![ ])[ ]{2,}|\\)\n | \n(?=[ ]*(?:\*\*|__))                      # hard breaks; lines with a bold label
    """, re.VERBOSE)
_PIECES = re.compile(r"[,()|:\u2013\u2014]+(?=\D|$)|\s-\s")


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text, with the reach of each negation. Sentences end at marks, blank lines and list items."""
    for sentence in _SENTENCES.split(_settled(spelt_out(text))):
        clause = _Open()
        for number, piece in enumerate(_PIECES.split(sentence)):
            tokens = tokenize(piece)
            if number and not (_VERBS | _PRONOUNS | _OPENERS).isdisjoint(tokens):
                yield from clause.close()                               # a list goes on after a comma, a new statement does not
            for token, following in zip(tokens, [*tokens, ""][1:], strict=True):
                if token in _OPENERS or token in ("and", "or") and following in _VERBS | MARKERS:
                    yield from clause.close()
                else:
                    clause.take(token)
        yield from clause.close()


class _Open:
    """A clause that is still being read."""

    def __init__(self):
        self.tokens: list[tuple[str, bool]] = []
        self.marker = ""
        self.reached = 0        # tokens since the marker

    def take(self, token: str) -> None:
        if token in MARKERS:
            # Two markers undo each other ("not approve without"), but "neither … nor" is one.
            self.marker, self.reached = ("" if self.marker and token != "nor" else token), 0
            self.tokens.append((token, False))
            return
        if self.marker in _STOPS_AT_A_VERB and self.reached and token in _VERBS and self.tokens[-1][0] != "to":
            self.marker = ""
        if token == "that" and self.marker:
            self.marker = "no"  # "it is not true that …": the whole of what follows
        self.reached += bool(self.marker)
        self.tokens.append((token, bool(self.marker)))

    def close(self) -> Iterator[Clause]:
        if self.marker and not self.reached:                            # "Weekends: no."
            self.tokens = [(token, True) for token, _ in self.tokens]
        if self.tokens:
            yield Clause(*(frozenset(t for t, negated in self.tokens if negated is side) for side in (False, True)))
        self.tokens, self.marker, self.reached = [], "", 0


def contradiction(claim: str, page: str, is_content: Callable[[str], bool]) -> tuple[str, str] | None:
    """("negation" or "not-verified", what was seen) where a clause of the claim turns round the clause of the page next to it.

    Each clause of the claim is held against the clause of the page that shares most content words with it; of several, one
    that agrees is enough. `not-verified`: an opposite without a marker ("held" for "released"), or too long to compare.
    """
    ours, theirs = list(dict.fromkeys(clauses(claim))), list(dict.fromkeys(clauses(page)))
    if len(ours) * len(theirs) > MOST_PAIRS:
        return "not-verified", f"too long to compare: {len(ours)} clauses with {len(theirs)}"
    holding = defaultdict(list)
    for number, clause in enumerate(theirs):
        for token in filter(is_content, clause.words):
            holding[token].append(number)
    seen = []
    for clause in ours:
        content = list(filter(is_content, clause.words))
        shared = Counter(number for token in content for number in holding[token])
        most = max(shared.values(), default=0)
        if most and (2 * most >= len(content) or len(ours) == 1):
            found = [_turned(clause, theirs[number], is_content) for number, count in shared.items() if count == most]
            if None not in found:
                seen.append(min(found))
    return min(seen, default=None)


def _turned(mine: Clause, its: Clause, is_content: Callable[[str], bool]) -> tuple[str, str] | None:
    turned = (mine.plain & its.negated) - its.plain | (mine.negated & its.plain) - mine.plain
    turned = sorted(filter(is_content, turned))
    if turned and not any(map(is_content, mine.negated & its.negated)):
        return "negation", f"{' '.join(turned)!r} stands under a negation on one side only"
    my_own, its_own = mine.words - its.words, its.words - mine.words
    for word, other in [*_prefixed(my_own, its_own), *_prefixed(its_own, my_own)]:
        if (word in mine.negated | its.negated) == (other in mine.negated | its.negated):
            return "negation", f"{word!r} against {other!r}"
    for word in sorted(my_own & _OPPOSITE_WORDS & mine.plain):
        for other in sorted(its_own & _OPPOSITE_WORDS & its.plain):
            if {word, other} in _OPPOSITES:
                return "not-verified", f"{word!r} in the claim, {other!r} on the page"
    return None


def _prefixed(ones: frozenset[str], others: frozenset[str]) -> list[tuple[str, str]]:
    """("unpaid", "paid"), ("non-refundable", "refundable")."""
    return sorted((one, other) for one in ones for prefix in ("un", "non", "non-") if one.startswith(prefix)
                  and (other := one.removeprefix(prefix)) in others and len(other) > 3 and one != "unless")
