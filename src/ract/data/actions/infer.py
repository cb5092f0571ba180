"""What is read off a table where nobody declared it, and a warning of what that assumes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, combinations
from typing import Literal

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.typing import Label
from ract._utils.validation import as_python
from ract.data.actions.feature import Change, Feature, Kind
from ract.data.actions.names import fixed_feature
from ract.data.actions.steps import proposed_step
from ract.data.frames import Table, first_true

# Columns that are one feature's by a coincidence in fewer rows than this are no evidence.
FEWEST_ROWS = 20

# Columns of one feature, and its name where they share one.
Candidate = tuple[tuple[str, ...], str | None]
_BETWEEN, _MODULUS = "[:=_. -]", 2**64


class AssumedActions(UserWarning):
    """What people may change was not declared; the message says what was assumed instead."""


def warn_of(assumed: Sequence[str]) -> None:
    """Warn of assumptions, if there are any."""
    if assumed:
        warnings.warn(
            f"What people may change was not declared in full, so {'; '.join(assumed)}. Say "
            "otherwise in an ActionSpace.",
            AssumedActions,
            stacklevel=3,
        )


def every_feature(space: Collection[Feature]) -> list[str]:
    """That everything may change that is not fixed."""
    free = [feature.name for feature in space if feature.actionable]
    other = "" if len(free) == len(space) else "other "
    return [f"every {other}feature may change, {listing(free)}"] if free else []


def one_feature(groups: Iterable[Feature]) -> list[str]:
    """That columns are one feature."""
    return [
        f"{listing(group.columns)} are one feature, {group.name!r}, since exactly one of them is 1 "
        "in every row"
        for group in groups
    ]


def separate_flags(space: Iterable[Feature]) -> list[str]:
    """That columns of 0 and 1 are features of their own."""
    binary = [feature.name for feature in space if feature.kind == "binary" and feature.actionable]
    if len(binary) < 2:
        return []
    return [f"columns of 0 and 1 are separate even if they encode one feature, {listing(binary)}"]


def declared_features(
    groups: Mapping[str, Sequence[str]], orders: Mapping[str, Sequence[Label]]
) -> list[Feature]:
    """One-hot groups and ordered categories as features."""
    declared = [Feature(name, columns=tuple(columns)) for name, columns in groups.items()]
    for name, order in orders.items():
        declared.append(Feature(name, kind="categorical", categories=tuple(order)))
    return declared


def directed(
    table: Table, declared: Iterable[Feature], change: Mapping[str, Change], *, by_name: bool
) -> tuple[list[Feature], list[str]]:
    """Every feature of a table with its direction, and those that are fixed for their names."""
    known = {feature.name: feature for feature in declared}
    names = features_in_order(table, known.values())
    if unknown := [name for name in change if name not in names]:
        raise InvalidSpec(
            f"No column called {listing(unknown)}; the table has {listing(names, 30)}."
        )
    features = [known.get(name, Feature(name)) for name in names]
    fixed = [f.name for f in features if by_name and f.name not in change and fixed_feature(f)]
    every: dict[str, Change] = {**dict.fromkeys(fixed, "fixed"), **change}
    return [replace(f, change=every.get(f.name, "any")) for f in features], fixed


def directions(
    fixed: Iterable[str], increase: Iterable[str], decrease: Iterable[str]
) -> dict[str, Change]:
    """Which way features may change, by name; each is named once."""
    change: dict[str, Change] = {}
    given: dict[Change, Iterable[str]]
    given = {"fixed": fixed, "increase": increase, "decrease": decrease}
    for direction, names in given.items():
        if isinstance(names, str):
            raise InvalidSpec(f"{direction} takes a list of names, got the text {names!r}.")
        for name in names:
            if name in change:
                raise InvalidSpec(f"{name!r} is named both {change[name]!r} and {direction!r}.")
            change[name] = direction
    return change


def features_in_order(table: Table, declared: Iterable[Feature]) -> list[str]:
    """Feature names in the order of the table's columns; a group stands at its first column."""
    owner = {column: f.name for f in declared for column in f.table_columns}
    if unknown := [column for column in owner if column not in table.names]:
        raise InvalidSpec(
            f"The action space names {listing(unknown)}, which the table does not have; "
            f"its columns are {listing(table.names, 30)}."
        )
    return list(dict.fromkeys(owner.get(column, column) for column in table.names))


def refuse_missing_one_hot(table: Table, declared: Iterable[Feature]) -> None:
    """Refuse missing values in one-hot columns: all at once."""
    grouped = [
        name for feature in declared for name in feature.columns if table.missing(name).any()
    ]
    if grouped:
        raise InvalidData(
            f"One-hot column(s) {listing(grouped, 30)} have missing values; make each group a "
            "column of categories, or a category of its own for those without one."
        )


