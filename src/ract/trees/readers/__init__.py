"""Models of other libraries, read exactly: every tree classifier becomes a TreeEnsemble."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ract.trees.readers.model import TreeModel

if TYPE_CHECKING:
    from ract.trees.readers.read import read_model

__all__ = ["TreeModel", "read_model"]


def __getattr__(name: str) -> Any:
    """Import the reader, and scikit-learn with it, on first use."""
    if name == "read_model":
        from ract.trees.readers.read import read_model

        return read_model
    raise AttributeError(f"module 'ract.trees.readers' has no attribute {name!r}")
