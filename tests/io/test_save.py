"""Model files: what comes back is what was saved."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import (
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidSpec
from ract.data.costs import PercentileCost, ScaledCost
from ract.io import read_model_file
from ract.io.save import model_bytes
from ract.trees import model_fingerprint
from tests.io.files import LOANS, NEW, NUMBERS, forest, free


def again(model, tmp_path):
    path = tmp_path / "model.ract"
    save_model(model, path)
    return load_model(path)


def same(one, other, people):
    assert np.array_equal(one.predict(people), other.predict(people))
    assert one.predict(people).dtype == other.predict(people).dtype
    assert np.array_equal(one.predict_proba(people), other.predict_proba(people))
    first, second = (model.recourse(people.head(25)) for model in (one, other))
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    assert model_fingerprint(one) == model_fingerprint(other)


@pytest.mark.parametrize(
    "model",
    [
        forest(),
        forest(cost="range", budget=0.5),
        forest(cost=PercentileCost("kernel"), min_recourse=0.7,
               random_state=np.random.RandomState(0)),
        forest(cost=ScaledCost("std"), budget=float("inf"), class_weight={"approved": 2.0}),
        forest(min_leaf_share=0.4, recourse_weight=0.3),
        forest(oob_score=True, monotonic={"Income": 1}, n_estimators=30),
        RecourseTreeClassifier(LOANS.actions, max_depth=4),
        RecourseTreeClassifier(LOANS.actions, max_depth=4, min_recourse=0.8, confidence=0.9,
                               random_state=0),
    ],
)  # fmt: skip
def test_trained_models_come_back_bit_for_bit(model, tmp_path):
    model = clone(model).fit(LOANS.frame, LOANS.target)
    loaded = again(model, tmp_path)
    assert type(loaded) is type(model)
    same(model, loaded, NEW.frame)
    for name in ("guarantee_", "recourse_risk_", "oob_score_", "oob_recourse_ratio_", "desired_"):
        assert getattr(model, name, None) == getattr(loaded, name, None)
    loaded_params, given = loaded.get_params(), model.get_params()
    for name in given.keys() - {"random_state"}:
        assert loaded_params[name] == given[name], name
    assert loaded.recourse_risk(NEW.frame) == model.recourse_risk(NEW.frame)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (("no", "yes"), None),
        (("no", "yes"), object),
        ((0, 1), None),
        ((0, 1), np.uint8),
        ((False, True), None),
        ((1.0, 2.0), None),
        ((3, -3), np.float32),
    ],
)
def test_classes_keep_their_type(labels, kind, tmp_path):
    target = np.where(LOANS.target == "approved", labels[1], labels[0])
    target = target if kind is None else target.astype(kind)
    model = RecourseTreeClassifier(LOANS.actions, max_depth=2, desired=labels[1])
    model.fit(LOANS.frame, target)
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert type(loaded.desired_) is type(model.desired_)
    same(model, loaded, NEW.frame)


def test_arrays_and_awkward_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3)).round(1)
    model = RecourseForestClassifier(desired=True, n_estimators=5, random_state=0)
    model.fit(X, X[:, 0] > 0)
    loaded = again(model, tmp_path)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert not hasattr(loaded, "feature_names_in_")
    frame = pd.DataFrame({"größe": X[:, 0], 'a=b, "c"\n': X[:, 1] > 0, "x": [1, 2, 3] * 100})
    space = free(frame)
    model = RecourseTreeClassifier(space, desired=True, max_depth=3).fit(frame, X[:, 2] > 0)
    same(model, again(model, tmp_path), frame)


def pipeline():
    chosen = ["Education", "Purpose"]
    numbers = [name for name in LOANS.frame if name not in chosen]
    prepare = ColumnTransformer(
        [("words", OneHotEncoder(), chosen), ("numbers", StandardScaler(), numbers)]
    )
    return make_pipeline(prepare, GradientBoostingClassifier(n_estimators=20, random_state=0))


def lightgbm():
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(n_estimators=20, verbose=-1, random_state=0)


def xgboost():
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(n_estimators=20, random_state=0)


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (lambda: DecisionTreeClassifier(max_depth=4, random_state=0), NUMBERS.columns),
        (lambda: RandomForestClassifier(20, max_depth=6, random_state=0), NUMBERS.columns),
        (lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0), NUMBERS.columns),
        (pipeline, LOANS.frame.columns),
        (lightgbm, NUMBERS.columns),
        (xgboost, NUMBERS.columns),
    ],
)
def test_imported_models_come_back_bit_for_bit(make, columns, tmp_path):
    people, target = LOANS.frame[list(columns)], (LOANS.target == "approved").astype(int)
    model = make().fit(people, target)
    imported = import_model(
        model, people, free(people), budget=0.3, cost=PercentileCost(exact=True)
    )
    loaded = again(imported, tmp_path)
    new = NEW.frame[list(columns)]
    same(imported, loaded, new)
    assert np.array_equal(loaded.predict(new), model.predict(new))
    own = model.predict_proba(new)[:, 1]
    single = own.dtype == np.float32
    assert np.allclose(loaded.predict_proba(new)[:, 1], own, rtol=1e-6 if single else 0, atol=0)
    straight = find_recourse(
        model, new.head(25), actions=free(people), reference=people, budget=0.3
    )
    assert np.array_equal(straight.cost, loaded.recourse(new.head(25)).cost)
    assert loaded.score(new, model.predict(new)) == 1
    assert imported.source.split(".")[0] in ("sklearn", "lightgbm", "xgboost")


def test_what_stands_beside_the_model(tmp_path):
    model = forest().fit(LOANS.frame, LOANS.target)
    path = tmp_path / "model.ract"
    records = [{"claim": "at most 5% without recourse", "bound": 0.05}]
    save_model(model, path, summary={"people": 600}, certificates=records)
    held = read_model_file(path)
    assert held.kind == "forest" and held.summary == {"people": 600}
    assert list(held.certificates) == records
    assert held.fingerprint == model_fingerprint(model)
    with pytest.raises(InvalidSpec, match="summary must be a dict of JSON values"):
        save_model(model, path, summary={"rate": float("nan")})


def test_a_whole_number_as_budget_keeps_the_fingerprint(tmp_path):
    model = forest(budget=1).fit(LOANS.frame, LOANS.target)
    assert model_fingerprint(again(model, tmp_path)) == model_fingerprint(model)


def test_equal_models_give_equal_files():
    files = [model_bytes(forest().fit(LOANS.frame, LOANS.target)) for _ in range(2)]
    assert files[0] == files[1]


class OwnCost(ScaledCost):
    pass


def test_what_cannot_be_stored_is_refused(tmp_path):
    model = forest(cost=OwnCost("range")).fit(LOANS.frame, LOANS.target)
    with pytest.raises(InvalidSpec, match="The cost is a OwnCost of your own"):
        save_model(model, tmp_path / "model.ract")
    plain = DecisionTreeClassifier(max_depth=2).fit(NUMBERS, LOANS.target)
    with pytest.raises(InvalidSpec, match="import_model"):
        save_model(plain, tmp_path / "model.ract")
    with pytest.raises(InvalidSpec, match="one of ract's own"):
        import_model(forest().fit(LOANS.frame, LOANS.target), LOANS.frame)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.ract"
    model = RecourseTreeClassifier(LOANS.actions, max_depth=2).fit(LOANS.frame, LOANS.target)
    save_model(model, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(model.set_params(budget=0.9), path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
