"""Which search serves which question: one function per search, in a registry.

Every search honours ``time_limit``, ``n_jobs`` and ``progress``; what else it honours stands
beside its name. An option that the chosen search does not honour is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ract.costs import FittedCost
from ract.encoding import Axis
from ract.errors import InvalidSpec, listing
from ract.grid import Grid
from ract.recourse.causal.effects import effects_of
from ract.recourse.causal.search import CausalSearch
from ract.recourse.common.answers import Answers
from ract.recourse.common.problem import Problem
from ract.recourse.common.search import Batch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.explainer import Explainer, ends_of_cells
from ract.recourse.heuristic.leaves import LeafSearch
from ract.recourse.heuristic.live import LiveRegionSearch
from ract.recourse.heuristic.plausibility import PlausibleSearch, plausibility_of
from ract.recourse.options import Options
from ract.recourse.question import Question
from ract.recourse.solver.search import SolverSearch
from ract.status import Status

OF_ESTIMATES = 0.3  # on the loans data 95% of plans work at this, 16 to 27% at 0


@dataclass(frozen=True)
class Task:
    """A question with options, for people who share the same rules.

    Parameters
    ----------
    question : Question
    options : Options
    axes : tuple of Axis
        The features and what these people may do with them.
    """

    question: Question
    options: Options
    axes: tuple[Axis, ...]

    @property
    def model(self) -> Any:
        """What every search is made from: trees, features, cost."""
        return self.question.ensemble, self.axes, self.question.cost

    @property
    def grid(self) -> Grid:
        """The cells in which no tree differs."""
        trees = self.question.ensemble
        splits = trees.feature >= 0
        return Grid.from_splits(self.axes, trees.feature[splits], trees.threshold[splits])

    @property
    def limits(self) -> dict[str, Any]:
        """Limits as ``solve`` takes them."""
        return asdict(self.options.limits)


class Entry(NamedTuple):
    """A search: how it answers a task for encoded people, and the options it honours."""

    solve: Callable[[Task, np.ndarray], Answers]
    honours: frozenset[str]


SEARCHES: dict[str, Entry] = {}


def _register(name: str, *honours: str) -> Callable[[Any], Any]:
    def register(solve: Callable[[Task, np.ndarray], Answers]) -> Any:
        SEARCHES[name] = Entry(solve, frozenset(honours))
        return solve

    return register


@_register("exact", "max_changes", "margin", "ranges", "n_alternatives")
def _exact(task: Task, people: np.ndarray) -> Answers:
    search, budget = ExactSearch.prepared(*task.model), task.question.budget
    batch = Batch.of(people, budget, task.options.limits)
    rules = task.question.encoder.axes
    search.fill(batch, then=Explainer(search, batch, budget, task.options, rules).explain)
    return batch.answers


@_register("leaves", "method='leaves'", "max_changes")
def _leaves(task: Task, people: np.ndarray) -> Answers:
    answers = LeafSearch(*task.model).solve(people, task.question.budget, **task.limits)
    return ends_of_cells(task.grid, people, answers)


@_register("live", "method='live'", "max_changes")
def _live(task: Task, people: np.ndarray) -> Answers:
    ensemble, axes, cost = task.model
    search = LiveRegionSearch(ensemble, axes, cost, task.question.known)
    answers = search.solve(people, task.question.budget, **task.limits)
    return ends_of_cells(task.grid, people, answers)


@_register("solver", "method='solver'", "max_changes", "relations")
def _solver(task: Task, people: np.ndarray) -> Answers:
    relations = task.options.relations
    start = None if relations else _leaves(task, people).values
    search = SolverSearch(*task.model, relations=relations)
    answers = search.solve(people, task.question.budget, start=start, **task.limits)
    return answers if relations else ends_of_cells(task.grid, people, answers)


@_register("causal", "effects", "max_changes")
def _causal(task: Task, people: np.ndarray) -> Answers:
    question, options = task.question, task.options
    ensemble, axes, cost = task.model
    narrow = question.encoder.narrow(question.people)
    search = CausalSearch(
        ensemble, axes, cost, options.effects, uncertainty=options.uncertainty or 0.0,
        reference=question.known, held=partial(question.encoder.held, narrow=narrow),
    )  # fmt: skip
    return search.solve(people, question.budget, **task.limits)


@_register("plausible", "plausibility")
def _plausible(task: Task, people: np.ndarray) -> Answers:
    question = task.question
    search = PlausibleSearch(Problem(*task.model), task.options.plausibility, question.known)
    return search.solve(people, question.budget, **task.limits)


def search_for(question: Question, options: Options) -> Entry:
    """The search that serves a question; options that it does not honour are refused."""
    adds_up = question.cost.norm != "max"
    if options.effects is not None:
        name, because = "causal", "effects"
    elif options.plausibility is not None:
        name, because = "plausible", "plausibility"
    elif options.relations:
        name, because = "solver", "relations"
    elif options.method != "exact":
        name, because = options.method, f"method={options.method!r}"
    else:
        name, because = ("solver", "a cost that adds up") if adds_up else ("exact", "")
    entry = SEARCHES[name]
    refused = [option for option, asked in options.asked.items() if asked]
    refused = [option for option in refused if option not in entry.honours]
    exact_only = SEARCHES["exact"].honours - {"max_changes"}
    if refused and exact_only.issuperset(refused):
        raise InvalidSpec(
            f"{listing(refused)} need the exact method, a cost with norm 'max', and neither "
            f"relations, effects nor plausibility; got {because}."
        )
    if refused:
        raise InvalidSpec(f"{refused[0]} and {because} cannot be asked for together.")
    return entry


def resolved(question: Question, options: Options) -> Options:
    """The options with what is learned from the reference people in place of its name."""
    if options.effects is not None:
        uncertainty = options.uncertainty
        if uncertainty is None:
            uncertainty = OF_ESTIMATES if isinstance(options.effects, str) else 0.0
        effects = effects_of(options.effects, question.encoder, question.known)
        return replace(options, effects=effects, uncertainty=uncertainty)
    if options.plausibility is not None:
        return replace(options, plausibility=plausibility_of(options.plausibility, question.known))
    return options


def answer(task: Task, entry: Entry, rows: np.ndarray, answers: Answers) -> None:
    """Search for some people with the same rules and write down what was found."""
    question = task.question
    people = question.matrix[rows]
    found = entry.solve(task, people)
    found.effort = _efforts(question.cost, task.axes, people, found.values)
    for i, others in found.alternatives.items():
        before = np.tile(people[i], (len(others.values), 1))
        others.effort = _efforts(question.cost, task.axes, before, others.values)
    if np.isfinite(question.budget):
        for i in np.flatnonzero(found.status == Status.NONE).tolist():
            obstacle = found.obstacles.get(i)
            if obstacle is None or not np.isposinf(obstacle.budget):
                found.status[i] = Status.NONE_WITHIN_BUDGET
    answers.put(rows, found)


def _efforts(
    cost: FittedCost, axes: tuple[Axis, ...], before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """What each feature's change costs alone (people x axes)."""
    efforts = np.zeros((len(before), len(axes)))
    differs = after != before
    anywhere = differs.any(axis=0)
    for a, axis in enumerate(axes):
        columns = list(axis.columns)
        if anywhere[columns].any():
            moved = np.flatnonzero(differs[:, columns].any(axis=1))
            only = before[moved]
            only[:, columns] = after[moved][:, columns]
            efforts[moved, a] = cost.between(before[moved], only)
    return efforts
