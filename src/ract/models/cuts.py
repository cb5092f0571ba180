"""Where a score is cut: at a share of the leaves, an approval rate, or a largest bad rate.

Rates are met on scores of people whom the trees that score them have not seen, and the cut lies
midway between two of these scores.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract.data.edge import within
from ract.models.parameters import LearnerParameters

# A model that refuses a smaller share of its training people is worth a warning.
FEW_REFUSED = 0.05


class FewRefusedWarning(UserWarning):
    """The model refuses almost nobody, so that training for recourse has little effect."""


@dataclass(frozen=True)
class CutRule:
    """How the cut of a model is chosen.

    Parameters
    ----------
    threshold : float or None
        The cut itself: the mean share of leaves, or the probability, that is needed.
    approval_rate : float or None
        The share of people who are to get the desired class.
    max_bad_rate : float or None
        The largest share of undesired people among those who get it.
    """

    threshold: float | None = None
    approval_rate: float | None = None
    max_bad_rate: float | None = None

    @classmethod
    def of(cls, estimator: LearnerParameters) -> CutRule:
        """That of an estimator's parameters, of which at most one is given."""
        rule = cls(estimator.threshold, estimator.approval_rate, estimator.max_bad_rate)
        given = [name for name, value in vars(rule).items() if value is not None]
        if len(given) > 1:
            raise InvalidSpec(f"A model has one cut; give one of {listing(given)}.")
        return rule

    def __bool__(self) -> bool:
        return self != CutRule()

    @property
    def needs_scores(self) -> bool:
        """Whether the cut depends on people's scores."""
        return self.approval_rate is not None or self.max_bad_rate is not None

    def choose(self, scores: np.ndarray, desired: np.ndarray, weights: np.ndarray) -> float:
        """The cut that meets a rate best.

        Parameters
        ----------
        scores : float (people,)
            NaN for those whom no tree has left out.
        desired : uint8 (people,)
        weights : float (people,)
            How much each person counts.
        """
        known = ~np.isnan(scores)
        levels, mass, bad = _by_score(scores[known], desired[known], weights[known])
        if self.approval_rate is not None:
            last = int(np.abs(mass / mass[-1] - self.approval_rate).argmin())
        else:
            assert self.max_bad_rate is not None
            good_enough = np.flatnonzero(bad <= self.max_bad_rate * mass)
            if not len(good_enough):
                raise InvalidData(
                    f"No cut gives a bad rate of at most {self.max_bad_rate:g} among the approved; "
                    f"the lowest is {(bad / mass).min():.3g}."
                )
            last = int(good_enough[-1])
        return _between(levels, last)


def _by_score(
    scores: np.ndarray, desired: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Different scores, falling, and the weight of all and of undesired people down to each."""
    if not len(scores):
        raise InvalidData("No tree leaves anybody out, so rates are unknown; grow more trees.")
    levels, place = np.unique(-scores, return_inverse=True)
    mass = np.bincount(place.ravel(), weights)
    bad = np.bincount(place.ravel(), weights * (desired == 0))
    return -levels, np.cumsum(mass), np.cumsum(bad)


def _between(levels: np.ndarray, last: int) -> float:
    """A cut that the levels down to one reach, and the next does not."""
    if last + 1 == len(levels):
        return float(levels[last])
    middle = float(levels[last] + (levels[last + 1] - levels[last]) / 2)
    return middle if middle > levels[last + 1] else float(levels[last])


def warn_if_few_refused(decided: np.ndarray, weights: np.ndarray) -> None:
    """Say when a model refuses almost nobody of the people it was trained on."""
    share = float(np.average(~decided, weights=weights))
    if not within(FEW_REFUSED, share):  # exact at the edge, whatever weights round to
        warnings.warn(
            f"The model refuses {share:.1%} of the training people, so training for recourse "
            "has little effect; set another cut-off (approval_rate, max_bad_rate or threshold).",
            FewRefusedWarning,
            stacklevel=5,
        )
