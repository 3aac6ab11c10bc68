"""Is each claim of an answer covered by one returned page: its words, its numbers, its polarity? Built in notebook 07.

Support is not truth. The check finds the numbers of a claim in a chunk and does not tie them to a row, so two fees that
changed places inside one table are supported; and what the threshold leaves open, four words of ten, may be anything. What
it cannot compare it calls `not-verified`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from labsupport.facts import Fact, Stated, find_facts
from labsupport.guardrails import returned_chunks
from labsupport.model import Chunk, Hit
from labsupport.polarity import MARKERS, contradiction, spelt_out
from labsupport.tokens import ranked_text, tokenize

REASONS = ("supported", "low-overlap", "number-mismatch", "negation", "not-verified", "empty", "abstained")
_NEAREST_FIRST = ("negation", "not-verified", "number-mismatch", "low-overlap")

LONGEST_CLAIM = 20_000
"""Characters. A longer text is not one statement; it is left unverified, so that no input takes minutes."""

STOP_WORDS = MARKERS | frozenset(
    "a an and are as at be been being but by did do does for from had has have he her his i if in into is it its of on or our s "
    "she so than that the their them then there these they this those to us was we were which who will with would you your".split())
"""Words that carry no content of their own: no evidence when they match. Negations are judged apart, by polarity."""


@dataclass(frozen=True)
class Claim:
    """One statement of an answer. With a `citation` (a chunk id or a written-out citation) only that chunk may support it."""

    text: str
    citation: str | None = None

    def __post_init__(self):
        if not isinstance(self.text, str):
            raise TypeError(f"text must be the words of a claim, got {self.text!r}")
        if self.citation is not None and not isinstance(self.citation, str):
            raise TypeError(f"citation must be a chunk id, a citation or None, got {self.citation!r}")


@dataclass(frozen=True)
class Verdict:
    """What the check found for one claim, and why.

    `reason` is one of `REASONS`. `overlap` is the share of the claim's distinct content words in the chunk that came
    nearest, in [0, 1]; `chunk_id` names that chunk, and `citation` stands only where the claim is supported. `detail` says
    in words what was missing or turned round.
    """

    claim: Claim
    reason: str
    overlap: float = 0.0
    chunk_id: str | None = None
    citation: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class GroundingReport:
    """The verdicts of one answer, in the order of its claims.

    `supported` claims carry the citation of their chunk. An honest "the handbook does not say" (`abstained`) asserts
    nothing: it is in neither list and counts in no share. `coverage` is supported / (supported + unsupported), or `None`
    where nothing was asserted; leave `None` out of an average, it is not 0 and not 1.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def supported(self) -> list[Claim]:
        return [replace(v.claim, citation=v.citation) for v in self.verdicts if v.reason == "supported"]

    @property
    def unsupported(self) -> list[Claim]:
        return [v.claim for v in self.verdicts if v.reason not in ("supported", "abstained")]

    @property
    def coverage(self) -> float | None:
        asserted = len(self.supported) + len(self.unsupported)
        return len(self.supported) / asserted if asserted else None

    @property
    def is_grounded(self) -> bool:
        """Was anything asserted, and all of it supported?"""
        return self.coverage == 1.0


def check_grounding(claims: Iterable[Claim | str], hits: Iterable[Hit], *, min_overlap: float = 0.6) -> GroundingReport:
    """Hold each claim against the returned chunks, one chunk at a time: two halves of the truth are no source.

    A claim is `supported` by the first chunk, in order of rank, whose headings and text hold at least `min_overlap` of its
    distinct content words, **and** every number, date and code of it (see `find_facts`), **and** do not turn round its
    polarity. Otherwise the reason is that of the chunk that came nearest. A claim without a content word is `empty`.
    `min_overlap` is in (0, 1]. Raises `ValueError`, and `TypeError` for a bare text instead of a list of claims.
    """
    if isinstance(min_overlap, bool) or not isinstance(min_overlap, (int, float)) or not 0 < min_overlap <= 1:
        raise ValueError(f"min_overlap must be in (0, 1], got {min_overlap!r}")
    if isinstance(claims, (str, Claim)) or not isinstance(claims, Iterable):
        raise TypeError(f"claims must be a list of Claim, got {claims!r}")
    sources = [_Source(chunk) for chunk in returned_chunks(hits).values()]
    claims = [Claim(claim) if isinstance(claim, str) else claim for claim in claims]
    for claim in claims:
        if not isinstance(claim, Claim):
            raise TypeError(f"claims must hold Claim, got {claim!r}")
    return GroundingReport(tuple(_judge(_Statement(claim), sources, min_overlap) for claim in claims))


