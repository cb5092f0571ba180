"""The model's own predict judges what was read."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import ActionSpace, Feature, find_recourse
from ract._utils.errors import InvalidSpec
from ract.recourse import problem
from ract.trees.readers import read_model
from ract.trees.readers.agree import fitted_parts, same_parts
from tests.trees.readers.tables import NUMBERS, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_scores_that_do_not_agree_are_an_error(monkeypatch):
    """In case a library comes to keep its models in another way."""
    frame, y = table(24)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[NUMBERS], y)
    monkeypatch.setattr(tree, "predict_proba", lambda rows: np.full((len(rows), 2), 0.5))
    with pytest.raises(InvalidSpec, match="DecisionTreeClassifier was read wrongly"):
        read_model(tree, frame[NUMBERS])


class OldestFirst(RandomForestClassifier):
    """Approves whoever is over 75, whatever its trees say."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 2] > 75, 1, super().predict(X))


def test_a_predict_that_is_not_the_trees_own_is_refused():
    """Statuses were those of the trees, not of the model that people meet."""
    frame, y = table(30)
    numbers = frame[NUMBERS]
    model = OldestFirst(n_estimators=5, random_state=0).fit(numbers, y * (numbers["age"] < 60))
    match = "OldestFirst.predict decides otherwise than the model's trees for [0-9]+ of 500 people"
    space = ActionSpace([Feature("income")], limits=None)
    for whole in (model, make_pipeline("passthrough", model)):
        with pytest.raises(InvalidSpec, match=match):
            read_model(whole, numbers)
    read_model(model, numbers, threshold=0.5)  # whose decisions come from predict_proba
    young = numbers[numbers["age"] < 70]
    read_model(model, young)
    old = numbers[numbers["age"] > 75]
    with pytest.raises(InvalidSpec, match=f"for [0-9]+ of {len(old)} people"):
        find_recourse(model, old, actions=space, reference=young)


def test_scores_that_stop_early_are_refused():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = table(31)
    early = {"pred_early_stop": True, "pred_early_stop_freq": 1, "pred_early_stop_margin": 0.1}
    model = lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1, **early)
    model.fit(frame[NUMBERS], y)
    with pytest.raises(InvalidSpec, match="LGBMClassifier.predict decides otherwise"):
        read_model(model, frame[NUMBERS])
    with pytest.raises(InvalidSpec, match="LGBMClassifier.predict_proba decides otherwise"):
        read_model(model, frame[NUMBERS], threshold=0.4)


def test_a_forest_of_many_threads_is_compared_in_one():
    """Threads add up in no fixed order, which breaks ties by chance."""
    frame, y = table(32)
    numbers = frame[["share", "age", "member"]]
    for seed in range(5):
        model = RandomForestClassifier(6, max_depth=2, n_jobs=3, random_state=seed)
        read_model(model.fit(numbers, y), numbers)


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
