"""Small edges of the Python interface: what is meant, or one clear sentence."""

import re
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import ract
from ract import ActionSpace, Feature, RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.errors import InvalidData, InvalidSpec, how_to_install
from ract.data.costs import ScaledCost
from ract.data.datasets import load_loans
from ract.recourse.plan import Obstacle, Plan

LOANS = load_loans(300)
PEOPLE = LOANS.frame.set_axis([f"p{i}" for i in range(300)])
APPROVED = (LOANS.target == "approved").astype(int)


@pytest.fixture(scope="module")
def tree():
    model = RecourseTreeClassifier(LOANS.actions, desired=1, max_depth=3, random_state=0)
    return model.fit(LOANS.frame, APPROVED)


@pytest.fixture(scope="module")
def imported():
    numbers = LOANS.frame.select_dtypes("number")
    model = DecisionTreeClassifier(max_depth=3).fit(numbers, APPROVED)
    return ract.import_model(
        model, numbers, ActionSpace([Feature("Income")], limits=None), desired=1
    )


def test_one_person_as_a_series_is_refused_with_what_to_write(tree, imported):
    sentence = r"is one person as a Series; write people.loc\[\['p3'\]\] for a table of one"
    for ask in (tree.recourse, tree.predict, tree.reasons):
        with pytest.raises(InvalidData, match=sentence):
            ask(PEOPLE.loc["p3"])
    for ask in (ract.find_recourse, ract.recourse_status, ract.certify):
        with pytest.raises(InvalidData, match=sentence):
            ask(tree, PEOPLE.loc["p3"])
    with pytest.raises(InvalidData, match=sentence):
        imported.recourse(PEOPLE.loc["p3"])
    assert len(tree.recourse(PEOPLE.loc[["p3"]])) == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (PEOPLE.iloc[3].to_dict(), r"This is a dict; write pandas.DataFrame\(\[person\]\) for"),
        (PEOPLE[:3].to_dict("list"), r"pandas.DataFrame\(people\) if it has a list for each"),
        (PEOPLE[:3].to_dict("records"), r"people in a list; write pandas.DataFrame\(people\)"),
        ([PEOPLE.iloc[3], PEOPLE.iloc[4]], r"people in a list; write pandas.DataFrame\(people\)"),
        (PEOPLE.iloc[3].to_numpy(), "2-dimensional array, got ndarray of 1 dimension"),
        (None, "2-dimensional array, got NoneType of 0 dimension"),
        (PEOPLE[:3].to_numpy(), "The table lacks 'Age', .* and has 'x0', .* training did not have"),
        (PEOPLE[:0], "The table is empty: 0 rows and 11 columns"),
        (pd.concat([PEOPLE, PEOPLE[["Income"]]], axis=1), "name.* 'Income' appear more than once"),
        (PEOPLE.drop(columns="Income"), "The table lacks 'Income'"),
        (PEOPLE.assign(Extra=1), "The table has 'Extra' that training did not have"),
        (PEOPLE.iloc[:, ::-1], "in another order than in training"),
    ],
)
def test_what_is_no_table_of_people_is_refused_in_one_sentence(tree, given, sentence):
    asks = [tree.recourse, partial(tree.reasons, reference=LOANS.frame)]
    asks += [partial(ask, tree) for ask in (ract.has_recourse, ract.recourse_status)]
    for ask in asks:
        with pytest.raises(InvalidData, match=sentence) as refused:
            ask(given)
        assert "\n" not in str(refused.value)


def test_labels_may_be_missing_or_the_same(tree):
    labels = [np.nan, np.nan, 7, 7]
    plans = tree.recourse(PEOPLE[:4].set_axis(labels))
    assert [plan.describe() for plan in plans] == [p.describe() for p in tree.recourse(PEOPLE[:4])]
    np.testing.assert_equal([plan.person for plan in plans], labels)


def test_plans_are_taken_by_position(tree):
    plans = tree.recourse(PEOPLE[:20])
    with pytest.raises(TypeError, match=r"by position, such as \[0\], got 'p3'; .*get_loc\('p3'\)"):
        plans["p3"]
    with pytest.raises(TypeError, match="by position"):
        plans[1.5]
    with pytest.raises(IndexError, match=r"There are 20 people, from \[0\] on; got \[20\]"):
        plans[20]
    assert plans[plans.labels.get_loc("p3")].person == "p3"
    assert plans[np.int64(3)].person == plans[-17].person == "p3"


