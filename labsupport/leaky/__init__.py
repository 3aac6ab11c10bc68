"""Wrong designs, each with the sentence that sounds reasonable in a review. Nothing imports this but notebooks and tests.

`entitlement` holds the designs that notebooks 00, 04 and 05 attack; `chunking` those of 01, `embedding` and `words` those of 02,
`fusion` of 03, `freshness` of 06, `grounding` of 07, `assembly` of 08. Each offers the methods of the right design, most of them
built on a full `Index`, so that one line of a notebook swaps the wrong design for the right one.
"""

from labsupport.leaky.assembly import BlackList, NaiveTemplate, SharedPrefixCache, StampFirst, ToolsFromSet, TrimmedTools
from labsupport.leaky.chunking import BlankLines, FixedWindows, JoinedWindows, LineSections, counted_lines
from labsupport.leaky.embedding import UnsignedHashEmbedder
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
from labsupport.leaky.grounding import WholeStoreCheck, overlap_check
from labsupport.leaky.words import RewriteFirst, ascii_tokens, classic_idf, clean_sentence

__all__ = [
    "AppendOnly", "BlackList", "BlankLines", "CountsReported", "CutThenFilter", "ExitFilter", "FixedWindows",
    "ForgottenHelper", "FuseThenFilter", "JoinedWindows", "LineSections", "NaiveTemplate", "NewestBoost", "NoFilter",
    "NormaliseThenFilter", "OneLegFiltered", "OverFetch", "ParentFallback", "Pool", "QuestionKeyedCache", "RewriteFirst",
    "ScoresAdded", "SharedPrefixCache", "StampFirst", "TenantWideStatistics", "ToolsFromSet", "TrimmedTools",
    "UnsignedHashEmbedder", "WholeStoreCheck", "WrongDesign", "add_normalised", "add_scores", "ascii_tokens",
    "classic_idf", "clean_sentence", "counted_lines", "overlap_check", "own_tenant",
]
