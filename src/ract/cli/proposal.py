"""What ``ract init`` proposes for a table: how it is read, what its features are, and why."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ract._toml import dump_toml
from ract.actions import ActionSpace, AssumedActions, Feature
from ract.actions.proposed import fixed_feature
from ract.actions.space import toml_tables
from ract.cli.columns import classes_of, desired_class, features_and_target, require_column
from ract.cli.failures import BadInput
from ract.cli.findings import Findings, findings, leaks, rare
from ract.cli.options import Csv, TrainingData
from ract.cli.recognised import Recognised, recognised, written
from ract.cli.tables import name_of, naming_lines
from ract.errors import listing
from ract.tables import TableFormat, as_read

MANY_CATEGORIES = 50


@dataclass
class Proposal:
    """An action space for a table, how the table is read, and why.

    Parameters
    ----------
    space : ActionSpace
    form : TableFormat
    y : Series
        The target, of those who have one.
    comments : dict
        Lines for the action file, by ``table.KEY`` and ``features.NAME``.
    said : list of str
        Sentences for whoever runs the command.
    """

    space: ActionSpace
    form: TableFormat
    y: pd.Series
    comments: dict[str, list[str]]
    said: list[str]

    def to_toml_text(self) -> str:
        """The text of the action file."""
        tables = toml_tables(self.space)
        return dump_toml(self.space.desired, tables, self.form.to_record(), self.comments)


def propose(
    table: TrainingData,
    csv: Csv,
    change: Mapping[str, Sequence[str]],
    *,
    orders: Mapping[str, tuple[str, ...]],
    keep: Sequence[str],
    dates: str | None,
    rare: int | None,
    rare_name: str,
) -> Proposal:
    """Look at a table, and propose.

    Parameters
    ----------
    table : TrainingData
    csv : Csv
    change : mapping
        Features that are "fixed", or may "increase" or "decrease" only.
    orders, keep, dates, rare, rare_name
        Options of ``ract init``.
    """
    known = recognised(table.data, csv)
    for option, names in (("--target", [table.target]), ("--drop", table.drop or ()),
                          ("--keep", keep), ("--order", orders)):  # fmt: skip
        for name in names:
            require_column(name, known.frame, option, table.data)
    named = {name for names in change.values() for name in names}
    frame = as_read(known.frame, known.form)
    found = findings(
        frame.drop(columns=[name for name in table.drop or () if name != table.target]),
        table.target, dates=dates, keep={*keep, *named, *orders},
    )  # fmt: skip
    drop = (*(table.drop or ()), *found.drop)
    form = replace(known.form, drop=drop, words=found.words, dates=found.dates)
    X, y, _ = features_and_target(table, form, frame=known.frame)
    orders = {name: order for name, order in found.orders.items() if name in X} | dict(orders)
    if rare is not None:
        X, form, orders = _grouped(X, form, orders, rare, rare_name, found)
    _ask_for_orders(X, change, orders)
    classes = classes_of(y)
    label = None if table.desired is None else desired_class(table.desired, classes)
    with warnings.catch_warnings(), naming_lines(table.data, form, X.index):
        warnings.simplefilter("ignore", AssumedActions)  # said here, and in comments
        space = ActionSpace.infer(
            X, fixed=change["fixed"], increase=change["increase"], decrease=change["decrease"],
            orders=orders, desired=label,
        )  # fmt: skip
    space = _held(space, named, found)
    wanted = y.to_numpy() == (classes[1] if label is None else label)
    for name, area in leaks(X, wanted).items():
        found.note(
            name,
            f"tells {table.target!r} almost alone (AUC {area:.3f}); if it is known only after the "
            f"decision, leave it out with --drop {name!r}.",
        )
    for feature in space:
        if len(feature.categories) > MANY_CATEGORIES and not feature.columns:
            found.note(
                feature.name,
                f"{len(feature.categories)} different values; --rare 20 puts those of fewer than "
                f"20 people together, --drop {feature.name!r} leaves it out.",
            )
    return Proposal(space, form, y, _comments(known, found), _said(known, found, space, table.data))


def _grouped(
    X: pd.DataFrame,
    form: TableFormat,
    orders: dict[str, tuple[str, ...]],
    fewest: int,
    name: str,
    found: Findings,
) -> tuple[pd.DataFrame, TableFormat, dict[str, tuple[str, ...]]]:
    """Rare categories of each column of text under one name."""
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


def _ask_for_orders(
    X: pd.DataFrame, change: Mapping[str, Sequence[str]], orders: Mapping[str, Any]
) -> None:
    """Refuse a direction of text whose order nobody gave."""
    for way in ("increase", "decrease"):
        for name in change[way]:
            if name in X and name not in orders and X[name].dtype.kind not in "biuf":
                values = sorted(map(str, X[name].dropna().unique()))
                shown = "<".join(values[:6])
                raise BadInput(
                    f"--{way} names {name!r}, whose values {listing(values)} are text without an "
                    f"order; say it, the lowest first: --order '{name}={shown}'."
                )


def _held(space: ActionSpace, named: set[str], found: Findings) -> ActionSpace:
    """The space with what nobody can change held fixed, and why."""
    features = []
    for feature in space:
        reason = found.fixed.get(feature.name) or fixed_feature(feature)
        if reason is not None and feature.name not in named:
            feature = replace(feature, change="fixed")
            found.fixed[feature.name] = reason
            found.note(feature.name, f"proposed as fixed: {reason}.", say=False)
        if feature.columns:
            found.note(
                feature.name,
                "one feature: exactly one of its columns is 1 in every row.",
                say=False,
            )
        features.append(feature)
    return ActionSpace(features, space.desired)


def _comments(known: Recognised, found: Findings) -> dict[str, list[str]]:
    lines = {f"table.{key}": list(said) for key, said in known.comments.items()}
    if found.drop:
        lines["table.drop"] = ["No features:"]
        lines["table.drop"] += [f"  {name}: {why}." for name, why in found.drop.items()]
    if found.dates:
        lines["table.dates"] = [
            "Years or days from each date until a day, or until the date in another column: until "
            'may also be the name of a column, such as "Applied".'
        ]
    lines |= {f"features.{name}": said for name, said in found.comments.items()}
    return lines


def _said(known: Recognised, found: Findings, space: ActionSpace, source: str) -> list[str]:
    """What is said at once, one sentence for each kind of thing."""
    said = [sentence for sentence in (written(known, source),) if sentence is not None] + known.said
    if found.drop:
        said.append(
            "left out: "
            + ", ".join(f"{name!r} ({why})" for name, why in found.drop.items())
            + "; --keep COLUMN keeps one."
        )
    groups = [feature for feature in space if feature.columns]
    if groups:
        said.append(
            "columns of which exactly one is 1 are one feature: "
            + ", ".join(f"{g.name!r} ({len(g.columns)} columns)" for g in groups) + "."
        )  # fmt: skip
    fixed = {name: why for name, why in found.fixed.items() if name in space}
    if fixed:
        said.append(
            "proposed as fixed: "
            + ", ".join(f"{name!r} ({why})" for name, why in fixed.items())
            + "."
        )
    missing = known.frame[[c for c in known.frame.columns if c in _columns(space)]].isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        counts = ", ".join(f"{name!r} ({n})" for name, n in missing.items())
        said.append(f"missing values in {name_of(source)}: {counts}, of {len(known.frame)} rows.")
    return said + found.said


def _columns(space: ActionSpace) -> set[str]:
    return {column for feature in space for column in feature.columns or (feature.name,)}
