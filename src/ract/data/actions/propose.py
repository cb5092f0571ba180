"""What is proposed for a table: how it is read, what its features are, and why."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.files import write_whole
from ract._utils.typing import Label, TableLike
from ract._utils.validation import NONE, check_value, one_of
from ract.data.actions.changes import propose_changes
from ract.data.actions.columns import Findings, findings, leaks, rare
from ract.data.actions.feature import Feature
from ract.data.actions.infer import AssumedActions
from ract.data.actions.space import ActionSpace
from ract.data.actions.toml import dump_toml, toml_entries, toml_tables
from ract.data.csv import TableFormat, as_read, refuse_formatted_numbers
from ract.data.frames import as_narwhals
from ract.data.target import check_classes, rows_with_class, target_classes

MANY_CATEGORIES = 50


@dataclass(frozen=True)
class Wishes:
    """What somebody said of a table before it was looked at.

    Parameters
    ----------
    fixed, increase, decrease : sequence of str
        Features that may not change, or in one direction only.
    orders : mapping of str to tuple
        Categories of text from the lowest to the highest.
    drop, keep : sequence of str
        Columns to leave out, and columns to use in any case.
    dates : {"years", "days"} or None
        What columns of dates are read as; None leaves them out.
    rare : int or None
        Categories of fewer people than this become one, called ``rare_name``.
    """

    fixed: Sequence[str] = ()
    increase: Sequence[str] = ()
    decrease: Sequence[str] = ()
    orders: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    dates: str | None = None
    rare: int | None = None
    rare_name: str = "other"

    @property
    def moved(self) -> set[str]:
        """Features whose change was decided on."""
        return {*self.fixed, *self.increase, *self.decrease}

    def check(self, columns: Collection[str]) -> None:
        """Refuse what cannot be meant of a table with these columns."""
        check_value("dates", self.dates, NONE, one_of("years", "days"))
        for what in ("drop", "keep", "orders"):
            if unknown := [name for name in getattr(self, what) if name not in columns]:
                raise InvalidSpec(
                    f"{what} names {listing(unknown)}; the table has {listing(columns, 30)}."
                )


@dataclass(frozen=True)
class Proposal:
    """An action space for a table, how the table is read, and why; to be looked through.

    Parameters
    ----------
    space : ActionSpace
    form : TableFormat
        Columns that are no features, words that are one category, dates.
    y : Series
        The target, of those who have one.
    comments : dict
        Lines for the action file, by ``table.KEY`` and ``features.NAME``.
    notes : list of str
        What was decided, a sentence each.
    """

    space: ActionSpace
    form: TableFormat
    y: pd.Series
    comments: Mapping[str, Sequence[str]]
    notes: Sequence[str]

    def read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The features of a table like this one, read as proposed."""
        read = as_read(frame, self.form, self.space)
        used = _columns(self.space) - self.space.unused
        return read[[name for name in frame.columns if name in used]]

    def to_toml_text(self) -> str:
        """The text of an action file, with the reasons as comments."""
        tables = toml_tables(self.space)
        said = toml_entries(self.space) | {"limits": self.space.limits, "steps": self.space.steps}
        return dump_toml(said, tables, self.form.to_record(), self.comments)

    def to_toml(self, target: str | Path) -> None:
        """Write an action file atomically."""
        write_whole(target, self.to_toml_text())


