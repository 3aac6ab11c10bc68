"""Ingestion jobs: the operator's background work that labels a document, and the gate it passes before it is stored.

Fetch, parse, chunk, label, embed, swap. Never work on the question's path. Its errors are the operator's: nothing of them
reaches a principal who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from labsupport.errors import FetchForbidden, OutOfScope
from labsupport.guardrails import is_blank
from labsupport.index import Index
from labsupport.model import Chunk, Document, whole_number


@dataclass(frozen=True)
class CorpusScope:
    """Which documents may enter the store at all: an owner who answers for it, an in-list and an out-list. Out wins.

    A document on neither list stays out. Met in notebook 06.
    """

    owner: str
    included: frozenset[str]
    excluded: frozenset[str] = frozenset()

    def __post_init__(self):
        if not isinstance(self.owner, str) or not self.owner.strip():
            raise ValueError(f"owner must name who answers for the scope, got {self.owner!r}")
        for name in ("included", "excluded"):
            value = getattr(self, name)
            if isinstance(value, (str, bytes)) or not isinstance(value, Collection):
                raise TypeError(f"{name} must be a collection of document ids, got {value!r}")
            object.__setattr__(self, name, frozenset(value))

    def check(self, doc_id: str) -> None:
        """Raise `OutOfScope` for a document on the out-list or on neither list."""
        if doc_id in self.excluded:
            raise OutOfScope(f"{doc_id!r} is on the out-list of the scope of {self.owner!r}; it is not stored, whatever its label")
        if doc_id not in self.included:
            raise OutOfScope(f"{doc_id!r} is not on the in-list of the scope of {self.owner!r}; ask the owner first")


@dataclass(frozen=True)
class IngestJob:
    """One document, one version, and the label that the job gives it. The text's own claims about access are just text.

    `label_tick` counts the label's changes apart from the text's. Raises `ValueError` or `TypeError` at construction for
    what no document may have: no tenant, an empty `acl`, version 0 or "2". Built in notebook 06.
    """

    doc_id: str
    version: int
    source: str
    acl: Iterable[str]
    tenant: str = "default"
    classification: str = "internal"
    barrier: str | None = None
    uploader: str = "operator"
    label_tick: int = 0
    updated_tick: int = 0

    def __post_init__(self):
        for name in ("source", "uploader"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} must be non-blank text, got {value!r}")
        whole_number("label_tick", self.label_tick, least=0)
        object.__setattr__(self, "acl", self.document("").acl)

    def document(self, text: str) -> Document:
        """The document that this job makes of a fetched text. The label is the job's alone."""
        return Document(self.doc_id, self.tenant, self.doc_id, text, classification=self.classification, barrier=self.barrier,
                        acl=self.acl, version=self.version, updated_tick=self.updated_tick)


def ingest(engine: Index, job: IngestJob, *, fetch: Callable[..., str], scope: CorpusScope) -> list[Chunk]:
    """Run one job: scope, fetch as the uploader, chunk, label, embed, swap. Returns the live chunks of the document.

    `fetch(source, *, uploader) -> str` reads the source with the uploader's rights. Raises `OutOfScope` before the fetch;
    `FetchForbidden` where the uploader may not read the source, or where it answers with nothing (an empty body is no
    page); `StaleVersion`, `StaleLabel`. Nothing is stored then. Running a job again is harmless. Built in notebook 06.
    """
    if not isinstance(scope, CorpusScope):
        raise TypeError(f"ingest needs a CorpusScope, what may enter the store at all; got {scope!r}")
    scope.check(job.doc_id)
    try:
        text = fetch(job.source, uploader=job.uploader)
    except Exception as refusal:
        if not _forbids(refusal):
            raise
        raise FetchForbidden(f"{job.uploader!r} may not read {job.source!r}; nothing of {job.doc_id!r} was stored") from refusal
    if not isinstance(text, str):
        raise TypeError(f"fetch of {job.source!r} must return text, got {type(text).__name__}")
    if is_blank(text):  # a byte-order mark alone is no page: it would take the live one's place and answer nothing
        raise FetchForbidden(f"{job.source!r} answered {job.uploader!r} with an empty body; nothing of {job.doc_id!r} was stored")
    return engine.store(job.document(text), label_tick=job.label_tick)


def _forbids(error: Exception) -> bool:
    """Does this error say that the uploader may not read the source? A `PermissionError`, or a web client's 401 or 403."""
    status = getattr(error, "code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return isinstance(error, PermissionError) or status in (401, 403)
