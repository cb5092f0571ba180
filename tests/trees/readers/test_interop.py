"""Models of other libraries: scores bit for bit, decisions one by one, near every threshold."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ract import ActionSpace, Feature, RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.actions import AssumedActions
from ract.data.costs import make_cost
from ract.models.imported import import_model
from ract.recourse.exact.search import ExactSearch
from ract.recourse.find import find_recourse
from ract.trees.readers import read_model
from tests.trees.readers.tables import NUMBERS, WORDS, rows_near, table, with_categories

# Which features may change is not what is read here.
N_ROWS = 10_000
pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


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


def check(model, people, actions=None, *, seed=0, thresholds=(0.3,)):
    """Both desired classes, the model's own rule and thresholds; returns the last reading."""
    rng = np.random.default_rng(seed)
    classes = model.classes_
    rows = None
    for k in (1, 0):
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


SKLEARN = {
    "tree": DecisionTreeClassifier(random_state=0),
    "shallow tree": DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0),
    "extra tree": ExtraTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(n_estimators=20, random_state=0),
    "forest with ties": RandomForestClassifier(n_estimators=6, max_depth=3, random_state=1),
    "extra trees": ExtraTreesClassifier(n_estimators=15, min_samples_leaf=4, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=30, random_state=0),
    "boosted from zero": GradientBoostingClassifier(
        n_estimators=15, init="zero", learning_rate=0.3, random_state=0
    ),
    "boosted exponential": GradientBoostingClassifier(
        n_estimators=15, loss="exponential", subsample=0.7, random_state=0
    ),
    "boosted from a guess": GradientBoostingClassifier(
        n_estimators=5, init=DummyClassifier(strategy="uniform"), random_state=0
    ),
    "histogram": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "histogram with early stop": HistGradientBoostingClassifier(
        max_iter=50, early_stopping=True, max_leaf_nodes=7, l2_regularization=1.0, random_state=0
    ),
}


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize("seed", [0, 1])
def test_scikit_learn(name, seed):
    frame, y = table(seed)
    frame = frame[NUMBERS]
    words = np.array(["refused", "approved"])[y]  # the desired one comes first in the alphabet
    check(SKLEARN[name].fit(frame, words), frame, seed=seed)
    array = frame.to_numpy()
    check(SKLEARN[name].fit(array, y), array, seed=seed, thresholds=())


LIGHTGBM = {
    "default": {},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "goss": {"data_sample_strategy": "goss"},
    "other sigmoid": {"sigmoid": 0.7, "boost_from_average": False, "max_depth": 3},
    "deep": {"num_leaves": 200, "min_child_samples": 1, "learning_rate": 0.5},
    "one leaf": {"min_child_samples": 400},
}


@pytest.mark.parametrize("name", [name for name in LIGHTGBM if name != "one leaf"])
@pytest.mark.parametrize("seed", [0, 1])
def test_lightgbm(name, seed):
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = table(seed)
    frame = frame[NUMBERS]
    model = lightgbm.LGBMClassifier(
        n_estimators=20, random_state=0, verbose=-1, n_jobs=1, **LIGHTGBM[name]
    )
    check(model.fit(frame, np.array(["refused", "approved"])[y]), frame, seed=seed)
    array = frame.to_numpy()
    check(model.fit(array, y), array, seed=seed, thresholds=())
    whole = frame[["age", "debt", "member"]].to_numpy()  # goes in as singles
    check(model.fit(whole, y), whole, seed=seed, thresholds=())


XGBOOST = {
    "default": {},
    "base score": {"base_score": 0.3, "max_depth": 3},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "parallel trees": {"num_parallel_tree": 3, "subsample": 0.5, "colsample_bynode": 0.5},
    "hinge": {"objective": "binary:hinge", "max_depth": 3},
    "exact": {"tree_method": "exact", "learning_rate": 1.0},
    "by loss": {"grow_policy": "lossguide", "max_leaves": 9, "reg_lambda": 3.0},
}


@pytest.mark.parametrize("name", XGBOOST)
@pytest.mark.parametrize("seed", [0, 1])
def test_xgboost(name, seed):
    xgboost = pytest.importorskip("xgboost")
    frame, y = table(seed)
    frame = frame[NUMBERS]
    model = xgboost.XGBClassifier(n_estimators=20, n_jobs=1, **XGBOOST[name])
    check(model.fit(frame, y), frame, seed=seed)
    array = frame.to_numpy()
    check(model.fit(array, y), array, seed=seed, thresholds=())


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


