"""CatBoost, XGBoost's categories, functions of NumPy, and ract's own models after other steps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.trees.readers import pullback, read_model, steps
from tests.trees.readers.tables import (
    NUMBERS,
    WORDS,
    check_decisions,
    rows_near,
    table,
    with_categories,
)

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def cat_boost(**params):
    library = pytest.importorskip("catboost")
    return library.CatBoostClassifier(
        iterations=10, thread_count=1, verbose=0, allow_writing_files=False, random_seed=0, **params
    )


CATBOOST = {
    "default": {},
    "flat": {"depth": 2, "learning_rate": 0.5},
    "by loss": {"grow_policy": "Lossguide", "boost_from_average": True},
    "by depth": {"grow_policy": "Depthwise", "min_data_in_leaf": 5},
}


@pytest.mark.parametrize("name", CATBOOST)
def test_catboost(name):
    frame, y = table(0)
    frame, model = frame[NUMBERS], cat_boost(**CATBOOST[name])
    check_decisions(model.fit(frame, np.array(["refused", "approved"])[y]), frame)
    array = frame.to_numpy()
    check_decisions(make_pipeline(StandardScaler(), model).fit(array, y == 1), array)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_catboost_with_one_hot_categories(policy, tmp_path):
    frame, y = table(1, n=800)
    frame = frame.assign(age=frame["age"] % 5)
    words = [*WORDS, "age", "member"]
    y = y ^ frame["age"].isin([1, 3]).to_numpy()
    model = cat_boost(cat_features=words, one_hot_max_size=9, grow_policy=policy).fit(frame, y)
    read = check_decisions(model, frame)
    used = {read.encoder.column_names[j] for j in read.ensemble.feature if j >= 0}
    assert {"purpose", "age"} <= {name.split("=")[0] for name in used if "=" in name}
    save_model(import_model(model, frame), tmp_path / "model.ract")
    rows = rows_near(read, frame, np.random.default_rng(2), 500)
    np.testing.assert_array_equal(load_model(tmp_path / "model.ract").predict(rows),
                                  model.predict(rows))  # fmt: skip
    purposes = ("car", "house", "other", "study", "trip", "yacht")
    space = ActionSpace([Feature("purpose", "categorical", categories=purposes)], limits=None)
    with pytest.raises(InvalidData, match="'purpose' has 'yacht', on which the model was not tr"):
        read_model(model, frame, space)


def test_what_cannot_be_read_of_catboost_is_refused():
    frame, y = table(2)

    def refuses(model, match, people=frame):
        with pytest.raises(InvalidSpec, match=match):
            read_model(model, people)

    counted = cat_boost(cat_features=WORDS, one_hot_max_size=2).fit(frame, y)
    refuses(counted, "CatBoost model splits by OnlineCtr; only numbers and categories that are one")
    numbers = frame[NUMBERS]
    model = cat_boost().fit(numbers, y)
    refuses(cat_boost().fit(numbers, np.arange(len(y)) % 3), r"has 3 class\(es\)", numbers)
    model.set_scale_and_bias(2.0, 0.1)
    refuses(model, "has a scale of 2.* and 1 output", numbers)
    model.set_scale_and_bias(1.0, 0.1)
    model.set_probability_threshold(0.3)
    refuses(model, "probability threshold of 0.3; give it as threshold= instead", numbers)
    after = make_pipeline("passthrough", FunctionTransformer(), cat_boost(cat_features=WORDS))
    refuses(after.fit(frame, y), "takes categories of its own after other steps; it is supported")


@pytest.mark.parametrize("params", [{}, {"max_cat_to_onehot": 1}, {"booster": "dart"}])
def test_xgboost_with_categories(params):
    xgboost = pytest.importorskip("xgboost")
    frame, y = table(3, n=800)
    frame = with_categories(frame).assign(age=pd.Categorical(frame["age"] % 7 * 10))
    model = xgboost.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True, **params)
    read = check_decisions(model.fit(frame, y), frame, positive=True)
    used = {read.encoder.column_names[j].split("=")[0] for j in read.ensemble.feature if j >= 0}
    assert {"purpose", "age"} <= used
    codes = frame[["income", "age"]].assign(age=frame["age"].cat.codes.astype(float))
    booster = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1},
        xgboost.DMatrix(codes.to_numpy(), y, feature_types=["float", "c"], enable_categorical=True),
        num_boost_round=5,
    )
    given = xgboost.DMatrix(codes.to_numpy(), feature_types=["float", "c"], enable_categorical=True)
    read = read_model(booster, codes.to_numpy())
    np.testing.assert_array_equal(read.probability(codes.to_numpy()), booster.predict(given))


FUNCTIONS = [np.log]
FUNCTIONS += [pytest.param(f, marks=pytest.mark.slow) for f in steps.FUNCTIONS[1:]]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_that_rise(function):
    """Logarithms of what has none are missing to models that take missing values."""
    frame, y = table(4)
    frame = frame[["income", "share", "age"]]
    frame = frame.assign(income=frame["income"] / 1e4, share=frame["share"] + 0.1)
    undefined = function in (np.log, np.log2, np.log10, np.log1p, np.sqrt)
    models = [HistGradientBoostingClassifier(max_iter=6, random_state=0)]
    models += [DecisionTreeClassifier(max_depth=6, random_state=0)] if undefined else []
    models += [GradientBoostingClassifier(n_estimators=4)] if function is np.log else []
    for model in models:
        first = FunctionTransformer(function)
        whole = make_pipeline(StandardScaler(with_mean=False), first, model).fit(frame, y)
        read = check_decisions(whole, frame, n=1500, positive=True)
        if undefined and not isinstance(model, GradientBoostingClassifier):
            rows = rows_near(read, frame, np.random.default_rng(0), 1500)
            sign = np.where(np.random.default_rng(1).random(rows.shape) < 0.3, -1.0, 1.0)
            rows = (rows * sign).replace(0.0, 1.0)  # the tree refuses the logarithm of 0
            with np.errstate(invalid="ignore"):
                decided = whole.predict(rows)
            np.testing.assert_array_equal(read.decide(rows), decided == 1)


def test_plans_stay_where_a_function_is_defined():
    frame, y = table(5)
    frame = frame[["income", "share"]].assign(share=frame["share"] + 0.1)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    model = make_pipeline(FunctionTransformer(np.log), tree).fit(frame, 1 - y)
    space = ActionSpace([Feature("income", lower=-1e6), Feature("share", lower=-5.0)], limits=None)
    space = import_model(model, frame, space).encoder_.space
    assert space["income"].lower == space["share"].lower == 5e-324
    assert np.isfinite(model.predict_proba(pd.DataFrame({"income": [5e-324], "share": 1.0}))).all()


def test_a_function_whose_digits_do_not_rise_is_refused(monkeypatch):
    frame, y = table(6)
    frame = frame[["income", "age"]]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = make_pipeline(FunctionTransformer(np.sinh), tree).fit(frame / 1e4, y)
    frame = frame / 1e4
    found = pullback.largest
    monkeypatch.setattr(pullback, "largest", lambda *given: np.nextafter(found(*given), np.inf))
    with pytest.raises(InvalidSpec, match="does not rise with every digit near a threshold of 'i"):
        read_model(model, frame)


@pytest.mark.parametrize("kind", [RecourseTreeClassifier, RecourseForestClassifier])
def test_models_of_our_own_after_other_steps(kind, tmp_path):
    frame, y = table(7)
    words = np.array(["refused", "approved"])[y]
    one_hot = OneHotEncoder(sparse_output=False)
    first = ColumnTransformer([("w", one_hot, WORDS)], remainder=StandardScaler())
    forest = kind is RecourseForestClassifier
    for given in ({"n_estimators": 7} if forest else {},):
        own = kind(desired="approved", max_depth=4, random_state=0, **given)
        model = make_pipeline(first, own).fit(frame, words)
        read = read_model(model, frame)
        rows = rows_near(read, frame, np.random.default_rng(0), 3000)
        np.testing.assert_array_equal(read.decide(rows), model.predict(rows) == "approved")
        imported = import_model(model, frame, budget=0.5)
        save_model(imported, tmp_path / "model.ract")
        again = load_model(tmp_path / "model.ract")
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    people = frame[model.predict(frame) == "refused"].head(30)
    found = imported.recourse(people)
    after = found.counterfactuals[found.found]
    assert found.found.sum() > 10 and (model.predict(after) == "approved").all()
    with pytest.raises(InvalidSpec, match="the model was trained for 'approved'"):
        read_model(model, frame, desired="refused")
    whole = make_pipeline(FunctionTransformer(), kind(desired="approved", max_depth=2)).fit(
        frame, words
    )
    with pytest.raises(InvalidSpec, match="takes 'purpose' as text after other steps; encode it"):
        read_model(whole, frame)
