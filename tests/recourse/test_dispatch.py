"""Which search serves a question, what it refuses, and what becomes of its answers."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import ActionSpace, Feature, RecourseTreeClassifier, import_model, load_loans
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.recourse.common.answers import Answers
from ract.recourse.dispatch import SEARCHES, Task, answer, confirm_plans, search_for
from ract.recourse.find import inquire
from ract.recourse.options import Levels, Options
from ract.recourse.problem import RecourseProblem

PEOPLE = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0] * 5, "income": np.arange(20.0)})
APPROVED = (PEOPLE["income"] >= 10).astype(int)


def question_about(rules=(), also=False, **problem):
    """A tree that accepts incomes of 10 or more (the cut lies at 9.5)."""
    space = ActionSpace([Feature("age"), Feature("income")], rules=rules, limits=None)
    model = RecourseTreeClassifier(space, desired=1, max_depth=1).fit(PEOPLE, APPROVED)
    models = [model, model] if also else model
    return RecourseProblem(models, **problem).encoded(PEOPLE)


@pytest.mark.parametrize(
    ("problem", "options", "name"),
    [
        ({}, {}, "exact"),
        ({"cost": "l1"}, {}, "additive"),
        ({"also": True}, {}, "several"),
        ({"rules": ["income <= age"]}, {"n_alternatives": 1}, "ruled"),
        ({"rules": ["income <= age"], "also": True}, {}, "ruled several"),
        ({}, {"method": "leaves"}, "leaves"),
        ({}, {"effects": {}}, "causal"),
        ({}, {"plausibility": "isolation_forest"}, "plausible"),
    ],
    ids=str,
)
def test_the_search_follows_from_the_question(problem, options, name):
    assert search_for(question_about(**problem), Options.of(**options)) is SEARCHES[name]


@pytest.mark.parametrize(
    ("problem", "options", "sentence"),
    [
        ({"also": True}, {"ranges": True, "prefer": "fewest"}, "'ranges', 'prefer' need the"),
        ({"also": True}, {"method": "leaves"}, "method='leaves' and several models cannot"),
        ({}, {"effects": {}, "plausibility": "isolation_forest"}, "plausibility and effects"),
        ({"rules": ["income <= age"]}, {"effects": {}}, "rules between features and effects"),
        ({"rules": ["income <= age"]}, {"margin": 0.1}, "'margin' needs the exact method"),
        ({}, {"method": "leaves", "max_nodes": 5}, "max_nodes and method='leaves' cannot be"),
    ],
    ids=str,
)
def test_what_a_search_does_not_honour_is_refused(problem, options, sentence):
    with pytest.raises(InvalidSpec, match=sentence):
        search_for(question_about(**problem), Options.of(**options))


def answered(question, rows=(3, 15), **options):
    answers, rows = Answers.unknown(question.matrix), np.array(rows)
    options = Options.of(**options)
    task = Task(question, options, question.encoder.axes)
    answer(task, search_for(question, options), rows, answers)
    return answers


def test_answers_have_the_effort_of_each_change_and_the_words_of_the_budget():
    answers = answered(question_about(budget=0.4), rows=(0, 8))
    assert [Status(s).word for s in answers.status[[0, 8]]] == ["none within budget", "optimal"]
    # From 8 to 9.5: one and a half of the twenty steps between people.
    assert answers.cost[8] == pytest.approx(0.075)
    np.testing.assert_allclose(answers.effort[8], [0.0, 0.075])
    assert np.isinf(answers.cost[0]) and answers.obstacles[0].budget == pytest.approx(0.475)


def test_what_is_known_of_costs_is_taken_account_of():
    question = question_about(budget=np.inf)
    task = Task(question, Options(), question.encoder.axes, most=np.array([0.2]))
    for row, status in ((3, Status.NONE), (8, Status.OPTIMAL)):
        answers = Answers.unknown(question.matrix)
        answer(task, SEARCHES["exact"], np.array([row]), answers)
        assert answers.status[row] == status


def test_plans_that_the_model_refuses_are_withdrawn_with_a_warning():
    question = question_about(budget=np.inf)
    answers = answered(question, rows=(3, 4, 5), n_alternatives=0)
    further = answers.take(np.array([3, 4]))
    answers.alternatives[3] = further
    answers.values[4, 1] = further.values[1, 1] = 9.0  # not enough
    with pytest.warns(UserWarning, match="did not confirm 2 of 5 plans"):
        confirm_plans(question, answers)
    assert answers.found.nonzero()[0].tolist() == [3, 5]
    assert answers.status[4] == Status.UNKNOWN and answers.values[4, 1] == 4
    assert answers.strength[[3, 5]].tolist() == [1, 1] and np.isnan(answers.strength[4])
    assert len(answers.alternatives[3].cost) == 1
    assert answers.alternatives[3].strength.tolist() == [1]


def test_plans_must_have_the_strength_that_was_asked_for():
    question = question_about(budget=np.inf)
    answers = answered(question, rows=(3,))
    weak = dataclasses.replace(question.ensemble, value=question.ensemble.value * 0.5)
    asked = question.by(weak).at_strength(0.9)
    with pytest.warns(UserWarning, match="did not confirm 1 of 1 plans"):
        confirm_plans(asked, answers)
    assert not answers.found.any()


@pytest.mark.parametrize(
    "learner",
    [
        GradientBoostingClassifier(n_estimators=15, random_state=0),
        RandomForestClassifier(15, max_depth=4, random_state=0),
    ],
)
def test_levels_asked_one_after_the_other_are_those_of_one_search(learner):
    """The searches that try levels person by person, and whole questions about each level."""
    loans = load_loans(400)
    space = ActionSpace(loans.actions.features, loans.desired)
    numbers = loans.frame[["Income", "Debt", "Savings", "LoanAmount"]]
    space = ActionSpace([f for f in space if f.name in numbers], loans.desired)
    model = import_model(learner.fit(numbers, loans.target), numbers, space)
    people = numbers[model.predict(numbers) != loans.desired].head(40)
    levels, n_stronger = Levels((0.1, 0.3, 0.6), beside=True), 0
    for options in ({}, {"at_least": True}, {"prefer": "fewest"}, {"margin": 0.1}):
        inquiry = inquire(model, people, max_changes=2, explain=False, **options)
        entry = inquiry.search
        assert "levels" in entry.honours
        whole = dataclasses.replace(
            inquiry, search=entry._replace(honours=entry.honours - {"levels"})
        )
        once, asked = inquiry.at_levels(levels), whole.at_levels(levels)
        np.testing.assert_allclose(once.cost, asked.cost, rtol=1e-9)
        np.testing.assert_allclose(once.strength, asked.strength, atol=1e-9)
        for one, other in zip(once, asked, strict=True):
            assert [p.cost for p in one.alternatives] == pytest.approx(
                [p.cost for p in other.alternatives]
            )
            n_stronger += len(one.alternatives)
    assert n_stronger > 20
