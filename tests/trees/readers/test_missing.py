"""Imported models on tables with missing values: every library has a rule of its own."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import ActionSpace, Feature, import_model, load_model, save_model
from ract._utils.errors import InvalidData, InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.tables import (
    WORDS,
    check_decisions,
    rows_near,
    signed,
    table,
    with_categories,
    with_holes,
)

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")

KINDS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": lambda: RandomForestClassifier(6, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(6, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=6, random_state=0),
    "lightgbm": lambda: light(),
    "lightgbm, use_missing=False": lambda: light(use_missing=False),
    "lightgbm, zero_as_missing": lambda: light(zero_as_missing=True),
    "xgboost": lambda: extreme(),
    "xgboost, missing=0": lambda: extreme(missing=0),
    "xgboost, missing=-0.1": lambda: extreme(missing=-0.1, max_depth=4),
    "catboost": lambda: cat(),
    "catboost, nan_mode=Max": lambda: cat(nan_mode="Max"),
}


def light(**given):
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(n_estimators=6, verbose=-1, n_jobs=1, **given)


def extreme(**given):
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=6, n_jobs=1, **given)


def cat(**given):
    return pytest.importorskip("catboost").CatBoostClassifier(
        iterations=6, thread_count=1, verbose=0, allow_writing_files=False, **given
    )


@pytest.mark.parametrize("name", KINDS)
def test_every_library_has_its_own_rule(name):
    frame, y = signed(0)
    holes, model = with_holes(frame), KINDS[name]()
    read = check_decisions(model.fit(holes, y), holes)
    assert read.ensemble.missing_left is not None
    array = with_holes(frame, 1).to_numpy()
    scaled = make_pipeline(StandardScaler(), model)
    check_decisions(scaled.fit(frame.to_numpy(), y), array, n=1500)  # saw no missing values
    imputed = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), model)
    read = check_decisions(imputed.fit(holes, y), holes, n=1500)
    assert np.isposinf(read.ensemble.threshold).any()  # only people without a value go right


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("indicator", [False, True])
def test_imputed_numbers(strategy, indicator, tmp_path):
    frame, y = signed(1)
    holes = with_holes(frame)
    imputer = SimpleImputer(strategy=strategy, add_indicator=indicator)
    model = make_pipeline(imputer, KINDS["forest"]()).fit(holes, y)
    read = check_decisions(model, holes)
    imported = import_model(model, holes, budget=np.inf)
    save_model(imported, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    rows = rows_near(read, holes, np.random.default_rng(2), 3000, positive=False)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(again.predict_proba(rows)[:, 1], model.predict_proba(rows)[:, 1])


def words_first(words):
    return ColumnTransformer([("w", words, WORDS)], remainder="passthrough", sparse_threshold=0)


@pytest.mark.parametrize("kind", ["str", "None", "NaN"])
def test_missing_words(kind):
    frame, y = table(2)
    frame = with_holes(frame[["income", "age", *WORDS]])
    if kind != "str":  # objects, which encoders tell apart
        words = frame[WORDS].astype(object)
        frame[WORDS] = words.where(words.notna(), None if kind == "None" else np.nan)
    mark = None if kind == "None" else np.nan
    several = [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OrdinalEncoder(),
        make_pipeline(
            SimpleImputer(missing_values=mark, strategy="most_frequent"), OneHotEncoder()
        ),
        make_pipeline(
            SimpleImputer(missing_values=mark, strategy="constant", fill_value="none"),
            OrdinalEncoder(),
        ),
    ]
    for k, words in enumerate(several):
        learner = KINDS["forest" if k % 2 else "histogram"]()
        model = make_pipeline(words_first(words), learner).fit(frame, y)
        wanted = ((k + (kind == "None")) % 2,)  # either class for every encoder
        read = check_decisions(model, frame, n=1500, positive=True, wanted=wanted)
        assert "purpose=missing" in read.encoder.column_names


@pytest.mark.parametrize("name", ["histogram", "lightgbm", "xgboost"])
def test_missing_pandas_categories(name):
    frame, y = table(3, n=800)
    frame = with_holes(with_categories(frame))
    given = {"xgboost": {"enable_categorical": True}, "lightgbm": {"min_data_per_group": 5}}
    model = KINDS[name]().set_params(**given.get(name, {})).fit(frame, y)
    read = check_decisions(model, frame, positive=True)
    used = {read.encoder.column_names[j] for j in read.ensemble.feature if j >= 0}
    # To LightGBM a missing category is like any that is not listed.
    assert ("purpose=missing" in used) == (name != "lightgbm") and "purpose=car" in used


@pytest.mark.parametrize("name", ["histogram", "forest"])
def test_nullable_and_polars_tables(name):
    polars = pytest.importorskip("polars")
    frame, y = signed(4)
    holes = with_holes(frame[["income", "age", "member"]])
    nullable = holes.astype({"income": "Float64", "age": "Int64", "member": "Int64"})
    for people in (nullable, polars.from_pandas(nullable)):
        model = KINDS[name]().fit(holes, y)
        read = read_model(model, people)
        np.testing.assert_array_equal(read.decide(people), model.predict(holes) == 1)
        scaled = make_pipeline(StandardScaler(), KINDS[name]()).fit(holes, y)
        read = read_model(scaled, people)
        np.testing.assert_array_equal(read.decide(people), scaled.predict(holes) == 1)


def test_what_cannot_be_read_of_missing_values_is_refused():
    frame, y = signed(5)
    frame = frame[["income", "age"]]
    holes = with_holes(frame)
    boosted = GradientBoostingClassifier(n_estimators=3).fit(frame, y)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)

    def refuses(model, match, people=holes, kind=InvalidData):
        with pytest.raises(kind, match=match):
            read_model(model, people)

    refuses(boosted, "Column 'income' has missing values, which the model does not take; put a")
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    refuses(make_pipeline(bins, tree).fit(frame, y), "'income' has missing values, which a step be")
    words, target = table(5)
    words = words[WORDS].astype(object)
    coded = make_pipeline(OneHotEncoder(), tree).fit(words, target)
    refuses(coded, "'purpose' has missing values, which a step before", words.where(words != "car"))
    both = words.where(words != "car", None).where(words != "trip", np.nan)
    refuses(coded.fit(both, target), "marks missing values in 2 ways, 'float', 'NoneType'", both)
    empty = holes.assign(debt=np.nan)
    dropping = make_pipeline(SimpleImputer(), tree)
    with pytest.warns(UserWarning, match="Skipping features without any observed values"):
        dropping.fit(empty, y)
    full = holes.assign(debt=1.0)
    refuses(
        dropping, "SimpleImputer drops columns that had no value in training", full, InvalidSpec
    )
    zeros = make_pipeline(SimpleImputer(missing_values=0), tree).fit(frame, y)
    refuses(zeros, "takes 0 as missing; only NaN and None", frame, InvalidSpec)


def test_a_value_that_was_never_missing_is_refused_and_may_be_declared():
    frame, y = signed(6)
    holes = frame.assign(age=with_holes(frame)["age"])
    model = KINDS["histogram"]().fit(with_holes(frame), y)
    people = with_holes(frame, 3)
    read = read_model(model, holes)
    for ask in (read.decide, import_model(model, holes).predict):
        with pytest.raises(InvalidData, match="'income'.*missing"):
            ask(people)
    space = ActionSpace([Feature(name, missing="stays") for name in frame.columns], limits=None)
    read = read_model(model, holes, space)
    np.testing.assert_array_equal(read.decide(people), model.predict(people) == 1)


def plans_hold(name, n):
    """Plans of people with and without values, some of which they may supply, are accepted."""
    frame, y = signed(7)
    people, model = with_holes(frame), KINDS[name]()
    model = make_pipeline(SimpleImputer(add_indicator=True), model) if name == "forest" else model
    model.fit(people, y)
    space = ActionSpace(
        [
            Feature("income", change="increase", missing="supply", supply_cost=0.1),
            Feature("share", missing="supply"),
            Feature("age", missing="stays"),
            Feature("debt", change="fixed", missing="supply"),
            Feature("member", missing="supply", supply_cost=0.2),
        ],
        limits=None,
    )
    imported = import_model(model, people, space, budget=np.inf)
    refused = people[np.asarray(model.predict(people)) == 0].head(n)
    assert len(refused) == n
    found = imported.recourse(refused)
    before, after = refused[found.found], found.counterfactuals[found.found]
    assert len(after) > 0.9 * len(refused)
    assert (np.asarray(model.predict(after)) == 1).all()
    assert (after["age"].isna() == before["age"].isna()).all()
    assert not (after.isna() & before.notna()).any(axis=None)
    assert (after.notna() & before.isna()).any(axis=None)
    assert (after["debt"] == before["debt"])[before["debt"].notna()].all()


@pytest.mark.parametrize("name", ["forest", "histogram"])
def test_plans(name):
    plans_hold(name, 25)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_plans_of_many(name):
    plans_hold(name, 200)
