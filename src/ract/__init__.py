"""Decision trees and forests in which refused people have a way back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ract._version import __version__

if TYPE_CHECKING:
    from ract.actions import ActionSpace, Feature
    from ract.certificates import certify, guarantee_recourse, verify
    from ract.forest import RecourseForestClassifier
    from ract.recourse.find import find_recourse
    from ract.recourse.reachable import has_recourse
    from ract.selection import tradeoff_curve
    from ract.tree import RecourseTreeClassifier

__all__ = [
    "ActionSpace",
    "Feature",
    "RecourseForestClassifier",
    "RecourseTreeClassifier",
    "__version__",
    "certify",
    "find_recourse",
    "guarantee_recourse",
    "has_recourse",
    "tradeoff_curve",
    "verify",
]

_HOME = {
    "ActionSpace": "ract.actions",
    "Feature": "ract.actions",
    "RecourseForestClassifier": "ract.forest",
    "RecourseTreeClassifier": "ract.tree",
    "certify": "ract.certificates",
    "find_recourse": "ract.recourse.find",
    "guarantee_recourse": "ract.certificates",
    "has_recourse": "ract.recourse.reachable",
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
