"""What every export keeps, and what is refused."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import (
    import_model,
)
from ract._utils.errors import InvalidSpec
from ract.io.export import to_json, to_onnx, to_sklearn
from tests.io.export.models import (
    ANY,
    LOANS,
    MANY,
    NUMBERS,
    asked,
    decide_from_json,
    own_booster,
    singles,
    walk,
)


@pytest.mark.parametrize("desired", ["approved", "refused"])
def test_our_own_booster_goes_everywhere(desired):
    """Probabilities are those of the replicates, except in scikit-learn."""
    new = singles(MANY[NUMBERS]).head(2000)
    for weight in (0.0, 0.25):
        model = own_booster(desired, weight)
        assert (model.probability_ensemble_ is None) == (weight == 0)
        exported, share = to_json(model), model.predict_proba(new)
        decided = np.array(list(decide_from_json(exported, new.head(200))))
        assert np.array_equal(decided, model.predict(new.head(200)) == desired)
        if weight:
            rows, given = new.head(200).to_numpy(float), exported["probability"]
            sums = [sum(walk(t, row)["value"] for t in given["trees"]) for row in rows]
            odds = given["start"] + np.array(sums)
            k = list(model.classes_).index(desired)
            free = np.abs(odds) > 1e-9
            side = (odds > 0) == decided  # others are held on the decision's side
            expected = share[:200, k][free & side]
            assert np.allclose(1 / (1 + np.exp(-odds[free & side])), expected, atol=1e-12)
        assert np.array_equal(to_sklearn(model).predict(new), model.predict(new))
        label, probabilities = asked(model, new)
        assert np.array_equal(label, model.predict(new))
        assert np.allclose(probabilities, share, rtol=0, atol=1e-6)


def test_what_an_export_cannot_keep_is_refused():
    people = LOANS.frame[NUMBERS]
    averaging = RandomForestClassifier(4, random_state=0).fit(people, LOANS.target)
    model = import_model(averaging, people, ANY, desired="approved", threshold=0.7)
    with pytest.raises(InvalidSpec, match="compares a mean with 0.7"):
        to_sklearn(model)
    lightgbm = pytest.importorskip("lightgbm")
    holes = people.assign(Income=people["Income"].where(people["Income"] > 30_000))
    boosted = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(holes, LOANS.target)
    with pytest.raises(InvalidSpec, match="missing values"):
        to_sklearn(import_model(boosted, holes, ANY, desired="approved"))
    xgboost = pytest.importorskip("xgboost")
    single = xgboost.XGBClassifier(n_estimators=3).fit(people, LOANS.target == "approved")
    for export in (to_sklearn, to_onnx):
        with pytest.raises(InvalidSpec, match="single precision"):
            export(import_model(single, people, ANY, desired=True))
    with pytest.raises(InvalidSpec, match="not a fitted model of ract"):
        to_json(averaging)
