"""Decision trees and forests in which refused people have a way back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ract._version import __version__

if TYPE_CHECKING:
    from ract._fingerprint import data_fingerprint, model_fingerprint
    from ract.actions import ActionSpace, Feature
    from ract.forest import RecourseForestClassifier
    from ract.imported import import_model
    from ract.persist import load_model, save_model
    from ract.recourse.find import find_recourse
    from ract.tree import RecourseTreeClassifier

__all__ = [
    "ActionSpace",
    "Feature",
    "RecourseForestClassifier",
    "RecourseTreeClassifier",
    "__version__",
    "data_fingerprint",
    "find_recourse",
    "import_model",
    "load_model",
    "model_fingerprint",
    "save_model",
]

_HOME = {
    "ActionSpace": "ract.actions",
    "Feature": "ract.actions",
    "RecourseForestClassifier": "ract.forest",
    "RecourseTreeClassifier": "ract.tree",
    "data_fingerprint": "ract._fingerprint",
    "find_recourse": "ract.recourse.find",
    "import_model": "ract.imported",
    "load_model": "ract.persist",
    "model_fingerprint": "ract._fingerprint",
    "save_model": "ract.persist",
}


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the command line starts at once."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ract' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
