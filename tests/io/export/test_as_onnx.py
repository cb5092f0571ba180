"""Exported ONNX models decide as the model does."""

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseTreeClassifier,
    import_model,
)
from ract._utils.errors import InvalidSpec
from ract.io.export import to_onnx
from tests.io.export.models import (
    ANY,
    LOANS,
    MANY,
    NUMBERS,
    asked,
    averaging_forests,
    boosters,
    forest,
    mixed_forest,
    needing,
)


@pytest.mark.parametrize("desired", ["approved", "refused"])
@pytest.mark.parametrize("votes", [None, 13])
def test_onnx_decides_alike_on_ten_thousand_people(desired, votes):
    actions = ActionSpace(LOANS.actions.features, limits=None)
    model = forest(actions=actions, desired=desired).fit(LOANS.frame, LOANS.target)
    model = needing(model, votes)
    label, probabilities = asked(model, MANY)
    assert len(label) == 10_000
    assert np.array_equal(label, model.predict(MANY))
    assert np.allclose(probabilities, model.predict_proba(MANY), rtol=0, atol=1e-6)


def test_onnx_of_sums_and_means():
    new = MANY[NUMBERS]
    lightgbm = pytest.importorskip("lightgbm")
    people = LOANS.frame[NUMBERS]
    light = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(people, LOANS.target)
    models = [model for model, _ in [*boosters(), *averaging_forests()]]
    for model in [*models, import_model(light, people, ANY, desired="approved")]:
        label, probabilities = asked(model, new)
        assert np.array_equal(label, model.predict(new))
        assert np.allclose(probabilities, model.predict_proba(new), rtol=0, atol=1e-6)


def test_onnx_keeps_thresholds_in_double_precision():
    X = np.array([[1.0], [1.0 + 1e-9], [1.0 + 2e-9], [2.0]] * 5)
    model = RecourseTreeClassifier(desired=True, recourse_weight=0).fit(X, X[:, 0] > 1.0000000015)
    label, _ = asked(model, pd.DataFrame(X, columns=["x0"]))
    assert np.array_equal(label.astype(bool), model.predict(X))


def test_onnx_of_groups_numbered_categories_and_number_classes():
    rng = np.random.default_rng(0)
    color, zone = rng.integers(0, 3, 300), rng.choice([30, 10, 20], 300)
    frame = pd.DataFrame({f"c{k}": (color == k).astype(int) for k in (2, 0, 1)})
    frame = frame.assign(zone=zone, a=rng.normal(size=300))
    space = ActionSpace(
        [Feature("color", columns=("c0", "c1", "c2")), Feature("zone", kind="categorical")],
        limits=None,
    )
    for labels in ((0, 1), (1.0, 2.0), (False, True)):
        target = np.where(frame["a"] + color + zone / 20 > 2, labels[1], labels[0])
        model = forest(actions=space, desired=True).fit(frame, target)
        label, _ = asked(model, frame)
        assert np.array_equal(label, model.predict(frame))


def test_onnx_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InvalidSpec, match="pip install"):
        to_onnx(mixed_forest(n_estimators=1))
