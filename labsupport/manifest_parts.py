"""What a world's files say: principals, scopes, jobs, traps, questions, claims. The format is described in `data/README.md`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labsupport.model import EVERYONE

QUESTION_KINDS = ("identifier", "paraphrase", "fresh", "closed", "hybrid-loses", "nothing")
CLAIM_KINDS = (
    "verbatim", "paraphrase", "wrong-number", "wrong-date-or-id", "negation", "denial", "invented", "closed", "row-swap", "empty",
)
VERDICTS = ("supported", "low-overlap", "number-mismatch", "negation", "empty", "not-verified", "abstained")


@dataclass(frozen=True)
class Person:
    """Who can ask in a world: what the tables show (`name`, `role`) and what `can_read` looks at (the rest)."""

    key: str
    name: str
    role: str
    user_id: str
    tenant: str
    max_classification: str = "internal"
    barriers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One ingestion job as the manifest states it. `load = false` leaves it for a notebook to run."""

    doc_id: str
    source: str
    uploader: str
    tenant: str
    version: int = 1
    classification: str = "internal"
    barrier: str | None = None
    acl: tuple[str, ...] = (EVERYONE,)
    label_tick: int = 0
    updated_tick: int = 0
    source_readers: tuple[str, ...] | None = None
    load: bool = True
    name: str = ""


@dataclass(frozen=True)
class Scope:
    """What a corpus may hold: an owner, an in-list (`*` alone is every page with a job), an out-list. Out wins."""

    owner: str
    included: tuple[str, ...]
    excluded: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True)
class Trap:
    """A lesson that rests on particular words in particular pages, stated so that a test can run it in both directions."""

    name: str
    notebooks: tuple[str, ...]
    what: str
    principal: str
    design: str
    query: str = ""
    words: tuple[str, ...] = ()
    leg: str = "retrieve"
    policy: Mapping[str, Any] = field(default_factory=dict)
    now_tick: int = 0
    after: str = ""
    must_leak: tuple[str, ...] = ()
    leak_first: str = ""
    must_lose: tuple[str, ...] = ()
    odd_word: str = ""
    turned: bool = False
    moved: tuple[str, ...] = ()
    told: str = ""
    must_not: tuple[str, ...] = ()
    must_find: tuple[str, ...] = ()
    first: str = ""
    empty: bool = False
    no_shared_word: bool = False
    order: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()

    @property
    def bites(self) -> bool:
        """Does it say what the wrong design shows?"""
        return bool(self.must_leak or self.leak_first or self.must_lose or self.odd_word or self.turned or self.moved or self.told)

    @property
    def closes(self) -> bool:
        """Does it say what the right design shows?"""
        lists = self.must_not + self.must_find + self.order + self.holds + self.words
        return bool(lists or self.first or self.empty or self.no_shared_word)

    @property
    def references(self) -> tuple[str, ...]:
        single = tuple(one for one in (self.leak_first, self.first) if one)
        return self.must_leak + self.must_lose + self.must_not + self.must_find + self.moved + self.order + single


@dataclass(frozen=True)
class Question:
    """A question with the pages that are relevant, and those that may never appear, for each principal who asks it."""

    id: str
    kind: str
    query: str
    expected: Mapping[str, tuple[str, ...]]
    forbidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class LabelledClaim:
    """A sentence, the verdict that the grounding check must give to it, and whether it is true in this world."""

    id: str
    kind: str
    text: str
    reader: str
    verdict: str
    true: bool
    query: str = ""
    source: str = ""
    note: str = ""


@dataclass(frozen=True)
class Manifest:
    """A world's folder, read and checked, before anything is indexed."""

    name: str
    folder: Path
    title: str
    notice: str
    tenant: str
    scope: str
    people: tuple[Person, ...]
    scopes: Mapping[str, Scope]
    jobs: tuple[Job, ...]
    traps: tuple[Trap, ...]
    questions: tuple[Question, ...]
    claims: tuple[LabelledClaim, ...]
    matrix: tuple[str, ...]


def split_reference(reference: str, tenant: str) -> tuple[str, str, int | None, str | None]:
    """`[tenant/]doc_id[@vN][#Heading]` as (tenant, doc_id, version or None, heading or None)."""
    page, _, heading = reference.partition("#")
    before, slash, rest = page.partition("/")
    tenant, page = (before, rest) if slash else (tenant, page)
    doc_id, _, version = page.partition("@v")
    if not version.isdecimal():
        return tenant, page, None, heading or None
    return tenant, doc_id, int(version), heading or None
