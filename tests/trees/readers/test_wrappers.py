"""Calibrated models and models with a threshold of their own, decision by decision."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import RecourseTreeClassifier, import_model, load_model, save_model
from ract._utils.errors import InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.tables import NUMBERS, check_decisions, rows_near, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(8, max_depth=5, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, random_state=0),
}


def model_of(name):
    if name in MODELS:
        return MODELS[name]
    library = pytest.importorskip(name)
    if name == "lightgbm":
        return library.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1)
    return library.XGBClassifier(n_estimators=8, n_jobs=1)


@pytest.mark.parametrize("name", [*MODELS, "lightgbm", "xgboost"])
def test_calibrated_models(name, tmp_path):
    frame, y = table(0)
    frame, model = frame[NUMBERS], model_of(name)
    y = y if name == "xgboost" else np.array(["refused", "approved"])[y]
    whole = make_pipeline(MinMaxScaler(), model)
    for calibrated in (
        CalibratedClassifierCV(model, ensemble=False, cv=2),
        CalibratedClassifierCV(whole, method="isotonic", ensemble=False, cv=2),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(FrozenEstimator(model))),
    ):
        model.fit(StandardScaler().fit_transform(frame), y)
        read = check_decisions(calibrated.fit(frame, y), frame)
        imported = import_model(calibrated, frame, threshold=0.4)
        save_model(imported, tmp_path / "model.ract")
        rows = rows_near(read, frame, np.random.default_rng(1), 500)
        again = load_model(tmp_path / "model.ract")
        expected = calibrated.predict_proba(rows)[:, 1]
        np.testing.assert_array_equal(again.predict(rows) == again.classes_[1], expected >= 0.4)
        atol = 1e-4 if name == "xgboost" else 0  # its own curve needs the library
        np.testing.assert_allclose(again.predict_proba(rows)[:, 1], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", [*MODELS, "lightgbm", "xgboost"])
def test_thresholds(name):
    frame, y = table(1)
    frame, model = frame[NUMBERS], model_of(name)
    y = y if name == "xgboost" else np.array(["refused", "approved"])[y]
    # Rounding keeps the shares of the two classes from adding up to one.
    exactly = name not in ("tree", "forest")
    f1 = make_scorer(f1_score, pos_label=y[0])
    tuned = TunedThresholdClassifierCV(model, scoring=f1, cv=2, random_state=0)
    several = [tuned, CalibratedClassifierCV(model, ensemble=False, cv=2)]
    several[1] = FixedThresholdClassifier(several[1], threshold=0.6, pos_label=y[0])
    several += [FixedThresholdClassifier(model, threshold=t, pos_label=p) for t, p in
                ((0.37, None), (np.float64(0.37), y[0]), ("auto", y[1]))]  # fmt: skip
    if hasattr(model, "decision_function"):
        several += [
            FixedThresholdClassifier(
                model, threshold=0.2, pos_label=y[0], response_method="decision_function"
            )
        ]
    for cut in several:
        check_decisions(cut.fit(frame, y), frame, n=1500, probabilities=exactly)


@pytest.mark.parametrize("desired", [0, 1])
def test_plans_for_the_class_that_a_threshold_is_not_for(desired):
    """The mean share of the other class decides, negated; plans of a strength have it."""
    frame, y = table(2)
    frame = frame[NUMBERS]
    forest = RandomForestClassifier(9, max_depth=4, random_state=0)
    cut = FixedThresholdClassifier(forest, threshold=0.45, pos_label=1 - desired).fit(frame, y)
    imported = import_model(cut, frame, desired=desired, budget=np.inf)
    people = frame[cut.predict(frame) != desired].head(40)
    found = imported.recourse(people, strength=0.6)
    after = found.counterfactuals
    assert found.found.mean() > 0.9
    assert (cut.predict(after[found.found]) == desired).all()
    assert (cut.predict_proba(after[found.found])[:, desired] >= 0.6 - 1e-12).all()
    np.testing.assert_allclose(
        found.strength[found.found], cut.predict_proba(after[found.found])[:, desired]
    )


def test_what_cannot_be_wrapped_is_refused():
    frame, y = table(3)
    frame = frame[NUMBERS]

    def refuses(model, match):
        with pytest.raises(InvalidSpec, match=match):
            read_model(model, frame)

    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, y)
    turned = CalibratedClassifierCV(FrozenEstimator(tree)).fit(frame, 1 - y)
    refuses(turned, r"method='sigmoid'\) falls where scores rise \(a slope of -.*never turns")
    several = CalibratedClassifierCV(tree, cv=3).fit(frame, y)
    refuses(several, "averages 3 models; one is supported: train it with ensemble=False, or on a")
    own = FixedThresholdClassifier(RecourseTreeClassifier(max_depth=2, desired=1), threshold=0.4)
    refuses(own.fit(frame, y), "decides by a rule of its own and takes no threshold; a forest")
