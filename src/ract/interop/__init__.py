"""Models of other libraries, read exactly: every tree classifier becomes a TreeEnsemble."""

from __future__ import annotations

from ract.interop.model import TreeModel
from ract.interop.read import read_model

__all__ = ["TreeModel", "read_model"]
