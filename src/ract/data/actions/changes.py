"""Which way features may change, and which are kept from the model: proposals and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ract.data.actions.columns import Findings
from ract.data.actions.evidence import Trend, auc_with_and_without, share_of_zeros, trend
from ract.data.actions.feature import Change, Feature
from ract.data.actions.names import (
    IDENTIFIER,
    better_way,
    fixed_feature,
    past_by_name,
    protected_feature,
    unit_of_time,
)
from ract.data.actions.space import ActionSpace

_MORE = {"increase": "more", "decrease": "less"}


def propose_changes(
    space: ActionSpace,
    X: pd.DataFrame,
    wanted: np.ndarray,
    found: Findings,
    *,
    decided: Collection[str],
    keep: Collection[str],
) -> ActionSpace:
    """The space with what an analyst would propose, and the reasons in what was found.

    Parameters
    ----------
    space : ActionSpace
        Inferred from X.
    X : DataFrame
    wanted : bool (people,)
        Who has the desired class; of either class if nobody said which it is.
    found : Findings
        It is added to.
    decided, keep : collections of str
        Features whose change was decided on, and features that stay in the model.
    """
    features = []
    for feature in space:
        if feature.columns:
            found.note(
                feature.name,
                "one feature: exactly one of its columns is 1 in every row.",
                say=False,
            )
        if feature.name not in decided:
            feature = _fixed(feature, found, keep)
            if feature.actionable and feature.use:
                known = None if space.desired is None else _trend(feature, X, wanted, len(space))
                feature = _directed(feature, known, space.desired, found)
        _note_zeros(feature, X, found)
        _note_time(feature, found)
        features.append(feature)
    proposed = space.with_features(features)
    _note_auc(proposed, X, wanted, found)
    return proposed


def _note_time(feature: Feature, found: Findings) -> None:
    """Propose how fast something moves that counts years or months, by its name."""
    unit = unit_of_time(feature.name)
    if unit is None or not feature.use or not feature.is_number:
        return
    what, why = ("pace", "more of it takes its time") if feature.actionable else (
        "drift", "it grows by itself"
    )  # fmt: skip
    said = f'if it counts {unit}s, {why}: {what} = 1 with per = "{unit}".'
    found.note(feature.name, said, say=False)


def _fixed(feature: Feature, found: Findings, keep: Collection[str]) -> Feature:
    """What nobody can change held fixed; protected attributes and names kept from the model."""
    attribute, name = protected_feature(feature), feature.name
    if attribute is None and fixed_feature(feature) == IDENTIFIER:
        attribute = IDENTIFIER
    if attribute is not None and name not in keep:
        found.unused[name] = attribute
        return replace(feature, change="fixed", use=False)
    reason = attribute or found.fixed.get(name) or past_by_name(name)
    if reason is None:
        return feature
    found.fixed[name] = reason
    found.note(name, f"proposed as fixed: {reason}.", say=False)
    return replace(feature, change="fixed")


def _trend(feature: Feature, X: pd.DataFrame, wanted: np.ndarray, n_columns: int) -> Trend | None:
    """How acceptance goes with a number, or with categories that have an order."""
    if feature.columns:
        return None
    column = X[feature.name]
    if not feature.is_categorical:
        return trend(column.to_numpy(np.float64, na_value=np.nan), wanted, n_columns)
    if len(feature.categories) != 2:
        return None
    position = {category: float(k) for k, category in enumerate(feature.categories)}
    values = column.map(lambda cell: position.get(cell, np.nan)).to_numpy(np.float64)
    return trend(values, wanted, n_columns)


def _directed(feature: Feature, known: Trend | None, desired: Any, found: Findings) -> Feature:
    """One direction, where a name or the data say which; else a word about that."""
    by_name: Change | None = None
    is_yes_no = feature.name in found.orders
    if not feature.is_categorical or is_yes_no:
        by_name = better_way(feature.name)
    by_data: Change | None = None
    if known is not None and (not feature.is_categorical or is_yes_no):
        by_data = "increase" if known.rises else "decrease"
    way = by_name or by_data
    if way is None:
        if feature.kind in ("continuous", "integer"):
            found.undirected.append(feature.name)
            found.note(
                feature.name,
                "without a direction: neither its name nor the data say which way is better; say "
                "increase or decrease if only one can be asked of people.",
                say=False,
            )
        elif better_way(feature.name) is not None and not feature.columns:
            found.note(
                feature.name,
                f"by its name {_MORE[better_way(feature.name) or '']} of it helps: list its "
                "categories from the lowest to the highest, and say increase or decrease.",
                say=False,
            )
        elif feature.is_categorical:
            found.note(
                feature.name,
                "any category may be offered: say fixed if a change cannot be asked of people, or "
                "list the categories from the lowest to the highest and say increase or decrease.",
                say=False,
            )
        return feature
    found.directed[feature.name] = way
    found.note(
        feature.name, f"proposed to {way} only: {_why(by_name, by_data, known, desired)}", say=False
    )
    return replace(feature, change=way)


def _why(by_name: Any, by_data: Any, known: Trend | None, desired: Any) -> str:
    data = ""
    if known is not None and by_data is not None:
        data = f"in the data {_MORE[by_data]} of it goes with {desired!r} (AUC {known.area:.2f})"
    if by_name is None:
        return f"{data}; change it if that cannot be asked of people."
    named = f"by its name {_MORE[by_name]} of it helps"
    if not data:
        return f"{named}; the data show no clear trend."
    if by_name == by_data:
        return f"{named}, and {data}."
    return f"{named}, but {data}: look into this column."


def _note_zeros(feature: Feature, X: pd.DataFrame, found: Findings) -> None:
    if feature.columns or feature.is_categorical or not (feature.actionable and feature.use):
        return
    share = share_of_zeros(X[feature.name])
    if share:
        found.note(
            feature.name,
            f"0 in {share:.0%} of the rows: measured in percentiles, a step to or from 0 "
            "looks small however far it is; give it a lower or an upper bound, or a weight.",
        )


def _note_auc(space: ActionSpace, X: pd.DataFrame, wanted: np.ndarray, found: Findings) -> None:
    """What it costs to keep attributes from the model."""
    if not found.unused:
        return
    measured = auc_with_and_without(X, wanted, space.unused)
    cost = ""
    if measured is not None:
        before, after = measured
        it, together = ("them", " together") if len(found.unused) > 1 else ("it", "")
        found.auc_lost = (
            f"leaving {it} out{together} costs {max(0.0, before - after):.3f} of AUC "
            f"({before:.3f} with, {after:.3f} without)"
        )
        cost = f"; {found.auc_lost}"
    for name, attribute in found.unused.items():
        what = "an identifier" if attribute == IDENTIFIER else f"a protected attribute, {attribute}"
        found.note(name, f"proposed to be left out of the model: {what}{cost}.", say=False)
