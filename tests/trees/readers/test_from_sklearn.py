"""scikit-learn's models: scores bit for bit, decisions one by one, near every threshold."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from tests.trees.readers.checks import check, learners
from tests.trees.readers.tables import NUMBERS, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


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
