"""Which search serves which question: one function per search, in one table.

Every search honours ``time_limit``, ``n_jobs`` and ``progress``; what else it honours stands
beside its name (``SEARCHES``). An option that it does not honour is refused, never ignored.
"""

from __future__ import annotations

import warnings
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
from ract.recourse.additive.search import AdditiveSearch, SeveralAdditiveSearch
from ract.recourse.causal.search import CausalSearch
from ract.recourse.common.answers import Answers, differs
from ract.recourse.common.by_pattern import refuse_missing_values, solve_by_pattern
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.search import Batch, RecourseSearch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.exact.several import SeveralSearch
from ract.recourse.explain.explainer import Explainer, ends_of_cells
from ract.recourse.leaves import LeafSearch
from ract.recourse.options import Options
from ract.recourse.plausible.plausibility import PlausibleSearch, plausibility_of
from ract.recourse.question import Question
from ract.recourse.rules.ruling import Ruling
from ract.recourse.rules.search import RuledExplainer, RuledSearch
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.scoring import as_votes


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
    def model(self) -> tuple[TreeEnsemble, tuple[Axis, ...], FittedCost]:
        """What every search is made from: trees, features, cost."""
        return self.question.goal, self.axes, self.question.cost

    @property
    def grid(self) -> Grid:
        """The cells in which no tree differs."""
        each = [one.ensemble for one in self.question.each]
        feature = np.concatenate([trees.feature for trees in each])
        threshold = np.concatenate([trees.threshold for trees in each])
        return Grid.from_splits(self.axes, feature[feature >= 0], threshold[feature >= 0])

    def batch(self, people: np.ndarray) -> Batch:
        """Encoded people, for a search that takes account of what is known of their costs."""
        batch = Batch.of(people, np.minimum(self.question.budget, self.most), self.options.limits)
        batch.answers.bound[:] = self.least
        return batch

    def solved(self, search: RecourseSearch, people: np.ndarray) -> Answers:
        """The answers of a search for encoded people."""
        return search.answers(Batch.of(people, self.question.budget, self.options.limits))


Solve = Callable[[Task, np.ndarray], Answers]


class Entry(NamedTuple):
    """A search: how it answers a task for encoded people, and the options it honours."""

    solve: Solve
    honours: frozenset[str]

    def refused(self, options: Options) -> list[str]:
        """The options that were asked for and that it does not honour."""
        return [name for name, asked in options.asked.items() if asked and name not in self.honours]


def _exact(task: Task, people: np.ndarray) -> Answers:
    question, options, batch = task.question, task.options, task.batch(people)
    # Searches for a strength and for the decision may differ; the cells are the same.
    search = exact_search(question.goal, task.axes, question.cost)
    decision = exact_search(question.ensemble, task.axes, question.cost)
    stronger = [
        decision.of_goal(as_votes(question.ensemble.stronger(strength)))
        for strength in options.levels.strengths(question.ensemble)
    ]
    asked = batch, question.budget, options, question.rules
    explainer = Explainer(search, *asked, decision, stronger)
    strongest, prefer = options.strongest, options.prefer
    search.fill(batch, strongest=strongest, prefer=prefer, then=explainer.explain)
    return batch.answers


def _several(task: Task, people: np.ndarray) -> Answers:
    answers = task.solved(several_search(task.question, task.axes), people)
    return ends_of_cells(task.grid, people, answers)


def _ruled(task: Task, people: np.ndarray) -> Answers:
    question, options, batch = task.question, task.options, task.batch(people)
    prefer, n_alternatives = options.prefer, options.n_alternatives
    if question.also:
        ruled = ruled_search(question, task.axes)
        ruled.fill(batch, prefer=prefer, n_alternatives=n_alternatives)
        return ruled_ends(task, people, batch.answers)
    search = exact_search(question.goal, task.axes, question.cost)
    decision = exact_search(question.ensemble, task.axes, question.cost)
    search = search.graded if options.strongest else search
    explainer = RuledExplainer(search, decision, options)
    ruled = RuledSearch(search, Ruling(question.joint_rules, task.axes, question.cost))
    ask = partial(ruled.fill, batch, prefer=prefer, n_alternatives=n_alternatives)
    ask(strongest=options.strongest, explainer=explainer)
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
    search: ExactSearch | SeveralSearch
    if question.also:
        search = several_search(question, axes)
    else:
        search = exact_search(question.goal, axes, question.cost)
    return RuledSearch(search, Ruling(question.joint_rules, axes, question.cost))


