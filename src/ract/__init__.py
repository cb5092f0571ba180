"""Decision trees and forests in which refused people have a way back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ract._version import __version__

if TYPE_CHECKING:
    from ract._fingerprint import data_fingerprint, model_fingerprint
    from ract.actions import ActionSpace, AssumedActions, Feature
    from ract.certificates import certify, guarantee_recourse, verify
    from ract.forest import RecourseForestClassifier
    from ract.imported import import_model
    from ract.persist import load_model, save_model
    from ract.recourse.find import find_recourse
    from ract.recourse.reachable import has_recourse
    from ract.selection import tradeoff_curve
    from ract.tree import RecourseTreeClassifier

__all__ = [
    "ActionSpace",
    "AssumedActions",
    "Feature",
    "RecourseForestClassifier",
    "RecourseTreeClassifier",
    "__version__",
    "certify",
    "data_fingerprint",
    "find_recourse",
    "guarantee_recourse",
    "has_recourse",
    "import_model",
    "load_model",
    "model_fingerprint",
    "save_model",
    "tradeoff_curve",
    "verify",
]

_HOME = {
    "ActionSpace": "ract.actions",
    "AssumedActions": "ract.actions",
    "Feature": "ract.actions",
    "RecourseForestClassifier": "ract.forest",
    "RecourseTreeClassifier": "ract.tree",
    "certify": "ract.certificates",
    "data_fingerprint": "ract._fingerprint",
    "find_recourse": "ract.recourse.find",
    "guarantee_recourse": "ract.certificates",
    "has_recourse": "ract.recourse.reachable",
    "import_model": "ract.imported",
    "load_model": "ract.persist",
    "model_fingerprint": "ract._fingerprint",
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
