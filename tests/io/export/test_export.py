"""Exports decide as the model does."""

import json
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    import_model,
)
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.io.export import to_json, to_onnx, to_sklearn

LOANS = load_loans(1500)
MANY = load_loans(10_000, random_state=1).frame
NUMBERS = [name for name in LOANS.frame if name not in ("Education", "Purpose")]
ANY = ActionSpace(map(Feature, NUMBERS), limits=None)


def singles(frame):
    """The same people with numbers that single precision holds."""
    floats = frame.select_dtypes("float").columns
    return frame.assign(**{name: frame[name].astype(np.float32).astype(float) for name in floats})


def forest(**given):
    settings = {"n_estimators": 20, "max_depth": 6, "random_state": 0} | given
    return RecourseForestClassifier(**settings)


def needing(model, votes):
    """A forest that needs so many votes, or as many as it was trained with."""
    if votes is not None:
        model.ensemble_ = replace(model.ensemble_, cutoff=votes)
    return model


def mixed_forest(**given):
    return forest(actions=LOANS.actions, **given).fit(LOANS.frame, LOANS.target)


def walk(nodes, row):
    k = 0
    while "column" in nodes[k]:
        node = nodes[k]
        k = node["yes"] if row[node["column"]] <= node["at_most"] else node["no"]
    return nodes[k]


def decide_from_json(exported, frame):
    """What the documented schema says, without any of ract."""
    people = frame.to_dict("records")
    for person in people:
        row = [
            float(person[c["column"]] == c["is"]) if "is" in c else float(person[c["column"]])
            for c in exported["columns"]
        ]
        leaves = [walk(nodes, row) for nodes in exported["trees"]]
        rule = exported["decision"]
        if rule["count"] == "votes":
            yield sum(leaf["vote"] for leaf in leaves) >= rule["needed"]
            continue
        total = rule.get("start", 0.0)
        for leaf in leaves:
            total += leaf["value"]
        if "tie_wins" in rule:
            other = 0.0
            for leaf in leaves:
                other += leaf["other"]
            total, other = total / len(leaves), other / len(leaves)
            yield total >= other if rule["tie_wins"] else total > other
        else:
            yield (total / len(leaves) if rule["count"] == "mean" else total) >= rule["at_least"]


# scikit-learn


@pytest.mark.parametrize("n_trees", [20, 21])
@pytest.mark.parametrize("desired", ["approved", "refused"])
@pytest.mark.parametrize("votes_needed", [None, 3, 10, 11, 17, 20])
def test_a_forest_of_numbers_is_a_random_forest(n_trees, desired, votes_needed):
    people = LOANS.frame[NUMBERS]
    model = forest(n_estimators=n_trees, desired=desired).fit(people, LOANS.target)
    model = needing(model, votes_needed)
    exported = to_sklearn(model)
    assert type(exported) is RandomForestClassifier and len(exported.estimators_) == n_trees
    new = singles(MANY[NUMBERS])
    votes = model.ensemble_.score(model.encoder_.matrix(new))
    assert {model.ensemble_.cutoff, model.ensemble_.cutoff - 1} <= set(votes.tolist())
    assert np.array_equal(exported.predict(new), model.predict(new))
    if votes_needed is None and n_trees == 21:
        share = votes / n_trees
        k = model.classes_.tolist().index(desired)
        assert np.allclose(exported.predict_proba(new)[:, k], share)


def test_a_tree_keeps_its_probabilities_and_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    people = LOANS.frame[NUMBERS]
    model = RecourseTreeClassifier(max_depth=4, desired="approved").fit(people, LOANS.target)
    exported = to_sklearn(model, people)
    assert type(exported) is DecisionTreeClassifier
    new = singles(MANY[NUMBERS])
    assert np.array_equal(exported.predict(new), model.predict(new))
    same = np.abs(model.predict_proba(new)[:, 0] - 0.5) > 1e-9
    same &= model.classes_[model.predict_proba(new).argmax(axis=1)] == model.predict(new)
    shares = exported.predict_proba(new)[same], model.predict_proba(new)[same]
    assert same.mean() > 0.5 and np.allclose(*shares, rtol=0, atol=1e-15)
    assert exported.get_depth() == model.get_depth()
    assert exported.get_n_leaves() == model.get_n_leaves()
    assert exported.tree_.n_node_samples[0] == len(people)
    drawn = plot_tree(exported, feature_names=list(people.columns))
    assert len(drawn) >= exported.tree_.node_count
    assert "Income" in export_text(exported, feature_names=list(people.columns))


def test_text_columns_make_a_pipeline():
    model = mixed_forest()
    exported = to_sklearn(model, LOANS.frame)
    assert type(exported) is Pipeline
    assert type(exported[-1]) is RandomForestClassifier
    new = singles(MANY)
    assert np.array_equal(exported.predict(new), model.predict(new))
    with pytest.raises(ValueError, match="unknown categories"):
        exported.predict(new.head(2).assign(Purpose="Boat"))


def test_arrays_one_hot_groups_and_numbered_categories():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32).astype(float)
    model = forest(desired=True).fit(X, X[:, 0] > 0)
    exported = to_sklearn(model)
    assert not hasattr(exported, "feature_names_in_")
    assert np.array_equal(exported.predict(X), model.predict(X))
    color = rng.integers(0, 3, 400)
    frame = pd.DataFrame({"a": X[:, 0], **{f"c{k}": (color == k).astype(int) for k in (2, 0, 1)}})
    frame["zone"] = rng.choice([30, 10, 20], 400)
    space = ActionSpace(
        [
            Feature("a"),
            Feature("color", columns=("c0", "c1", "c2")),
            Feature("zone", kind="categorical", categories=(30, 10, 20)),
        ],
        limits=None,
    )
    target = (X[:, 0] + color + frame["zone"] / 20 > 2).to_numpy()
    model = forest(actions=space, desired=True).fit(frame, target)
    assert np.array_equal(to_sklearn(model).predict(frame), model.predict(frame))