SCALERS = {
    "standard": StandardScaler(),
    "min max": MinMaxScaler(feature_range=(-1, 3), clip=True),
    "max abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "quantile": QuantileTransformer(n_quantiles=50),
    "quantile normal": QuantileTransformer(n_quantiles=500, output_distribution="normal"),
    "yeo-johnson": PowerTransformer(),
    "box-cox": PowerTransformer(method="box-cox"),
    "bins": KBinsDiscretizer(n_bins=7, encode="ordinal", strategy="uniform"),
    "several": make_pipeline(SimpleImputer(), StandardScaler(), "passthrough", MinMaxScaler()),
}


@pytest.mark.parametrize("name", SCALERS)
def test_scaled_columns(name):
    frame, y = table(3)
    frame = frame[["income", "share", "age", "debt"]]
    if name in ("yeo-johnson", "box-cox"):  # take no column that is far from 0 and hardly varies
        frame = frame.assign(share=frame["share"] + 0.1, debt=frame["debt"] - 2.0**24 + 1)
    for k, model in enumerate(learners()):
        people = frame if k % 2 else frame.to_numpy()
        check(make_pipeline(SCALERS[name], model).fit(people, y), people, thresholds=())


def test_singles_are_scaled_as_singles():
    frame, y = table(4)
    people = frame[["income", "share", "age"]].astype(np.float32)
    for model in learners():
        check(make_pipeline(StandardScaler(), model).fit(people, y), people, thresholds=())


def prepared(sparse, **one_hot):
    return ColumnTransformer(
        [
            ("number", StandardScaler(), ["income", "age"]),
            ("word", OneHotEncoder(**one_hot), WORDS),
            ("drop", "drop", ["debt"]),
            ("kept", "passthrough", ["share"]),
        ],
        remainder=MinMaxScaler(),
        sparse_threshold=1.0 if sparse else 0.0,
    )


ONE_HOT = [
    {},
    {"drop": "first"},
    {"drop": "if_binary"},
    {"min_frequency": 95, "handle_unknown": "infrequent_if_exist"},
    {"sparse_output": False, "handle_unknown": "ignore"},
]


@pytest.mark.parametrize("one_hot", ONE_HOT)
def test_words_one_hot_encoded(one_hot):
    frame, y = table(5)
    which = ONE_HOT.index(one_hot)  # every learner reads plain columns, one each reads the others
    for model in learners()[which % 3 :][:1] if which else learners():
        whole = make_pipeline(prepared(False, **one_hot), model).fit(frame, y)
        read = check(whole, frame, thresholds=())
        assert read.encoder.column_names[-7] == "purpose=car" and read.n_features == 7


def test_words_in_a_sparse_matrix():
    frame, y = table(6)
    for model in learners():
        if isinstance(model, HistGradientBoostingClassifier):
            continue  # takes no sparse matrices
        words = make_pipeline(OneHotEncoder(), model).fit(frame[WORDS], y)
        check(words, frame[WORDS], thresholds=())
        whole = make_pipeline(prepared(True), model).fit(frame, y)
        if "XGB" in type(model).__name__:  # takes the zeros of numbers as missing
            with pytest.raises(InvalidSpec, match="sparse matrix, whose zeros XGBoost"):
                read_model(whole, frame)
        else:
            check(whole, frame, thresholds=())


def test_words_as_ordered_codes_become_sets():
    frame, y = table(7)
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    words = make_column_selector(dtype_exclude="number")
    first = ColumnTransformer(
        [("word", OrdinalEncoder(), words), ("bins", bins, slice("income", "share"))],
        remainder="passthrough",
    )
    for model in learners():
        check(make_pipeline(first, model).fit(frame, y), frame, thresholds=())


def test_pipelines_and_searches_in_each_other():
    frame, y = table(8)
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    first = ColumnTransformer([("w", words, WORDS), ("n", StandardScaler(), [0, 1])])
    inner = Pipeline([("nothing", "passthrough"), ("forest", RandomForestClassifier(5))])
    whole = Pipeline([("first", first), ("rest", inner)])
    search = GridSearchCV(whole, {"rest__forest__max_depth": [3, 5]}, cv=2)
    check(search.fit(frame, y), frame, thresholds=())
    assert not hasattr(read_model(search, frame), "model")


