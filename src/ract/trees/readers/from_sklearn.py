"""Reading scikit-learn's trees, forests and boosted trees."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from sklearn import ensemble, tree
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.dummy import DummyClassifier, DummyRegressor

from ract._utils.errors import InvalidSpec, listing
from ract.trees.readers.curves import Curve, Logistic
from ract.trees.readers.reading import (
    REGRESSES,
    LibraryTrees,
    TreeArrays,
    checked_labels,
    codes_in,
    end_to_end,
)
from ract.trees.readers.scoring import scored, starting_from

# Of histogram boosting: what is predicted is the sum itself.
IDENTITY_LOSSES = ("squared_error", "absolute_error", "quantile")
AVERAGED = (
    *(tree.DecisionTreeClassifier, tree.DecisionTreeRegressor),
    *(ensemble.RandomForestClassifier, ensemble.RandomForestRegressor),
    *(ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor),
)
BOOSTED = (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)
BY_HISTOGRAM = (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)


def read_sklearn(model: object) -> LibraryTrees | None:
    """The trees of a fitted scikit-learn model; None if it is not one of trees."""
    readers = ((AVERAGED, _read_means), (BOOSTED, _read_boosted), (BY_HISTOGRAM, _read_histogram))
    for kinds, read in readers:
        if isinstance(model, kinds):
            if hasattr(model, "classes_"):
                checked_labels(model.classes_, type(model).__name__)  # before trees are taken apart
            return read(model)
    return None


def _reading(model: BaseEstimator, trees: Sequence[TreeArrays], **given: Any) -> LibraryTrees:
    names = getattr(model, "feature_names_in_", None)
    is_classifier = hasattr(model, "classes_")
    kind = {"classes": np.asarray(model.classes_)} if is_classifier else REGRESSES
    return LibraryTrees(
        n_columns=model.n_features_in_,
        names=None if names is None else tuple(names),
        **given | kind,
        **end_to_end(trees),
    )


def _read_means(model: BaseEstimator) -> LibraryTrees:
    """A tree or forest: its leaves hold the share of each class, or the mean of a number."""
    if model.n_outputs_ > 1:
        name = type(model).__name__
        raise InvalidSpec(f"{name} predicts {model.n_outputs_} targets at once; one is allowed.")
    n_classes = len(model.classes_) if hasattr(model, "classes_") else 0

    def ask(seen: np.ndarray) -> np.ndarray:
        if not n_classes:
            return model.predict(named(model, seen))
        return model.predict_proba(named(model, seen))[:, 1 if n_classes == 2 else slice(None)]

    def leaves(values: np.ndarray) -> TreeArrays:
        if n_classes > 2:
            return {"value": np.zeros(len(values)), "scores": values}
        first = values[:, 0]
        return {"value": values[:, 1], "first": first} if n_classes else {"value": first}

    estimators = getattr(model, "estimators_", [model])
    parts = [_arrays(one) | leaves(one.tree_.value[:, 0]) for one in estimators]
    return _reading(model, parts, ask=ask, combine="mean", rounds=True)


def _read_boosted(model: BaseEstimator) -> LibraryTrees:
    rate = model.learning_rate  # the library scales a leaf's value before it adds it
    parts = [
        [_arrays(one) | {"value": rate * one.tree_.value[:, 0, 0]} for one in stage]
        for stage in model.estimators_
    ]
    start = _start_of(model)
    return _reading(
        model,
        _stages(parts, start),
        ask=lambda seen: _margin(model, named(model, seen)),
        combine="sum",
        base=float(start[0]) if len(start) == 1 else 0.0,
        rounds=True,
        takes_missing=False,
        link=Logistic(2 if model.loss == "exponential" else 1),
        chooses=lambda margin: margin >= 0,
    )


def _stages(parts: Sequence[Sequence[TreeArrays]], start: np.ndarray) -> list[TreeArrays]:
    """The trees of each stage one after the other; of several classes one for each, and a start."""
    n = len(start)
    if n == 1:
        return [part for (part,) in parts]
    return starting_from(start, [scored(one, k, n) for part in parts for k, one in enumerate(part)])


def _start_of(model: BaseEstimator) -> np.ndarray:
    """What boosted sums start from: the model's own margins when its trees count for nothing."""
    start = model.init_
    constant = isinstance(start, DummyClassifier) and start.strategy != "stratified"
    constant = constant or isinstance(start, DummyRegressor)
    if not (constant or (isinstance(start, str) and start == "zero")):
        raise InvalidSpec(
            f"{type(model).__name__} starts from {start!r}; allowed are init='zero' and one "
            "that is the same for everyone (None, or a DummyClassifier that is not stratified)."
        )
    without_trees = copy(model)
    without_trees.learning_rate = 0.0
    anyone = np.zeros((1, model.n_features_in_))
    return np.ravel(_margin(without_trees, named(model, anyone)))


