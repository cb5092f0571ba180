"""The models of the benchmark of sendable plans, as data: how they are made, tuned and searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ract.data.actions import ActionSpace, Feature
from ract.data.datasets import Dataset

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    Parameters
    ----------
    name, title : str
    source : str
        Module and class.
    options : mapping
        What the model is made with, beside action space and random state.
    choices : sequence of mapping
        Further options, of which the best by AUC inside the training half is taken.
    search : mapping
        Options of its search for plans; empty for the model's own defaults.
    ours : bool
        Whether it is one of ract's.
    monotone : bool
        Whether it is held to the directions of the action space.
    shaped : bool
        Whether its action space has limits relative to the person and round steps, as proposed
        spaces have.
    rate_option : str
        The option that takes the table's approval rate, if training is to know it.
    by_leaves : bool
        Whether the mean share of leaves is cut also where trees vote.
    """

    name: str
    title: str
    source: str
    options: Options = field(default_factory=dict)
    choices: Sequence[Options] = ()
    search: Options = field(default_factory=dict)
    ours: bool = False
    monotone: bool = False
    shaped: bool = False
    rate_option: str = ""
    by_leaves: bool = False

    def estimator(
        self, data: Dataset, random_state: int, chosen: Options, rate: float | None = None
    ) -> Any:
        """The learner, not fitted, in one thread."""
        module, name = self.source.split(":")
        options = {**self.options, **chosen, "random_state": random_state}
        if self.rate_option:
            options[self.rate_option] = rate
        learner = getattr(import_module(module), name)
        if self.ours:
            return learner(self.space(data), desired=data.desired, **options)
        return Encoded(learner(**options), data.actions, data.desired, monotone=self.monotone)

    def space(self, data: Dataset) -> ActionSpace:
        """What people may change, with limits and round steps where it is to have them."""
        own = data.actions
        return ActionSpace(own.features, own.desired, "size" if self.shaped else None)

    def settings(self) -> dict[str, Any]:
        """Everything that its results depend on; of ours, the defaults too, which may change."""
        module, name = self.source.split(":")
        parameters = signature(getattr(import_module(module), name)).parameters if self.ours else {}
        return {
            "defaults": {key: repr(given.default) for key, given in parameters.items()},
            "source": self.source, "options": dict(self.options),
            "choices": [dict(choice) for choice in self.choices], "search": dict(self.search),
            "monotone": self.monotone, "shaped": self.shaped, "rate_option": self.rate_option,
            "by_leaves": self.by_leaves,
        }  # fmt: skip


class Encoded(ClassifierMixin, BaseEstimator):
    """A learner of another library on a table with text.

    Ordered categories (those that may only rise or fall) become numbers, others columns of 0 and
    1. A monotone learner of LightGBM is held to the directions of the action space; features that
    may move either way are held to their correlation with the desired class.

    Parameters
    ----------
    learner : classifier
    actions : ActionSpace
    desired : label
    monotone : bool
    """

    def __init__(
        self, learner: Any, actions: ActionSpace, desired: Any, *, monotone: bool = False
    ) -> None:
        self.learner, self.actions, self.desired = learner, actions, desired
        self.monotone = monotone

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Any:
        """The fitted learner itself, or the pipeline that ends in it, to be read as what it is."""
        learner = clone(self.learner)
        words = [f for f in self.actions if f.is_categorical and not f.columns]
        if self.monotone:
            sign = 1 if np.unique(y).tolist()[1] == self.desired else -1
            wanted = np.asarray(y) == self.desired
            learner.set_params(monotone_constraints=[
                sign * self._direction(name, X, wanted) for name in _encoded_columns(X, words)
            ])  # fmt: skip
        if not words:
            return learner.fit(X, y)
        steps = [(f.name, _encoder(f), [f.name]) for f in _encoded_order(words)]
        encode = ColumnTransformer(steps, remainder="passthrough", verbose_feature_names_out=False)
        return Pipeline([("encode", encode), ("learner", learner)]).fit(X, y)

    def _direction(self, name: str | None, X: pd.DataFrame, wanted: np.ndarray) -> int:
        """1, -1 or 0 for an encoded column; None stands for a category of its own."""
        feature = None if name is None or name not in self.actions else self.actions[name]
        if feature is None or not feature.actionable:
            return 0
        if feature.change != "any":
            return 1 if feature.change == "increase" else -1
        if feature.is_categorical:
            return 0
        known = X[name].notna().to_numpy()
        return int(np.sign(spearmanr(X[name][known], wanted[known]).statistic))


def _is_ordered(feature: Feature) -> bool:
    return feature.change in ("increase", "decrease")


def _encoded_order(words: Sequence[Feature]) -> list[Feature]:
    return sorted(words, key=_is_ordered, reverse=True)


def _encoder(feature: Feature) -> Any:
    if _is_ordered(feature):
        return OrdinalEncoder(categories=[list(feature.categories)])
    return OneHotEncoder(sparse_output=False, handle_unknown="ignore")


def _encoded_columns(X: pd.DataFrame, words: Sequence[Feature]) -> list[str | None]:
    """Names of the columns that a learner sees; None for those of one category."""
    names: list[str | None] = []
    for feature in _encoded_order(words):
        width = 1 if _is_ordered(feature) else X[feature.name].nunique(dropna=False)
        names += [feature.name] if _is_ordered(feature) else [None] * width
    spelled = {feature.name for feature in words}
    return names + [name for name in X.columns if name not in spelled]


FOREST, BOOSTER = (
    "ract.models.forest:RecourseForestClassifier",
    "ract.models.boosting:RecourseBoostingClassifier",
)
THEIR_FOREST, LIGHTGBM = "sklearn.ensemble:RandomForestClassifier", "lightgbm:LGBMClassifier"
LEAVES = tuple({"min_samples_leaf": leaf} for leaf in (1, 5, 10, 20, 50))
QUIET: Options = {"verbose": -1, "n_jobs": 1}
BOOSTED = tuple(
    {"num_leaves": leaves, "learning_rate": rate, "n_estimators": 100}
    for leaves in (4, 8, 31)
    for rate in (0.03, 0.1)
)
# The paper's question: the cheapest plan within the budget, whatever it looks like.
CHEAPEST: Options = {"max_changes": None, "at_least": False}

ENTRIES = {
    entry.name: entry
    for entry in (
        Entry(
            "ract", "ract boosting, proposed limits", BOOSTER, ours=True, shaped=True,
            rate_option="approval_rate",
        ),
        Entry(
            "ract-forest", "ract forest, proposed limits", FOREST, ours=True, shaped=True,
            rate_option="approval_rate",
        ),
        Entry("ract-old", "ract forest, old defaults", FOREST, search=CHEAPEST, ours=True),
        Entry(
            "forest", "scikit-learn forest, leaf size tuned", THEIR_FOREST, {"n_jobs": 1},
            LEAVES, shaped=True,
        ),
        Entry(
            "lightgbm", "LightGBM, tuned", LIGHTGBM, QUIET, BOOSTED, shaped=True,
        ),
        Entry(
            "lightgbm-monotone", "LightGBM, tuned, monotone", LIGHTGBM, QUIET, BOOSTED,
            shaped=True, monotone=True,
        ),
    )
}  # fmt: skip
# The plain forest, by which everything is measured, is the better of these two.
PLAIN = (
    ENTRIES["forest"],
    Entry(
        "ract-plain", "ract forest, recourse weight 0", FOREST, {"recourse_weight": 0.0},
        ours=True, by_leaves=True,
    ),
)  # fmt: skip
