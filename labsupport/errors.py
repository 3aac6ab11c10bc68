"""The package's own errors. Each is also a `ValueError`, so one `except ValueError` at the door catches them all.

A message names what was wrong, the value, and what would be right. An error that a principal can see never says whether
something that it may not read exists; ingestion errors are the operator's and may.
"""

from __future__ import annotations


class RetrievalError(ValueError):
    """Base of every error that `labsupport` defines."""


class StaleVersion(RetrievalError):
    """A version below the live one, or below a tombstone's floor, was offered. Nothing changed. Met in notebook 06."""


class StaleLabel(RetrievalError):
    """A label with a lower `label_tick` than the live one was offered: a retried old job may not widen access again."""


class FetchForbidden(RetrievalError):
    """The uploader may not read the source. The job fails and nothing is indexed. Met in notebook 06."""


class OutOfScope(RetrievalError):
    """The document is on the corpus scope's out-list, or on neither list. It never enters the store."""


class QueryRefused(RetrievalError):
    """A query that must not be searched or stored: blank, too long, or holding a card number or a secret key."""


class QuoteNotFound(RetrievalError):
    """A quote that no returned chunk holds letter for letter. `nearest` and `span` show the closest text. Notebook 07."""

    def __init__(self, message: str, *, nearest: str = "", span=None):
        super().__init__(message)
        self.nearest = nearest
        self.span = span


class EmbeddingMismatch(RetrievalError):
    """Vectors of two models, or of two sizes, would be mixed. `rebuild(embedder)` re-embeds everything at one instant."""


class EmbeddingFailed(RetrievalError):
    """An embedder returned the wrong count or shape, or a vector that is not finite. Nothing was stored."""


class BudgetTooSmall(RetrievalError):
    """The token budget cannot hold the segments that are never dropped. Met in notebook 08."""


class WorldError(RetrievalError):
    """A world's folder or manifest is missing or wrong; the message names the file and the field."""


class SavedIndexError(RetrievalError):
    """A saved index is cut off, damaged, or not one of ours. Nothing was loaded."""


class LegsFailed(RetrievalError):
    """Both legs of a hybrid search failed: an error, never an empty result that looks like "nothing found"."""
