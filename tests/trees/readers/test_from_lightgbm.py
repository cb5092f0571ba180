"""LightGBM's models: scores bit for bit, and what it takes as zero."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
)

from ract import ActionSpace
from ract._utils.errors import InvalidData, InvalidSpec
from ract.recourse.find import find_recourse
from ract.trees.readers import read_model
from tests.trees.readers.checks import check
from tests.trees.readers.tables import NUMBERS, rows_near, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


# Which features may change is not what is read here.
N_ROWS = 10_000
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