def test_a_scaler_that_gives_frames_and_columns_in_another_order():
    frame, y = table(9)
    one_hot = OneHotEncoder(sparse_output=False)
    first = ColumnTransformer(
        [("n", StandardScaler(), ["age", "income"]), ("w", one_hot, WORDS)],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    second = ColumnTransformer([("n", MinMaxScaler(), ["income"])], remainder="passthrough")
    for model in learners():
        whole = make_pipeline(first, second, model).fit(frame, y)
        check(whole, frame[frame.columns[::-1]], thresholds=())


def test_a_tie_that_rounding_breaks():
    """Shares 8/9, 2/6, 1/9 and 4/6 and their complements both sum to 2, but not in doubles."""
    people = np.zeros((1, 1))
    forest = RandomForestClassifier(4, random_state=0).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    shares = [(8, 9), (2, 6), (1, 9), (4, 6)]
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        for k, (part, whole) in enumerate(shares[i] for i in order):
            y = np.arange(whole) < part
            forest.estimators_[k] = DecisionTreeClassifier().fit(np.zeros((whole, 1)), y)
        chosen = forest.predict(people)[0]
        assert chosen == (1 if order[0] == 0 else 0)
        assert forest.predict_proba(people)[0, chosen] == 0.5
        for desired in (0, 1):
            read = read_model(forest, people, desired=desired)
            assert read.score(people)[0] == forest.predict_proba(people)[0, desired]
            assert read.decide(people)[0] == (chosen == desired)


def test_models_that_saw_missing_values():
    frame, y = table(25)
    frame = frame[["income", "share", "age"]].astype(float)
    holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2)
    models = [*learners(), GridSearchCV(DecisionTreeClassifier(), {"max_depth": [4]}, cv=2)]
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        pass
    else:
        models.append(LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1))
    for model in models:
        check(model.fit(holes, y), frame, thresholds=())
    check(make_pipeline(SimpleImputer(), models[0]).fit(holes, y), frame, thresholds=())


def test_cells_of_truth_values_and_of_words_without_a_choice():
    frame, y = table(26)
    frame = frame.assign(member=frame["member"] == 1, country="here")[["age", "member", "country"]]
    first = ColumnTransformer(
        [("one", OneHotEncoder(), ["member", "country"])], remainder="passthrough"
    )
    y = y ^ frame["member"]
    for model in learners():
        check(make_pipeline(first, model).fit(frame, y), frame, thresholds=())


def test_recourse_in_an_imported_tree_is_recourse_in_the_tree_itself():
    frame, y = table(27)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    for model in (make_pipeline(prepared(False), tree), tree):
        people = frame if model is not tree else frame[NUMBERS]
        read = read_model(model.fit(people, y), people)
        matrix = read.encoder.matrix(people)
        cost = make_cost("percentile").fit(matrix.T, read.encoder.weights)
        refused = ~read.decide(people)
        found = ExactSearch(read.ensemble, read.encoder.axes, cost).solve(matrix[refused])
        after = read.encoder.decode(found.values, like=people[refused])
        assert found.found.all() and (model.predict(after) == 1).all()


def test_whole_numbers_of_few_bytes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(-100, 100, 300), "b": rng.integers(0, 250, 300)})
    frame = frame.astype({"a": np.int8, "b": np.uint8})
    y = (frame["a"].astype(int) + frame["b"] > 120).to_numpy()
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))
    for people in (frame, frame.to_numpy(), frame[["b"]].to_numpy()):
        model.fit(people, y)
        read = read_model(model, people)
        rows = people[rng.permutation(300)] if isinstance(people, np.ndarray) else people[::-1]
        np.testing.assert_array_equal(read.score(rows), model.predict_proba(rows)[:, 1])
        np.testing.assert_array_equal(read.decide(rows), model.predict(rows))


def test_other_frames():
    polars = pytest.importorskip("polars")
    frame, y = table(11)
    people = polars.from_pandas(frame)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    for model, names in (
        (make_pipeline(OneHotEncoder(), forest), WORDS),
        (make_pipeline(RobustScaler(), forest), NUMBERS),
        (forest, NUMBERS),
    ):
        check(model.fit(people[names], y), people[names], thresholds=())


def test_frames_and_arrays_may_stand_for_each_other():
    frame, y = table(12)
    frame = frame[NUMBERS]
    array = frame.to_numpy()
    for model in (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)),
                  DecisionTreeClassifier(max_depth=4)):  # fmt: skip
        expected = model.fit(array, y).predict_proba(array)[:, 1]
        np.testing.assert_array_equal(read_model(model, frame).score(frame), expected)
        expected = model.fit(frame, y).predict_proba(frame)[:, 1]
        np.testing.assert_array_equal(read_model(model, array).score(array), expected)


