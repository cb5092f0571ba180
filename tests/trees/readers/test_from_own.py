"""ract's own models, alone and after other steps."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.tables import (
    WORDS,
    rows_near,
    table,
)

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


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
