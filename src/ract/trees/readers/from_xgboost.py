"""Reading XGBoost's classifiers, from the JSON form of the model."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.typing import TableLike
from ract.trees.readers.reading import (
    REGRESSES,
    LibraryTrees,
    TreeArrays,
    category_columns,
    checked_labels,
    end_to_end,
)
from ract.trees.readers.scoring import scored, starting_from

if TYPE_CHECKING:
    from xgboost import Booster, XGBModel

OBJECTIVES = ("binary:logistic", "reg:logistic", "binary:hinge")
SEVERAL = ("multi:softprob", "multi:softmax")
# What is predicted is the sum itself.
REGRESSIONS = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")


@dataclass(frozen=True)
class Bare:
    """An XGBoost model whose only tree adds nothing: its start and its link, by the library.

    raw : the model in JSON. n_columns : how many columns it takes.
    """

    raw: bytes
    n_columns: int

    def _predict(self, margin: np.ndarray | None, n: int = 1, **settings: bool) -> np.ndarray:
        library = importlib.import_module("xgboost")
        booster = library.Booster({"nthread": 1})
        booster.load_model(bytearray(self.raw))
        anyone = np.zeros((n, self.n_columns), np.float32)
        people = library.DMatrix(anyone, base_margin=margin, nthread=1)
        return booster.predict(people, validate_features=False, **settings)

    def start(self) -> np.ndarray:
        """The margin that sums start from; of several classes, that of each."""
        return np.ravel(self._predict(None, output_margin=True)).astype(np.float32)

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins, in single precision."""
        return self._predict(np.asarray(margin, np.float32), len(margin))


def read_xgboost(model: XGBModel | Booster, people: TableLike | None) -> LibraryTrees:
    """The trees of a fitted XGBClassifier or XGBRegressor, or of a Booster.

    ``people`` is the table that the model itself is given, None after other steps.
    """
    booster: Booster = getattr(model, "get_booster", lambda: model)()
    is_booster = model is booster
    document = json.loads(bytes(booster.save_raw("json")))
    learner = document["learner"]
    _check(learner, model)
    n_classes = int(learner["learner_model_param"]["num_class"])
    classes = getattr(model, "classes_", np.arange(max(2, n_classes)))
    classes = checked_labels(classes, type(model).__name__)
    n_columns = int(learner["learner_model_param"]["num_feature"])
    trees, weights = _trees_and_weights(learner, model)
    bare = _bare(document, n_columns)
    start = bare.start()
    parts: list[TreeArrays] = []
    for k, tree in enumerate(trees):
        part = _arrays(tree)
        if weights is not None:
            part["value"] = _weighted(part["value"], weights[k], start[0], is_booster)
        parts.append(part)
    if n_classes:
        of = _model_of(learner)["tree_info"]
        parts = [scored(part, of[t], n_classes) for t, part in enumerate(parts)]
        parts = starting_from(start, parts)
    decides: TreeArrays = {"classes": classes, "link": bare}
    if learner["objective"]["name"] in REGRESSIONS:
        decides = REGRESSES
    elif not n_classes:
        decides["chooses"] = lambda margin: bare(margin) > 0.5
    return LibraryTrees(
        n_columns=n_columns,
        ask=lambda seen: _margin(model, booster, seen),
        combine="sum",
        base=0.0 if n_classes else float(start[0]),
        single=True,
        compares_rounded=learner["objective"]["name"] == "multi:softprob",
        rounds=True,
        names=None if learner["feature_names"] == [] else tuple(learner["feature_names"]),
        labels=_labels(learner, people),
        gap=_gap(model),
        empty_is_missing=True,
        **decides,
        **end_to_end(parts),
    )


def _check(learner: dict[str, Any], model: XGBModel | Booster) -> None:
    kind = learner["gradient_booster"]["name"]
    if kind not in ("gbtree", "dart"):
        raise InvalidSpec(f"The XGBoost booster is {kind!r}; allowed are 'gbtree' and 'dart'.")
    objective = learner["objective"]["name"]
    param = learner["learner_model_param"]
    allowed = (*OBJECTIVES, *SEVERAL, *REGRESSIONS)
    if objective not in allowed:
        raise InvalidSpec(
            f"The XGBoost objective is {objective!r}; allowed are {listing(allowed)}."
        )
    if kind == "dart" and int(param["num_class"]) > 0:
        raise InvalidSpec("XGBoost's dart models of more than two classes are not supported.")
    if int(param.get("num_target", 1)) > 1:
        raise InvalidSpec(f"The XGBoost model has {param['num_target']} targets; one is allowed.")
    if callable(getattr(model, "objective", None)):
        raise InvalidSpec("An XGBoost model with an objective of its own is not supported.")


def _gap(model: XGBModel | Booster) -> tuple[float, float] | None:
    """The number that the model takes as missing beside NaN, in single precision."""
    missing = getattr(model, "missing", None)
    if missing is None or np.isnan(missing):
        return None
    if not np.isfinite(np.float32(missing)):
        raise InvalidSpec(
            f"The XGBoost model takes {missing!r} as missing; NaN or a finite number is supported."
        )
    number = float(np.float32(missing))
    return number, number