def test_lightgbm_booster_and_best_iteration():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = table(13)
    frame = frame[NUMBERS]
    params = {"objective": "binary", "learning_rate": 0.5, "verbose": -1, "num_threads": 1}
    first, rest = (lightgbm.Dataset(frame[part], y[part]) for part in (slice(300), slice(300, 500)))
    stopped = lightgbm.train(
        params | {"early_stopping_round": 3}, first, 60, [rest], keep_training_booster=True
    )
    assert 0 < stopped.best_iteration < stopped.current_iteration()
    text = stopped.model_to_string(num_iteration=-1)
    for booster, n_trees in (
        (stopped, stopped.best_iteration),
        (lightgbm.Booster(model_str=text), stopped.current_iteration()),
    ):
        read = read_model(booster, frame)
        assert read.ensemble.n_trees == n_trees
        assert list(read.classes) == [0, 1] and read.desired == 1
        rows = rows_near(read, frame, np.random.default_rng(0))
        np.testing.assert_array_equal(read.score(rows), booster.predict(rows, raw_score=True))
        np.testing.assert_array_equal(read.decide(rows), booster.predict(rows) > 0.5)


def test_a_lightgbm_model_of_one_leaf_decides_for_everyone():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = table(14)
    frame = frame[NUMBERS]
    model = lightgbm.LGBMClassifier(min_child_samples=400, verbose=-1, n_jobs=1)
    y = y | (frame["age"] > 60)
    read = read_model(model.fit(frame, y), frame)
    np.testing.assert_array_equal(read.score(frame), model.predict(frame, raw_score=True))
    assert read.decide(frame).all() and len(read.ensemble.feature) == 1


@pytest.mark.parametrize("kind", ["gbtree", "dart"])
def test_xgboost_booster_and_best_iteration(kind):
    xgboost = pytest.importorskip("xgboost")
    frame, y = table(15)
    frame = frame[NUMBERS]
    model = xgboost.XGBClassifier(
        n_estimators=60, n_jobs=1, early_stopping_rounds=3, num_parallel_tree=2, booster=kind
    ).fit(frame[:300], y[:300], eval_set=[(frame[300:], y[300:])], verbose=False)
    n_trees = 2 * (model.best_iteration + 1)
    assert n_trees < model.get_booster().num_boosted_rounds() * 2
    assert check(model, frame, thresholds=()).ensemble.n_trees == n_trees
    booster = model.get_booster()  # predicts with all of its trees
    read = read_model(booster, frame)
    rows = rows_near(read, frame, np.random.default_rng(0))
    seen = xgboost.DMatrix(rows, nthread=1)
    np.testing.assert_array_equal(read.score(rows), booster.predict(seen, output_margin=True))
    np.testing.assert_array_equal(read.decide(rows), booster.predict(seen) > 0.5)


def test_xgboost_forest():
    xgboost = pytest.importorskip("xgboost")
    frame, y = table(16)
    check(xgboost.XGBRFClassifier(n_estimators=9, n_jobs=1).fit(frame[NUMBERS], y), frame[NUMBERS])


def test_pandas_categories():
    frame, y = table(17, n=1500)
    frame = with_categories(frame)
    models = [HistGradientBoostingClassifier(max_iter=8, random_state=0)]
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        pass
    else:
        models.append(LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1, min_data_per_group=5))
    for model in models:
        read = check(model.fit(frame, y), frame, thresholds=())
        used = {read.encoder.column_names[j] for j in read.ensemble.feature if j >= 0}
        assert "income" in used and any(name.startswith("purpose=") for name in used)


def test_whole_numbers_that_a_model_takes_as_categories():
    frame, y = table(18, n=1500)
    frame = frame[["income", "age", "member"]].assign(age=frame["age"] % 9)
    y = y ^ frame["age"].isin([1, 4, 5]).to_numpy()
    models = [
        HistGradientBoostingClassifier(max_iter=8, categorical_features=["age"], random_state=0),
        make_pipeline(
            ColumnTransformer([("a", OneHotEncoder(), ["age", "member"])], remainder="passthrough"),
            RandomForestClassifier(6, max_depth=5, random_state=0),
        ),
    ]
    for model in models:
        read = check(model.fit(frame, y), frame, thresholds=())
        assert read.encoder.space["age"].categories == tuple(range(9))
        assert read.encoder.space["member"].kind == "binary"
        actions = ActionSpace([Feature("age", change="increase")], limits=None)
        read = check(model, frame, actions, thresholds=())
        assert (
            read.encoder.space["age"].is_categorical and not read.encoder.space["income"].actionable
        )
        undeclared = read_model(model, frame, ActionSpace([Feature("income")], limits=None))
        assert undeclared.encoder.space["age"].is_categorical
        with pytest.raises(InvalidSpec, match="'age' is declared 'integer', but the model takes"):
            read_model(model, frame, ActionSpace([Feature("age", "integer")], limits=None))
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1, min_data_per_group=5)
    check(model.fit(frame, y, categorical_feature=["age"]), frame, thresholds=())


