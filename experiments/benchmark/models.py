"""The models of the honest benchmark, as data: ours, and what a user would deploy instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module, util
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from experiments.benchmark.robust import RobustMethod, RobustVotes, RobX
from experiments.data import DATA
from ract._utils.errors import InvalidSpec
from ract.data.actions import ActionSpace
from ract.data.datasets import Dataset


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
    monotone : bool
        Whether numbers that may change are held to the direction of their correlation with the
        desired class, by the option ``monotone_constraints``.
    papers : bool
        Whether it has the weight that the paper's authors selected for the data set.
    method : type of RobustMethod, optional
        A published method that finds its plans, instead of strengths.
    """

    name: str
    title: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    ours: bool = False
    extra: str = ""
    codes: bool = False
    marker: str = "o"
    monotone: bool = False
    papers: bool = False
    method: type[RobustMethod] | None = None

    def check(self) -> None:
        """Say which extra is missing, if one is."""
        package = self.source.split(":")[0].split(".")[0]
        if util.find_spec(package) is None:
            raise InvalidSpec(
                f'{self.title} is not installed: pip install "ract[{self.extra}]", or leave it '
                f"out by naming the other models with --model."
            )

    def estimator(self, data: Dataset, *, random_state: int) -> Any:
        """The learner, not fitted, in one thread; for labels of the data set."""
        module, name = self.source.split(":")
        options = {**self.options, "random_state": random_state}
        if self.ours:
            options["actions"] = data.actions
        if self.papers:
            options["recourse_weight"] = DATA[data.name].forest_weight
        learner = getattr(import_module(module), name)(**options)
        if self.monotone:
            learner = Monotone(learner, data.actions, data.desired)
        return learner

    def labels(self, data: Dataset, target: np.ndarray) -> np.ndarray:
        """Labels as the learner takes them."""
        return (target == data.desired).astype(int) if self.codes else target

    def desired(self, data: Dataset) -> Any:
        """What it calls the desired class."""
        return 1 if self.codes else data.desired


class Monotone(ClassifierMixin, BaseEstimator):
    """A learner of LightGBM whose monotone directions are read off the people it is fitted on.

    Parameters
    ----------
    learner : LGBMClassifier
    actions : ActionSpace
    desired : label
    """

    def __init__(self, learner: Any, actions: ActionSpace, desired: Any) -> None:
        self.learner, self.actions, self.desired = learner, actions, desired

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Any:
        """The fitted learner itself, so that it is read as what it is."""
        wanted = np.asarray(y) == self.desired
        sign = 1 if np.unique(y).tolist()[1] == self.desired else -1
        free = {
            feature.name
            for feature in self.actions
            if feature.kind in ("continuous", "integer") and feature.change != "fixed"
        }
        directions = [
            sign * int(np.sign(spearmanr(X[name], wanted).statistic)) if name in free else 0
            for name in X.columns
        ]
        return clone(self.learner).set_params(monotone_constraints=directions).fit(X, y)


OUR_FOREST, SKLEARN = "ract.models.forest:RecourseForestClassifier", "sklearn.ensemble"
THEIR_FOREST, LIGHTGBM = f"{SKLEARN}:RandomForestClassifier", "lightgbm:LGBMClassifier"

MODELS = {
    model.name: model
    for model in (
        Model("ract", "ract forest, defaults", OUR_FOREST, ours=True),
        Model(
            "ract-plain", "ract forest, recourse weight 0", OUR_FOREST, {"recourse_weight": 0.0},
            ours=True, marker="v",
        ),
        Model(
            "ract-paper", "the paper's RACT forest", OUR_FOREST,
            {"criterion": "error", "max_depth": 16, "min_samples_leaf": 1}, ours=True,
            marker="^", papers=True,
        ),
        Model(
            "forest-leaf5", "scikit-learn forest, leaves of 5", THEIR_FOREST,
            {"min_samples_leaf": 5}, marker="s",
        ),
        Model(
            "forest-leaf20", "scikit-learn forest, leaves of 20", THEIR_FOREST,
            {"min_samples_leaf": 20}, marker="p",
        ),
        Model(
            "forest-leaf50", "scikit-learn forest, leaves of 50", THEIR_FOREST,
            {"min_samples_leaf": 50}, marker="h",
        ),
        Model(
            "lightgbm", "LightGBM", LIGHTGBM, {"verbose": -1, "n_jobs": 1}, extra="lightgbm",
            marker="P",
        ),
        Model(
            "lightgbm-small", "LightGBM, 8 leaves", LIGHTGBM,
            {"verbose": -1, "n_jobs": 1, "num_leaves": 8}, extra="lightgbm", marker="X",
        ),
        Model(
            "lightgbm-monotone", "LightGBM, 8 leaves, monotone", LIGHTGBM,
            {"verbose": -1, "n_jobs": 1, "num_leaves": 8}, extra="lightgbm", marker="d",
            monotone=True,
        ),
        Model(
            "robust-votes", "scikit-learn forest, leaves of 20, robust plans of Forel et al.",
            THEIR_FOREST, {"min_samples_leaf": 20}, marker="1", method=RobustVotes,
        ),
        Model(
            "robx", "LightGBM, 8 leaves, robust plans of RobX", LIGHTGBM,
            {"verbose": -1, "n_jobs": 1, "num_leaves": 8}, extra="lightgbm", marker="2",
            method=RobX,
        ),
        Model("forest", "scikit-learn forest", THEIR_FOREST, marker="<"),
        Model(
            "histogram", "scikit-learn histogram boosting",
            f"{SKLEARN}:HistGradientBoostingClassifier", marker=">",
        ),
        Model(
            "xgboost", "XGBoost", "xgboost:XGBClassifier", {"n_jobs": 1}, extra="xgboost",
            codes=True, marker="*",
        ),
    )
}  # fmt: skip
