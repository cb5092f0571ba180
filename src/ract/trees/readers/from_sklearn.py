"""Reading scikit-learn's trees, forests and boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from ract._utils.errors import InvalidSpec
from ract.trees.readers.curves import Logistic
from ract.trees.readers.reading import Curve, Reading, codes_in, end_to_end, two_classes


def read_sklearn(model: Any) -> Reading | None:
    """The trees of a fitted scikit-learn classifier; None if it is not one of trees."""
    readers: tuple[tuple[Any, Callable[[Any], Reading]], ...] = (
        (DecisionTreeClassifier, lambda tree: _read_shares(tree, [tree])),
        (
            (RandomForestClassifier, ExtraTreesClassifier),
            lambda forest: _read_shares(forest, forest.estimators_),
        ),
        (GradientBoostingClassifier, _read_boosted),
        (HistGradientBoostingClassifier, _read_histogram),
    )
    for kind, read in readers:
        if isinstance(model, kind):
            two_classes(model.classes_, type(model).__name__)  # before trees are taken apart
            return read(model)
    return None


def _reading(model: Any, trees: Sequence[dict[str, Any]], **given: Any) -> Reading:
    names = getattr(model, "feature_names_in_", None)
    return Reading(
        classes=np.asarray(model.classes_),
        n_columns=model.n_features_in_,
        names=None if names is None else tuple(names),
        **given,
        **end_to_end(trees),
    )


def _read_shares(model: Any, trees: Sequence[Any]) -> Reading:
    """A tree or forest, whose leaves hold the share of each class."""
    parts = [
        _arrays(tree.tree_)
        | {"value": tree.tree_.value[:, 0, 1], "first": tree.tree_.value[:, 0, 0]}
        for tree in trees
    ]
    return _reading(
        model,
        parts,
        ask=lambda seen: model.predict_proba(named(model, seen))[:, 1],
        combine="mean",
        rounds=True,
    )


def _read_boosted(model: Any) -> Reading:
    parts = [
        # The library scales a leaf's value by the learning rate before it adds it.
        _arrays(tree.tree_) | {"value": model.learning_rate * tree.tree_.value[:, 0, 0]}
        for tree in model.estimators_[:, 0]
    ]
    return _reading(
        model,
        parts,
        ask=lambda seen: model.decision_function(named(model, seen)),
        combine="sum",
        base=_start_of(model),
        rounds=True,
        takes_missing=False,
        link=Logistic(2 if model.loss == "exponential" else 1),
        chooses=lambda margin: margin >= 0,
    )


def _start_of(model: Any) -> float:
    """What a boosted sum starts from: the model's own margin when its trees count for nothing."""
    start = model.init_
    constant = isinstance(start, DummyClassifier) and start.strategy != "stratified"
    if not (constant or (isinstance(start, str) and start == "zero")):
        raise InvalidSpec(
            f"GradientBoostingClassifier starts from {start!r}; allowed are init='zero' and one "
            "that is the same for everyone (None, or a DummyClassifier that is not stratified)."
        )
    without_trees = copy(model)
    without_trees.learning_rate = 0.0
    anyone = np.zeros((1, model.n_features_in_))
    return float(without_trees.decision_function(named(model, anyone))[0])


def _read_histogram(model: Any) -> Reading:
    if not hasattr(model, "_predictors") or not hasattr(model, "_baseline_prediction"):
        raise InvalidSpec(
            "This version of scikit-learn keeps the trees of HistGradientBoostingClassifier where "
            "they cannot be read; versions 1.6 to 1.9 are known to work."
        )
    return _reading(
        model,
        [_histogram_arrays(tree) for (tree,) in model._predictors],
        ask=_asks_without_preparing(model),
        combine="sum",
        base=float(model._baseline_prediction.ravel()[0]),
        link=Logistic(),
        chooses=lambda margin: margin > 0,
    )


def preparation_of(model: Any) -> Any:
    """The encoder that histogram boosting keeps inside for category columns, if it has one."""
    return getattr(model, "_preprocessor", None)


def _asks_without_preparing(model: Any) -> Curve:
    """Margins of columns that have been through the model's own encoder already."""
    if preparation_of(model) is None:
        return lambda seen: model.decision_function(named(model, seen))
    prepared = copy(model)
    prepared._preprocessor = None
    if hasattr(prepared, "feature_names_in_"):
        del prepared.feature_names_in_
    return lambda seen: prepared.decision_function(seen)


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
