"""Categories that a library numbers."""

import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
)

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.checks import check
from tests.trees.readers.tables import table, with_categories

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


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
