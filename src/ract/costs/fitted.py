"""Costs that have seen the training table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ract._kernels.cells import interpolate
from ract.costs.protocols import FittedCost, Norm, Supply
from ract.costs.supply import without_missing
from ract.errors import InvalidSpec


@dataclass(frozen=True)
class LevelCost:
    """A fitted cost whose levels are linear between knots and flat beyond them.

    Parameters
    ----------
    norm : {"max", "l1", "l2"}
    knots, levels : tuple of arrays, one pair per encoded column
        Increasing values and the non-decreasing level at each.
    supply : tuple of Supply
        What handing in a missing value costs.
    """

    norm: Norm
    knots: tuple[np.ndarray, ...]
    levels: tuple[np.ndarray, ...]
    supply: tuple[Supply, ...] = ()

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        out = np.empty(len(values))
        interpolate(values, self.knots[column], self.levels[column], out)
        return out

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        return combine(self, start, stop)


@dataclass(frozen=True)
class LinearCost:
    """A fitted cost whose levels are the values times a factor per encoded column."""

    norm: Norm
    factors: np.ndarray
    supply: tuple[Supply, ...] = ()

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        return np.asarray(values, dtype=np.float64) * self.factors[column]

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        return combine(self, start, stop)


def combine(cost: FittedCost, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Cost of actions from a cost's levels and its norm."""
    start, stop = np.atleast_2d(start), np.atleast_2d(stop)
    supply: tuple[Supply, ...] = getattr(cost, "supply", ())
    handed = np.zeros((len(start), 0))
    if supply or np.isnan(start).any():
        start, stop, handed = without_missing(start, stop, supply)
    moved = np.flatnonzero((start != stop).any(axis=0)).tolist()
    if not moved and not handed.any():
        return np.zeros(len(start))
    moves = [np.abs(cost.level(j, stop[:, j]) - cost.level(j, start[:, j])) for j in moved]
    shifts = np.array([*moves, *handed.T])
    if cost.norm == "max":
        return shifts.max(axis=0)
    if cost.norm == "l1":
        return shifts.sum(axis=0)
    return np.sqrt((shifts**2).sum(axis=0))


@dataclass(frozen=True)
class FittedMahalanobis:
    """A fitted Mahalanobis distance."""

    precision: np.ndarray
    weights: np.ndarray
    norm: Norm = "mahalanobis"

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Does not exist: this cost does not split by column."""
        raise InvalidSpec("The Mahalanobis cost does not split by feature; it is for search only.")

    def form(self, columns: Sequence[int]) -> np.ndarray:
        """The matrix A with cost sqrt(d' A d) for moves d of some columns, the others at rest."""
        weights = self.weights[list(columns)]
        return weights[:, None] * self.precision[np.ix_(columns, columns)] * weights

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        moved = (np.atleast_2d(stop) - np.atleast_2d(start)) * self.weights
        return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", moved, self.precision, moved), 0.0))


def reweighted(cost: FittedCost, factors: np.ndarray) -> FittedCost:
    """The same cost with the effort of each encoded column multiplied by a factor.

    >>> reweighted(LinearCost("max", np.array([1.0, 2.0])), np.array([3.0, 1.0])).factors
    array([3., 2.])
    """
    if isinstance(cost, LevelCost | LinearCost):
        supply = tuple(
            replace(one, cost=one.cost * float(factors[one.columns[0]])) for one in cost.supply
        )
        if isinstance(cost, LinearCost):
            return replace(cost, factors=cost.factors * factors, supply=supply)
        levels = tuple(f * levels for f, levels in zip(factors, cost.levels, strict=True))
        return replace(cost, levels=levels, supply=supply)
    if isinstance(cost, FittedMahalanobis):
        return replace(cost, weights=cost.weights * factors)
    raise InvalidSpec(
        f"Weights of single people are not known to {type(cost).__name__}; only ract's own costs "
        "can be weighted after they were fitted."
    )


def require_max_norm(cost: FittedCost) -> None:
    """Refuse costs that training cannot use."""
    if cost.norm != "max":
        raise InvalidSpec(
            f"Training needs a cost that is the largest of its features' efforts "
            f"(norm 'max', such as 'percentile' or 'range'); this one has norm {cost.norm!r} "
            "and can be used to search for recourse."
        )