def test_a_budget_in_percent_is_refused(tree, imported):
    sentence = "budget is 30, but this cost is a share of people, from 0 to 1: write 0.3"
    with pytest.raises(InvalidSpec, match=sentence):
        tree.recourse(PEOPLE[:3], budget=30)
    with pytest.raises(InvalidSpec, match=sentence):
        ract.certify(tree, PEOPLE[:3], budget=30)
    with pytest.raises(InvalidSpec, match=sentence):
        RecourseForestClassifier(LOANS.actions, desired=1, budget=30).fit(LOANS.frame, APPROVED)
    numbers = LOANS.frame.select_dtypes("number")
    model = DecisionTreeClassifier(max_depth=3).fit(numbers, APPROVED)
    with pytest.raises(InvalidSpec, match=sentence):
        ract.import_model(
            model, numbers, ActionSpace([Feature("Income")], limits=None), desired=1, budget=30
        )
    for budget in (0, 1, 1.0, np.inf):
        tree.recourse(PEOPLE[:3], budget=budget)
    tree.recourse(PEOPLE[:3], budget=30, cost=ScaledCost("std"))  # which has no such end


def test_a_large_weight_allows_a_large_budget():
    heavy = ActionSpace([Feature("Income", weight=50.0)], desired=1, limits=None)
    model = RecourseTreeClassifier(heavy, max_depth=2, budget=30).fit(LOANS.frame, APPROVED)
    assert model.budget == 30


def test_an_unknown_option_is_that_of_the_function_that_was_called(tree, imported):
    for model in (tree, imported):
        with pytest.raises(TypeError, match=r"^recourse\(\) got an .*'budgt'. Did .* 'budget'"):
            model.recourse(PEOPLE[:3], budgt=0.3)
        with pytest.raises(TypeError, match=r"^reasons\(\) got an .* Did you mean 'max_reasons'"):
            model.reasons(PEOPLE[:3], max_reason=3)
    with pytest.raises(TypeError, match=r"recourse\w*\(\) got an .* Did you mean 'budget'"):
        ract.has_recourse(tree, PEOPLE[:3], budgt=0.3)


def test_one_default_budget(imported):
    assert imported.budget == RecourseTreeClassifier().budget_ == RecourseForestClassifier().budget_
    assert RecourseTreeClassifier(ActionSpace([Feature("x0")])).budget_ == 1.0
    assert RecourseTreeClassifier(ActionSpace([Feature("x0")], limits=None)).budget_ == 0.3


@pytest.mark.parametrize(("label", "said"), [(1, "class 1"), (True, "class True"), ("yes", "yes")])
def test_classes_are_named_as_such(label, said):
    def plan(status, **given):
        return Plan("p", label, status, np.inf, 0.0, 0.3, **given).describe()

    assert plan("accepted") == f"Already {said}: nothing to change."
    assert plan("none") == f"No allowed change leads to {said}."
    assert plan("none", needed=0.0) == f"No allowed change leads to {said}."
    assert plan("none", needed=0.7) == f"No allowed change leads to {said} with a strength of 0.7."


@pytest.mark.parametrize("budget", [0.3, 0.1 + 0.2, 0.123456789])
@pytest.mark.parametrize("more", [1e-12, 1e-7, 0.0004, 0.05])
def test_a_budget_that_would_do_is_more_than_the_one_that_does_not(budget, more):
    needed = budget + more
    plan = Plan("p", 1, "none within budget", np.inf, 0.0, budget, (), Obstacle((), True, needed))
    said, enough = (float(number) for number in re.findall(r"budget of ([\d.e-]+\d)", str(plan)))
    assert said == budget and enough >= needed > budget
    assert enough <= needed + 0.001


def test_what_to_install_is_said_for_this_very_python():
    assert how_to_install("serve").endswith('-m pip install "ract[serve]"')
    assert sys.executable in how_to_install("serve")


def test_an_unknown_option_is_named_with_the_function_that_was_called(tree):
    for function in (ract.find_recourse, ract.has_recourse, ract.recourse_status):
        with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an unexpected .* 'foo'"):
            function(tree, PEOPLE[:3], foo=1)


def test_a_time_limit_is_one_number_for_everyone(tree):
    with pytest.raises(InvalidSpec, match="time_limit must be a number of 0 or more"):
        tree.recourse(PEOPLE[:3], time_limit=np.ones(3))


def test_unknown_promises_nothing_of_more_time():
    """Leaves of one tree at a time miss what several trees allow together, and prove little."""
    forest = RecourseForestClassifier(LOANS.actions, desired=1, n_estimators=15, random_state=0)
    forest.fit(LOANS.frame, APPROVED)
    found = forest.recourse(PEOPLE, method="leaves", budget=0.1)
    text = found[int(np.flatnonzero(found.status == "unknown")[0])].describe()
    assert text.startswith("The search found neither a plan nor a proof that there is none")
