"""The models of the honest benchmark, as data: ours, and what a user would deploy instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module, util
from typing import Any

import numpy as np
import pandas as pd

from ract.datasets import Dataset
from ract.errors import InvalidSpec


@dataclass(frozen=True)
class Model:
    """A model to compare, by its name and its title in tables.

    Parameters
    ----------
    name : str
    title : str
    source : str
        Module and class, such as "sklearn.ensemble:RandomForestClassifier".
    options : mapping
        What it is made with, beside the random state.
    ours : bool
        Whether it is one of ract's, which take the action space.
    extra : str
        What to install for it, if it is not part of the core.
    codes : bool
        Whether its classes must be 0 and 1.
    marker : str
        In pictures, as matplotlib calls it.
    """

    name: str
    title: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    ours: bool = False
    extra: str = ""
    codes: bool = False
    marker: str = "o"

    def check(self) -> None:
        """Say which extra is missing, if one is."""
        package = self.source.split(":")[0].split(".")[0]
        if util.find_spec(package) is None:
            raise InvalidSpec(
                f'{self.title} is not installed: pip install "ract[{self.extra}]", or leave it '
                f"out by naming the other models with --model."
            )

    def fit(
        self, data: Dataset, people: pd.DataFrame, target: np.ndarray, *, random_state: int
    ) -> Any:
        """Train it on some people of a data set, in one thread."""
        module, name = self.source.split(":")
        options = {**self.options, "random_state": random_state}
        if self.ours:
            options["actions"] = data.actions
        model = getattr(import_module(module), name)(**options)
        return model.fit(people, (target == data.desired).astype(int) if self.codes else target)

    def desired(self, data: Dataset) -> Any:
        """What it calls the desired class."""
        return 1 if self.codes else data.desired


OUR_FOREST, SKLEARN = "ract.forest:RecourseForestClassifier", "sklearn.ensemble"

MODELS = {
    model.name: model
    for model in (
        Model("ract", "ract forest, defaults", OUR_FOREST, ours=True),
        Model(
            "ract-auto", "ract forest, automatic weight", OUR_FOREST,
            {"recourse_weight": "auto", "min_recourse": 0.95}, ours=True, marker="D",
        ),
        Model(
            "ract-plain", "ract forest, recourse weight 0", OUR_FOREST, {"recourse_weight": 0.0},
            ours=True, marker="v",
        ),
        Model(
            "ract-strong", "ract forest, recourse weight 0.3", OUR_FOREST,
            {"recourse_weight": 0.3}, ours=True, marker="^",
        ),
        Model("forest", "scikit-learn forest", f"{SKLEARN}:RandomForestClassifier", marker="s"),
        Model(
            "forest-leaf5", "scikit-learn forest, leaves of 5",
            f"{SKLEARN}:RandomForestClassifier", {"min_samples_leaf": 5}, marker="p",
        ),
        Model(
            "histogram", "scikit-learn histogram boosting",
            f"{SKLEARN}:HistGradientBoostingClassifier", marker="X",
        ),
        Model(
            "lightgbm", "LightGBM", "lightgbm:LGBMClassifier", {"verbose": -1, "n_jobs": 1},
            extra="lightgbm", marker="P",
        ),
        Model(
            "xgboost", "XGBoost", "xgboost:XGBClassifier", {"n_jobs": 1}, extra="xgboost",
            codes=True, marker="*",
        ),
    )
}  # fmt: skip