def test_doubles_are_decided_as_their_singles():
    X = np.array([[1.0], [1.0 + 1e-9], [1.0 + 2e-9], [2.0]] * 5)
    model = RecourseTreeClassifier(desired=True, recourse_weight=0).fit(X, X[:, 0] > 1.0000000015)
    exported = to_sklearn(model)
    assert np.array_equal(exported.predict(X), model.predict(X.astype(np.float32).astype(float)))


def test_an_imported_tree_goes_back():
    people = LOANS.frame[NUMBERS]
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(people, LOANS.target)
    exported = to_sklearn(import_model(tree, people, ANY, desired="approved"))
    new = singles(MANY[NUMBERS])
    assert np.array_equal(exported.predict(new), tree.predict(new))


def boosters():
    people = LOANS.frame[NUMBERS]
    for desired in ("approved", "refused"):
        boosted = GradientBoostingClassifier(n_estimators=20, random_state=0)
        boosted.fit(people, LOANS.target)
        yield import_model(boosted, people, ANY, desired=desired), boosted
        yield import_model(boosted, people, ANY, desired=desired, threshold=0.7), None


@cache
def own_booster(desired, recourse_weight):
    people = LOANS.frame[NUMBERS].head(600)
    model = RecourseBoostingClassifier(
        desired=desired, recourse_weight=recourse_weight, max_iter=8, n_replicates=2,
        random_state=0,
    )  # fmt: skip
    return model.fit(people, LOANS.target.head(600))


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


def averaging_forests():
    people = LOANS.frame[NUMBERS]
    for desired in ("approved", "refused"):
        # An even number of pure leaves: many people have as much for one class as for the other.
        averaging = RandomForestClassifier(4, random_state=0).fit(people, LOANS.target)
        yield import_model(averaging, people, ANY, desired=desired), averaging


def test_sums_and_means_go_to_scikit_learn():
    new = singles(MANY[NUMBERS])
    for model, original in [*boosters(), *averaging_forests()]:
        exported = to_sklearn(model)
        assert np.array_equal(exported.predict(new), model.predict(new))
        if original is not None:
            assert type(exported) is type(original)
            shares = exported.predict_proba(new)
            assert np.allclose(shares, original.predict_proba(new), rtol=0, atol=1e-12)


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


def test_shap_takes_the_exported_forest():
    with warnings.catch_warnings():  # of its own plots, when it is imported
        warnings.simplefilter("ignore")
        shap = pytest.importorskip("shap")
    people = LOANS.frame[NUMBERS]
    exported = to_sklearn(forest(desired="approved").fit(people, LOANS.target), people)
    rows = people.head(10).astype(float)
    explainer = shap.TreeExplainer(exported)
    explained = explainer.expected_value + explainer.shap_values(rows).sum(axis=1)
    np.testing.assert_allclose(explained, exported.predict_proba(rows), atol=1e-9)


# ONNX


def asked(model, frame):
    """What onnxruntime says."""
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    session = runtime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = {
        one.name: frame[[one.name]].to_numpy(object if "string" in one.type else np.float64)
        for one in session.get_inputs()
    }
    return session.run(None, given)


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


# JSON


def models_for_json():
    people = LOANS.frame[NUMBERS]
    yield mixed_forest(), LOANS.frame.columns
    yield needing(mixed_forest(), 4), LOANS.frame.columns
    for model in (
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(10, max_depth=5, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
    ):
        for desired in ("approved", "refused"):
            model.fit(people, LOANS.target)
            yield import_model(model, people, ANY, desired=desired), NUMBERS


def test_json_can_be_walked_without_ract():
    for model, columns in models_for_json():
        exported = json.loads(json.dumps(to_json(model), allow_nan=False))
        new = MANY[list(columns)].head(500)
        decided = np.array(list(decide_from_json(exported, new)))
        assert np.array_equal(decided, model.predict(new) == model.desired_)


def test_converters_take_the_exported_forest():
    convert = pytest.importorskip("skl2onnx").to_onnx
    runtime = pytest.importorskip("onnxruntime")
    people = LOANS.frame[NUMBERS].astype(np.float32)
    model = forest(desired="approved").fit(people, LOANS.target)
    exported = to_sklearn(model)
    new = MANY[NUMBERS].to_numpy(np.float32)
    converted = convert(exported, new[:1], options={"zipmap": False})
    session = runtime.InferenceSession(
        converted.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label = session.run(None, {session.get_inputs()[0].name: new})[0]
    assert np.array_equal(label, model.predict(pd.DataFrame(new, columns=NUMBERS)))


def test_treelite_takes_the_exported_forest():
    treelite = pytest.importorskip("treelite")
    people = LOANS.frame[NUMBERS].astype(np.float32)
    model = forest(desired="approved").fit(people, LOANS.target)
    compiled = treelite.sklearn.import_model(to_sklearn(model))
    new = MANY[NUMBERS].to_numpy(np.float32)
    share = np.asarray(treelite.gtil.predict(compiled, new)).reshape(len(new), -1)
    expected = model.predict(pd.DataFrame(new, columns=NUMBERS))
    assert np.array_equal(model.classes_[share.argmax(axis=1)], expected)
