"""Why someone was refused: exact reasons, and whether mending them helps."""

from ract.reasons.find import find_reasons
from ract.reasons.person import PersonReasons, Reason
from ract.reasons.report import ReasonsReport, reasons_report
from ract.reasons.result import Reasons

__all__ = [
    "PersonReasons",
    "Reason",
    "Reasons",
    "ReasonsReport",
    "find_reasons",
    "reasons_report",
]
