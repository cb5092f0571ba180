"""What a person may change: features, their kinds, directions, bounds and weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ract._files import write_whole
from ract._frames import Table, read_table
from ract._toml import dump_toml, parse_toml
from ract.errors import InvalidData, InvalidSpec, listing

Kind = Literal["continuous", "integer", "binary", "categorical"]
Change = Literal["any", "increase", "decrease", "fixed"]

KINDS: tuple[str, ...] = get_args(Kind)
CHANGES: tuple[str, ...] = get_args(Change)

_CONSTRAINT_WORDS = {
    "any": "Nothing",
    "increase": "Increasing only",
    "decrease": "Decreasing only",
    "fixed": "Fix",
}


class AssumedActions(UserWarning):
    """What people may change was not declared; the message says what was assumed instead."""


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

    Examples
    --------
    >>> Feature("Income", kind="integer", change="increase", upper=250_000).actionable
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

    def __post_init__(self) -> None:
        # A frozen dataclass normalises its own fields through object.__setattr__.
        object.__setattr__(self, "categories", tuple(_plain(c) for c in self.categories))
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.columns:
            object.__setattr__(self, "kind", self.kind or "categorical")
            object.__setattr__(self, "categories", self.categories or self.columns)
        for bound in ("lower", "upper"):
            value = getattr(self, bound)
            if value is not None:
                object.__setattr__(self, bound, _number(self.name, bound, value))
        object.__setattr__(self, "weight", _number(self.name, "weight", self.weight))
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
    def may_rise(self) -> bool:
        """Whether an action may raise it, or move it to a category that is listed later."""
        return self.change in ("any", "increase")

    @property
    def may_fall(self) -> bool:
        """Whether an action may lower it, or move it to a category that is listed earlier."""
        return self.change in ("any", "decrease")

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


def _plain(value: Any) -> Any:
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
    lower, upper = feature.lower, feature.upper
    if lower is not None and upper is not None and lower > upper:
        raise InvalidSpec(
            f"Feature {name!r}: lower bound {lower:g} is above upper bound {upper:g}."
        )
    if feature.kind == "integer":
        for bound in (lower, upper):
            if bound is not None and bound != math.floor(bound):
                raise InvalidSpec(f"Feature {name!r} is an integer, but its bound is {bound:g}.")
    if feature.is_categorical:
        _check_categories(feature)
    elif feature.categories:
        raise InvalidSpec(
            f"Feature {name!r}: categories are for kind 'categorical', not {feature.kind!r}."
        )


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


@dataclass(frozen=True)
class ActionSpace:
    """What people may change, feature by feature.

    Columns of the data that no feature names are taken as fixed.

    Parameters
    ----------
    features : sequence of Feature
    desired : label, optional
        The class that people want.

    Examples
    --------
    >>> space = ActionSpace([
    ...     Feature("Income", kind="integer", change="increase", lower=0, upper=250_000),
    ...     Feature("Age", kind="integer", change="fixed", lower=18, upper=99),
    ... ])
    >>> space["Age"].actionable
    False
    >>> space.describe()  # doctest: +NORMALIZE_WHITESPACE
      feature     type   min       max immutable       constraint
    0  Income  Integer   0.0  250000.0        No  Increasing only
    1     Age  Integer  18.0      99.0       Yes              Fix
    """

    features: tuple[Feature, ...]
    desired: Any = None
    _by_name: dict[str, Feature] = field(init=False, repr=False, compare=False)

    def __init__(self, features: Iterable[Feature], desired: Any = None) -> None:
        object.__setattr__(self, "features", tuple(features))
        object.__setattr__(self, "desired", _plain(desired))
        by_name: dict[str, Feature] = {}
        owner: dict[str, str] = {}
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise InvalidSpec(f"Expected a Feature, got {type(feature).__name__}.")
            if feature.name in by_name:
                raise InvalidSpec(f"Feature {feature.name!r} is declared twice.")
            by_name[feature.name] = feature
            for column in feature.columns or (feature.name,):
                if column in owner:
                    raise InvalidSpec(
                        f"Column {column!r} belongs to both {owner[column]!r} and {feature.name!r}."
                    )
                owner[column] = feature.name
        object.__setattr__(self, "_by_name", by_name)

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Feature:
        try:
            return self._by_name[name]
        except KeyError:
            raise KeyError(f"No feature {name!r}; there are {listing(self._by_name)}.") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        return tuple(self._by_name)

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        fixed: Iterable[str] = (),
        increase: Iterable[str] = (),
        decrease: Iterable[str] = (),
        groups: Mapping[str, Sequence[str]] | None = None,
        desired: Any = None,
    ) -> ActionSpace:
        """Read kinds, bounds and categories off a table.

        Text and category columns are categorical, bool columns and numbers that are only 0
        and 1 are binary, integer columns are integers and floats are continuous. Bounds are
        the observed range. Everything may change unless it is named in ``fixed``,
        ``increase`` or ``decrease``. A warning, ``AssumedActions``, says what had to be
        assumed: that everything may change where nothing is named, that columns of 0 and 1 are
        separate features, that text which may only increase or decrease is in the order of
        the alphabet.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or array
        fixed, increase, decrease : iterable of str
            Features that may not change, or in one direction only.
        groups : mapping of str to sequence of str, optional
            Columns that are already one-hot encoded, by the name of their feature; ``{}`` if
            there are none.
        desired : label, optional

        Examples
        --------
        >>> frame = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
        >>> space = ActionSpace.infer(frame, increase=["age"])
        >>> space["age"].upper, space["job"].categories
        (40.0, ('clerk', 'cook'))
        """
        table = read_table(frame)
        change = _directions(fixed, increase, decrease)
        declared = [Feature(name, columns=tuple(cols)) for name, cols in (groups or {}).items()]
        names = _features_in_order(table, declared)
        unknown = [name for name in change if name not in names]
        if unknown:
            raise InvalidSpec(
                f"No column called {listing(unknown)}; the table has {listing(names, 30)}."
            )
        by_name = {feature.name: feature for feature in declared}
        features = [
            replace(by_name.get(name, Feature(name)), change=change.get(name, "any"))
            for name in names
        ]
        space = cls(features, desired).complete(table)
        assumed = _assumptions(space, table, nothing_declared=not (change or groups))
        if groups is None:
            assumed += _separate(space)
        if assumed:
            warnings.warn(
                f"What people may change was not declared in full, so {'; '.join(assumed)}. Say "
                "otherwise in an ActionSpace.",
                AssumedActions,
                stacklevel=2,
            )
        return space

    def complete(self, frame: Any) -> ActionSpace:
        """This space with every blank filled from a table, and checked against it.

        Columns that are not declared become fixed features; kinds, bounds and categories that
        are not given are read off the data.
        """
        table = read_table(frame)
        names = _features_in_order(table, self.features)
        features = [_filled(self._by_name.get(n, Feature(n, change="fixed")), table) for n in names]
        return ActionSpace(features, self.desired)

    def describe(self) -> pd.DataFrame:
        """One row per column, as in the paper's feature tables."""
        rows = []
        for feature in self.features:
            if feature.columns:
                rows += [_described(feature, c, "Binary", 0.0, 1.0) for c in feature.columns]
            else:
                kind = (feature.kind or "unknown").capitalize()
                rows.append(_described(feature, feature.name, kind, feature.lower, feature.upper))
        columns = ["feature", "type", "min", "max", "immutable", "constraint"]
        return pd.DataFrame(rows, columns=columns).astype({"min": float, "max": float})

    @classmethod
    def from_toml(cls, source: str | Path) -> ActionSpace:
        """Read an action file.

        Parameters
        ----------
        source : path
        """
        path = Path(source)
        try:
            return cls.from_toml_text(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise InvalidSpec(f"{path} is not UTF-8 text: {error}.") from None
        except InvalidSpec as error:
            raise InvalidSpec(f"{path}: {error}") from None

    @classmethod
    def from_toml_text(cls, text: str) -> ActionSpace:
        """Read the text of an action file.

        >>> space = ActionSpace.from_toml_text('''
        ... desired = "approved"
        ... [features.Income]
        ... kind = "integer"
        ... change = "increase"
        ... ''')
        >>> space.desired, space["Income"].change
        ('approved', 'increase')
        """
        desired, tables = parse_toml(text, _TOML_FIELDS)
        return cls([Feature(name, **table) for name, table in tables.items()], desired)

    def to_toml_text(self) -> str:
        """The text of an action file that reads back to an equal space."""
        return dump_toml(self.desired, {f.name: _table_of(f) for f in self.features})

    def to_toml(self, target: str | Path) -> None:
        """Write an action file, whole or not at all."""
        write_whole(target, self.to_toml_text())


def unrestricted(table: Table) -> ActionSpace:
    """Every column as a feature that may change, with all else read off the table."""
    return ActionSpace(map(Feature, table.names)).complete(table)


def _assumptions(space: ActionSpace, table: Table, nothing_declared: bool) -> list[str]:
    assumed = [f"every feature may change, {listing(space.names)}"] if nothing_declared else []
    for feature in space:
        one_way = feature.may_rise != feature.may_fall and not feature.columns
        if one_way and feature.is_categorical and table.declared_categories(feature.name) is None:
            assumed.append(
                f"{feature.name!r} is in the order of the alphabet, {listing(feature.categories)}"
            )
    return assumed


def _separate(space: ActionSpace) -> list[str]:
    binary = [feature.name for feature in space if feature.kind == "binary" and feature.actionable]
    if len(binary) < 2:
        return []
    return [f"columns of 0 and 1 are separate even if they encode one feature, {listing(binary)}"]


def _described(
    feature: Feature, name: str, kind: str, low: float | None, high: float | None
) -> tuple[Any, ...]:
    immutable = "No" if feature.actionable else "Yes"
    return name, kind, low, high, immutable, _CONSTRAINT_WORDS[feature.change]


def _directions(
    fixed: Iterable[str], increase: Iterable[str], decrease: Iterable[str]
) -> dict[str, Change]:
    change: dict[str, Change] = {}
    given: tuple[tuple[Change, Iterable[str]], ...] = (
        ("fixed", fixed),
        ("increase", increase),
        ("decrease", decrease),
    )
    for direction, names in given:
        if isinstance(names, str):
            raise InvalidSpec(f"{direction} takes a list of names, got the text {names!r}.")
        for name in names:
            if name in change:
                raise InvalidSpec(f"{name!r} is named both {change[name]!r} and {direction!r}.")
            change[name] = direction
    return change


def _features_in_order(table: Table, declared: Iterable[Feature]) -> list[str]:
    """Feature names in the order of the table's columns; a group stands at its first column."""
    owner = {column: f.name for f in declared for column in (f.columns or (f.name,))}
    unknown = [column for column in owner if column not in table.names]
    if unknown:
        raise InvalidSpec(
            f"The action space names {listing(unknown)}, which the table does not have; "
            f"its columns are {listing(table.names, 30)}."
        )
    return list(dict.fromkeys(owner.get(column, column) for column in table.names))


def _filled(feature: Feature, table: Table) -> Feature:
    """A feature with kind, bounds and categories read off the data where they are blank."""
    if feature.columns:
        return feature
    kind = feature.kind or _kind_of(table, feature.name)
    if kind == "categorical":
        categories = feature.categories or _observed_categories(table, feature.name)
        return replace(feature, kind=kind, categories=categories)
    values = table.numbers(feature.name)
    check_kind(feature.name, kind, values)
    low, high = (0.0, 1.0) if kind == "binary" else (float(values.min()), float(values.max()))
    _check_bounds_meet_data(feature, low, high)
    lower = low if feature.lower is None else feature.lower
    upper = high if feature.upper is None else feature.upper
    return replace(feature, kind=kind, lower=lower, upper=upper)


def _check_bounds_meet_data(feature: Feature, low: float, high: float) -> None:
    lower, upper = feature.bounds
    if lower > high or upper < low:
        bound = f"lower bound {lower:g}" if lower > high else f"upper bound {upper:g}"
        raise InvalidSpec(
            f"Feature {feature.name!r}: {bound} lies outside the data, "
            f"which runs from {low:g} to {high:g}."
        )


def check_kind(name: str, kind: Kind, values: np.ndarray) -> None:
    """Refuse numbers that a kind does not allow."""
    if kind == "integer":
        # From 2^53 on whole numbers round to others, so that two people's values become one.
        wrong = (values != np.floor(values)) | (np.abs(values) >= 2**53)
        allowed = "whole numbers below 2^53"
    elif kind == "binary":
        wrong = (values != 0) & (values != 1)
        allowed = "0 or 1"
    else:
        return
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidData(
            f"Column {name!r} is {kind}, but row {row} holds {values[row]:g}; allowed: {allowed}."
        )


def _kind_of(table: Table, name: str) -> Kind:
    role = table.role(name)
    if role == "label":
        return "categorical"
    if role == "bool":
        return "binary"
    values = table.numbers(name)
    if np.isin(values, (0.0, 1.0)).all():
        return "binary"
    return "integer" if role == "integer" else "continuous"


def _observed_categories(table: Table, name: str) -> tuple[Any, ...]:
    observed = pd.unique(table.labels(name))
    declared = table.declared_categories(name)
    if declared is not None:
        present = set(observed)
        return tuple(value for value in declared if value in present)
    return tuple(sorted((_plain(v) for v in observed), key=lambda v: (str(type(v)), v)))


_TOML_FIELDS = tuple(f.name for f in fields(Feature) if f.name != "name")


def _table_of(feature: Feature) -> dict[str, Any]:
    """What an action file says of a feature: all that differs from the defaults."""
    table: dict[str, Any] = {"kind": feature.kind, "change": feature.change}
    table |= {"lower": feature.lower, "upper": feature.upper}
    if feature.weight != 1.0:
        table["weight"] = feature.weight
    if feature.categories and feature.categories != feature.columns:
        table["categories"] = list(feature.categories)
    if feature.columns:
        table["columns"] = list(feature.columns)
    return {key: value for key, value in table.items() if value is not None}
