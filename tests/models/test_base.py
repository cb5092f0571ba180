"""What all learners share, checked on the smallest of them."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ract import ActionSpace, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.data.actions import budget_for
from ract.data.datasets import load_loans
from ract.trees import model_fingerprint

LOANS = load_loans(200)
X, Y = LOANS.frame, LOANS.target


def tree(**parameters):
    parameters = {"max_depth": 3, "recourse_weight": 0, **parameters}
    return RecourseTreeClassifier(LOANS.actions, **parameters)


@pytest.mark.parametrize("desired", ["approved", "refused"])
def test_scores_and_probabilities_are_of_the_second_class(desired):
    actions = ActionSpace(LOANS.actions, desired, limits=None)
    model = RecourseTreeClassifier(actions, max_depth=3, recourse_weight=0).fit(X, Y)
    assert model.classes_.tolist() == ["approved", "refused"]
    leaves = model.apply(X)
    share = np.array([(Y[leaves == leaf] == "refused").mean() for leaf in leaves])
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([1 - share, share]))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    ahead = model.decision_function(X)
    undecided = ahead == 0
    decided = np.where(ahead > 0, "refused", "approved")
    assert (model.predict(X) == decided)[~undecided].all() and not undecided.all()
    assert (model.predict(X) == desired)[undecided].all()


def test_a_path_has_the_leaf_and_as_many_nodes_as_the_depth():
    model = tree().fit(X, Y)
    path, leaves = model.decision_path(X).toarray(), model.apply(X)
    assert path[np.arange(len(X)), leaves].all() and path[:, 0].all()
    assert path.sum(axis=1).max() == 4


def test_a_prepared_table_gives_the_model_of_the_table():
    prepared = tree(recourse_weight=0.2).prepare(X, Y)
    for weight in (0.0, 0.2):
        found = tree(recourse_weight=weight).fit_prepared(prepared)
        expected = tree(recourse_weight=weight).fit(X, Y)
        assert model_fingerprint(found) == model_fingerprint(expected)


def test_importances_are_shares_of_splits():
    model = tree().fit(X, Y)
    split = model.ensemble_.feature[model.ensemble_.feature >= 0]
    features = model.encoder_.feature_of_column[split]
    expected = [(features == j).mean() for j in range(X.shape[1])]
    np.testing.assert_allclose(model.feature_importances_, expected)


def test_the_budget_is_the_given_one_or_that_of_the_actions():
    assert tree(budget=2).budget_ == 2.0
    assert tree().budget_ == budget_for(LOANS.actions)


def test_risk_is_the_share_of_people_without_a_plan():
    model = tree().fit(X, Y)
    for budget in (0.0, 0.1, 0.3):
        plans = model.recourse(X, budget=budget, strength=None)
        assert model.recourse_risk(X, budget) == pytest.approx(1 - plans.within_budget.mean())


@pytest.mark.parametrize("name", ["predict", "decision_function", "apply", "recourse"])
def test_an_unfitted_model_answers_nothing(name):
    with pytest.raises(NotFittedError):
        getattr(tree(), name)(X)


def test_constraints_are_chosen_by_name_or_given():
    with pytest.raises(InvalidSpec, match="monotonic must be one of .* got 'some'"):
        tree(monotonic="some").fit(X, Y)
    assert tree(monotonic="none").fit(X, Y).monotonic_ == {}
    given = tree(monotonic={"Income": 1}).fit(X, Y)
    assert given.directions == {"Income": 1} and not hasattr(given, "monotonic_")
