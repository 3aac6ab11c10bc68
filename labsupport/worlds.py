"""The worlds that the notebooks ask their questions in: a folder of pages and a manifest becomes an index that is full.

`data/` is found from this file, not from the working folder. Every call builds its own index: nothing that one
notebook does to a world can be seen by another.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, overload

from labsupport.chunking import chunk_document
from labsupport.errors import FetchForbidden, OutOfScope, WorldError
from labsupport.index import Index
from labsupport.ingestion import CorpusScope, IngestJob, ingest
from labsupport.manifest import read_manifest
from labsupport.manifest_parts import Job, LabelledClaim, Manifest, Person, Question, Trap, split_reference
from labsupport.model import Chunk, Document, Principal
from labsupport.retriever import AuthorizedRetriever

DATA = Path(__file__).resolve().parents[1] / "data"


@dataclass(frozen=True)
class World:
    """A loaded world. `principals` by short key; `documents` are the live ones, `history` every version in the order loaded.

    `jobs` by name, those included that a notebook runs itself; `kept_out` names the jobs that the scope refused.
    """

    name: str
    title: str
    notice: str
    tenant: str
    index: Index
    retriever: AuthorizedRetriever
    principals: Mapping[str, Principal]
    people: Mapping[str, Person]
    documents: tuple[Document, ...]
    history: tuple[Document, ...]
    questions: tuple[Question, ...]
    claims: tuple[LabelledClaim, ...]
    traps: tuple[Trap, ...]
    scope: CorpusScope
    jobs: Mapping[str, IngestJob]
    kept_out: tuple[str, ...]
    matrix: tuple[str, ...]
    folder: Path
    sources: Mapping[str, Job]

    def fetch(self, source: str, *, uploader: str) -> str:
        """The text of a source as its uploader sees it. `FetchForbidden` where the uploader may not read it (a 403)."""
        return _fetch(self.folder, self.sources, source, uploader)

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Every chunk of every version that was loaded, closed and superseded ones included: the author's look, not a reader's."""
        return tuple(chunk for document in self.history for chunk in chunk_document(document))

    def find(self, reference: str) -> tuple[Chunk, ...]:
        """Those of `chunks` that a reference such as `fees#Tariff` names."""
        return tuple(chunk for chunk in self.chunks if self.matches(reference, chunk))

    def matches(self, reference: str, chunk: Chunk) -> bool:
        """Does a reference such as `fees#Tariff` name this chunk? See `data/README.md`."""
        return matches(reference, chunk, tenant=self.tenant)


@dataclass(frozen=True)
class Twins:
    """Two worlds, the same but for pages that the principals in `same_for` may not read. Played with in notebook 05."""

    a: World
    b: World
    same_for: tuple[str, ...]
    questions: tuple[str, ...]

    @property
    def principals(self) -> Mapping[str, Principal]:
        return self.b.principals


def matches(reference: str, chunk: Chunk, *, tenant: str) -> bool:
    """Does `[tenant/]doc_id[@vN][#Heading]` name this chunk? Without a tenant it means the world's own."""
    wanted, doc_id, version, heading = split_reference(reference, tenant)
    return (
        (chunk.tenant, chunk.doc_id) == (wanted, doc_id)
        and version in (None, chunk.version)
        and (heading is None or chunk.section == heading)
    )


def world_names() -> list[str]:
    """The names that `load_world` knows: every folder of `data/` with a `world.toml`."""
    return sorted(file.parent.name for file in DATA.glob("*/world.toml"))


@overload
def load_world(name: Literal["twins"], *, scope: str | None = None, without: Iterable[str] = ()) -> Twins: ...
@overload
def load_world(name: str, *, scope: str | None = None, without: Iterable[str] = ()) -> World: ...
def load_world(name, *, scope=None, without=()):
    """A world from `data/`, with its index filled by its ingestion jobs under a corpus scope.

    `scope` is a name from the manifest (its default scope where None); `without` names pages to leave out, for a pair of
    worlds. `load_world("twins")` is such a pair. Raises `WorldError`: an unknown name (the known ones are listed), or a manifest
    that is wrong (file and field are named). Met in notebook 00.
    """
    if not isinstance(name, str) or name not in world_names():
        raise WorldError(f"no world {name!r} in {DATA.name}/; the worlds are {', '.join(world_names()) or 'none'}")
    if name == "twins":
        return _twins(DATA / name / "world.toml", scope)
    return build_world(read_manifest(DATA / name), scope=scope, without=without)


