"""What people may change, feature by feature: declared, read off a table or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ract._files import write_whole
from ract._frames import Table, read_table
from ract._toml import dump_toml, parse_toml, read_toml
from ract.actions.assumed import (
    every_feature,
    fixed_names,
    one_feature,
    separate_flags,
    warn_of,
)
from ract.actions.blanks import features_in_order, filled, refuse_missing
from ract.actions.feature import Change, Feature, plain
from ract.actions.proposed import fixed_feature, one_hot_groups
from ract.errors import InvalidSpec, listing

_CONSTRAINT_WORDS = {
    "any": "Nothing",
    "increase": "Increasing only",
    "decrease": "Decreasing only",
    "fixed": "Fix",
}


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
        object.__setattr__(self, "desired", plain(desired))
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
        fixed: Iterable[str] | None = None,
        increase: Iterable[str] = (),
        decrease: Iterable[str] = (),
        groups: Mapping[str, Sequence[str]] | None = None,
        orders: Mapping[str, Sequence[Any]] | None = None,
        desired: Any = None,
    ) -> ActionSpace:
        """Read kinds, bounds and categories off a table.

        Text and category columns are categorical, bool columns and numbers that are only 0
        and 1 are binary, integer columns are integers and floats are continuous. Bounds are
        the observed range. Columns of 0 and 1 of which exactly one is 1 in every row are one
        feature. Everything may change unless it is named in ``fixed``, ``increase`` or
        ``decrease``. A warning, ``AssumedActions``, says what had to be assumed.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or array
        fixed : iterable of str, optional
            Features that may not change. By default those whose names say that nobody can
            change them, such as age, sex, nationality or an identifier; ``()`` for none.
        increase, decrease : iterable of str
            Features that may change in one direction only. Text needs an order.
        groups : mapping of str to sequence of str, optional
            Columns that are already one-hot encoded, by the name of their feature; ``{}`` if
            there are none. By default they are recognised.
        orders : mapping of str to sequence, optional
            Categories of text features from the lowest to the highest. An ordered pandas
            category or a polars enum has its own.
        desired : label, optional

        Examples
        --------
        >>> frame = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
        >>> space = ActionSpace.infer(frame, increase=["age"])
        >>> space["age"].upper, space["job"].categories
        (40.0, ('clerk', 'cook'))
        """
        table = read_table(frame)
        change = _directions(fixed or (), increase, decrease)
        found = one_hot_groups(table) if groups is None else []
        declared = [Feature(name, columns=tuple(cols)) for name, cols in (groups or {}).items()]
        declared += [group for group in found if not change.keys() & set(group.columns)]
        declared += [
            Feature(name, kind="categorical", categories=tuple(order))
            for name, order in (orders or {}).items()
        ]
        names = features_in_order(table, declared)
        unknown = [name for name in change if name not in names]
        if unknown:
            raise InvalidSpec(
                f"No column called {listing(unknown)}; the table has {listing(names, 30)}."
            )
        by_name = {feature.name: feature for feature in declared}
        features = [by_name.get(name, Feature(name)) for name in names]
        by_their_name = [] if fixed is not None else [
            f.name for f in features if f.name not in change and fixed_feature(f) is not None
        ]  # fmt: skip
        own: dict[str, Change] = dict.fromkeys(by_their_name, "fixed")
        rules = own | change
        features = [replace(f, change=rules.get(f.name, "any")) for f in features]
        space = cls(features, desired).complete(table)
        assumed = fixed_names(by_their_name)
        assumed += [] if change or groups else every_feature(space)
        if groups is None:
            assumed += one_feature([group for group in found if group.name in by_name])
            assumed += separate_flags(space)
        warn_of(assumed)
        return space

    def complete(self, frame: Any) -> ActionSpace:
        """This space with every blank filled from a table, and checked against it.

        Columns that are not declared become fixed features; kinds, bounds and categories that
        are not given are read off the data. Where values are missing and nothing is said of
        them, people without one keep none (``missing="stays"``). A column in which nobody has a
        value is refused unless its feature leaves nothing to be read off it.
        """
        table = read_table(frame)
        names = features_in_order(table, self.features)
        table.refuse_empty_columns(besides=[f.name for f in self.features if f.is_complete])
        refuse_missing(table, self.features)
        features = [filled(self._by_name.get(n, Feature(n, change="fixed")), table) for n in names]
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
        return read_toml(source, cls.from_toml_text)

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
        return dump_toml(self.desired, toml_tables(self))

    def to_toml(self, target: str | Path) -> None:
        """Write an action file, whole or not at all."""
        write_whole(target, self.to_toml_text())


def unrestricted(table: Table) -> ActionSpace:
    """Every column as a feature that may change, with all else read off the table."""
    return ActionSpace(map(Feature, table.names)).complete(table)


def warn_of_unrestricted(space: ActionSpace) -> None:
    """Warn of what plans assume in a space that was read off a table, with nothing declared."""
    warn_of(every_feature(space) + separate_flags(space))


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


_TOML_FIELDS = tuple(f.name for f in fields(Feature) if f.name != "name")


def toml_tables(space: ActionSpace) -> dict[str, dict[str, Any]]:
    """The table of each feature in an action file."""
    return {feature.name: _table_of(feature) for feature in space}


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
    table |= {"missing": feature.missing, "supply_cost": feature.supply_cost}
    if feature.per_month:
        table["per_month"] = feature.per_month
    return {key: value for key, value in table.items() if value is not None}
