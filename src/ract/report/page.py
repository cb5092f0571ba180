"""The audit as one HTML page: no script, no font, no image from elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ract.report import charts
from ract.report.render import percent, render, short

if TYPE_CHECKING:
    from ract.report.audit import Audit


def page(audit: Audit, templates: str | Path | None = None) -> str:
    """The whole page, from our templates or those of a folder (``docs/audit.md`` lists them)."""
    certificate = audit.certificate
    metrics = {
        str(name): _rows(of_metric)
        for name, of_metric in audit.metrics.groupby("metric", sort=False)
    }
    costs = audit.costs[np.isfinite(audit.costs) & (audit.costs > 0)]
    values = {
        "title": str(audit.title),
        "date": certificate.date[:16].replace("T", " "),
        "version": certificate.version,
        "n_people": audit.n_people,
        "n_searched": audit.n_searched,
        "everyone": {name: rows[0]["value"] for name, rows in metrics.items()},
        "statement": certificate.describe(),
        "overlap": certificate.overlap,
        "groups": {name: rows[1:] for name, rows in metrics.items() if len(rows) > 1},
        "n_planned": len(costs),
        "median_cost": float(np.median(costs)) if len(costs) else math.nan,
        "changes": _rows(audit.changes),
        "n_without": int((~(audit.costs <= audit.budget)).sum()),
        "n_explained": audit.n_explained,
        "held": _rows(audit.held),
        "without": _rows(audit.without),
        "model": {
            **audit.model,
            "Budget": "none" if math.isinf(audit.budget) else f"{audit.budget:g}",
            "Model fingerprint": certificate.model,
            "Data fingerprint": certificate.data,
        },
        "record": json.dumps(certificate.to_dict(), indent=2),
    }
    return render("audit.html", values | {"charts": _charts(audit, values, costs)}, templates)


def _charts(audit: Audit, values: dict[str, Any], costs: np.ndarray) -> dict[str, Any]:
    """The drawings; None where there is nothing to draw."""
    drawn: dict[str, Any] = dict.fromkeys(("groups", "costs", "budgets", "changes"))
    if rows := values["groups"].get("recourse ratio"):
        drawn["groups"] = charts.intervals(
            "Share of people with recourse, by group",
            [(row["group"], row["value"], row["low"], row["high"]) for row in rows],
            values["everyone"]["recourse ratio"],
        )
    if len(costs):
        drawn["costs"] = charts.histogram("What the cheapest plans cost", costs, audit.budget)
        drawn["budgets"] = charts.steps(
            "Share of people with recourse at each budget", audit.costs, audit.budget
        )
    if rows := values["changes"]:
        drawn["changes"] = charts.bars(
            "Features that people are asked to change",
            [
                (row["feature"], row["share"],
                 f"{percent(row['share'])}, effort {short(row['effort'])}")
                for row in rows
            ],
        )  # fmt: skip
    return drawn


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as numbers and plain text, also where a table holds text that calls itself markup."""
    return [
        {str(k): v if isinstance(v, (int, float, np.number)) else str(v) for k, v in row.items()}
        for row in frame.to_dict("records")
    ]
