"""Promises of recourse: made, kept, checked before a model is replaced."""

from __future__ import annotations

from ract.apps.ledger.guard import Check, check
from ract.apps.ledger.ledger import Conflict, Erased, Ledger, Request
from ract.apps.ledger.outcomes import PromiseOutcomes, promise_outcomes, record_outcomes
from ract.apps.ledger.promise import Case, Promise, Redemption, Verification
from ract.apps.ledger.region import Limit, Region
from ract.apps.ledger.ring import Head, KeyRing, publish_head, read_heads
from ract.apps.ledger.store import LedgerChanged, LedgerUnavailable
from ract.apps.ledger.training import Refit, refit
from ract.apps.ledger.verify import check_receipt

__all__ = [
    "Case",
    "Check",
    "Conflict",
    "Erased",
    "Head",
    "KeyRing",
    "Ledger",
    "LedgerChanged",
    "LedgerUnavailable",
    "Limit",
    "Promise",
    "PromiseOutcomes",
    "Redemption",
    "Refit",
    "Region",
    "Request",
    "Verification",
    "check",
    "check_receipt",
    "promise_outcomes",
    "publish_head",
    "read_heads",
    "record_outcomes",
    "refit",
]
