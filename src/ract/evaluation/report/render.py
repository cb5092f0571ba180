"""The templates of the audit page, and the ways in which they write numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from ract._utils.templates import Templates


def percent(share: Any) -> str:
    """A share as a percentage with one decimal."""
    return "-" if pd.isna(share) else f"{100 * float(share):.1f}%"


def points(share: Any) -> str:
    """A difference of shares in percentage points."""
    return "-" if pd.isna(share) else f"{100 * float(share):+.1f}"


def short(value: Any) -> str:
    """A cost or budget with three digits."""
    if pd.isna(value):
        return "-"
    return "no budget" if math.isinf(value) else f"{float(value):.3g}"


def thousands(count: int) -> str:
    """A count with separators."""
    return f"{count:,}"


def open_templates(folder: str | Path | None = None) -> Templates:
    """The templates of the page, those of a folder first."""
    filters = {"percent": percent, "points": points, "short": short, "thousands": thousands}
    return Templates("ract.evaluation.report", folder, filters=filters)
