"""One task, the people who share its rules, and the search that fits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec, listing
from ract.recourse import plan as plans
from ract.recourse.causal.search import CausalSearch
from ract.recourse.common.answers import FOUND, NONE, OPEN, OPTIMAL, Solutions
from ract.recourse.common.problem import Problem
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.explainer import Wishes, efforts, tell
from ract.recourse.heuristic.leaves import LeafSearch
from ract.recourse.heuristic.live import LiveRegionSearch
from ract.recourse.heuristic.plausibility import cheapest_plausible
from ract.recourse.plan import Reason
from ract.recourse.solver.search import SolverSearch

METHODS = ("exact", "leaves", "live", "solver")
WORDS = {OPTIMAL: plans.OPTIMAL, FOUND: plans.FOUND, OPEN: plans.UNKNOWN}


@dataclass(frozen=True)
class Task:
    """What is asked, of which model.

    Parameters
    ----------
    ensemble : TreeEnsemble
    cost : FittedCost
    budget : float
    method : str
    wishes : Wishes
    known : callable
        Gives the encoded people whom searches may start from.
    relations, plausibility, effects, uncertainty
        As for ``find_recourse``.
    """

    ensemble: TreeEnsemble
    cost: FittedCost
    budget: float
    method: str
    wishes: Wishes
    known: Callable[[], np.ndarray]
    relations: tuple[Any, ...] = ()
    plausibility: Any = None
    effects: Any = None
    uncertainty: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidSpec(f"method must be one of {listing(METHODS)}, got {self.method!r}.")
        wishes = self.wishes
        if self.effects is not None and self.plausibility is not None:
            raise InvalidSpec("effects and plausibility cannot be asked for together.")
        if self.plausibility is not None and wishes.max_changes is not None:
            raise InvalidSpec("max_changes cannot be asked for together with plausibility.")
        extras = wishes.margin > 0 or wishes.ranges or wishes.n_alternatives > 0
        if extras and not self.is_exact:
            raise InvalidSpec(
                "margin, ranges and n_alternatives need the exact method, a cost with norm 'max', "
                "and neither relations, effects nor plausibility."
            )

    @property
    def is_exact(self) -> bool:
        """Whether the exact search serves it."""
        other = self.effects is not None or self.plausibility is not None or self.relations
        return self.method == "exact" and self.cost.norm == "max" and not other


@dataclass
class Answers:
    """Arrays that a Recourse is made of, filled group by group."""

    status: np.ndarray
    cost: np.ndarray
    bound: np.ndarray
    after: np.ndarray
    effort: np.ndarray
    low: np.ndarray
    high: np.ndarray
    follows: np.ndarray | None = None
    others: dict[int, list[Any]] = field(default_factory=dict)
    reasons: dict[int, Reason] = field(default_factory=dict)

    @classmethod
    def of(cls, matrix: np.ndarray, accepted: np.ndarray, n_axes: int) -> Answers:
        """Before any search: the accepted need nothing, of the others nothing is known."""
        n = len(matrix)
        status = np.full(n, plans.UNKNOWN, dtype=object)
        status[accepted] = plans.ACCEPTED
        nothing = np.full((n, n_axes), np.nan)
        return cls(
            status, np.where(accepted, 0.0, np.inf), np.zeros(n), matrix.copy(),
            np.zeros((n, n_axes)), nothing, nothing.copy(),
        )  # fmt: skip


def run(
    task: Task, axes: tuple[Axis, ...], matrix: np.ndarray, rows: np.ndarray, answers: Answers
) -> None:
    """Search for some people with the same rules and write down what was found."""
    people = matrix[rows]
    if not task.is_exact:
        _run_other(task, axes, people, rows, answers)
        return
    search, wishes = ExactSearch(task.ensemble, axes, task.cost), task.wishes
    solutions = search.solve(
        people, task.budget, max_changes=wishes.max_changes, time_limit=wishes.time_limit,
        n_jobs=wishes.n_jobs, progress=wishes.progress,
    )  # fmt: skip
    details = tell(search.problem, people, task.budget, solutions, wishes)
    _write(rows, details.status, details.cost, details.bound, details.values, answers)
    answers.effort[rows] = efforts(search.problem, people, details.values)
    answers.low[rows], answers.high[rows] = details.low, details.high
    answers.others |= {int(rows[i]): others for i, others in details.others.items()}
    for i, reason in details.reasons.items():
        answers.reasons[int(rows[i])] = reason
    without = rows[details.status == NONE]
    further = [
        i not in answers.reasons or np.isfinite(answers.reasons[i].budget) for i in without.tolist()
    ]
    within = np.isfinite(task.budget) & np.array(further, dtype=bool)
    answers.status[without] = np.where(within, plans.NONE_WITHIN_BUDGET, plans.NONE)


def _write(
    rows: np.ndarray, status: np.ndarray, cost: np.ndarray, bound: np.ndarray, values: np.ndarray,
    answers: Answers,
) -> None:  # fmt: skip
    answers.status[rows] = [WORDS.get(int(s), plans.NONE) for s in status]
    answers.cost[rows], answers.bound[rows] = cost, bound
    answers.after[rows] = values


def _run_other(
    task: Task, axes: tuple[Axis, ...], people: np.ndarray, rows: np.ndarray, answers: Answers
) -> None:
    if task.effects is not None:
        search = CausalSearch(
            task.ensemble, axes, task.cost, task.effects, uncertainty=task.uncertainty,
            accepted=task.known(),
        )  # fmt: skip
        wishes = task.wishes
        solutions = search.solve(
            people, task.budget, max_changes=wishes.max_changes, n_jobs=wishes.n_jobs,
            progress=wishes.progress,
        )  # fmt: skip
        if answers.follows is None:
            answers.follows = answers.after.copy()
        answers.follows[rows] = search.after(people, solutions.values)
    else:
        solutions = _other_search(task, axes, people)
    _write(rows, solutions.status, solutions.cost, solutions.bound, solutions.values, answers)
    answers.status[rows[solutions.status == NONE]] = (
        plans.NONE_WITHIN_BUDGET if np.isfinite(task.budget) else plans.NONE
    )
    for a, axis in enumerate(axes):
        only = people.copy()
        only[:, list(axis.columns)] = solutions.values[:, list(axis.columns)]
        answers.effort[rows, a] = task.cost.between(people, only)


def _other_search(task: Task, axes: tuple[Axis, ...], people: np.ndarray) -> Solutions:
    """The answers of a search that is not the exact one."""
    wishes, model = task.wishes, (task.ensemble, axes, task.cost)
    how: dict[str, Any] = {
        "max_changes": wishes.max_changes, "n_jobs": wishes.n_jobs, "progress": wishes.progress,
    }  # fmt: skip
    if task.plausibility is not None:
        del how["max_changes"]
        return cheapest_plausible(
            Problem(*model), task.plausibility, task.known(), people, task.budget, **how
        )
    if task.method == "leaves":
        return LeafSearch(*model).solve(people, task.budget, **how)
    if task.method == "live":
        return LiveRegionSearch(*model, task.known()).solve(people, task.budget, **how)
    start = None if task.relations else LeafSearch(*model).solve(people, task.budget, **how).values
    search = SolverSearch(*model, relations=task.relations)
    return search.solve(people, task.budget, time_limit=wishes.time_limit, start=start, **how)
