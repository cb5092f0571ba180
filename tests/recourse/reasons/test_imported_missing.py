"""Reasons from models of other libraries that take missing values."""

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from ract import ActionSpace, Feature, find_reasons, import_model
from tests.builders import credit_with_holes

TABLE, TARGET = credit_with_holes(400, 0)
NUMBERS = TABLE[["income", "savings", "age"]]
SPACE = ActionSpace(
    [
        Feature("income", missing="supply", supply_cost=0.1),
        Feature("savings"),
        Feature("age", change="fixed"),
    ],
    desired="yes",
    limits=None,
)


@pytest.mark.parametrize(
    "learner",
    [
        HistGradientBoostingClassifier(max_iter=15, random_state=0),
        lightgbm.LGBMClassifier(n_estimators=15, num_leaves=8, verbose=-1),
    ],
    ids=["scikit-learn", "lightgbm"],
)
def test_reasons_of_boosted_trees_on_a_table_with_missing_values(learner):
    model = learner.fit(NUMBERS, TARGET)
    people = NUMBERS.head(60)
    found = find_reasons(model, people, reference=NUMBERS, actions=SPACE, against="accepted")
    np.testing.assert_allclose(found.values.sum(axis=1), found.score - found.base, atol=1e-9)
    assert np.array_equal(found.refused, model.predict(people) != "yes")
    missing = [
        (i, reason)
        for i, person in enumerate(found)
        for reason in person.reasons
        if reason.direction == "missing"
    ]
    assert missing and all(people[reason.feature].isna().iloc[i] for i, reason in missing)
    for i, reason in missing:
        assert reason.changeable == (reason.feature == "income")
        if reason.alone:
            handed = people.iloc[[i]].assign(income=reason.from_value)
            assert model.predict(handed) == "yes"
    assert any(reason.alone for _, reason in missing)
    kept = import_model(model, NUMBERS, SPACE, desired="yes").reasons(
        people, reference=NUMBERS, against="accepted"
    )
    np.testing.assert_allclose(kept.values, found.values, atol=1e-12)
