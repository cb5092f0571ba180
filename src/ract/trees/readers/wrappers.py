"""Classifiers of scikit-learn around a model: they change what is made of its scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from ract._utils.errors import InvalidSpec
from ract._utils.typing import Label
from ract.trees.readers.curves import Curve, Isotonic, Sigmoid
from ract.trees.readers.reading import LibraryTrees


@dataclass(frozen=True)
class Cut:
    """A class wins with a score of at least this, and the other one otherwise.

    label : the class. least : as the library compares it, so that its type counts too.
    on_margin : whether margins are compared, not probabilities.
    """

    label: Label
    least: float
    on_margin: bool = False


@dataclass(frozen=True)
class WrapperRule:
    """What the classifiers around a model make of its scores.

    calibrations : fitted calibrated classifiers, the innermost first. cut : None for the usual
    rule, by which the more probable class wins.
    """

    calibrations: tuple[Any, ...] = ()
    cut: Cut | None = None

    def applied(self, reading: LibraryTrees) -> LibraryTrees:
        """A reading whose scores are calibrated."""
        for one in self.calibrations:
            of = None if hasattr(one.estimator, "decision_function") else reading.link
            reading = _calibrated(reading, _curve(one, of))
        return reading


def wrapper_rule(model: object) -> WrapperRule:
    """The rule of a model, of which only the outermost threshold counts."""
    calibrations: list[Any] = []
    cut = None
    for layer in layers_of(model):
        if isinstance(layer, CalibratedClassifierCV):
            calibrations.insert(0, _only(layer))
        elif not calibrations and cut is None:
            cut = _cut(layer)
    return WrapperRule(tuple(calibrations), cut)


def held_by(model: object) -> Any:
    """The model that a search or another classifier holds; None for any other object."""
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    if isinstance(model, CalibratedClassifierCV):
        return _only(model).estimator
    if isinstance(model, (FixedThresholdClassifier, TunedThresholdClassifierCV)):
        return getattr(model, "estimator_", model.estimator)
    return model.estimator if isinstance(model, FrozenEstimator) else None


def layers_of(model: object) -> Iterator[object]:
    """A model, what is in it, and so on, through pipelines and other classifiers."""
    yield model
    inside = model.steps[-1][1] if isinstance(model, Pipeline) else held_by(model)
    if inside is not None:
        yield from layers_of(inside)


def _only(model: CalibratedClassifierCV) -> Any:
    """The one calibrated classifier that a model holds."""
    parts = model.calibrated_classifiers_
    if len(parts) != 1:
        raise InvalidSpec(
            f"CalibratedClassifierCV averages {len(parts)} models; one is supported: train it with "
            "ensemble=False, or on a FrozenEstimator."
        )
    return parts[0]


def _curve(calibrated: ClassifierMixin, of: Curve | None) -> Curve:
    """The curve of a fitted calibrator, which must not turn the order of scores around."""
    (calibrator, *_) = calibrated.calibrators
    name = f"CalibratedClassifierCV(method={calibrated.method!r})"
    if calibrated.method == "sigmoid":
        if calibrator.a_ > 0:
            raise InvalidSpec(
                f"{name} falls where scores rise (a slope of {-float(calibrator.a_):.3g}); only a "
                "calibrator that never turns their order around is supported."
            )
        return Sigmoid(float(calibrator.a_), float(calibrator.b_), of)
    if calibrated.method == "isotonic" and type(calibrator) is IsotonicRegression:
        knots, levels = calibrator.X_thresholds_, calibrator.y_thresholds_
        single = knots.dtype == np.float32
        return Isotonic(tuple(knots.tolist()), tuple(levels.tolist()), single, of)
    raise InvalidSpec(f"{name} is not supported; allowed are 'sigmoid' and 'isotonic'.")


def _calibrated(reading: LibraryTrees, curve: Curve) -> LibraryTrees:
    def chooses(margin: np.ndarray) -> np.ndarray:
        second = np.asarray(curve(margin), np.float64)
        return second > 1.0 - second

    return replace(reading, link=curve, chooses=chooses, first=None)


def _cut(model: object) -> Cut | None:
    """The threshold of a classifier that has one; without a label it is for the second class."""
    if isinstance(model, FixedThresholdClassifier):
        label, least = model.pos_label, model.threshold
    elif isinstance(model, TunedThresholdClassifierCV):
        label, least = _tuned_for(model), model.best_threshold_
    else:
        return None
    method, estimator = model.response_method, held_by(model)
    on_margin = method == "decision_function" or not (
        method == "predict_proba" or hasattr(estimator, "predict_proba")
    )
    if isinstance(least, str):  # "auto"
        least = 0.0 if on_margin else 0.5
    return Cut(model.classes_[1] if label is None else label, least, on_margin)


def _tuned_for(model: TunedThresholdClassifierCV) -> Label:
    """The label for which a threshold was tuned, which depends on how it was judged."""
    scorer = getattr(model, "_curve_scorer", None)
    if scorer is None or not hasattr(scorer, "_get_pos_label"):
        raise InvalidSpec(
            "This version of scikit-learn keeps the class of TunedThresholdClassifierCV where it "
            "cannot be read; versions 1.6 to 1.9 are known to work."
        )
    return scorer._get_pos_label()
