"""How much recourse a model gives, and what it costs people.

Every metric is called as ``metric(model, X, y=None, **options)``, which is also how scikit-learn
calls a scorer: ``cross_val_score(model, X, y, scoring=recourse_ratio)`` works as it stands. Options
are those of ``ract.find_recourse``; models of other libraries need ``actions`` there.

Larger is better for ``recourse_ratio``, ``validity``, ``plausibility`` and ``causal_validity``;
smaller for ``recourse_risk``, ``mean_cost``, ``sparsity`` and ``outlier_score``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ract._utils.typing import TableLike
from ract.recourse.common.by_pattern import refuse_missing_values
from ract.recourse.find import find_recourse
from ract.recourse.plausible.plausibility import Plausibility
from ract.recourse.problem import PROBLEM_KEYWORDS, ModelLike, bare_model
from ract.recourse.reachable import has_recourse
from ract.recourse.result import Recourse

# Options that the quick question of has_recourse takes too.
QUICK = {*PROBLEM_KEYWORDS, "max_changes", "n_jobs", "progress", "time_limit"}


def recourse_ratio(model: ModelLike, X: TableLike, y: object = None, **options: Any) -> float:
    """Share of people who are accepted or have an action within the budget (the paper's ratio).

    People whose cheapest action only supplies missing values count as without recourse.

    Parameters
    ----------
    model : fitted classifier
    X : frame or array
        People.
    y : ignored
        Accepted, so that the function can be a scorer.
    **options
        Of ``ract.find_recourse``. The budget is the model's own unless one is given.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from ract.models.examples import loans_tree
    >>> tree, loans = loans_tree(600)
    >>> cross_val_score(tree, loans.frame, loans.target, scoring=recourse_ratio, cv=3).round(2)
    array([1.  , 1.  , 0.92])
    """
    return float(np.mean(served(model, X, **options)))


def recourse_risk(model: ModelLike, X: TableLike, y: object = None, **options: Any) -> float:
    """Share of people without an action within the budget: 1 minus ``recourse_ratio``."""
    return 1.0 - recourse_ratio(model, X, **options)


def served(model: ModelLike, X: TableLike, **options: Any) -> np.ndarray:
    """Who is accepted or has an action within the budget; those of unknown status have none.

    Nor do those whose cheapest action only supplies missing values.
    """
    model, options = bare_model(model, options)
    if set(options) <= QUICK and options.get("cost") is None and not _may_supply(model, options):
        return has_recourse(model, X, strict=True, **options)
    return np.asarray(_plans(model, X, options).within_budget)


def _may_supply(model: ModelLike, options: dict[str, Any]) -> bool:
    """Whether some feature lets people supply a missing value."""
    space = options.get("actions")
    if space is None and hasattr(model, "encoder_"):
        space = model.encoder_.space
    return any(feature.may_supply for feature in space or ())


def validity(model: ModelLike, X: TableLike, y: object = None, **options: Any) -> float:
    """Share of refused people for whom there is an action, whatever it costs.

    With ``budget`` the share of refused people with an action within it. NaN if nobody is
    refused.
    """
    recourse = _plans(model, X, {"budget": np.inf, **options})
    return _mean(recourse.found[~recourse.accepted])


def mean_cost(model: ModelLike, X: TableLike, y: object = None, **options: Any) -> float:
    """Mean cost of the actions of refused people who have one, whatever it costs.

    NaN if nobody has one.
    """
    recourse = _plans(model, X, {"budget": np.inf, **options})
    return _mean(recourse.cost[recourse.found])


def sparsity(model: ModelLike, X: TableLike, y: object = None, **options: Any) -> float:
    """Mean number of features that the actions of refused people change."""
    recourse = _plans(model, X, {"budget": np.inf, **options})
    return _mean(recourse.n_changes[recourse.found])


def outlier_score(
    model: ModelLike,
    X: TableLike,
    y: object = None,
    *,
    reference: TableLike | None = None,
    **options: Any,
) -> float:
    """Mean outlier score of refused people after their actions, by an isolation forest.

    This is the paper's measure of plausibility. As in the paper, people without an action count as
    they are. Missing values are not supported.

    Parameters
    ----------
    model, X, y, **options
        As in ``recourse_ratio``; actions may cost anything unless a budget is given.
    reference : frame or array, optional
        People from whom the isolation forest learns; X by default.
    """
    model, options = bare_model(model, options)
    reference = options.pop("reference", reference)
    recourse = _plans(model, X, {"budget": np.inf, "reference": reference, **options})
    refuse_missing_values(recourse.encoder.axes, "Outlier scores")
    known = recourse.before if reference is None else recourse.encoder.matrix(reference)
    after = recourse.after[~recourse.accepted]
    return _mean(-Plausibility().fit(known).score(after)) if len(after) else float("nan")


def plausibility(model: ModelLike, X: TableLike, y: object = None, **options: Any) -> float:
    """Minus ``outlier_score``, so that larger is better."""
    return -outlier_score(model, X, **options)


def causal_validity(
    model: ModelLike,
    X: TableLike,
    y: object = None,
    *,
    effects: object = "estimate",
    **options: Any,
) -> float:
    """Share of refused people with an action when its causal effects are included.

    Parameters
    ----------
    model, X, y, **options
        As in ``recourse_ratio``; the budget is the model's own.
    effects
        As in ``ract.find_recourse``; estimated by DirectLiNGAM unless they are given.
    """
    recourse = _plans(model, X, {"effects": effects, **options})
    return _mean(recourse.found[~recourse.accepted])


def _plans(model: ModelLike, X: TableLike, options: dict[str, Any]) -> Recourse:
    model, options = bare_model(model, {"explain": False, "strict": True, **options})
    return find_recourse(model, X, **options)


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