def test_numbers_declared_as_categories_and_groups_of_columns():
    frame, y = table(19)
    frame = frame[["income", "age"]].assign(age=frame["age"] % 6).join(
        pd.get_dummies(frame["purpose"], dtype=int)
    )  # fmt: skip
    words = ["car", "house", "other", "study", "trip"]
    actions = ActionSpace(
        [Feature("age", "categorical", "increase"), Feature("purpose", columns=words)],
        desired=0,
        limits=None,
    )
    for model in learners():
        check(model.fit(frame, y), frame, actions, thresholds=())
        check(make_pipeline(MinMaxScaler(), model).fit(frame, y), frame, actions, thresholds=())
        assert read_model(model, frame, actions).desired == 0
        assert read_model(model, frame, actions, desired=1).desired == 1


@pytest.mark.parametrize("kind", [RecourseTreeClassifier, RecourseForestClassifier])
def test_models_of_our_own_stay_as_they_are(kind):
    frame, y = table(20)
    words = np.array(["refused", "approved"])[y]
    model = kind(desired="approved", max_depth=4, random_state=0).fit(frame, words)
    read = read_model(model, frame)
    assert read.ensemble is model.ensemble_ and read.encoder is model.encoder_
    assert read.desired == "approved" and read.n_features == 7
    np.testing.assert_array_equal(read.decide(frame), model.predict(frame) == "approved")
    np.testing.assert_array_equal(read.score(frame), model.predict_proba(frame)[:, 0])
    np.testing.assert_array_equal(read.probability(frame), read.score(frame))
    fixed = ActionSpace([Feature("age", change="fixed")], limits=None)
    assert not read_model(model, frame, fixed).encoder.space["age"].actionable
    share = read_model(model, frame, threshold=0.4)
    np.testing.assert_array_equal(share.decide(frame), model.predict_proba(frame)[:, 0] >= 0.4)
    with pytest.raises(InvalidSpec, match="the model was trained for 'approved'"):
        read_model(model, frame, desired="refused")
    with pytest.raises(InvalidSpec, match="desired is 'refused', but the model"):
        read_model(model, frame, ActionSpace([], desired="refused", limits=None))
    with pytest.raises(InvalidSpec, match="The action space encodes the table as"):
        read_model(model, frame, ActionSpace([Feature("age", "categorical")], limits=None))
    search = GridSearchCV(model, {"max_depth": [3]}, cv=2).fit(frame, words)
    assert read_model(search, frame).ensemble is search.best_estimator_.ensemble_


def test_what_cannot_be_read_is_refused():
    frame, y = table(21)
    numbers = frame[NUMBERS]

    def refuses(model, match, people=numbers, kind=InvalidSpec, **given):
        with pytest.raises(kind, match=match):
            read_model(model, people, **given)

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    refuses(LogisticRegression().fit(numbers / 1e8, y), "LogisticRegression cannot be read; supp")
    calibrated = CalibratedClassifierCV(tree, cv=2).fit(numbers, y)
    refuses(calibrated, "CalibratedClassifierCV averages 2 models; one is supported: train it with")
    refuses("a model", "str cannot be read; supported are scikit-learn's DecisionTreeClassifier")
    refuses(DecisionTreeClassifier, "type cannot be read|ABCMeta cannot be read")
    three = np.arange(len(y)) % 3
    refuses(RandomForestClassifier(3).fit(numbers, three), r"has 3 class\(es\), 0, 1, 2; two")
    refuses(tree.fit(numbers, np.column_stack([y, y])), "predicts 2 targets at once; one is allow")
    from_tree = GradientBoostingClassifier(n_estimators=2, init=tree)
    refuses(
        from_tree.fit(numbers, y), "starts from DecisionTreeClassifier.*allowed are init='zero'"
    )
    for step, match in (
        (PolynomialFeatures(), "The step PolynomialFeatures.. before the model is not supported"),
        (FunctionTransformer(np.square), "FunctionTransformer.*is not supported; supported are C"),
        (SimpleImputer(missing_values=0), "takes 0 as missing; only NaN and None"),
        (make_pipeline(StandardScaler(), OrdinalEncoder()), "OrdinalEncoder comes after a step"),
    ):
        refuses(make_pipeline(step, tree).fit(numbers, y), match)
    one_hot_bins = KBinsDiscretizer(3, encode="onehot", strategy="uniform")
    refuses(make_pipeline(one_hot_bins, tree).fit(numbers, y), "KBinsDiscretizer.*not supported")
    tree.fit(numbers, y)
    refuses(tree, "desired is 'yes', which is not a class of the model; its", desired="yes")
    for threshold in (0, 1.1, "half", True, float("nan")):
        refuses(tree, "threshold must be a probability above 0 and at", threshold=threshold)

    def refuses_table(model, people, match):
        refuses(model, match, people, InvalidData)

    refuses_table(tree, frame, "trained on 5 columns, the table has 7")
    refuses_table(tree, numbers[NUMBERS[::-1]], "in this order; the table has 'member', 'debt'")
    refuses_table(tree, numbers.assign(income="much"), "Column 'income' holds text")
    scaled = make_pipeline(StandardScaler(), tree).fit(numbers, y)
    refuses_table(scaled, numbers.drop(columns="member"), "The table lacks 'member', which the")
    array = numbers.to_numpy()
    refuses_table(scaled.fit(array, y), array[:, 1:], "trained on 5 columns, the table has 4")