# The size rule: no number moves by more than half of the person's own value, or of the column's
# median where that is larger, nor by more than the interquartile range, but always by one step.
HALF = 0.5
Limits = Literal["size"] | None
# Steps that are proposed from the column, or any number; "limits": round ones where limits hold.
Steps = Literal["round", "limits"] | None


def filled(feature: Feature, table: Table, limits: Limits = None, steps: Steps = None) -> Feature:
    """A feature with kind, bounds, categories, limits and step read off the data where blank."""
    if feature.columns:
        return feature
    if feature.missing is None and table.missing(feature.name).any():
        feature = replace(feature, missing="stays")
    kind = feature.kind or _kind_of(table, feature.name)
    if kind == "categorical":
        categories = feature.categories
        if not categories:
            categories = _observed_categories(table, feature.name)
            _check_order(feature, table, categories)
        return replace(feature, kind=kind, categories=categories)
    values = table.numbers(feature.name)
    check_kind(feature.name, kind, values)
    values = values[~np.isnan(values)]
    if not len(values):  # nobody has one, and all is known
        return feature
    low, high = (0.0, 1.0) if kind == "binary" else (float(values.min()), float(values.max()))
    _check_bounds_meet_data(feature, low, high)
    lower = low if feature.lower is None else feature.lower
    upper = high if feature.upper is None else feature.upper
    feature = replace(feature, kind=kind, lower=lower, upper=upper)
    return _stepped(_limited(feature, table, limits), table, steps)


def _stepped(feature: Feature, table: Table, steps: Steps) -> Feature:
    """A number with the step that its column proposes, where nothing else is said."""
    if not feature.is_number or feature.step is not None or steps is None:
        return feature
    values = table.numbers(feature.name)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    quarter, _, three_quarters = table.quartiles(feature.name)
    whole = feature.kind == "integer"
    return replace(feature, step=proposed_step(low, quarter, three_quarters, high, whole=whole))


def _limited(feature: Feature, table: Table, limits: Limits) -> Feature:
    """A number with the size rule where nothing else is said, and with its column's median."""
    if not feature.is_number:
        return feature
    unsaid = feature.max_change is None and feature.max_relative is None
    if limits == "size" and unsaid:
        low, _, high = table.quartiles(feature.name)
        feature = replace(feature, max_relative=HALF, max_change=high - low or None)
    if feature.max_relative is not None and feature.median is None:
        feature = replace(feature, median=table.quartiles(feature.name)[1])
    return feature


def _check_order(feature: Feature, table: Table, categories: Sequence[Label | None]) -> None:
    """Refuse a direction among texts whose order nobody gave; numbers have their own."""
    one_way = feature.may_rise != feature.may_fall
    is_text = any(isinstance(category, str) for category in categories)
    if one_way and is_text and not table.declared(feature.name)[1]:
        raise InvalidSpec(
            f"Feature {feature.name!r} may only {feature.change}, but its values "
            f"{listing(categories)} are text without an order; list them in 'categories', the "
            "lowest first."
        )


def _check_bounds_meet_data(feature: Feature, low: float, high: float) -> None:
    lower, upper = feature.bounds
    if lower > high or upper < low:
        bound = f"lower bound {lower:g}" if lower > high else f"upper bound {upper:g}"
        raise InvalidSpec(
            f"Feature {feature.name!r}: {bound} lies outside the data, "
            f"which runs from {low:g} to {high:g}."
        )


TEXT_OF_MISSING = ("nan", "NaN", "NaT", "<NA>")

# From 2^53 on whole numbers round to others, so that two people's values become one.
ALLOWED = {"integer": "whole numbers below 2^53", "binary": "0 or 1"}


def wrong_kind(kind: Kind, values: np.ndarray) -> np.ndarray:
    """Which numbers a kind does not allow; a missing one is never wrong."""
    if kind == "integer":
        return ((values != np.floor(values)) & ~np.isnan(values)) | (np.abs(values) >= 2**53)
    if kind == "binary":
        return (values != 0) & (values != 1) & ~np.isnan(values)
    return np.zeros(len(values), bool)


def check_kind(name: str, kind: Kind, values: np.ndarray) -> None:
    """Refuse numbers that a kind does not allow."""
    if (row := first_true(wrong_kind(kind, values))) is not None:
        raise InvalidData(
            f"Column {name!r} is {kind}, but row {row} holds {values[row]:g}; allowed: "
            f"{ALLOWED[kind]}."
        )


def _kind_of(table: Table, name: str) -> Kind:
    role = table.role(name)
    if role == "label":
        return "categorical"
    if role == "bool":
        return "binary"
    values = table.numbers(name)
    known = values[~np.isnan(values)]
    if np.isin(known, (0.0, 1.0)).all():
        return "binary"
    # Whole numbers with a missing one among them are floats only because NumPy has no other way.
    whole = len(known) < len(values) and not wrong_kind("integer", known).any()
    return "integer" if role == "integer" or whole else "continuous"


