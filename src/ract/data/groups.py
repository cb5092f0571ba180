"""Groups of people, and metrics of parts of a table, which add up to those of the whole.

Shares are exact to the last person and means up to rounding, however people are divided. A table
in memory is the case of one part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ract._utils import statistics as intervals
from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.statistics import Estimate, difference, ratio
from ract._utils.typing import ColumnLike, TableLike
from ract._utils.validation import INNER_SHARE, check_value
from ract.data.frames import as_narwhals, read_table
from ract.data.sketch import Points

EVERYONE = "everyone"

# Scores of several parts are distinguished up to so many; beyond, neighbours count as equal.
MOST_SCORES = 65_536
MOST_GROUPS = 50


@dataclass(frozen=True)
class MetricColumn:
    """One metric: a value per person, and who counts.

    Parameters
    ----------
    name : str
    values : float or bool (people,)
        Booleans are shares. For "AUC", scores.
    counts : bool (people,)
    desired : bool (people,), optional
        For "AUC": who truly is of the desired class.
    """

    name: str
    values: np.ndarray
    counts: np.ndarray
    desired: np.ndarray | None = None


@dataclass(frozen=True)
class Sums:
    """What is known of one metric of some people; two of them add up.

    Parameters
    ----------
    n : int
        People who count.
    mean : float
    squares : float
        Of the distances from the mean, summed.
    scores : Points, optional
        Of an AUC: the desired people who have each score, and with them as its weight all people.
    is_share : bool
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    scores: Points | None = None
    is_share: bool = False

    @classmethod
    def of(cls, column: MetricColumn, inside: np.ndarray) -> Sums:
        """Those of some people."""
        here = inside & column.counts
        values, is_share = column.values[here], column.values.dtype == np.bool_
        if column.desired is not None:
            score, at = np.unique(values, return_inverse=True)
            desired = np.bincount(at, column.desired[here], len(score))
            scores = Points(score, desired, np.bincount(at, minlength=len(score)).astype(float))
            return cls(len(values), scores=scores)
        if not len(values):
            return cls(is_share=bool(is_share))
        mean = float(values.mean())
        return cls(len(values), mean, float(((values - mean) ** 2).sum()), is_share=bool(is_share))

    def __add__(self, other: Sums) -> Sums:
        n = self.n + other.n
        if self.scores is not None and other.scores is not None:
            return replace(self, n=n, scores=self.scores.joined(other.scores, MOST_SCORES))
        if not self.n or not other.n:
            return self if self.n or other == Sums() else other
        apart, share = other.mean - self.mean, other.n / n
        squares = self.squares + other.squares + apart * apart * self.n * share
        return replace(self, n=n, mean=self.mean + apart * share, squares=squares)

    def estimate(self, confidence: float) -> Estimate:
        """The metric with its interval."""
        if self.scores is not None:
            desired, others = self.scores.counts, self.scores.mass - self.scores.counts
            n, m = int(desired.sum()), int(others.sum())
            if n == 0 or m == 0:
                return intervals.NOTHING
            below = np.cumsum(others) - others / 2
            return intervals.area(float((desired * below).sum() / (n * m)), n, m, confidence)
        if self.is_share:
            return intervals.proportion(round(self.mean * self.n), self.n, confidence)
        spread = math.sqrt(self.squares / (self.n - 1)) if self.n > 1 else math.inf
        return intervals.mean_of(self.n, self.mean, spread, confidence)


