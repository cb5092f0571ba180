"""What tree and forest share: leaves with labels, and a recourse that they carry."""

from __future__ import annotations

import numpy as np

from ract._auto import impurity_of_all
from ract._core.grower import CRITERIA, Rules
from ract._estimator import RecourseClassifierMixin
from ract._parameters import (
    at_least,
    features_per_split,
    is_number,
    monotonic_directions,
    number_of_people,
)
from ract._training import TrainingSet
from ract.calibration import check_lasting
from ract.errors import InvalidSpec, listing


class LabelledTreesMixin(RecourseClassifierMixin):
    """Growing rules of trees whose leaves are labelled."""

    @property
    def _needs_reach(self) -> bool:
        return super()._needs_reach or self.max_risk is not None

    @property
    def _given_floor(self) -> float | None:
        floor: float | None = self.min_leaf_share
        if floor is not None and not (is_number(floor) and 0 <= floor <= 1):
            raise InvalidSpec(f"min_leaf_share must be a share between 0 and 1, got {floor!r}.")
        return floor

    def _unit_of_weights(self, desired: np.ndarray, weights: np.ndarray) -> float:
        return impurity_of_all(desired, weights, self.criterion)

    def _rules(self, training: TrainingSet, recourse_weight: float, floor: float) -> Rules:
        """Growing rules in numbers of people and axes, checked."""
        if self.criterion not in CRITERIA:
            raise InvalidSpec(
                f"criterion must be one of {listing(CRITERIA)}, got {self.criterion!r}."
            )
        weights, axes = training.weights.growing, training.grid.axes
        n_people = len(weights)
        share = self.min_weight_fraction_leaf
        if not (is_number(share) and 0 <= share <= 0.5):
            raise InvalidSpec(
                f"min_weight_fraction_leaf must be a share of at most a half, got {share!r}."
            )
        if self.max_depth is not None:
            at_least("max_depth", self.max_depth, 1, whole=True)
        return Rules(
            recourse_weight=recourse_weight,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_split=number_of_people(
                "min_samples_split", self.min_samples_split, 2, n_people
            ),
            min_samples_leaf=number_of_people(
                "min_samples_leaf", self.min_samples_leaf, 1, n_people
            ),
            min_weight_leaf=share * float(weights.sum()),
            min_impurity_decrease=at_least("min_impurity_decrease", self.min_impurity_decrease, 0),
            min_leaf_share=floor,
            max_features=features_per_split(self.max_features, len(axes)),
            monotonic=monotonic_directions(self.monotonic_cst, training.encoder, axes),
        )

    def _check_max_risk(self) -> None:
        check_lasting(self.lasting)
        risk = self.max_risk
        if risk is not None and not (is_number(risk) and 0 < risk <= 1):
            raise InvalidSpec(f"max_risk must lie above 0 and be at most 1, got {risk!r}.")
        if risk is not None and self.monotonic_cst is not None:
            raise InvalidSpec(
                f"monotonic_cst needs max_risk to be None, got {risk!r}: relabelling flips single "
                "leaves, whatever their order."
            )
