"""The question behind every answer: which model, which people, at what cost and within what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ract._frames import read_table, take_rows
from ract.costs import Cost, FittedCost, make_cost, reweighted
from ract.encoding import Axis, Encoder
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidData, InvalidSpec, listing
from ract.interop import TreeModel, read_model
from ract.interop.agree import check_decisions
from ract.interop.model import OwnModel
from ract.recourse.common.limits import check_budget

TIME_LIMIT = 10.0  # seconds per person, by default


class Confirmed(NamedTuple):
    """Plans as columns hold them, the ends of their ranges, and which plans the model accepts."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    accepted: np.ndarray


@dataclass(frozen=True)
class Question:
    """What these people can do to get the desired class of this model.

    Parameters
    ----------
    model : classifier
        As it was given.
    tree : TreeModel
        The model as trees over encoded columns.
    people : frame or array
        As they were given.
    matrix : float (people, columns)
        The same, encoded.
    cost : FittedCost
    budget : float
        Most that an action may cost; inf without a limit.
    reference : frame or array, optional
        People from whom costs are learned; the people asked about by default.
    threshold : float, optional
        The probability that decides, where it is not the model's own rule.
    """

    model: Any
    tree: TreeModel
    people: Any
    matrix: np.ndarray
    cost: FittedCost
    budget: float
    reference: Any = None
    threshold: float | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        *,
        actions: Any = None,
        desired: Any = None,
        threshold: float | None = None,
        reference: Any = None,
        cost: str | Cost | None = None,
        budget: float | None = None,
    ) -> Question:
        """Read the model, encode the people, learn the cost; each of them once.

        Parameters are those of ``ract.find_recourse``. Cost and budget are the model's own unless
        they are given; without either, percentile cost and no limit.
        """
        known = X if reference is None else reference
        tree = read_model(model, known, actions, desired=desired, threshold=threshold)
        budget, matrix = own_budget(model, budget), tree.encoder.matrix(X)
        _check_order(read_table(X).names, tree.encoder.feature_names)
        check_decisions(model, tree, X, matrix, threshold)
        if cost is None and hasattr(model, "cost_"):
            fitted: FittedCost = model.cost_
        else:
            learned_from = matrix if reference is None else tree.encoder.matrix(reference)
            spec = make_cost("percentile" if cost is None else cost)
            fitted = spec.fit(list(learned_from.T), tree.encoder.weights)
        return cls(model, tree, X, matrix, fitted, budget, reference, threshold)

    @property
    def ensemble(self) -> TreeEnsemble:
        """The model's trees."""
        return self.tree.ensemble

    @property
    def encoder(self) -> Encoder:
        """From the user's own table to encoded columns."""
        return self.tree.encoder

    @cached_property
    def known(self) -> np.ndarray:
        """The reference people, encoded."""
        return self.matrix if self.reference is None else self.encoder.matrix(self.reference)

    @cached_property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        if isinstance(self.people, pd.DataFrame):
            return self.people.index
        return pd.RangeIndex(len(self.matrix))

    def confirmed(
        self, rows: np.ndarray, values: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> Confirmed:
        """Put plans and the two ends of their ranges to the model, as the columns hold them.

        A value that a column rounds back (a double in a column of singles) moves on to the next
        one that the column holds, or back if that is beyond a bound. A range of which the model
        refuses an end shrinks to the plan.

        Parameters
        ----------
        rows : int (plans,)
            Whose plans they are.
        values : float (plans, columns)
        low, high : float (plans, axes)
            Ends of their ranges; infinite where there is none, NaN where nothing is proved.
        """
        encoder, narrow = self.encoder, self.encoder.narrow(self.people)
        columns = [axis.columns[0] for axis in encoder.axes]
        lower, upper = np.array([axis.feature.bounds for axis in encoder.axes]).T
        goal, own = values[:, columns], self.matrix[rows][:, columns]
        least = np.where(goal > own, goal, np.where(np.isnan(low), lower, low))
        most = np.where(goal < own, goal, np.where(np.isnan(high), upper, high))
        least[goal == own] = most[goal == own] = np.nan
        values = encoder.held(values, narrow, least, most)
        goal = values[:, columns]
        corners = []
        for end in (low, high):
            corner = values.copy()
            corner[:, columns] = np.where(np.isfinite(end), end, goal)
            corners.append(encoder.held(corner, narrow, low, high))
        asked = self._accepts(np.tile(rows, 3), np.vstack([values, *corners]))
        accepted, *ends = np.split(asked, 3)
        accepted = accepted & ~((goal < low) | (goal > high)).any(axis=1)
        ranged = np.logical_and(*ends)[:, None]
        low, high = (
            np.where(np.isfinite(end), np.where(ranged, corner[:, columns], goal), end)
            for end, corner in zip((low, high), corners, strict=True)
        )
        return Confirmed(values, low, high, accepted)

    def _accepts(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether the model gives encoded people the desired class, asked as a user would."""
        model = self.model
        by_predict = hasattr(model, "predict") and hasattr(model, "classes_")
        if isinstance(self.tree, OwnModel) or self.threshold is not None or not by_predict:
            return self.ensemble.decide(values)
        table = self.encoder.decode(values, like=take_rows(self.people, rows))
        return np.asarray(np.asarray(model.predict(table)) == self.tree.desired)

    def with_rules(self, axes: tuple[Axis, ...]) -> Question:
        """The same question under other rules: where weights differ, with another cost."""
        weights = [(axis.feature.weight, own.feature.weight, own)
                   for axis, own in zip(axes, self.encoder.axes, strict=True)]  # fmt: skip
        if all(new == old for new, old, _ in weights):
            return self
        factors = np.ones(self.encoder.n_columns)
        for new, old, own in weights:
            if new != old and old == 0:
                raise InvalidSpec(
                    f"Changing {own.feature.name!r} is free for everybody (weight 0); nothing is "
                    "known of its effort that an override could weigh."
                )
            factors[list(own.columns)] = 1.0 if new == old else new / old
        return replace(self, cost=reweighted(self.cost, factors))

    def by(self, ensemble: TreeEnsemble) -> Question:
        """The same question to other trees over the same columns."""
        return replace(self, tree=replace(self.tree, ensemble=ensemble))


def _check_order(names: Sequence[str], trained: Sequence[str]) -> None:
    """Refuse columns in another order than in training, as the models themselves do."""
    if tuple(names) != tuple(trained):
        raise InvalidData(
            f"The table's columns are in another order than in training: {listing(names, 30)} and "
            f"not {listing(trained, 30)}."
        )


def own_budget(model: Any, budget: float | None = None) -> float:
    """The budget that was given, or the model's own, or no limit."""
    if budget is None:
        budget = getattr(model, "budget", np.inf) if hasattr(model, "ensemble_") else np.inf
    return check_budget(budget)