def _trees_and_weights(
    learner: dict[str, Any], model: XGBModel | Booster
) -> tuple[list[Any], np.ndarray | None]:
    """The trees that the model predicts with, and how much each counts in a dart model."""
    boosted, trees = learner["gradient_booster"], _model_of(learner)["trees"]
    is_dart = boosted["name"] == "dart"
    weights = np.array(boosted["weight_drop"], np.float32) if is_dart else None
    if not trees:
        raise InvalidSpec("The XGBoost model has no trees.")
    if hasattr(model, "get_booster"):  # a Booster uses all trees, a classifier the best ones
        try:
            rounds = int(model.best_iteration) + 1
        except AttributeError:
            return trees, weights
        trees = trees[: rounds * _trees_a_round(learner)]
    return trees, weights


def _model_of(learner: dict[str, Any]) -> dict[str, Any]:
    boosted = learner["gradient_booster"]
    model: dict[str, Any] = boosted.get("gbtree", boosted)["model"]  # of dart one level deeper
    return model


def _trees_a_round(learner: dict[str, Any]) -> int:
    """Trees of one round: some at once for each class."""
    at_once = int(_model_of(learner)["gbtree_model_param"]["num_parallel_tree"])
    return at_once * max(1, int(learner["learner_model_param"]["num_class"]))


def _bare(document: dict[str, Any], n_columns: int) -> Bare:
    """The model with one tree (of several classes, one round), whose leaves are all zero."""
    learner = document["learner"]
    model, several = _model_of(learner), int(learner["learner_model_param"]["num_class"]) > 0
    n = _trees_a_round(learner) if several else 1
    settings = model["gbtree_model_param"] | {"num_trees": str(n)}
    if not several:
        settings["num_parallel_tree"] = "1"
    info = model["tree_info"][:n] if several else [0]
    trees = [_without_values(tree) for tree in model["trees"][:n]]
    model = model | {"trees": trees, "tree_info": info, "iteration_indptr": [0, n]}
    model["gbtree_model_param"] = settings
    learner = learner | {"gradient_booster": {"name": "gbtree", "model": model}}
    learner |= {"feature_names": [], "feature_types": []}
    return Bare(json.dumps(document | {"learner": learner}).encode(), n_columns)


def _without_values(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree with zero in every leaf."""
    cuts = zip(tree["left_children"], tree["split_conditions"], strict=True)
    return tree | {"split_conditions": [0.0 if child < 0 else cut for child, cut in cuts]}


def _weighted(
    value: np.ndarray, weight: np.float32, start: np.float32, is_booster: bool
) -> np.ndarray:
    """Leaf values of a dart tree, rounded step by step as the library does.

    A classifier predicts in place: each tree starts from the margin of no trees at all, which
    is then taken off again.
    """
    single = value.astype(np.float32)
    if not is_booster:
        single = (start + single) - start
    return (single * weight).astype(np.float64)


def _arrays(tree: dict[str, Any]) -> TreeArrays:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise InvalidSpec("XGBoost's trees with several outputs are not supported.")
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    leaf = left < 0
    by_set = np.array(tree["split_type"]) == 1
    cut = np.array(tree["split_conditions"], np.float32)
    return {
        "column": np.where(leaf, -1, np.array(tree["split_indices"])),
        # Below a single is at most the single before it.
        "threshold": np.nextafter(cut, np.float32(-np.inf)).astype(np.float64),
        # Categories that are listed go right; here what is listed goes left.
        "left": np.where(by_set, right, left),
        "right": np.where(by_set, left, right),
        "value": np.where(leaf, cut, np.float32(0)).astype(np.float64),
        "missing_left": np.array(tree["default_left"], bool) != by_set,
        "codes": _codes(tree),
    }


def _codes(tree: dict[str, Any]) -> dict[int, np.ndarray]:
    """Categories that are listed at a node, by their codes."""
    parts = (tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes"))
    return {
        node: np.array(tree["categories"][first : first + size])
        for node, first, size in zip(*parts, strict=True)
    }


def _labels(learner: dict[str, Any], people: TableLike | None) -> dict[int, list[Any]]:
    """Labels of pandas category columns in the order of their codes.

    The model itself has them since version 3.1; before, codes are those of the table at hand.
    """
    columns = [j for j, kind in enumerate(learner["feature_types"]) if kind == "c"]
    known = _model_of(learner).get("cats", {}).get("enc")
    if known:
        return {j: labels for j in columns if (labels := _decoded(known[j]))}
    return {j: labels for j, labels in category_columns(people).items() if j in columns}


def _decoded(column: dict[str, Any]) -> list[Any]:
    """Categories of a column: numbers, or the bytes of words end to end."""
    if "offsets" not in column:
        return list(column["values"])
    text = bytes(value % 256 for value in column["values"])
    return [text[first:last].decode() for first, last in pairwise(column["offsets"])]


def _margin(model: XGBModel | Booster, booster: Booster, seen: np.ndarray) -> np.ndarray:
    if model is not booster:
        return model.predict(seen, output_margin=True, validate_features=False)
    library = importlib.import_module("xgboost")
    kinds = booster.feature_types
    people = library.DMatrix(seen, feature_types=kinds, enable_categorical=kinds is not None)
    return booster.predict(people, output_margin=True, validate_features=False)
