"""One feature and its rules: its kind, which way it may move, how far and at what weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ract.errors import InvalidSpec, listing

Kind = Literal["continuous", "integer", "binary", "categorical"]
Change = Literal["any", "increase", "decrease", "fixed"]
Missing = Literal["stays", "supply"]

KINDS: tuple[str, ...] = get_args(Kind)
CHANGES: tuple[str, ...] = get_args(Change)
MISSING: tuple[str, ...] = get_args(Missing)


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature and what a person may do with it.

    Parameters
    ----------
    name : str
        Column name; for already one-hot-encoded columns, the name of the group.
    kind : {"continuous", "integer", "binary", "categorical"}, optional
        Read off the data when it is not given.
    change : {"any", "increase", "decrease", "fixed"}
        Which way the feature may move. For a categorical feature, "increase" means towards
        categories that are listed later.
    lower, upper : float, optional
        Values that an action may set; the observed range by default. A person who already
        stands beyond a bound may stay there, or move back.
    weight : float
        Multiplies the effort of changing this feature; 0 makes it free.
    categories : sequence, optional
        The values of a categorical feature, in order.
    columns : sequence of str, optional
        Columns that already hold a one-hot encoding of this feature, one per category.
    missing : {"stays", "supply"}, optional
        What someone without a value may do: nothing, or hand in any value within the bounds,
        whatever ``change`` says of people who have one. Nobody becomes missing. "stays" by
        default where the training table has missing values.
    supply_cost : float, optional
        The effort of handing in a value, times the weight; the median effort of a change of this
        feature by default (see ``ract.costs.fit_cost``).
    per_month : float
        How much a number grows each month by itself, such as 1 for months since an event and 1/12
        for an age; promises make room for it.

    Examples
    --------
    >>> Feature("Income", kind="integer", change="increase", upper=250_000).actionable
    True
    >>> Feature("Rent", missing="supply", supply_cost=0.1).may_supply
    True
    """

    name: str
    kind: Kind | None = None
    change: Change = "any"
    lower: float | None = None
    upper: float | None = None
    weight: float = 1.0
    categories: tuple[Any, ...] = ()
    columns: tuple[str, ...] = ()
    missing: Missing | None = None
    supply_cost: float | None = None
    per_month: float = 0.0

    def __post_init__(self) -> None:
        # A frozen dataclass normalises its own fields through object.__setattr__.
        object.__setattr__(self, "categories", tuple(plain(c) for c in self.categories))
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.columns:
            object.__setattr__(self, "kind", self.kind or "categorical")
            object.__setattr__(self, "categories", self.categories or self.columns)
        for given in ("lower", "upper", "supply_cost"):
            value = getattr(self, given)
            if value is not None:
                object.__setattr__(self, given, _number(self.name, given, value))
        for given in ("weight", "per_month"):
            object.__setattr__(self, given, _number(self.name, given, getattr(self, given)))
        _check_feature(self)

    @property
    def actionable(self) -> bool:
        """Whether a person may change it at all."""
        return self.change != "fixed"

    @property
    def is_categorical(self) -> bool:
        """Whether it is encoded as a one-hot group."""
        return self.kind == "categorical"

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be read off a table with missing values."""
        known = self.categories if self.is_categorical else None not in (self.lower, self.upper)
        return self.kind is not None and bool(known) and self.missing is not None

    @property
    def may_rise(self) -> bool:
        """Whether an action may raise it, or move it to a category that is listed later."""
        return self.change in ("any", "increase")

    @property
    def may_fall(self) -> bool:
        """Whether an action may lower it, or move it to a category that is listed earlier."""
        return self.change in ("any", "decrease")

    @property
    def may_supply(self) -> bool:
        """Whether someone without a value may hand one in."""
        return self.missing == "supply"

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound; infinite where there is none."""
        lower = -math.inf if self.lower is None else self.lower
        return lower, math.inf if self.upper is None else self.upper

    def limits(self, own: float) -> tuple[float, float]:
        """Lowest and highest value that a person may set, whose own value stays allowed.

        Examples
        --------
        >>> Feature("Income", kind="integer", change="increase", upper=250_000).limits(40_000)
        (40000, 250000.0)
        """
        lower, upper = self.bounds
        return min(lower, own) if self.may_fall else own, max(upper, own) if self.may_rise else own


def plain(value: Any) -> Any:
    """A label as a value of Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _number(name: str, what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise InvalidSpec(f"Feature {name!r}: {what} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise InvalidSpec(f"Feature {name!r}: {what} must be finite, got {number!r}.")
    return number


def _check_feature(feature: Feature) -> None:
    name = feature.name
    if not isinstance(name, str) or not name:
        raise InvalidSpec(f"A feature needs a non-empty name, got {name!r}.")
    if feature.kind is not None and feature.kind not in KINDS:
        raise InvalidSpec(
            f"Feature {name!r}: kind {feature.kind!r} is not one of {listing(KINDS)}."
        )
    if feature.change not in CHANGES:
        raise InvalidSpec(
            f"Feature {name!r}: change {feature.change!r} is not one of {listing(CHANGES)}."
        )
    if feature.weight < 0:
        raise InvalidSpec(f"Feature {name!r}: weight must be 0 or more, got {feature.weight}.")
    _check_missing(feature)
    lower, upper = feature.lower, feature.upper
    if lower is not None and upper is not None and lower > upper:
        raise InvalidSpec(
            f"Feature {name!r}: lower bound {lower:g} is above upper bound {upper:g}."
        )
    if feature.kind == "integer":
        for bound in (lower, upper):
            if bound is not None and bound != math.floor(bound):
                raise InvalidSpec(f"Feature {name!r} is an integer, but its bound is {bound:g}.")
    if feature.per_month and feature.kind in ("binary", "categorical"):
        raise InvalidSpec(f"Feature {name!r} is {feature.kind} and does not move by the month.")
    if feature.is_categorical:
        _check_categories(feature)
    elif feature.categories:
        raise InvalidSpec(
            f"Feature {name!r}: categories are for kind 'categorical', not {feature.kind!r}."
        )


def _check_missing(feature: Feature) -> None:
    name, cost = feature.name, feature.supply_cost
    if feature.missing is not None and feature.missing not in MISSING:
        raise InvalidSpec(
            f"Feature {name!r}: missing {feature.missing!r} is not one of {listing(MISSING)}."
        )
    if feature.missing is not None and feature.columns:
        raise InvalidSpec(
            f"Feature {name!r} is a group of one-hot columns, which take no missing values, but "
            f"missing is {feature.missing!r}."
        )
    if cost is not None and not feature.may_supply:
        raise InvalidSpec(
            f"Feature {name!r}: supply_cost is for missing 'supply', not {feature.missing!r}."
        )
    if cost is not None and cost < 0:
        raise InvalidSpec(f"Feature {name!r}: supply_cost must be 0 or more, got {cost:g}.")


def _check_categories(feature: Feature) -> None:
    name = feature.name
    if feature.lower is not None or feature.upper is not None:
        raise InvalidSpec(f"Feature {name!r} is categorical and takes no lower or upper bound.")
    if len(set(feature.categories)) < len(feature.categories):
        raise InvalidSpec(f"Feature {name!r} lists a category twice.")
    if feature.columns and len(feature.columns) != len(feature.categories):
        raise InvalidSpec(
            f"Feature {name!r} has {len(feature.columns)} columns "
            f"but {len(feature.categories)} categories."
        )
    if len(feature.columns) == 1:
        raise InvalidSpec(f"Feature {name!r}: a one-hot group needs at least two columns.")
