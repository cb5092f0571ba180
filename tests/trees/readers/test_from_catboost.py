"""CatBoost's models: scores bit for bit, categories, and what is refused."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ract import (
    ActionSpace,
    Feature,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.tables import (
    NUMBERS,
    WORDS,
    check_decisions,
    rows_near,
    table,
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
