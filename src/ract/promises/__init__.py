"""Promises of recourse: made, kept, checked before a model is replaced."""

from __future__ import annotations

from ract.promises.guard import Check, Refit, check, refit
from ract.promises.ledger import Ledger, Promise, Redemption, Verification
from ract.promises.region import Limit, Region
from ract.promises.store import LedgerUnavailable

__all__ = [
    "Check",
    "Ledger",
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
