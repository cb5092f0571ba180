"""What the values of a column suggest: which way is better, codes for no value, many zeros."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, rankdata

# A trend counts if chance would show it once in a hundred tables, and if it is not minute.
CHANCE, SMALLEST_TREND = 0.01, 0.03
N_BINS, FEWEST_IN_BIN, AGAINST = 8, 20, 3.0
FEWEST_ROWS = 50

NEGATIVE_CODES = (-1, -7, -8, -9, -99, -999, -9999, -99999)
HIGH_CODES = (
    96, 97, 98, 99, 996, 997, 998, 999, 9996, 9997, 9998, 9999, 99_999, 999_999, 9_999_999,
    99_999_999, 365_243,
)  # fmt: skip
APART = 2  # how many times the largest other value a high code is

MANY_ZEROS, FEW_VALUES = 0.3, 3

N_FOLDS, MOST_ROWS, FEWEST_OF_A_CLASS = 3, 4000, 30


@dataclass(frozen=True)
class Trend:
    """How acceptance goes with a number.

    Parameters
    ----------
    rises : bool
        Whether more of it goes with acceptance.
    area : float
        Under the ROC curve of this number alone, in the direction of the trend.
    """

    rises: bool
    area: float


def area_under_roc(score: np.ndarray, desired: np.ndarray) -> float:
    """Area under the ROC curve.

    >>> area_under_roc(np.array([1.0, 2.0, 3.0]), np.array([False, False, True]))
    1.0
    """
    n = int(desired.sum())
    ranks = rankdata(score)
    return float((ranks[desired].sum() - n * (n + 1) / 2) / (n * (len(desired) - n)))


def trend(values: np.ndarray, desired: np.ndarray, n_columns: int = 1) -> Trend | None:
    """Which way acceptance goes with a number; None where it is not clear.

    It is clear if a rank test that allows for all the columns finds it, if it is not minute, and
    if no group of values goes clearly against it.

    Parameters
    ----------
    values : float (people,)
        NaN where they are missing.
    desired : bool (people,)
    n_columns : int
        How many columns are looked at.

    Examples
    --------
    >>> x = np.arange(200.0)
    >>> trend(x, x > 120).rises, trend(x, np.arange(200) % 2 == 0), trend(x, abs(x - 100) < 40)
    (True, None, None)
    """
    known = ~np.isnan(values)
    values, desired = values[known], desired[known]
    n_desired = int(desired.sum())
    if len(values) < FEWEST_ROWS or min(n_desired, len(values) - n_desired) < 10:
        return None
    area = area_under_roc(values, desired)
    if abs(area - 0.5) < SMALLEST_TREND:
        return None
    test = mannwhitneyu(values[desired], values[~desired], method="asymptotic")
    if test.pvalue * n_columns > CHANCE or _turns(values, desired, rises=area > 0.5):
        return None
    return Trend(area > 0.5, max(area, 1 - area))


def _turns(values: np.ndarray, desired: np.ndarray, *, rises: bool) -> bool:
    """Whether some later group of values is clearly worse than an earlier one."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    group = np.searchsorted(edges, values, side="left")
    counts = np.bincount(group, minlength=len(edges) + 1).astype(float)
    good = np.bincount(group, desired, minlength=len(edges) + 1)
    large = counts >= FEWEST_IN_BIN
    share, counts = good[large] / counts[large], counts[large]
    if not rises:
        share, counts = share[::-1], counts[::-1]
    error = share * (1 - share) / counts
    first, later = np.triu_indices(len(share), 1)
    drop = share[first] - share[later]
    spread = np.sqrt(error[first] + error[later]) + 1e-12
    return bool((drop / spread > AGAINST).any())


def codes_for_missing(column: pd.Series) -> list[int]:
    """Numbers of a column that look like codes for no value.

    Negative ones among numbers that are otherwise 0 or more, and high ones far above all others.

    >>> codes_for_missing(pd.Series([0, 1, 3, 2, 96, 98, 0]))
    [96, 98]
    >>> codes_for_missing(pd.Series([-1, 300, 250, -1])), codes_for_missing(pd.Series([95, 96, 98]))
    ([-1], [])
    """
    if column.dtype.kind not in "iuf":
        return []
    values = np.unique(column.dropna().to_numpy(np.float64))
    negative = values[values < 0]
    found: list[int] = []
    if len(negative) and np.isin(negative, NEGATIVE_CODES).all() and (values > 0).sum() > 1:
        found += [int(value) for value in negative]
    rest = values[(values >= 0) & ~np.isin(values, HIGH_CODES)]
    if len(rest) > 1:
        high = values[np.isin(values, HIGH_CODES)]
        found += [int(code) for code in high if code >= APART * rest.max()]
    return found


def share_of_zeros(column: pd.Series) -> float:
    """How many of the known numbers are 0, if that is remarkable; else 0."""
    values = column.dropna()
    if column.dtype.kind not in "iuf" or values.nunique() <= FEW_VALUES:
        return 0.0
    share = float((values == 0).mean())
    return share if share >= MANY_ZEROS else 0.0


def auc_with_and_without(
    X: pd.DataFrame, desired: np.ndarray, names: Collection[str]
) -> tuple[float, float] | None:
    """The AUC of boosted trees on all columns, and on all but some; None if rows are too few.

    Measured by cross-validation on at most 4,000 rows, evenly spaced.

    Parameters
    ----------
    X : DataFrame
    desired : bool (people,)
    names : collection of str
        Columns to leave out.
    """
    step = max(1, -(-len(X) // MOST_ROWS))
    X, desired = X.iloc[::step], desired[::step]
    left = [name for name in X.columns if name not in names]
    if not left or min(desired.sum(), (~desired).sum()) < FEWEST_OF_A_CLASS:
        return None
    codes = pd.DataFrame({
        name: X[name].to_numpy(np.float64, na_value=np.nan)
        if X[name].dtype.kind in "biuf" else pd.factorize(X[name], sort=True)[0].astype(float)
        for name in X.columns
    })  # fmt: skip
    return _auc(codes, desired), _auc(codes[left], desired)


def _auc(X: pd.DataFrame, desired: np.ndarray) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    model = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=15, random_state=0
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    score = cross_val_predict(model, X, desired, cv=folds, method="predict_proba")[:, 1]
    return area_under_roc(score, desired)