def exact_search(trees: TreeEnsemble, axes: tuple[Axis, ...], cost: FittedCost) -> ExactSearch:
    """The exact search for a cost that is a maximum or a sum."""
    kind = AdditiveSearch if adds_up(cost) else ExactSearch
    return kind.prepared(as_votes(trees), axes, cost)


def adds_up(cost: FittedCost) -> bool:
    """Whether a cost is a sum over features, with whatever else can be had in cells."""
    return cost.norm in ("l1", "combined")


def several_search(question: Question, axes: tuple[Axis, ...]) -> SeveralSearch:
    """The exact search for plans that every model of a question accepts."""
    kind = SeveralAdditiveSearch if adds_up(question.cost) else SeveralSearch
    return kind.prepared([one.goal for one in question.each], axes, question.cost)


def _leaves(task: Task, people: np.ndarray) -> Answers:
    question = task.question
    batch = Batch.of(people, question.budget, task.options.limits)
    make = partial(LeafSearch, cost=question.cost)
    answers = solve_by_pattern(make, question.goal, task.axes, batch)
    return ends_of_cells(task.grid, people, answers)


def _causal(task: Task, people: np.ndarray) -> Answers:
    question, effects = task.question, task.options.effects
    held = partial(question.encoder.held, narrow=question.narrow)
    search = CausalSearch(*task.model, effects, reference=question.known, held=held)
    return task.solved(search, people)


def _plausible(task: Task, people: np.ndarray) -> Answers:
    question = task.question
    search = PlausibleSearch(CellProblem(*task.model), task.options.plausibility, question.known)
    return task.solved(search, people)


FOR_SEVERAL = frozenset({"max_changes", "max_nodes"})
RULED_SEVERAL = FOR_SEVERAL | {"n_alternatives", "prefer"}
RULED = RULED_SEVERAL | {"ranges", "at_least", "strength='most'"}
EXACT = RULED | {"margin", "levels"}

SEARCHES = {
    "exact": Entry(_exact, EXACT),
    "additive": Entry(_exact, EXACT),
    "several": Entry(_several, FOR_SEVERAL),
    "ruled": Entry(_ruled, RULED),
    "ruled several": Entry(_ruled, RULED_SEVERAL),
    "leaves": Entry(_leaves, frozenset({"method='leaves'", "max_changes"})),
    "causal": Entry(_causal, frozenset({"effects", "max_changes"})),
    "plausible": Entry(_plausible, frozenset({"plausibility"})),
}


def search_for(question: Question, options: Options) -> Entry:
    """The search that serves a question; options that it does not honour are refused."""
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
    if ruled and name in ("exact", "additive", "several"):
        name, because = "ruled several" if question.also else "ruled", "rules between features"
        ruled = False
    entry = SEARCHES[name]
    refused = entry.refused(options)
    exact_only = SEARCHES["exact"].honours - {"max_changes", "max_nodes"}
    if refused and exact_only.issuperset(refused):
        raise InvalidSpec(
            f"{listing(refused)} {'needs' if len(refused) == 1 else 'need'} the exact method, one "
            "model of two classes, a cost that is a maximum or a sum, and neither rules between "
            f"features, effects nor plausibility; got {because}."
        )
    if ruled:
        refused.append("rules between features")
    if refused:
        raise InvalidSpec(f"{refused[0]} and {because} cannot be asked for together.")
    return entry


def resolved(question: Question, options: Options) -> Options:
    """The options with what is learned from the reference people in place of its name."""
    if options.effects is not None:
        refuse_missing_values(question.encoder.axes, "Causal effects")
        memo = question.ensemble.memo
        effects = effects_of(options.effects, question.encoder, question.known, memo)
        return replace(options, effects=effects)
    if options.plausibility is not None:
        refuse_missing_values(question.encoder.axes, "Plausible plans")
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