def is_content(token: str) -> bool:
    """Does a token count towards the overlap?"""
    return token not in STOP_WORDS


class _Source:
    """A chunk as evidence. What costs time is read once, and only if a claim gets that far."""

    def __init__(self, chunk: Chunk):
        self.chunk = chunk
        # Headings are the page's own words and stand in the citation. A chunk without text says nothing, headings or not.
        self.text = ranked_text(chunk) if chunk.text.strip() else ""
        self.words = frozenset(tokenize(spelt_out(self.text)))

    @cached_property
    def stated(self) -> Stated:
        return Stated(self.text, self.words)


class _Statement:
    """A claim, read once for all sources."""

    def __init__(self, claim: Claim):
        self.claim = claim
        self.content = frozenset(filter(is_content, tokenize(spelt_out(claim.text))))

    @cached_property
    def facts(self) -> list[tuple[Fact, frozenset[str]]]:
        """Each fact once, in the order in which `find_facts` met it, with its tokens."""
        return [(fact, frozenset(tokenize(fact.text))) for fact in dict.fromkeys(find_facts(self.claim.text))]


def _judge(statement: _Statement, sources: list[_Source], min_overlap: float) -> Verdict:
    claim = statement.claim
    if len(claim.text) > LONGEST_CLAIM and statement.content:
        return Verdict(claim, "not-verified", detail=f"{len(claim.text)} characters are not one statement; at most {LONGEST_CLAIM}")
    if is_abstention(claim.text):
        # A page may itself say "the policy does not say": then the same sentence is a claim, and in the page word for word.
        word_for_word = _best(statement, sources, 1.0) if statement.content else None
        return word_for_word if word_for_word and word_for_word.reason == "supported" else Verdict(claim, "abstained")
    if not statement.content:
        return Verdict(claim, "empty", detail="no word in it says anything: it is no evidence")
    cited = [source for source in sources if claim.citation in (None, source.chunk.chunk_id, source.chunk.citation())]
    if claim.citation is not None and not cited:
        return Verdict(claim, "not-verified", detail=f"cites {claim.citation!r}, which is not among the chunks returned")
    best = _best(statement, cited, min_overlap)
    if best is None:
        return Verdict(claim, "low-overlap", detail="no chunk was returned")
    scripts = _scripts(claim.text)
    if best.overlap == 0.0 and scripts and all(scripts.isdisjoint(_scripts(source.text)) for source in cited):
        return replace(best, reason="not-verified", detail=f"the claim is in a script that no chunk uses: {_some(sorted(scripts))}")
    if claim.citation is not None and best.reason != "supported":
        elsewhere = _best(statement, sources, min_overlap)
        if elsewhere.reason == "supported":
            return replace(best, detail=f"{best.detail}; {elsewhere.chunk_id!r} supports it, not the chunk cited")
    return best


def _best(statement: _Statement, sources: list[_Source], min_overlap: float) -> Verdict | None:
    """The verdict of the first source that supports the claim, or else of the one that came nearest, whatever the order.

    A source that holds more of the claim's words than the supporting one, and says the opposite, came nearer than it did.
    """
    verdicts = [_against(statement, source, min_overlap) for source in sources]
    denied = max((verdict.overlap for verdict in verdicts if verdict.reason == "negation"), default=0.0)
    for verdict in verdicts:
        if verdict.reason == "supported" and verdict.overlap >= denied:
            return verdict
    failed = [verdict for verdict in verdicts if verdict.reason != "supported"]
    return max(failed, key=lambda v: (-_NEAREST_FIRST.index(v.reason), v.overlap, v.chunk_id), default=None)


