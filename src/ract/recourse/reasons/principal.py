"""From values of features to principal reasons: the few that hurt most, and their ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# A feature is no reason unless this share of all that hurt comes of it.
MATERIAL = 0.01
# Two features are tied, or nearly so, if one hurt at most this share less than the other.
NEARLY = 0.05


@dataclass(frozen=True)
class Principal:
    """A feature among the principal reasons of one person.

    axis : its position. share : of all that hurt. larger : whether it hurt by comparison with
    people whose number is larger; None if only by comparison with people who have none. tied :
    positions of features that hurt as much, or nearly so.
    """

    axis: int
    share: float
    larger: bool | None
    tied: tuple[int, ...]


def principal_reasons(parts: np.ndarray, most: int) -> list[Principal]:
    """The features that hurt one person most, the worst first.

    Parameters
    ----------
    parts : float (features, 3)
        Of ``shapley_values``.
    most : int
        How many at most.

    Examples
    --------
    >>> parts = np.array([[0.0, -0.2, 0.0], [0.1, 0.0, 0.0], [-0.197, 0.0, 0.0]])
    >>> [(reason.axis, reason.larger, reason.tied) for reason in principal_reasons(parts, 4)]
    [(0, True, (2,)), (2, False, (0,))]
    """
    hurt = np.maximum(-parts.sum(axis=1), 0.0)
    total = hurt.sum()
    if total <= 0:
        return []
    order = [a for a in np.argsort(-hurt, kind="stable").tolist() if hurt[a] >= MATERIAL * total]
    return [
        Principal(a, float(hurt[a] / total), _larger(parts[a]), _tied(a, order, hurt))
        for a in order[:most]
    ]


def _larger(parts: np.ndarray) -> bool | None:
    smaller, larger = parts[:2]
    return bool(larger < smaller) if min(smaller, larger) < 0 else None


def _tied(a: int, order: Sequence[int], hurt: np.ndarray) -> tuple[int, ...]:
    return tuple(
        b for b in order if b != a and abs(hurt[a] - hurt[b]) <= NEARLY * max(hurt[a], hurt[b])
    )
