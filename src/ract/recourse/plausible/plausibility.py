"""Actions that lead to people who exist: outlier scores, and the cheapest plausible action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.status import Status
from ract._utils.validation import BELOW_ONE, check_value, one_of
from ract.recourse.common.anchors import Anchors, inside
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.region_by_steps import enter_by_steps
from ract.recourse.common.search import LARGEST, Batch, RecourseSearch, for_each
from ract.recourse.exact.search import ExactSearch
from ract.recourse.leaves import LeafSearch
from ract.recourse.plan import Obstacle

Method = Literal["isolation_forest", "local_outlier_factor"]
METHODS = get_args(Method)

PLAIN_NODES = 10_000

# Costs at which reach is looked at, walks per person, rows that are scored at once.
STEPS = 32
MOST_STARTS = 32
SCORED_AT_ONCE = 256


class Plausibility:
    """How much a row of encoded values looks like one of the training people.

    Parameters
    ----------
    method : {"isolation_forest", "local_outlier_factor"}
        Outlier score of scikit-learn. The paper uses isolation forests; the local outlier factor
        measures distances, in standard deviations of each column.
    max_outliers : float
        Share of the training people who may count as implausible; it sets the threshold.
    among : {"all", "desired"}
        Whether to compare with all training people, or with those of the desired class.
    random_state : int
        Of the isolation forest.

    Attributes
    ----------
    threshold_ : float
        Least score of a plausible row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> people = rng.normal(size=(500, 2))
    >>> plausibility = Plausibility(max_outliers=0.05).fit(people)
    >>> plausibility.is_plausible([[0.0, 0.1], [4.0, -4.0]])
    array([ True, False])
    """

    def __init__(
        self,
        method: Method = "isolation_forest",
        *,
        max_outliers: float = 0.1,
        among: Literal["all", "desired"] = "all",
        random_state: int = 0,
    ) -> None:
        check_value("method", method, one_of(*METHODS))
        check_value("among", among, one_of("all", "desired"))
        check_value("max_outliers", max_outliers, BELOW_ONE)
        self.method, self.among = method, among
        self.max_outliers, self.random_state = max_outliers, random_state

    def fit(self, matrix: ArrayLike, desired: ArrayLike | None = None) -> Plausibility:
        """Learn what people look like.

        Parameters
        ----------
        matrix : float (people, columns)
            Encoded training people.
        desired : bool (people,), optional
            Who has the desired class; needed with ``among="desired"``.
        """
        people = _checked(matrix)
        if self.among == "desired":
            people = people[_mask(desired, len(people))]
        if len(people) < 2:
            raise InvalidData(f"Plausibility needs at least 2 people, got {len(people)}.")
        self.n_columns_ = people.shape[1]
        spread = people.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        if self.method == "isolation_forest":
            self._model = IsolationForest(random_state=self.random_state).fit(people)
            scores = self._model.score_samples(people)
        else:
            neighbours = min(20, len(people) - 1)
            self._model = LocalOutlierFactor(n_neighbors=neighbours, novelty=True)
            scores = self._model.fit(people / self._scale).negative_outlier_factor_
        self.threshold_ = float(np.quantile(scores, self.max_outliers))
        return self

    def score(self, values: ArrayLike) -> np.ndarray:
        """Score of each row; higher is more plausible.

        That of an isolation forest is minus the outlier score of the paper, between -1 and 0;
        that of the local outlier factor is minus the factor, about -1 for ordinary people.
        """
        rows = _checked(values)
        if not hasattr(self, "threshold_"):
            raise InvalidSpec("Plausibility has not seen any people yet; call fit first.")
        if rows.shape[1] != self.n_columns_:
            raise InvalidData(f"Expected {self.n_columns_} encoded columns, got {rows.shape[1]}.")
        if not len(rows):
            return np.zeros(0)
        scaled = rows if self.method == "isolation_forest" else rows / self._scale
        scores: np.ndarray = self._model.score_samples(scaled)
        return scores

    def is_plausible(self, values: ArrayLike) -> np.ndarray:
        """Whether each row scores at least as high as the threshold."""
        return self.score(values) >= self.threshold_


def plausibility_of(spec: object, known: np.ndarray) -> Plausibility:
    """A plausibility, or the name of one; learned from known people unless it is fitted."""
    if isinstance(spec, str) and spec in METHODS:
        return Plausibility(cast(Method, spec)).fit(known)
    if not isinstance(spec, Plausibility):
        raise InvalidSpec(f"plausibility must be a Plausibility or the name of one, got {spec!r}.")
    return spec if hasattr(spec, "threshold_") else spec.fit(known)


def _checked(values: ArrayLike) -> np.ndarray:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData("Plausibility takes a matrix of encoded numbers.") from None
    if matrix.ndim != 2:
        raise InvalidData(f"Plausibility takes a matrix, got {matrix.ndim} dimension(s).")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidData(
            f"Row {row} holds {matrix[row, column]} in column {column}; numbers must be finite."
        )
    return matrix


def _mask(desired: ArrayLike | None, n_people: int) -> np.ndarray:
    if desired is None:
        raise InvalidSpec("among='desired' needs to know who has the desired class.")
    mask = np.asarray(desired)
    if mask.shape != (n_people,) or mask.dtype != np.bool_:
        raise InvalidData(
            f"desired must be True or False for each of {n_people} people, got {mask.dtype} "
            f"of shape {mask.shape}."
        )
    return mask


class PlausibleSearch(RecourseSearch):
    """A cheap action for each person that leads to a plausible row.

    Ways start from the action that is cheapest without regard to plausibility, from where the
    desired regions around accepted people, who are plausible themselves, cost least to enter, and
    from the person where efforts add up.
    They lead on towards accepted people, nearest first: a feature at a time, the cheapest first
    and as far as the person can go. Of all rows on the way, the cheapest that has the desired
    class and is plausible wins, with the fewest changes among equals.

    Answers are ``FOUND`` or ``UNKNOWN``; where the exact search applies, an action of it that is
    proved cheapest and happens to be plausible is ``OPTIMAL``, and where it proved that there is
    none, there is ``NONE``. People who have the desired class stay as they are.

    Parameters
    ----------
    problem : CellProblem
        The model, and what actions cost.
    plausibility : Plausibility
        Fitted.
    reference : float (people, columns)
        Encoded people, such as the training people; those who have the desired class and are
        plausible are used.
    """

    def __init__(
        self, problem: CellProblem, plausibility: Plausibility, reference: np.ndarray
    ) -> None:
        self._problem, self._plausibility = problem, plausibility
        self._walks = Walks(problem, plausibility.is_plausible, reference)
        model = problem.ensemble, problem.grid.axes, problem.cost
        self._first: ExactSearch | LeafSearch = (
            ExactSearch.prepared(*model) if problem.cost.norm == "max" else LeafSearch(*model)
        )

    def fill(self, batch: Batch) -> None:
        """Nodes count the rows that were scored."""
        people, budgets, answers = batch.people, batch.budgets, batch.answers
        if batch.limits.max_changes is not None:
            raise InvalidSpec("max_changes and plausibility cannot be asked for together.")
        accepted = self._problem.ensemble.decide(people)

        def search(i: int, stop: np.ndarray) -> None:
            if accepted[i]:
                answers.status[i], answers.cost[i] = Status.OPTIMAL, 0.0
                return
            known = None
            first, values = self._first.cheapest(people[i], budgets[i], PLAIN_NODES, stop)
            answers.bound[i] = first.bound
            if first.status == Status.NONE:
                answers.status[i] = Status.NONE
                anyhow, _ = self._first.cheapest(people[i], LARGEST, PLAIN_NODES, stop)
                # Another budget may help, but which is the least is not known.
                needed = np.inf if anyhow.status == Status.NONE else np.nan
                answers.obstacles[i] = Obstacle((), False, needed)
                return
            if first.point is not None:
                known = values
                if self._plausibility.is_plausible(values[None])[0]:
                    answers.status[i], answers.cost[i] = first.status, first.cost
                    answers.values[i] = values
                    if first.status == Status.OPTIMAL:
                        return
            found, price, answers.nodes[i] = self._walks.cheapest(
                people[i], budgets[i], known, stop
            )
            if price < answers.cost[i]:
                answers.status[i], answers.cost[i] = Status.FOUND, price
                answers.values[i] = found

        answers.seconds = for_each(search, len(people), batch.limits)


class Walks:
    """Ways into the regions of accepted people, and on towards them.

    Parameters
    ----------
    problem : CellProblem
        The model, and what actions cost.
    is_plausible : function of rows
        Which rows are plausible, as an array of bool.
    reference : float (people, columns)
        Those with the desired class who are plausible are aimed at.
    """

    def __init__(
        self,
        problem: CellProblem,
        is_plausible: Callable[[np.ndarray], np.ndarray],
        reference: np.ndarray,
    ) -> None:
        self._problem, self._is_plausible = problem, is_plausible
        self._moves = Moves(problem.grid.axes, problem.cost)
        reference = np.asarray(reference, dtype=np.float64)
        reference = reference[is_plausible(reference)]
        self._anchors = Anchors.among(problem.ensemble, reference)
        self._no_effects = np.zeros((reference.shape[1],) * 2)

    def cheapest(
        self, person: np.ndarray, budget: float, known: np.ndarray | None, stop: np.ndarray
    ) -> tuple[np.ndarray, float, int]:
        """Values and cost of the best row, and how many rows were scored; inf if there is none.

        known (columns,): an action with the desired class, plausible or not, if there is one.
        stop (1,) uint8: set when the person's time is up.
        """
        if stop[0]:
            return person, np.inf, 0
        cap = min(budget, self._moves.dearest(person))
        rows = self._rows(PersonOutcomes(person, self._moves, self._no_effects), cap, known)
        price = self._problem.cost.between(np.tile(person, (len(rows), 1)), rows)
        good = (price <= budget) & self._problem.ensemble.decide(rows)
        rows, price = rows[good], price[good]
        order = np.lexsort(((rows != person).sum(axis=1), price))
        for start in range(0, len(order), SCORED_AT_ONCE):
            if stop[0]:
                return person, np.inf, start
            part = order[start : start + SCORED_AT_ONCE]
            plausible = self._is_plausible(rows[part])
            if plausible.any():
                best = part[int(np.argmax(plausible))]
                return rows[best], float(price[best]), start + len(part)
        return person, np.inf, len(order)

    def _rows(self, outcomes: PersonOutcomes, cap: float, known: np.ndarray | None) -> np.ndarray:
        """Rows on the ways to people from entries into regions, a known action, and the person.

        Where efforts add up, the ways from the person matter: those that begin in a region have
        spent the budget on features that need not change.
        """
        starts, ends = self._starts(outcomes, cap)
        near = self._near(outcomes.person, np.arange(len(self._anchors.points)))
        begin = [] if self._problem.cost.norm == "max" else [outcomes.person]
        for start in begin if known is None else [*begin, known]:
            starts = np.concatenate([starts, np.tile(start, (len(near), 1))])
            ends = np.concatenate([ends, self._anchors.points[near]])
        goals, efforts, columns = self._goals(outcomes, cap, starts, ends)
        now, rows = starts.copy(), [starts]
        for turn in np.argsort(efforts, axis=1, kind="stable").T:  # a feature of each walk
            for f in np.unique(turn):
                these = np.ix_(turn == f, columns[f])
                now[these] = goals[these]
            rows.append(now.copy())
        return np.unique(np.concatenate(rows), axis=0)

    def _near(self, person: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Those accepted people who are nearest in what can be changed."""
        goals = np.where(self._moves.actionable, self._anchors.points[which], person)
        distance = self._problem.cost.between(np.tile(person, (len(which), 1)), goals)
        return which[np.argsort(distance, kind="stable")[:MOST_STARTS]]

    def _starts(self, outcomes: PersonOutcomes, cap: float) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest rows of the nearest regions, and the accepted person of each region."""
        person, anchors = outcomes.person, self._anchors
        near = self._near(person, anchors.meeting(*outcomes.hull(cap)))
        reached = outcomes.reached(outcomes.everything(), cap, STEPS)
        lower, upper = np.empty((len(near), len(person))), np.empty((len(near), len(person)))
        for k, r in enumerate(near):
            price = outcomes.first_costs(reached, anchors.lower[r], anchors.upper[r])
            lower[k], upper[k] = anchors.region(int(r), price)
        starts = enter_by_steps(outcomes, self._moves.numeric, lower, upper, cap)
        entered = inside(starts, lower, upper)
        return starts[entered], anchors.points[near[entered]]

    def _goals(
        self, outcomes: PersonOutcomes, cap: float, starts: np.ndarray, ends: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """How far each walk may go, what each feature costs there, and each feature's columns."""
        person, moves, cost = outcomes.person, self._moves, self._problem.cost
        _, [low], [high] = outcomes.ranges(cap)
        goals, efforts = starts.copy(), []
        for j in map(int, moves.numeric):
            goals[:, j] = np.clip(ends[:, j], low[j], high[j])
            here = cost.level(j, person[j : j + 1])
            efforts.append(np.abs(cost.level(j, goals[:, j]) - here))
        for group, _, prices in outcomes.choices:
            price = prices[ends[:, group].argmax(axis=1)]
            goals[:, group] = np.where((price <= cap)[:, None], ends[:, group], starts[:, group])
            efforts.append(np.where(price <= cap, price, 0.0))
        columns = [np.array([j]) for j in moves.numeric] + list(moves.groups)
        return goals, np.stack(efforts, axis=1), columns
