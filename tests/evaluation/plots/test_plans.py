"""Displays of plans: what is drawn is what was found."""

import matplotlib as mpl
import matplotlib.figure
import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract.evaluation.metrics import recourse_ratio
from ract.evaluation.plots import (
    BudgetDisplay,
    CostDisplay,
    LeversDisplay,
    PlanDisplay,
)
from ract.recourse import find_levers
from ract.recourse.plan import Change, Plan

mpl.use("Agg")


def test_a_plan_goes_from_now_to_its_goal(forest, loans, ax):
    recourse = forest.recourse(loans.frame[500:], ranges=True)
    person = int(np.flatnonzero(recourse.found)[0])
    display = PlanDisplay.from_recourse(recourse, person, ax=ax)
    plan = recourse[person]
    assert display.ax_ is ax and display.figure_ is ax.figure
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert [text.split("\n")[0] for text in labels] == [c.feature for c in plan.changes]
    said = {text.get_text() for text in ax.texts}
    assert all(c.will_do in said for c in plan.changes if c.will_do)
    accepted = int(np.flatnonzero(recourse.status == "accepted")[0])
    with pytest.raises(InvalidSpec, match="nothing to draw"):
        PlanDisplay.from_recourse(recourse, accepted)


@pytest.mark.parametrize(
    ("change", "band"),
    [
        (Change("a", 10.0, 20.0, 0.1, 20.0, 25.0), (1.0, 1.5)),
        (Change("a", 10.0, 20.0, 0.1, 20.0, None), (1.0, 1.9)),
        (Change("a", 20.0, 10.0, 0.1, None, 10.0), (1.0, 1.9)),
        (Change("a", 20.0, 10.0, 0.1, 5.0, 10.0), (1.0, 1.5)),
        (Change("a", 20.0, 10.0, 0.1, 10.0, 10.0), (1.0, 1.0)),
        (Change("a", "x", "y", 0.1, switch=True), (1.0, 1.0)),
    ],
)
def test_what_serves_as_well_is_shaded(change, band, ax):
    PlanDisplay(Plan(0, 1, "optimal", 0.1, 0.1, 0.3, (change,))).plot(ax=ax)
    (shaded,) = ax.patches[:1]
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == pytest.approx(band)


def test_the_menu_has_a_bar_for_each_set(forest, loans, ax):
    recourse = forest.recourse(loans.frame[500:])
    two = loans.frame[500:].iloc[np.flatnonzero(recourse.found)[:2]]
    levers = find_levers(forest, two)
    person = two.index[1]
    LeversDisplay.from_levers(levers, person, ax=ax)
    own = np.asarray(levers.people == person)
    assert [bar.get_width() for bar in ax.patches] == levers.plans.cost[own].tolist()
    with pytest.raises(InvalidSpec, match="person must be one of"):
        LeversDisplay.from_levers(levers)


def test_costs_are_counted(forest, loans, ax):
    recourse = forest.recourse(loans.frame[500:])
    CostDisplay.from_recourse(recourse, ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == recourse.found.sum()
    display = CostDisplay.from_estimator(forest, loans.frame[500:], ax=ax)
    np.testing.assert_array_equal(np.sort(display.costs), np.sort(recourse.cost[recourse.found]))


def test_the_budget_curve_is_the_recourse_ratio(forest, loans, ax):
    people = loans.frame[500:]
    display = BudgetDisplay.from_estimator(forest, people, ax=ax)
    for budget in (0.0, 0.05, 0.2, 1.0):
        assert display.share(budget) == pytest.approx(recourse_ratio(forest, people, budget=budget))
    heights = ax.lines[0].get_ydata()
    assert (np.diff(heights) >= 0).all() and heights[-1] <= 1
