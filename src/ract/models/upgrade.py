"""What version 0.2 called parameters, in constructors and in pickles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from ract._utils.renamed import current_parameters, refuse_old_parameters

Init = TypeVar("Init", bound=Callable[..., None])


def names_parameters(init: Init) -> Init:
    """Let a constructor say what a parameter of version 0.2 is called today."""

    @functools.wraps(init)
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