def _read_histogram(model: BaseEstimator) -> LibraryTrees:
    if not hasattr(model, "_predictors") or not hasattr(model, "_baseline_prediction"):
        raise InvalidSpec(
            f"This version of scikit-learn keeps the trees of {type(model).__name__} where "
            "they cannot be read; versions 1.6 to 1.9 are known to work."
        )
    if not hasattr(model, "classes_") and model.loss not in IDENTITY_LOSSES:
        raise InvalidSpec(
            f"HistGradientBoostingRegressor has loss {model.loss!r}, which predicts no plain sum; "
            f"allowed are {listing(IDENTITY_LOSSES)}."
        )
    parts = [
        [_histogram_arrays(one.nodes, one.raw_left_cat_bitsets) for one in stage]
        for stage in model._predictors
    ]
    start = model._baseline_prediction.ravel()
    return _reading(
        model,
        _stages(parts, start),
        ask=_asks_without_preparing(model),
        combine="sum",
        base=float(start[0]) if len(start) == 1 else 0.0,
        link=Logistic(),
        chooses=lambda margin: margin > 0,
    )


def preparation_of(model: object) -> TransformerMixin | None:
    """The encoder that histogram boosting keeps inside for category columns, if it has one."""
    return getattr(model, "_preprocessor", None)


def _asks_without_preparing(model: BaseEstimator) -> Curve:
    """Margins of columns that have been through the model's own encoder already."""
    if preparation_of(model) is None:
        return lambda seen: _margin(model, named(model, seen))
    prepared = copy(model)
    prepared._preprocessor = None
    if hasattr(prepared, "feature_names_in_"):
        del prepared.feature_names_in_
    return lambda seen: _margin(prepared, seen)


def _margin(model: BaseEstimator, seen: np.ndarray | pd.DataFrame) -> np.ndarray:
    """What a boosted model adds up: the margin of a classifier, what a regressor predicts."""
    ask = model.decision_function if hasattr(model, "classes_") else model.predict
    return np.asarray(ask(seen))


def _histogram_arrays(nodes: np.ndarray, bitsets: np.ndarray) -> TreeArrays:
    leaf = nodes["is_leaf"].astype(bool)
    by_set = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    return {
        "column": np.where(leaf, -1, nodes["feature_idx"].astype(np.int64)),
        "threshold": nodes["num_threshold"].astype(np.float64),
        "left": nodes["left"].astype(np.int64),
        "right": nodes["right"].astype(np.int64),
        "value": nodes["value"].astype(np.float64),
        "missing_left": nodes["missing_go_to_left"].astype(bool),
        "codes": {int(node): codes_in(bitsets[nodes["bitset_idx"][node]]) for node in by_set},
    }


def _arrays(estimator: BaseEstimator) -> TreeArrays:
    """Splits of one of scikit-learn's own trees."""
    nodes = estimator.tree_
    return {
        "column": np.where(nodes.children_left < 0, -1, nodes.feature),
        "threshold": nodes.threshold,
        "left": nodes.children_left,
        "right": nodes.children_right,
        "missing_left": nodes.missing_go_to_left.astype(bool),
    }


def named(model: object, seen: np.ndarray) -> np.ndarray | pd.DataFrame:
    """A matrix under the names that an estimator was trained with, so that it does not warn."""
    names = getattr(model, "feature_names_in_", None)
    return seen if names is None else pd.DataFrame(seen, columns=list(names))
