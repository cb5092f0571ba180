"""Plans as a table with one row per change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ract.recourse.plan import Plan

# Values keep their own types: a whole number stays one, whoever else
# is in the table.
COLUMNS: dict[str, Any] = {
    "person": None,
    "plan": "int64",
    "feature": None,
    "from": object,
    "to": object,
    "goal": object,
    "low": float,
    "high": float,
    "effort": float,
    "cost": float,
    "strength": float,
    "lasting": float,
    "only supplied": bool,
    "status": None,
    "reason": None,
    "budget needed": float,
    "message": None,
}


def long_frame(plans: Iterable[Plan]) -> pd.DataFrame:
    """One row per change of each plan and of its alternatives."""
    rows = [
        (plan.person, rank, *row)
        for first in plans
        for rank, plan in enumerate((first, *first.alternatives))
        for row in _rows(plan)
    ]
    return frame_of(rows, COLUMNS)


def frame_of(rows: list[tuple[Any, ...]], columns: dict[str, Any]) -> pd.DataFrame:
    """Rows as a frame, with the columns and types that are given, even if there are none."""
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pd.DataFrame(
        {
            name: pd.Series(list(column), dtype=kind)
            for (name, kind), column in zip(columns.items(), values, strict=True)
        }
    )


def _rows(plan: Plan) -> list[tuple[Any, ...]]:
    reason = None if plan.has_recourse or plan.message else plan.describe()
    needed = np.nan if plan.obstacle is None else plan.obstacle.budget
    lasting = np.nan if plan.lasting is None else plan.lasting
    whole = (
        plan.cost, plan.strength, lasting, plan.only_supplied, plan.status, reason, needed,
        plan.message or None,
    )  # fmt: skip
    if not plan.changes:
        empty = (None, None, None, None, None, None, np.nan)
        return [(*empty, *whole)]
    return [
        (c.feature, c.before, c.after, c.goal, c.low, c.high, c.effort, *whole)
        for c in plan.changes
    ]
