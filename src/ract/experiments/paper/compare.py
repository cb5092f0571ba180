"""Whether our numbers differ from the recorded ones by more than the noise of both.

A number is the mean of a measure over the folds of one setting. Its noise is that of the folds:
the difference of two means lies within the noise of both when its Welch interval (two-sided, 95%)
holds zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from ract.experiments.paper.settings import EXPERIMENTS, METHODS, RACT, DataSetting, Experiment

CONFIDENCE = 0.95
FEWEST_FOLDS = 10
ROUNDING = 1e-6
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
    ours, recorded : float
        Means over folds.
    ours_sd, recorded_sd : float
        Standard deviations over folds.
    n_ours, n_recorded : int
    low, high : float
        Welch interval of ours minus recorded.
    equal : bool
        The same in every fold of ours, but for rounding.
    """

    setting: dict[str, object]
    measure: str
    ours: float
    recorded: float
    ours_sd: float
    recorded_sd: float
    n_ours: int
    n_recorded: int
    low: float
    high: float
    equal: bool

    @property
    def difference(self) -> float:
        """Ours minus recorded."""
        return self.ours - self.recorded

    @property
    def within(self) -> bool:
        """Whether it lies within the noise of both."""
        return self.low <= 0.0 <= self.high


def welch(
    ours: np.ndarray, recorded: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Welch interval of the difference of two means.

    Without any spread on either side it is the difference itself, or zero if that is rounding.

    Examples
    --------
    >>> low, high = welch(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]))
    >>> low < 0 < high
    True
    """
    difference = float(ours.mean() - recorded.mean())
    of_ours, of_recorded = ours.var(ddof=1) / len(ours), recorded.var(ddof=1) / len(recorded)
    error = of_ours + of_recorded
    if error < 1e-24:
        return (0.0, 0.0) if abs(difference) < 1e-9 else (difference, difference)
    freedom = error**2 / (
        of_ours**2 / (len(ours) - 1) + of_recorded**2 / (len(recorded) - 1)
    )  # fmt: skip
    half = float(stats.t.ppf(0.5 + confidence / 2, freedom) * np.sqrt(error))
    return difference - half, difference + half


def differences(
    experiment: Experiment, ours: pd.DataFrame, recorded: pd.DataFrame
) -> Iterator[Difference]:
    """Every number of an experiment on a data set that both sides have, with enough folds."""
    keys = [key for key in experiment.keys if key != "Fold"]
    theirs = dict(list(recorded.groupby(keys)))
    for values, rows in ours.groupby(keys, sort=False):
        if values not in theirs:
            continue
        for measure in MEASURES:
            if measure in rows and measure in recorded:
                found = _difference(
                    dict(zip(keys, values, strict=True)), measure, rows, theirs[values]
                )  # fmt: skip
                if found is not None:
                    yield found


def _difference(
    setting: dict[str, object], measure: str, ours: pd.DataFrame, recorded: pd.DataFrame
) -> Difference | None:
    a, b = ours[measure].dropna().to_numpy(), recorded[measure].dropna().to_numpy()
    if min(len(a), len(b)) < 2 or len(b) < FEWEST_FOLDS:
        return None
    low, high = welch(a, b)
    return Difference(
        setting, measure, float(a.mean()), float(b.mean()), float(a.std(ddof=1)),
        float(b.std(ddof=1)), len(a), len(b), low, high, _equal(measure, ours, recorded),
    )  # fmt: skip


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
    mine, theirs = selected(experiment, data, ours), selected(experiment, data, recorded)
    for measure, sign in ORDERED.items():
        for first, second in combinations(METHODS, 2):
            values = [
                _values(rows, method, measure)
                for rows in (mine, theirs)
                for method in (first, second)
            ]
            if min(len(part) for part in values) < 2:
                continue
            low, high = welch(values[3], values[2])
            yield Order(
                measure, (first, second), sign * float(values[1].mean() - values[0].mean()),
                sign * float(values[3].mean() - values[2].mean()), not low <= 0.0 <= high,
            )  # fmt: skip


def _values(rows: pd.DataFrame, method: str, measure: str) -> np.ndarray:
    return np.asarray(rows.loc[rows["Method"] == method, measure].dropna(), dtype=np.float64)


def share_within(found: Sequence[Difference]) -> float:
    """Share of numbers within the noise of both; 1 if there are none."""
    return float(np.mean([one.within for one in found])) if found else 1.0


def importances(data: DataSetting, rows: pd.DataFrame, method: str) -> pd.Series:
    """Mean share of splits by feature of a method, RACT as selected."""
    chosen = selected(EXPERIMENTS["forests"], data, rows)
    return chosen[chosen["Method"] == method].mean(numeric_only=True)
