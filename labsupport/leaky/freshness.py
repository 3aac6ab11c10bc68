"""Designs that let old versions live: every version is kept, and at best the newest is pushed up. Attacked in notebook 06."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from labsupport.index import Index
from labsupport.model import Chunk, Document, Principal
from labsupport.namespace import Namespace
from labsupport.reranking import Reranker, lexical_overlap_reranker
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy, RetrievalResult
from labsupport.versions import DocumentState


class AppendOnly(Index):
    """Stores each version beside the others and deletes nothing. Entitlement is right; both versions answer. Notebook 06.

    Chunk ids carry the version here (`leave#Form@v1`), because ids that are the same across versions would overwrite.
    """

    sentence = "We never delete: storage is cheap, and the newer page will win on relevance."

    @classmethod
    def of(cls, documents: Iterable[Document], **options) -> AppendOnly:
        """The index after these versions arrived in this order. It belongs to the tenant of the first one."""
        documents = list(documents)
        index = cls(tenant=documents[0].tenant, **options)
        index.add_many(documents)
        return index

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        return AuthorizedRetriever(self).retrieve(query, principal, now_tick=now_tick, policy=policy)

    def _swapped(self, tenant: str, offers: Sequence, refusals: list) -> Namespace:
        """What arrives is stored, whatever its version; what was there stays. A version that is there already is not doubled."""
        namespace = self._namespace(tenant)
        states = dict(namespace.documents)
        arriving: list[Chunk] = []
        for offer in offers:
            state = states.get(offer.doc_id, DocumentState())
            chunks = [replace(chunk, chunk_id=f"{chunk.chunk_id}@v{chunk.version}") for chunk in offer.chunks]
            chunks = [chunk for chunk in chunks if chunk.chunk_id not in state.chunk_labels]
            arriving += chunks
            states[offer.doc_id] = replace(state, highest=max(state.highest, offer.version), chunk_labels={
                **state.chunk_labels, **{chunk.chunk_id: chunk.label for chunk in chunks}})
        return namespace.changed(removed=(), batch=self._batch(arriving), documents=states)


class NewestBoost(AppendOnly):
    """Keeps every version and multiplies the second look's score of a document's newest one. Notebook 06.

    A rule that the newest version dropped stands in an old one alone: there is nothing to push above it.
    """

    sentence = "Old versions may stay, we rank the newest first."

    def __init__(self, *, factor: float = 2, **options):
        super().__init__(**options)
        self.factor = factor

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        return AuthorizedRetriever(self, reranker=self._boosted()).retrieve(query, principal, now_tick=now_tick, policy=policy)

    def _boosted(self) -> Reranker:
        def score(query: str, chunk: Chunk) -> float:
            newest = self._namespace(chunk.tenant).documents[chunk.doc_id].highest
            return lexical_overlap_reranker(query, chunk) * (self.factor if chunk.version == newest else 1)

        return score
