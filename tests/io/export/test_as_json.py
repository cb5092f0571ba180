"""Exported JSON can be walked without ract."""

import json

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ract import (
    import_model,
)
from ract.io.export import to_json
from tests.io.export.models import (
    ANY,
    LOANS,
    MANY,
    NUMBERS,
    decide_from_json,
    mixed_forest,
    needing,
)


# JSON
def models_for_json():
    people = LOANS.frame[NUMBERS]
    yield mixed_forest(), LOANS.frame.columns
    yield needing(mixed_forest(), 4), LOANS.frame.columns
    for model in (
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(10, max_depth=5, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
    ):
        for desired in ("approved", "refused"):
            model.fit(people, LOANS.target)
            yield import_model(model, people, ANY, desired=desired), NUMBERS


def test_json_can_be_walked_without_ract():
    for model, columns in models_for_json():
        exported = json.loads(json.dumps(to_json(model), allow_nan=False))
        new = MANY[list(columns)].head(500)
        decided = np.array(list(decide_from_json(exported, new)))
        assert np.array_equal(decided, model.predict(new) == model.desired_)
