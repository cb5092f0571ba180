"""From the plain data of a file back to ract's objects, every rule of theirs checked.

A file can hold anything, whatever its checksums say. What is built here walks and ends: children
come after their parents, every node has one, and columns, tables and labels fit each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract._utils.typing import Label
from ract.data.actions import ActionSpace, Feature
from ract.data.costs import FittedCost, Supply
from ract.data.encoder import Encoder
from ract.io import values
from ract.trees.ensemble import TreeEnsemble
from ract.trees.fingerprint import COSTS, TREE_ARRAYS, stored_name

Arrays = Mapping[str, np.ndarray]

_CLASS_TYPES = re.compile(r"\|O|\|b1|[<|][iu][1248]|<f[48]|<U\d{1,5}")
# Of 0.2, spaces have neither limits nor steps nor rules.
_SPACE: dict[str, values.Check] = {
    "features": values.tuple_of(lambda value, key: _feature(value, key)),
    "desired": values.optional(values.label),
    "limits": lambda value, _: value,  # checked by the space, and so are steps
    "steps": lambda value, _: value,
    "rules": values.optional(values.tuple_of(values.text), ()),
}
_ENSEMBLE: dict[str, values.Check] = {
    "combine": values.word_among("votes", "mean", "sum"),
    "cutoff": values.number,
    "base": values.finite,
    "single": values.boolean,
}
_NORMS = {"levels": ("max", "l1"), "linear": ("max", "l1"), "relative": ("max",)}
_REMOVED_NORMS = ("l2", "mahalanobis")


def checked_classes(labels: Sequence[Label], kind: object) -> np.ndarray:
    """The two classes in the dtype that predictions have."""
    classes = list(labels)
    if len(classes) != 2 or classes[0] == classes[1]:
        raise InvalidFile(f"its classes are {classes!r:.60}; two different ones are needed")
    if isinstance(classes[0], str) != isinstance(classes[1], str):
        raise InvalidFile(f"its classes {classes!r:.60} are text and number at once")
    if not isinstance(kind, str) or not _CLASS_TYPES.fullmatch(kind):
        raise InvalidFile(f"its classes have type {kind!r:.60}")
    try:
        array = np.array(classes, dtype=np.dtype(kind))
    except (TypeError, ValueError, OverflowError):
        array = np.array([])
    if array.tolist() != classes:
        raise InvalidFile(f"its classes {classes!r:.60} are not of type {kind}")
    return array


def checked_space(meta: object) -> ActionSpace:
    """An action space."""
    try:
        return ActionSpace(**values.read_fields(meta, _SPACE))
    except InvalidSpec as error:
        raise InvalidFile(f"its action space is invalid: {str(error).rstrip('.')}") from None


def _feature(meta: object, key: str) -> Feature:
    entries = values.record(meta, key)
    return values.read_as(
        Feature,
        {f.name: entries.get(stored_name(f.name)) for f in fields(Feature)},
        categories=values.tuple_of(values.label),
        max_change=values.number,
        pace=lambda value, _: value,  # checked by the feature
    )


def checked_encoder(meta: object) -> Encoder:
    """An encoder, whose space has no blanks and covers the columns of the table."""
    given = values.read_fields(
        meta, {"columns": values.tuple_of(values.text), "space": values.record}
    )
    names, space = given["columns"], checked_space(given["space"])
    for feature in space:
        ends = None in (feature.lower, feature.upper)
        if feature.kind is None or (not feature.is_categorical and ends):
            raise InvalidFile(f"feature {feature.name!r:.60} in it has blanks")
        if feature.is_categorical and not feature.categories:
            raise InvalidFile(f"feature {feature.name!r:.60} in it has no categories")
    covered = [column for feature in space for column in feature.table_columns]
    if not names or len(set(names)) < len(names) or sorted(names) != sorted(covered):
        raise InvalidFile("its action space does not cover the columns of its table")
    return Encoder.of_space(space, names)


def checked_ensemble(meta: object, arrays: Arrays, encoder: Encoder) -> TreeEnsemble:
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
        is_finite = np.isfinite(array)
        if name == "threshold":  # an infinite one parts people without a value from all others
            is_finite |= np.isposinf(array) & _may_be_missing(trees["feature"], encoder)
        if not is_finite.all():
            raise InvalidFile(f"the array {name} of its trees has numbers that are not finite")
    _check_walks(trees)
    _check_splits(trees, encoder)
    rule, n_trees = values.read_fields(meta, _ENSEMBLE), len(trees["root"])
    cutoff = rule["cutoff"]
    if rule["combine"] == "votes" and not (isinstance(cutoff, int) and 1 <= cutoff <= n_trees):
        raise InvalidFile(f"it asks for {cutoff!r:.60} votes of {n_trees} trees")
    if rule["combine"] != "mean" and "against" in trees:
        raise InvalidFile("its trees have values of the other class but do not compare them")
    return TreeEnsemble(**rule | trees)


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


def checked_cost(meta: object, arrays: Arrays, encoder: Encoder) -> FittedCost:
    """The tables of a cost over the columns of an encoder."""
    given = values.read_fields(
        meta,
        {
            "kind": values.text,
            "norm": values.text,
            "supply": values.optional(values.tuple_of(values.record), ()),
        },
    )
    kind, n_columns = given["kind"], encoder.n_columns
    if given["norm"] in _REMOVED_NORMS:
        raise InvalidFile(
            f"its cost has norm {given['norm']!r}, which is no longer supported; a cost is the "
            "largest effort of its features or their sum"
        )
    if given["norm"] not in _NORMS.get(kind, ()):
        raise InvalidFile(f"its cost is of kind {kind!r:.60} with norm {given['norm']!r:.60}")
    for name, array in arrays.items():
        if array.dtype == np.float64 and not np.isfinite(array).all():
            raise InvalidFile(f"the table {name} of its cost has numbers that are not finite")
    given["supply"] = _checked_supply(given["supply"], encoder)
    made, names = COSTS[kind]
    ends = _checked_ends(arrays, n_columns) if kind == "levels" else None
    shape = (n_columns,) if ends is None else (int(ends[-1]),)
    for name in names:
        if name == "origins" and name not in arrays:
            continue
        table = _table(arrays, name, shape)
        if (name == "factors" and (table < 0).any()) or (name == "scales" and (table <= 0).any()):
            raise InvalidFile("its cost has scales of 0 or less, or negative factors")
        given[name] = table if ends is None else _rising_parts(name, table, ends)
    return made(**{f.name: given[f.name] for f in fields(made) if f.name in given})


def _checked_supply(listed: Iterable[object], encoder: Encoder) -> tuple[Supply, ...]:
    """What supplying a value costs, once for each feature that allows it."""
    supply = []
    for meta in listed:
        priced = values.read_as(Supply, meta, columns=values.tuple_of(values.whole))
        if priced.cost < 0:
            raise InvalidFile(f"supplying a value costs {priced.cost} in it")
        supply.append(priced)
    allowed = [axis.columns for axis in encoder.axes if axis.feature.may_supply]
    if [priced.columns for priced in supply] != allowed:
        raise InvalidFile("its cost has no price for values that may be supplied")
    return tuple(supply)


def _checked_ends(arrays: Arrays, n_columns: int) -> np.ndarray:
    """Where the tables of columns begin and end in arrays that hold all of them."""
    ends = arrays.get("ends")
    if ends is None or ends.dtype != np.int64 or ends.shape != (n_columns + 1,):
        raise InvalidFile("its cost does not have one table for each column")
    if ends[0] != 0 or (np.diff(ends) < 1).any() or ends[-1] < n_columns:
        raise InvalidFile("its cost has columns without a table")
    return ends


def _rising_parts(name: str, table: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, ...]:
    """The tables of all columns, none of which goes down."""
    parts = tuple(np.ascontiguousarray(part) for part in np.split(table, ends[1:-1]))
    if any((np.diff(part) < 0).any() for part in parts):
        raise InvalidFile(f"the table {name} of its cost goes down")
    return parts


def _table(arrays: Arrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.dtype != np.float64 or array.shape != shape:
        raise InvalidFile(f"the table {name} of its cost is missing or has the wrong shape")
    return array
