"""XGBoost's models: scores bit for bit, categories, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from ract._utils.errors import InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.checks import check
from tests.trees.readers.tables import (
    NUMBERS,
    check_decisions,
    rows_near,
    table,
    with_categories,
)

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


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
