"""The question behind every answer, on a tree that accepts incomes of 10 or more."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.recourse.problem import RecourseProblem
from ract.recourse.question import check_strength

PEOPLE = pd.DataFrame(
    {"age": [30, 40, 50, 60] * 5, "income": np.arange(20.0), "home": ["rent", "own"] * 10}
)
APPROVED = (PEOPLE["income"] >= 10).astype(int)
AGE, HOME = Feature("age", change="fixed"), Feature("home", "categorical")


def question_about(people=PEOPLE, rules=(), weight=1.0, **problem):
    space = ActionSpace([AGE, Feature("income", weight=weight), HOME], rules=rules, limits=None)
    model = RecourseTreeClassifier(space, desired=1, max_depth=1).fit(PEOPLE, APPROVED)
    return RecourseProblem(model, **problem).encoded(people)


def test_decisions_and_strengths_are_those_of_the_tree():
    question = question_about()
    np.testing.assert_array_equal(question.decide(), PEOPLE["income"] >= 10)
    np.testing.assert_array_equal(question.wins(question.matrix), PEOPLE["income"] >= 10)
    some = question.of_rows(np.array([12, 3]))
    assert some.labels.tolist() == [12, 3] and some.decide().tolist() == [True, False]
    np.testing.assert_array_equal(some.known, question.matrix)  # the others are still known


def test_labels_are_those_of_the_table():
    named = PEOPLE.set_axis([f"p{i}" for i in range(20)])
    assert question_about(named).labels.tolist() == named.index.tolist()


def test_every_model_and_judge_must_agree():
    question = question_about()
    guard = question.ensemble
    both = question.agreed_by(guard, 0.5)
    assert [one.decides for one in both.each] == [True, False]
    assert both.each[1].strength == 0.5 and both.each[1].ensemble is guard
    with pytest.raises(InvalidSpec, match="What is asked is about one model of two classes"):
        both.refuse_several("What is asked")


def test_plans_are_put_to_the_model_and_ranges_that_it_refuses_shrink():
    question = question_about()
    rows, values = np.array([3, 3, 3]), question.matrix[[3, 3, 3]]
    values[:, 1] = 12.0, 9.0, 12.0
    low, high = np.full((2, 3, 3), np.nan)
    low[:, 1], high[:, 1] = (11, 9, 8), (15, 9, 15)
    found = question.confirmed(rows, values, low, high)
    assert found.accepted.tolist() == [True, False, True]
    assert found.low[:, 1].tolist() == [11, 9, 12] and found.high[:, 1].tolist() == [15, 9, 12]
    np.testing.assert_array_equal(found.values, values)


def test_rules_between_features_hold_or_not():
    question = question_about(rules=["income <= age"])
    values = question.matrix[[0, 0]]
    values[:, 1] = 30, 31
    assert question.keeps_rules(np.array([0, 0]), values).tolist() == [True, False]
    with pytest.raises(InvalidSpec, match="A certificate cannot take account of rules"):
        question.refuse_rules("A certificate")
    question_about().refuse_rules("A certificate")


def test_other_weights_are_another_cost():
    question, heavy = question_about(), question_about(weight=2.0)
    axes = heavy.encoder.axes
    before, after = question.matrix[:1], question.matrix[:1].copy()
    after[0, 1] = 5.0
    usual = question.cost.between(before, after)
    assert question.with_rules(axes).cost.between(before, after) == pytest.approx(2 * usual)
    assert question.with_rules(question.encoder.axes) is question
    free = question_about(weight=0.0)
    with pytest.raises(InvalidSpec, match="Changing 'income' is free for everybody"):
        free.with_rules(axes)


def test_values_come_back_in_the_terms_of_the_table():
    question = question_about()
    age, _, home = question.encoder.axes
    assert question.in_own_terms(home, question.matrix[:2]).tolist() == ["rent", "own"]
    ages = question.in_own_terms(age, question.matrix[:2]).tolist()
    assert ages == [30, 40] and all(isinstance(value, (int, float)) for value in ages)


@pytest.mark.parametrize("wrong", ["some", -0.1, 1.1, True, float("nan")])
def test_what_is_no_strength_is_refused(wrong):
    with pytest.raises(InvalidSpec, match="strength must be a share from 0 to 1"):
        check_strength(wrong)
    assert check_strength(None) is None and check_strength(0.7) == 0.7
