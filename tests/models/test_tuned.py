"""A tuned classifier is its estimator with the weight that the goal needs."""

import numpy as np
import pytest
from sklearn.base import clone

from ract import RecourseBoostingClassifier, RecourseTreeClassifier, TunedRecourseClassifierCV
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.models.tuned import FEWEST, MIN_RECOURSE
from ract.trees import model_fingerprint

LOANS = load_loans(900)
TREE = RecourseTreeClassifier(LOANS.actions, max_depth=4, random_state=0)


@pytest.fixture(scope="module")
def tuned():
    return TunedRecourseClassifierCV(TREE).fit(LOANS.frame, LOANS.target)


def test_it_is_the_estimator_with_the_chosen_weight(tuned):
    search = tuned.weight_search_
    assert tuned.recourse_weight_ == search.weight and search.met
    (chosen,) = [trial for trial in search.trials if trial.weight == search.weight]
    assert chosen.recourse >= MIN_RECOURSE
    expected = clone(TREE).set_params(recourse_weight=search.weight).fit(LOANS.frame, LOANS.target)
    assert model_fingerprint(tuned.estimator_) == model_fingerprint(expected)
    assert not hasattr(TREE, "ensemble_") and TREE.recourse_weight != search.weight


def test_what_it_answers_is_what_the_fitted_estimator_answers(tuned):
    people, fitted = LOANS.frame.head(60), tuned.estimator_
    for name in ("predict", "predict_proba", "decision_function"):
        found, expected = (getattr(model, name)(people) for model in (tuned, fitted))
        np.testing.assert_array_equal(found, expected)
    found, expected = (model.recourse(people).to_frame() for model in (tuned, fitted))
    assert found.equals(expected)
    reasons = [model.reasons(people, reference=LOANS.frame) for model in (tuned, fitted)]
    np.testing.assert_array_equal(reasons[0].values, reasons[1].values)
    for name in ("desired_", "ensemble_", "encoder_", "cost_"):
        assert getattr(tuned, name) is getattr(fitted, name)
    assert tuned.actions is TREE.actions and tuned.budget_ == fitted.budget_
    assert tuned.feature_names_in_.tolist() == LOANS.frame.columns.tolist()


def test_what_cannot_be_tuned_is_refused():
    both = TunedRecourseClassifierCV(TREE, min_recourse=0.9, max_auc_loss=0.1)
    with pytest.raises(InvalidSpec, match="either min_recourse or max_auc_loss"):
        both.fit(LOANS.frame, LOANS.target)
    few = LOANS.frame.head(FEWEST - 1), LOANS.target.head(FEWEST - 1)
    with pytest.raises(InvalidData, match=f"needs {FEWEST} people or more, 5 of each class, got"):
        TunedRecourseClassifierCV(TREE).fit(*few)


def test_the_weight_of_a_booster_is_tuned():
    booster = RecourseBoostingClassifier(
        LOANS.actions, max_iter=15, min_samples_leaf=20, n_replicates=3, random_state=0
    )
    model = TunedRecourseClassifierCV(booster, min_recourse=0.99)
    model.fit(LOANS.frame, LOANS.target)
    assert model.recourse_weight_ > 0
    assert model.weight_search_.trials[0].auc > 0.7
