"""Documents on their way in: what a delivery will change, decided whole before anything is stored. Notebook 06."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from labsupport.errors import RetrievalError
from labsupport.model import AccessLabel, Chunk
from labsupport.namespace import Namespace
from labsupport.versions import Decision, DocumentState, decide


@dataclass(frozen=True, slots=True)
class Offer:
    """One version of one document with its chunks cut, under the label that it is to carry.

    `digest` identifies the content, so that the same version with the same content is a no-op. `label_tick` is `None` where
    the door carries none.
    """

    chunks: tuple[Chunk, ...]
    doc_id: str
    version: int
    label: AccessLabel
    label_tick: int | None
    digest: str

    @classmethod
    def of(cls, doc_id: str, version: int, label: AccessLabel, label_tick: int | None, chunks: Sequence[Chunk],
           text: str | None = None) -> Offer:
        """An offer of a whole text, or, without one, of chunks that were cut elsewhere."""
        content = text if text is not None else sorted((chunk.chunk_id, chunk.heading_path, chunk.text) for chunk in chunks)
        return cls(tuple(chunks), doc_id, version, label, label_tick, hashlib.sha256(ascii(content).encode("ascii")).hexdigest())


@dataclass(frozen=True)
class Plan:
    """What leaves, what arrives, and what is known of each document after it; and the offers that were refused, with reasons."""

    leaving: list[Chunk]
    arriving: list[Chunk]
    documents: dict[str, DocumentState]
    refusals: list[RetrievalError] = field(default_factory=list)


def plan(namespace: Namespace, offers: Sequence[Offer]) -> Plan:
    """Decide each offer in turn, as if the ones before it were stored already; nothing is stored here."""
    unknown = DocumentState()
    states: dict[str, DocumentState] = {}
    arriving: dict[str, list[Chunk]] = {}
    claimed: dict[str, str] = {}
    refusals: list[RetrievalError] = []
    for offer in offers:
        state = states.get(offer.doc_id) or namespace.documents.get(offer.doc_id, unknown)
        try:
            decision = decide(offer.doc_id, state, version=offer.version, digest=offer.digest, label=offer.label,
                              label_tick=offer.label_tick)
            if decision is Decision.NOTHING:
                continue
            refuse_taken(namespace, offer.doc_id, offer.chunks, claimed)
        except RetrievalError as refusal:
            refusals.append(refusal)
            continue
        there = arriving[offer.doc_id] if offer.doc_id in arriving else namespace.chunks_of(offer.doc_id)
        relabelled = decision is Decision.RELABEL
        chunks = [replace(chunk, label=offer.label) for chunk in there] if relabelled else list(offer.chunks)
        for chunk in there:
            claimed[chunk.chunk_id] = ""
        for chunk in chunks:
            claimed[chunk.chunk_id] = offer.doc_id
        arriving[offer.doc_id] = chunks
        states[offer.doc_id] = DocumentState(
            highest=offer.version, floor=state.floor, digest=offer.digest, label=offer.label,
            label_tick=state.label_tick if offer.label_tick is None else offer.label_tick,
            chunk_labels={chunk.chunk_id: offer.label for chunk in chunks})
    leaving = [chunk for doc_id in arriving for chunk in namespace.chunks_of(doc_id)]
    return Plan(leaving, [chunk for chunks in arriving.values() for chunk in chunks], states, refusals)


def refuse_taken(namespace: Namespace, doc_id: str, chunks: Sequence[Chunk], claimed: Mapping[str, str]) -> None:
    """A chunk id names one chunk of one document of a tenant. `claimed` are ids that this delivery gave away ("": set free)."""
    seen: set[str] = set()
    for chunk in chunks:
        chunk_id = chunk.chunk_id
        if chunk_id in seen:
            raise RetrievalError(f"chunk id {chunk_id!r} stands more than once in one version of {doc_id!r}")
        if claimed.get(chunk_id, namespace.holder.get(chunk_id, "")) not in ("", doc_id):
            raise RetrievalError(f"chunk id {chunk_id!r} belongs to another document of {namespace.tenant!r} than {doc_id!r}")
        seen.add(chunk_id)
