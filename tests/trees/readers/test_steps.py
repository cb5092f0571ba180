"""Pipelines: columns are followed through scalers, encoders and functions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
    import_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.costs import make_cost
from ract.recourse.exact.search import ExactSearch
from ract.trees.readers import read_model, steps
from tests.trees.readers.checks import check, learners, wanted_of
from tests.trees.readers.tables import (
    NUMBERS,
    WORDS,
    check_decisions,
    rows_near,
    table,
)

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


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
        whole = make_pipeline(SCALERS[name], model).fit(people, y)
        check(whole, people, thresholds=(), wanted=wanted_of(k))


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
    for k, model in enumerate(learners()[which % 3 :][:1] if which else learners()):
        whole = make_pipeline(prepared(False, **one_hot), model).fit(frame, y)
        read = check(whole, frame, thresholds=(), wanted=wanted_of(which or k))
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
    for k, model in enumerate(learners()):
        whole = make_pipeline(first, model).fit(frame, y)
        check(whole, frame, thresholds=(), wanted=wanted_of(k))


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
    for k, model in enumerate(learners()):
        whole = make_pipeline(first, second, model).fit(frame, y)
        check(whole, frame[frame.columns[::-1]], thresholds=(), wanted=wanted_of(k))


def test_cells_of_truth_values_and_of_words_without_a_choice():
    frame, y = table(26)
    frame = frame.assign(member=frame["member"] == 1, country="here")[["age", "member", "country"]]
    first = ColumnTransformer(
        [("one", OneHotEncoder(), ["member", "country"])], remainder="passthrough"
    )
    y = y ^ frame["member"]
    for k, model in enumerate(learners()):
        whole = make_pipeline(first, model).fit(frame, y)
        check(whole, frame, thresholds=(), wanted=wanted_of(k))


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
