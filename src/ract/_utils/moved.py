"""Modules of ract 0.2 by their old names, so that scripts and pickles of then still find them."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PUBLIC = ("", ".data", ".trees", ".recourse", ".models", ".evaluation", ".io", ".notices")


def new_name(module: str) -> str | None:
    """Where a module of 0.2 stands now; None if it did not move.

    >>> new_name("ract.costs.percentile")
    'ract.data.costs.percentile'
    """
    package, _, last = module.rpartition(".")
    moved = _names().MOVED
    if module in moved or not package:
        return moved.get(module)
    above = new_name(package)
    return None if above is None else f"{above}.{last}"


class MovedModules:
    """Finds modules by their old names; each warns when something is taken from it.

    It has no base class: ``importlib.abc`` takes longer to import than all of ``ract``.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The stand-in for a module that moved."""
        if not fullname.startswith("ract."):
            return None  # asked while the table itself is imported, too
        new = new_name(fullname)
        try:
            if new is None or find_spec(new) is None:
                return None
        except ModuleNotFoundError:  # part of a module that has no parts
            return None
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that passes on what is asked of it."""
        module = ModuleType(spec.name)
        vars(module)["__getattr__"] = partial(_passed_on, spec.name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def with_old_names(package: str, known: Callable[[str], Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package from which names moved: they are found, with a warning."""

    def find(name: str) -> Any:
        try:
            return known(name)
        except AttributeError:
            if name.startswith("__") or (found := _by_new_name(package, name)) is None:
                raise
        return found

    return find


def install() -> None:
    """Let old names be found, after everything that is found by itself."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def _names() -> ModuleType:
    """The tables of old names, read when one is asked for: ``import ract`` goes without them."""
    from ract._utils import renamed

    return renamed


def _passed_on(old: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {old!r} has no attribute {name!r}")
    if (found := _by_new_name(old, name)) is not None:
        return found
    new = new_name(old)
    try:
        value = getattr(import_module(str(new)), name)
    except (ImportError, AttributeError):
        raise ImportError(
            f"{old}.{name} is gone from ract 0.3; the changelog has a table of old and new names."
        ) from None
    public = [f"ract{part}" for part in PUBLIC if name in import_module(f"ract{part}").__all__]
    where = f"{public[0]}.{name}" if public else f"{new}.{name}, which is private"
    warnings.warn(f"{old}.{name} is now {where}.", FutureWarning, stacklevel=3)
    vars(sys.modules[old])[name] = value
    return value


def _by_new_name(package: str, name: str) -> Any:
    """What a name stands for that moved by itself, with a warning; None if it did not."""
    old, names = f"{package}.{name}", _names()
    if old in names.REMOVED_SINCE:
        raise ImportError(f"{old} is gone; in its place: {names.REMOVED_SINCE[old]}.")
    new = names.MOVED_NAMES.get(old)
    if new is None:
        return None
    warnings.warn(f"{old} is now {new}.", FutureWarning, stacklevel=4)
    return getattr(import_module(new.rpartition(".")[0]), name)
