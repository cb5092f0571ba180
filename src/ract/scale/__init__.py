"""More people than one machine: one function from frame to frame, and engines that map it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ract.scale.job import Job, apply
    from ract.scale.stored import run

_HOME = {"Job": "job", "apply": "job", "run": "stored"}

__all__ = ["Job", "apply", "run"]


def __getattr__(name: str) -> Any:
    """Import on first use, so that an engine's worker loads what it needs."""
    if name in _HOME:
        return getattr(import_module(f"ract.scale.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ract.scale' has no attribute {name!r}")
