"""Designs that check rights too late, in the wrong place, or not at all. Attacked in notebooks 00, 04, 05 and 12."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labsupport.entitlement import can_read
from labsupport.index import Index, Ranking
from labsupport.model import CLASSIFICATIONS, EVERYONE, AccessLabel, Hit, Principal
from labsupport.namespace import OpenShelves
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy, RetrievalResult


class WrongDesign(Index):
    """An index in front of another one's chunks that opens shelves by a rule of its own. It follows that index live."""

    sentence = ""
    """What its author says in the review."""

    def __init__(self, index: Index):
        self.index = index
        for setting in ("tenant", "embedder", "tokenizer", "k1", "b", "_vectors_of"):
            setattr(self, setting, getattr(index, setting))

    @property
    def _namespaces(self):
        return self.index._namespaces

    def snapshot(self) -> Index:
        return self

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        return AuthorizedRetriever(self).retrieve(query, principal, now_tick=now_tick, policy=policy)

    def _open(self, principal: Principal, limit: int | None = None) -> OpenShelves:
        """All shelves of the tenant, whoever asks."""
        super()._open(principal, limit)  # its checks of principal and limit
        shelves = self._namespace(principal.tenant).shelves
        return OpenShelves(tuple(shelves[label] for label in sorted(shelves, key=lambda label: label.sort_key)))


class NoFilter(WrongDesign):
    """Ranks the whole tenant and returns the best, whoever asks. Notebook 00."""

    sentence = "It is an internal tool, everybody who can reach it works here."


class CutThenFilter(WrongDesign):
    """Cuts each ranking to its best candidates, then drops what the reader may not see. Notebook 05.

    Readable chunks behind the cut starve, the length of the list counts hidden pages, ranks have gaps, and scores rest on
    the statistics of the whole tenant.
    """

    sentence = "We check every single result before it leaves the service."

    def lexical(self, query: str, *, principal: Principal, **options) -> Ranking:
        return self._dropped(super().lexical(query, principal=principal, **options), principal)

    def dense(self, query: str, *, principal: Principal, **options) -> Ranking:
        return self._dropped(super().dense(query, principal=principal, **options), principal)

    @staticmethod
    def _dropped(ranking: Ranking, principal: Principal) -> Ranking:
        readable = (hit for hit in ranking if can_read(principal, hit.chunk.label))
        return Ranking(readable, postings=ranking.postings, vectors=ranking.vectors)


class TenantWideStatistics(WrongDesign):
    """Returns readable chunks only, never starves, and weighs words by how rare they are in the whole tenant. Notebook 05."""

    sentence = "Nothing closed is ever returned, and global statistics make better rankings."

    def lexical(self, query: str, *, principal: Principal, limit: int | None = 10, **options) -> Ranking:
        ranking = super().lexical(query, principal=principal, limit=None, **options)
        readable = [hit for hit in ranking if can_read(principal, hit.chunk.label)][:limit]
        return Ranking((replace(hit, lexical_rank=rank) for rank, hit in enumerate(readable, 1)), postings=ranking.postings)

    def dense(self, query: str, *, principal: Principal, **options) -> Ranking:
        return self.index.dense(query, principal=principal, **options)


class OverFetch(WrongDesign):
    """Fetches more and more of the whole tenant until enough readable chunks are in hand. Notebooks 05 and 11.

    It does not starve. What it reads grows with what is hidden, and time is an observable.
    """

    sentence = "If the filter leaves too few, we fetch the next batch until we have five."

    def lexical(self, query: str, *, principal: Principal, limit: int | None = 10, **options) -> Ranking:
        return self._until_enough(super().lexical, query, principal, limit, options)

    def dense(self, query: str, *, principal: Principal, limit: int | None = 10, **options) -> Ranking:
        return self._until_enough(super().dense, query, principal, limit, options)

    @staticmethod
    def _until_enough(leg, query: str, principal: Principal, limit: int | None, options: dict) -> Ranking:
        fetched, postings, vectors = limit or 1, 0, 0
        while True:
            ranking = leg(query, principal=principal, limit=fetched, **options)
            postings, vectors = postings + ranking.postings, vectors + ranking.vectors
            readable = [hit for hit in ranking if can_read(principal, hit.chunk.label)]
            if len(ranking) < fetched or (limit is not None and len(readable) >= limit):
                return Ranking(readable[:limit], postings=postings, vectors=vectors)
            fetched *= 2


class ExitFilter(NoFilter):
    """One filter at the very end drops every chunk that the reader may not see. Notebook 12."""

    sentence = "Whatever goes wrong inside, the last gate catches it: defence in depth."

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        result = super().retrieve(query, principal, now_tick=now_tick, policy=policy)
        hits = tuple(hit for hit in result.hits if can_read(principal, hit.chunk.label))
        return replace(result, hits=hits, citations=tuple(hit.chunk.citation() for hit in hits))