def build_world(manifest: Manifest, *, scope: str | None = None, without: Iterable[str] = ()) -> World:
    """Run a manifest's jobs into an index of its own, in the order written, as the uploaders."""
    chosen = manifest.scope if scope is None else scope
    if chosen not in manifest.scopes:
        raise WorldError(f"{manifest.name}/world.toml: scope {chosen!r} is not there; the scopes are {', '.join(manifest.scopes)}")
    if isinstance(without, str):
        raise TypeError(f"without must be a collection of pages such as ({without!r},), got {without!r}")
    left_out = {_page(reference, manifest) for reference in without}
    rules = manifest.scopes[chosen]
    every_id = [job.doc_id for job in manifest.jobs]
    corpus = CorpusScope(
        owner=rules.owner, included=every_id if rules.included == ("*",) else rules.included, excluded=rules.excluded
    )
    index = Index(tenant=manifest.tenant)
    live: dict[tuple[str, str], Document] = {}
    history: list[Document] = []
    kept_out: list[str] = []
    sources = {job.source: job for job in manifest.jobs}

    def fetch(source: str, *, uploader: str) -> str:
        return _fetch(manifest.folder, sources, source, uploader)

    for job in manifest.jobs:
        if not job.load or (job.tenant, job.doc_id) in left_out:
            continue
        try:
            ingest(index, _ingest_job(job), fetch=fetch, scope=corpus)
        except OutOfScope:
            kept_out.append(job.name)
            continue
        except ValueError as error:
            raise WorldError(f"{manifest.name}/world.toml: job {job.name!r} fails: {error}") from error
        document = _document(job, fetch(job.source, uploader=job.uploader), manifest)
        history.append(document)
        live[job.tenant, job.doc_id] = document
    return World(
        name=manifest.name, title=manifest.title, notice=manifest.notice, tenant=manifest.tenant,
        index=index, retriever=AuthorizedRetriever(index),
        principals={one.key: _principal(one) for one in manifest.people}, people={one.key: one for one in manifest.people},
        documents=tuple(live.values()), history=tuple(history),
        questions=manifest.questions, claims=manifest.claims, traps=manifest.traps,
        scope=corpus, jobs={job.name: _ingest_job(job) for job in manifest.jobs}, kept_out=tuple(kept_out),
        matrix=manifest.matrix, folder=manifest.folder, sources=sources,
    )


def _twins(file: Path, scope: str | None) -> Twins:
    """`twins/world.toml` names a world and the pages that world A is built without; B has them."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorldError(f"twins/world.toml: cannot be read as TOML: {error}") from None
    wanted = {"title": str, "notice": str, "of": str, "without": list, "same_for": list, "questions": list}
    for key in table:
        if key not in wanted:
            raise WorldError(f"twins/world.toml: {key} is not a field here; fields are {', '.join(wanted)}")
    for key, kind in wanted.items():
        value = table.get(key)
        if not isinstance(value, kind) or not value or not all(isinstance(one, str) for one in value):
            raise WorldError(f"twins/world.toml: {key} must be {'text' if kind is str else 'a list of texts'}, got {value!r}")
    if table["of"] == "twins" or table["of"] not in world_names():
        raise WorldError(f"twins/world.toml: of names {table['of']!r}, which is no world with pages")
    manifest = read_manifest(DATA / table["of"])
    for key in table["same_for"]:
        if key not in {person.key for person in manifest.people}:
            raise WorldError(f"twins/world.toml: same_for names {key!r}, and {table['of']} has no such principal")
    a = build_world(replace(manifest, name="twins A"), scope=scope, without=table["without"])
    b = build_world(replace(manifest, name="twins B"), scope=scope)
    return Twins(a, b, tuple(table["same_for"]), tuple(table["questions"]))


def _fetch(folder: Path, sources: Mapping[str, Job], source: str, uploader: str) -> str:
    """A source as its uploader sees it: one that is not there and one that is closed look the same."""
    job = sources.get(source)
    if job is None or (job.source_readers is not None and uploader not in job.source_readers):
        raise FetchForbidden(f"source {source!r} cannot be read by {uploader!r}")
    return (folder / source).read_text(encoding="utf-8")


def _page(reference: str, manifest: Manifest) -> tuple[str, str]:
    tenant, doc_id, _, _ = split_reference(reference, manifest.tenant)
    if (tenant, doc_id) not in {(job.tenant, job.doc_id) for job in manifest.jobs}:
        raise WorldError(f"{manifest.name}: without names {reference!r}, and no job makes such a page")
    return tenant, doc_id


def _principal(person: Person) -> Principal:
    return Principal(person.user_id, person.tenant, person.max_classification, person.barriers, person.groups)


def _ingest_job(job: Job) -> IngestJob:
    return IngestJob(
        doc_id=job.doc_id, version=job.version, source=job.source, acl=job.acl, tenant=job.tenant,
        classification=job.classification, barrier=job.barrier, uploader=job.uploader,
        label_tick=job.label_tick, updated_tick=job.updated_tick,
    )


def _document(job: Job, text: str, manifest: Manifest) -> Document:
    """The page as a document: title from its first line, label from the job, never from the text."""
    first = text.split("\n", 1)[0]
    if not first.startswith("# "):
        raise WorldError(f"{manifest.name}/{job.source}: the first line must be '# Title', got {first!r}")
    return Document(
        doc_id=job.doc_id, tenant=job.tenant, title=first[2:].strip(), text=text, classification=job.classification,
        barrier=job.barrier, acl=job.acl, version=job.version, updated_tick=job.updated_tick,
    )