def _observed_categories(table: Table, name: str) -> tuple[Label | None, ...]:
    labels, missing = table.labels(name), table.missing(name)
    observed = pd.unique(labels[~missing])
    declared, _ = table.declared(name)
    if not missing.any():
        _refuse_text_of_missing(name, observed)
    if declared is not None:
        present = set(observed)
        return tuple(value for value in declared if value in present)
    return tuple(sorted((as_python(v) for v in observed), key=lambda v: (str(type(v)), v)))


def _refuse_text_of_missing(name: str, observed: np.ndarray) -> None:
    """Text that missing values turn into when a column is made text."""
    if found := [value for value in observed if value in TEXT_OF_MISSING]:
        raise InvalidData(
            f"Column {name!r} holds the text {found[0]!r}, a category or a missing value that "
            f"became text: list {found[0]!r} among the feature's categories, or put None there."
        )


def one_hot_groups(table: Table) -> list[Feature]:
    """Columns of 0 and 1 of which exactly one is 1 in every row, as features.

    Columns that share the beginning of their names (``name:value``, ``name=value``, ``name_value``)
    come first, then neighbours, then any two or three.

    Parameters
    ----------
    table : Table

    Examples
    --------
    >>> import pandas as pd
    >>> from ract.data.frames import read_table
    >>> home = ["own", "rent"] * 10
    >>> table = pd.get_dummies(pd.DataFrame({"home": home, "age": range(20)}), dtype=int)
    >>> group, = one_hot_groups(read_table(table))
    >>> group.name, group.columns, group.categories
    ('home', ('home_own', 'home_rent'), ('own', 'rent'))
    """
    if table.n_rows < FEWEST_ROWS:
        return []
    flags = _flags(table)
    # With a random number for each row, columns of which one is 1 in every row have the sum of all.
    rows = np.random.default_rng(0).integers(0, 2**62, table.n_rows, np.uint64)
    total = int(rows.sum(dtype=np.uint64))
    sums = {name: int(rows[flag].sum(dtype=np.uint64)) for name, flag in flags.items()}
    found: list[Feature] = []
    for candidates in (_sharing_a_name, _neighbours, _two_or_three):
        for columns, name in candidates(sums, total):
            left = all(column in sums for column in columns)  # and not in a group already
            if left and (np.sum([flags[column] for column in columns], axis=0) == 1).all():
                found.append(_group(columns, name, table.names))
                for column in columns:
                    del sums[column]
    return found


def _flags(table: Table) -> dict[str, np.ndarray]:
    """Columns that hold 0 and 1, both of them and nothing else."""
    flags: dict[str, np.ndarray] = {}
    for name in table.names:
        if table.role(name) != "label" and not table.missing(name).any():
            values = table.parsed(name)
            if np.isin(values, (0.0, 1.0)).all() and 0 < values.sum() < len(values):
                flags[name] = values == 1
    return flags


def _sharing_a_name(sums: Mapping[str, int], total: int) -> list[Candidate]:
    """Columns that begin alike, the longest beginnings first."""
    by_start: dict[str, list[str]] = {}
    for column in sums:
        for match in re.finditer(f"{_BETWEEN}+", column):
            if match.start() > 0 and match.end() < len(column):
                by_start.setdefault(column[: match.end()], []).append(column)
    return [
        (tuple(columns), re.sub(f"{_BETWEEN}+$", "", start))
        for start, columns in sorted(by_start.items(), key=lambda one: -len(one[0]))
        if len(columns) > 1 and _is(total, [sums[column] for column in columns])
    ]


def _neighbours(sums: Mapping[str, int], total: int) -> list[Candidate]:
    """Columns that stand side by side among those of 0 and 1."""
    columns = list(sums)
    ends = [0, *accumulate(sums.values())]
    return [
        (tuple(columns[first:last]), None)
        for first, last in combinations(range(len(ends)), 2)
        if last - first > 1 and _is(total, [ends[last] - ends[first]])
    ]


def _two_or_three(sums: Mapping[str, int], total: int) -> list[Candidate]:
    """Any two or three columns."""
    by_sum = {value % _MODULUS: column for column, value in sums.items()}
    found: list[Candidate] = [
        (pair, None) for pair in combinations(sums, 2) if _is(total, [sums[one] for one in pair])
    ]
    for pair in combinations(sums, 2):
        third = by_sum.get((total - sum(sums[one] for one in pair)) % _MODULUS)
        if third is not None and third not in pair:
            found.append(((*pair, third), None))
    return found


def _is(total: int, sums: Sequence[int]) -> bool:
    return (sum(sums) - total) % _MODULUS == 0


def _group(columns: tuple[str, ...], name: str | None, taken: Sequence[str]) -> Feature:
    if name is None:
        return Feature("/".join(columns), columns=columns)
    values = tuple(re.sub(f"^{_BETWEEN}+", "", column[len(name) :]) for column in columns)
    name = name if name not in taken else f"{name} (group)"
    if len(set(values)) < len(values):
        return Feature(name, columns=columns)
    return Feature(name, columns=columns, categories=values)
