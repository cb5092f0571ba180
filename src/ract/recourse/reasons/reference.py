"""Who people are compared with when reasons are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract.recourse.reasons.shapley import score_of
from ract.trees.ensemble import TreeEnsemble

Against = Literal["margin", "accepted", "mean"]
AGAINST: tuple[str, ...] = get_args(Against)

N_REFERENCE = 100
# At the margin are this share of the accepted with the lowest scores, but no fewer than so many.
SHARE_AT_MARGIN, FEWEST_AT_MARGIN = 0.1, 20


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
    check_against(against)
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
    check_against(against)
    kept: np.ndarray | None = getattr(model, "reference_", None)
    if kept is None or against != "margin":
        what = "" if kept is None else f" and against={against!r} needs others than it has kept"
        raise InvalidSpec(
            f"Reasons compare people with others{what}: give reference=, a table of people like "
            "those of training (a model from a file has people at the margin of acceptance if it "
            "was saved with keep_reference=)."
        )
    return kept


def check_against(against: object) -> None:
    """Refuse what is no reference."""
    if against not in AGAINST:
        raise InvalidSpec(f"against must be one of {listing(AGAINST)}, got {against!r}.")
