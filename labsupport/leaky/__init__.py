"""Wrong designs, each with the sentence that sounds reasonable in a review. Nothing imports this but notebooks and tests.

`entitlement` holds the designs that notebooks 00, 04 and 05 attack, `fusion` those of notebook 03, `freshness` those of notebook 06. Each is built on a full `Index` and offers the same
methods, so that one line of a notebook swaps the wrong design for the right one.
"""

from labsupport.leaky.entitlement import (
    CountsReported,
    CutThenFilter,
    ExitFilter,
    ForgottenHelper,
    NoFilter,
    OneLegFiltered,
    OverFetch,
    ParentFallback,
    Pool,
    QuestionKeyedCache,
    TenantWideStatistics,
    WrongDesign,
    own_tenant,
)
from labsupport.leaky.freshness import AppendOnly, NewestBoost
from labsupport.leaky.fusion import FuseThenFilter, NormaliseThenFilter, ScoresAdded, add_normalised, add_scores

__all__ = ["AppendOnly", "CountsReported", "CutThenFilter", "ExitFilter", "ForgottenHelper", "FuseThenFilter", "NewestBoost", "NoFilter", "NormaliseThenFilter", "OneLegFiltered", "OverFetch", "ParentFallback", "Pool", "QuestionKeyedCache", "ScoresAdded", "TenantWideStatistics", "WrongDesign", "add_normalised", "add_scores", "own_tenant"]
