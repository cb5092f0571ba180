"""From margins to probabilities: the curves of all libraries, and how files name them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec

Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Logistic:
    """Probability of a margin, by SciPy's logistic curve as scikit-learn uses it."""

    steepness: int = 1

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return _expit(margin if self.steepness == 1 else self.steepness * margin)


@dataclass(frozen=True)
class CLogistic:
    """Probability of a margin, by the exponential of the C library as LightGBM uses it."""

    steepness: float

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return np.array([1.0 / (1.0 + _exp(-self.steepness * float(m))) for m in margin])


@dataclass(frozen=True)
class SingleLogistic:
    """The logistic curve rounded to single precision, as close to XGBoost's as formulas get."""

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return _expit(np.asarray(margin, np.float64)).astype(np.float32)


@dataclass(frozen=True)
class StepCurve:
    """1 for margins above zero, as in XGBoost's hinge loss."""

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return (np.asarray(margin) > 0).astype(np.float32)


@dataclass(frozen=True)
class ShareCurve:
    """Means of shares as they are: those of the second class, or of the first one negated.

    start : 0, or 1 for negated ones.
    """

    start: int

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return np.asarray(margin) + self.start


@dataclass(frozen=True)
class Sigmoid:
    """Platt's curve as scikit-learn fits it to scores, or to the probabilities of a curve."""

    a: float
    b: float
    of: Curve | None = None

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        score = np.asarray(margin if self.of is None else self.of(margin))
        return _expit(-(np.float64(self.a) * score + np.float64(self.b)))


@dataclass(frozen=True)
class Isotonic:
    """Linear between knots, as scikit-learn fits it to scores, or to a curve's probabilities."""

    knots: tuple[float, ...]
    levels: tuple[float, ...]
    single: bool = False
    of: Curve | None = None

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        kind = np.float32 if self.single else np.float64
        knots, levels = np.array(self.knots, kind), np.array(self.levels, kind)
        score = np.asarray(margin if self.of is None else self.of(margin)).astype(kind)
        score = np.clip(score, knots[0], knots[-1])
        if len(levels) == 1:
            return np.repeat(levels, score.shape).astype(np.float64)
        from scipy.interpolate import interp1d  # what scikit-learn asks

        return interp1d(knots, levels)(score).astype(kind).astype(np.float64)


_CURVES: dict[str, type] = {
    "shares": ShareCurve,
    "sigmoid": Sigmoid,
    "isotonic": Isotonic,
    "logistic": Logistic,
    "c-logistic": CLogistic,
    "single-logistic": SingleLogistic,
    "step": StepCurve,
}


def _expit(margin: np.ndarray) -> np.ndarray:
    from scipy.special import expit  # forests do without it, and it takes a while to import

    return np.asarray(expit(margin))


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def curve_record(curve: Curve | None) -> dict[str, Any] | None:
    """A curve as JSON values; None for scores that are probabilities already.

    >>> curve_record(Logistic(2))
    {'curve': 'logistic', 'steepness': 2}
    """
    if curve is None:
        return None
    for name, kind in _CURVES.items():
        if isinstance(curve, kind):
            record = {"curve": name} | {f.name: getattr(curve, f.name) for f in fields(kind)}
            if "of" in record:
                record["of"] = curve_record(record["of"])
            return {k: list(v) if isinstance(v, tuple) else v for k, v in record.items()}
    raw = getattr(curve, "raw", None)
    if raw is not None:  # XGBoost's own, which needs the library; its kind is in the model
        objective = json.loads(raw)["learner"]["objective"]["name"]
        return {"curve": "step" if objective == "binary:hinge" else "single-logistic"}
    raise InvalidSpec(f"The link {curve!r} cannot be written as data.")


def curve_of(record: object) -> Curve | None:
    """The curve of a record; a ValueError for anything that is none.

    >>> curve_of({"curve": "logistic", "steepness": 2})
    Logistic(steepness=2)
    """
    if record is None:
        return None
    if not isinstance(record, dict):
        raise ValueError("a link is a record")
    kind = _CURVES.get(str(record.get("curve")))
    numbers = {name: value for name, value in record.items() if name != "curve"}
    if kind is None or set(numbers) != {field.name for field in fields(kind)}:
        raise ValueError(f"unknown link {record.get('curve')!r}")
    if "of" in numbers:
        numbers["of"] = curve_of(numbers["of"])
    curve = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in numbers.items()})
    if not _is_rising(curve):
        raise ValueError("a link is a curve of numbers that never falls")
    return curve


def _is_rising(curve: Curve) -> bool:
    """Whether what was read is what a curve must be."""
    if isinstance(curve, ShareCurve):
        return curve.start in (0, 1) and not isinstance(curve.start, bool)
    if isinstance(curve, Sigmoid):
        return _are_numbers((curve.a, curve.b)) and curve.a <= 0
    if isinstance(curve, Isotonic):
        if not all(isinstance(ends, tuple) and ends for ends in (curve.knots, curve.levels)):
            return False
        return (
            isinstance(curve.single, bool)
            and len(curve.knots) == len(curve.levels)
            and _are_numbers((*curve.knots, *curve.levels))
            and all(low < high for low, high in pairwise(curve.knots))
            and all(low <= high for low, high in pairwise(curve.levels))
        )
    steepness = getattr(curve, "steepness", 1)
    return _are_numbers((steepness,)) and 0 < steepness < 1e6


def _are_numbers(values: tuple[object, ...]) -> bool:
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )
