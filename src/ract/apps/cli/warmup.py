"""``ract warmup``: compile everything now, so that no one waits for it later."""

from __future__ import annotations

from time import perf_counter

from ract.apps.cli.messages import print_summary


def warmup(json: bool = False) -> None:
    """Compile everything now, for container images.

    Compiled code is kept in NUMBA_CACHE_DIR if that is set, else beside the package, in the
    user's cache or in the temporary directory: the first that this user can write.

    Example: ract warmup
    """
    start = perf_counter()
    _train_and_search()
    seconds = perf_counter() - start
    sentence = f"Everything is compiled ({seconds:.0f} s)."
    print_summary({"seconds": round(seconds, 1)}, sentence, as_json=json)


def _train_and_search() -> None:
    """Everything that compiles, on a few people."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    from ract import (
        ActionSpace,
        Feature,
        RecourseBoostingClassifier,
        RecourseForestClassifier,
        RecourseTreeClassifier,
        find_recourse,
    )
    from ract.data.datasets import load_loans

    loans = load_loans(400)
    X, y, few = loans.frame, loans.target, loans.frame.head(40)
    for criterion in ("gini", "entropy", "error"):
        tree = RecourseTreeClassifier(loans.actions, criterion=criterion, max_depth=3).fit(X, y)
    tree.recourse(few)
    tree.recourse_risk(X)
    RecourseTreeClassifier(
        loans.actions, max_depth=3, min_recourse=0.7, confidence=0.9, random_state=0
    ).fit(X, y)
    forest = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
    forest.fit(X, y).predict_proba(X)
    forest.recourse(few, n_alternatives=1, margin=0.05, ranges=True)
    forest.recourse(few, max_changes=1)
    forest.reasons(few, reference=X)
    forest.recourse(few, method="leaves", explain=False, reference=X)
    RecourseForestClassifier(
        loans.actions, n_estimators=3, monotonic={"Income": 1}, max_features=None
    ).fit(X, y)
    for weight in (0.0, 0.25):
        booster = RecourseBoostingClassifier(loans.actions, max_iter=3, recourse_weight=weight)
        booster.fit(X, y).predict_proba(X)
    numbers = X[["Age", "Income", "Debt", "Savings"]]
    space = ActionSpace(map(Feature, numbers.columns))
    for model in (
        RandomForestClassifier(5, max_depth=3, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
    ):
        model.fit(numbers, y)
        find_recourse(model, numbers.head(40), actions=space, reference=numbers, budget=0.3)
