"""How much each feature moved the score of each person against others, and what hurt most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from ract._kernels.shapley import add_shapley
from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.progress import in_threads, track
from ract._utils.validation import check_value, one_of
from ract.data.encoder import Axis
from ract.trees.ensemble import TreeEnsemble

# Few enough for a bar that moves, and for threads that end together.
LARGEST_PART = 32
# A feature is no reason unless this share of all that hurt comes of it.
MATERIAL = 0.01
# Two features are tied, or nearly so, if one hurt at most this share less than the other.
NEARLY = 0.05

Against = Literal["margin", "accepted", "mean"]
AGAINST = one_of(*get_args(Against))
N_REFERENCE = 100
# At the margin are this share of the accepted with the lowest scores, but no fewer than so many.
SHARE_AT_MARGIN, FEWEST_AT_MARGIN = 0.1, 20


def score_of(ensemble: TreeEnsemble, matrix: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """The score that decides: the share of votes, the mean or the sum of values."""
    score = ensemble.score(matrix, n_jobs=n_jobs).astype(np.float64)
    return score / ensemble.n_trees if ensemble.combine == "votes" else score


def cutoff_of(ensemble: TreeEnsemble) -> float:
    """The score that the desired class needs."""
    n_trees = ensemble.n_trees if ensemble.combine == "votes" else 1
    return float(ensemble.cutoff) / n_trees


def shapley_values(
    ensemble: TreeEnsemble,
    axes: Sequence[Axis],
    people: np.ndarray,
    reference: np.ndarray,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> np.ndarray:
    """Exact interventional Shapley values of the score that decides, in three parts.

    The game of a person and a reference person gives each feature the value of one or of the
    other, missing values included; its values are averaged over the reference people. All columns
    of a feature are one player.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    people, reference : float (rows, columns)
        Encoded.
    n_jobs : int, optional
        Threads.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    float (people, axes, 3)
        What comes of reference people whose number is smaller (or who have another category, or
        any number where the person has none), larger, and missing. Together they add up to the
        person's score less the mean one of the reference.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree(300, max_depth=3)
    >>> people = model.encoder_.matrix(loans.frame)
    >>> parts = shapley_values(model.ensemble_, model.encoder_.axes, people[:5], people[5:])
    >>> score = score_of(model.ensemble_, people)
    >>> bool(np.allclose(parts.sum(axis=(1, 2)), score[:5] - score[5:].mean()))
    True
    """
    column, value = _without_idle_splits(ensemble, _leaf_values(ensemble))
    player = np.empty(sum(len(axis.columns) for axis in axes), np.int64)
    for a, axis in enumerate(axes):
        player[list(axis.columns)] = a
    ordered = np.array([-1 if axis.is_categorical else axis.columns[0] for axis in axes], np.int64)
    weights = _weights(min(len(axes), int(ensemble.depth.max())))
    root = np.append(ensemble.root, len(ensemble.feature)).astype(np.int64)
    people, reference = (np.ascontiguousarray(m, dtype=np.float64) for m in (people, reference))
    missing_left = ensemble.missing_left
    if missing_left is None:
        missing_left = np.zeros(len(column), np.uint8)
    out = np.zeros((len(people), len(axes), 3))

    nodes = column, ensemble.threshold, missing_left, ensemble.left, ensemble.right, value, root

    def add(part: range) -> range:
        here = slice(part.start, part.stop)
        add_shapley(people[here], reference, *nodes, player, ordered, weights, out[here])
        return part

    everyone = range(len(people))
    parts = [everyone[first : first + LARGEST_PART] for first in everyone[::LARGEST_PART]]
    done = in_threads([partial(add, part) for part in parts], n_jobs if len(parts) > 1 else 1)
    for _ in track(done, len(people), "Weighing features", size=len, show=progress):
        pass
    return out / len(reference)


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


def _leaf_values(ensemble: TreeEnsemble) -> np.ndarray:
    """What each node adds to the score if it is a leaf."""
    if ensemble.combine == "votes":
        return ensemble.label / ensemble.n_trees
    return ensemble.value / (ensemble.n_trees if ensemble.combine == "mean" else 1)


def _without_idle_splits(
    ensemble: TreeEnsemble, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of nodes, with a leaf wherever all leaves below are alike."""
    column, value = ensemble.feature.copy(), value.astype(np.float64)
    for node in np.flatnonzero(column >= 0)[::-1].tolist():  # children come after their parents
        left, right = ensemble.left[node], ensemble.right[node]
        if column[left] < 0 and column[right] < 0 and value[left] == value[right]:
            column[node], value[node] = -1, value[left]
    return column, value


def _weights(most: int) -> np.ndarray:
    """(a-1)! b! / (a+b)! at [a, b], for a + b up to the most features on a path."""
    weights = np.zeros((most + 1, most + 1))
    for a in range(1, most + 1):
        weights[a, 0] = 1 / a
        for b in range(1, most + 1 - a):
            weights[a, b] = weights[a, b - 1] * b / (a + b)
    return weights


@dataclass(frozen=True)
class Reference:
    """Reference people, encoded.

    Parameters
    ----------
    matrix : float (reference people, columns)
    against : {"margin", "accepted", "mean"}
        Who they are: accepted people with the lowest scores, all accepted people, or everyone.
    base : float
        Their mean score.
    """

    matrix: np.ndarray
    against: Against
    base: float


def choose_reference(
    ensemble: TreeEnsemble,
    matrix: np.ndarray,
    against: Against = "margin",
    n_reference: int | None = N_REFERENCE,
) -> Reference:
    """The people of a table to compare with.

    Parameters
    ----------
    ensemble : TreeEnsemble
    matrix : float (people, columns)
        The table, encoded.
    against : {"margin", "accepted", "mean"}
        The tenth of the accepted with the lowest scores (20 at least), everyone who is accepted,
        or everyone.
    n_reference : int, optional
        The most people to compare with; of more, so many are taken, evenly spread over their
        scores. None for all.
    """
    check_value("against", against, AGAINST)
    score = score_of(ensemble, matrix)
    rows = np.argsort(score, kind="stable")
    if against != "mean":
        rows = rows[ensemble.decide(matrix)[rows]]
        if not len(rows):
            raise InvalidData(
                f"The model accepts nobody of the {len(matrix)} reference people, so that there is "
                "nobody to compare with; give others, or against='mean'."
            )
    if against == "margin":
        rows = rows[: max(FEWEST_AT_MARGIN, int(np.ceil(SHARE_AT_MARGIN * len(rows))))]
    if n_reference is not None and len(rows) > n_reference:
        rows = rows[np.linspace(0, len(rows) - 1, n_reference).round().astype(int)]
    return Reference(matrix[rows], against, float(score[rows].mean()))


def kept_reference(model: object, ensemble: TreeEnsemble, against: Against) -> Reference:
    """The people whom a model has kept to compare with, on request."""
    kept = check_kept(model, against)
    return Reference(kept, "margin", float(score_of(ensemble, kept).mean()))


def check_kept(model: object, against: str) -> np.ndarray:
    """The people whom a model has kept; it is refused if these are not those who are asked for."""
    check_value("against", against, AGAINST)
    kept: np.ndarray | None = getattr(model, "reference_", None)
    if kept is None or against != "margin":
        what = "" if kept is None else f" and against={against!r} needs others than it has kept"
        raise InvalidSpec(
            f"Reasons compare people with others{what}: give reference=, a table of people like "
            "those of training (a model from a file has people at the margin of acceptance if it "
            "was saved with keep_reference=)."
        )
    return kept
