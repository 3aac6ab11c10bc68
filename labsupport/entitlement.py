"""The one question of the lab, and the only function that answers it. Shown in full in notebook 05."""

from __future__ import annotations

from labsupport.model import CLASSIFICATIONS, EVERYONE, AccessLabel, Principal


def can_read(principal: Principal, label: AccessLabel) -> bool:
    """May this principal read what carries this label? Every condition must hold; whatever is missing denies.

    The question is no argument: what somebody asks can never widen what they may read. Built in notebook 05.
    """
    if not isinstance(principal, Principal) or not isinstance(label, AccessLabel):
        raise TypeError(f"can_read needs a Principal and an AccessLabel, got {principal!r} and {label!r}")
    same_tenant = label.tenant == principal.tenant
    cleared = CLASSIFICATIONS.index(label.classification) <= CLASSIFICATIONS.index(principal.max_classification)
    inside = label.barrier is None or label.barrier in principal.barriers
    named = bool(label.acl & (principal.groups | {EVERYONE}))
    return same_tenant and cleared and inside and named
