"""Any model of trees with its score cut where so many people are approved.

Models that decide at one half refuse different shares of people, and a model that refuses nobody
needs no recourse. So every model is read as trees with a score, and the cut is put from outside:
on log-odds of boosted trees, on the mean share of desired people in a person's leaves of forests,
or on the votes of a forest of ract's that decides by votes.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from ract.data.actions import ActionSpace
from ract.data.costs import PercentileCost
from ract.models.imported import import_model
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class Scored:
    """A model of trees and its score.

    Parameters
    ----------
    model : estimator of ract, or imported
    """

    model: Any

    @classmethod
    def of(
        cls,
        fitted: Any,
        people: pd.DataFrame,
        actions: ActionSpace,
        desired: Any,
        *,
        by_leaves: bool = False,
    ) -> Scored:
        """A fitted model of any library, read with the people that it was fitted on.

        by_leaves: cut the mean share of leaves also where trees vote.
        """
        if not hasattr(fitted, "ensemble_"):
            fitted = import_model(
                fitted, people, actions, desired=desired, cost=PercentileCost(exact=True)
            )
        trees = fitted.ensemble_
        if trees.combine == "mean" or (trees.combine == "votes" and by_leaves):
            trees = replace(trees, combine="mean", against=None, cutoff=0.5)
        return cls(with_trees(fitted, trees))

    @property
    def trees(self) -> TreeEnsemble:
        """The trees, with their decision."""
        trees: TreeEnsemble = self.model.ensemble_
        return trees

    def score(self, people: pd.DataFrame) -> np.ndarray:
        """The score that is cut."""
        matrix, trees = self._matrix(people), self.trees
        score = trees.totals(matrix)[0] if trees.combine == "votes" else trees.score(matrix)
        return np.asarray(score, dtype=np.float64)

    def auc(self, people: pd.DataFrame, wanted: np.ndarray) -> float:
        """Area under the curve of that score."""
        return float(roc_auc_score(wanted, self.score(people)))

    def cut(self, rate: float, people: pd.DataFrame) -> Scored:
        """The same model, which approves the best of some people at a rate.

        Of people with the score at the cut all are approved: no cut can tell them apart.
        """
        score = np.sort(self.score(people))[::-1]
        last = min(max(round(rate * len(score)), 1), len(score)) - 1
        cutoff = float(score[last])
        if self.trees.combine == "votes":
            cutoff = max(1, int(cutoff))
        return Scored(with_trees(self.model, replace(self.trees, cutoff=cutoff)))

    def approves(self, people: pd.DataFrame) -> np.ndarray:
        """Who is approved."""
        return np.asarray(self.trees.decide(self._matrix(people)), dtype=bool)

    def recourse(self, people: pd.DataFrame, **options: Any) -> Recourse:
        """Plans at the cut."""
        found: Recourse = self.model.recourse(people, **options)
        return found

    def _matrix(self, people: pd.DataFrame) -> np.ndarray:
        matrix: np.ndarray = self.model.encoder_.matrix(people, kinds=False)
        return matrix


def with_trees(model: Any, trees: TreeEnsemble) -> Any:
    """A copy of a model with other trees; the model may be a frozen dataclass."""
    other = copy(model)
    object.__setattr__(other, "ensemble_", trees)
    return other