def _against(statement: _Statement, source: _Source, min_overlap: float) -> Verdict:
    claim, content = statement.claim, statement.content
    missing = {fact: tokens for fact, tokens in statement.facts if not source.stated.holds(fact)}
    # A fact that the page states in another notation counts as covered; one that it does not, word by word.
    held = frozenset().union(*(tokens for fact, tokens in statement.facts if fact not in missing))
    covered = content & (source.words | held)
    overlap = len(covered) / len(content)
    verdict = Verdict(claim, "supported", overlap, source.chunk.chunk_id)
    if missing:
        # If all the other words are there, it is the number that is wrong, however short the claim.
        others = content - frozenset().union(*missing.values()).difference(source.words)
        if overlap >= min_overlap or others and others <= covered:
            return replace(verdict, reason="number-mismatch", detail=f"not in the chunk: {_some(fact.text for fact in missing)}")
    if overlap < min_overlap:
        return replace(verdict, reason="low-overlap",
                       detail=f"{len(covered)} of {len(content)} content words; absent: {_some(sorted(content - covered))}")
    turned = contradiction(claim.text, source.text, is_content)
    if turned:
        return replace(verdict, reason=turned[0], detail=turned[1])
    return replace(verdict, citation=source.chunk.citation())


def _some(words: Iterable[str]) -> str:
    first = list(islice(words, 9))
    return ", ".join(first[:8]) + (", …" if len(first) > 8 else "")


def _scripts(text: str) -> frozenset[str]:
    """The scripts of a text's first letters (LATIN, ARABIC, CJK …)."""
    letters = islice(filter(str.isalpha, text), 500)
    return frozenset(unicodedata.name(letter, "?").split()[0] for letter in letters)


_PAGES = (r"(?:(?:the|this|these|our|any)\ )?(?:(?:staff|employee)\ )?(?:handbook|documents?|sources?|evidence|pages?|text|context"
          r"|excerpts?|passages?|knowledge\ base|polic(?:y|ies)|manual|guide)")
_ASKS = r"(?=\s*(?:$|[.!]|(?:this|that|it|so|whether|if|how|what|when|where|who|why|which|from|about)\b))"
_ABSTAINS = re.compile(rf"""\W*(?:(?:sorry|unfortunately)\W+)?(?:
      (?:i|we)\ (?:
          (?:do|did)\ not\ know\b(?!,)
        | (?:(?:can|could)n?\ not|am\ unable\ to|are\ unable\ to)\ (?:know|confirm|find|say|tell|determine|verify|answer){_ASKS}
        | (?:can|could|did)n?\ not\ find\ (?:any|an|a|the|this|that|out)\b
        | (?:found|find|have|see)\ no\ (?:page|source|document|information|answer|evidence|mention)s?\b)
    | {_PAGES}\ (?:(?:does|do|did)\ not\ (?:say|state|mention|specify|tell|describe|indicate)\b(?!,)
        | (?:does|do)\ not\ contain\ (?:any\ |an\ |a\ )?(?:information|answer|details?|mention|statement)\b
        | (?:says?|states?|contains?)\ nothing\b | (?:has|have|contains?)\ no\ (?:information|answer|details?|mention|statement)\b)
    | (?:there\ is\ )?nothing\ (?:in|on)\ {_PAGES}\b
    | there\ is\ no\ (?:information|answer|mention|statement)\b
    | (?:it|this|that)\ is\ not\ (?:stated|mentioned|specified|documented)\b
    | [^.;,]{{1,200}}\ not\ (?:stated|mentioned|specified|documented|answered)\ (?:in|by|on)\ {_PAGES}\b
    )""", re.VERBOSE | re.IGNORECASE)
_GOES_ON = re.compile(r"\b(?:but|however|although|though|yet)\b|[.;:!?]\s+\S|,\s*(?:and|so)\b", re.IGNORECASE)


def is_abstention(text: str) -> bool:
    """Is it an honest "I do not know" or "the handbook does not say", and nothing more?

    A statement that follows ("… but leave is 12 weeks") is a claim like any other. Whether the handbook really does not
    say is not checked.
    """
    text = " ".join(spelt_out(text).split())
    return bool(_ABSTAINS.match(text)) and not _GOES_ON.search(text)
