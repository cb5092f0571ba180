"""Names of version 0.2 and what stands in their place: for messages, model files and pickles."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ract._utils.errors import InvalidSpec

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Init = TypeVar("Init", bound=Callable[..., None])
_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("renamed.toml").read_text("utf-8")
)
MOVED, MOVED_NAMES = _TABLES["modules"], _TABLES["names"]
RENAMED_PARAMETERS, REMOVED_PARAMETERS = _TABLES["parameters"], _TABLES["removed_parameters"]
REMOVED_SINCE = _TABLES["removed_since"]


def refuse_removed(name: str) -> None:
    """Say what does the work of something that is gone.

    Examples
    --------
    >>> refuse_removed("cost='l2'")
    Traceback (most recent call last):
    ract._utils.errors.InvalidSpec: cost='l2' is gone; in its place: cost='l1' or 'range'.
    """
    if name in REMOVED_SINCE:
        raise InvalidSpec(f"{name} is gone; in its place: {REMOVED_SINCE[name]}.")


def refuse_old_parameters(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Say by which name a parameter of version 0.2 goes today.

    Examples
    --------
    >>> refuse_old_parameters("RecourseTreeClassifier", ["max_cells"], ["max_bins"])
    Traceback (most recent call last):
    TypeError: RecourseTreeClassifier has no parameter 'max_cells' any more; it is max_bins now.
    """
    known = set(known)
    for name in given:
        if name in known:
            continue
        if name in RENAMED_PARAMETERS:
            new, more = RENAMED_PARAMETERS[name], ""
            if name == "max_risk":
                more = ", one minus the old value"
            raise TypeError(f"{owner} has no parameter {name!r} any more; it is {new} now{more}.")
        if name in REMOVED_PARAMETERS:
            raise TypeError(
                f"{owner} has no parameter {name!r} any more; in its place: "
                f"{REMOVED_PARAMETERS[name]}."
            )


def current_parameters(old: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Parameters of a stored estimator by their names of today.

    Those of version 0.2 are told by ``max_cells``. What means nothing any more is left out.

    Examples
    --------
    >>> current_parameters({"max_cells": 64, "max_risk": 0.1}, ["max_bins", "min_recourse"])
    {'max_bins': 64, 'min_recourse': 0.9}
    """
    known = set(known)
    if "max_cells" not in old:
        return {name: value for name, value in old.items() if name in known}
    # Then the goal of a weight that was searched for, which is another thing today.
    given = {name: value for name, value in old.items() if name != "min_recourse"}
    if given.get("recourse_weight") == "auto":
        del given["recourse_weight"]
    if given.get("max_risk") is not None:
        given["max_risk"] = round(1 - given["max_risk"], 12)
    if "relabelling" in given and given.get("confidence") is not None:
        given["relabelling"] = given.pop("bound", "sequence")
    given.pop("bound", None)
    renamed = {RENAMED_PARAMETERS.get(name, name): value for name, value in given.items()}
    return {name: value for name, value in renamed.items() if name in known}


def names_parameters(init: Init) -> Init:
    """Let a constructor say what a parameter of version 0.2 is called today."""

    @wraps(init)
    def checked(self: BaseEstimator, *args: object, **given: object) -> None:
        refuse_old_parameters(type(self).__name__, given, type(self)._get_param_names())
        init(self, *args, **given)

    return checked  # type: ignore[return-value]


def current_state(kind: type[BaseEstimator], state: Mapping[str, Any]) -> dict[str, Any]:
    """What was pickled, by the names of today; version 0.2 is known by ``max_cells``."""
    if "max_cells" not in state:
        return dict(state)
    fitted = {name: value for name, value in state.items() if name.endswith("_")}
    given = {name: value for name, value in state.items() if name not in fitted}
    fitted["training_rows_"] = given.get("_rows_seen")
    fitted.setdefault("min_leaf_share_", 0.0)
    known = kind().get_params(deep=False)
    chosen = current_parameters(given, known)
    if "recourse_weight" not in chosen and "recourse_weight_" in fitted:
        chosen["recourse_weight"] = fitted["recourse_weight_"]
    return known | chosen | fitted
