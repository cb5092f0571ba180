"""Trees, forests and boosted models in which refused people have a way back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ract._version import __version__

if TYPE_CHECKING:
    from ract._fingerprint import data_fingerprint, model_fingerprint
    from ract.actions import ActionSpace, AssumedActions, Feature
    from ract.boosting import RecourseBoostingClassifier
    from ract.calibration import LastingCurve, LastingWarning, calibrate
    from ract.certificates import certify, guarantee_recourse, verify
    from ract.forest import RecourseForestClassifier
    from ract.imported import import_model
    from ract.judge import OutcomeJudge
    from ract.persist import load_judge, load_model, save_model
    from ract.reasons import find_reasons, reasons_report
    from ract.recourse.find import find_recourse
    from ract.recourse.reachable import has_recourse
    from ract.selection import tradeoff_curve
    from ract.tree import RecourseTreeClassifier

__all__ = [
    "ActionSpace",
    "AssumedActions",
    "Feature",
    "LastingCurve",
    "LastingWarning",
    "OutcomeJudge",
    "RecourseBoostingClassifier",
    "RecourseForestClassifier",
    "RecourseTreeClassifier",
    "__version__",
    "calibrate",
    "certify",
    "data_fingerprint",
    "find_reasons",
    "find_recourse",
    "guarantee_recourse",
    "has_recourse",
    "import_model",
    "load_judge",
    "load_model",
    "model_fingerprint",
    "reasons_report",
    "save_model",
    "tradeoff_curve",
    "verify",
]

_HOME = {
    "ActionSpace": "ract.actions",
    "AssumedActions": "ract.actions",
    "Feature": "ract.actions",
    "LastingCurve": "ract.calibration",
    "LastingWarning": "ract.calibration",
    "OutcomeJudge": "ract.judge",
    "RecourseBoostingClassifier": "ract.boosting",
    "RecourseForestClassifier": "ract.forest",
    "RecourseTreeClassifier": "ract.tree",
    "calibrate": "ract.calibration",
    "certify": "ract.certificates",
    "data_fingerprint": "ract._fingerprint",
    "find_reasons": "ract.reasons",
    "find_recourse": "ract.recourse.find",
    "guarantee_recourse": "ract.certificates",
    "has_recourse": "ract.recourse.reachable",
    "import_model": "ract.imported",
    "load_judge": "ract.persist",
    "load_model": "ract.persist",
    "model_fingerprint": "ract._fingerprint",
    "reasons_report": "ract.reasons",
    "save_model": "ract.persist",
    "tradeoff_curve": "ract.selection",
    "verify": "ract.certificates",
}


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the command line starts at once."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ract' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
