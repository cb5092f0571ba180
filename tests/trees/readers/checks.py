"""Checks of what was read against the model's own library, and learners to check it on."""

import pickle

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline

from ract.trees.readers import read_model
from tests.trees.readers.tables import rows_near


def margins(model, rows):
    """Margins of the second class from the model's own library; None if it has only shares."""
    last = getattr(model, "best_estimator_", model)
    while isinstance(last, Pipeline):
        last = last[-1]
    library = type(last).__module__.split(".")[0]
    if library == "lightgbm":
        margin = model.predict(rows, raw_score=True)
        forest = last.boosting_type == "rf"  # divides only on the way to probabilities
        return margin / last.booster_.num_trees() if forest else margin
    if library == "xgboost":
        return model.predict(rows, output_margin=True)
    return model.decision_function(rows) if hasattr(last, "decision_function") else None


def wanted_of(k):
    """Which classes the learner of a number is asked about: the first about both, then one each.

    Where steps come before a learner, what is wanted of it changes no threshold.
    """
    return (1, 0) if k == 0 else (k % 2,)


def check(model, people, actions=None, *, seed=0, thresholds=(0.3,), wanted=(1, 0)):
    """Each desired class, the model's own rule and thresholds; returns the last reading."""
    rng = np.random.default_rng(seed)
    classes = model.classes_
    rows = None
    for k in wanted:
        read = read_model(model, people, actions, desired=classes[k])
        if rows is None:
            rows = rows_near(read, people, rng)
            predicted, probability = model.predict(rows), model.predict_proba(rows)
            margin = margins(model, rows)
        assert read.desired == classes[k] and list(read.classes) == list(classes)
        expected = probability[:, k] if margin is None else (margin if k else -margin)
        np.testing.assert_array_equal(read.score(rows), expected)
        np.testing.assert_array_equal(read.probability(rows), probability[:, k])
        np.testing.assert_array_equal(read.decide(rows), predicted == classes[k])
        assert set(np.unique(read.decide(rows))) == {False, True}
        attained = float(rng.choice(probability[probability[:, k] > 0, k]))
        for threshold in (*thresholds, attained) if thresholds else ():
            cut = read_model(model, people, actions, desired=classes[k], threshold=threshold)
            np.testing.assert_array_equal(cut.decide(rows), probability[:, k] >= threshold)
    again = pickle.loads(pickle.dumps(read))
    np.testing.assert_array_equal(again.probability(rows[:50]), read.probability(rows[:50]))
    return read


def learners():
    """One learner of each arithmetic: shares, doubles, singles; what is installed of them."""
    some = [
        RandomForestClassifier(n_estimators=6, max_depth=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=6, random_state=0),
    ]
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return some
    return [*some, XGBClassifier(n_estimators=6, n_jobs=1)]
