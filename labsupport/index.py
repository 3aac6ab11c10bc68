"""The index in memory: namespaces of shelves, two rankings over what is open, and swaps that a reader sees whole."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from labsupport import bm25, dense, storage
from labsupport.chunking import chunk_document
from labsupport.delivery import Offer, plan, refuse_taken
from labsupport.embedding import Embedder, HashEmbedder, as_embedder, embed, hash_embed
from labsupport.errors import EmbeddingMismatch, RetrievalError
from labsupport.fusion import reciprocal_rank_fusion
from labsupport.guardrails import check_query
from labsupport.model import AccessLabel, Chunk, Document, Hit, Principal, whole_number
from labsupport.namespace import Namespace, OpenShelves
from labsupport.shelf import Batch
from labsupport.tokens import ranked_text, tokenize
from labsupport.versions import DocumentState, bury, refuse_stale


class Ranking(list):
    """A list of `Hit`, best first, that also says what was read to make it: postings and vectors, of open shelves alone."""

    def __init__(self, hits: Iterable[Hit] = (), *, postings: int = 0, vectors: int = 0):
        super().__init__(hits)
        self.postings = postings
        self.vectors = vectors


class Index:
    """Documents go in under a label; only a principal gets chunks out. Exact, in memory, all state of the lab is here.

    `tenant` is the default of `upsert`, `ingest`, `tombstone_doc` and `query`; `add` goes by the document's own. `k1` (from 0)
    saturates a word's count, `b` (0 to 1) weighs a chunk's length. Built in notebooks 04 to 06.
    """

    def __init__(self, *, tenant: str = "default", embedder: Embedder | Callable = hash_embed,
                 tokenizer: Callable[[str], list[str]] = tokenize, k1: float = 1.5, b: float = 0.75):
        if not isinstance(tenant, str) or not tenant.strip():
            raise ValueError(f"tenant must not be blank, got {tenant!r}")
        if isinstance(k1, bool) or not (isinstance(k1, (int, float)) and 0 <= k1 < math.inf):
            raise ValueError(f"k1 must be a finite number from 0, got {k1!r}")
        if isinstance(b, bool) or not (isinstance(b, (int, float)) and 0 <= b <= 1):
            raise ValueError(f"b must be between 0 and 1, got {b!r}")
        if not callable(tokenizer) or isinstance(tokenizer("a probe"), str):
            raise TypeError(f"tokenizer must map a text to a list of words (a string would give its letters), got {tokenizer!r}")
        self.tenant = tenant
        self.embedder = as_embedder(embedder)
        self.tokenizer = tokenizer
        self.k1, self.b = k1, b
        self._namespaces: dict[str, Namespace] = {}
        self._vectors_of = self._model()

    # ---- in: the operator's side -------------------------------------------------------------------------------------

    def add(self, document: Document) -> list[Chunk]:
        """Chunk, label, embed, then swap: before it the old version answers, after it this one. Returns the live chunks.

        The same version with the same text and label is a no-op. Raises `StaleVersion` for a version that comes too late,
        `RetrievalError` for one version with two texts or labels. Nothing is half-stored. Built in notebook 06.
        """
        if not isinstance(document, Document):
            raise TypeError(f"add needs a Document, got {document!r}")
        self.add_many([document])
        return self._namespaces[document.tenant].chunks_of(document.doc_id)

    def add_many(self, documents_or_chunks: Iterable[Document | Chunk]) -> None:
        """Add documents, or chunks that were cut elsewhere, in one swap for each tenant.

        Chunks of one document and version belong together: they are that version. An item that comes too late, or that
        contradicts what lives, is refused as `add` would refuse it; the others are stored, and then the first refusal is
        raised, so that the outcome does not depend on how a delivery was cut into batches.
        """
        offers: list[tuple[str, Offer]] = []
        loose: dict[tuple[str, str, int, AccessLabel], list[Chunk]] = {}
        for item in documents_or_chunks:
            if isinstance(item, Document):
                offers.append((item.tenant, Offer.of(item.doc_id, item.version, item.label, None, chunk_document(item), item.text)))
            elif isinstance(item, Chunk):
                loose.setdefault((item.tenant, item.doc_id, item.version, item.label), []).append(item)
            else:
                raise TypeError(f"add_many needs documents or chunks, got {item!r}")
        for (tenant, doc_id, version, label), chunks in loose.items():
            offers.append((tenant, Offer.of(doc_id, version, label, None, chunks)))
        by_tenant: dict[str, list[Offer]] = {}
        for tenant, offer in offers:
            by_tenant.setdefault(tenant, []).append(offer)
        self._deliver(by_tenant)

    def ingest(self, doc_id: str, version: int, text: str, acl: Collection[str]) -> list[Chunk]:
        """The handbook's short form of `add`: a document of the index's own tenant, internal, without a barrier."""
        return self.add(Document(doc_id, self.tenant, doc_id, text, acl=acl, version=version))

    def store(self, document: Document, *, label_tick: int) -> list[Chunk]:
        """`add` for an ingestion job, whose label has a tick of its own: a higher one moves the document to another shelf at
        once, an equal one is a no-op, a lower one is refused (`StaleLabel`). Built in notebook 06."""
        offer = Offer.of(document.doc_id, document.version, document.label, label_tick, chunk_document(document), document.text)
        self._deliver({document.tenant: [offer]})
        return self._namespaces[document.tenant].chunks_of(document.doc_id)

    def upsert(self, *, chunk_id: str, doc_id: str, text: str, acl: Collection[str], version: int, tenant: str | None = None,
               classification: str = "internal", barrier: str | None = None, updated_tick: int = 0) -> Chunk:
        """The low door: one chunk under an id that you choose. It replaces that id alone; siblings of an older version stay
        until `tombstone_doc`, which notebook 06 shows.

        Raises `StaleVersion` below the document's highest version or its floor, `RetrievalError` for one version with two
        texts or labels, or an id that another document of the tenant holds.
        """
        label = AccessLabel(self.tenant if tenant is None else tenant, classification, barrier, acl)
        if not isinstance(text, str):
            raise TypeError(f"text of {chunk_id!r} must be text, got {text!r}")
        chunk = Chunk(chunk_id, doc_id, version, text, (), 0, len(text), label, updated_tick)
        if not text.strip():
            raise ValueError(f"text of {chunk_id!r} must not be blank, got {text!r}")
        namespace = self._namespace(label.tenant)
        state = namespace.documents.get(doc_id, DocumentState())
        refuse_stale(doc_id, state, version)
        refuse_taken(namespace, doc_id, [chunk], {})
        removed = []
        if chunk_id in state.chunk_labels:
            old = namespace.chunk(state.chunk_labels[chunk_id], chunk_id)
            if version == old.version:
                if text != old.text:
                    raise RetrievalError(f"version {version} of {chunk_id!r} lives with another text: raise the version")
                if label != old.label:
                    raise RetrievalError(f"version {version} of {chunk_id!r} lives with another label: raise the version")
                return old
            removed = [old]
        state = replace(state, highest=version, digest=None, label=None, chunk_labels={**state.chunk_labels, chunk_id: label})
        self._publish({label.tenant: namespace.changed(removed=removed, batch=self._batch([chunk]), documents={doc_id: state})})
        return chunk

    def tombstone_doc(self, doc_id: str, *, below_version: int | None = None, tenant: str | None = None) -> None:
        """Kill what lives of a document below a version (`None`: all of it, and set the floor above the highest seen).

        A tombstone keeps the floor and never the text. A document that was never stored gets its floor all the same: a
        job that comes late may not bring it to life. Built in notebook 06.
        """
        if not isinstance(doc_id, str) or not doc_id.strip():
            raise ValueError(f"doc_id must be non-blank text, got {doc_id!r}")
        whole = isinstance(below_version, int) and not isinstance(below_version, bool)
        if below_version is not None and not (whole and below_version >= 1):
            raise ValueError(f"below_version must be a whole number from 1, or None for all, got {below_version!r}")
        namespace = self._namespace(self.tenant if tenant is None else tenant)
        state = bury(namespace.documents.get(doc_id, DocumentState()), below_version)
        dead = [chunk for chunk in namespace.chunks_of(doc_id) if chunk.version < state.floor]
        if state.highest < state.floor:  # nothing that was ever offered may live: keep the floor and forget the rest
            state = DocumentState(floor=state.floor)
        else:
            gone = {chunk.chunk_id for chunk in dead}
            state = replace(state, chunk_labels={i: label for i, label in state.chunk_labels.items() if i not in gone})
        self._publish({namespace.tenant: namespace.changed(removed=dead, batch=None, documents={doc_id: state})})

    def rebuild(self, embedder: Embedder | Callable) -> None:
        """Embed every chunk again with another model, then swap all of it at one instant. Built in notebook 02."""
        fresh = copy.copy(self)
        fresh.embedder = as_embedder(embedder)
        fresh._vectors_of = fresh._model()
        fresh._namespaces = {}
        for tenant, namespace in self._namespaces.items():
            chunks = [chunk for shelf in namespace.shelves.values() for chunk in shelf.chunks]
            rebuilt = Namespace(tenant, fresh.embedder.dimensions).changed(
                removed=(), batch=fresh._batch(chunks), documents=namespace.documents)
            fresh._namespaces[tenant] = replace(
                rebuilt, generations={label: number + 1 for label, number in namespace.generations.items()})
        self.__dict__.update(fresh.__dict__)

    def namespaces(self) -> list[str]:
        """The operator's: the tenants that hold documents, in alphabetical order."""
        return sorted(tenant for tenant, namespace in self._namespaces.items() if namespace.holder)

    def closed_to(self, principal: Principal) -> int:
        """The operator's: how many chunks of the principal's tenant lie on shelves that are closed to them."""
        namespace = self._namespace(_principal(principal).tenant)
        return len(namespace.holder) - namespace.open(principal).size

    # ---- out: never without a principal ------------------------------------------------------------------------------

    def lexical(self, query: str, *, principal: Principal, limit: int | None = 10, stale_before: int | None = None) -> Ranking:
        """BM25 over the open shelves, best first; empty for a query without tokens. `Hit.lexical_rank` counts from 1.

        `stale_before` leaves out chunks updated before that tick: they leave the list before ranking, not the statistics.
        `limit=None` ranks all. Raises `ValueError` for a limit below 1. Built in notebooks 02 and 05.
        """
        shelves = self._open(principal, limit)
        rows, scores, read = bm25.scores(shelves, self.tokenizer(query), k1=self.k1, b=self.b)
        rows, scores = _only(shelves.fresh(stale_before), rows, scores)
        best = shelves.best(rows, scores, limit)
        hits = (Hit(chunk, score, lexical_rank=rank) for rank, (chunk, score) in enumerate(best, 1))
        return Ranking(hits, postings=read)

    def dense(self, query: str, *, principal: Principal, limit: int | None = 10, stale_before: int | None = None,
              collisions: bool = True) -> Ranking:
        """Cosine over the open shelves, best first, only above 0. `Hit.dense_rank` counts from 1.

        With an embedder that knows no meaning, a chunk that shares no word with the question is a collision: it stands in
        this raw list, because notebook 02 teaches it, and `collisions=False` leaves it out before ranks and cuts. Empty for a
        query without tokens, whatever the embedder makes of it.
        Raises `EmbeddingMismatch` where the embedder is not the one that made the vectors.
        """
        index = self.snapshot()  # a rebuild between two of these lines would put one model's question beside another's vectors
        shelves = index._open(principal, limit)
        index._refuse_mixed()
        words = index.tokenizer(query)
        if not words:
            return Ranking()  # nothing was asked: a model would still find something near it
        vector = embed(index.embedder, [query])[0]
        among, read = None, 0
        if not collisions and not index.embedder.knows_meaning:
            among, _, read = bm25.scores(shelves, words, k1=index.k1, b=index.b)
        fresh = shelves.fresh(stale_before)
        if fresh is not None:
            among = np.flatnonzero(fresh) if among is None else among[fresh[among]]
        rows, scores, vectors = dense.scores(shelves, vector, among=among, limit=limit)
        best = shelves.best(rows, scores, limit)
        hits = (Hit(chunk, score, dense_rank=rank) for rank, (chunk, score) in enumerate(best, 1))
        return Ranking(hits, postings=read, vectors=vectors)

    def query(self, text: str, *, groups: Collection[str], k: int = 5) -> list[dict]:
        """The handbook's short form for a one-tenant index: both rankings without a cut-off, fused, as dictionaries.

        Asks as `Principal("session", index.tenant, groups=groups)`; `groups` is keyword-only, so that a list of names is
        never taken for something else. Notebook 06 shows it once; `AuthorizedRetriever.retrieve` is the way in.
        """
        check_query(text)
        whole_number("k", k)
        principal = Principal("session", self.tenant, groups=groups)
        instant = self.snapshot()  # both rankings read one instant: never an old version on one and a new one on the other
        lexical = instant.lexical(text, principal=principal, limit=None)
        cosines = instant.dense(text, principal=principal, limit=None, collisions=False)
        near = {hit.chunk_id for hit in cosines}
        far = sorted((hit for hit in lexical if hit.chunk_id not in near), key=lambda hit: hit.chunk_id)
        fused = reciprocal_rank_fusion([lexical, [*cosines, *far]], limit=k)
        return [{"chunk_id": hit.chunk_id, "doc_id": hit.chunk.doc_id, "text": hit.chunk.text, "score": hit.score,
                 "version": hit.chunk.version, "citation": hit.chunk.citation()} for hit in fused]

    def get(self, chunk_id: str, *, principal: Principal) -> Chunk | None:
        """The chunk, or `None`: unreadable and absent look the same. Built in notebook 04."""
        return self._open(principal).find(chunk_id)

    def siblings(self, chunk: Chunk, *, principal: Principal) -> list[Chunk]:
        """Readable windows of the section that a chunk is cut from, itself among them, in the order of the text. Notebook 08."""
        section = _section(chunk)
        found = [other for shelf in self._open(principal).shelves
                 for other in (shelf.chunks[row] for row in shelf.rows_of_document.get(chunk.doc_id, ()))
                 if other.version == chunk.version and _section(other) == section]
        return sorted(found, key=lambda other: (other.start_char, other.end_char, other.chunk_id))

    def stale(self, *, principal: Principal, stale_before: int) -> int:
        """How many readable live chunks were updated before that tick, whatever anybody asks."""
        return int(np.count_nonzero(~self._open(principal).fresh(stale_before)))

    def open_labels(self, principal: Principal) -> tuple[tuple[AccessLabel, int], ...]:
        """The labels that this principal may read, each with the generation of its shelf: what a cache must key by.

        A generation moves when that shelf changes, and never because another did.
        """
        namespace = self._namespace(_principal(principal).tenant)
        return tuple((label, namespace.generations[label]) for label in namespace.open_labels(principal))

    def snapshot(self) -> Index:
        """This index as it is at this instant. What happens to the index later does not reach it."""
        return copy.copy(self)  # settings, model and map at one instant; the map is never changed, only replaced

    # ---- save and load -----------------------------------------------------------------------------------------------

    def save(self, path) -> None:
        """Write all of it to one file, whole or not at all. Tombstones keep floors and no text. Built in notebook 06."""
        saved = storage.Saved(self.tenant, self.k1, self.b, self._namespaces)
        storage.save(path, saved, model=self._vectors_of, tokenizer=self.tokenizer)

    @classmethod
    def load(cls, path, *, embedder: Embedder | Callable = hash_embed, tokenizer: Callable[[str], list[str]] = tokenize) -> Index:
        """Read what `save` wrote. Raises `SavedIndexError` for a damaged file, `EmbeddingMismatch` for another model."""
        saved = storage.load(path, embedder=as_embedder(embedder), tokenizer=tokenizer)
        index = cls(tenant=saved.tenant, embedder=embedder, tokenizer=tokenizer, k1=saved.k1, b=saved.b)
        index._publish(saved.namespaces)
        return index

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _namespace(self, tenant: str) -> Namespace:
        """The tenant's partition; one that has no documents reads as empty (an error would tell which tenants exist)."""
        if not isinstance(tenant, str) or not tenant.strip():
            raise ValueError(f"tenant must not be blank, got {tenant!r}")
        return self._namespaces.get(tenant) or Namespace(tenant, self.embedder.dimensions)

    def _open(self, principal: Principal, limit: int | None = None) -> OpenShelves:
        if limit is not None:
            whole_number("limit", limit)
        return self._namespace(_principal(principal).tenant).open(principal)

    def _model(self) -> tuple[str, int]:
        return self.embedder.name, self.embedder.dimensions

    def _refuse_mixed(self) -> None:
        if self._model() != self._vectors_of:
            raise EmbeddingMismatch(f"the vectors here were made by {self._vectors_of}, the embedder is {self._model()}: "
                                    "rebuild(embedder) embeds all of it again")

    def _batch(self, chunks: Sequence[Chunk], known: Mapping[tuple[str, str], np.ndarray] = MappingProxyType({})) -> Batch:
        """Chunks with their words and vectors: everything that can fail happens here, before anything is stored.

        A text whose vector is `known` is not embedded again: an edit re-embeds nothing but the chunks that it changed. Labels
        are embedded apart: with a model whose last bits depend on a text's neighbours, no closed page moves an open score.
        """
        self._refuse_mixed()
        texts = [ranked_text(chunk) for chunk in chunks]

        def vectors(vocabulary: Sequence[str], words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            if isinstance(self.embedder, HashEmbedder) and self.tokenizer is tokenize:  # do not cut the words twice
                return self.embedder.of_words(vocabulary, words, lengths)
            rows = np.zeros((len(texts), self.embedder.dimensions), np.float32)
            fresh: dict[AccessLabel, list[int]] = {}
            for number, (chunk, text) in enumerate(zip(chunks, texts)):
                if (chunk.doc_id, text) in known:
                    rows[number] = known[chunk.doc_id, text]
                else:
                    fresh.setdefault(chunk.label, []).append(number)
            for numbers in fresh.values():
                rows[numbers] = embed(self.embedder, [texts[number] for number in numbers])
            return rows

        return Batch.of(chunks, map(self.tokenizer, texts), vectors)

    def _deliver(self, offers: Mapping[str, Sequence[Offer]]) -> None:
        """Store what may be stored, of all tenants at one instant, then raise the first refusal."""
        refusals: list[RetrievalError] = []
        self._publish({tenant: self._swapped(tenant, batch, refusals) for tenant, batch in offers.items()})
        if refusals:
            raise refusals[0]

    def _swapped(self, tenant: str, offers: Sequence[Offer], refusals: list[RetrievalError]) -> Namespace:
        """The namespace after these offers, all at one instant. Offers that are refused add to `refusals`."""
        namespace = self._namespace(tenant)
        planned = plan(namespace, offers)
        refusals += planned.refusals
        known = {(chunk.doc_id, ranked_text(chunk)): namespace.vector(chunk) for chunk in planned.leaving}
        return namespace.changed(removed=planned.leaving, batch=self._batch(planned.arriving, known), documents=planned.documents)

    def _publish(self, namespaces: dict[str, Namespace]) -> None:
        """The one switch: a reader holds the map before it or the map after it."""
        self._namespaces = {**self._namespaces, **namespaces}


def _principal(principal: object) -> Principal:
    if not isinstance(principal, Principal):
        raise TypeError(f"a search needs a Principal, who asks; got {principal!r}")
    return principal


def _section(chunk: Chunk) -> tuple[str, tuple[str, ...]]:
    """A chunk's id without the number of its window, and its headings: what the windows of one section share."""
    return re.sub(r"\+\d+$", "", chunk.chunk_id), chunk.heading_path


def _only(mask: np.ndarray | None, rows: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (rows, scores) if mask is None else (rows[mask[rows]], scores[mask[rows]])
