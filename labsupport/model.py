"""The things that the lab talks about: documents, labels, chunks, principals, hits. Frozen, and checked at the door.

Imports nothing but errors' base types: every other room may import this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

EVERYONE = "everyone"
"""The explicit group of all principals of a tenant. A document is open to all of them only if its `acl` says so."""

CLASSIFICATIONS = ("public", "internal", "confidential", "restricted")
"""Low to high. A principal reads up to its own `max_classification`."""


MOST = 2**62
"""The largest version or tick: what a shelf can hold beside its chunks."""


def _named(what: str, value: object) -> str:
    """A non-blank text, or `TypeError` / `ValueError` that names the field and the value."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, got {value!r}")
    if not value.strip():
        raise ValueError(f"{what} must not be blank, got {value!r}")
    return value


def _classification(what: str, value: object) -> str:
    if value not in CLASSIFICATIONS:
        raise ValueError(f"{what} must be one of {', '.join(CLASSIFICATIONS)}, got {value!r}")
    return value


def whole_number(what: str, value: object, *, least: int = 1) -> int:
    """A count, a limit, a size: a whole number from `least`, or `ValueError` that names it. True is no number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what} must be a whole number from {least}, got {value!r}")
    return value


def _whole(what: str, value: object, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{what} must be a whole number from {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{what} must be at least {least}, got {value!r}")
    if value > MOST:
        raise ValueError(f"{what} must be at most {MOST}, got {value!r}")
    return value


class _Names(frozenset):
    """A frozenset that is written in order, so that what two runs print of one label is the same text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(map(repr, sorted(self)))}}})" if self else "frozenset()"


