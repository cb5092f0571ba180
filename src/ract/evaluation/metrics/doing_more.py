"""Is doing more than a plan asks safe? Proved for trees, sampled for models that cannot be read.

A plan is safe when everyone is accepted who does at least what it asks: any of the changes, each
on its own or together, carried further in its direction, up to the table's first or last
percentile.

    x ------------- target ================= percentile
                      every point here, in every combination with the other changes

Ordered categories (those that may only rise or fall) go further to the categories beyond;
unordered ones, 0 and 1, and values that are supplied have nothing beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ract._utils.status import Status
from ract.data.costs import fit_cost
from ract.data.encoder import Axis, Encoder
from ract.evaluation.metrics.amounts import Amounts
from ract.recourse.common.answers import differs
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.decide import Model
from ract.recourse.explain.ranges import Certifier
from ract.trees.ensemble import TreeEnsemble

MAX_NODES = 20_000


@dataclass(frozen=True)
class Further:
    """What people may do beyond their plans.

    Parameters
    ----------
    axes : tuple of Axis
    target : float (people, columns)
        Encoded people after their plans.
    far : float (people, axes)
        The last value of each number.
    beyond : bool (people, columns)
        Which categories people may be in, besides those of the plan.
    """

    axes: tuple[Axis, ...]
    target: np.ndarray
    far: np.ndarray
    beyond: np.ndarray

    @classmethod
    def of(cls, amounts: Amounts, before: np.ndarray, target: np.ndarray) -> Further:
        """What the table's percentiles and the order of categories leave.

        Parameters
        ----------
        amounts : Amounts
        before, target : float (people, columns)
            Encoded people before and after their plans.
        """
        first = [axis.columns[0] for axis in amounts.axes]
        far = amounts.furthest(before[:, first], target[:, first])
        beyond = np.zeros(target.shape, bool)
        for axis in amounts.axes:
            if axis.is_categorical and axis.feature.change in ("increase", "decrease"):
                _mark_beyond(axis, before, target, beyond)
        return cls(amounts.axes, target, far, beyond)

    def sample(self, i: int, n_points: int, rng: np.random.Generator) -> np.ndarray:
        """Points of one person that go further, encoded; the first is the plan itself."""
        points = np.tile(self.target[i], (n_points, 1))
        for a, axis in enumerate(self.axes):
            columns = list(axis.columns)
            goes = np.flatnonzero(rng.random(n_points) < 0.5)
            goes = goes[goes > 0]
            if axis.is_categorical:
                options = np.flatnonzero(self.beyond[i, columns])
                if len(options):
                    place = np.array(columns)
                    points[np.ix_(goes, place)] = 0.0
                    points[goes, place[rng.choice(options, len(goes))]] = 1.0
                continue
            target, far = self.target[i, columns[0]], self.far[i, a]
            if far != target and not np.isnan(target):
                values = target + rng.random(len(goes)) * (far - target)
                if axis.feature.kind != "continuous":
                    low, high = sorted((target, far))
                    values = rng.integers(int(low), int(high), len(goes), endpoint=True)
                points[goes, columns[0]] = values
        return points


def _mark_beyond(axis: Axis, before: np.ndarray, target: np.ndarray, beyond: np.ndarray) -> None:
    """Mark the categories beyond each person's new one, in the direction of the feature."""
    n = len(axis.feature.categories)  # a column for missing values may come after them
    columns = list(axis.columns)
    changed = differs(before[:, columns], target[:, columns]).any(axis=1)
    known = before[:, columns[:n]].any(axis=1)
    place = target[:, columns[:n]].argmax(axis=1)[:, None]
    rising = axis.feature.change == "increase"
    there = np.arange(n) > place if rising else np.arange(n) < place
    beyond[:, columns[:n]] = there & np.asarray(changed & known)[:, None]


def proved_safe(
    ensembles: Sequence[TreeEnsemble], encoder: Encoder, known: np.ndarray, further: Further
) -> np.ndarray:
    """Whether every point beyond each plan is accepted, by proof; as ``Status`` (people,).

    ``NONE``: nobody who does more is refused. ``FOUND``: somebody is. ``UNKNOWN``: the proof was
    given up.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble
        Trees with their decision; all of them must accept.
    encoder : Encoder
    known : float (people, columns)
        Encoded people of the table.
    further : Further
    """
    # Proofs need no prices, but a problem has some.
    cost = fit_cost(
        "percentile", list(known.T), encoder.weights, exact=True, missing=encoder.missing_cells
    )
    status = np.full(len(further.target), Status.NONE, dtype=object)
    for ensemble in ensembles:
        problem = CellProblem(ensemble, encoder.axes, cost)
        certifier = Certifier(Model.of(problem).refusing, MAX_NODES)
        for i in range(len(status)):
            if status[i] == Status.NONE:
                status[i] = certifier.refused_among(*_cells(problem, further, i))
    return status


def _cells(problem: CellProblem, further: Further, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells of a person's plan, and all cells that they may be in."""
    grid, last = problem.grid, further.target[i].copy()
    for a, axis in enumerate(further.axes):
        if not axis.is_categorical:
            last[axis.columns[0]] = further.far[i, a]
    point, end = problem.cells(np.stack([further.target[i], last]))
    lowest, highest = np.minimum(point, end), np.maximum(point, end)
    cell = np.arange(int(grid.n_cells.max()))
    inside = (cell >= lowest[:, None]) & (cell <= highest[:, None])
    for a, axis in enumerate(further.axes):
        if axis.is_categorical and not problem.folded[a]:
            inside[a, np.flatnonzero(further.beyond[i, list(axis.columns)])] = True
    return point, inside


def sampled_safe(
    accepts: Callable[[np.ndarray], np.ndarray],
    further: Further,
    n_points: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Whether all of some points beyond each plan are accepted (people,).

    Parameters
    ----------
    accepts : callable
        Takes encoded people and says whom the model accepts.
    further : Further
    n_points : int
        For each person, the plan itself included.
    rng : numpy.random.Generator
    """
    n_people = len(further.target)
    if not n_people:
        return np.zeros(0, bool)
    points = np.concatenate([further.sample(i, n_points, rng) for i in range(n_people)])
    accepted = np.asarray(accepts(points), dtype=bool)
    return np.asarray(accepted.reshape(n_people, n_points).all(axis=1))
