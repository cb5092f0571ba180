"""Checking actions one by one, in plain NumPy and without a search.

An action is shown by where it takes a person: their encoded values afterwards. It stands if every
feature obeys its rule, missing values stay missing, no more features change than allowed, it costs
no more than the budget, and the model accepts the result. Nothing in this file is shared with the
searches that find actions, nor with the compiled code that predicts: the trees are walked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ract.data.actions import Feature
from ract.data.costs import FittedCost, within
from ract.data.encoder import Axis
from ract.trees.ensemble import TreeEnsemble


def wrong_action(
    ensemble: TreeEnsemble,
    axes: Sequence[Axis],
    cost: FittedCost,
    before: np.ndarray,
    after: np.ndarray,
    budget: float,
    max_changes: int | None,
) -> tuple[int, str] | None:
    """The position of an action that does not stand, and why; None if all of them stand.

    Parameters
    ----------
    ensemble, axes, cost
        The model, the rules of its features, and what actions cost.
    before, after : float (people, columns)
        Encoded values, finite or missing.
    budget : float
    max_changes : int or None

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree(300, max_depth=3)
    >>> before = model.encoder_.matrix(loans.frame[:1])
    >>> after = before.copy()
    >>> after[0, model.encoder_.column_names.index("Age")] -= 1
    >>> wrong_action(
    ...     model.ensemble_, model.encoder_.axes, model.cost_, before, after, 0.3, None)
    (0, "'Age' may not change")
    """
    faults: list[tuple[str, np.ndarray]] = []
    n_changes = np.zeros(len(before), np.int64)
    for axis in axes:
        start, stop = before[:, list(axis.columns)], after[:, list(axis.columns)]
        both = np.isnan(start) & np.isnan(stop)
        n_changes += ((start != stop) & ~both).any(axis=1)
        name = axis.feature.name
        lost = np.isnan(start) != np.isnan(stop)
        if axis.has_missing and axis.is_categorical:  # the last column marks missing values
            lost[:, -1] |= start[:, -1] != stop[:, -1]
        faults.append((f"{name!r} is missing, before or after only", lost.any(axis=1)))
        start, stop = np.where(both, 0.0, start), np.where(both, 0.0, stop)
        faults += [(f"{name!r} {why}", bad) for why, bad in _breaches(axis.feature, start, stop)]
    if max_changes is not None:
        faults.append((f"more than {max_changes} features change", n_changes > max_changes))
    faults.append(("it costs more than the budget", ~within(cost.between(before, after), budget)))
    faults.append(("the model refuses the result", ~accepts(ensemble, after)))
    for why, bad in faults:
        if bad.any():
            return int(bad.argmax()), why
    return None


def _breaches(
    feature: Feature, start: np.ndarray, stop: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Each rule of a feature, and who breaks it."""
    if feature.is_categorical:
        is_one = np.isin(stop, (0.0, 1.0)).all(axis=1) & (stop.sum(axis=1) == 1)
        yield "is not one of its categories", ~is_one
        x, v = start.argmax(axis=1), stop.argmax(axis=1)  # later categories count as higher
    else:
        x, v = start[:, 0], stop[:, 0]
        if feature.kind != "continuous":
            yield "is not a whole number", v != np.floor(v)
        # Who stands beyond a bound may stay there, or come back by any amount.
        low = -np.inf if feature.lower is None else feature.lower
        high = np.inf if feature.upper is None else feature.upper
        yield "leaves its bounds", (v < np.minimum(x, low)) | (v > np.maximum(x, high))
        yield "moves further than its limit", ~within(np.abs(v - x), _limit(feature, x))
        if feature.within is not None and feature.pace is not None:
            yield "moves faster than its pace", ~_in_time(feature, x, v)
        if feature.step:
            yield "does not end at a step", (v != x) & ~_is_round(v, np.abs(v - x), feature.step)
    if feature.within is not None and feature.within < feature.delay:
        yield "may not change so soon", v != x
    if feature.change == "fixed":
        yield "may not change", v != x
    if feature.change == "increase":
        yield "may not fall", v < x
    if feature.change == "decrease":
        yield "may not rise", v > x


def _limit(feature: Feature, x: np.ndarray) -> np.ndarray:
    """How far a number may move from each value."""
    absolute = np.inf if feature.max_change is None else feature.max_change
    if feature.max_relative is None:
        return np.full(len(x), absolute)
    base = np.maximum(np.abs(x), np.abs(feature.median or 0.0))
    least = feature.step or (0.0 if feature.kind == "continuous" else 1.0)
    return np.maximum(least, np.minimum(absolute, feature.max_relative * base))


def _in_time(feature: Feature, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Whether numbers move no further than their pace allows in the time that there is."""
    paces = feature.pace if isinstance(feature.pace, tuple) else (feature.pace, feature.pace)
    time = max(0.0, (feature.within or 0.0) - feature.delay) / {"month": 1, "year": 12}[feature.per]
    up, down = (
        float(pace[:-1]) / 100 * np.abs(x) if isinstance(pace, str) else np.full(len(x), pace)
        for pace in paces
    )
    return np.asarray(within(np.abs(v - x), np.where(v > x, up, down) * time))


def _is_round(v: np.ndarray, change: np.ndarray, step: float) -> np.ndarray:
    """Whether values are multiples of a step, and of one that grows with the change."""
    larger = 10.0 ** (np.floor(np.log10(np.maximum(change, 1e-300)) + 1e-10) - 1)
    unit = np.stack([np.full(len(v), step), larger])
    off = np.abs(v - np.round(v / unit) * unit)
    return (off <= 1e-9 * np.maximum(np.abs(v), unit)).all(axis=0)


def accepts(ensemble: TreeEnsemble, X: np.ndarray) -> np.ndarray:
    """Whether each row of encoded values gets the desired class."""
    votes = ensemble.combine == "votes"
    score = _score(ensemble, X, ensemble.label if votes else ensemble.value)
    if ensemble.against is None:
        return score >= ensemble.cutoff
    other = _score(ensemble, X, ensemble.against)
    return score >= other if ensemble.cutoff <= 0.5 else score > other


def _score(ensemble: TreeEnsemble, X: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """What the leaves of each row come to, added up tree by tree."""
    votes, row = ensemble.combine == "votes", np.arange(len(X))
    total = np.full(len(X), 0 if votes else ensemble.base, "f4" if ensemble.single else "f8")
    for root in ensemble.root:
        node = np.full(len(X), root)
        while (inside := ensemble.feature[node] >= 0).any():
            x = X[row, ensemble.feature[node]]
            left = x <= ensemble.threshold[node]
            if ensemble.missing_left is not None:
                left |= np.isnan(x) & (ensemble.missing_left[node] == 1)
            child = np.where(left, ensemble.left[node], ensemble.right[node])
            node = np.where(inside, child, node)
        total += worth[node]
    total = total.astype(np.float64)
    return total / ensemble.n_trees if ensemble.combine == "mean" else total
