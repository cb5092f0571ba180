"""Linear relations that must hold between a person's features after an action."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract.data.encoder import Axis

# Sums of rounded numbers are not exact: 0.1 + 0.2 <= 0.3 is meant to hold.
ROUNDING = 1e-9

_NAME = r"`(?P<quoted>[^`]+)`|(?P<plain>[^\W\d][\w.]*)"
_TERM = re.compile(
    rf"(?P<sign>[+-])?\s*(?:(?P<number>\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*(?P<times>\*)?\s*)?"
    rf"(?:{_NAME})?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class LinearRelation:
    """A weighted sum of features that must not exceed a number, after the action.

    Parameters
    ----------
    coefficients : dict of str to float
        By the name of the feature, which may be anything but categorical.
    upper : float

    Examples
    --------
    >>> LinearRelation({"Debt": 1.0, "Savings": -0.5}, upper=0.0)
    LinearRelation(coefficients={'Debt': 1.0, 'Savings': -0.5}, upper=0.0)
    >>> LinearRelation.parse("2*Debt <= Savings + 1000")
    LinearRelation(coefficients={'Debt': 2.0, 'Savings': -1.0}, upper=1000.0)
    """

    coefficients: dict[str, float]
    upper: float

    def __post_init__(self) -> None:
        given = {str(name): _number(c) for name, c in dict(self.coefficients).items()}
        if not given:
            raise InvalidSpec("A relation needs at least one feature, got none.")
        object.__setattr__(self, "coefficients", given)
        object.__setattr__(self, "upper", _number(self.upper))

    @classmethod
    def parse(cls, text: str) -> LinearRelation:
        """Read a relation such as "a <= b", "2*a - b <= 3" or "a + b >= 10".

        A name with blanks or signs in it stands between back quotes.

        >>> LinearRelation.parse("`Loan amount` + 0.5 Debt >= 10")
        LinearRelation(coefficients={'Loan amount': -1.0, 'Debt': -0.5}, upper=-10.0)
        """
        parts = re.split(r"(<=|>=)", text)
        if len(parts) != 3:
            raise InvalidSpec(f"A relation has one <= or one >=, such as 'a <= b'; got {text!r}.")
        left, sign, right = parts
        if sign == ">=":
            left, right = right, left
        coefficients: dict[str, float] = {}
        upper = 0.0
        for side, factor in ((left, 1.0), (right, -1.0)):
            for number, name in _terms(side, text):
                if name is None:
                    upper -= factor * number
                else:
                    coefficients[name] = coefficients.get(name, 0.0) + factor * number
        return cls({name: c for name, c in coefficients.items() if c}, upper + 0.0)

    def slack(self, values: Mapping[str, Any]) -> Any:
        """How far the sum stays below ``upper``; negative where the relation fails.

        >>> LinearRelation.parse("a <= b").slack({"a": 1.0, "b": 3.0})
        2.0
        """
        return self.upper - sum(c * values[name] for name, c in self.coefficients.items())

    def holds(self, values: Mapping[str, Any]) -> Any:
        """Whether the relation holds, up to the rounding of sums (1e-9 of their terms).

        Parameters
        ----------
        values : mapping of feature name to number or array
        """
        size = sum(np.abs(c * values[name]) for name, c in self.coefficients.items())
        return self.slack(values) >= -ROUNDING * (size + abs(self.upper))


def read_relations(
    relations: Sequence[LinearRelation | str], axes: Sequence[Axis]
) -> tuple[list[LinearRelation], dict[str, int]]:
    """Relations, and the encoded column of every feature that is a number.

    Refused are relations of features that are none, or whose numbers may be missing.
    """
    numbers = {axis.feature.name: axis.columns[0] for axis in axes if not axis.is_categorical}
    named = [axis.feature.name for axis in axes]
    missing = [axis.feature.name for axis in axes if axis.has_missing]
    read = [
        LinearRelation.parse(relation) if isinstance(relation, str) else relation
        for relation in relations
    ]
    for relation in read:
        if not isinstance(relation, LinearRelation):
            raise InvalidSpec(f"relations must be LinearRelation, got {relation!r}.")
        for name in relation.coefficients:
            if name not in named:
                raise InvalidSpec(
                    f"A relation names {name!r}; the features are {listing(named, 30)}."
                )
            if name not in numbers:
                raise InvalidSpec(
                    f"A relation names {name!r}, which is categorical; it takes "
                    f"{listing(numbers, 30)}."
                )
            if name in missing:
                raise InvalidSpec(f"A relation names {name!r}, of which values are missing.")
    return read, numbers


def _terms(side: str, text: str) -> list[tuple[float, str | None]]:
    """Factor and name of each term of one side; a plain number has no name."""
    terms: list[tuple[float, str | None]] = []
    side, at = side.strip(), 0
    while at < len(side):
        match = _TERM.match(side, at)
        assert match is not None  # every part of a term may be missing
        name, number = match["quoted"] or match["plain"], match["number"]
        half = name is None and (number is None or match["times"])
        if half or (terms and match["sign"] is None):
            raise InvalidSpec(f"Cannot read {side[at:]!r} in the relation {text!r}.")
        factor = float(number or 1.0)
        terms.append((-factor if match["sign"] == "-" else factor, name))
        at = match.end()
    if not terms:
        raise InvalidSpec(f"The relation {text!r} has nothing on one side.")
    return terms


def _number(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidSpec(f"A relation takes finite numbers, got {value!r}.")
    return float(value)
