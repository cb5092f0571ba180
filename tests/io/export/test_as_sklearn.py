"""Exported scikit-learn estimators decide as the model does."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from ract import (
    ActionSpace,
    Feature,
    RecourseTreeClassifier,
    import_model,
)
from ract.io.export import to_sklearn
from tests.io.export.models import (
    ANY,
    LOANS,
    MANY,
    NUMBERS,
    averaging_forests,
    boosters,
    forest,
    mixed_forest,
    needing,
    singles,
)


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


def test_sums_and_means_go_to_scikit_learn():
    new = singles(MANY[NUMBERS])
    for model, original in [*boosters(), *averaging_forests()]:
        exported = to_sklearn(model)
        assert np.array_equal(exported.predict(new), model.predict(new))
        if original is not None:
            assert type(exported) is type(original)
            shares = exported.predict_proba(new)
            assert np.allclose(shares, original.predict_proba(new), rtol=0, atol=1e-12)


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
