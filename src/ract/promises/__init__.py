"""Promises of recourse: made, kept, checked before a model is replaced."""

from __future__ import annotations

from ract.promises.guard import Check, check
from ract.promises.ledger import Ledger
from ract.promises.promise import Promise, Redemption, Verification
from ract.promises.region import Limit, Region
from ract.promises.store import LedgerChanged, LedgerUnavailable
from ract.promises.training import Refit, refit

__all__ = [
    "Check",
    "Ledger",
    "LedgerChanged",
    "LedgerUnavailable",
    "Limit",
    "Promise",
    "Redemption",
    "Refit",
    "Region",
    "Verification",
    "check",
    "refit",
]
