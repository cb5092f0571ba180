"""Evaluating one model on the test people of a fold: predictions and actions, as one row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from experiments.paper import metrics
from experiments.paper.leaf_search import Actions, FirstLeaves
from experiments.paper.population import Fold
from experiments.paper.settings import MAX_LEAVES, Experiment
from ract._utils.status import Status
from ract.recourse.exact.search import ExactSearch
from ract.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class Evaluation:
    """A model on the test people of a fold; rows differ by the budget only.

    Parameters
    ----------
    fold : Fold
    ensemble : TreeEnsemble
    refused : float (people, columns)
        Those for whom actions were searched.
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
        columns = self.columns | metrics.action_columns(
            self.refused, self.actions, budget, n_tested
        )
        if self.max_nodes is not None:
            search = ExactSearch(self.ensemble, self.fold.population.grouped, self.fold.cost)
            within = self.actions.cost <= budget
            columns |= metrics.exact_columns(
                search, self.refused, within, budget, n_tested, self.max_nodes
            )
        return columns


def evaluate(experiment: Experiment, fold: Fold, ensemble: TreeEnsemble) -> Evaluation:
    """Test a model as an experiment does."""
    desired = fold.population.desired[fold.test]
    columns = metrics.prediction_columns(
        ensemble, fold.new, desired, with_auc=experiment.model == "forest"
    )
    refused = fold.new[~ensemble.decide(fold.new)][: experiment.max_people]
    if experiment.search == "exact":
        # The authors' program asks for more than half of the votes; their forests accept half.
        strict = replace(ensemble, cutoff=ensemble.n_trees // 2 + 1)
        actions, unknown = exact_actions(fold, strict, refused, experiment.max_nodes)
        columns[metrics.EXACT[1]] = unknown
        columns |= leaf_columns(fold, strict, refused, experiment.budgets[0])
        return Evaluation(fold, ensemble, refused, actions, columns, max_nodes=None)
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
    return Evaluation(fold, ensemble, refused, actions, columns, max_nodes)


def exact_actions(
    fold: Fold, ensemble: TreeEnsemble, refused: np.ndarray, max_nodes: int
) -> tuple[Actions, float]:
    """The cheapest actions at any cost, and the share of people without an answer."""
    search = ExactSearch(ensemble, fold.population.grouped, fold.cost)
    solutions = search.solve(refused, np.inf, max_nodes=max_nodes)
    actions = Actions(solutions.cost, solutions.values, solutions.values)
    return actions, float((solutions.status == Status.UNKNOWN).mean()) if len(refused) else 0.0


def leaf_columns(
    fold: Fold, ensemble: TreeEnsemble, refused: np.ndarray, budget: float
) -> dict[str, float]:
    """What a search of all leaves without margins finds: no optimum can cost more."""
    axes, no_margins = fold.population.grouped, np.zeros(fold.known.shape[1])
    found = FirstLeaves(ensemble, axes, fold.cost, no_margins, None).solve(refused)
    columns = metrics.action_columns(refused, found, budget, len(fold.new))
    return {name: columns[name.removesuffix(" (leaves)")] for name in metrics.LEAVES}
