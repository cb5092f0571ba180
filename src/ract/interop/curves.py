"""From margins to probabilities: the curves of all libraries, and how files name them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from ract.errors import InvalidSpec


@dataclass(frozen=True)
class Logistic:
    """Probability of a margin, by SciPy's logistic curve as scikit-learn uses it."""

    steepness: int = 1

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return expit(margin if self.steepness == 1 else self.steepness * margin)


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
        return expit(np.asarray(margin, np.float64)).astype(np.float32)


@dataclass(frozen=True)
class Step:
    """1 for margins above zero, as in XGBoost's hinge loss."""

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return (np.asarray(margin) > 0).astype(np.float32)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def record_of(curve: Any) -> dict[str, Any] | None:
    """A curve as JSON values; None for scores that are probabilities already.

    >>> record_of(Logistic(2))
    {'curve': 'logistic', 'steepness': 2}
    """
    if curve is None:
        return None
    if isinstance(curve, Logistic):
        return {"curve": "logistic", "steepness": curve.steepness}
    if isinstance(curve, CLogistic):
        return {"curve": "c-logistic", "steepness": curve.steepness}
    if isinstance(curve, SingleLogistic):
        return {"curve": "single-logistic"}
    if isinstance(curve, Step):
        return {"curve": "step"}
    raw = getattr(curve, "raw", None)
    if raw is not None:  # XGBoost's own, which needs the library; its kind is in the model
        objective = json.loads(raw)["learner"]["objective"]["name"]
        return {"curve": "step" if objective == "binary:hinge" else "single-logistic"}
    raise InvalidSpec(f"The link {curve!r} cannot be told as data.")


def curve_of(record: Any) -> Any:
    """The curve of a record; a ValueError for anything that is none.

    >>> curve_of({"curve": "logistic", "steepness": 2})
    Logistic(steepness=2)
    """
    if record is None:
        return None
    if not isinstance(record, dict):
        raise ValueError("a link is a record")
    kinds = {
        "logistic": (Logistic, {"steepness"}),
        "c-logistic": (CLogistic, {"steepness"}),
        "single-logistic": (SingleLogistic, set()),
        "step": (Step, set()),
    }
    kind, entries = kinds.get(str(record.get("curve")), (None, set()))
    if kind is None or set(record) - {"curve"} != entries:
        raise ValueError(f"unknown link {record.get('curve')!r}")
    numbers = {name: record[name] for name in sorted(entries)}
    for value in numbers.values():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
            raise ValueError("the steepness of a link is a positive number")
    return kind(**numbers)