def confirm_plans(question: Question, answers: Answers) -> None:
    """Put every plan and alternative, and the ends of their ranges, to the model as a user would.

    What it wins is kept as its strength. A plan that the model refuses is not given: its person is
    unknown, an alternative is dropped. With effects the model decides on outcomes, which are found
    as the table holds them.
    """
    further = answers.alternatives
    tables = [answers, *further.values()]
    owners = [np.arange(len(question.matrix))]
    owners += [np.full(len(table.cost), row) for row, table in further.items()]
    shown = [np.flatnonzero(np.isin(t.status, (Status.OPTIMAL, Status.FOUND))) for t in tables]
    rows = np.concatenate([owner[at] for owner, at in zip(owners, shown, strict=True)])
    if not len(rows):
        return
    plans = [(table.ends, *table.add_ends(len(question.encoder.axes))) for table in tables]
    values, low, high = (
        np.concatenate([plan[k][at] for plan, at in zip(plans, shown, strict=True)])
        for k in range(3)
    )
    *confirmed, accepted = question.confirmed(rows, values, low, high)
    if question.joint_rules and answers.outcomes is None:
        accepted &= question.keeps_rules(rows, confirmed[0])
    if question.strength is not None:
        accepted &= np.all([one.goal.decide(confirmed[0]) for one in question.each], axis=0)
    stands = np.split(accepted, np.cumsum([len(at) for at in shown])[:-1])
    start = 0
    for table, plan, at in zip(tables, plans, shown, strict=True):
        part = slice(start, start + len(at))
        for column, new in zip(plan, confirmed, strict=True):
            column[at] = new[part]
        table.strength = np.full(len(table.cost), np.nan)
        table.strength[at] = question.wins(confirmed[0][part])
        start = part.stop
    answers.withdraw(shown[0][~stands[0]], question.matrix)
    for row, at, good in zip(list(further), shown[1:], stands[1:], strict=True):
        further[row] = further[row].take(at[good])
    if not accepted.all():
        warnings.warn(
            f"The model did not confirm {int((~accepted).sum())} of {len(rows)} plans, which "
            "can happen when it adds up its scores in another order; these people are reported as "
            "unknown.",
            stacklevel=6,
        )


def highest(
    answers: Answers,
    ask: Callable[[float, np.ndarray], Any],
    strengths: list[float],
    *,
    beside: bool,
) -> None:
    """Put plans of the highest of several strengths in the place of the cheapest.

    One whole question after the other, for what does not try levels person by person.

    Parameters
    ----------
    answers : Answers
        The cheapest plans, which are replaced.
    ask : callable
        The ``Recourse`` of a strength for some rows, in the time that ``answers.seconds`` leaves.
    strengths : list of float
        Ascending.
    beside : bool
        As in ``Levels``.
    """
    n = len(answers.status)
    rows = np.flatnonzero(answers.found & (answers.status != Status.ACCEPTED))
    cheapest, safe = answers.take(np.arange(n)), answers.beyond
    reached, missed = np.full(n, -1), np.full(n, len(strengths))
    level = missed - 1
    while len(rows := rows[missed[rows] - reached[rows] > 1]):
        now = level[rows[0]]
        asked = rows[level[rows] == now]
        seconds = answers.seconds[asked]
        again = ask(strengths[now], asked).answers
        better = again.found
        if safe is not None and again.beyond is not None:
            better = better & (again.beyond | ~safe[asked])
        reached[asked[better]], missed[asked[~better]] = now, now
        level[asked] = (reached[asked] + missed[asked]) // 2
        answers.replace(asked[better], again, np.flatnonzero(better))
        answers.seconds[asked] = seconds + again.seconds
    for row in np.flatnonzero(reached >= 0).tolist() if beside else ():
        plan = cheapest.take(np.array([row]))
        plan.weaker = np.ones(1, bool)
        before = answers.alternatives.get(row)
        answers.alternatives[row] = plan if before is None else before.with_rows(plan)
