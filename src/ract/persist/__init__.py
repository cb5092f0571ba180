"""Model files: one file, versioned, read without running anything from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ract.persist.load import ModelFile, load_judge, load_model, read_model_file
    from ract.persist.save import save_model

_HOME = {
    "ModelFile": "load",
    "load_judge": "load",
    "load_model": "load",
    "read_model_file": "load",
    "save_model": "save",
}

__all__ = ["ModelFile", "load_judge", "load_model", "read_model_file", "save_model"]


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``decider`` is read without scikit-learn."""
    if name in _HOME:
        return getattr(import_module(f"ract.persist.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ract.persist' has no attribute {name!r}")
