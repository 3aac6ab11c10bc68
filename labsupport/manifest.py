"""A world's files, read and checked field by field before anything is indexed. An error names the file and the field."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

from labsupport.errors import WorldError
from labsupport.manifest_parts import (
    CLAIM_KINDS,
    QUESTION_KINDS,
    VERDICTS,
    Job,
    LabelledClaim,
    Manifest,
    Person,
    Question,
    Scope,
    Trap,
    split_reference,
)
from labsupport.model import CLASSIFICATIONS
from labsupport.retriever import RetrievalPolicy


@dataclass(frozen=True)
class Place:
    """Where in which file something stands, and how to complain about it."""

    file: Path
    field: str = ""

    def at(self, field: str) -> Place:
        return Place(self.file, f"{self.field}.{field}" if self.field else field)

    def wrong(self, why: str) -> WorldError:
        return WorldError(f"{self.file.parent.name}/{self.file.name}: {self.field or 'the file'} {why}")


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
    wanted, called = {"str": (str, "text"), "int": (int, "a whole number"), "bool": (bool, "true or false")}[kind.split(" ")[0]]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise place.wrong(f"must be {called}, got {value!r}")
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
    people = _people(head, file, tenant)
    readers = [person.key for person in people]
    jobs = _jobs(head, file, tenant)
    versions = {(job.tenant, job.doc_id, version) for job in jobs for version in (None, job.version)}

    def known(references: Iterable[str], place: Place) -> None:
        for reference in references:
            if split_reference(reference, tenant)[:3] not in versions:
                raise place.wrong(f"names {reference!r}, and no job makes such a page")

    scopes = _scopes(head, file, {job.doc_id for job in jobs})
    _one_of(head["scope"], scopes, Place(file, "scope"))
    every_page = [job.doc_id if job.tenant == tenant else f"{job.tenant}/{job.doc_id}" for job in jobs]
    matrix = _texts(head.get("matrix", list(dict.fromkeys(every_page))), Place(file, "matrix"))
    known(matrix, Place(file, "matrix"))
    return Manifest(
        name=folder.name, folder=folder, title=head["title"], notice=head["notice"], tenant=tenant, scope=head["scope"],
        people=people, scopes=scopes, jobs=jobs, traps=_traps(head, file, readers, known), matrix=matrix,
        questions=_questions(folder / "questions.toml", readers, known), claims=_claims(folder / "claims.toml", readers, known),
    )


Known = Callable[[Iterable[str], Place], None]
"""Complains at a place about the first reference that no job answers for."""


def _people(head: dict, file: Path, tenant: str) -> tuple[Person, ...]:
    people = _tables(head, "principal", Person, file, tenant=tenant)
    _distinct(people, "key", file, "principal")
    _distinct(people, "user_id", file, "principal")
    for number, person in enumerate(people, 1):
        _one_of(person.max_classification, CLASSIFICATIONS, Place(file, f"principal[{number}].max_classification"))
    return tuple(people)


def _jobs(head: dict, file: Path, tenant: str) -> tuple[Job, ...]:
    jobs = [_named(job, tenant) for job in _tables(head, "job", Job, file, tenant=tenant)]
    if not jobs:
        raise Place(file, "job").wrong("is missing: a world without pages")
    readers: dict[str, tuple[str, ...] | None] = {}
    for number, job in enumerate(jobs, 1):
        place = Place(file, f"job[{number}]")
        _one_of(job.classification, CLASSIFICATIONS, place.at("classification"))
        if Path(job.source).name != job.source or not (file.parent / job.source).is_file():
            raise place.at("source").wrong(f"names {job.source!r}, which is no file of {file.parent.name}/")
        for field, least in (("version", 1), ("label_tick", 0), ("updated_tick", 0)):
            if getattr(job, field) < least:
                raise place.at(field).wrong(f"must be at least {least}, got {getattr(job, field)!r}")
        stated = readers.setdefault(job.source, job.source_readers)
        if stated != job.source_readers:  # the last one to speak would else open the source to all
            raise place.at("source_readers").wrong(
                f"must be the same in every job of {job.source!r}, got {job.source_readers!r} after {stated!r}")
        if not job.acl:
            raise place.at("acl").wrong("must name at least one group; to open a page to the tenant, leave it out")
    _distinct(jobs, "name", file, "job")
    return tuple(jobs)


def _named(job: Job, tenant: str) -> Job:
    """A job without a name is called `doc_id@vN`, with its tenant in front where that is not the world's own."""
    before = "" if job.tenant == tenant else f"{job.tenant}/"
    return job if job.name else replace(job, name=f"{before}{job.doc_id}@v{job.version}")


def _scopes(head: dict, file: Path, doc_ids: set[str]) -> dict[str, Scope]:
    """A scope lists plain doc ids. `in` is a word of Python, so `in` and `out` become `included` and `excluded`."""
    tables = head.get("scopes")
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise Place(file, "scopes").wrong(f"must be written [scopes.name], got {tables!r}")
    scopes = {}
    for key, table in tables.items():
        place = Place(file, f"scopes.{key}")
        renamed = {{"in": "included", "out": "excluded"}.get(field, field): value for field, value in table.items()}
        scopes[key] = scope = _build(Scope, renamed, place)
        for doc_id in (() if scope.included == ("*",) else scope.included) + scope.excluded:
            if doc_id not in doc_ids:
                raise place.wrong(f"names {doc_id!r}, and no job has this doc id")
    return scopes


def _traps(head: dict, file: Path, readers: list[str], known: Known) -> tuple[Trap, ...]:
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
        try:
            RetrievalPolicy(**trap.policy)
        except (TypeError, ValueError) as error:
            raise place.at("policy").wrong(f"is no RetrievalPolicy: {error}") from None
    return tuple(traps)


def _questions(file: Path, readers: list[str], known: Known) -> tuple[Question, ...]:
    rows = _rows(file, "question", Question)
    for number, row in enumerate(rows, 1):
        place = Place(file, f"question[{number}]")
        _one_of(row.kind, QUESTION_KINDS, place.at("kind"))
        for part in ("expected", "forbidden"):
            for reader, references in getattr(row, part).items():
                _one_of(reader, readers, place.at(part))
                known(references, place.at(part))
        if not row.expected or not set(row.forbidden) <= set(row.expected):
            raise place.at("expected").wrong("must name everybody who asks, and forbidden nobody else")
    return rows


def _claims(file: Path, readers: list[str], known: Known) -> tuple[LabelledClaim, ...]:
    rows = _rows(file, "claim", LabelledClaim)
    for number, row in enumerate(rows, 1):
        place = Place(file, f"claim[{number}]")
        _one_of(row.kind, CLAIM_KINDS, place.at("kind"))
        _one_of(row.verdict, VERDICTS, place.at("verdict"))
        _one_of(row.reader, readers, place.at("reader"))
        known([row.source] if row.source else [], place.at("source"))
    return rows


def _rows(file: Path, key: str, cls) -> tuple:
    """The rows of a file that a world may do without."""
    if not file.is_file():
        return ()
    document = _toml(file)
    _alone(document, {key}, file)
    rows = _tables(document, key, cls, file)
    _distinct(rows, "id", file, key)
    return tuple(rows)
