"""Which way features may change, and which are kept from the model: proposals and why."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from ract._utils.typing import Label
from ract.data.actions.columns import Findings
from ract.data.actions.feature import Change, Feature
from ract.data.actions.infer import HALF
from ract.data.actions.names import (
    IDENTIFIER,
    better_way,
    fixed_feature,
    past_by_name,
    protected_feature,
    unit_of_time,
)
from ract.data.actions.space import ActionSpace

# A trend counts if chance would show it once in a hundred tables, and if it is not minute.
CHANCE, SMALLEST_TREND = 0.01, 0.03
N_BINS, FEWEST_IN_BIN, AGAINST = 8, 20, 3.0
FEWEST_ROWS = 50

# Years; a time that is longer counts months. And what is an amount rather than a small count.
LONGEST_LIFE, SMALLEST_AMOUNT = 100.0, 20.0

MANY_ZEROS, FEW_VALUES = 0.3, 3

N_FOLDS, MOST_ROWS, FEWEST_OF_A_CLASS = 3, 4000, 30

_MORE = {"increase": "more", "decrease": "less"}


def propose_changes(
    space: ActionSpace,
    X: pd.DataFrame,
    wanted: np.ndarray,
    found: Findings,
    *,
    decided: Collection[str],
    keep: Collection[str],
) -> ActionSpace:
    """The space with what an analyst would propose, and the reasons in what was found.

    Parameters
    ----------
    space : ActionSpace
        Inferred from X.
    X : DataFrame
    wanted : bool (people,)
        Who has the desired class; of either class if nobody said which it is.
    found : Findings
        It is added to.
    decided, keep : collections of str
        Features whose change was decided on, and features that stay in the model.
    """
    features = []
    for feature in space:
        if feature.columns:
            found.note(
                feature.name,
                "one feature: exactly one of its columns is 1 in every row.",
                say=False,
            )
        if feature.name not in decided:
            feature = _fixed(feature, found, keep)
            if feature.actionable and feature.use:
                known = None if space.desired is None else _trend(feature, X, wanted, len(space))
                feature = _directed(feature, known, space.desired, found)
        _note_zeros(feature, X, found)
        _note_time(feature, found)
        if feature.use and feature.actionable and feature.is_number and not feature.columns:
            feature = _within_reason(feature, X[feature.name], found)
        features.append(feature)
    proposed = space.with_features(features)
    _note_auc(proposed, X, wanted, found)
    return proposed


def _note_time(feature: Feature, found: Findings) -> None:
    """Propose how fast something moves that counts years or months, by its name."""
    unit = unit_of_time(feature.name)
    if unit is None or not feature.use or not feature.is_number:
        return
    why, what = "it grows by itself", "drift"
    if feature.actionable:
        why, what = "more of it takes its time", "pace"
    said = f'if it counts {unit}s, {why}: {what} = 1 with per = "{unit}".'
    found.note(feature.name, said, say=False)


def _within_reason(feature: Feature, column: pd.Series, found: Findings) -> Feature:
    """Narrower limits than the size rule's: a share of the person's own amount, two years' wait.

    The size rule counts half of the column's median, which is more than an income far below it.
    """
    values = column.dropna().to_numpy(np.float64)
    low, median, high = np.percentile(values, (25, 50, 75))
    most = _short(high - low) if high > low else None
    unit = unit_of_time(feature.name) if feature.change == "increase" else None
    if unit is not None:
        longest = 24.0 if unit == "month" or values.max() > LONGEST_LIFE else 2.0
        found.note(feature.name, "nobody is asked to wait longer than two years.", say=False)
        return replace(feature, max_relative=HALF, max_change=min(longest, most or longest))
    if values.min() <= 0 or median < SMALLEST_AMOUNT:
        return feature
    found.note(
        feature.name,
        "nobody is asked for more than half of their own value: with median = 0 that of the "
        "column does not count.",
        say=False,
    )
    return replace(feature, max_relative=HALF, max_change=most, median=0.0)


def _short(number: float) -> float:
    """A positive number with two digits, rounded down."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return round(math.floor(number / unit + 1e-9) * unit, 12)


def _fixed(feature: Feature, found: Findings, keep: Collection[str]) -> Feature:
    """What nobody can change held fixed; protected attributes and names kept from the model."""
    attribute, name = protected_feature(feature), feature.name
    if attribute is None and fixed_feature(feature) == IDENTIFIER:
        attribute = IDENTIFIER
    if attribute is not None and name not in keep:
        found.unused[name] = attribute
        return replace(feature, change="fixed", use=False)
    reason = attribute or found.fixed.get(name) or past_by_name(name)
    if reason is None:
        return feature
    found.fixed[name] = reason
    found.note(name, f"proposed as fixed: {reason}.", say=False)
    return replace(feature, change="fixed")


