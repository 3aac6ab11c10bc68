"""Wrong designs, each with the sentence that sounds reasonable in a review. Nothing imports this but notebooks and tests.

`entitlement` holds the designs that notebooks 00, 04 and 05 attack, `freshness` those of notebook 06. Each is built on a full `Index` and offers the same
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

__all__ = ["AppendOnly", "CountsReported", "CutThenFilter", "ExitFilter", "ForgottenHelper", "NewestBoost", "NoFilter", "OneLegFiltered", "OverFetch", "ParentFallback", "Pool", "QuestionKeyedCache", "TenantWideStatistics", "WrongDesign", "own_tenant"]
