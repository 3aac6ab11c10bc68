"""Which version of a document lives: the rules of swap, relabel and tombstone, as one pure decision. Notebook 06.

The final state depends on the set of operations that carry a version, not on their order: versions and ticks only rise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from labsupport.errors import RetrievalError, StaleLabel, StaleVersion
from labsupport.model import AccessLabel


@dataclass(frozen=True, slots=True)
class DocumentState:
    """What is known of one document of one tenant. A dead document keeps its floor, and never its text or a hash of it.

    `highest` is the version that lives (0 where nothing does: then the floor is above all that was ever stored), `floor` the
    lowest that a tombstone still lets live. `digest` identifies the live text, `None` where nothing lives or where chunks
    came one by one through `upsert`.
    """

    highest: int = 0
    floor: int = 0
    digest: str | None = None
    label: AccessLabel | None = None
    label_tick: int = 0
    chunk_labels: Mapping[str, AccessLabel] = field(default_factory=dict)

    @property
    def lives(self) -> bool:
        return bool(self.chunk_labels) or self.digest is not None


class Decision(Enum):
    """What a swap will do."""

    STORE = "store"
    RELABEL = "relabel"
    NOTHING = "nothing"


def refuse_stale(doc_id: str, state: DocumentState, version: int) -> None:
    """Raise `StaleVersion` for a version below the tombstone's floor or below the live one."""
    if version < state.floor:
        raise StaleVersion(f"version {version} of {doc_id!r} is dead: a tombstone lets only version {state.floor} or higher live")
    if state.lives and version < state.highest:
        raise StaleVersion(f"version {version} of {doc_id!r} came after version {state.highest}, which lives; nothing changed")


def decide(doc_id: str, state: DocumentState, *, version: int, digest: str, label: AccessLabel, label_tick: int | None) -> Decision:
    """Store, relabel, do nothing, or refuse. `label_tick` is `None` where the door carries none (`add`).

    Raises `StaleVersion` and `StaleLabel` for what comes too late, `RetrievalError` for one version with two texts, or one
    tick with two labels. Built in notebook 06.
    """
    refuse_stale(doc_id, state, version)
    if label_tick is not None and state.lives and label_tick < state.label_tick:
        raise StaleLabel(f"label_tick {label_tick} of {doc_id!r} is below {state.label_tick}, which is in force; nothing changed")
    if not state.lives or version > state.highest:
        return Decision.STORE
    if digest != state.digest:
        raise RetrievalError(f"version {version} of {doc_id!r} lives with another text; another text needs a higher version")
    if label_tick is not None and label_tick > state.label_tick:
        return Decision.RELABEL
    if label != state.label:
        raise RetrievalError(f"version {version} of {doc_id!r} lives with another label: ingest it with a higher label_tick")
    return Decision.NOTHING


def bury(state: DocumentState, below_version: int | None) -> DocumentState:
    """The state after a tombstone: the floor rises. `None` kills what lives and sets the floor above the highest seen."""
    floor = max(state.highest, state.floor - 1) + 1 if below_version is None else below_version
    return replace(state, floor=max(state.floor, floor))
