"""Judging one model on the test people of a fold: predictions and actions, as one row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ract.ensemble import TreeEnsemble
from ract.experiments.paper.leaves import Actions, FirstLeaves
from ract.experiments.paper.measures import (
    EXACT,
    LEAVES,
    action_columns,
    exact_columns,
    prediction_columns,
)
from ract.experiments.paper.people import Fold
from ract.experiments.paper.settings import MAX_LEAVES, Experiment
from ract.recourse.exact.search import ExactSearch
from ract.status import Status


@dataclass(frozen=True)
class Judged:
    """A model before the test people of a fold; rows differ by the budget only.

    Parameters
    ----------
    fold : Fold
    ensemble : TreeEnsemble
    refused : float (people, columns)
        Those for whom actions were sought.
    actions : Actions
        What was found, whatever it costs.
    columns : dict
        What does not depend on the budget.
    max_nodes : int or None
        Of the exact search for each person; None to leave our columns out.
    """

    fold: Fold
    ensemble: TreeEnsemble
    refused: np.ndarray
    actions: Actions
    columns: dict[str, float]
    max_nodes: int | None

    def row(self, budget: float) -> dict[str, float]:
        """The measured columns of a row."""
        n_tested = len(self.fold.new)
        columns = self.columns | action_columns(self.refused, self.actions, budget, n_tested)
        if self.max_nodes is not None:
            cost, axes = self.fold.cost, self.fold.population.grouped
            search = ExactSearch(self.ensemble, axes, cost)
            columns |= exact_columns(
                search, self.refused, self.actions.cost <= budget, budget, n_tested, self.max_nodes
            )
        return columns


def judge(experiment: Experiment, fold: Fold, ensemble: TreeEnsemble) -> Judged:
    """Test a model as an experiment does."""
    desired = fold.population.desired[fold.test]
    columns = prediction_columns(
        ensemble, fold.new, desired, with_auc=experiment.model == "forest"
    )  # fmt: skip
    refused = fold.new[~ensemble.decide(fold.new)][: experiment.max_people]
    if experiment.search == "exact":
        actions, left_open = exact_actions(fold, ensemble, refused, experiment.max_nodes)
        columns[EXACT[1]] = left_open
        columns |= leaf_columns(fold, ensemble, refused, experiment.budgets[0])
        return Judged(fold, ensemble, refused, actions, columns, max_nodes=None)
    search = FirstLeaves(
        ensemble,
        fold.population.grouped,
        fold.cost,
        fold.margins,
        max_leaves=MAX_LEAVES if experiment.model == "forest" else None,
        effects=fold.effects if experiment.search == "causal" else None,
    )
    actions = search.solve(refused)
    max_nodes = experiment.max_nodes if experiment.search == "leaves" else None
    columns["Plausibility"] = fold.implausibility(actions.outcome)
    return Judged(fold, ensemble, refused, actions, columns, max_nodes)


def exact_actions(
    fold: Fold, ensemble: TreeEnsemble, refused: np.ndarray, max_nodes: int
) -> tuple[Actions, float]:
    """The cheapest actions at any cost, and the share of people without an answer.

    The authors' program asks for more than half of the votes, although their forests accept half.
    """
    strict = replace(ensemble, cutoff=ensemble.n_trees // 2 + 1)
    search = ExactSearch(strict, fold.population.grouped, fold.cost)
    solutions = search.solve(refused, np.inf, max_nodes=max_nodes)
    actions = Actions(solutions.cost, solutions.values, solutions.values)
    return actions, float((solutions.status == Status.UNKNOWN).mean()) if len(refused) else 0.0


def leaf_columns(
    fold: Fold, ensemble: TreeEnsemble, refused: np.ndarray, budget: float
) -> dict[str, float]:
    """What a search of all leaves without margins finds: no optimum can cost more."""
    axes, nothing = fold.population.grouped, np.zeros(fold.known.shape[1])
    strict = replace(ensemble, cutoff=ensemble.n_trees // 2 + 1)
    found = FirstLeaves(strict, axes, fold.cost, nothing, None).solve(refused)
    of_actions = action_columns(refused, found, budget, len(fold.new))
    return {name: of_actions[name.removesuffix(" (leaves)")] for name in LEAVES}
