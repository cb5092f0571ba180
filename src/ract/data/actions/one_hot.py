"""Columns that encode one feature: exactly one of them is 1 in every row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, combinations

import numpy as np

from ract.data.actions.feature import Feature
from ract.data.frames import Table

# A coincidence in fewer rows than this is no evidence.
FEWEST_ROWS = 20

# Columns of one feature, and its name where they share one.
Candidate = tuple[tuple[str, ...], str | None]
_BETWEEN, _MODULUS = "[:=_. -]", 2**64


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
