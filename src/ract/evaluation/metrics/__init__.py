"""Metrics of recourse, and a report of them overall and by group."""

from ract.evaluation.metrics.report import recourse_report
from ract.evaluation.metrics.scores import (
    causal_validity,
    mean_cost,
    outlier_score,
    plausibility,
    recourse_ratio,
    recourse_risk,
    sparsity,
    validity,
)
from ract.evaluation.metrics.sendable import Sendable, sendable
from ract.recourse.lasting import LastingRecourse, lasting_recourse

__all__ = [
    "LastingRecourse",
    "Sendable",
    "causal_validity",
    "lasting_recourse",
    "mean_cost",
    "outlier_score",
    "plausibility",
    "recourse_ratio",
    "recourse_report",
    "recourse_risk",
    "sendable",
    "sparsity",
    "validity",
]
