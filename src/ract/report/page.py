"""The audit as one HTML page: no script, no font, no image from elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ract.report import charts

if TYPE_CHECKING:
    from ract.report.audit import Audit

MOST_LISTED = 50

STYLE = """
:root { color-scheme: light; --ink: #1f2a30; --quiet: #66737a; --line: #2f5d8a; --good: #4c9f70;
  --warn: #b26a00; --edge: #d9dee1; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff; margin: 0 auto;
  max-width: 860px; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .25rem; } h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; }
p { margin: .5rem 0; } .quiet { color: var(--quiet); font-size: .92rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .75rem;
  margin: 1.25rem 0; }
.card { border: 1px solid var(--edge); border-radius: 8px; padding: .75rem 1rem; }
.card b { display: block; font-size: 1.6rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--quiet); font-size: .85rem; }
.statement { border-left: 4px solid var(--good); padding: .5rem 1rem; background: #f4f8f5;
  white-space: pre-line; }
.statement.warn { border-color: var(--warn); background: #fdf6ea; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .75rem 0; }
th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid var(--edge);
  vertical-align: top; overflow-wrap: break-word; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { color: var(--quiet); font-size: .92rem; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .bar { fill: var(--line); } svg .dot { fill: var(--line); }
svg .line { stroke: var(--line); stroke-width: 2; fill: none; }
svg .axis, svg .grid { stroke: var(--edge); }
svg .all { stroke: var(--quiet); stroke-dasharray: 4; }
svg .budget { stroke: var(--warn); stroke-width: 1.5; stroke-dasharray: 5 3; }
pre { background: #f6f7f8; padding: 1rem; overflow: auto; font-size: .8rem; }
@media print { .scroll { overflow: visible; } body { max-width: none; padding: 0; font-size: 11pt; }
  h2 { break-after: avoid; } figure, table, .card, .statement { break-inside: avoid; }
  details { display: none; } }
"""


def page(audit: Audit) -> str:
    """The whole page."""
    sections = [
        _head(audit),
        _cards(audit),
        _statement(audit),
        _groups(audit),
        _costs(audit),
        _changes(audit),
        _without(audit),
        _model(audit),
        _reading(audit),
        _record(audit),
    ]
    body = "\n".join(section for section in sections if section)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(audit.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(audit: Audit) -> str:
    date = audit.certificate.date[:16].replace("T", " ")
    return (
        f"<header><h1>{escape(audit.title)}</h1>"
        f'<p class="quiet">{audit.people:,} people, {escape(date)} UTC, ract '
        f"{escape(audit.certificate.version)}</p></header>"
    )


def _cards(audit: Audit) -> str:
    everyone = audit.metrics[audit.metrics["group"] == "everyone"].set_index("metric")
    names = {
        "accuracy": "accuracy", "AUC": "AUC", "accepted": "are accepted",
        "recourse ratio": "are accepted or have a plan", "mean cost": "mean cost of a plan",
    }  # fmt: skip
    cards = []
    for metric, told in names.items():
        if metric in everyone.index:
            value = float(everyone.loc[metric, "value"])  # type: ignore[arg-type]
            share = metric in ("accepted", "recourse ratio", "accuracy")
            shown = _percent(value) if share else _short(value)
            cards.append(f'<div class="card"><b>{shown}</b><span>{told}</span></div>')
    return f'<div class="cards">{"".join(cards)}</div>'


def _statement(audit: Audit) -> str:
    certificate = audit.certificate
    told = f'<p class="statement">{escape(certificate.describe())}</p>'
    if certificate.overlap:
        told += (
            f'<p class="statement warn">{certificate.overlap:,} of these people are equal to '
            "people of the training table. Accuracy and bounds are for people who had no part in "
            "training.</p>"
        )
    elif certificate.overlap is None:
        told += (
            '<p class="quiet">Whether these people had a part in training is not known here; the '
            "bound holds if they had none.</p>"
        )
    return f"<section><h2>How many people are without recourse</h2>{told}</section>"


def _groups(audit: Audit) -> str:
    rows = audit.metrics[audit.metrics["metric"] == "recourse ratio"]
    if len(rows) < 2:
        return ""
    everyone, groups = float(rows["value"].iloc[0]), rows.iloc[1:]
    drawn = [
        (str(row["group"]), float(row["value"]), float(row["low"]), float(row["high"]))
        for _, row in groups.iterrows()
    ]
    chart = charts.intervals("Share of people with recourse, by group", drawn, everyone)
    table = _table(
        ["group", "people", "recourse ratio", "interval", "difference to others", "interval"],
        (
            [
                str(row["group"]), f"{row['people']:,}", _percent(row["value"]),
                f"{_percent(row['low'])} to {_percent(row['high'])}",
                _points(row["difference"]),
                f"{_points(row['difference low'])} to {_points(row['difference high'])}",
            ]
            for _, row in groups.iterrows()
        ),
        numbers=range(1, 6),
    )  # fmt: skip
    other = []
    for metric in ("accuracy", "accepted", "mean cost"):
        of_metric = audit.metrics[audit.metrics["metric"] == metric].iloc[1:]
        if len(of_metric):
            show = _short if metric == "mean cost" else _percent
            told = ", ".join(
                f"{row['group']} {show(row['value'])}" for _, row in of_metric.iterrows()
            )
            other.append(f"<li>{escape(metric)}: {escape(told)}</li>")
    return (
        f"<section><h2>By group</h2><figure>{chart}<figcaption>Share of people who are accepted "
        "or have a plan within the budget, with intervals. Bounds of the certificate are stricter: "
        f"they hold for all groups together.</figcaption></figure>{table}"
        f"<ul>{''.join(other)}</ul></section>"
    )


def _costs(audit: Audit) -> str:
    planned = audit.costs[np.isfinite(audit.costs) & (audit.costs > 0)]
    if not len(planned):
        return ""
    histogram = charts.histogram("What the cheapest plans cost", planned, audit.budget)
    steps = charts.steps("Share of people with recourse at each budget", audit.costs, audit.budget)
    return (
        "<section><h2>What it costs people</h2>"
        f"<figure>{histogram}<figcaption>Cost of the cheapest plan of each refused person who has "
        f"one, at any cost ({len(planned):,} people; median {_short(float(np.median(planned)))})."
        f"</figcaption></figure><figure>{steps}<figcaption>Share of people who are accepted or "
        "have a plan, at each budget.</figcaption></figure></section>"
    )


def _changes(audit: Audit) -> str:
    if not len(audit.changes):
        return ""
    rows = [
        (
            str(row["feature"]),
            float(row["share"]),
            f"{_percent(row['share'])}, effort {_short(row['effort'])}",
        )
        for _, row in audit.changes.iterrows()
    ]
    chart = charts.bars("Features that people are asked to change", rows)
    return (
        f"<section><h2>What people are asked to change</h2><figure>{chart}<figcaption>Share of "
        "plans within the budget that change a feature, and the mean effort of doing so."
        "</figcaption></figure></section>"
    )


def _without(audit: Audit) -> str:
    n = int((~(audit.costs <= audit.budget)).sum())
    if not n:
        return (
            "<section><h2>People without recourse</h2><p>Nobody: each of the "
            f"{audit.searched:,} people is accepted or has a plan within the budget.</p></section>"
        )
    told = f"<p>{n:,} of {audit.searched:,} people have no plan within the budget."
    if n > audit.explained:
        told += f" The first {audit.explained:,} of them were asked why."
    held = ""
    if len(audit.held):
        held = "<h3>What holds them</h3>" + _table(
            ["would have a plan if these could change", "people", "or with a budget of (median)"],
            (
                [str(row["features"]), f"{row['people']:,}", _short(row["median budget"])]
                for _, row in audit.held.iterrows()
            ),
            numbers=(1, 2),
        )
    listed = audit.without.head(MOST_LISTED)
    table = _table(
        ["person", "why"], ([str(row["person"]), row["why"]] for _, row in listed.iterrows())
    )
    more = len(audit.without) - len(listed)
    rest = f'<p class="quiet">and {more:,} more.</p>' if more > 0 else ""
    return (
        f"<section><h2>People without recourse</h2>{told}</p>{held}<h3>Person by person</h3>{table}"
        f"{rest}</section>"
    )


def _model(audit: Audit) -> str:
    certificate = audit.certificate
    told = {
        **audit.model,
        "Budget": "none" if math.isinf(audit.budget) else f"{audit.budget:g}",
        "Model fingerprint": certificate.model,
        "Data fingerprint": certificate.data,
    }
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in told.items())
    return f"<section><h2>Model and data</h2><dl>{items}</dl></section>"


def _reading(audit: Audit) -> str:
    searched = ""
    if audit.searched < audit.people:
        searched = (
            f"<li>Plans, costs and groups' figures are from {audit.searched:,} of the "
            f"{audit.people:,} people, spread evenly; the bound at the top is from all.</li>"
        )
    return (
        "<section><h2>How to read this</h2><ul>"
        "<li>A plan is a change of features, within what the action space allows, after which "
        "this model decides otherwise. It is no promise about the world: features that follow from "
        "others, or a model that is changed later, are not counted in.</li>"
        "<li>Recourse is no licence to refuse: that people could change something does not make "
        "it right to ask it of them. What is fixed, and what a change costs, is a choice that was "
        "made when the action space was written; look at it.</li>"
        "<li>The bound holds for people drawn like these, over repeated draws, with the stated "
        f"confidence.</li>{searched}</ul></section>"
    )


def _record(audit: Audit) -> str:
    record = json.dumps(audit.certificate.to_dict(), indent=2)
    return (
        '<section><h2>Certificate</h2><p class="quiet">The record behind the statement above; '
        "<code>ract.verify</code> checks it again.</p>"
        f"<details><summary>Show the record</summary><pre>{escape(record)}</pre></details>"
        "</section>"
    )


def _table(head: list[str], rows: Iterable[list[str]], numbers: Iterable[int] = ()) -> str:
    right = set(numbers)

    def cells(row: list[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=number' if k in right else ''}>{escape(cell)}</{tag}>"
            for k, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{cells(head, 'th')}</tr></thead>"
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'


def _percent(share: Any) -> str:
    return "-" if pd.isna(share) else f"{100 * float(share):.1f}%"


def _points(share: Any) -> str:
    return "-" if pd.isna(share) else f"{100 * float(share):+.1f} points"


def _short(value: Any) -> str:
    if pd.isna(value):
        return "-"
    return "no budget" if math.isinf(value) else f"{float(value):.3g}"