@dataclass(frozen=True)
class Metrics:
    """Metrics of some people by group; those of two parts add up.

    Parameters
    ----------
    sums : dict
        By group, which is None if there are none, and name of the metric.
    """

    sums: dict[tuple[Any, str], Sums] = field(default_factory=dict)

    @classmethod
    def of(
        cls, columns: Iterable[MetricColumn], people: TableLike, groups: str | ColumnLike | None
    ) -> Metrics:
        """Those of a part, whose groups are a column or an array of labels."""
        members = members_of(people, groups)
        pairs = product(columns, members.items())
        return cls({(group, c.name): Sums.of(c, inside) for c, (group, inside) in pairs})

    def __add__(self, other: Metrics) -> Metrics:
        return Metrics(add_by_key(self.sums, other.sums))

    def table(self, confidence: float) -> pd.DataFrame:
        """One row per group and metric, as ``ract.evaluation.recourse_report`` has them."""
        check_value("confidence", confidence, INNER_SHARE)
        names = list(dict.fromkeys(name for _, name in self.sums))
        found = list(dict.fromkeys(group for group, _ in self.sums))
        rows = []
        parts: list[tuple[Any, list[Any], list[Any] | None]] = [(EVERYONE, found, None)]
        parts += [(own, [own], [g for g in found if g != own]) for own in sorted_groups(found)]
        for group, inside, others in parts:
            for name in names:
                own = self._sum(name, inside)
                row = {"group": group, "metric": name, "people": own.n}
                estimate = own.estimate(confidence)
                row |= {"value": estimate.value, "low": estimate.low, "high": estimate.high}
                if others is not None:
                    rest = self._sum(name, others).estimate(confidence)
                    row |= _limits("difference", difference(estimate, rest))
                    row |= _limits("ratio", ratio(estimate, rest))
                rows.append(row)
        return pd.DataFrame(rows)

    def _sum(self, name: str, groups: list[Any]) -> Sums:
        return reduce(Sums.__add__, (self.sums[group, name] for group in groups), Sums())


def add_by_key(one: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    """What two parts come to, by key; a key may be in one of them only."""
    both = {key: one[key] + other[key] for key in one if key in other}
    return {**one, **other, **both}


def tallied(
    columns: dict[str, np.ndarray], people: TableLike, groups: str | ColumnLike | None
) -> dict[Any, pd.Series]:
    """By group, None if there are none: the sum of each column; ``add_by_key`` joins two."""
    return {
        group: pd.Series({name: values[inside].sum() for name, values in columns.items()})
        for group, inside in members_of(people, groups).items()
    }


def with_everyone(tallies: dict[Any, pd.Series]) -> list[tuple[Any, pd.Series]]:
    """Everyone's sums, and those of each group in order."""
    everyone = reduce(pd.Series.__add__, tallies.values())
    return [(EVERYONE, everyone), *((group, tallies[group]) for group in sorted_groups(tallies))]


def _limits(name: str, estimate: Estimate) -> dict[str, float]:
    return {
        name: estimate.value,
        f"{name} low": estimate.low,
        f"{name} high": estimate.high,
    }


def group_masks(X: TableLike, groups: str | ColumnLike) -> dict[Any, np.ndarray]:
    """Who is in which group.

    Parameters
    ----------
    X : frame or array
        People.
    groups : str or array (people,)
        A column of X, or everyone's group.

    Returns
    -------
    dict
        From a group's label, in order, to a boolean array over people.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "f"]})
    >>> {group: inside.tolist() for group, inside in group_masks(people, "sex").items()}
    {'f': [True, False, True], 'm': [False, True, False]}
    """
    n_rows, column = read_table(X).n_rows, groups
    if isinstance(groups, str):
        frame = as_narwhals(X)
        if frame is None or groups not in frame.columns:
            names = [] if frame is None else frame.columns
            raise InvalidSpec(
                f"groups is {groups!r}, which is not a column; the columns are {listing(names)}."
            )
        column = frame[groups].to_native()
    labels, declared = pd.Series(np.asarray(column)), None
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        declared = column.dtype.categories
    if labels.shape != (n_rows,):
        raise InvalidData(f"X has {n_rows} rows but groups has shape {labels.shape}.")
    if labels.isna().any():
        raise InvalidData(f"groups has {int(labels.isna().sum())} missing values.")
    observed = sorted_groups(labels.unique().tolist())
    if empty := [] if declared is None else [g for g in declared.tolist() if g not in observed]:
        raise InvalidData(f"Nobody is in the group {listing(empty)}.")
    return {group: (labels == group).to_numpy() for group in observed}


def members_of(X: TableLike, groups: str | ColumnLike | None) -> dict[Any, np.ndarray]:
    """Who is in which group; everyone is in one without a label if there are none."""
    if groups is None:
        return {None: np.ones(len(X), np.bool_)}
    return group_masks(X, groups)


def sorted_groups(groups: Iterable[Any]) -> list[Any]:
    """Labels of groups in their order, if they are not too many; None is none."""
    named = sorted((g for g in groups if g is not None), key=lambda g: (str(type(g)), g))
    if len(named) > MOST_GROUPS:
        raise InvalidData(
            f"groups has {len(named)} different values, more than {MOST_GROUPS}; cut them "
            "into fewer."
        )
    return named
