"""What is measured of models: reports, trade-offs, guarantees, and exported forms."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from tests.pins.loans import as_text, fitted, near, opened, people, table
from tests.pins.names import (
    QUIET,
    guarantee_recourse,
    model_fingerprint,
    reasons_report,
    recourse_report,
    to_json,
    to_sklearn,
    tradeoff_curve,
)


def _rounded(frame: pd.DataFrame) -> dict[str, list[object]]:
    numbers = frame.select_dtypes("number").columns
    plain = frame.assign(**{name: near(frame[name], 9) for name in numbers}).reset_index()
    return {str(name): plain[name].astype(object).tolist() for name in plain}


def report_pin(_: Path) -> str:
    """Recourse and reasons of people, by group, to nine digits."""
    rows, given = people(), {"groups": "Education"}
    found = reasons_report(opened("forest"), rows, **given, **QUIET).to_frame()
    metrics = recourse_report(opened("forest"), rows, **given, **QUIET)
    return as_text({"recourse": _rounded(metrics), "reasons": _rounded(found)})


def tradeoff_pin(_: Path) -> str:
    """A curve over weights, by cross-validation, to nine digits."""
    rows = table("loans")
    target = rows.pop("Decision")
    curve = tradeoff_curve(fitted("tree"), rows, target, values=(0.0, 0.1, 1.0), cv=3, n_jobs=1)
    return as_text({"curve": _rounded(curve.to_frame()), "text": str(curve)})


def guarantee_pin(_: Path) -> str:
    """A forest whose votes are lowered until recourse is guaranteed."""
    rows = table("many").drop(columns="Decision").tail(300)
    given = guarantee_recourse(opened("forest"), rows, 0.05, 0.9, time_limit=None, n_jobs=1)
    return as_text({"text": str(given), "model": model_fingerprint(given.model)})


def export_pin(_: Path) -> str:
    """Exported models: a digest of the JSON, and what the scikit-learn form decides."""
    record = {}
    for name in ("tree", "forest", "boosting", "boosting-plain"):
        written = to_json(opened(name)) | {"ract": "0.2.0"}  # whichever version writes it
        text = written if isinstance(written, str) else as_text(written)
        record[name] = {
            "json": hashlib.sha256(text.encode()).hexdigest(),
            "scikit-learn": to_sklearn(opened(name)).predict(people()),
        }
    return as_text(record)