def propose(
    frame: TableLike,
    target: str,
    *,
    desired: Label | None = None,
    wishes: Wishes | None = None,
    form: TableFormat | None = None,
    comments: Mapping[str, Sequence[str]] | None = None,
) -> Proposal:
    """Look at a table, and propose; see ``ActionSpace.propose``.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame
    target : str
    desired : label, optional
    wishes : Wishes, optional
    form : TableFormat, optional
        How the table was written, as far as it is known.
    comments : mapping, optional
        Of how it was written, by key of ``[table]``.
    """
    frame, wishes, form = _as_pandas(frame), wishes or Wishes(), form or TableFormat()
    if target not in frame.columns:
        raise InvalidSpec(f"There is no target {target!r}; the table has {listing(frame, 30)}.")
    wishes.check(list(frame.columns))
    found = findings(
        as_read(frame, form).drop(columns=[name for name in wishes.drop if name != target]),
        target,
        dates=wishes.dates,
        keep={*wishes.keep, *wishes.moved, *wishes.orders},
    )
    drop = tuple(dict.fromkeys((*wishes.drop, *found.drop)))
    form = replace(
        form, drop=drop, words=found.words, dates=found.dates, codes={**form.codes, **found.codes}
    )
    X, y = _features_and_target(as_read(frame, form), target, drop)
    orders = {name: order for name, order in found.orders.items() if name in X}
    orders |= dict(wishes.orders)
    if wishes.rare is not None:
        X, form, orders = _grouped(X, form, orders, wishes, found)
    _ask_for_orders(X, wishes, orders)
    classes = target_classes(y)
    if desired is not None and desired not in classes:
        raise InvalidSpec(f"desired is {desired!r}; the classes are {listing(classes)}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumedActions)  # said here, and in comments
        ways = {way: getattr(wishes, way) for way in ("fixed", "increase", "decrease")}
        space = ActionSpace.infer(X, **ways, orders=orders, desired=desired, limits=None)
    wanted = y.to_numpy() == (classes[1] if desired is None else desired)
    space = propose_changes(space, X, wanted, found, decided=wishes.moved, keep=wishes.keep)
    space = ActionSpace(space.features, space.desired)
    _note_leaks(X, wanted, target, found)
    _note_many_categories(space, found)
    lines = {f"table.{key}": list(said) for key, said in (comments or {}).items()}
    return Proposal(space, form, y, lines | _comments(found), _notes(frame, found, space))


def _as_pandas(frame: TableLike) -> pd.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return frame
    read = as_narwhals(frame)
    if read is None:
        raise InvalidSpec(f"A frame is needed, got {type(frame).__name__}.")
    return read.to_pandas()


def _features_and_target(
    frame: pd.DataFrame, target: str, drop: Collection[str]
) -> tuple[pd.DataFrame, pd.Series]:
    frame = rows_with_class(frame, target)
    X = frame.drop(columns=list({target, *drop}))
    for name in X.columns:
        refuse_formatted_numbers(X[name], name)
    check_classes(target, target_classes(frame[target]))
    if not len(X.columns):
        raise InvalidSpec(f"The table has no column beside the target {target!r}.")
    return X, frame[target]


def _grouped(
    X: pd.DataFrame,
    form: TableFormat,
    orders: dict[str, tuple[Any, ...]],
    wishes: Wishes,
    found: Findings,
) -> tuple[pd.DataFrame, TableFormat, dict[str, tuple[Any, ...]]]:
    """Rare categories of each column of text under one name."""
    fewest, name = wishes.rare or 0, wishes.rare_name
    kept = rare(X[[column for column in X.columns if column not in orders]], fewest, name)
    others, features = dict.fromkeys(kept, name), []
    for column, values in kept.items():
        orders[column] = (*values, name)
        features.append(Feature(column, "categorical", categories=orders[column]))
        found.note(
            column,
            f"{X[column].nunique() - len(values)} categories of fewer than {fewest} people are "
            f"{name!r}, and so is every value that is not listed.",
        )
    return as_read(X, TableFormat(others=others), features), replace(form, others=others), orders


def _ask_for_orders(X: pd.DataFrame, wishes: Wishes, orders: Mapping[str, Any]) -> None:
    """Refuse a direction of text whose order nobody gave."""
    for way in ("increase", "decrease"):
        for name in getattr(wishes, way):
            if name in X and name not in orders and X[name].dtype.kind not in "biuf":
                values = sorted(map(str, X[name].dropna().unique()))
                shown = "<".join(values[:6])
                raise InvalidSpec(
                    f"{way} names {name!r}, whose values {listing(values)} are text without an "
                    f"order; say it, the lowest first, such as order '{name}={shown}'."
                )


def _note_leaks(X: pd.DataFrame, wanted: np.ndarray, target: str, found: Findings) -> None:
    for name, area in leaks(X, wanted).items():
        found.note(
            name,
            f"tells {target!r} almost alone (AUC {area:.3f}); if it is known only after the "
            "decision, leave it out.",
        )


def _note_many_categories(space: ActionSpace, found: Findings) -> None:
    for feature in space:
        n = len(feature.categories)
        if n > MANY_CATEGORIES and not feature.columns:
            how = "leave it out, or put those of fewer than 20 people together: rare 20."
            found.note(feature.name, f"{n} different values; {how}")


def _comments(found: Findings) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    if found.drop:
        lines["table.drop"] = ["No features:"]
        lines["table.drop"] += [f"  {name}: {why}." for name, why in found.drop.items()]
    if found.codes:
        lines["table.codes"] = ["Numbers that stand for no value, by column."]
    if found.dates:
        lines["table.dates"] = [
            "Years or days from each date until a day, or until the date in another column: until "
            'may also be the name of a column, such as "Applied".'
        ]
    return lines | {f"features.{name}": said for name, said in found.comments.items()}


def _notes(frame: pd.DataFrame, found: Findings, space: ActionSpace) -> list[str]:
    """What is said at once, one sentence for each kind of thing."""
    groups = {f.name: f"{len(f.columns)} columns" for f in space if f.columns}
    missing = frame[[c for c in frame.columns if c in _columns(space)]].isna().sum()
    counts = {name: str(n) for name, n in missing[missing > 0].items()}
    fixed = {name: why for name, why in found.fixed.items() if name in space}
    ways: dict[str, list[str]] = {"increase": [], "decrease": []}
    for name, way in found.directed.items():
        ways[way].append(name)
    lost = f"; {found.auc_lost}." if found.auc_lost else "."
    sentences = [
        _listed("left out: ", found.drop, "."),
        _listed("columns of which exactly one is 1 are one feature: ", groups, "."),
        _listed("proposed to be left out of the model: ", found.unused, lost),
        _listed("proposed as fixed: ", fixed, "."),
        *(f"proposed to {way} only: {listing(names, 30)}." for way, names in ways.items() if names),
        f"without a direction: {listing(found.undirected, 30)}." if found.undirected else "",
        ""
        if any(feature.actionable and feature.use for feature in space)
        else "nothing may change: nobody who is refused will have a plan.",
        _listed("missing values: ", counts, f", of {len(frame)} rows."),
    ]
    return [text for text in sentences if text] + found.said


def _listed(head: str, why: Mapping[Any, str], end: str) -> str:
    """Names with what is said of them, those together of which the same is said."""
    names: dict[str, list[Any]] = {}
    for name, said in why.items():
        names.setdefault(said, []).append(name)
    parts = (f"{listing(together, 30)} ({said})" for said, together in names.items())
    return head + ", ".join(parts) + end if why else ""


def _columns(space: ActionSpace) -> set[str]:
    return {column for feature in space for column in feature.table_columns}
