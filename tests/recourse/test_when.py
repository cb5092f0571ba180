"""Months against brute force: every value that a person can take in every month."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    InvalidSpec,
    RecourseForestClassifier,
    find_recourse,
    has_recourse,
)
from ract.recourse import time_frontier

COURSES = ("none", "short", "long")
LAST = 14


def space(drifting, **more):
    since = Feature("since", "integer", "fixed", 0, 60, drift=1.0 if drifting else 0.0)
    return ActionSpace(
        [
            since,
            Feature("income", "integer", "increase", 0, 20, pace="10%"),
            Feature("savings", "integer", "any", 0, 12, pace=(0.5, 24), per="month", delay=2),
            Feature("course", "categorical", "increase", categories=COURSES, delay="6 months"),
        ],
        desired="yes",
        limits=None,
        steps=None,
        **more,
    )


def table(n, rng):
    return pd.DataFrame(
        {
            "since": rng.integers(0, 30, n),
            "income": rng.integers(0, 21, n),
            "savings": rng.integers(0, 13, n),
            "course": rng.choice(COURSES, n),
        }
    )


def labels(X, rng):
    """Who waits too long is refused again."""
    course = X["course"].map({"none": 0, "short": 3, "long": 6})
    score = X["income"] + X["savings"] + course + 8 * X["since"].between(9, 19)
    return np.where(score + rng.normal(0, 2, len(X)) > 24, "yes", "no")


@pytest.fixture(scope="module", params=[True, False], ids=["drift", "no drift"])
def fitted(request):
    rng = np.random.default_rng(7)
    X = table(800, rng)
    model = RecourseForestClassifier(
        space(request.param), n_estimators=7, cost="range", budget=0.4, random_state=0
    ).fit(X, labels(X, rng))
    return model, request.param


class BruteForce:
    """All plans of all people in all months, by rules that are written down again here."""

    def __init__(self, model, drifting):
        self.drifting, self.budget = drifting, model.budget_
        every = list(product(range(0, 70), range(21), range(13), range(3)))
        grid = pd.DataFrame(every, columns=["since", "income", "savings", "course"])
        grid["course"] = [COURSES[k] for k in grid["course"]]
        accepted = model.predict(grid) == "yes"
        self.accepted = accepted.reshape(70, 21, 13, 3)
        # What the cost of a change of each feature is, from people who change nothing else.
        start = grid.head(1)
        span = {"income": 21, "savings": 13, "course": 3}
        self.effort = {}
        for name, n in span.items():
            other = pd.concat([start] * n).assign(
                **{name: COURSES if name == "course" else range(n)}
            )
            rows = model.encoder_.matrix(other)
            self.effort[name] = np.array(
                [model.cost_.between(np.tile(row, (n, 1)), rows) for row in rows]
            )

    def in_month(self, person, t):
        """Cost of the cheapest plan of a person in month t alone; inf without one."""
        since, income, savings, course = person
        since += t if self.drifting else 0
        most = min(20, income + int(income * 10 * t // 100))
        time = max(0, t - 2)
        low, high = max(0, savings - 24 * time), min(12, savings + time // 2)
        courses = range(course, 3 if t >= 6 else course + 1)
        incomes, levels = slice(income, most + 1), slice(low, high + 1)
        wins = self.accepted[since, incomes, levels, courses.start : courses.stop]
        cost = np.maximum.reduce(
            np.broadcast_arrays(
                self.effort["income"][income, incomes][:, None, None],
                self.effort["savings"][savings, levels][None, :, None],
                self.effort["course"][course, courses.start : courses.stop][None, None, :],
            )
        )
        best = np.where(wins, cost, np.inf).min()
        return best if best <= self.budget + 1e-9 else np.inf

    def months(self, person, last):
        return np.array([self.in_month(person, t) for t in range(last + 1)])

    def stays(self, values, first, horizon):
        """The last month up to which someone is accepted who does nothing more."""
        since, income, savings, course = values
        for t in range(first + 1, horizon + 1):
            later = since + (t - first if self.drifting else 0)
            if not self.accepted[later, income, savings, course]:
                return t - 1
        return horizon if self.drifting else np.inf


def as_numbers(X):
    return [(*map(int, row[:3]), COURSES.index(row[3])) for row in X.itertuples(index=False)]


def check(model, drifting, X, last=LAST):
    brute = BruteForce(model, drifting)
    by, soon = model.recourse(X, by=last), model.recourse(X, by=last, cost="time")
    everyone = set(as_numbers(X))
    costs = {person: brute.months(person, last) for person in everyone}
    brute.budget = np.inf  # months are all that the earliest plan costs
    firsts = {person: brute.months(person, last) for person in everyone}
    accepted = model.predict(X) == "yes"
    ends = (as_numbers(by.outcomes), as_numbers(soon.outcomes))
    seen = {"wait": 0, "lost": 0, "none": 0, "later": 0}
    for i, person in enumerate(as_numbers(X)):
        months = costs[person]
        if accepted[i]:
            assert by.status[i] == soon.status[i] == "accepted"
            assert by.until[i] == brute.stays(person, 0, 36)
            continue
        check_earliest(soon, i, firsts[person], last, brute, person)
        if np.isinf(months).all():
            assert by.status[i] == "none within budget"
            assert np.isnan(by.month[i])
            seen["none"] += 1
            continue
        assert by.status[i] == "optimal"
        assert by.cost[i] == pytest.approx(months.min()) and np.isfinite(by.month[i])
        month = int(by.month[i])
        assert brute.in_month(person, month) == pytest.approx(by.cost[i])
        if drifting:
            assert month == np.flatnonzero(months <= months.min() + 1e-9)[0]
            assert ends[0][i][0] == person[0] + month
        for found, end in zip((by, soon), ends, strict=True):
            assert brute.accepted[end[i]]
            assert found.until[i] == brute.stays(end[i], int(found.month[i]), 36)
        seen["wait"] += soon[i].waits
        seen["lost"] += soon.until[i] < 36
        seen["later"] += by.month[i] > soon.month[i]
    return seen


def check_earliest(soon, i, months, last, brute, person):
    """The earliest month in which there is a plan at all is what it costs."""
    if np.isinf(months).all():
        assert soon.status[i] == "none within budget" and soon.cost[i] == np.inf
        assert soon.month_bound[i] == soon.bound[i] == last + 1
        return
    earliest = int(np.flatnonzero(np.isfinite(months))[0])
    assert soon.status[i] == "optimal" and soon.month_bound[i] == earliest
    assert soon.cost[i] == soon.bound[i] == soon.month[i] == earliest
    own = dict(zip(("since", "income", "savings", "course"), person, strict=True))
    effort = max(
        (brute.effort[c.feature][own[c.feature], position(c)] for c in soon[i].changes
         if not c.by_itself), default=0.0,
    )  # fmt: skip
    assert effort == pytest.approx(months[earliest])
    assert max(soon.effort[i]) <= earliest


def position(change):
    return COURSES.index(change.after) if change.feature == "course" else int(change.after)


def test_months_costs_and_intervals_are_those_of_brute_force(fitted):
    model, drifting = fitted
    seen = check(model, drifting, table(60, np.random.default_rng(1)))
    assert seen["none"] and seen["later"]
    assert not drifting or (seen["wait"] and seen["lost"])


@pytest.mark.slow
def test_months_of_5000_people_are_those_of_brute_force(fitted):
    check(*fitted, table(5_000, np.random.default_rng(2)), last=36)


def test_the_frontier_falls_from_the_earliest_month_to_the_cheapest_plan(fitted):
    model, drifting = fitted
    X, brute = table(40, np.random.default_rng(3)), BruteForce(model, drifting)
    frontier = time_frontier(model, X, by=LAST)
    assert (frontier.groupby("person").size() <= 5).all()
    several = 0
    for i, person in enumerate(as_numbers(X)):
        own = frontier[frontier["person"] == i]
        months = np.minimum.accumulate(brute.months(person, LAST))
        if brute.accepted[person] or np.isinf(months).all():
            assert not len(own)
            continue
        before = np.insert(months, 0, np.inf)[:-1]
        drops = np.flatnonzero(months < before - 1e-9)
        assert (own["status"] == "optimal").all() and len(own) == min(5, len(drops))
        assert own["month"].iloc[[0, -1]].tolist() == drops[[0, -1]].tolist()
        assert own["cost"].tolist() == pytest.approx(months[own["month"]].tolist())
        several += len(own) > 1
    assert several


def test_one_person_may_be_slower_than_others(fitted):
    model, _ = fitted
    X = table(80, np.random.default_rng(4))
    found = model.recourse(X, cost="time", by=LAST)
    moved = [i for i in np.flatnonzero(found.found) if found[i].changes[-1].feature == "income"]
    i = moved[0]
    slow = model.recourse(
        X, cost="time", by=LAST, overrides={i: {"income": Feature("income", pace=0)}}
    )
    assert not slow.changed[i, 1]
    same = np.delete(found.month, i), np.delete(slow.month, i)
    np.testing.assert_array_equal(*same)


def test_a_search_that_ends_early_proves_no_month(fitted):
    model, _ = fitted
    X = table(60, np.random.default_rng(5))
    found = model.recourse(X, cost="time", by=LAST, max_nodes=0, time_limit=None)
    known = model.recourse(X, cost="time", by=LAST)
    have = found.found & known.found
    assert (found.month_bound <= known.month_bound).all()
    assert (found.month[have] >= known.month[have]).all()
    assert not (np.isin(found.status, ("none", "none within budget")) & known.found).any()


def test_other_models_take_time_as_well():
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = table(300, rng)[["since", "income", "savings"]]
    y = X["income"] + X["savings"] + 8 * X["since"].between(9, 19) > 20
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    actions = ActionSpace(list(space(True))[:3], desired=True, limits=None, steps=None)
    found = find_recourse(forest, X.head(40), actions=actions, by="1 year", reference=X)
    assert found.found.any() and (forest.predict(found.outcomes)[found.found]).all()
    assert (found.month[found.found] <= 12).all()


def test_texts_say_what_takes_how_long(fitted):
    model, drifting = fitted
    X = table(60, np.random.default_rng(1))
    found = model.recourse(X, cost="time")
    texts = [found[int(i)].describe() for i in np.flatnonzero(found.found)]
    assert any(re.search(r"This takes \d+ months?\.", text) for text in texts)
    waiting = "If nothing else changes, you would meet today's criteria in"
    assert any(waiting in text for text in texts) == drifting
    none = model.recourse(X, by=0)
    assert any("within 0 months" in plan.describe() for plan in none)


def test_reach_within_a_time_is_for_training_too():
    rng = np.random.default_rng(7)
    X = table(300, rng)
    y = labels(X, rng)
    plain, soon = (
        RecourseForestClassifier(actions, n_estimators=5, cost="range", random_state=0).fit(X, y)
        for actions in (space(True), space(True).within("3 months"))
    )
    reach = plain.recourse(X).after, soon.recourse(X).after
    today = plain.encoder_.matrix(X)
    assert ((reach[1] - today)[:, 1] <= np.floor(today[:, 1] * 0.3) + 1e-9).all()
    assert ((reach[0] - today)[:, 1] > np.floor(today[:, 1] * 0.3)).any()
    assert soon.recourse(X).changed[:, 3].sum() == 0  # a course takes longer


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "6 weeks"}, "by must be months or years, such as '6 months', got '6 weeks'."),
        ({"by": -1}, "by must be 0 months or more, got -1."),
        ({"by": 1.5}, "by must be a whole number of months, got 1.5."),
        ({"by": True}, "by must be months or years"),
        ({"by": 6, "strength": "most"}, "strength='most' and a time"),
    ],
)
def test_bad_times_are_refused(fitted, asked, said):
    with pytest.raises(InvalidSpec, match=re.escape(said)):
        fitted[0].recourse(table(5, np.random.default_rng(0)), **asked)


def test_months_are_the_budget_of_time(fitted):
    model, _ = fitted
    X = table(60, np.random.default_rng(1))
    some, every = model.recourse(X, cost="time", budget=7.5), model.recourse(X, cost="time", by=7)
    np.testing.assert_array_equal(some.cost, every.cost)
    assert some.budget == 7 and some.cost[some.found].max() <= 7
    assert any("within 7 months." in plan.describe() for plan in some)
    with pytest.raises(InvalidSpec, match="is for find_recourse"):
        has_recourse(model, X, cost="time")


def test_times_need_a_pace():
    rng = np.random.default_rng(0)
    X = table(100, rng)
    still = [replace(f, pace=None, delay=0, drift=0) for f in space(False)]
    model = RecourseForestClassifier(ActionSpace(still, "yes", limits=None), n_estimators=3)
    with pytest.raises(InvalidSpec, match="none has a pace, a delay or a drift"):
        model.fit(X, labels(X, rng)).recourse(X, cost="time")
