"""The question behind every answer: which model, which people, at what cost and within what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ract._frames import take_rows
from ract.costs import Cost, FittedCost, make_cost
from ract.encoding import Encoder
from ract.ensemble import TreeEnsemble
from ract.interop import TreeModel, read_model
from ract.interop.agree import check_decisions
from ract.interop.model import OwnModel
from ract.recourse.common.limits import check_budget

TIME_LIMIT = 10.0  # seconds per person, by default


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

    def confirmed(self, rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Encoded values as the people's columns hold them, and whether the model accepts them.

        rows (plans,): whose plans they are. A value that a column rounds back (a double in a
        column of singles) moves on to the next one that the column holds.
        """
        held = self.encoder.held(values, like=self.people)
        if held is not values:
            up = values > self.matrix[rows]
            short = (held != values) & (up == (held < values))
            beyond = np.where(up, np.inf, -np.inf).astype(np.float32)
            step = np.nextafter(held.astype(np.float32), beyond).astype(np.float64)
            held = self.encoder.held(np.where(short, step, held), like=self.people)
        model = self.model
        by_predict = hasattr(model, "predict") and hasattr(model, "classes_")
        if isinstance(self.tree, OwnModel) or self.threshold is not None or not by_predict:
            return held, self.ensemble.decide(held)
        table = self.encoder.decode(held, like=take_rows(self.people, rows))
        return held, np.asarray(model.predict(table)) == self.tree.desired

    def by(self, ensemble: TreeEnsemble) -> Question:
        """The same question to other trees over the same columns."""
        return replace(self, tree=replace(self.tree, ensemble=ensemble))


def own_budget(model: Any, budget: float | None = None) -> float:
    """The budget that was given, or the model's own, or no limit."""
    if budget is None:
        budget = getattr(model, "budget", np.inf) if hasattr(model, "ensemble_") else np.inf
    return check_budget(budget)
