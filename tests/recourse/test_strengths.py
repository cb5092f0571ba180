"""Plans of the same people at several strengths: as good as a search for each of them."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import ActionSpace, RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.status import Status
from ract.data.datasets import load_loans
from ract.recourse.exact.search import ExactSearch
from ract.recourse.find import inquire
from ract.recourse.strengths import AtStrengths
from ract.trees.readers import read_model

BUDGET = 0.4


def own(kind, loans, **given):
    model = kind(loans.actions, budget=BUDGET, random_state=0, **given)
    return model.fit(loans.frame, loans.target), loans.frame, {}


def theirs(model, loans):
    numbers = loans.frame.select_dtypes("number")
    space = ActionSpace.infer(numbers, fixed=["Age"], desired="approved", limits=None)
    given = {"actions": space, "reference": numbers, "budget": BUDGET}
    return model.fit(numbers, loans.target), numbers, given


MODELS = {
    "votes": lambda loans: own(RecourseForestClassifier, loans, n_estimators=15),
    "tree": lambda loans: own(RecourseTreeClassifier, loans, max_depth=6),
    "mean": lambda loans: theirs(
        RandomForestClassifier(12, min_samples_leaf=10, random_state=0), loans
    ),
    "sum": lambda loans: theirs(GradientBoostingClassifier(n_estimators=15, random_state=0), loans),
}


@pytest.mark.parametrize("kind", MODELS)
def test_up_and_down_plans_are_those_of_a_search_of_their_own(kind):
    """A fresh search for every strength, which shares nothing with the others."""
    loans = load_loans(n_people=400)
    model, table, given = MODELS[kind](loans)
    people = table[model.predict(table) == "refused"].iloc[:40]
    plans_of = AtStrengths(inquire(model, people, explain=False, **given))
    question = plans_of.inquiry.question
    some = np.arange(0, len(people), 3)
    n_found = set()
    for strength in (0.0, 0.6, 0.7, 0.9, 0.8, 0.65, "most", 0.75, 0.6):
        rows = some if strength == 0.7 else np.arange(len(people))
        plans = plans_of.at(strength, rows)
        most = strength == "most"
        tree = read_model(model, table, given.get("actions"))
        goal = tree.ensemble if most else tree.ensemble.stronger(strength)
        fresh = ExactSearch(goal, tree.encoder.axes, question.cost)
        alone = fresh.solve(question.matrix[rows], BUDGET, strongest=most)
        assert np.array_equal(plans.found, alone.status == Status.OPTIMAL), strength
        assert plans.cost == pytest.approx(alone.cost, abs=1e-12)
        if not most:
            assert (plans.strength[plans.found] >= strength - 1e-9).all()
        n_found.add(int(plans.found.sum()))
    assert len(n_found) > 1


def test_a_limit_of_nodes_leaves_people_unknown_and_never_without():
    loans = load_loans(n_people=400)
    model, table, _ = own(RecourseForestClassifier, loans, n_estimators=40, min_samples_leaf=2)
    people = table[model.predict(table) == "refused"]
    every, few = (
        inquire(model, people, explain=False, max_nodes=nodes).answered(0.8)
        for nodes in (10**6, 2)
    )  # fmt: skip
    assert (few.status == "unknown").any()
    assert np.isin(every.status[few.status == "none within budget"], "none within budget").all()
    assert not (few.status == "unknown").all()
