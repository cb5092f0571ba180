"""Names of version 0.2 and what stands in their place: for messages, model files and pickles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ract._utils.errors import InvalidSpec

# Parameters of estimators, old -> new.
RENAMED_PARAMETERS = {
    "max_cells": "max_bins",
    "calibration": "validation_fraction",
    "max_risk": "min_recourse",  # 1 minus the old value
    "monotonic_cst": "monotonic",
    "bound": "relabelling",
}

# Parameters of estimators that are gone, and what does their work now.
REMOVED_PARAMETERS = {
    "exact_costs": "cost=PercentileCost(exact=True)",
    "keep_reference": "save_model(..., keep_reference=people)",
    "max_auc_loss": "TunedRecourseClassifierCV(estimator, max_auc_loss=...)",
    "only_actionable": "a table of the features that may change",
    "min_samples_split": "min_samples_leaf",
    "min_weight_fraction_leaf": "min_samples_leaf",
    "min_impurity_decrease": "min_samples_leaf or max_depth",
    "bootstrap": "max_samples",
    "warm_start": "a fit with more trees",
    "votes_needed": "threshold=, approval_rate= or max_bad_rate=",
    "probability": "predict_proba, which gives the mean share of the leaves",
    "n_members": "a subclass with another n_members",
    "anchor_strength": "a subclass with another anchor_strength",
    "n_iter_no_change": "a subclass with another patience",
    "tol": "early_stopping",
}

# Names that moved without their module, old -> new; the old ones are found, with a warning.
MOVED_NAMES = {
    "ract.LastingCurve": "ract.recourse.LastingCurve",
    "ract.LastingWarning": "ract.recourse.LastingWarning",
    "ract.data_fingerprint": "ract.trees.data_fingerprint",
    "ract.guarantee_recourse": "ract.evaluation.guarantee_recourse",
    "ract.load_judge": "ract.io.load_judge",
    "ract.model_fingerprint": "ract.trees.model_fingerprint",
    "ract.notices.along_reasons": "ract.recourse.along_reasons",
    "ract.notices.few_changes": "ract.recourse.few_changes",
    "ract.reasons.reasons_report": "ract.evaluation.reasons_report",
    "ract.reasons_report": "ract.evaluation.reasons_report",
    "ract.tradeoff_curve": "ract.evaluation.tradeoff_curve",
}

# Other parameters and options that are gone, and what does their work now.
REMOVED_OPTIONS = {
    "Feature(per_month=)": "Feature(drift=); action files of 0.2 are read",
    "find_recourse(relations=)": "ActionSpace(rules=) or space.with_rules(...)",
    "certify(random_state=, none_sample=)": "the same options of verify",
    "import_model(exact_costs=)": "cost=PercentileCost(exact=True)",
    "import_model(keep_reference=)": "save_model(..., keep_reference=people)",
    "Ledger.offer(requests=)": "Ledger.offer(request=)",
    "Ledger(at=)": "Ledger(clock=)",
    "ract fit --max-risk": "ract fit --min-recourse, one minus the old value",
    "ract fit --votes-needed": "ract fit --threshold, --approval-rate or --max-bad-rate",
    "ract recourse --letters": "ract notice --without-reasons",
    "ract reproduce": "python -m experiments.reproduce, in a checkout",
    "ract benchmark": "python -m experiments.benchmark, in a checkout",
}

# What earlier versions had and this one has not, and what does its work now.
REMOVED_SINCE = {
    "cost='l2'": "cost='l1' or 'range'",
    "cost='mahalanobis'": "cost='l1' or 'percentile'",
    "norm='l2'": "norm='l1' or 'max'",
    "ract.costs.MahalanobisCost": "ScaledCost(norm='l1') or PercentileCost()",
    "ract.data.MahalanobisCost": "ScaledCost(norm='l1') or PercentileCost()",
    "ract.reasons.ReasonsReport": "what ract.evaluation.reasons_report returns",
    "ract.recourse.heuristic.live.LiveRegionSearch": "method='exact' or 'leaves'",
    "ract.recourse.solver.relations.LinearRelation": "ract.data.LinearRelation",
    "ract.recourse.solver.search.SolverSearch": "method='exact'",
    "method='live'": "method='leaves' or 'exact'",
    "method='solver'": "method='exact', which takes sums and rules between features",
}


def refuse_removed(name: str) -> None:
    """Say what does the work of something that is gone.

    Examples
    --------
    >>> refuse_removed("cost='l2'")
    Traceback (most recent call last):
    ract._utils.errors.InvalidSpec: cost='l2' is gone; in its place: cost='l1' or 'range'.
    """
    if name in REMOVED_SINCE:
        raise InvalidSpec(f"{name} is gone; in its place: {REMOVED_SINCE[name]}.")


def refuse_old_parameters(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Say by which name a parameter of version 0.2 goes today.

    Examples
    --------
    >>> refuse_old_parameters("RecourseTreeClassifier", ["max_cells"], ["max_bins"])
    Traceback (most recent call last):
    TypeError: RecourseTreeClassifier has no parameter 'max_cells' any more; it is max_bins now.
    """
    known = set(known)
    for name in given:
        if name in known:
            continue
        if name in RENAMED_PARAMETERS:
            new, more = RENAMED_PARAMETERS[name], ""
            if name == "max_risk":
                more = ", one minus the old value"
            raise TypeError(f"{owner} has no parameter {name!r} any more; it is {new} now{more}.")
        if name in REMOVED_PARAMETERS:
            raise TypeError(
                f"{owner} has no parameter {name!r} any more; in its place: "
                f"{REMOVED_PARAMETERS[name]}."
            )


def current_parameters(old: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Parameters of a stored estimator by their names of today.

    Those of version 0.2 are told by ``max_cells``. What means nothing any more is left out.

    Examples
    --------
    >>> current_parameters({"max_cells": 64, "max_risk": 0.1}, ["max_bins", "min_recourse"])
    {'max_bins': 64, 'min_recourse': 0.9}
    """
    known = set(known)
    if "max_cells" not in old:
        return {name: value for name, value in old.items() if name in known}
    # Then the goal of a weight that was searched for, which is another thing today.
    given = {name: value for name, value in old.items() if name != "min_recourse"}
    if given.get("recourse_weight") == "auto":
        del given["recourse_weight"]
    if given.get("max_risk") is not None:
        given["max_risk"] = round(1 - given["max_risk"], 12)
    if "relabelling" in given and given.get("confidence") is not None:
        given["relabelling"] = given.pop("bound", "sequence")
    given.pop("bound", None)
    renamed = {RENAMED_PARAMETERS.get(name, name): value for name, value in given.items()}
    return {name: value for name, value in renamed.items() if name in known}