class OneLegFiltered(ExitFilter):
    """Filters the vector leg before ranking, forgets the keyword leg, and drops what is closed at the exit. Notebook 05."""

    sentence = "The vector store filters, and whatever the keyword index adds is dropped at the end."

    def dense(self, query: str, *, principal: Principal, **options) -> Ranking:
        return self.index.dense(query, principal=principal, **options)


@dataclass(frozen=True)
class CountedResult(RetrievalResult):
    """A result that also tells the caller what was looked at."""

    considered: int = 0
    excluded_by_entitlement: int = 0


class CountsReported(CutThenFilter):
    """Tells the caller how many candidates were considered and how many they were not entitled to. Notebooks 05 and 12."""

    sentence = "Numbers are not content, and support needs them to explain an empty answer."

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        result = super().retrieve(query, principal, now_tick=now_tick, policy=policy)
        candidates = {hit.chunk_id: hit.chunk for leg in (NoFilter.lexical, NoFilter.dense)
                      for hit in leg(NoFilter(self.index), query, principal=principal, limit=policy.candidate_limit)}
        closed = sum(not can_read(principal, chunk.label) for chunk in candidates.values())
        return CountedResult(result.hits, result.degraded, result.excluded_by_freshness, result.citations, len(candidates), closed)


class Pool(WrongDesign):
    """One pool for all tenants, kept apart by checks that a refactor can move. Notebook 04.

    `tenant_check` and `label_check` say which of the two checks are in place. The second looks at clearance, barrier and
    groups, which a colleague takes for enough.
    """

    sentence = "The tenant id is on every row, and we filter by it."

    def __init__(self, index: Index, *, tenant_check: bool = False, label_check: bool = True):
        super().__init__(index)
        self.tenant_check = tenant_check
        self.label_check = label_check

    def _open(self, principal: Principal, limit: int | None = None) -> OpenShelves:
        super()._open(principal, limit)
        shelves = [shelf for namespace in self._namespaces.values() for shelf in namespace.shelves.values()
                   if (not self.tenant_check or shelf.label.tenant == principal.tenant)
                   and (not self.label_check or self._label_allows(principal, shelf.label))]
        return OpenShelves(tuple(sorted(shelves, key=lambda shelf: shelf.label.sort_key)))

    @staticmethod
    def _label_allows(principal: Principal, label: AccessLabel) -> bool:
        """`can_read` without its first line."""
        cleared = CLASSIFICATIONS.index(label.classification) <= CLASSIFICATIONS.index(principal.max_classification)
        inside = label.barrier is None or label.barrier in principal.barriers
        return cleared and inside and bool(label.acl & (principal.groups | {EVERYONE}))


class ParentFallback(Pool):
    """Filters the search, then fetches the section around each hit by id from the shared store. Notebook 04.

    Chunk ids repeat across tenants, and the fetch asks nobody.
    """

    sentence = "The search is filtered, and the ids that we fetch afterwards came out of it."

    def __init__(self, index: Index):
        super().__init__(index, tenant_check=True)

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        result = super().retrieve(query, principal, now_tick=now_tick, policy=policy)
        store = [shelf for namespace in self._namespaces.values() for shelf in namespace.shelves.values()]
        store.sort(key=lambda shelf: shelf.label.sort_key)
        found = tuple(replace(hit, chunk=OpenShelves(tuple(store)).find(hit.chunk_id)) for hit in result.hits)
        return replace(result, hits=found, citations=tuple(hit.chunk.citation() for hit in found))


def own_tenant(hits: Sequence[Hit], principal: Principal) -> list[Hit]:
    """The helper of `ForgottenHelper`: it is right, and its unit test is green."""
    return [hit for hit in hits if hit.chunk.tenant == principal.tenant]


class ForgottenHelper(Pool):
    """Search calls the helper that keeps tenants apart. The second endpoint, `get`, was written later. Notebook 04."""

    sentence = "We put the check in a helper and gave the helper a test."

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        result = super().retrieve(query, principal, now_tick=now_tick, policy=policy)
        hits = tuple(own_tenant(result.hits, principal))
        return replace(result, hits=hits, citations=tuple(hit.chunk.citation() for hit in hits))


class QuestionKeyedCache:
    """A cache before a perfectly authorized retriever, keyed by the question. Notebook 04."""

    sentence = "A cache is a performance matter; the index behind it checks every request."

    def __init__(self, index: Index):
        self.retriever = AuthorizedRetriever(index)
        self.kept: dict[str, RetrievalResult] = {}

    def retrieve(self, query: str, principal: Principal, *, now_tick: int = 0,
                 policy: RetrievalPolicy = RetrievalPolicy()) -> RetrievalResult:
        if query not in self.kept:
            self.kept[query] = self.retriever.retrieve(query, principal, now_tick=now_tick, policy=policy)
        return self.kept[query]
