"""Decisions where the scores of both classes tie."""

import numpy as np
import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from ract.trees.readers import read_model

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_a_tie_that_rounding_breaks():
    """Shares 8/9, 2/6, 1/9 and 4/6 and their complements both sum to 2, but not in doubles."""
    people = np.zeros((1, 1))
    forest = RandomForestClassifier(4, random_state=0).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    shares = [(8, 9), (2, 6), (1, 9), (4, 6)]
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        for k, (part, whole) in enumerate(shares[i] for i in order):
            y = np.arange(whole) < part
            forest.estimators_[k] = DecisionTreeClassifier().fit(np.zeros((whole, 1)), y)
        chosen = forest.predict(people)[0]
        assert chosen == (1 if order[0] == 0 else 0)
        assert forest.predict_proba(people)[0, chosen] == 0.5
        for desired in (0, 1):
            read = read_model(forest, people, desired=desired)
            assert read.score(people)[0] == forest.predict_proba(people)[0, desired]
            assert read.decide(people)[0] == (chosen == desired)
