"""Why someone was refused: exact reasons, and whether mending them helps."""

from ract.recourse.reasons.find import find_reasons
from ract.recourse.reasons.person import PersonReasons, Reason
from ract.recourse.reasons.result import Reasons

__all__ = ["PersonReasons", "Reason", "Reasons", "find_reasons"]
