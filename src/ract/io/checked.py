"""From the plain data of a file back to ract's objects, every rule of theirs checked.

A file can hold anything, whatever its checksums say. What is built here walks and ends: children
come after their parents, every node has one, and columns, tables and labels fit each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.data.actions import ActionSpace, Feature
from ract.data.costs import (
    FittedCost,
    FittedMahalanobis,
    LevelCost,
    LinearCost,
    RelativeLevels,
    Supply,
)
from ract.data.encoder import Encoder
from ract.io.values import entry, label, labels, number, texts
from ract.trees.ensemble import TreeEnsemble
from ract.trees.serialize import TREE_ARRAYS

Arrays = Mapping[str, np.ndarray]

_CLASS_TYPES = re.compile(r"\|O|\|b1|[<|][iu][1248]|<f[48]|<U\d{1,5}")
_NORMS = {
    "levels": ("max", "l1"), "linear": ("max", "l1", "l2"), "relative": ("max",),
    "mahalanobis": ("mahalanobis",),
}  # fmt: skip


def checked_classes(meta: Any, kind: Any) -> np.ndarray:
    """The two classes in the dtype that predictions have."""
    classes = labels(meta, "classes")
    if len(classes) != 2 or classes[0] == classes[1]:
        raise InvalidFile(f"its classes are {classes!r:.60}; two different ones are needed")
    if len({isinstance(one, str) for one in classes}) > 1:
        raise InvalidFile(f"its classes {classes!r:.60} are text and number at once")
    if not isinstance(kind, str) or not _CLASS_TYPES.fullmatch(kind):
        raise InvalidFile(f"its classes have type {kind!r:.60}")
    try:
        array = np.array(classes, dtype=np.dtype(kind))
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(f"its classes {classes!r:.60} are not of type {kind}") from None
    if array.tolist() != classes:
        raise InvalidFile(f"its classes {classes!r:.60} are not of type {kind}")
    return array


def checked_desired(meta: Any, classes: np.ndarray) -> Any:
    """The desired class, as one of the classes."""
    wanted = label(meta.get("desired"), "desired")
    if wanted not in classes.tolist():
        raise InvalidFile(f"its desired class {wanted!r:.60} is not among its classes")
    return classes[classes.tolist().index(wanted)]


def checked_space(meta: Any) -> ActionSpace:
    """An action space."""
    try:
        features = [_feature(one) for one in entry(meta, "features", list)]
        desired = meta.get("desired")
        wanted = None if desired is None else label(desired, "desired")
        # Files of 0.2 have neither limits nor steps.
        rules = texts(meta, "rules") if "rules" in meta else ()
        return ActionSpace(features, wanted, meta.get("limits"), meta.get("steps"), rules)
    except InvalidSpec as error:
        raise InvalidFile(f"its action space is invalid: {str(error).rstrip('.')}") from None


def _feature(meta: Any) -> Feature:
    def said(key: str, *, infinite: bool = False) -> float | None:
        return None if meta.get(key) is None else number(meta, key, infinite=infinite)

    return Feature(
        name=entry(meta, "name", str),
        kind=entry(meta, "kind", (str, type(None))),
        change=entry(meta, "change", str),
        lower=said("lower"),
        upper=said("upper"),
        weight=number(meta, "weight"),
        categories=tuple(labels(meta, "categories")),
        columns=tuple(texts(meta, "columns")),
        missing=None if meta.get("missing") is None else entry(meta, "missing", str),
        supply_cost=said("supply_cost"),
        drift=0.0 if meta.get("per_month") is None else number(meta, "per_month"),
        max_change=said("max_change", infinite=True),
        max_relative=said("max_relative"),
        median=said("median"),
        step=said("step"),
        unit=entry(meta, "unit", str) if "unit" in meta else "",
        label=entry(meta, "label", str) if "label" in meta else "",
        use=True if meta.get("use") is None else entry(meta, "use", bool),
        pace=meta.get("pace"),  # checked by the feature, and so is per
        per=meta.get("per", "month"),
        delay=0.0 if meta.get("delay") is None else number(meta, "delay"),
        within=said("within"),
    )


def checked_encoder(meta: Any) -> Encoder:
    """An encoder, whose space has no blanks and covers the columns of the table."""
    names, space = texts(meta, "columns"), checked_space(entry(meta, "space", dict))
    for feature in space:
        ends = None in (feature.lower, feature.upper)
        if feature.kind is None or (not feature.is_categorical and ends):
            raise InvalidFile(f"feature {feature.name!r:.60} in it has blanks")
        if feature.is_categorical and not feature.categories:
            raise InvalidFile(f"feature {feature.name!r:.60} in it has no categories")
    own = [column for feature in space for column in feature.columns or (feature.name,)]
    if not names or len(set(names)) < len(names) or sorted(names) != sorted(own):
        raise InvalidFile("its action space does not cover the columns of its table")
    return Encoder.of_space(space, names)


def checked_ensemble(meta: Any, arrays: Arrays, encoder: Encoder) -> TreeEnsemble:
    """Trees over the columns of an encoder."""
    trees = {name: arrays[name] for name in TREE_ARRAYS if name in arrays}
    missing = set(TREE_ARRAYS) - {"against", "missing_left"} - set(trees)
    if missing:
        raise InvalidFile(f"its trees lack {sorted(missing)}")
    for name, array in trees.items():
        if array.dtype != TREE_ARRAYS[name] or array.ndim != 1:
            raise InvalidFile(f"the array {name} of its trees has the wrong type or shape")
        if name != "root" and len(array) != len(trees["feature"]):
            raise InvalidFile("the arrays of its trees differ in length")
        finite = np.isfinite(array)
        if name == "threshold":  # an infinite one parts people without a value from all others
            finite |= np.isposinf(array) & _may_be_missing(trees["feature"], encoder)
        if not finite.all():
            raise InvalidFile(f"the array {name} of its trees has numbers that are not finite")
    _check_walks(trees)
    _check_splits(trees, encoder)
    combine = entry(meta, "combine", str)
    cutoff = number(meta, "cutoff", infinite=True)
    n_trees = len(trees["root"])
    if combine not in ("votes", "mean", "sum"):
        raise InvalidFile(f"its trees are combined by {combine!r:.60}")
    if combine == "votes" and not (isinstance(cutoff, int) and 1 <= cutoff <= n_trees):
        raise InvalidFile(f"it asks for {cutoff!r:.60} votes of {n_trees} trees")
    if combine != "mean" and "against" in trees:
        raise InvalidFile("its trees have values of the other class but do not compare them")
    return TreeEnsemble(
        **trees,
        combine=combine,
        cutoff=cutoff,
        base=number(meta, "base"),
        single=entry(meta, "single", bool),
    )


def _check_walks(trees: Arrays) -> None:
    """Every walk ends at a leaf of its own tree, and no node is reached in two ways."""
    feature, left, right, root = (trees[name] for name in ("feature", "left", "right", "root"))
    n, starts = len(feature), root.astype(np.int64)
    if not n or not len(root) or starts[0] != 0 or (np.diff(starts) <= 0).any() or starts[-1] >= n:
        raise InvalidFile("its trees do not stand one after the other")
    node, leaf = np.arange(n), feature == -1
    end = np.append(starts[1:], n)[np.searchsorted(starts, node, side="right") - 1]
    for child in (left, right):
        inside = (child > node) & (child < end)
        if not np.where(leaf, child == -1, inside).all():
            raise InvalidFile("a node in it leads back, out of its tree, or nowhere")
    children = np.concatenate([left[~leaf], right[~leaf]])
    parents = np.bincount(children, minlength=n)
    expected = np.ones(n, np.int64)
    expected[starts] = 0
    if not np.array_equal(parents, expected):
        raise InvalidFile("a node in it has no parent or more than one")


def _check_splits(trees: Arrays, encoder: Encoder) -> None:
    feature, threshold = trees["feature"], trees["threshold"]
    if (feature < -1).any() or (feature >= encoder.n_columns).any():
        raise InvalidFile("a node in it splits on a column that there is not")
    if (trees["label"] > 1).any():
        raise InvalidFile("a leaf in it has a label other than 0 and 1")
    if (trees.get("missing_left", trees["label"]) > 1).any():
        raise InvalidFile("a node in it sends missing values elsewhere than left or right")
    of_category = np.zeros(encoder.n_columns, bool)
    of_category[[j for axis in encoder.axes if axis.is_categorical for j in axis.columns]] = True
    cut = threshold[(feature >= 0) & of_category[feature]]
    if ((cut < 0) | (cut >= 1)).any():
        raise InvalidFile("a node in it splits a category elsewhere than between no and yes")


def _may_be_missing(feature: np.ndarray, encoder: Encoder) -> np.ndarray:
    """Which nodes split on a number that may be missing."""
    columns = [
        axis.columns[0] for axis in encoder.axes if axis.has_missing and not axis.is_categorical
    ]
    return np.isin(feature, columns)


def checked_cost(meta: Any, arrays: Arrays, encoder: Encoder) -> FittedCost:
    """The tables of a cost over the columns of an encoder."""
    n_columns, supply = encoder.n_columns, _checked_supply(meta, encoder)
    kind, norm = entry(meta, "kind", str), entry(meta, "norm", str)
    if norm not in _NORMS.get(kind, ()):
        raise InvalidFile(f"its cost is of kind {kind!r:.60} with norm {norm!r:.60}")
    for name, array in arrays.items():
        if array.dtype == np.float64 and not np.isfinite(array).all():
            raise InvalidFile(f"the table {name} of its cost has numbers that are not finite")
    if kind == "levels":
        return _levels(norm, arrays, n_columns, supply)
    if kind == "linear":
        factors = _table(arrays, "factors", (n_columns,))
        if (factors < 0).any():
            raise InvalidFile("its cost has negative factors")
        origins = _table(arrays, "origins", (n_columns,)) if "origins" in arrays else None
        return LinearCost(norm, factors, supply, origins)
    if kind == "relative":
        scales, factors = (_table(arrays, name, (n_columns,)) for name in ("scales", "factors"))
        if not (scales > 0).all() or (factors < 0).any():
            raise InvalidFile("its cost has scales of 0 or less, or negative factors")
        return RelativeLevels(scales, factors, supply)
    if any(axis.has_missing for axis in encoder.axes):
        raise InvalidFile(f"its cost of kind {kind!r} takes no missing values, which it has")
    precision = _table(arrays, "precision", (n_columns, n_columns))
    return FittedMahalanobis(precision, _table(arrays, "weights", (n_columns,)))


def _checked_supply(meta: Any, encoder: Encoder) -> tuple[Supply, ...]:
    """What handing in a value costs, once for each feature that allows it."""
    listed = meta.get("supply", []) if isinstance(meta, Mapping) else []
    supply = []
    for one in listed if isinstance(listed, list) else [listed]:
        cost, columns = float(number(one, "cost")), entry(one, "columns", list)
        if cost < 0:
            raise InvalidFile(f"handing in a value costs {cost} in it")
        supply.append(Supply(tuple(columns), cost, float(number(one, "middle"))))
    asked = [axis.columns for axis in encoder.axes if axis.feature.may_supply]
    if [one.columns for one in supply] != asked:
        raise InvalidFile("its cost does not price what may be handed in")
    return tuple(supply)


def _levels(norm: Any, arrays: Arrays, n_columns: int, supply: tuple[Supply, ...]) -> LevelCost:
    ends = arrays.get("ends")
    if ends is None or ends.dtype != np.int64 or ends.shape != (n_columns + 1,):
        raise InvalidFile("its cost does not have one table for each column")
    n = int(ends[-1])
    if ends[0] != 0 or (np.diff(ends) < 1).any() or n < n_columns:
        raise InvalidFile("its cost has columns without a table")
    tables = []
    for name in ("knots", "levels"):
        whole = _table(arrays, name, (n,))
        parts = tuple(np.ascontiguousarray(part) for part in np.split(whole, ends[1:-1]))
        if any((np.diff(part) < 0).any() for part in parts):
            raise InvalidFile(f"the table {name} of its cost goes down")
        tables.append(parts)
    return LevelCost(norm, tables[0], tables[1], supply)


def _table(arrays: Arrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.dtype != np.float64 or array.shape != shape:
        raise InvalidFile(f"the table {name} of its cost is missing or has the wrong shape")
    return array
