"""What a world's files say, read and checked field by field: principals, scopes, jobs, traps, questions, claims.

Nothing is indexed here. The format is described in `data/README.md`; an error names the file and the field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from labsupport.errors import WorldError
from labsupport.model import CLASSIFICATIONS, EVERYONE

QUESTION_KINDS = ("identifier", "paraphrase", "fresh", "closed", "hybrid-loses", "nothing")
CLAIM_KINDS = ("verbatim", "paraphrase", "wrong-number", "wrong-date-or-id", "negation", "denial", "invented", "closed", "row-swap", "empty")
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
        return bool(self.must_leak or self.leak_first or self.must_lose or self.odd_word or self.turned or self.moved)

    @property
    def closes(self) -> bool:
        """Does it say what the right design shows?"""
        return bool(self.must_not or self.must_find or self.first or self.empty or self.no_shared_word or self.order or self.holds or self.words)

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


@dataclass(frozen=True)
class Place:
    """Where in which file something stands, and how to complain about it."""

    file: Path
    field: str = ""

    def at(self, field: str) -> Place:
        return Place(self.file, f"{self.field}.{field}" if self.field else field)

    def wrong(self, why: str) -> WorldError:
        return WorldError(f"{self.file.parent.name}/{self.file.name}: {self.field or 'the file'} {why}")


def split_reference(reference: str, tenant: str) -> tuple[str, str, int | None, str | None]:
    """`[tenant/]doc_id[@vN][#Heading]` as (tenant, doc_id, version or None, heading or None)."""
    page, _, heading = reference.partition("#")
    before, slash, rest = page.partition("/")
    tenant, page = (before, rest) if slash else (tenant, page)
    doc_id, _, version = page.partition("@v")
    return tenant, doc_id, int(version) if version.isdecimal() else None, heading or None


def _texts(value: Any, place: Place) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise place.wrong(f"must be a list of names, got {value!r}")
    if len(set(value)) != len(value):
        raise place.wrong(f"names something twice, got {value!r}")
    return tuple(value)


def _value(kind: str, value: Any, place: Place) -> Any:
    """Check one value against a field's declared type, and freeze it."""
    if kind.startswith("tuple"):
        return _texts(value, place)
    if kind.startswith("Mapping"):
        if not isinstance(value, dict):
            raise place.wrong(f"must be a table, got {value!r}")
        if "tuple" in kind:
            return {key: _texts(one, place.at(key)) for key, one in value.items()}
        return value
    wanted = {"str": str, "int": int, "bool": bool}[kind.split(" ")[0]]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise place.wrong(f"must be {({'str': 'text', 'int': 'a whole number', 'bool': 'true or false'})[wanted.__name__]}, got {value!r}")
    if wanted is str and not value.strip() and not place.field.endswith(".text"):  # an empty claim is a case of its own
        raise place.wrong(f"must not be blank, got {value!r}")
    return value


def _build(cls, table: Any, place: Place, **defaults):
    """A dataclass from a TOML table: unknown keys, missing fields and wrong types are errors at the door."""
    if not isinstance(table, dict):
        raise place.wrong(f"must be a table, got {table!r}")
    known = {one.name: one for one in fields(cls)}
    for key in table:
        if key not in known:
            raise place.at(key).wrong(f"is not a field here; fields are {', '.join(known)}")
    values = dict(defaults)
    for name, one in known.items():
        if name in table:
            values[name] = _value(str(one.type), table[name], place.at(name))
        elif name not in values and one.default is MISSING and one.default_factory is MISSING:
            raise place.at(name).wrong("is missing")
    return cls(**values)


def _one_of(value: str, allowed, place: Place) -> None:
    if value not in allowed:
        raise place.wrong(f"must be one of {', '.join(allowed)}, got {value!r}")


