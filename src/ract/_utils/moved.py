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

from ract._utils.renamed import (
    MOVED_NAMES,
    REMOVED_OPTIONS,
    REMOVED_PARAMETERS,
    REMOVED_SINCE,
    RENAMED_PARAMETERS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Old module or package -> where it stands now. Parts of a package moved along with it.
MOVED = {
    "ract._auto": "ract.models.weight_search",
    "ract._core": "ract.trees",
    "ract._estimator": "ract.models.base",
    "ract._memo": "ract._utils.memo",
    "ract._training": "ract.trees.training",
    "ract.actions": "ract.data.actions",
    "ract.boosting": "ract.models.boosting",
    "ract.calibration": "ract.recourse.calibration",
    "ract.certificates": "ract.evaluation.certificates",
    "ract.costs": "ract.data.costs",
    "ract.datasets": "ract.data.datasets",
    "ract.encoding": "ract.data.encoder",
    "ract.ensemble": "ract.trees.ensemble",
    "ract.errors": "ract._utils.errors",
    "ract.examples": "ract.models.examples",
    "ract.export": "ract.io.export",
    "ract.forest": "ract.models.forest",
    "ract.grid": "ract.data.grid",
    "ract.guarantee": "ract.models.guarantee",
    "ract.imported": "ract.models.imported",
    "ract.interop": "ract.trees.readers",
    "ract.judge": "ract.models.judge",
    "ract.metrics": "ract.evaluation.metrics",
    "ract.metrics.lasting": "ract.recourse.lasting",
    "ract.persist": "ract.io",
    "ract.plot": "ract.evaluation.plots",
    "ract.promises": "ract.apps.ledger",
    "ract.reasons": "ract.recourse.reasons",
    "ract.reasons.stability": "ract.evaluation.reasons_report",
    "ract.recourse.causal.effects": "ract.data.effects",
    "ract.recourse.causal.lingam": "ract.data.lingam",
    "ract.recourse.heuristic": "ract.recourse.plausible",
    "ract.recourse.heuristic.leaves": "ract.recourse.leaves",
    "ract.report": "ract.evaluation.report",
    "ract.scale": "ract.apps.distributed",
    "ract.selection": "ract.evaluation.tradeoff",
    "ract.serve": "ract.apps.web",
    "ract.status": "ract._utils.status",
    "ract.tables": "ract.data.csv",
    "ract.text": "ract.evaluation.text",
    "ract.tree": "ract.models.tree",
}
PUBLIC = ("", ".data", ".trees", ".recourse", ".models", ".evaluation", ".io", ".notices")


def new_name(module: str) -> str | None:
    """Where a module of 0.2 stands now; None if it did not move.

    >>> new_name("ract.costs.percentile")
    'ract.data.costs.percentile'
    """
    package, _, last = module.rpartition(".")
    if module in MOVED or not package:
        return MOVED.get(module)
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


def upgrade_table() -> str:
    """Every name of 0.2 that is another today, as the table of the changelog.

    >>> print(upgrade_table().splitlines()[2])
    | module | `ract.actions` | `ract.data` |
    """
    rows = [("module", old, _imported_from(old)) for old in MOVED if "._" not in old]
    rows += [("name", old, f"`{new}`") for old, new in MOVED_NAMES.items()]
    rows += [
        ("name", old, f"gone: {new}")
        for old, new in REMOVED_SINCE.items()
        if old.startswith("ract.") and old != "ract.data.MahalanobisCost"  # 0.3 alone had it
    ]
    rows += [("parameter", old, f"`{new}`") for old, new in RENAMED_PARAMETERS.items()]
    rows += [("parameter", old, f"gone: {new}") for old, new in REMOVED_PARAMETERS.items()]
    rows += [("option", old, new) for old, new in REMOVED_OPTIONS.items()]
    lines = [f"| {kind} | `{old}` | {new} |" for kind, old, new in rows]
    return "\n".join(["| | in 0.2 | in 0.3 |", "|---|---|---|", *lines])


def with_old_names(package: str, known: Callable[[str], Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package from which names moved: they are found, with a warning."""

    def find(name: str) -> Any:
        _refuse_removed_name(package, name)
        if f"{package}.{name}" in MOVED_NAMES:
            return _moved_name(package, name)
        return known(name)

    return find


def install() -> None:
    """Let old names be found, after everything that is found by itself."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def _passed_on(old: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {old!r} has no attribute {name!r}")
    _refuse_removed_name(old, name)
    if f"{old}.{name}" in MOVED_NAMES:
        return _moved_name(old, name)
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


def _refuse_removed_name(package: str, name: str) -> None:
    instead = REMOVED_SINCE.get(f"{package}.{name}")
    if instead is not None:
        raise ImportError(f"{package}.{name} is gone; in its place: {instead}.")


def _moved_name(old: str, name: str) -> Any:
    new = MOVED_NAMES[f"{old}.{name}"]
    warnings.warn(f"{old}.{name} is now {new}.", FutureWarning, stacklevel=4)
    return getattr(import_module(new.rpartition(".")[0]), name)


def _imported_from(old: str) -> str:
    """The public package from which names of an old module are imported today."""
    if old == "ract.errors":
        return "`ract`"
    parts = MOVED[old].split(".")
    if parts[1] == "_utils":
        return "private"
    return f"`{'.'.join(parts[: 3 if parts[1] == 'apps' else 2])}`"