def _trend(feature: Feature, X: pd.DataFrame, wanted: np.ndarray, n_columns: int) -> Trend | None:
    """How acceptance goes with a number, or with categories that have an order."""
    if feature.columns:
        return None
    column = X[feature.name]
    if not feature.is_categorical:
        return trend(column.to_numpy(np.float64, na_value=np.nan), wanted, n_columns)
    if len(feature.categories) != 2:
        return None
    position = {category: float(k) for k, category in enumerate(feature.categories)}
    values = column.map(lambda cell: position.get(cell, np.nan)).to_numpy(np.float64)
    return trend(values, wanted, n_columns)


def _directed(
    feature: Feature, known: Trend | None, desired: Label | None, found: Findings
) -> Feature:
    """One direction, where a name or the data say which; else fixed."""
    by_name: Change | None = None
    by_data: Change | None = None
    if not feature.is_categorical or feature.name in found.orders:  # a number, or no and yes
        by_name = better_way(feature.name)
        if known is not None:
            by_data = "increase" if known.rises else "decrease"
    way = by_name or by_data
    if way is None:
        return _undirected(feature, desired, found)
    found.directed[feature.name] = way
    found.note(
        feature.name, f"proposed to {way} only: {_why(by_name, by_data, known, desired)}", say=False
    )
    return replace(feature, change=way)


def _undirected(feature: Feature, desired: Label | None, found: Findings) -> Feature:
    """Fixed, and what is missing for a direction: a letter asks for nothing without one."""
    helps = None if feature.columns else better_way(feature.name)
    if not feature.is_categorical and desired is None:
        found.undirected.append(feature.name)
        found.note(
            feature.name,
            "without a direction: its name does not say which way is better; say increase or "
            "decrease, or which class is desired, so that the data can be asked.",
            say=False,
        )
        return feature
    if not feature.is_categorical:
        reason = "neither its name nor the data say which way is better"
        how = "say increase or decrease if that can be asked of people"
    elif helps is not None:
        reason = f"by its name {_MORE[helps]} of it helps, but its categories have no order"
        how = "list them from the lowest to the highest and say increase or decrease"
    else:
        reason = "categories without an order, of which none is better"
        how = (
            "say any if each of them can be asked of people, or list them from the lowest to the "
            "highest and say increase or decrease"
        )
    found.fixed[feature.name] = reason
    found.note(feature.name, f"proposed as fixed: {reason}; {how}.", say=False)
    return feature.moving("fixed")


def _why(
    by_name: Change | None, by_data: Change | None, known: Trend | None, desired: Label | None
) -> str:
    data = ""
    if known is not None and by_data is not None:
        data = f"in the data {_MORE[by_data]} of it goes with {desired!r} (AUC {known.area:.2f})"
    if by_name is None:
        return f"{data}; change it if that cannot be asked of people."
    named = f"by its name {_MORE[by_name]} of it helps"
    if not data:
        return f"{named}; the data show no clear trend."
    if by_name == by_data:
        return f"{named}, and {data}."
    return f"{named}, but {data}: look into this column."


def _note_zeros(feature: Feature, X: pd.DataFrame, found: Findings) -> None:
    if feature.columns or feature.is_categorical or not (feature.actionable and feature.use):
        return
    if share := share_of_zeros(X[feature.name]):
        found.note(
            feature.name,
            f"0 in {share:.0%} of the rows: measured in percentiles, a step to or from 0 "
            "looks small however far it is; give it a lower or an upper bound, or a weight.",
        )


def _note_auc(space: ActionSpace, X: pd.DataFrame, wanted: np.ndarray, found: Findings) -> None:
    """What it costs to keep attributes from the model."""
    if not found.unused:
        return
    measured = auc_with_and_without(X, wanted, space.unused)
    cost = ""
    if measured is not None:
        before, after = measured
        it, together = ("them", " together") if len(found.unused) > 1 else ("it", "")
        found.auc_lost = (
            f"leaving {it} out{together} costs {max(0.0, before - after):.3f} of AUC "
            f"({before:.3f} with, {after:.3f} without)"
        )
        cost = f"; {found.auc_lost}"
    for name, attribute in found.unused.items():
        what = "an identifier" if attribute == IDENTIFIER else f"a protected attribute, {attribute}"
        found.note(name, f"proposed to be left out of the model: {what}{cost}.", say=False)


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
    test = mannwhitneyu(values[desired], values[~desired], method="asymptotic")
    area = float(test.statistic / (n_desired * (len(values) - n_desired)))  # of the ROC curve
    if abs(area - 0.5) < SMALLEST_TREND:
        return None
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
    codes = X.apply(_as_numbers)
    return _auc(codes, desired), _auc(codes[left], desired)


def _as_numbers(column: pd.Series) -> pd.Series:
    """Numbers as floats, and anything else by its position among the sorted values."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return pd.Series(pd.factorize(column, sort=True)[0].astype(float), column.index)


def _auc(X: pd.DataFrame, desired: np.ndarray) -> float:
    model = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=15, random_state=0
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    # Threads of small fits wait for each other: on a busy machine that takes minutes.
    with threadpool_limits(1, "openmp"):
        score = cross_val_predict(model, X, desired, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(desired, score))
