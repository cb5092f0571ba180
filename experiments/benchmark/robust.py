"""Published methods for robust counterfactuals after the fact, under our cost, rules and budget.

Both take a model as it is and look for plans that its retraining will accept. They are written
anew, and adapted where the benchmark asks for more than they do: people change only what they may,
as far as they may, within the budget.

- Forel, Parmentier and Vidal, "Don't explain noise: robust counterfactuals for randomized
  ensembles" (arXiv 2205.14116); the rule is that of their code, github.com/alexforel/RobustCF4RF.
- Dutta, Long, Mishra, Tilli and Magazzeni, "Robust counterfactual explanations for tree-based
  ensembles" (ICML 2022, arXiv 2207.02739), called RobX; its numbers are those of published code
  by others, in RobustCF4RF and github.com/istepka/betarce, none of its authors being known to us.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.stats import beta

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.recourse.common.answers import Answers
from ract.recourse.common.moves import Moves
from ract.recourse.exact.search import MAX_NODES
from ract.recourse.find import inquire
from ract.recourse.replicates import AtStrengths
from ract.recourse.result import Recourse
from ract.trees.readers import read_model

# Costs are kept this far below the budget, so that no last digit puts a plan above it.
ROOM = 1e-9


@dataclass(frozen=True, eq=False)
class RobustMethod:
    """Plans for some people of one model, for any value of the method's own setting.

    What does not depend on the setting is computed once, so that many values can be compared.

    Parameters
    ----------
    model : fitted classifier
        Any that ``ract.find_recourse`` takes.
    people : frame
    actions : ActionSpace
    reference : frame
        The people of training, from whom costs are learned too.
    desired : label
    budget : float
    max_changes : int, optional
        How many features a plan may change.
    max_nodes : int
        Most nodes of each person's exact search.
    time_limit : float, optional
        Seconds for it.
    n_jobs : int, optional
        Threads of the exact search.

    Attributes
    ----------
    title : str
        The method in tables.
    default : float
        The setting where none is given.
    settings : tuple of float
        Values from which to choose on other people, the most robust last.
    """

    title: ClassVar[str]
    default: ClassVar[float]
    settings: ClassVar[tuple[float, ...]]

    model: Any
    people: Any
    _: KW_ONLY
    actions: Any
    reference: Any
    desired: Any
    budget: float
    max_changes: int | None = None
    max_nodes: int = MAX_NODES
    time_limit: float | None = 10.0
    n_jobs: int | None = None

    def plans(self, setting: float | None = None) -> Recourse:
        """Plans at a value of the setting."""
        raise NotImplementedError

    def cheapest(self, strength: float | None = None) -> Recourse:
        """The cheapest plans of a strength, by the exact search."""
        return self._plans.at(0.0 if strength is None else strength)

    @cached_property
    def _plans(self) -> AtStrengths:
        inquiry = inquire(
            self.model, self.people, actions=self.actions, reference=self.reference,
            desired=self.desired, budget=self.budget, explain=False, max_changes=self.max_changes,
            max_nodes=self.max_nodes, time_limit=self.time_limit, n_jobs=self.n_jobs,
        )  # fmt: skip
        return AtStrengths(inquiry)


@dataclass(frozen=True, eq=False)
class RobustVotes(RobustMethod):
    """Forel, Parmentier and Vidal: the cheapest plan that wins a share of trees by a wide margin.

    Trees are independent draws of one random learner. If each accepts a person with probability
    p, a forest of n new trees refuses them with the probability that a binomial variable of n and
    p is at most n/2. The share of trees that a plan must win is the least p for which that is at
    most alpha (their Direct-SAA). As in their experiments votes are soft: the mean probability of
    scikit-learn's forest stands for the share of trees. The setting is alpha.

    Their values of alpha are .01 to .5; smaller ones are there since they aim at another draw of
    the trees on the same people, and the benchmark at a forest of other people.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ract import ActionSpace
    >>> values = np.random.default_rng(0).normal(size=(200, 2))
    >>> people = pd.DataFrame(values, columns=["income", "debt"])
    >>> approved = people["income"] > people["debt"]
    >>> forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    >>> forest = forest.fit(people, approved)
    >>> space = ActionSpace.infer(people, fixed=["debt"])
    >>> method = RobustVotes(
    ...     forest, people.head(20), actions=space, reference=people, desired=True,
    ...     budget=0.3)
    >>> robust = method.plans(0.05)
    >>> bool((robust.strength[robust.found] >= share_needed(20, 0.05)).all())
    True
    """

    title = "robust votes (Forel et al.)"
    default = 0.05
    settings = (0.5, 0.3, 0.2, 0.1, 0.05, 0.01, 1e-3, 1e-6, 1e-12)

    def plans(self, setting: float | None = None) -> Recourse:
        """The cheapest plans that win the share of trees for a value of alpha."""
        alpha = self.default if setting is None else setting
        return self.cheapest(share_needed(self._n_trees, alpha))

    @cached_property
    def _n_trees(self) -> int:
        tree = read_model(self.model, self.reference, self.actions, desired=self.desired)
        if tree.ensemble.combine == "sum":
            raise InvalidSpec("The trees of a boosted model are no independent votes.")
        return tree.ensemble.n_trees


def share_needed(n_trees: int, alpha: float) -> float:
    """The share of trees that must accept someone for another forest to refuse with at most alpha.

    Parameters
    ----------
    n_trees : int
    alpha : float
        Probability that the majority of as many new trees refuses.

    Examples
    --------
    >>> [round(share_needed(100, alpha), 3) for alpha in (0.5, 0.05, 0.01)]
    [0.505, 0.586, 0.619]
    """
    if not 0 < alpha < 1:
        raise InvalidSpec(f"alpha must be a probability, got {alpha!r}.")
    half = n_trees // 2
    # At most half of n votes is as likely as a beta variable above p.
    return float(beta.isf(alpha, half + 1, n_trees - half))


@dataclass(frozen=True, eq=False)
class RobX(RobustMethod):
    """RobX: from the cheapest plan towards people in whose neighbourhood the model is stable.

    The counterfactual stability of a point is the mean of the model's probability of the desired
    class over normal samples around it, less their standard deviation; it must be at least tau,
    the setting. From the cheapest plan lead straight ways to the nearest people of training whom
    the model accepts and who are stable themselves; the plan is the cheapest stable point on them.
    Published code has 1000 samples with a spread of .1, and values of tau from .1 to .7.

    Where published code differs, or ways would lead out of what people can do, this is decided in
    the method's favour:

    - people who are approached are first brought within reach: what is fixed or dearer than the
      budget stays, or moves as far as it can. With ``max_changes``, the features that the cheapest
      plan changes move, and then those that are furthest off;
    - on the way whole numbers are rounded, and categories change halfway;
    - ways have steps of equal length, as in the code of Forel et al., and the cheapest stable point
      of all ways is taken, be it the first of its way or not;
    - the same samples are used around every point, so that points are compared alike.

    Parameters
    ----------
    sigma : float
        Spread of samples, in standard deviations of each column among the people of training. The
        code of Forel et al. has a tenth of the range, about .3 to .4 of these; for columns with
        few large values that is far too wide, and nearly nobody is stable.
    n_samples : int
    n_neighbours : int
        How many stable people are approached. Forel et al. take 10, for want of a number in the
        paper.
    n_steps : int
        To each of them.
    random_state : int
    """

    title = "RobX"
    default = 0.5
    settings = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)

    _: KW_ONLY
    sigma: float = 0.1
    n_samples: int = 1000
    n_neighbours: int = 10
    n_steps: int = 20
    random_state: int = 0

    def plans(self, setting: float | None = None) -> Recourse:
        """The cheapest stable points on the ways, for a value of tau."""
        tau = self.default if setting is None else setting
        question, cheapest = self._cheapest.question, self._cheapest
        answers = Answers.unknown(question.matrix)
        answers.accept(cheapest.accepted)
        # Who has no plan at all has no stable one; of the others nothing is proved.
        none = ~cheapest.found
        answers.status[none] = cheapest.answers.status[none]
        answers.bound[:] = cheapest.bound
        for i in np.flatnonzero(cheapest.found).tolist():
            point = self._stable_point(i, tau)
            if point is not None:
                answers.status[i], answers.values[i] = Status.FOUND, point
        self._confirm(answers)
        return Recourse(question, answers)

    def _confirm(self, answers: Answers) -> None:
        """Put plans to the model as its user would; keep those that it accepts."""
        question, rows = self._cheapest.question, np.flatnonzero(answers.status == Status.FOUND)
        answers.strength = np.full(len(answers.status), np.nan)
        if not len(rows):
            return
        ends = np.full((2, len(rows), len(question.encoder.axes)), np.nan)
        held = question.confirmed(rows, answers.values[rows], *ends)
        answers.values[rows], answers.strength[rows] = held.values, question.wins(held.values)
        answers.cost[rows] = question.cost.between(question.matrix[rows], held.values)
        kept = held.accepted & (answers.cost[rows] <= self.budget)
        answers.withdraw(rows[~kept], question.matrix)

    def stability(self, points: np.ndarray) -> np.ndarray:
        """Counterfactual stability of encoded points (rows x columns)."""
        question, stability = self._cheapest.question, np.empty(len(points))
        for i, point in enumerate(points):
            score = question.wins(point + self._noise)
            stability[i] = score.mean() - score.std()
        return stability

    @cached_property
    def _cheapest(self) -> Recourse:
        return self.cheapest()

    @cached_property
    def _moves(self) -> Moves:
        return Moves(self._cheapest.encoder.axes, self._cheapest.question.cost)

    @cached_property
    def _noise(self) -> np.ndarray:
        rng = np.random.default_rng(self.random_state)
        normal = rng.normal(size=(self.n_samples, len(self._deviation)))
        return normal * (self.sigma * self._deviation)

    @cached_property
    def _accepted(self) -> np.ndarray:
        """The people of training whom the model accepts, encoded, none twice."""
        question = self._cheapest.question
        return np.unique(question.known[question.ensemble.decide(question.known)], axis=0)

    @cached_property
    def _stability(self) -> np.ndarray:
        """Their stability; NaN until it is asked for, whatever tau."""
        return np.full(len(self._accepted), np.nan)

    @cached_property
    def _deviation(self) -> np.ndarray:
        """Standard deviation of each column among the people of training."""
        return np.asarray(self._cheapest.question.known.std(axis=0))

    def _stable_point(self, i: int, tau: float) -> np.ndarray | None:
        """The cheapest stable point on the ways from a person's cheapest plan to neighbours."""
        question, start = self._cheapest.question, self._cheapest.after[i]
        if self.stability(start[None])[0] >= tau:
            return start
        ends = self._within_reach(i, self._neighbours(start, tau))
        points = np.unique(np.vstack([start, *(self._way(start, end) for end in ends)]), axis=0)
        cost = question.cost.between(np.tile(question.matrix[i], (len(points), 1)), points)
        good = (cost <= self.budget) & question.ensemble.decide(points)
        points = points[good][np.argsort(cost[good], kind="stable")]
        return next((p for p in points if self.stability(p[None])[0] >= tau), None)

    def _neighbours(self, start: np.ndarray, tau: float) -> np.ndarray:
        """The accepted people of training nearest to a point who are stable (rows x columns)."""
        people, found = self._accepted, []
        distance = self._gap(people, start).sum(axis=1)
        for k in np.argsort(distance, kind="stable").tolist():
            if np.isnan(self._stability[k]):
                self._stability[k] = self.stability(people[k : k + 1])[0]
            if self._stability[k] >= tau:
                found.append(k)
            if len(found) == self.n_neighbours:
                break
        return people[found]

    def _gap(self, points: np.ndarray, start: np.ndarray) -> np.ndarray:
        """How far points are from one point in each column, in standard deviations."""
        return np.abs(points - start) / np.where(self._deviation > 0, self._deviation, 1.0)

    def _within_reach(self, i: int, ends: np.ndarray) -> np.ndarray:
        """Points (rows x columns), brought to where a person can get."""
        person, start, moves = self._cheapest.before[i], self._cheapest.after[i], self._moves
        [low], [high] = moves.ranges(person, np.array([self.budget * (1 - ROOM)]))
        reached = np.tile(start, (len(ends), 1))
        reached[:, moves.numeric] = np.clip(ends, low, high)[:, moves.numeric]
        for columns, price in zip(moves.groups, moves.switches, strict=True):
            own = int(np.argmax(person[columns]))
            category = ends[:, columns].argmax(axis=1)
            entered = np.ix_(price[own, category] <= self.budget, columns)
            reached[entered] = ends[entered]
        return reached if self.max_changes is None else self._with_few_changes(i, reached)

    def _with_few_changes(self, i: int, ends: np.ndarray) -> np.ndarray:
        """Points of which only as many features as allowed differ from the person."""
        start, ends = self._cheapest.after[i], ends.copy()
        gap = self._gap(ends, start)
        axes = [list(axis.columns) for axis in self._cheapest.encoder.axes]
        gap = np.stack([gap[:, columns].max(axis=1) for columns in axes], axis=1)
        gap[:, self._cheapest.changed[i]] = np.inf
        order = np.argsort(-gap, axis=1, kind="stable")
        for row, dropped in enumerate(order[:, self.max_changes :]):
            for a in dropped:
                ends[row, axes[a]] = start[axes[a]]
        return ends

    def _way(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Points on the way from one point to another, without its beginning (rows x columns)."""
        share = np.linspace(0, 1, self.n_steps + 1)[1:, None]
        points = (1 - share) * start + share * end
        points[:, self._moves.whole] = np.rint(points[:, self._moves.whole])
        for columns in self._moves.groups:
            points[:, columns] = np.where(share > 0.5, end[columns], start[columns])
        return points


METHODS: dict[str, type[RobustMethod]] = {"robust-votes": RobustVotes, "robx": RobX}
