"""The columns of the recorded results, and two of ours beside them."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from experiments.paper.leaf_search import Actions
from ract._utils.status import Status
from ract.recourse.common.search import Limits
from ract.recourse.exact.search import ExactSearch
from ract.trees.ensemble import TreeEnsemble

QUALITY = ("Accuracy", "AUC", "F1", "Time [s]")
ACTIONS = ("Cost", "Validity", "Budget-Validity", "Valid-Cost", "Recourse")
DETAILS = ("Sparsity", "Plausibility")
# Share of people who are accepted or have an action within the budget by exact search, and share
# of those for whom it ended without an answer.
EXACT = ("Recourse (exact)", "Unknown (exact)")
# What leaf search, which proves nothing, finds for the same people as exact extraction.
LEAVES = ("Validity (leaves)", "Budget-Validity (leaves)", "Valid-Cost (leaves)")


def prediction_columns(
    ensemble: TreeEnsemble, people: np.ndarray, desired: np.ndarray, *, with_auc: bool
) -> dict[str, float]:
    """Accuracy, AUC of the votes, and F1 of the undesired class."""
    votes = ensemble.score(people)
    accepted = votes >= ensemble.cutoff
    columns = {"Accuracy": float((accepted == desired).mean())}
    if with_auc:
        columns["AUC"] = float(roc_auc_score(~desired, -votes))
    columns["F1"] = float(f1_score(~desired, ~accepted, zero_division=0.0))
    return columns


def action_columns(
    people: np.ndarray, actions: Actions, budget: float, n_tested: int
) -> dict[str, float]:
    """What the authors report on the actions of refused people, out of so many who were tested.

    An action that was not found costs 0 in "Cost". Nobody refused counts as one valid action at no
    cost.
    """
    if not len(people):
        return dict(zip(ACTIONS, (0.0, 1.0, 1.0, 0.0, 1.0), strict=True)) | {"Sparsity": 0.0}
    found = actions.found
    within = found & (actions.cost <= budget)
    some = found.any()
    changed = np.count_nonzero(actions.values - people, axis=1)
    return {
        "Cost": float(np.where(found, actions.cost, 0.0).mean()),
        "Validity": float(found.mean()),
        "Budget-Validity": float(within.mean()),
        "Valid-Cost": float(actions.cost[found].mean()) if some else np.nan,
        "Recourse": 1.0 - float((~within).sum()) / n_tested,
        "Sparsity": float(changed[found].mean()) if some else np.nan,
    }


def exact_columns(
    search: ExactSearch,
    people: np.ndarray,
    has_action: np.ndarray,
    budget: float,
    n_tested: int,
    max_nodes: int,
) -> dict[str, float]:
    """Our columns, for refused people, of whom some are known to have an action in the budget."""
    answers = search.attains(people[~has_action], budget, Limits(max_nodes=max_nodes))
    without, unknown = int((answers != Status.FOUND).sum()), int((answers == Status.UNKNOWN).sum())
    return dict(zip(EXACT, (1.0 - without / n_tested, unknown / n_tested), strict=True))
