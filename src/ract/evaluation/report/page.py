"""The audit as one HTML page: no script, no font, no image from elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ract.data.group_sums import EVERYONE
from ract.evaluation.report import charts
from ract.evaluation.report.render import open_templates, percent, short
from ract.models.verdicts import VERDICTS

if TYPE_CHECKING:
    from ract.evaluation.lending import Book
    from ract.evaluation.metrics.sendable import Sendable
    from ract.evaluation.report.audit import Audit


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
        "lasting": None
        if audit.lasting is None
        else {
            "statement": str(audit.lasting),
            "points": _rows(audit.lasting.to_frame()),
            "confidence": audit.lasting.confidence,
        },
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
        drawn["changes"] = charts.bars(
            "Features that people are asked to change",
            [
                (row["feature"], row["share"],
                 f"{percent(row['share'])}, effort {short(row['effort'])}")
                for row in rows
            ],
        )  # fmt: skip
    if rows := [row for row in values["verdicts"] if row["refused"]]:
        drawn["earned"] = charts.stacked(
            "Refused people by what their plans are",
            VERDICTS,
            [
                (row["group"], [row[name] / row["refused"] for name in VERDICTS], row["refused"])
                for row in rows
            ],
        )
    if audit.lasting is not None and audit.lasting.points:
        drawn["lasting"] = charts.intervals(
            "Share of plans that last, by their strength",
            [
                (f"strength {point.strength:g}" if point.strength else "what is needed",
                 point.last / point.plans, audit.lasting.at_least(point), 1.0)
                for point in audit.lasting.points
                if point.plans
            ],
            0.9 if audit.lasting.lasting is None else audit.lasting.lasting,
            "share of plans that last; dashed: what was asked for",
        )  # fmt: skip
    if values["book"]:
        rows = [row for row in values["book"]["rows"] if row["group"] == EVERYONE]
        drawn["book"] = charts.intervals(
            "Bad rate of the accepted, today and after plans",
            [(row["pool"], row["bad rate"], row["bad rate low"], row["bad rate high"])
             for row in rows],
            rows[0]["bad rate"],
            "bad rate of the accepted; dashed: today",
        )  # fmt: skip
    return drawn


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
    own = {str(name): _rows(rows) for name, rows in audit.without.groupby("obstacle", sort=False)}
    known = [{**row, "held": own.pop(row["features"], [])} for row in _rows(audit.held)]
    return known + [
        {"features": name, "people": len(rows), "median budget": math.nan, "held": rows}
        for name, rows in own.items()
    ]


def _median(planned: pd.DataFrame) -> float:
    """The cost in the middle, between the two in the middle of an even number of people."""
    end = planned["people"].cumsum().to_numpy()
    if not len(end):
        return math.nan
    middle = np.searchsorted(end, [(end[-1] - 1) // 2, end[-1] // 2], side="right")
    return float(planned["cost"].to_numpy()[middle].mean())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as numbers and plain text, also where a table holds text that calls itself markup."""
    return [
        {str(k): v if _is_number(v) else str(v) for k, v in row.items()}
        for row in frame.to_dict("records")
    ]