def _names(what: str, value: object) -> frozenset[str]:
    """A collection of names. A bare string is refused, its letters would become the names; and so is a mapping, since
    `{"hr": False}` names nobody and would let `hr` in."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a collection of names such as ({value!r},), got {value!r}")
    return _Names(_named(f"each name in {what}", name) for name in value)


@dataclass(frozen=True)
class AccessLabel:
    """Everything that entitlement looks at, and nothing else. Hashable: one shelf holds the chunks of one label.

    It comes from the ingestion job, never from the document's text. Introduced field by field: groups in notebook 00,
    the tenant in 04, classification and barrier in 05.

    Raises `ValueError` for an empty `acl`: a chunk that nobody was named for cannot be authorized.
    """

    tenant: str
    classification: str
    barrier: str | None
    acl: frozenset[str]

    def __post_init__(self):
        _named("tenant", self.tenant)
        _classification("classification", self.classification)
        if self.barrier is not None:
            _named("barrier", self.barrier)
        object.__setattr__(self, "acl", _names("acl", self.acl))
        if not self.acl:
            raise ValueError(f"acl must name at least one group, got {self.acl!r}; to open it to the tenant, name EVERYONE")

    @cached_property
    def sort_key(self) -> tuple:
        """A total order over labels, so that shelves are visited in the same order on every machine."""
        return (self.tenant, CLASSIFICATIONS.index(self.classification), self.barrier or "", tuple(sorted(self.acl)))


@dataclass(frozen=True)
class Document:
    """One version of a source text with the label fields that its ingestion job gave it.

    `version` counts from 1. `updated_tick` is the time of the last change, a number that is passed in: no clock.
    Raises `ValueError` or `TypeError` at construction, naming field and value. Met in notebook 01.
    """

    doc_id: str
    tenant: str
    title: str
    text: str
    classification: str = "internal"
    barrier: str | None = None
    acl: Iterable[str] = (EVERYONE,)
    version: int = 1
    updated_tick: int = 0

    def __post_init__(self):
        _named("doc_id", self.doc_id)
        for field in ("title", "text"):
            if not isinstance(getattr(self, field), str):
                raise TypeError(f"{field} must be text, got {getattr(self, field)!r}")
        _whole("version", self.version, least=1)
        _whole("updated_tick", self.updated_tick, least=0)
        object.__setattr__(self, "acl", tuple(sorted(_names("acl", self.acl))))
        # The label's own checks come at the door: tenant, classification, barrier, an acl that names somebody.
        object.__setattr__(self, "_label", AccessLabel(self.tenant, self.classification, self.barrier, frozenset(self.acl)))

    @property
    def label(self) -> AccessLabel:
        """What the ingestion job said of it: all that entitlement will look at."""
        return self._label


def _escaped(part: str) -> str:
    """Percent-escape what separates the parts of a citation, so that one citation names one span."""
    for mark in "%/#[]":
        part = part.replace(mark, f"%{ord(mark):02X}")
    return part


@dataclass(frozen=True)
class Chunk:
    """A quotation: `document.text[start_char:end_char] == text`, always. Built in notebook 01.

    `heading_path` holds the headings above the chunk, outermost first. `text` begins after the heading line; a heading
    with no body is a chunk of its heading line. `chunk_id` is stable across versions; `version` is a field.
    """

    chunk_id: str
    doc_id: str
    version: int
    text: str
    heading_path: tuple[str, ...]
    start_char: int
    end_char: int
    label: AccessLabel
    updated_tick: int

    def __post_init__(self):
        _named("chunk_id", self.chunk_id)
        _named("doc_id", self.doc_id)
        _whole("version", self.version, least=1)
        _whole("updated_tick", self.updated_tick, least=0)
        if not isinstance(self.text, str):
            raise TypeError(f"text must be text, got {self.text!r}")
        if isinstance(self.heading_path, str):
            raise TypeError(f"heading_path must be a tuple of headings, got {self.heading_path!r}")
        object.__setattr__(self, "heading_path", tuple(self.heading_path))
        if not isinstance(self.label, AccessLabel):
            raise TypeError(f"label must be an AccessLabel, got {self.label!r}")
        if self.end_char - self.start_char != len(self.text) or self.start_char < 0:
            raise ValueError(f"span [{self.start_char}:{self.end_char}] must be as long as the text, {len(self.text)} characters")

    @property
    def tenant(self) -> str:
        return self.label.tenant

    @property
    def classification(self) -> str:
        return self.label.classification

    @property
    def barrier(self) -> str | None:
        return self.label.barrier

    @property
    def section(self) -> str:
        """The last heading, or `body` where there is none."""
        return self.heading_path[-1] if self.heading_path else "body"

    def citation(self) -> str:
        """`doc@v2#Heading/Sub[120:301]`: the document, its version, the path, the span. Built in notebook 01."""
        path = "/".join(map(_escaped, self.heading_path)) or "body"
        return f"{_escaped(self.doc_id)}@v{self.version}#{path}[{self.start_char}:{self.end_char}]"


@dataclass(frozen=True)
class Principal:
    """Who asks. It comes from the session, never from the question, and is always in `EVERYONE`.

    Raises `ValueError` for a clearance that does not exist or a blank tenant, `TypeError` for a bare string as
    `groups` or `barriers`. Met in notebook 00.
    """

    user_id: str
    tenant: str
    max_classification: str = "internal"
    barriers: Iterable[str] = ()
    groups: Iterable[str] = ()

    def __post_init__(self):
        _named("user_id", self.user_id)
        _named("tenant", self.tenant)
        _classification("max_classification", self.max_classification)
        object.__setattr__(self, "barriers", _names("barriers", self.barriers))
        object.__setattr__(self, "groups", _names("groups", self.groups))


@dataclass(frozen=True)
class Hit:
    """One place in a ranking. Both ranks count readable chunks only, so that a gap tells nothing.

    `score` is on the scale of the ranking that made it (BM25, cosine, a sum of 1/(60+rank), rerank), never comparable
    across them. `context` is the readable parent section where the policy asked for it. For arithmetic on paper, `chunk`
    may be a bare chunk id (notebook 03).
    """

    chunk: Chunk
    score: float
    lexical_rank: int | None = None
    dense_rank: int | None = None
    context: str | None = None

    @property
    def chunk_id(self) -> str:
        return self.chunk if isinstance(self.chunk, str) else self.chunk.chunk_id
