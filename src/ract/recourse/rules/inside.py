"""The cheapest values within one piece of each feature that keep all weighted sums.

Inside a piece the cost of a feature is a straight line, so that this is a small linear program,
with whole numbers where features are such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ract.data.actions.rules import ROUNDING
from ract.recourse.rules.choices import Choices
from ract.recourse.rules.ruling import Ruling

INFEASIBLE = 2  # of HiGHS


def values_inside(
    ruling: Ruling,
    choices: Mapping[int, Choices],
    at: Mapping[int, int],
    slopes: Mapping[int, float],
    part: float,
) -> tuple[np.ndarray | None, bool]:
    """Values of the axes that are added up, and whether the answer is proved.

    Parameters
    ----------
    ruling : Ruling
    choices : mapping of int to Choices
    at : mapping of int to int
        The piece of each axis.
    slopes : mapping of int to float
        What a unit away from the cheapest value costs in that piece.
    part : float
        That of the largest effort; the rest is that of their sum.

    Returns
    -------
    values, proved
        None if there are none, or none was found.
    """
    axes, n = ruling.added, len(ruling.added)
    pieces = [(choices[a], at[a]) for a in axes]
    low, high = (np.array([getattr(c, end)[k] for c, k in pieces]) for end in ("low", "high"))
    near = np.array([c.value[k] for c, k in pieces])
    effort = np.array([c.effort[k] for c, k in pieces])
    away = np.where(near <= low, 1.0, -1.0) * np.array([slopes[a] for a in axes])
    matrix = np.zeros((len(ruling.rows) + n, n + 1))
    upper = np.empty(len(ruling.rows) + n)
    for r, row in enumerate(ruling.rows):
        matrix[r, [axes.index(a) for a in row.axes]] = row.factors
        upper[r] = row.upper
    for k in range(n):  # the last variable is at least every effort
        matrix[len(ruling.rows) + k, [k, n]] = away[k], -1.0
        upper[len(ruling.rows) + k] = away[k] * near[k] - effort[k]
    whole = np.array([ruling.whole(a) for a in axes] + [False])
    result = milp(
        np.append((1 - part) * away, part),
        integrality=whole.astype(int),
        bounds=Bounds(np.append(low, 0.0), np.append(high, np.inf)),
        constraints=LinearConstraint(matrix, -np.inf, upper),
        options={"mip_rel_gap": ROUNDING},
    )
    if result.x is None:
        return None, result.status == INFEASIBLE
    values = np.clip(np.where(whole[:-1], np.round(result.x[:-1]), result.x[:-1]), low, high)
    settled = _settled(ruling, axes, values, low, high, whole)
    if settled is not None:
        _draw_near(ruling, axes, settled, near, whole)
    return settled, True


def _settled(
    ruling: Ruling,
    axes: Sequence[int],
    values: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    whole: np.ndarray,
) -> np.ndarray | None:
    """The same values, moved by the rounding of the solver so that sums hold; None if they cannot.

    One number after the other takes up what is too much.
    """
    values = values.copy()
    for _ in range(4):
        fine = True
        for row in ruling.rows:
            at = [axes.index(a) for a in row.axes]
            excess = float(row.factors @ values[at]) - row.upper
            if excess <= 0 or row.excess(row.factors * values[at]) <= 0:
                continue
            fine = False
            for k, factor in zip(at, row.factors, strict=True):
                if not whole[k]:
                    moved = np.clip(values[k] - excess / factor, low[k], high[k])
                    excess -= factor * (values[k] - moved)
                    values[k] = moved
        if fine:
            return values
    return None


def _draw_near(
    ruling: Ruling, axes: Sequence[int], values: np.ndarray, near: np.ndarray, whole: np.ndarray
) -> None:
    """Move every value as near to its cheapest one as sums allow, one after the other.

    Under a maximum the solver is free to choose all but the largest effort.
    """
    for k, a in enumerate(axes):
        least, most = -np.inf, np.inf
        for row in ruling.rows:
            if a not in row.axes:
                continue
            factor = float(row.factors[row.axes.index(a)])
            others = sum(
                f * values[axes.index(b)]
                for f, b in zip(row.factors, row.axes, strict=True)
                if b != a
            )
            end = float(row.upper - others) / factor
            least, most = (least, min(most, end)) if factor > 0 else (max(least, end), most)
        if whole[k]:
            least, most = np.ceil(least), np.floor(most)
        if least <= values[k] <= most:
            values[k] = np.clip(near[k], least, most)
