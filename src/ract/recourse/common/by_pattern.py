"""People without some values before searches that know only values.

Who has no number keeps none (``missing="stays"``), so that each split on it is decided. For
everyone who lacks the same numbers, the trees without those splits give the same answers:

    Income <= 40,000, or missing?          Age <= 30?
        Age <= 30?                 ->          A
            A                                  B
            B                              for those without an income
        C

A missing category is a category like any other and needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract.data.encoder import Axis
from ract.recourse.common.answers import Answers
from ract.recourse.common.search import Batch, RecourseSearch
from ract.trees.ensemble import TreeEnsemble

Make = Callable[[TreeEnsemble, tuple[Axis, ...]], RecourseSearch]


def solve_by_pattern(
    make: Make, ensemble: TreeEnsemble, axes: Sequence[Axis], batch: Batch
) -> Answers:
    """The answers of a search that takes no missing numbers, for people of whom some are missing.

    Parameters
    ----------
    make : callable
        ``make(ensemble, axes)``: the search for people who lack the same encoded columns; their
        features are fixed and no split asks for them.
    ensemble, axes
        As the search takes them.
    batch : Batch
        People, budgets and limits; its table is filled.
    """
    if not any(axis.has_missing for axis in axes):
        return make(ensemble, tuple(axes)).answers(batch)
    answers = batch.answers
    for rows, lacking in _patterns(batch.people):
        _refuse_supply(axes, lacking)
        limits = batch.limits.of_rows(rows)
        part = Batch.of(np.nan_to_num(batch.people[rows]), batch.budgets[rows], limits)
        search = make(trees_without(ensemble, lacking), _without(axes, lacking))
        found = search.answers(part)
        found.values[:, lacking] = np.nan
        answers.put(rows, found)
    return answers


def refuse_missing_values(axes: Sequence[Axis], what: str, *, categories: bool = True) -> None:
    """Refuse features whose values may be missing, for what cannot take them.

    categories: whether missing categories are refused too.
    """
    names = [
        axis.feature.name
        for axis in axes
        if axis.has_missing and (categories or not axis.is_categorical)
    ]
    if names:
        raise InvalidSpec(f"{what} take no missing values, which column(s) {listing(names)} have.")


def trees_without(ensemble: TreeEnsemble, lacking: np.ndarray) -> TreeEnsemble:
    """The trees as they answer people without a value in some encoded columns.

    Examples
    --------
    >>> trees = TreeEnsemble(
    ...     feature=np.array([0, -1, 1, -1, -1], np.int32), threshold=np.zeros(5),
    ...     left=np.array([1, -1, 3, -1, -1], np.int32),
    ...     right=np.array([2, -1, 4, -1, -1], np.int32),
    ...     label=np.array([0, 0, 0, 0, 1], np.uint8), value=np.zeros(5),
    ...     root=np.zeros(1, np.int32), combine="votes", cutoff=1)
    >>> trees_without(trees, np.array([0])).feature
    array([ 1, -1, -1], dtype=int32)
    """
    if not len(lacking):
        return ensemble
    n, goes = len(ensemble.feature), ensemble.missing_left
    to_left = np.zeros(n, bool) if goes is None else goes == 1
    decided = np.isin(ensemble.feature, lacking)
    stands_for = np.arange(n)  # the node that a node leads to at once
    for node in np.flatnonzero(decided)[::-1]:  # children stand after their parents
        child = ensemble.left[node] if to_left[node] else ensemble.right[node]
        stands_for[node] = stands_for[child]
    root, reachable = stands_for[ensemble.root], np.zeros(n, bool)
    reachable[root] = True
    for node in np.flatnonzero((ensemble.feature >= 0) & ~decided):
        if reachable[node]:
            reachable[stands_for[[ensemble.left[node], ensemble.right[node]]]] = True
    number = np.cumsum(reachable, dtype=np.int32) - 1
    inner = ensemble.feature[reachable] >= 0
    left, right = (
        np.where(inner, number[stands_for[child[reachable]]], np.int32(-1))
        for child in (ensemble.left, ensemble.right)
    )
    of_nodes: dict[str, Any] = {
        name: None if array is None else array[reachable]
        for name, array in (
            (name, getattr(ensemble, name))
            for name in ("feature", "threshold", "label", "value", "against", "missing_left")
        )
    }
    return replace(ensemble, **of_nodes, left=left, right=right, root=number[root])


def _patterns(people: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of people who lack the same columns, and these columns."""
    patterns, of_whom = np.unique(np.isnan(people), axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        yield np.flatnonzero(of_whom.ravel() == k), np.flatnonzero(pattern)


def _without(axes: Sequence[Axis], lacking: np.ndarray) -> tuple[Axis, ...]:
    """The axes without cells for missing numbers; those of the lacking ones are fixed."""
    out = []
    for axis in axes:
        feature = axis.feature
        if axis.has_missing and not axis.is_categorical:
            feature = replace(feature, missing=None, supply_cost=None)
        if axis.columns[0] in lacking:
            feature = feature.moving("fixed")
        out.append(replace(axis, feature=feature))
    return tuple(out)


def _refuse_supply(axes: Sequence[Axis], lacking: np.ndarray) -> None:
    names = [
        axis.feature.name
        for axis in axes
        if axis.feature.may_supply and not axis.is_categorical and axis.columns[0] in lacking
    ]
    if names:
        raise InvalidSpec(
            f"Only the exact method lets people supply a missing "
            f"{listing(names)}; declare missing='stays' for another one."
        )
