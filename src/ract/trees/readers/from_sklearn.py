"""Reading scikit-learn's trees, forests and boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ract._utils.errors import InvalidSpec, listing
from ract.trees.readers.curves import Logistic
from ract.trees.readers.reading import (
    REGRESSES,
    Curve,
    Reading,
    classes_of,
    codes_in,
    end_to_end,
)
from ract.trees.readers.several import scored, starting_from

# Of histogram boosting: what is predicted is the sum itself.
IDENTITY_LOSSES = ("squared_error", "absolute_error", "quantile")


def read_sklearn(model: Any) -> Reading | None:
    """The trees of a fitted scikit-learn model; None if it is not one of trees."""
    readers: tuple[tuple[Any, Callable[[Any], Reading]], ...] = (
        (DecisionTreeClassifier, lambda tree: _read_shares(tree, [tree])),
        (
            (RandomForestClassifier, ExtraTreesClassifier),
            lambda forest: _read_shares(forest, forest.estimators_),
        ),
        (GradientBoostingClassifier, _read_boosted),
        (HistGradientBoostingClassifier, _read_histogram),
        (DecisionTreeRegressor, lambda tree: _read_means(tree, [tree])),
        (
            (RandomForestRegressor, ExtraTreesRegressor),
            lambda forest: _read_means(forest, forest.estimators_),
        ),
        (GradientBoostingRegressor, _read_boosted),
        (HistGradientBoostingRegressor, _read_histogram),
    )
    for kind, read in readers:
        if isinstance(model, kind):
            if hasattr(model, "classes_"):
                classes_of(model.classes_, type(model).__name__)  # before trees are taken apart
            return read(model)
    return None


def _reading(model: Any, trees: Sequence[dict[str, Any]], **given: Any) -> Reading:
    names = getattr(model, "feature_names_in_", None)
    if hasattr(model, "classes_"):
        given["classes"] = np.asarray(model.classes_)
    else:
        given |= REGRESSES
    return Reading(
        n_columns=model.n_features_in_,
        names=None if names is None else tuple(names),
        **given,
        **end_to_end(trees),
    )


def _read_shares(model: Any, trees: Sequence[Any]) -> Reading:
    """A tree or forest, whose leaves hold the share of each class."""
    two = len(model.classes_) == 2
    parts = [_arrays(tree.tree_) | _shares(tree.tree_.value[:, 0], two) for tree in trees]
    return _reading(
        model,
        parts,
        ask=lambda seen: model.predict_proba(named(model, seen))[:, 1 if two else slice(None)],
        combine="mean",
        rounds=True,
    )


def _shares(share: np.ndarray, two: bool) -> dict[str, Any]:
    """The shares of all classes in each node (nodes x classes), as a reading has them."""
    if two:
        return {"value": share[:, 1], "first": share[:, 0]}
    return {"value": np.zeros(len(share)), "scores": share}


def _read_means(model: Any, trees: Sequence[Any]) -> Reading:
    """A tree or forest that predicts a number, whose leaves hold means."""
    if model.n_outputs_ > 1:
        name = type(model).__name__
        raise InvalidSpec(f"{name} predicts {model.n_outputs_} targets at once; one is allowed.")
    parts = [_arrays(tree.tree_) | {"value": tree.tree_.value[:, 0, 0]} for tree in trees]
    return _reading(
        model,
        parts,
        ask=lambda seen: model.predict(named(model, seen)),
        combine="mean",
        rounds=True,
    )


def _read_boosted(model: Any) -> Reading:
    parts = [
        # The library scales a leaf's value by the learning rate before it adds it.
        [
            _arrays(tree.tree_) | {"value": model.learning_rate * tree.tree_.value[:, 0, 0]}
            for tree in stage
        ]
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


def _stages(parts: Sequence[Sequence[dict[str, Any]]], start: np.ndarray) -> Sequence[Any]:
    """The trees of each stage one after the other; of several classes one for each, and a start."""
    n = len(start)
    if n == 1:
        return [part for (part,) in parts]
    return starting_from(start, [scored(one, k, n) for part in parts for k, one in enumerate(part)])


def _start_of(model: Any) -> np.ndarray:
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


def _read_histogram(model: Any) -> Reading:
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
    parts = [[_histogram_arrays(tree) for tree in stage] for stage in model._predictors]
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


def preparation_of(model: Any) -> Any:
    """The encoder that histogram boosting keeps inside for category columns, if it has one."""
    return getattr(model, "_preprocessor", None)


def _asks_without_preparing(model: Any) -> Curve:
    """Margins of columns that have been through the model's own encoder already."""
    if preparation_of(model) is None:
        return lambda seen: _margin(model, named(model, seen))
    prepared = copy(model)
    prepared._preprocessor = None
    if hasattr(prepared, "feature_names_in_"):
        del prepared.feature_names_in_
    return lambda seen: _margin(prepared, seen)


def _margin(model: Any, seen: Any) -> np.ndarray:
    """What a boosted model adds up: the margin of a classifier, what a regressor predicts."""
    ask = model.decision_function if hasattr(model, "classes_") else model.predict
    return np.asarray(ask(seen))


def _histogram_arrays(tree: Any) -> dict[str, Any]:
    nodes = tree.nodes
    leaf = nodes["is_leaf"].astype(bool)
    by_set = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    codes = {
        int(node): codes_in(tree.raw_left_cat_bitsets[nodes["bitset_idx"][node]]) for node in by_set
    }
    return {
        "column": np.where(leaf, -1, nodes["feature_idx"].astype(np.int64)),
        "threshold": nodes["num_threshold"].astype(np.float64),
        "left": nodes["left"].astype(np.int64),
        "right": nodes["right"].astype(np.int64),
        "value": nodes["value"].astype(np.float64),
        "missing_left": nodes["missing_go_to_left"].astype(bool),
        "codes": codes,
    }


def _arrays(tree: Any) -> dict[str, Any]:
    """Splits of one of scikit-learn's own trees."""
    leaf = tree.children_left < 0
    return {
        "column": np.where(leaf, -1, tree.feature),
        "threshold": tree.threshold,
        "left": tree.children_left,
        "right": tree.children_right,
        "missing_left": tree.missing_go_to_left.astype(bool),
    }


def named(model: Any, seen: np.ndarray) -> Any:
    """A matrix under the names that an estimator was trained with, so that it does not warn."""
    names = getattr(model, "feature_names_in_", None)
    return seen if names is None else pd.DataFrame(seen, columns=list(names))
