"""Metrics of recourse, and a report of them overall and by group."""

from ract.metrics.lasting import LastingRecourse, lasting_recourse
from ract.metrics.report import recourse_report
from ract.metrics.scores import (
    causal_validity,
    mean_cost,
    outlier_score,
    plausibility,
    recourse_ratio,
    recourse_risk,
    sparsity,
    validity,
)

__all__ = [
    "LastingRecourse",
    "causal_validity",
    "lasting_recourse",
    "mean_cost",
    "outlier_score",
    "plausibility",
    "recourse_ratio",
    "recourse_report",
    "recourse_risk",
    "sparsity",
    "validity",
]
