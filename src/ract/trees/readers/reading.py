"""A model as its library holds it: trees over the columns that the library sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.typing import TableLike
from ract.trees.nodes import shifted_nodes
from ract.trees.readers.curves import Curve, ShareCurve

# Arrays of a tree by the names of LibraryTrees; children are numbered within the tree.
TreeArrays = dict[str, Any]

SUPPORTED = (
    "scikit-learn's DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, "
    "ExtraTreesClassifier, GradientBoostingClassifier and HistGradientBoostingClassifier, "
    "LightGBM's LGBMClassifier and Booster, XGBoost's XGBClassifier, XGBRFClassifier and Booster, "
    "CatBoost's CatBoostClassifier, with a threshold the regressors of scikit-learn, LightGBM and "
    "XGBoost of the same kinds, and the models of ract, alone or at the end of a Pipeline, a "
    "GridSearchCV, a CalibratedClassifierCV, a FixedThresholdClassifier or a "
    "TunedThresholdClassifierCV"
)


@dataclass(frozen=True)
class LibraryTrees:
    """Trees of a classifier in the library's own columns and arithmetic.

    Scores are those of the second class, unless there are several. A value goes left where it is
    at most the threshold. What a regressor predicts is the score of "at least" against "at most".

    Parameters
    ----------
    classes : array of labels
    n_columns : int
        How many columns the library sees.
    ask : callable
        The library's own score of the second class for a matrix of the columns it sees; of
        several classes, those of each (rows x classes).
    column : int32 (nodes,)
        -1 for a leaf.
    threshold : float64 (nodes,)
    left, right : int32 (nodes,)
    missing_left : bool (nodes,)
        Whether a missing value goes left.
    value : float64 (nodes,)
    root : int32 (trees,)
    combine : {"mean", "sum"}
    first : float64 (nodes,), optional
        Values of the first class, where the library compares the scores of both classes.
    base, single
        As in TreeEnsemble.
    rounds : bool
        Whether the library rounds a value to single precision before it compares it.
    near_zero : float
        Up to this size the library takes a value of a dense table as zero, whatever its sign.
    takes_missing : bool
        Whether the library predicts for people without a value.
    gap : pair of float, optional
        Ends of the numbers that the library takes as missing.
    in_gap : bool (nodes,), optional
        At which nodes; at all of them by default.
    scores : float64 (nodes, classes), optional
        Values for every class, where there are more than two.
    compares_rounded : bool
        Whether the library chooses among several classes by their rounded probabilities.
    link : callable, optional
        From margins to probabilities of the second class; without one, scores are probabilities.
    chooses : callable, optional
        Whether the library predicts the second class for each of some margins.
    codes : mapping of int to int array
        Category codes that go left at a node; they take the place of its threshold.
    labels : mapping of int to sequence
        Category labels of a column in the order of their codes.
    known : mapping of int to list
        The only categories of a column whose way through the trees is known.
    names : tuple of str, optional
        Column names that the library insists on.
    empty_is_missing : bool
        Whether the library takes what a sparse matrix leaves out as missing, not as zero.
    regresses : bool
        Whether the model predicts a number, which decides once there is a threshold.
    """

    classes: np.ndarray
    n_columns: int
    ask: Curve
    column: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    root: np.ndarray
    combine: Literal["mean", "sum"]
    first: np.ndarray | None = None
    scores: np.ndarray | None = None
    compares_rounded: bool = False
    base: float = 0.0
    single: bool = False
    rounds: bool = False
    near_zero: float = 0.0
    takes_missing: bool = True
    gap: tuple[float, float] | None = None
    in_gap: np.ndarray | None = None
    link: Curve | None = None
    chooses: Curve | None = None
    codes: Mapping[int, np.ndarray] = field(default_factory=dict)
    labels: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    known: Mapping[int, list[Any]] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    empty_is_missing: bool = False
    regresses: bool = False

    @property
    def categorical(self) -> set[int]:
        """Columns that the library takes as categories."""
        split_by = {int(self.column[node]) for node in self.codes}
        return split_by | set(self.labels) | set(self.known)

    def gap_at(self, nodes: np.ndarray) -> np.ndarray:
        """Whether the numbers of the gap are missing at some nodes."""
        return np.ones(len(nodes), bool) if self.in_gap is None else self.in_gap[nodes]

    def takes_as_missing(self, nodes: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Whether some values are missing at some nodes (nodes x values)."""
        missing = np.broadcast_to(np.isnan(value), (len(nodes), len(value)))
        if self.gap is None:
            return missing
        inside = (value >= self.gap[0]) & (value <= self.gap[1])
        return missing | (self.gap_at(nodes)[:, None] & inside)


# What people may want of a number that is predicted, and what a reading of one needs.
ENDS = np.array(["at most", "at least"])
REGRESSES: TreeArrays = {"classes": ENDS, "regresses": True, "link": ShareCurve(0)}


def category_columns(people: TableLike | None) -> dict[int, list[Any]]:
    """Positions of the pandas category columns of a table, and their categories in order."""
    if not isinstance(people, pd.DataFrame):
        return {}
    return {
        j: kind.categories.tolist()
        for j, kind in enumerate(people.dtypes)
        if isinstance(kind, pd.CategoricalDtype)
    }


def end_to_end(trees: Sequence[TreeArrays]) -> TreeArrays:
    """Arrays of several trees in one."""
    first = np.cumsum([0, *(len(tree["column"]) for tree in trees)])
    joined: TreeArrays = {
        name: np.concatenate([np.asarray(tree[name]) for tree in trees])
        for name in trees[0]
        if name not in ("left", "right", "codes")
    }
    for side in ("left", "right"):
        children = [np.where(tree["column"] < 0, -1, tree[side]) for tree in trees]
        joined[side] = shifted_nodes(children, first[:-1])
    joined["column"] = joined["column"].astype(np.int32)
    joined["root"] = first[:-1].astype(np.int32)
    if "codes" in trees[0]:
        joined["codes"] = {
            node + int(start): codes
            for tree, start in zip(trees, first[:-1], strict=True)
            for node, codes in tree["codes"].items()
        }
    return joined


def codes_in(words: np.ndarray) -> np.ndarray:
    """Category codes whose bits are set in words of 32, the lowest first.

    >>> codes_in(np.array([5, 1]))
    array([ 0,  2, 32])
    """
    bytes_ = words.astype("<u4").view(np.uint8)
    return np.flatnonzero(np.unpackbits(bytes_, bitorder="little"))


def checked_labels(
    classes: np.ndarray | list[np.ndarray], name: str, most: float = np.inf
) -> np.ndarray:
    """The labels of a classifier; fewer than two are refused, and more than some number."""
    if isinstance(classes, list):
        raise InvalidSpec(f"{name} predicts {len(classes)} targets at once; one is allowed.")
    labels = np.asarray(classes)
    if not 2 <= len(labels) <= most:
        raise InvalidSpec(
            f"{name} has {len(labels)} class(es), {listing(labels.tolist())}; two are needed."
        )
    return labels
