"""Which search serves which question: one function per search, in a registry.

Every search honours ``time_limit``, ``n_jobs`` and ``progress``; what else it honours stands
beside its name. An option that the chosen search does not honour is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.status import Status
from ract.data.costs import FittedCost
from ract.data.effects import effects_of
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.additive.objective import adds_up
from ract.recourse.additive.search import AdditiveSearch, SeveralAdditiveSearch
from ract.recourse.causal.search import CausalSearch
from ract.recourse.common.answers import Answers, differs
from ract.recourse.common.by_pattern import Make, refuse_missing, solve_by_pattern
from ract.recourse.common.problem import Problem
from ract.recourse.common.search import Batch, Search
from ract.recourse.exact.search import ExactSearch
from ract.recourse.exact.several import SeveralSearch
from ract.recourse.explain.explainer import Explainer, ends_of_cells
from ract.recourse.leaves import LeafSearch
from ract.recourse.live import LiveRegionSearch
from ract.recourse.options import Options
from ract.recourse.plausible.plausibility import PlausibleSearch, plausibility_of
from ract.recourse.question import Question
from ract.recourse.rules.explain import RuledExplainer
from ract.recourse.rules.ruling import Ruling
from ract.recourse.rules.search import RuledSearch
from ract.recourse.solver.relations import read_relations
from ract.recourse.solver.search import SolverSearch
from ract.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class Task:
    """A question with options, for people who share the same rules.

    Parameters
    ----------
    question : Question
    options : Options
    axes : tuple of Axis
        The features and what these people may do with them.
    least, most : float (people,) or float
        What no action of theirs can cost less than, and what one costs at most, as far as that is
        known before.
    """

    question: Question
    options: Options
    axes: tuple[Axis, ...]
    least: float | np.ndarray = 0.0
    most: float | np.ndarray = np.inf

    @property
    def model(self) -> Any:
        """What every search is made from: trees, features, cost."""
        return self.question.goal, self.axes, self.question.cost

    @property
    def grid(self) -> Grid:
        """The cells in which no tree differs."""
        each = [one.ensemble for one in self.question.each]
        feature = np.concatenate([trees.feature for trees in each])
        threshold = np.concatenate([trees.threshold for trees in each])
        return Grid.from_splits(self.axes, feature[feature >= 0], threshold[feature >= 0])

    def by_pattern(
        self, make: Make, people: np.ndarray, *, start: np.ndarray | None = None
    ) -> Answers:
        """The answers of a search that takes no missing numbers."""
        question = self.question
        batch = Batch.of(people, question.budget, self.options.limits)
        return solve_by_pattern(make, question.goal, self.axes, batch, start=start)

    def solved(self, search: Search, people: np.ndarray) -> Answers:
        """The answers of a search for encoded people."""
        return search.answers(Batch.of(people, self.question.budget, self.options.limits))


class Entry(NamedTuple):
    """A search: how it answers a task for encoded people, and the options it honours."""

    solve: Callable[[Task, np.ndarray], Answers]
    honours: frozenset[str]

    def refused(self, options: Options) -> list[str]:
        """The options that were asked for and that it does not honour."""
        return [name for name, asked in options.asked.items() if asked and name not in self.honours]


SEARCHES: dict[str, Entry] = {}


def _register(name: str, *honours: str) -> Callable[[Any], Any]:
    def register(solve: Callable[[Task, np.ndarray], Answers]) -> Any:
        SEARCHES[name] = Entry(solve, frozenset(honours))
        return solve

    return register


EXACT = (
    "max_changes", "max_nodes", "margin", "ranges", "n_alternatives", "strength='most'",
    "at_least", "prefer",
)  # fmt: skip


@_register("additive", *EXACT)
@_register("exact", *EXACT)
def _exact(task: Task, people: np.ndarray) -> Answers:
    kind = AdditiveSearch if adds_up(task.question.cost) else ExactSearch
    search, budget = kind.prepared(*task.model), task.question.budget
    batch = Batch.of(people, np.minimum(budget, task.most), task.options.limits)
    batch.answers.bound[:] = task.least
    rules = task.question.rules
    # Searches for a strength and for the decision may differ; the cells are the same.
    decision = kind.prepared(task.question.ensemble, *task.model[1:])
    explainer = Explainer(search, batch, budget, task.options, rules, decision)
    strongest, prefer = task.options.strongest, task.options.prefer
    search.fill(batch, strongest=strongest, prefer=prefer, then=explainer.explain)
    return batch.answers


@_register("several", "max_changes", "max_nodes")
def _several(task: Task, people: np.ndarray) -> Answers:
    _, axes, cost = task.model
    kind = SeveralAdditiveSearch if adds_up(cost) else SeveralSearch
    search = kind.prepared([one.goal for one in task.question.each], axes, cost)
    answers = task.solved(search, people)
    return ends_of_cells(task.grid, people, answers)


RULED = "max_changes", "max_nodes", "n_alternatives", "prefer"


@_register("ruled", *RULED, "ranges", "at_least", "strength='most'")
@_register("ruled several", *RULED)
def _ruled(task: Task, people: np.ndarray) -> Answers:
    question, options = task.question, task.options
    batch = Batch.of(people, np.minimum(question.budget, task.most), options.limits)
    batch.answers.bound[:] = task.least
    ask: dict[str, Any] = {"prefer": options.prefer, "n_alternatives": options.n_alternatives}
    if question.also:
        ruled_search(question, task.axes).fill(batch, **ask)
        return ruled_ends(task, people, batch.answers)
    kind = AdditiveSearch if adds_up(question.cost) else ExactSearch
    search, decision = (
        kind.prepared(trees, *task.model[1:]) for trees in (question.goal, question.ensemble)
    )
    if options.strongest:
        search = search.graded
    explainer = RuledExplainer(search, decision, options)
    ruled = RuledSearch(search, Ruling(question.joint_rules, task.axes, question.cost))
    ruled.fill(batch, strongest=options.strongest, explainer=explainer, **ask)
    return batch.answers


def ruled_ends(task: Task, people: np.ndarray, answers: Answers) -> Answers:
    """The same answers with the ends of cells, but for features that rules name."""
    answers = ends_of_cells(task.grid, people, answers)
    named = {name for rule in task.question.joint_rules for name in rule.features}
    low, high = answers.add_ends(len(task.axes))
    joined = [a for a, axis in enumerate(task.axes) if axis.feature.name in named]
    low[:, joined] = high[:, joined] = np.nan  # of these, other values might break a rule
    return answers


def ruled_search(question: Question, axes: tuple[Axis, ...]) -> RuledSearch:
    """The search for plans that keep the rules between features of the action space."""
    cost, additive = question.cost, adds_up(question.cost)
    ruling = Ruling(question.joint_rules, axes, cost)
    if question.also:
        several = SeveralAdditiveSearch if additive else SeveralSearch
        return RuledSearch(
            several.prepared([one.goal for one in question.each], axes, cost), ruling
        )
    kind = AdditiveSearch if additive else ExactSearch
    return RuledSearch(kind.prepared(question.goal, axes, cost), ruling)


@_register("leaves", "method='leaves'", "max_changes")
def _leaves(task: Task, people: np.ndarray) -> Answers:
    answers = task.by_pattern(
        lambda ensemble, axes, _: LeafSearch(ensemble, axes, task.question.cost), people
    )
    return ends_of_cells(task.grid, people, answers)


@_register("live", "method='live'", "max_changes")
def _live(task: Task, people: np.ndarray) -> Answers:
    known = task.question.known
    if not task.question.goal.decide(known).any():
        raise InvalidSpec(
            "method='live' looks around people whom the model accepts, and none were given: pass "
            "the training table as reference."
        )

    def search(ensemble: TreeEnsemble, axes: tuple[Axis, ...], lacking: np.ndarray) -> Search:
        # Nobody becomes missing: whoever lacks more than they do is out of reach.
        within = ~np.delete(np.isnan(known), lacking, axis=1).any(axis=1)
        return LiveRegionSearch(ensemble, axes, task.question.cost, np.nan_to_num(known[within]))

    return ends_of_cells(task.grid, people, task.by_pattern(search, people))


@_register("solver", "max_changes")
def _solver(task: Task, people: np.ndarray) -> Answers:
    relations = task.question.joint_rules
    read_relations(relations, task.axes)  # refuses other rules, and what may be missing
    start, spent, options = None, np.zeros(len(people)), task.options
    if not relations:
        leaves = _leaves(task, people)
        start, spent = leaves.values, leaves.seconds
        task = replace(task, options=replace(options, limits=options.limits.after(spent)))

    def search(ensemble: TreeEnsemble, axes: tuple[Axis, ...], _: np.ndarray) -> Search:
        return SolverSearch(ensemble, axes, task.question.cost, relations=relations)

    answers = task.by_pattern(search, people, start=start)
    answers.seconds = answers.seconds + spent
    return answers if relations else ends_of_cells(task.grid, people, answers)


@_register("causal", "effects", "max_changes")
def _causal(task: Task, people: np.ndarray) -> Answers:
    question, options = task.question, task.options
    ensemble, axes, cost = task.model
    search = CausalSearch(
        ensemble, axes, cost, options.effects,
        reference=question.known, held=partial(question.encoder.held, narrow=question.narrow),
    )  # fmt: skip
    return task.solved(search, people)


@_register("plausible", "plausibility")
def _plausible(task: Task, people: np.ndarray) -> Answers:
    question = task.question
    search = PlausibleSearch(Problem(*task.model), task.options.plausibility, question.known)
    return task.solved(search, people)


def search_for(question: Question, options: Options) -> Entry:
    """The search that serves a question; options that it does not honour are refused."""
    quadratic = question.cost.norm in ("l2", "mahalanobis")
    ruled = bool(question.joint_rules)
    if question.also:
        judged = any(not one.decides for one in question.also)
        name, because = "several", "earned" if judged else "several models"
        if question.tree.also:
            because = "one class among several"
    elif options.effects is not None:
        name, because = "causal", "effects"
    elif options.plausibility is not None:
        name, because = "plausible", "plausibility"
    elif options.method != "exact":
        name, because = options.method, f"method={options.method!r}"
    else:
        name, because = "additive" if adds_up(question.cost) else "exact", ""
        if quadratic:
            name, because = "solver", f"a cost with norm {question.cost.norm!r}"
    if ruled and name in ("exact", "additive", "several"):
        name, because = "ruled several" if question.also else "ruled", "rules between features"
        ruled = False
    entry = SEARCHES[name]
    refused = entry.refused(options)
    exact_only = SEARCHES["exact"].honours - {"max_changes", "max_nodes"}
    if refused and exact_only.issuperset(refused):
        raise InvalidSpec(
            f"{listing(refused)} need the exact method, a cost that is a maximum or a sum, and "
            f"neither rules between features, effects nor plausibility; got {because}."
        )
    if quadratic and question.also:
        refused.append(f"a cost with norm {question.cost.norm!r}")
    if ruled and name != "solver":
        refused.append("rules between features")
    if refused:
        raise InvalidSpec(f"{refused[0]} and {because} cannot be asked for together.")
    return entry


def resolved(question: Question, options: Options) -> Options:
    """The options with what is learned from the reference people in place of its name."""
    if options.effects is not None:
        refuse_missing(question.encoder.axes, "Causal effects")
        memo = question.ensemble.memo
        effects = effects_of(options.effects, question.encoder, question.known, memo)
        return replace(options, effects=effects)
    if options.plausibility is not None:
        refuse_missing(question.encoder.axes, "Plausible plans")
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
    changed = differs(before, after)
    anywhere = np.asarray(changed.any(axis=0))
    for a, axis in enumerate(axes):
        columns = list(axis.columns)
        if anywhere[columns].any():
            moved = np.flatnonzero(changed[:, columns].any(axis=1))
            only = before[moved]
            only[:, columns] = after[moved][:, columns]
            efforts[moved, a] = cost.between(before[moved], only)
    return efforts
