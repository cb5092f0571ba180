"""Model files: one file, versioned, read without running anything from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ract.persist.decider import Decider, read_decider
    from ract.persist.load import ModelFile, load_model, read_model_file
    from ract.persist.save import save_model

_HOME = {
    "Decider": "decider",
    "ModelFile": "load",
    "load_model": "load",
    "read_decider": "decider",
    "read_model_file": "load",
    "save_model": "save",
}

__all__ = ["Decider", "ModelFile", "load_model", "read_decider", "read_model_file", "save_model"]


def __getattr__(name: str) -> Any:
    """Import on first use: decisions are read without scikit-learn, models with it."""
    if name in _HOME:
        return getattr(import_module(f"ract.persist.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ract.persist' has no attribute {name!r}")
