"""An action space as people read it: in a terminal, in a notebook, or as the paper's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ract._utils.printable import html_table

if TYPE_CHECKING:
    from ract.data.actions.feature import Feature
    from ract.data.actions.space import ActionSpace

COLUMNS = ("feature", "kind", "change", "from", "to", "further limits")
_CONSTRAINTS = {
    "any": "Nothing",
    "increase": "Increasing only",
    "decrease": "Decreasing only",
    "fixed": "Fix",
}


def heading(space: ActionSpace) -> str:
    """Desired class, number of features that may change, and whether limits and rules apply."""
    free = sum(feature.actionable for feature in space)
    wanted = "" if space.desired is None else f", desired class {space.desired!r}"
    limits = ", changes limited by size" if space.is_limited else ""
    rules = f", {len(space.rules)} rules" if space.rules else ""
    return f"ActionSpace: {free} of {len(space)} features may change{wanted}{limits}{rules}"


def as_text(space: ActionSpace) -> str:
    """Lines with columns of equal width.

    >>> from ract.data.actions import ActionSpace, Feature
    >>> print(ActionSpace([Feature("Age", "integer", "fixed"), Feature("Debt", change="decrease")]))
    ActionSpace: 1 of 2 features may change, changes limited by size
      Age   integer  fixed
      Debt           decrease
    """
    rows = [_row(feature) for feature in space]
    wide = [max((len(row[k]) for row in rows), default=0) for k in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)) for row in rows]
    return "\n".join([heading(space), *(f"  {line}".rstrip() for line in lines)])


def as_html(space: ActionSpace) -> str:
    """A table."""
    return html_table(heading(space), COLUMNS, [_row(feature) for feature in space])


def as_frame(space: ActionSpace) -> pd.DataFrame:
    """One row per column, as in the paper's feature tables."""
    rows = []
    for feature in space:
        kind = (feature.kind or "unknown").capitalize()
        ends = (kind, feature.lower, feature.upper)
        if feature.columns:
            ends = ("Binary", 0.0, 1.0)
        immutable = "No" if feature.actionable else "Yes"
        end = (immutable, _CONSTRAINTS[feature.change])
        rows += [(column, *ends, *end) for column in feature.table_columns]
    columns = ["feature", "type", "min", "max", "immutable", "constraint"]
    return pd.DataFrame(rows, columns=columns).astype({"min": float, "max": float})


def _row(feature: Feature) -> tuple[str, ...]:
    if feature.is_categorical:
        low, high = ", ".join(map(str, feature.categories)), ""
    else:
        low, high = ("" if end is None else f"{end:,g}" for end in (feature.lower, feature.upper))
    return feature.name, feature.kind or "", feature.change, low, high, _further_limits(feature)


def _further_limits(feature: Feature) -> str:
    """Limits on a change other than its direction and bounds."""
    moves = feature.actionable
    said = [
        ("not used by the model", not feature.use),
        (f"by {feature.max_change or 0:,g} at most", moves and feature.max_change is not None),
        (f"by {feature.max_relative or 0:.0%} at most", moves and feature.max_relative is not None),
        (f"steps of {feature.step or 0:,g}", moves and bool(feature.step)),
        (f"after {feature.delay:g} months", feature.delay > 0),
        (f"grows by {feature.drift:g} a {feature.per}", feature.drift != 0),
        (f"weight {feature.weight:g}", feature.weight != 1),
        ("a missing value may be supplied", feature.may_supply),
    ]
    return ", ".join(text for text, holds in said if holds)
