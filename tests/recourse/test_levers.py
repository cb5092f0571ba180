"""The menu of levers, beside every action of small random tables."""

import itertools

import numpy as np
import pytest

from ract import RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract.data import load_loans
from ract.recourse import find_levers
from ract.recourse.common.search import Limits
from ract.recourse.levers import Menu
from tests.builders import quick_of
from tests.recourse.rules.test_search import Case


def naive_menu(case, most, budget):
    """Least cost by set of axes, of the sets that hold no smaller one."""
    columns = [list(axis.columns) for axis in case.encoder.axes]
    changed = np.stack([(case.rows[:, at] != case.person[at]).any(axis=1) for at in columns], 1)
    menu = {}
    for size in range(1, most + 1):
        for levers in itertools.combinations(range(len(columns)), size):
            others = [a for a in range(len(columns)) if a not in levers]
            inside = case.kept & ~changed[:, others].any(axis=1) & (case.costs <= budget)
            if inside.any() and not any(set(one) <= set(levers) for one in menu):
                menu[levers] = case.costs[inside].min()
    return menu


@pytest.mark.parametrize("objective", ["largest", "sum", "per change"])
@pytest.mark.parametrize("part", quick_of(1, range(20)))
def test_all_minimal_sets_are_found_with_their_cheapest_plans(objective, part):
    for seed in range(10 * part, 10 * part + 10):
        rules = [[], ["order"], ["together", "implies"]][seed % 3]
        case = Case([31, seed], rules, objective)
        own = (case.rows == case.person).all(axis=1)
        if case.kept[own].any():
            continue  # accepted as they are
        search, menus = case.search, []

        def take(_, person, menus=menus):
            menus.append(Menu.of(person, 3, 0.7, 10**6))

        search.for_each(take, case.person[None], Limits())
        expected = naive_menu(case, 3, 0.7 * (1 + 1e-12))
        assert set(menus[0].sets) == set(expected) and not menus[0].undecided
        for levers, plan in menus[0].sets.items():
            assert np.isclose(plan[1], expected[levers])


@pytest.fixture(scope="module")
def lending():
    loans = load_loans(600, random_state=0)
    model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    return model.fit(loans.frame, loans.target), loans.frame.head(30)


def test_plans_change_exactly_their_levers_and_are_accepted(lending):
    model, people = lending
    levers = find_levers(model, people, budget=0.6)
    assert len(levers.sets) == len(levers.plans) == len(levers.people) > 5
    assert levers.accepted.tolist() == people.index[model.predict(people) == "approved"].tolist()
    for names, plan in zip(levers.sets, levers.plans, strict=True):
        assert {change.feature for change in plan.changes} == set(names)
    assert (model.predict(levers.plans.counterfactuals) == "approved").all()
    whole = model.recourse(people, budget=0.6, max_changes=3, explain=False)
    for label, plan in zip(people.index, whole, strict=True):
        if label in levers.accepted:
            continue
        costs = levers.plans.cost[levers.people == label]
        assert (len(plan.changes) > 0) == (len(costs) > 0)
        if len(costs):
            assert costs.min() >= plan.cost * (1 - 1e-9)  # larger sets may be cheaper
    frame = levers.to_frame()
    assert frame["features"].tolist() == [", ".join(names) for names in levers.sets]


def test_a_limit_leaves_sets_undecided_and_wrong_numbers_are_refused(lending):
    model, people = lending
    rest = people[model.predict(people) != "approved"].head(3)
    cut = find_levers(model, rest, max_nodes=0)
    for label in rest.index:
        assert cut.undecided[label]
        assert cut.enough(label, *cut.undecided[label][0]) is None
    for wrong in (0, 1.5, True, "three"):
        with pytest.raises(InvalidSpec, match="max_features must be"):
            find_levers(model, rest, max_features=wrong)
