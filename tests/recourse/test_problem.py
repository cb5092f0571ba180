"""Problems: made from a model and keywords, read once, with the budget and cost that hold."""

import dataclasses
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseTreeClassifier,
    audit,
    certify,
    find_reasons,
    find_recourse,
    has_recourse,
    verify,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.evaluation import guarantee_recourse
from ract.evaluation.metrics import outlier_score, recourse_ratio, recourse_report, validity
from ract.recourse.problem import RecourseProblem, own_budget

PEOPLE = pd.DataFrame({"age": [30, 40, 50, 60] * 5, "income": np.arange(20.0)})
APPROVED = (PEOPLE["income"] >= 10).astype(int)
SPACE = ActionSpace([Feature("age", change="fixed"), Feature("income")], limits=None)
PLAIN = DecisionTreeClassifier(max_depth=1).fit(PEOPLE, APPROVED)


@cache
def own():
    tree = RecourseTreeClassifier(SPACE, desired=1, max_depth=1, budget=0.4)
    return tree.fit(PEOPLE, APPROVED)


def test_a_problem_stands_for_its_model_and_keywords():
    problem = RecourseProblem(PLAIN, SPACE, budget=0.2)
    assert RecourseProblem.of(problem, {"budget": None}, "f") is problem
    with pytest.raises(InvalidSpec, match="f was given a RecourseProblem, which says 'budget'"):
        RecourseProblem.of(problem, {"budget": 0.3}, "f")
    with pytest.raises(TypeError, match=r"f\(\) got an unexpected keyword argument 'budge'"):
        RecourseProblem.of(PLAIN, {"budge": 0.3}, "f")


def test_the_same_model_and_reference_are_read_once_until_it_is_fitted_again():
    model = DecisionTreeClassifier(max_depth=1).fit(PEOPLE, APPROVED)
    keywords = {"actions": SPACE, "reference": PEOPLE}
    problem = RecourseProblem.of(model, keywords, "f")
    assert RecourseProblem.of(model, keywords, "f") is problem
    first, second = (problem.encoded(PEOPLE.head(n)) for n in (2, 3))
    assert first.tree is second.tree and first.cost is second.cost
    model.fit(PEOPLE, 1 - APPROVED)
    again = problem.encoded(PEOPLE.head(2))
    assert again.tree is not first.tree
    np.testing.assert_array_equal(again.decide(), [True, True])
    assert not first.decide().any()


def test_the_budget_is_the_one_given_or_that_of_training():
    assert own_budget(own()) == 0.4 and own_budget(own(), 0.1) == 0.1
    assert own_budget(PLAIN) == np.inf
    with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
        own_budget(PLAIN, -1)
    assert RecourseProblem(own()).encoded(PEOPLE).budget == 0.4


def test_costs_are_those_of_training_or_learned_from_the_reference():
    assert RecourseProblem(own()).encoded(PEOPLE).cost is own().cost_
    learned = RecourseProblem(PLAIN, SPACE, reference=PEOPLE).encoded(PEOPLE.head(1)).cost
    change = learned.between(np.array([[30.0, 0.0]]), np.array([[30.0, 10.0]]))
    assert change == pytest.approx(0.5)  # ten of twenty people lie between


def test_invalid_rows_are_set_aside_with_labels_of_the_others():
    table = PEOPLE.head(4).astype(object)
    table.loc[1, "income"] = "much"
    question, invalid = RecourseProblem(own()).encoded_valid(table)
    assert question.labels.tolist() == invalid.valid.tolist() == [0, 2, 3]
    assert list(invalid.messages) == [1]
    for refused in (RecourseProblem(own()).encoded, lambda X: strictly(X)):
        with pytest.raises(InvalidData):
            refused(table)
    assert RecourseProblem(own()).encoded_valid(PEOPLE)[1] is None


def strictly(X):
    return RecourseProblem(own()).encoded_valid(X, strict=True)


def test_columns_in_another_order_and_models_of_other_columns_are_refused():
    with pytest.raises(InvalidData, match="in another order than in training"):
        RecourseProblem(own()).encoded(PEOPLE[["income", "age"]])
    with pytest.raises(InvalidSpec, match="The list of models is empty"):
        RecourseProblem([]).encoded(PEOPLE)
    wider = dataclasses.replace(RecourseProblem(own()), model=[own(), PLAIN])
    assert len(wider.encoded(PEOPLE).each) == 2


def told(model, X, y, **keywords):
    """What functions that take a problem say of it, in words and numbers."""
    certificate = certify(model, X, **keywords)
    asked = {name: value for name, value in keywords.items() if name != "threshold"}
    return {
        "plans": find_recourse(model, X, **keywords).cost,
        "recourse": has_recourse(model, X, **keywords),
        "reasons": [len(person.reasons) for person in find_reasons(model, X, **keywords)],
        "certificate": dataclasses.replace(certificate, date="").to_dict(),
        "verified": bool(verify(certificate, model, X, **keywords)),
        "guarantee": guarantee_recourse(model, X, 0.5, 0.8, **asked).describe(),
        "report": recourse_report(model, X, y, **keywords).to_numpy().tolist(),
        "ratio": recourse_ratio(model, X, **keywords),
        "validity": validity(model, X, **keywords),
        "outliers": outlier_score(model, X, **keywords),
        "audit": audit(model, X, y, **keywords).metrics.to_numpy().tolist(),
    }


@pytest.mark.parametrize("budget", [None, 0.3])
def test_functions_take_a_problem_or_a_model_with_its_keywords(budget):
    keywords = {"actions": SPACE, "reference": PEOPLE, "budget": budget}
    by_model = told(PLAIN, PEOPLE, APPROVED, **keywords)
    by_problem = told(RecourseProblem(PLAIN, **keywords), PEOPLE, APPROVED)
    for what, said in by_model.items():
        np.testing.assert_equal(by_problem[what], said, err_msg=what)
    assert by_model["verified"]


def test_what_a_problem_says_is_not_said_again():
    problem = RecourseProblem(PLAIN, SPACE, reference=PEOPLE, budget=0.3, threshold=0.6)
    for function in (certify, audit, partial(verify, certify(problem, PEOPLE))):
        with pytest.raises(InvalidSpec, match="was given a RecourseProblem, which says 'desired'"):
            function(problem, PEOPLE, desired=1)
    with pytest.raises(InvalidSpec, match="certify was given a RecourseProblem, which says 'bud"):
        certify(problem, PEOPLE, 0.3)
    with pytest.raises(InvalidSpec, match="chooses the threshold"):
        guarantee_recourse(problem, PEOPLE, 0.5)
    for function in (certify, audit):
        with pytest.raises(TypeError, match="unexpected keyword argument 'budgets'"):
            function(PLAIN, PEOPLE, budgets=0.3)
