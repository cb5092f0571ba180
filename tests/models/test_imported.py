"""Models of other libraries decide here as they do there."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import ActionSpace, Feature, import_model
from ract._utils.errors import InvalidSpec
from ract.data.costs import CombinedCost
from ract.models.examples import loans_tree

PEOPLE = np.random.default_rng(0).normal(size=(200, 3))
FOREST = RandomForestClassifier(n_estimators=5, random_state=0).fit(PEOPLE, PEOPLE[:, 0] > 0)
SPACE = ActionSpace([Feature("x0")], desired=True, limits=None)


def test_decisions_and_probabilities_are_those_of_the_library():
    imported = import_model(FOREST, PEOPLE, SPACE)
    assert imported.source == "sklearn.RandomForestClassifier" and imported.n_features_in_ == 3
    np.testing.assert_array_equal(imported.predict(PEOPLE), FOREST.predict(PEOPLE))
    ours, theirs = (model.predict_proba(PEOPLE) for model in (imported, FOREST))
    np.testing.assert_array_equal(ours[:, 1], theirs[:, 1])
    np.testing.assert_array_equal(ours[:, 0], 1 - theirs[:, 1])
    assert imported.score(PEOPLE, PEOPLE[:, 0] > 0) == FOREST.score(PEOPLE, PEOPLE[:, 0] > 0)


@pytest.mark.parametrize("budget", [-1, True, "1", np.nan])
def test_a_budget_is_a_number_of_zero_or_more(budget):
    with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
        import_model(FOREST, PEOPLE, SPACE, budget=budget)


def test_what_is_ours_need_not_be_imported():
    model, loans = loans_tree(max_depth=2)
    with pytest.raises(InvalidSpec, match="is one of ract's own"):
        import_model(model, loans.frame)


def test_a_combined_cost_counts_a_category_of_several_columns_once():
    columns = ("x1", "x2")
    either = (np.random.default_rng(0).random((200, 1)) < 0.5).astype(float)
    people = np.hstack([PEOPLE[:, :1], either, 1 - either])
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(people, either[:, 0] > 0)
    switch = Feature("side", "categorical", categories=("left", "right"), columns=columns)
    space = ActionSpace([Feature("x0"), switch], desired=True, limits=None)
    cost = CombinedCost("l1", per_change=1.0, largest=0.5)
    imported = import_model(forest, people, space, cost=cost, budget=np.inf)
    plans = imported.recourse(people[either[:, 0] == 0][:5], max_changes=1)
    np.testing.assert_allclose(plans.cost, 3.0)  # two columns, one change
    assert imported.cost_.between([[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]]).tolist() == [3.0]
