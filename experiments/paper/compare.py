"""Whether our numbers differ from the recorded ones by more than the noise of both.

A number is the mean of a measure over the folds of one setting. Its noise is that of the folds:
the difference of two means lies within the noise of both when its Welch interval (two-sided, 95%)
holds zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from experiments.data import DataSetting
from experiments.paper.settings import EXPERIMENTS, METHODS, RACT, Experiment

CONFIDENCE = 0.95
FEWEST_FOLDS = 10
ROUNDING = 1e-6
# Folds that differ by less are the same number, and so are means without any spread.
SPREADLESS, SAME_MEAN = 1e-12, 1e-9
# What the paper reports; its "validity" is the share of refused people with an action within the
# budget. Recorded times are of another machine.
MEASURES = (
    "Accuracy", "AUC", "Recourse", "Validity", "Budget-Validity", "Valid-Cost", "Plausibility",
)  # fmt: skip
# Where more is better (1) or less is (-1), for the order of the methods.
ORDERED = {"Accuracy": 1, "Recourse": 1, "Budget-Validity": 1, "Valid-Cost": -1}


@dataclass(frozen=True)
class Difference:
    """One number of ours beside the recorded one.

    Parameters
    ----------
    setting : dict
        Method, weight and so on.
    measure : str
    ours, recorded : float (folds,)
    equal : bool
        The same in every fold of ours, but for rounding.
    """

    setting: dict[str, object]
    measure: str
    ours: np.ndarray
    recorded: np.ndarray
    equal: bool

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Welch interval of ours minus recorded."""
        return welch(self.ours, self.recorded)

    @property
    def within(self) -> bool:
        """Whether it lies within the noise of both."""
        low, high = self.interval
        return low <= 0.0 <= high


def welch(ours: np.ndarray, recorded: np.ndarray) -> tuple[float, float]:
    """Welch interval of the difference of two means.

    Without any spread on either side it is the difference itself, or zero if that is rounding.

    Examples
    --------
    >>> low, high = welch(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]))
    >>> low < 0 < high
    True
    """
    if max(np.ptp(ours), np.ptp(recorded)) < SPREADLESS:
        difference = float(ours.mean() - recorded.mean())
        return (0.0, 0.0) if abs(difference) < SAME_MEAN else (difference, difference)
    with warnings.catch_warnings():  # of lost precision, when one side is without spread
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.ttest_ind(ours, recorded, equal_var=False)
    low, high = test.confidence_interval(CONFIDENCE)
    return float(low), float(high)


def differences(
    experiment: Experiment, ours: pd.DataFrame, recorded: pd.DataFrame
) -> Iterator[Difference]:
    """Every number of an experiment on a data set that both sides have, with enough folds."""
    keys = [key for key in experiment.keys if key != "Fold"]
    theirs = dict(list(recorded.groupby(keys)))
    for values, rows in ours.groupby(keys, sort=False):
        if values not in theirs:
            continue
        setting = dict(zip(keys, values, strict=True))
        for measure in MEASURES:
            if measure in rows and measure in recorded:
                both = rows, theirs[values]
                mine, other = (side[measure].dropna().to_numpy() for side in both)
                if len(mine) >= 2 and len(other) >= FEWEST_FOLDS:
                    yield Difference(setting, measure, mine, other, _equal(measure, *both))


def _equal(measure: str, ours: pd.DataFrame, recorded: pd.DataFrame) -> bool:
    mine, theirs = (rows.set_index("Fold")[measure] for rows in (ours, recorded))
    expected = theirs.reindex(mine.index)
    return bool(np.allclose(mine, expected, rtol=0.0, atol=ROUNDING, equal_nan=True))


def selected(experiment: Experiment, data: DataSetting, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that the paper's comparison is made of: baselines, and RACT as selected."""
    chosen = rows["Method"] != RACT
    if experiment.model == "tree":
        alpha, delta = rows["Alpha"], rows["Delta"]
        chosen |= (alpha == data.tree_weight) & (delta == data.tree_risk)
    else:
        chosen |= rows["Alpha"] == data.forest_weight
    return rows[chosen]


def by_method(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each method, in the paper's order."""
    return {method: rows[rows["Method"] == method] for method in METHODS}


@dataclass(frozen=True)
class Order:
    """Whether two methods stand in the same order in our numbers and in the recorded ones."""

    measure: str
    methods: tuple[str, str]
    ours: float
    recorded: float
    clear: bool

    @property
    def agrees(self) -> bool:
        """The same order; or no clear order in the recorded numbers."""
        return not self.clear or np.sign(self.ours) == np.sign(self.recorded)


def orders(
    experiment: Experiment, data: DataSetting, ours: pd.DataFrame, recorded: pd.DataFrame
) -> Iterator[Order]:
    """The order of every two methods by every measure.

    ``ours`` and ``recorded`` of each is by how much the second method is better than the first;
    it is clear when the Welch interval of the recorded folds does not hold zero.
    """
    sides = [by_method(selected(experiment, data, rows)) for rows in (ours, recorded)]
    for measure, sign in ORDERED.items():
        for methods in combinations(METHODS, 2):
            pairs = [
                [side[method][measure].dropna().to_numpy() for method in methods] for side in sides
            ]
            if min(len(values) for pair in pairs for values in pair) >= 2:
                mine, theirs = (
                    sign * float(np.diff([v.mean() for v in pair])[0]) for pair in pairs
                )
                low, high = welch(*pairs[1])
                yield Order(measure, methods, mine, theirs, not low <= 0.0 <= high)


def importances(data: DataSetting, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean share of splits by feature (rows) and method (columns), RACT as selected."""
    experiment = EXPERIMENTS["forests"]
    chosen = by_method(selected(experiment, data, rows))
    keys = list(experiment.keys)
    return pd.DataFrame(
        {method: own.drop(columns=keys, errors="ignore").mean() for method, own in chosen.items()}
    )
