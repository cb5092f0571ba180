"""The audit as one HTML page: no script, no font, no image from elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ract._utils.templates import Templates
from ract._utils.validation import is_number
from ract.data.groups import EVERYONE
from ract.evaluation.report import charts
from ract.models.verdicts import VERDICTS

if TYPE_CHECKING:
    from ract.evaluation.lending import Book
    from ract.evaluation.metrics.sendable import Sendable
    from ract.evaluation.report.audit import Audit
    from ract.recourse.calibration import LastingCurve


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return "-" if pd.isna(share) else f"{100 * float(share):.1f}%"


def points(share: float) -> str:
    """A difference of shares in percentage points."""
    return "-" if pd.isna(share) else f"{100 * float(share):+.1f}"


def short(value: float) -> str:
    """A cost or budget with three digits."""
    if pd.isna(value):
        return "-"
    return "no budget" if math.isinf(value) else f"{float(value):.3g}"


def open_templates(folder: str | Path | None = None) -> Templates:
    """The templates of the page, those of a folder first."""
    filters = {"percent": percent, "points": points, "short": short, "thousands": "{:,}".format}
    return Templates("ract.evaluation.report", folder, filters=filters)


def page(audit: Audit, templates: str | Path | None = None) -> str:
    """The whole page, from our templates or those of a folder (``docs/audit.md`` lists them)."""
    certificate = audit.certificate
    metrics = {
        str(name): _rows(of_metric)
        for name, of_metric in audit.metrics.groupby("metric", sort=False)
    }
    planned = audit.costs[np.isfinite(audit.costs["cost"]) & (audit.costs["cost"] > 0)]
    values = {
        "title": str(audit.title),
        "date": certificate.date[:16].replace("T", " "),
        "version": certificate.version,
        "n_people": audit.n_people,
        "n_searched": audit.n_searched,
        "everyone": {name: rows[0]["value"] for name, rows in metrics.items()},
        "sendable": None if audit.sendable is None else _sendable(audit.sendable),
        "statement": certificate.describe(),
        "overlap": certificate.overlap,
        "groups": {name: rows[1:] for name, rows in metrics.items() if len(rows) > 1},
        "n_planned": int(planned["people"].sum()),
        "median_cost": _median(planned),
        "changes": _rows(audit.changes),
        "n_without": audit.n_without,
        "n_supplied": audit.n_supplied,
        "n_explained": audit.n_explained,
        "held": _rows(audit.held),
        "without": _rows(audit.without),
        "by_obstacle": _by_obstacle(audit),
        "verdicts": [] if audit.verdicts is None else _rows(audit.verdicts),
        "judged": audit.judged,
        "lasting": None if audit.lasting is None else _lasting(audit.lasting),
        "book": None if audit.book is None else _book(audit.book),
        "promised": [] if audit.promised is None else _rows(audit.promised),
        "model": {
            **audit.model,
            "Budget": "none" if math.isinf(audit.budget) else f"{audit.budget:g}",
            "Model fingerprint": certificate.model,
            "Data fingerprint": certificate.data,
        },
        "record": json.dumps(certificate.to_dict(), indent=2),
    }
    values["charts"] = _charts(audit, values, planned)
    return open_templates(templates).render("audit.html", values)


def _charts(audit: Audit, values: dict[str, Any], planned: pd.DataFrame) -> dict[str, Any]:
    """The drawings; None where there is nothing to draw."""
    drawn: dict[str, Any] = dict.fromkeys(
        ("groups", "costs", "budgets", "changes", "earned", "lasting", "book")
    )
    if rows := values["groups"].get("recourse ratio"):
        drawn["groups"] = charts.intervals(
            "Share of people with recourse, by group",
            [(row["group"], row["value"], row["low"], row["high"]) for row in rows],
            values["everyone"]["recourse ratio"],
            "share of people with recourse; dashed: everyone",
        )
    if len(planned):
        (costs, people), (all_costs, everyone) = (
            (table["cost"].to_numpy(), table["people"].to_numpy())
            for table in (planned, audit.costs)
        )
        drawn["costs"] = charts.histogram(
            "What the cheapest plans cost", costs, audit.budget, people
        )
        drawn["budgets"] = charts.steps(
            "Share of people with recourse at each budget", all_costs, audit.budget, everyone
        )
    if rows := values["changes"]:
        bars = [
            (
                row["feature"],
                row["share"],
                f"{percent(row['share'])}, effort {short(row['effort'])}",
            )
            for row in rows
        ]
        drawn["changes"] = charts.bars("Features that people are asked to change", bars)
    if rows := [row for row in values["verdicts"] if row["refused"]]:
        parts = [
            (row["group"], [row[name] / row["refused"] for name in VERDICTS], row["refused"])
            for row in rows
        ]
        drawn["earned"] = charts.stacked("Refused people by what their plans are", VERDICTS, parts)
    if (lasting := audit.lasting) is not None and lasting.points:
        shares = [
            (
                f"strength {point.strength:g}" if point.strength else "what is needed",
                point.last / point.plans,
                lasting.at_least(point),
                1.0,
            )
            for point in lasting.points
            if point.plans
        ]
        drawn["lasting"] = charts.intervals(
            "Share of plans that last, by their strength",
            shares,
            0.9 if lasting.lasting is None else lasting.lasting,
            "share of plans that last; dashed: what was asked for",
        )
    if values["book"]:
        rows = [row for row in values["book"]["rows"] if row["group"] == EVERYONE]
        names = ("pool", "bad rate", "bad rate low", "bad rate high")
        drawn["book"] = charts.intervals(
            "Bad rate of the accepted, today and after plans",
            [tuple(row[name] for name in names) for row in rows],
            rows[0]["bad rate"],
            "bad rate of the accepted; dashed: today",
        )
    return drawn


def _lasting(lasting: LastingCurve) -> dict[str, Any]:
    """What is said of lasting plans, and the share that lasts by strength."""
    points = _rows(lasting.to_frame())
    return {"statement": str(lasting), "points": points, "confidence": lasting.confidence}


def _book(book: Book) -> dict[str, Any]:
    """Rows of the book, with groups that have a name, and the price of recourse."""
    return {"rows": _rows(book.table), "price": book.price, "confidence": book.confidence}


def _sendable(sent: Sendable) -> dict[str, Any]:
    """Shares by group and metric, and people by the checks that they fail."""
    shares = sent.metrics.pivot(index="group", columns="metric", values="value")
    refused = sent.metrics[sent.metrics["metric"] == "sendable"].set_index("group")["people"]
    table = shares.assign(refused=refused).loc[refused.index].reset_index()
    return {"checks": sent.checks, "groups": _rows(table), "failures": _rows(sent.failures())}


def _by_obstacle(audit: Audit) -> list[dict[str, Any]]:
    """What holds people, the most common first, each with the people whom it holds."""
    people = {
        str(name): _rows(rows) for name, rows in audit.without.groupby("obstacle", sort=False)
    }
    known = [{**row, "held": people.pop(row["features"], [])} for row in _rows(audit.held)]
    return known + [
        {"features": name, "people": len(rows), "median budget": math.nan, "held": rows}
        for name, rows in people.items()
    ]


def _median(planned: pd.DataFrame) -> float:
    """The cost in the middle, between the two in the middle of an even number of people."""
    end = planned["people"].cumsum().to_numpy()
    if not len(end):
        return math.nan
    middle = np.searchsorted(end, [(end[-1] - 1) // 2, end[-1] // 2], side="right")
    return float(planned["cost"].to_numpy()[middle].mean())


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as numbers and plain text, also where a table holds text that calls itself markup."""
    return [
        {str(k): v if is_number(v) else str(v) for k, v in row.items()}
        for row in frame.to_dict("records")
    ]