def _toml(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Place(path).wrong("is missing") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Place(path).wrong(f"cannot be read as TOML: {error}") from None


def _tables(document: dict, key: str, cls, file: Path, **defaults) -> list:
    """The `[[key]]` tables of a file, each as a `cls`; messages count them from 1."""
    rows = document.get(key, [])
    if not isinstance(rows, list):
        raise Place(file, key).wrong(f"must be written [[{key}]]")
    return [_build(cls, row, Place(file, f"{key}[{number}]"), **defaults) for number, row in enumerate(rows, 1)]


def _distinct(rows: list, field: str, file: Path, key: str) -> None:
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        value = getattr(row, field)
        if value in seen:
            raise Place(file, f"{key}[{number}].{field}").wrong(f"repeats {value!r}, which {key}[{seen[value]}] has already")
        seen[value] = number


def _alone(document: dict, allowed: set[str], file: Path) -> None:
    for key in document:
        if key not in allowed:
            raise Place(file, key).wrong(f"is not a field here; fields are {', '.join(sorted(allowed))}")


def read_manifest(folder: Path) -> Manifest:
    """Read and check `world.toml`, `questions.toml` and `claims.toml` (the last two may be absent).

    Raises `WorldError` that names the file and the field.
    """
    file = folder / "world.toml"
    head = _toml(file)
    _alone(head, {"title", "notice", "tenant", "scope", "matrix", "principal", "scopes", "job", "trap"}, file)
    for key in ("title", "notice", "tenant", "scope"):
        if key not in head:
            raise Place(file, key).wrong("is missing")
        _value("str", head[key], Place(file, key))
    if "fictional, no credential" not in head["notice"].lower():
        raise Place(file, "notice").wrong(f"must say 'fictional, no credential', got {head['notice']!r}")
    tenant = head["tenant"]

    people = _tables(head, "principal", Person, file, tenant=tenant)
    _distinct(people, "key", file, "principal")
    _distinct(people, "user_id", file, "principal")
    for number, person in enumerate(people, 1):
        _one_of(person.max_classification, CLASSIFICATIONS, Place(file, f"principal[{number}].max_classification"))

    jobs = [_named(job, tenant) for job in _tables(head, "job", Job, file, tenant=tenant)]
    if not jobs:
        raise Place(file, "job").wrong("is missing: a world without pages")
    _distinct(jobs, "name", file, "job")
    for number, job in enumerate(jobs, 1):
        place = Place(file, f"job[{number}]")
        _one_of(job.classification, CLASSIFICATIONS, place.at("classification"))
        if job.version < 1 or job.label_tick < 0 or job.updated_tick < 0 or not job.acl:
            raise place.wrong(f"must have a version from 1, ticks from 0 and somebody in acl, got {job!r}")
        if Path(job.source).name != job.source or not (folder / job.source).is_file():
            raise place.at("source").wrong(f"names {job.source!r}, which is no file of {folder.name}/")

    pages = {(job.tenant, job.doc_id) for job in jobs}

    def known(references, place: Place) -> None:
        for reference in references:
            if split_reference(reference, tenant)[:2] not in pages:
                raise place.wrong(f"names {reference!r}, and no job makes such a page")

    scopes = {key: _scope(table, Place(file, f"scopes.{key}")) for key, table in head.get("scopes", {}).items()}
    _one_of(head["scope"], scopes, Place(file, "scope"))
    for key, scope in scopes.items():
        known([one for one in scope.included + scope.excluded if one != "*"], Place(file, f"scopes.{key}"))

    every_page = tuple(dict.fromkeys(job.doc_id if job.tenant == tenant else f"{job.tenant}/{job.doc_id}" for job in jobs))
    matrix = _texts(head["matrix"], Place(file, "matrix")) if "matrix" in head else every_page
    known(matrix, Place(file, "matrix"))

    readers = [person.key for person in people]
    traps = _tables(head, "trap", Trap, file)
    _distinct(traps, "name", file, "trap")
    for number, trap in enumerate(traps, 1):
        place = Place(file, f"trap[{number}]")
        _one_of(trap.principal, readers, place.at("principal"))
        _one_of(trap.leg, ("retrieve", "lexical"), place.at("leg"))
        if trap.after:
            _one_of(trap.after, readers, place.at("after"))
        known(trap.references, place)
        if bool(trap.query) == bool(trap.words):
            raise place.wrong("must have either query or words")
        if trap.bites == (trap.design == "none") or not trap.closes:
            raise place.wrong("must say what the right design shows, and what the wrong one shows exactly where there is one")

    return Manifest(folder.name, folder, head["title"], head["notice"], tenant, head["scope"], tuple(people), scopes, tuple(jobs),
                    tuple(traps), _questions(folder, readers, known), _claims(folder, readers, known), matrix)


def _named(job: Job, tenant: str) -> Job:
    """A job without a name is called `doc_id@vN`, with its tenant in front where that is not the world's own."""
    before = "" if job.tenant == tenant else f"{job.tenant}/"
    return job if job.name else replace(job, name=f"{before}{job.doc_id}@v{job.version}")


def _scope(table: Any, place: Place) -> Scope:
    """`in` is a word of Python, so the table's `in` and `out` become `included` and `excluded`."""
    if not isinstance(table, dict):
        raise place.wrong(f"must be a table, got {table!r}")
    renamed = {{"in": "included", "out": "excluded"}.get(key, key): value for key, value in table.items()}
    return _build(Scope, renamed, place)


def _questions(folder: Path, readers: list[str], known) -> tuple[Question, ...]:
    file = folder / "questions.toml"
    if not file.is_file():
        return ()
    document = _toml(file)
    _alone(document, {"question"}, file)
    rows = _tables(document, "question", Question, file)
    _distinct(rows, "id", file, "question")
    for number, row in enumerate(rows, 1):
        place = Place(file, f"question[{number}]")
        _one_of(row.kind, QUESTION_KINDS, place.at("kind"))
        for part in ("expected", "forbidden"):
            for reader, references in getattr(row, part).items():
                _one_of(reader, readers, place.at(part))
                known(references, place.at(part))
        if not row.expected or not set(row.forbidden) <= set(row.expected):
            raise place.at("expected").wrong("must name everybody who asks, and forbidden nobody else")
    return tuple(rows)


def _claims(folder: Path, readers: list[str], known) -> tuple[LabelledClaim, ...]:
    file = folder / "claims.toml"
    if not file.is_file():
        return ()
    document = _toml(file)
    _alone(document, {"claim"}, file)
    rows = _tables(document, "claim", LabelledClaim, file)
    _distinct(rows, "id", file, "claim")
    for number, row in enumerate(rows, 1):
        place = Place(file, f"claim[{number}]")
        _one_of(row.kind, CLAIM_KINDS, place.at("kind"))
        _one_of(row.verdict, VERDICTS, place.at("verdict"))
        _one_of(row.reader, readers, place.at("reader"))
        known([row.source] if row.source else [], place.at("source"))
    return tuple(rows)
