"""Displays: what is drawn is what was measured."""

import matplotlib as mpl
import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from ract import RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation.metrics import recourse_ratio, recourse_report, sendable
from ract.evaluation.plots import (
    BudgetDisplay,
    CostDisplay,
    GroupDisplay,
    LeversDisplay,
    PlanDisplay,
    PromisesDisplay,
    SendableDisplay,
    TradeoffDisplay,
)
from ract.evaluation.tradeoff import tradeoff_curve
from ract.recourse import find_levers
from ract.recourse.plan import Change, Plan

mpl.use("Agg")


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=700)


@pytest.fixture(scope="module")
def forest(loans):
    model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    return model.fit(loans.frame[:500], loans.target[:500])


@pytest.fixture
def ax():
    return mpl.figure.Figure().subplots()


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


def test_sendable_shares_are_those_that_were_counted(forest, loans, ax):
    sent = sendable(forest, loans.frame[500:], groups="Education")
    SendableDisplay.from_sendable(sent, ax=ax)
    drawn = np.asarray(ax.containers[0].lines[0].get_xdata(), float)
    assert drawn[0] == pytest.approx(sent.share)
    assert len(drawn) == 2 + len(sent.checks) and len(ax.containers) == 4


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


def test_groups_have_their_intervals(forest, loans, ax):
    report = recourse_report(forest, loans.frame[500:], groups="Education")
    GroupDisplay(report).plot(metric="mean cost", ax=ax)
    rows = report[report["metric"] == "mean cost"]
    drawn = np.asarray(ax.lines[0].get_xdata(), float)
    np.testing.assert_allclose(drawn, rows["value"][1:].astype(float))
    with pytest.raises(InvalidSpec, match="the report has 'accepted'"):
        GroupDisplay(report).plot(metric="moon")
    display = GroupDisplay.from_estimator(forest, loans.frame[500:], groups="Guarantor", ax=ax)
    assert set(display.report["group"]) == {"everyone", False, True}


def test_the_trade_off_marks_the_front(loans, ax):
    tree = RecourseTreeClassifier(loans.actions, max_depth=4)
    curve = tradeoff_curve(tree, loans.frame, loans.target, values=[0.0, 0.1, 1.0], cv=2)
    TradeoffDisplay.from_curve(curve, ax=ax)
    table = curve.to_frame()
    front = next(line for line in ax.lines if line.get_label().startswith("nothing better"))
    np.testing.assert_allclose(front.get_ydata(), table["AUC"][table["front"]])
    assert [text.get_text() for text in ax.texts] == ["0", "0.1", "1"]
    display = TradeoffDisplay.from_estimator(
        tree, loans.frame, loans.target, values=[0.0], cv=2, score="accuracy", ax=ax
    )
    assert display.ax_.get_ylabel() == "accuracy"


def test_displays_make_axes_of_their_own(forest, loans):
    display = CostDisplay(np.array([0.1, 0.2]), 0.3).plot()
    assert display.figure_ is display.ax_.figure
    mpl.pyplot.close(display.figure_)


@pytest.mark.parametrize("needed", [0.6, np.nan])
def test_a_promise_is_a_line_to_what_its_plan_wins(ax, needed):
    table = pd.DataFrame({
        "verdict": ["kept", "broken", "broken", "unknown", "kept"],
        "accepted": [True, False, True, True, True],
        "strength": [0.9, 0.4, 0.65, 0.7, 0.6],
        "needed": needed,
    })  # fmt: skip
    PromisesDisplay(table).plot(ax=ax)
    ends = [segment[:, 1] for lines in ax.collections for segment in lines.get_segments()]
    start = 0 if np.isnan(needed) else needed
    assert sorted(map(tuple, ends)) == sorted((start, won) for won in table["strength"])
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said[:4] == [
        "kept (2)", "broken: the plan is refused (1)", "broken: doing more is refused (1)",
        "not proved (1)",
    ]  # fmt: skip
    assert len(said) == 4 + (needed == 0.6)
    assert ax.get_title() == "5 open promises: 2 kept, 3 by exception"


def test_no_promises_are_drawn_as_none(ax):
    columns = ["verdict", "accepted", "strength", "needed"]
    PromisesDisplay(pd.DataFrame([], columns=columns)).plot(ax=ax)
    assert ax.get_title().startswith("0 open promises") and not ax.collections