def test_what_cannot_be_read_of_lightgbm_is_refused():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = table(22)
    numbers = frame[NUMBERS]

    def refuses(match, target=y, people=numbers, kind=InvalidSpec, **params):
        model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1, **params)
        model.fit(numbers, target)
        with pytest.raises(kind, match=match):
            read_model(model, people)

    refuses("linear trees are not supported", linear_tree=True)
    refuses(r"has 3 class\(es\), 0, 1, 2; two are needed", np.arange(len(y)) % 3)
    refuses("objective is 'cross_entropy'; allowed are 'binary'", objective="cross_entropy")
    words = numbers.astype({"age": "category"})
    refuses("with 0 pandas category column.*the table has 1", people=words, kind=InvalidData)
    squares = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(numbers, y)
    with pytest.raises(InvalidSpec, match="LGBMRegressor predicts a number"):
        read_model(squares, numbers)


def test_what_cannot_be_read_of_xgboost_is_refused():
    xgboost = pytest.importorskip("xgboost")
    frame, y = table(23)
    numbers = frame[NUMBERS]

    def refuses(match, target=y, people=numbers, **params):
        model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, **params).fit(people, target)
        with pytest.raises(InvalidSpec, match=match):
            read_model(model, people)

    refuses("booster is 'gblinear'; allowed are 'gbtree'", booster="gblinear")
    refuses(r"has 3 class\(es\), 0, 1, 2; two are needed", np.arange(len(y)) % 3)
    refuses("objective is 'binary:logitraw'; allowed", objective="binary:logitraw")
    refuses("takes inf as missing; NaN or a finite", missing=np.inf)
    refuses("has 2 targets; one is allowed", np.column_stack([y, 1 - y]))
    squares = xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(numbers, y)
    with pytest.raises(InvalidSpec, match="XGBRegressor predicts a number"):
        read_model(squares, numbers)


def test_models_without_an_action_space_warn_of_what_is_assumed():
    frame, y = table(34)
    tree = DecisionTreeClassifier(max_depth=3).fit(frame[NUMBERS], y)
    space = ActionSpace([Feature("income")], limits=None)
    for ask in (import_model, find_recourse):
        with pytest.warns(
            AssumedActions, match="every other feature may change, 'income', 'share'"
        ):
            ask(tree, frame[NUMBERS])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(tree, frame[NUMBERS], actions=space)


def unfitted():
    models = [DecisionTreeClassifier(), RandomForestClassifier(), RecourseTreeClassifier()]
    models += [make_pipeline(StandardScaler(), DecisionTreeClassifier())]
    models += [GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2]})]
    return [*models, HistGradientBoostingClassifier()]


@pytest.mark.parametrize("model", unfitted(), ids=lambda model: type(model).__name__)
def test_a_model_must_be_fitted(model):
    with pytest.raises(NotFittedError):
        read_model(model, np.zeros((3, 2)))


@pytest.mark.parametrize("name", ["lightgbm.LGBMClassifier", "xgboost.XGBClassifier"])
def test_a_boosted_model_must_be_fitted(name):
    library, kind = name.split(".")
    model = getattr(pytest.importorskip(library), kind)()
    with pytest.raises(NotFittedError):
        read_model(model, np.zeros((3, 2)))


