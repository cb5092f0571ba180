"""Recourse for people: from a model and a table to plans."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ract._frames import take_rows
from ract.costs import Cost, FittedCost, make_cost
from ract.encoding import Axis, Encoder
from ract.errors import InvalidSpec, listing
from ract.interop import read_model
from ract.recourse import plan as plans
from ract.recourse.causal.effects import CausalEffects
from ract.recourse.common.overrides import Override, groups_of
from ract.recourse.dispatch import Answers, Task, run
from ract.recourse.explain.explainer import Wishes
from ract.recourse.heuristic.plausibility import Plausibility
from ract.recourse.result import Recourse

TIME_LIMIT = 10.0
OF_ESTIMATES = 0.3  # on the loans data 95% of plans work at this, 16 to 27% at 0


def find_recourse(
    model: Any,
    X: Any,
    *,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    cost: str | Cost | None = None,
    budget: float | None = None,
    method: str = "exact",
    max_changes: int | None = None,
    n_alternatives: int = 0,
    margin: float = 0.0,
    ranges: bool = False,
    features: Iterable[str] | None = None,
    forbidden: Iterable[str] = (),
    overrides: Mapping[Any, Mapping[str, Override]] | None = None,
    relations: Iterable[Any] = (),
    plausibility: Any = None,
    effects: Any = None,
    uncertainty: float | None = None,
    explain: bool = True,
    time_limit: float | None = TIME_LIMIT,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Recourse:
    """What each person can do to get the desired class.

    Parameters
    ----------
    model : fitted classifier
        One of ract's, or any that ``ract.interop.read_model`` takes: trees, forests and boosted
        trees of scikit-learn, LightGBM and XGBoost, alone or at the end of a pipeline.
    X : frame or array
        People, in the columns of the training table.
    actions : ActionSpace, optional
        What people may change; that of training for ract's own models. Without one, kinds are
        read off the table and every feature may change.
    desired : label, optional
        The class that people want.
    threshold : float, optional
        Decide by a probability of at least this, not by the model's own rule (other libraries'
        models only).
    reference : frame or array, optional
        People like those of training, from whom costs (and, for other libraries' models, kinds,
        bounds and categories) are read; X itself by default.
    cost : str or Cost, optional
        How effort is measured: that of training, or "percentile".
    budget : float, optional
        Most that a plan may cost: that of training, or no limit.
    method : {"exact", "leaves", "live", "solver"}
        The exact search; leaf enumeration (the paper's Algorithm 2); regions of known accepted
        people; or a constraint solver (``pip install "ract[solver]"``), which the exact method
        turns to by itself for costs that add up over features and for relations.
    max_changes : int, optional
        How many features a plan may change.
    n_alternatives : int
        Further plans for each person, none of which changes all the features of one before it.
    margin : float
        Plans hold even if each change falls short by up to this share of its way, each
        independently of the others.
    ranges : bool
        Widen each plan to a box of which no side can move further without losing the proof that
        everyone in it gets the desired class.
    features, forbidden : names, optional
        Only these features may change; these may not.
    overrides : mapping, optional
        By a person's label (the index of a pandas frame, else the row number): features that
        differ for them, as "fixed", another direction, or a ``Feature``.
    relations : sequence, optional
        Linear relations that must hold after the plan, such as "a <= b" (solver only).
    plausibility : Plausibility or str, optional
        Only plans that lead to plausible people, by "isolation_forest" or
        "local_outlier_factor" (or a ``ract.recourse.heuristic.plausibility.Plausibility``), learned
        from the reference people unless it has been fitted.
    effects : CausalEffects, mapping, graph or "estimate", optional
        Count in what changes do to other features: effects, edges such as
        ``{("Income", "Savings"): 0.3}``, a networkx graph with weights, or estimated from the
        reference people by DirectLiNGAM. Rules and costs hold for what people do themselves;
        the model judges what they end at.
    uncertainty : float, optional
        By which share effects may be off: plans then hold at a sample of ways to be off, and
        fewer people have one. 0.3 for estimated effects, 0 for given ones.
    explain : bool
        Say why, where there is no plan.
    time_limit : float or None
        Seconds for each person's search.
    n_jobs : int, optional
        Threads.
    progress : bool
        Show a bar with the time left.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ract import ActionSpace
    >>> people = pd.DataFrame({"age": [25, 32, 47, 51, 60, 38], "income": [20, 44, 30, 62, 58, 25]})
    >>> approved = people["income"] > 40
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(people, approved)
    >>> space = ActionSpace.infer(people, fixed=["age"])
    >>> recourse = find_recourse(forest, people, actions=space)
    >>> recourse[0].describe()
    'Raise income from 20 to 38.'
    """
    options = _checked(margin, n_alternatives, max_changes)
    tree = read_model(
        model, X if reference is None else reference, actions, desired=desired, threshold=threshold
    )
    matrix = tree.encoder.matrix(X)
    fitted = cost_of(model, cost, tree.encoder, matrix, reference)
    budget = budget_of(budget, model)

    def known() -> np.ndarray:
        return matrix if reference is None else tree.encoder.matrix(reference)

    task = Task(
        tree.ensemble,
        fitted,
        budget,
        method,
        Wishes(
            **options, ranges=ranges, explain=explain, time_limit=time_limit, n_jobs=n_jobs,
            progress=progress,
        ),
        known=known,
        relations=tuple(relations),
        plausibility=_plausibility(plausibility, known),
        effects=_effects(effects, tree.encoder, known),
        uncertainty=_uncertainty(uncertainty, effects),
    )  # fmt: skip
    axes = allowed_axes(tree.encoder.axes, features, forbidden)
    accepted = tree.ensemble.decide(matrix, n_jobs=n_jobs)
    answers = Answers.of(matrix, accepted, len(axes))
    labels = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(matrix))
    for rows, own_axes in groups_of(np.flatnonzero(~accepted), labels, axes, overrides):
        run(task, own_axes, matrix, rows, answers)
    if answers.follows is None:  # with effects the model judges what follows, not X's columns
        _land_on_the_columns(answers, tree.encoder, matrix, X)
    recourse = Recourse(
        X, tree.encoder, tree.desired, budget, answers.status, answers.cost, answers.bound, matrix,
        answers.after, answers.effort, answers.low, answers.high, answers.others, answers.reasons,
        answers.follows,
    )  # fmt: skip
    return _confirmed(recourse, model, tree, threshold, effects)


def _checked(margin: Any, n_alternatives: Any, max_changes: Any) -> dict[str, Any]:
    if not (isinstance(margin, (int, float)) and 0 <= margin < 1):
        raise InvalidSpec(f"margin must be a share of 0 or more and below 1, got {margin!r}.")
    for name, value in (("n_alternatives", n_alternatives), ("max_changes", max_changes)):
        if value is not None and (not isinstance(value, (int, np.integer)) or value < 0):
            raise InvalidSpec(f"{name} must be a whole number of 0 or more, got {value!r}.")
    return {"margin": margin, "n_alternatives": n_alternatives, "max_changes": max_changes}


def budget_of(budget: float | None, model: Any) -> float:
    """The budget that was given, or the model's own, or no limit."""
    if budget is None:
        budget = getattr(model, "budget", np.inf) if hasattr(model, "ensemble_") else np.inf
    if not (isinstance(budget, (int, float, np.number)) and budget >= 0):
        raise InvalidSpec(f"budget must be 0 or more, got {budget!r}.")
    return float(budget)


def cost_of(
    model: Any, cost: Any, encoder: Encoder, matrix: np.ndarray, reference: Any
) -> FittedCost:
    """The cost that was asked for, learned from the people who are known, or the model's own."""
    if cost is None and hasattr(model, "cost_"):
        fitted: FittedCost = model.cost_
        return fitted
    known = matrix if reference is None else encoder.matrix(reference)
    return make_cost("percentile" if cost is None else cost).fit(list(known.T), encoder.weights)


def _plausibility(wished: Any, known: Callable[[], np.ndarray]) -> Plausibility | None:
    if wished is None:
        return None
    plausibility: Any = wished
    if wished in ("isolation_forest", "local_outlier_factor"):
        plausibility = Plausibility(wished)
    if not isinstance(plausibility, Plausibility):
        raise InvalidSpec(
            f"plausibility must be a Plausibility or the name of one, got {wished!r}."
        )
    return plausibility if hasattr(plausibility, "threshold_") else plausibility.fit(known())


def _uncertainty(wished: float | None, effects: Any) -> float:
    if wished is not None:
        return wished
    return OF_ESTIMATES if isinstance(effects, str) else 0.0


def _effects(
    wished: Any, encoder: Encoder, known: Callable[[], np.ndarray]
) -> CausalEffects | None:
    if wished is None or isinstance(wished, CausalEffects):
        return wished
    if isinstance(wished, Mapping):
        return CausalEffects.from_edges(wished)
    if hasattr(wished, "edges"):
        return CausalEffects.from_graph(wished)
    if isinstance(wished, str) and wished == "estimate":
        numbers = [x for x in encoder.axes if not x.is_categorical]
        names = [x.feature.name for x in numbers]
        columns = known()[:, [x.columns[0] for x in numbers]]
        return CausalEffects.estimate(pd.DataFrame(columns, columns=names))
    raise InvalidSpec(
        f"effects must be CausalEffects, edges, a graph or 'estimate', got {wished!r}."
    )


def allowed_axes(
    axes: Iterable[Axis], features: Iterable[str] | None, forbidden: Iterable[str]
) -> tuple[Axis, ...]:
    """The same axes, with features that may not change fixed."""
    axes = tuple(axes)
    names = [axis.feature.name for axis in axes]
    allowed = set(names if features is None else features)
    barred = set(forbidden)
    unknown = sorted((allowed | barred) - set(names))
    if unknown:
        raise InvalidSpec(
            f"{listing(unknown)} is not a feature of the model; its features are "
            f"{listing(names, 30)}."
        )
    return tuple(
        axis
        if axis.feature.name in allowed - barred
        else replace(axis, feature=replace(axis.feature, change="fixed"))
        for axis in axes
    )


def _land_on_the_columns(answers: Answers, encoder: Encoder, before: np.ndarray, X: Any) -> None:
    """Move values that a column of X cannot hold (singles) on to the next one that it can."""
    rows = np.flatnonzero(np.isin(answers.status, (plans.OPTIMAL, plans.FOUND)))
    if not len(rows):
        return
    after, held = answers.after[rows], _held(encoder, answers.after[rows], take_rows(X, rows))
    up = after > before[rows]
    short = (held != after) & (up == (held < after))
    step = np.nextafter(held.astype(np.float32), np.where(up, np.inf, -np.inf).astype(np.float32))
    answers.after[rows] = np.where(short, step.astype(np.float64), held)


def _held(encoder: Encoder, values: np.ndarray, like: Any) -> np.ndarray:
    return encoder.matrix(encoder.decode(values, like=like))


def _confirmed(
    recourse: Recourse, model: Any, tree: Any, threshold: float | None, effects: Any
) -> Recourse:
    """Put every plan to the model as the user would; one that fails is not given."""
    rows = np.flatnonzero(recourse.found)
    if not len(rows) or effects is not None:
        return recourse
    after = take_rows(recourse.counterfactuals, rows)
    if threshold is None and hasattr(model, "predict") and hasattr(model, "classes_"):
        agrees = np.asarray(model.predict(after)) == tree.desired
    else:
        agrees = tree.decide(after)
    if agrees.all():
        return recourse
    wrong = rows[~agrees]
    warnings.warn(
        f"The model did not confirm {len(wrong)} of {len(rows)} plans, as can happen when its "
        "scores are added up in another order; these people are reported as unknown.",
        stacklevel=3,
    )
    recourse.status[wrong] = plans.UNKNOWN
    recourse.cost[wrong] = np.inf
    recourse.after[wrong] = recourse.before[wrong]
    recourse.__dict__.pop("counterfactuals", None)
    return recourse
