"""Names of the package under test, and parameters of its models: renames are made here alone."""

from __future__ import annotations

from pathlib import Path

from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    TunedRecourseClassifierCV,
    __version__,
    certify,
    find_recourse,
    load_loans,
    load_model,
    recourse_status,
    verify,
)
from ract.apps.cli import app
from ract.apps.ledger import Ledger, check
from ract.apps.web import App, Settings
from ract.data import fetch_bail, fetch_compas, fetch_credit, fetch_fico
from ract.evaluation import (
    export_text,
    guarantee_recourse,
    reasons_report,
    recourse_report,
    tradeoff_curve,
)
from ract.io import load_judge, to_json, to_sklearn
from ract.notices import Notices, NoticeSettings
from ract.recourse import along_reasons, few_changes
from ract.trees import data_fingerprint, model_fingerprint

__all__ = [
    "EXPECTED",
    "FILES",
    "HERE",
    "MODELS",
    "PICKLES",
    "QUIET",
    "REAL_MODELS",
    "REAL_TABLES",
    "SEARCHES",
    "ActionSpace",
    "App",
    "Ledger",
    "NoticeSettings",
    "Notices",
    "RecourseTreeClassifier",
    "Settings",
    "__version__",
    "along_reasons",
    "app",
    "certify",
    "check",
    "data_fingerprint",
    "export_text",
    "few_changes",
    "find_recourse",
    "guarantee_recourse",
    "load_judge",
    "load_loans",
    "load_model",
    "model_fingerprint",
    "reasons_report",
    "recourse_report",
    "recourse_status",
    "to_json",
    "to_sklearn",
    "tradeoff_curve",
    "verify",
]


class TunedForest:
    """A forest whose weight is searched for, as 0.2 did by itself."""

    def __init__(self, actions, min_recourse, **parameters):
        forest = RecourseForestClassifier(actions, **parameters)
        self.tuned = TunedRecourseClassifierCV(forest, min_recourse=min_recourse)

    def fit(self, rows, target):
        return self.tuned.fit(rows, target).estimator_


class TwoMembers(RecourseBoostingClassifier):
    """A booster of two members, which was a parameter."""

    n_members = 2


# Models and their parameters: the class, the table that it is fitted on, the rest.
MODELS = {
    "tree": (RecourseTreeClassifier, "loans", {"max_depth": 4}),
    "tree-relabelled": (
        RecourseTreeClassifier, "loans",
        {"max_depth": 5, "criterion": "entropy", "recourse_weight": 0.0, "min_recourse": 0.8,
         "confidence": 0.9, "min_samples_leaf": 5},
    ),
    "tree-error": (
        RecourseTreeClassifier, "loans",
        {"max_depth": 3, "criterion": "error", "class_weight": "balanced", "cost": "mad",
         "budget": 2.0, "recourse_weight": 0.3},
    ),
    "forest": (
        RecourseForestClassifier, "loans",
        {"n_estimators": 25, "recourse_weight": 0.02, "min_samples_leaf": 8, "oob_score": True},
    ),
    "forest-lasting": (
        RecourseForestClassifier, "many", {"n_estimators": 25, "lasting": 0.6},
    ),
    "forest-auto": (
        TunedForest, "loans",
        {"n_estimators": 7, "min_recourse": 0.9, "monotonic": {"Income": 1, "Debt": -1},
         "max_bins": 32},
    ),
    "forest-missing": (RecourseForestClassifier, "holes", {"n_estimators": 9}),
    "boosting": (
        TwoMembers, "loans",
        {"max_iter": 12, "n_replicates": 3, "recourse_weight": 0.05, "min_samples_leaf": 20},
    ),
    "boosting-plain": (
        RecourseBoostingClassifier, "loans",
        {"max_iter": 10, "recourse_weight": 0.0, "max_leaf_nodes": 8, "subsample": 0.7},
    ),
    "boosting-missing": (
        RecourseBoostingClassifier, "holes", {"max_iter": 8, "n_replicates": 0},
    ),
}  # fmt: skip
REAL_MODELS = {
    "tree": (RecourseTreeClassifier, {"max_depth": 6}),
    "forest": (RecourseForestClassifier, {"n_estimators": 10}),
    "boosting": (
        TwoMembers, {"max_iter": 15, "n_replicates": 2},
    ),
}  # fmt: skip
REAL_TABLES = {
    "fico": fetch_fico, "compas": fetch_compas, "credit": fetch_credit, "bail": fetch_bail,
}  # fmt: skip
# Limits that no clock decides, so that a busy machine gives the same answers.
QUIET = {"time_limit": None, "max_nodes": 20_000, "n_jobs": 1}
SEARCHES = {
    "cheapest": {},
    "budget": {"budget": 0.1},
    "no-budget": {"budget": float("inf")},
    "few-changes": {"max_changes": 1},
    "alternatives": {"n_alternatives": 2},
    "margin": {"margin": 0.2},
    "ranges": {"ranges": True},
    "at-least": {"at_least": True},
    "strength": {"strength": 0.8},
    "strongest": {"strength": "most"},
    "threshold": {"threshold": 0.7},
    "only-features": {"restricted": {"features": ["Income", "Debt", "Savings"]}},
    "forbidden": {"restricted": {"forbidden": ["LoanAmount", "Purpose"]}},
    "overrides": {"overrides": {"P-02": {"Income": "fixed"}, "P-04": {"LoanAmount": "decrease"}}},
    "other-cost": {"cost": "range", "budget": 0.5},
    "effects": {
        "effects": {("Income", "Savings"): 0.3, ("Income", "Debt"): 0.15}, "max_nodes": None,
    },
    "plausible": {"plausibility": "local_outlier_factor", "max_nodes": None},
    "added-cost": {"cost": "l1", "time_limit": 60.0, "max_nodes": None},
    "leaves": {"method": "leaves", "max_nodes": None},
    "relations": {"rules": ["Debt <= Income"], "time_limit": 60.0, "max_nodes": None},
}  # fmt: skip

HERE = Path(__file__).parents[1] / "data" / "v02"
EXPECTED = HERE / "expected"
FILES = (*MODELS, "judged", "imported")
PICKLES = ("tree", "forest", "boosting", "forest-missing", "actions")
