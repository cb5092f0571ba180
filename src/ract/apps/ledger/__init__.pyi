from .chain import Head as Head
from .chain import KeyRing as KeyRing
from .chain import publish_head as publish_head
from .chain import read_heads as read_heads
from .guard import Check as Check
from .guard import check as check
from .ledger import Erased as Erased
from .ledger import Ledger as Ledger
from .outcomes import PromiseOutcomes as PromiseOutcomes
from .outcomes import promise_outcomes as promise_outcomes
from .outcomes import record_outcomes as record_outcomes
from .promise import Case as Case
from .promise import Limit as Limit
from .promise import Promise as Promise
from .promise import Redemption as Redemption
from .promise import Region as Region
from .promise import Verification as Verification
from .shelf import Conflict as Conflict
from .shelf import Request as Request
from .store import LedgerChanged as LedgerChanged
from .store import LedgerUnavailable as LedgerUnavailable
from .training import Refit as Refit
from .training import refit as refit
from .verify import check_receipt as check_receipt

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
