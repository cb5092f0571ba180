"""What tree and forest share: leaves with labels, and a recourse that they carry."""

from __future__ import annotations

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.validation import BELOW_ONE, FRACTION, NONE, SHARE, one_of, whole
from ract.models.base import RecourseClassifierMixin
from ract.models.parameters import (
    MAX_FEATURES,
    MaxFeatures,
    features_per_split,
    monotonic_directions,
    number_of_people,
    parameter,
    with_parameters,
)
from ract.trees.grower import CRITERIA, Criterion, GrowRules
from ract.trees.training import TrainingSet


@with_parameters
class LabelledTreesMixin(RecourseClassifierMixin):
    """Growing rules of trees whose leaves are labelled."""

    criterion: Criterion = parameter(one_of(*CRITERIA), default="gini")
    max_depth: int | None = parameter(NONE, whole(1), default=None)
    min_samples_leaf: int | float = parameter(whole(1), FRACTION, default=1)
    min_leaf_share: float | None = parameter(NONE, SHARE, default=None)
    max_features: MaxFeatures = parameter(*MAX_FEATURES, default=None)
    min_recourse: float | None = parameter(NONE, BELOW_ONE, default=None)

    @property
    def _needs_reach(self) -> bool:
        return super()._needs_reach or self.min_recourse is not None

    @property
    def _max_risk(self) -> float:
        """The share of people whom relabelling may leave without recourse."""
        return round(1 - (self.min_recourse or 0.0), 12)

    @property
    def _floor(self) -> float:
        return float(self.min_leaf_share or 0.0)

    def weight_unit(self, desired: np.ndarray, weights: np.ndarray) -> float:
        """What a weight of recourse stands against: the impurity of everyone together."""
        return impurity_of_all(desired, weights, self.criterion)

    def _rules(
        self, training: TrainingSet, recourse_weight: float, floor: float, cut: float | None
    ) -> GrowRules:
        """Growing rules in numbers of people and axes; cut: where the score will be, about.

        With a cut leaves are labelled by their shares, as the decision counts them, so that none
        becomes desired for the recourse that this would bring.
        """
        axes, n_people = training.grid.axes, len(training.weights.growing)
        return GrowRules(
            recourse_weight=recourse_weight * self._scale_of_errors(training),
            cut=0.5 if cut is None else cut,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_leaf=number_of_people(self.min_samples_leaf, n_people),
            min_leaf_share=floor if cut is None else cut,
            max_features=features_per_split(self.max_features, len(axes)),
            monotonic=monotonic_directions(self.directions, training.encoder, axes),
        )

    def _scale_of_errors(self, training: TrainingSet) -> float:
        """By how much class weights raise the impurity that a weight of recourse stands against."""
        if self.class_weight is None:
            return 1.0
        weights, desired = training.weights, training.people.desired
        of_errors, of_people = (
            self.weight_unit(desired, masses) * float(masses.sum())
            for masses in (weights.growing, weights.people)
        )
        return of_errors / of_people

    def check_parameters(self) -> None:
        """Refuse parameters that are invalid, alone or together."""
        super().check_parameters()
        if self.min_recourse is not None and self.cut_rule:
            raise InvalidSpec(
                "min_recourse flips the labels of leaves, which decide only without threshold, "
                f"approval_rate and max_bad_rate; leave one of them out, got {self.min_recourse!r}."
            )
        stated = self.monotonic
        is_free = stated is None or (isinstance(stated, str) and stated == "none")
        if self.min_recourse is not None and not is_free:
            raise InvalidSpec(
                f"monotonic needs min_recourse to be None, got {self.min_recourse!r}: relabelling "
                "flips single leaves, whatever their order."
            )


def impurity_of_all(desired: np.ndarray, weights: np.ndarray, criterion: str) -> float:
    """Impurity per person of everyone together: the unit of weights.

    Examples
    --------
    >>> impurity_of_all(np.array([0, 1, 1, 1]), np.ones(4), "error")
    0.25
    """
    share = float(np.average(desired, weights=weights))
    if criterion == "error":
        return min(share, 1 - share)
    if criterion == "entropy":
        return float(-sum(p * np.log2(p) for p in (share, 1 - share)))
    return 2 * share * (1 - share)
