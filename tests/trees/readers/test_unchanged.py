"""A model of another library is read once, and again when it is another one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ract import ActionSpace, Feature, find_recourse
from ract.recourse import problem
from ract.trees.readers.unchanged import fitted_parts, same_parts


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])


def asked(model, people, space):
    return find_recourse(model, people.iloc[[0]], actions=space, reference=people)


def test_the_second_question_reads_nothing_and_a_new_fit_is_read_again(people, monkeypatch):
    target, space = people["a"] > 0.5, ActionSpace([Feature(name) for name in people], limits=None)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(people, target)
    n_read = []
    read = problem.read_model
    monkeypatch.setattr(
        problem, "read_model", lambda *args, **how: (n_read.append(1), read(*args, **how))[1]
    )
    first = asked(forest, people, space)
    again = asked(forest, people, space)
    assert len(n_read) == 1
    assert first.cost.tolist() == again.cost.tolist()
    forest.fit(people, people["b"] > 0.5)
    other = asked(forest, people, space)
    assert len(n_read) == 2
    fresh = RandomForestClassifier(8, max_depth=3, random_state=0).fit(people, people["b"] > 0.5)
    assert other.cost.tolist() == asked(fresh, people, space).cost.tolist()


def test_growing_further_is_seen_in_forests_boosters_and_pipelines(people):
    target = people["a"] > 0
    for model in (
        RandomForestClassifier(3, warm_start=True, random_state=0),
        GradientBoostingClassifier(n_estimators=3, warm_start=True),
    ):
        for steps in ([], [StandardScaler()]):
            last = clone(model)
            whole = make_pipeline(*steps, last)
            whole.fit(people, target)
            before = fitted_parts(whole)
            assert same_parts(before, fitted_parts(whole))
            last.set_params(n_estimators=5)
            whole.fit(people, target)
            assert not same_parts(before, fitted_parts(whole))