def test_scores_that_do_not_agree_are_an_error(monkeypatch):
    """In case a library comes to keep its models in another way."""
    frame, y = table(24)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[NUMBERS], y)
    monkeypatch.setattr(tree, "predict_proba", lambda rows: np.full((len(rows), 2), 0.5))
    with pytest.raises(InvalidSpec, match="DecisionTreeClassifier was read wrongly"):
        read_model(tree, frame[NUMBERS])


def test_sets_of_categories_may_not_grow_without_end(monkeypatch):
    frame, y = table(28)
    model = make_pipeline(OrdinalEncoder(), RandomForestClassifier(5, random_state=0))
    model.fit(frame[WORDS], y)
    monkeypatch.setattr("ract.trees.readers.layout.MOST_NODES", 20)
    with pytest.raises(
        InvalidSpec, match="sets of categories, and by numbers.*come to more than 20"
    ):
        read_model(model, frame[WORDS])


def test_other_libraries_are_not_loaded_unless_a_model_is_theirs():
    code = "import sys, ract.trees.readers; print({'lightgbm', 'xgboost'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def zero_heavy(seed, n=1000):
    """Columns that are mostly zero, on both sides of it, of tiny numbers, and with holes."""
    rng = np.random.default_rng(seed)
    mostly = np.where(rng.random((n, 3)) < 0.6, 0.0, rng.normal(size=(n, 3)))
    frame = pd.DataFrame(mostly, columns=["balance", "change", "holes"])
    frame["tiny"] = rng.choice(NEAR_ZERO, n)
    frame["income"] = rng.normal(size=n)
    good = (frame["balance"] < 0) + 0.6 * (frame["change"] <= 0) + 0.5 * (frame["tiny"] < 0)
    good += 0.4 * (frame["holes"] > 0) + 0.3 * frame["income"] + rng.normal(0, 0.2, n)
    holes = frame.assign(holes=frame["holes"].mask(rng.random(n) < 0.2))
    return frame, holes, (good > good.median()).to_numpy().astype(int)


EDGE = float(np.float32(1e-35))  # what LightGBM takes as zero, at most
NEAR_ZERO = [0.0, 1e-35, EDGE, np.nextafter(EDGE, 0), np.nextafter(EDGE, 1), 5e-324, 1e-310, 2e-35]
NEAR_ZERO = np.array([*NEAR_ZERO, *(-value for value in NEAR_ZERO), 1e-34, -1e-34])


def test_lightgbm_takes_tiny_numbers_as_zero():
    """At its thresholds of plus and minus 1e-35 decisions differed from the library's own."""
    lightgbm = pytest.importorskip("lightgbm")
    frame, holes, y = zero_heavy(0)
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, min_child_samples=5)
    rng = np.random.default_rng(1)
    for trained in (frame, holes):  # missing values change a split's rule for zeros
        model.fit(trained, y)
        assert repr(-EDGE) in model.booster_.model_to_string()
        for people in (frame, frame.astype(np.float32)):
            rows = people.sample(N_ROWS, replace=True, random_state=0, ignore_index=True)
            for name in frame.columns[:4]:
                rows[name] = rng.choice(NEAR_ZERO, N_ROWS).astype(people[name].dtype)
            read = read_model(model, people)
            np.testing.assert_array_equal(read.score(rows), model.predict(rows, raw_score=True))
            np.testing.assert_array_equal(read.decide(rows), model.predict(rows))
    scaled = make_pipeline(MaxAbsScaler(), model).fit(frame, y)
    np.testing.assert_array_equal(
        read_model(scaled, frame).score(rows), scaled.predict(rows, raw_score=True)
    )


def test_lightgbm_keeps_tiny_numbers_of_arrow_tables():
    lightgbm, pyarrow = pytest.importorskip("lightgbm"), pytest.importorskip("pyarrow")
    frame, _, y = zero_heavy(2)
    people = pyarrow.Table.from_pandas(frame)
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1).fit(people, y)
    read = read_model(model, people)
    np.testing.assert_array_equal(read.score(people), model.predict(people, raw_score=True))


def test_plans_to_below_zero_are_confirmed_by_lightgbm():
    """A plan that ended at -1e-35, which LightGBM takes as zero, was withdrawn as unknown."""
    lightgbm = pytest.importorskip("lightgbm")
    frame, _, _ = zero_heavy(3)
    frame = frame[["balance", "income"]]
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    model.fit(frame, frame["balance"] < 0)
    people = frame[frame["balance"] == 0].head(100)
    recourse = find_recourse(
        model, people, actions=ActionSpace.infer(frame, limits=None), reference=frame
    )
    assert (recourse.to_frame()["status"] == "optimal").all()
    assert model.predict(recourse.counterfactuals).all()


