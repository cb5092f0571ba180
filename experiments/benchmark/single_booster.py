"""A single booster that asks itself where people could get to."""

from __future__ import annotations

from ract.models.boosting import RecourseBoostingClassifier


class SingleBooster(RecourseBoostingClassifier):
    """A booster without replicates, whose points are lifted to one half, where it decides."""

    anchor_strength = 0.5
    patience = 20
