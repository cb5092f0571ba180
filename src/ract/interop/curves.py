"""From margins to probabilities: the curves of all libraries, and how files name them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ract.errors import InvalidSpec


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
class Step:
    """1 for margins above zero, as in XGBoost's hinge loss."""

    def __call__(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities of margins."""
        return (np.asarray(margin) > 0).astype(np.float32)


_CURVES: dict[str, Any] = {
    "logistic": Logistic,
    "c-logistic": CLogistic,
    "single-logistic": SingleLogistic,
    "step": Step,
}


def _expit(margin: np.ndarray) -> np.ndarray:
    from scipy.special import expit  # forests do without it, and it takes a while to import

    return np.asarray(expit(margin))


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
    for name, kind in _CURVES.items():
        if isinstance(curve, kind):
            return {"curve": name, **asdict(curve)}
    raw = getattr(curve, "raw", None)
    if raw is not None:  # XGBoost's own, which needs the library; its kind is in the model
        objective = json.loads(raw)["learner"]["objective"]["name"]
        return {"curve": "step" if objective == "binary:hinge" else "single-logistic"}
    raise InvalidSpec(f"The link {curve!r} cannot be written as data.")


def curve_of(record: Any) -> Any:
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
    for value in numbers.values():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
            raise ValueError("the steepness of a link is a positive number")
    return kind(**numbers)