class OldestFirst(RandomForestClassifier):
    """Approves whoever is over 75, whatever its trees say."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 2] > 75, 1, super().predict(X))


def test_a_predict_that_is_not_the_trees_own_is_refused():
    """Statuses were those of the trees, not of the model that people meet."""
    frame, y = table(30)
    numbers = frame[NUMBERS]
    model = OldestFirst(n_estimators=5, random_state=0).fit(numbers, y * (numbers["age"] < 60))
    match = "OldestFirst.predict decides otherwise than the model's trees for [0-9]+ of 500 people"
    space = ActionSpace([Feature("income")], limits=None)
    for whole in (model, make_pipeline("passthrough", model)):
        with pytest.raises(InvalidSpec, match=match):
            read_model(whole, numbers)
    read_model(model, numbers, threshold=0.5)  # whose decisions come from predict_proba
    young = numbers[numbers["age"] < 70]
    read_model(model, young)
    old = numbers[numbers["age"] > 75]
    with pytest.raises(InvalidSpec, match=f"for [0-9]+ of {len(old)} people"):
        find_recourse(model, old, actions=space, reference=young)


def test_scores_that_stop_early_are_refused():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = table(31)
    early = {"pred_early_stop": True, "pred_early_stop_freq": 1, "pred_early_stop_margin": 0.1}
    model = lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1, **early)
    model.fit(frame[NUMBERS], y)
    with pytest.raises(InvalidSpec, match="LGBMClassifier.predict decides otherwise"):
        read_model(model, frame[NUMBERS])
    with pytest.raises(InvalidSpec, match="LGBMClassifier.predict_proba decides otherwise"):
        read_model(model, frame[NUMBERS], threshold=0.4)


def test_a_forest_of_many_threads_is_compared_in_one():
    """Threads add up in no fixed order, which breaks ties by chance."""
    frame, y = table(32)
    numbers = frame[["share", "age", "member"]]
    for seed in range(5):
        model = RandomForestClassifier(6, max_depth=2, n_jobs=3, random_state=seed)
        read_model(model.fit(numbers, y), numbers)


def test_ranges_stay_where_a_step_takes_values():
    """Ranges ran to the bounds of the action space, where Box-Cox raises an error."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.exponential(size=(300, 2)) + 0.1, columns=["debt", "loan"])
    frame["years"] = rng.integers(1, 9, 300)
    model = make_pipeline(PowerTransformer("box-cox"), RandomForestClassifier(5, random_state=0))
    model.fit(frame, frame["debt"] + 0.5 * frame["loan"] + 0.1 * frame["years"] < 1.2)
    space = ActionSpace(
        [Feature("debt", lower=-5, upper=50), Feature("loan", lower=0), Feature("years", lower=-3)],
        limits=None,
    )
    recourse = find_recourse(model, frame.head(60), actions=space, reference=frame, ranges=True)
    assert recourse.found.any() and np.nanmin(recourse.low) > 0
    plans = recourse.counterfactuals
    for ends in (recourse.low, recourse.high):
        assert model.predict(plans.where(np.isnan(ends), ends))[recourse.found].all()
    tightened = read_model(model, frame, space).encoder.space
    assert [feature.lower for feature in tightened] == [1e-300, 1e-300, 1]
    assert tightened["debt"].upper == 50


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_categories_that_a_step_was_not_trained_on_are_named(encoder):
    """The error was the step's own, of a column by its number."""
    frame, y = table(33)
    first = ColumnTransformer([("words", encoder, WORDS)], remainder="passthrough")
    model = make_pipeline(first, DecisionTreeClassifier(max_depth=3)).fit(frame, y)
    match = "Feature 'region' has 'w', on which the model was not trained; it takes 'n', 's'."
    with pytest.raises(InvalidData, match=match):
        read_model(model, frame.assign(region=frame["region"].replace("s", "w")))
    space = ActionSpace([Feature("region", "categorical", categories=["n", "s", "w"])], limits=None)
    with pytest.raises(InvalidData, match=match):
        read_model(model, frame, space)
    member = frame.assign(member=0)
    first = ColumnTransformer([("words", encoder, ["member"])], remainder="drop")
    model = make_pipeline(first, DecisionTreeClassifier(max_depth=3)).fit(member, y)
    assert read_model(model, member).encoder.space["member"].kind == "binary"  # never split by
