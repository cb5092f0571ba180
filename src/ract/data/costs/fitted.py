"""Costs that have seen the training table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ract._kernels.cells import interpolate
from ract._utils.errors import InvalidSpec
from ract.data.costs.protocols import FittedCost, Norm, Supply
from ract.data.costs.supply import without_missing


class _ByColumn:
    """A fitted cost that splits by column: levels, and how the efforts of columns combine."""

    norm: Norm
    supply: tuple[Supply, ...]

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        raise NotImplementedError

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        start, stop = np.atleast_2d(start), np.atleast_2d(stop)
        supplied = np.zeros((len(start), 0))
        if self.supply or np.isnan(start).any():
            start, stop, supplied = without_missing(start, stop, self.supply)
        moved = np.flatnonzero((start != stop).any(axis=0)).tolist()
        if not moved and not supplied.any():
            return np.zeros(len(start))
        moves = [np.abs(self.level(j, stop[:, j]) - self.level(j, start[:, j])) for j in moved]
        shifts = np.array([*moves, *supplied.T])
        return shifts.max(axis=0) if self.norm == "max" else shifts.sum(axis=0)


@dataclass(frozen=True)
class LevelCost(_ByColumn):
    """A fitted cost whose levels are linear between knots and flat beyond them.

    Parameters
    ----------
    norm : {"max", "l1"}
    knots, levels : tuple of arrays, one pair per encoded column
        Increasing values and the non-decreasing level at each.
    supply : tuple of Supply
        What supplying a missing value costs.
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


@dataclass(frozen=True)
class LinearCost(_ByColumn):
    """A fitted cost whose levels are the values times a factor per encoded column.

    Parameters
    ----------
    norm : {"max", "l1"}
    factors : float (columns,)
    supply : tuple of Supply
        What supplying a missing value costs.
    origins : float (columns,), optional
        Values at which levels are 0; 0 by default. Far from 0 the levels of neighbours would
        differ by less than their own rounding.

    Examples
    --------
    >>> cost = LinearCost("max", np.array([1 / 15]), origins=np.array([2.0**52]))
    >>> bool(np.isclose(cost.between([[2.0**52 + 7]], [[2.0**52 + 8]]), 1 / 15))
    True
    """

    norm: Norm
    factors: np.ndarray
    supply: tuple[Supply, ...] = ()
    origins: np.ndarray | None = None

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        values = np.asarray(values, dtype=np.float64)
        if self.origins is not None:
            values = values - self.origins[column]
        return values * self.factors[column]


@dataclass(frozen=True)
class RelativeLevels(_ByColumn):
    """A fitted cost of changes relative to the person (see ``ract.data.costs.scaled``).

    Parameters
    ----------
    scales : float (columns,)
        Above 0: up to this size levels are straight, and logarithms beyond.
    factors : float (columns,)
    supply : tuple of Supply
        What supplying a missing value costs.
    """

    scales: np.ndarray
    factors: np.ndarray
    supply: tuple[Supply, ...] = ()
    norm: Norm = "max"

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        share = np.asarray(values, dtype=np.float64) / self.scales[column]
        size = np.abs(share)
        beyond = np.sign(share) * (1 + np.log(np.maximum(size, 1.0)))
        return np.where(size <= 1, share, beyond) * self.factors[column]


@dataclass(frozen=True)
class FittedCombined:
    """A fitted cost of the form (1 - largest) sum + largest maximum + per_change changes.

    Parameters
    ----------
    base : LevelCost or LinearCost
        The effort of each column.
    per_change : float
        What every changed feature costs besides.
    largest : float
        The part of the largest effort of a feature; the rest is that of their sum.
    features : tuple of tuple of int
        Encoded columns of features that have several; every other column is a feature.
    """

    base: LevelCost | LinearCost
    per_change: float = 0.0
    largest: float = 0.0
    features: tuple[tuple[int, ...], ...] = ()
    norm: Norm = field(default="combined", init=False)

    @property
    def supply(self) -> tuple[Supply, ...]:
        """What supplying a missing value takes."""
        return self.base.supply

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        return self.base.level(column, values)

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        start, stop = np.broadcast_arrays(np.atleast_2d(start), np.atleast_2d(stop))
        efforts, changed = self._efforts(start, stop)
        total, most = efforts.sum(axis=0), efforts.max(axis=0, initial=0.0)
        return np.asarray(
            (1 - self.largest) * total + self.largest * most + self.per_change * changed.sum(axis=0)
        )

    def _efforts(self, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Effort of each feature (features x actions), and whether it changes."""
        differs = (start != stop) & ~(np.isnan(start) & np.isnan(stop))
        start, stop, supplied = without_missing(start, stop, self.supply)
        several = {j for group in self.features for j in group}
        alone = ((j,) for j in range(start.shape[1]) if j not in several)
        groups = [group for group in (*self.features, *alone) if differs[:, group].any()]
        efforts = np.zeros((len(groups), len(start)))
        for k, group in enumerate(groups):
            for j in group:
                efforts[k] += np.abs(self.level(j, stop[:, j]) - self.level(j, start[:, j]))
            for one, cost in zip(self.supply, supplied.T, strict=True):
                if one.columns[0] in group:
                    efforts[k] += cost
        changed = [differs[:, group].any(axis=1) for group in groups]
        return efforts, np.array(changed, bool).reshape(efforts.shape)


def reweighted(cost: FittedCost, factors: np.ndarray) -> FittedCost:
    """The same cost with the effort of each encoded column multiplied by a factor.

    >>> reweighted(LinearCost("max", np.array([1.0, 2.0])), np.array([3.0, 1.0])).factors
    array([3., 2.])
    """
    if isinstance(cost, LevelCost | LinearCost | RelativeLevels):
        return _rescaled(cost, factors)
    if isinstance(cost, FittedCombined):
        return replace(cost, base=_rescaled(cost.base, factors))  # type: ignore[arg-type]
    raise InvalidSpec(
        f"Weights of single people are not known to {type(cost).__name__}; only ract's own costs "
        "can be weighted after they were fitted."
    )


def refuse_percent(cost: FittedCost, budget: float) -> None:
    """Refuse a budget beyond every share, such as 30 for 30%, for a cost that is one."""
    if not (isinstance(cost, LevelCost) and cost.norm == "max" and 1 < budget < np.inf):
        return
    dearest_supply = max((one.cost for one in cost.supply), default=0.0)
    if budget > max(1.0, dearest_supply, *(float(level[-1] - level[0]) for level in cost.levels)):
        raise InvalidSpec(
            f"budget is {budget:g}, but this cost is a share of people, from 0 to 1: write "
            f"{budget / 100:g} for {budget:g}%, or inf for no limit."
        )


def _rescaled(
    cost: LevelCost | LinearCost | RelativeLevels, factors: np.ndarray
) -> LevelCost | LinearCost | RelativeLevels:
    supply = tuple(
        replace(one, cost=one.cost * float(factors[one.columns[0]])) for one in cost.supply
    )
    if isinstance(cost, LinearCost | RelativeLevels):
        return replace(cost, factors=cost.factors * factors, supply=supply)
    levels = tuple(f * levels for f, levels in zip(factors, cost.levels, strict=True))
    return replace(cost, levels=levels, supply=supply)


def require_max_norm(cost: FittedCost, who: str = "Training needs") -> None:
    """Refuse costs that training, or who else is named, cannot use."""
    if cost.norm != "max":
        raise InvalidSpec(
            f"{who} a cost that is the largest of its features' efforts (norm 'max', such as "
            f"'percentile' or 'range'); this one has norm {cost.norm!r}, which the exact search "
            "for recourse takes."
        )
