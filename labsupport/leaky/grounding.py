"""Checks of an answer that count words, or that read more than the person who asked. Attacked in notebook 07."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from labsupport.grounding import Claim, GroundingReport, Verdict, check_grounding, is_content
from labsupport.leaky.entitlement import WrongDesign
from labsupport.model import Chunk, Hit, Principal
from labsupport.tokens import ranked_text, tokenize


class OverlapReport(GroundingReport):
    """The verdicts of `overlap_check`. An answer is grounded where nothing in it is unsupported: also where nothing was said."""

    @property
    def coverage(self) -> float:
        return len(self.supported) / len(self.verdicts) if self.verdicts else 1.0


def overlap_check(claims: Iterable[str], hits: Sequence[Hit], *, min_overlap: float = 0.6) -> OverlapReport:
    """Supports a claim where one page holds enough of its words, and cites that page. Notebook 07.

    In the review: "Most of the words are in the source, and we show the source."
    """
    verdicts = []
    for claim in claims:
        nearest = max((hit.chunk for hit in hits), key=partial(word_overlap, claim), default=None)
        overlap = word_overlap(claim, nearest) if nearest else 0.0
        if nearest and overlap >= min_overlap:
            verdicts.append(Verdict(Claim(claim), "supported", overlap, nearest.chunk_id, nearest.citation()))
        else:
            verdicts.append(Verdict(Claim(claim), "low-overlap", overlap))
    return OverlapReport(tuple(verdicts))


def word_overlap(claim: str, chunk: Chunk) -> float:
    """The share of the claim's content words that stand in the chunk; of no words, all."""
    content = {word for word in tokenize(claim) if is_content(word)}
    return len(content.intersection(tokenize(ranked_text(chunk)))) / len(content) if content else 1.0


class WholeStoreCheck(WrongDesign):
    """Holds a claim against every page of the tenant, whoever asks: its verdict answers a guess about a closed one. Notebook 07."""

    sentence = "The checker gets a service account: with the reader's pages alone it would call true claims unsupported."

    def check(self, claims: Iterable[str], principal: Principal, *, min_overlap: float = 0.6) -> GroundingReport:
        chunks = [chunk for shelf in self._open(principal).shelves for chunk in shelf.chunks]
        return check_grounding(claims, [Hit(chunk, 0.0) for chunk in chunks], min_overlap=min_overlap)
