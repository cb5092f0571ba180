"""Every step of a search ends when the person's time is up: counted, not timed.

How long the steps take on a forest of 600,000 nodes stands in ``benchmarks/attack.py``.
"""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
)
from ract._kernels.search.cell_forest import polish
from ract._utils.status import Status
from ract.data.datasets import load_loans
from ract.recourse.calibration import LastingCurve, Point
from ract.recourse.common.search import Watch
from ract.recourse.exact import decide
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.ranges import Certifier
from ract.recourse.options import Levels


@pytest.fixture(scope="module")
def loans():
    return load_loans(500)


@pytest.fixture(scope="module")
def models(loans):
    forest = RecourseForestClassifier(loans.actions, n_estimators=12, max_depth=4, random_state=0)
    booster = RecourseBoostingClassifier(loans.actions, max_iter=12, random_state=0)
    both = {"votes": forest, "sum": booster}
    return {name: model.fit(loans.frame, loans.target) for name, model in both.items()}


def refused(model, loans, n):
    return loans.frame[model.predict(loans.frame) == "refused"][:n]


class Reads:
    """Counts how often trees are cut down, and lets the time be up at one of these."""

    def __init__(self, monkeypatch, at=None):
        self.at, self.n, self.flag = at, 0, np.zeros(1, np.uint8)
        timing = Watch.timing

        @contextmanager
        def observed(watch, i):
            with timing(watch, i) as flag:
                self.n, self.flag = 0, flag
                yield flag

        monkeypatch.setattr(Watch, "timing", observed)
        for place, name in ((decide.Model, "within"), (decide, "boxes_of")):
            monkeypatch.setattr(place, name, self.counted(getattr(place, name)))

    def counted(self, function):
        def wrapper(*arguments):
            self.n += 1
            self.flag[0] |= self.n == self.at
            return function(*arguments)

        return wrapper


OPTIONS = [
    {},
    {"ranges": True},
    {"n_alternatives": 2},
    {"at_least": True},
    {"margin": 0.2},
    {"prefer": "fewest"},
    {"prefer": "cheapest"},
    {"max_changes": 2},
    {"strength": "most"},
    {"cost": "l1", "budget": np.inf},
]


@pytest.mark.parametrize("kind", ["votes", "sum"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_tree_is_read_once_the_time_is_up(monkeypatch, loans, models, kind, options):
    model, most = models[kind], 0
    people = refused(model, loans, 6)
    for who in range(len(people)):
        person = people.iloc[[who]]
        known = find_recourse(model, person, reference=loans.frame, time_limit=None, **options)
        for at in (1, 2, 3, 5, 9):
            with monkeypatch.context() as patch:
                reads = Reads(patch, at)
                cut = find_recourse(model, person, reference=loans.frame, time_limit=1e6, **options)
            # One more at most: boxes are made of the trees that were cut down last.
            assert reads.n <= at + 1
            most = max(most, reads.n)
            claims = ("none", "none within budget")
            assert cut[0].status not in claims or known[0].status in claims
    assert most >= 2  # searches read more than once


def test_a_box_is_not_proved_once_the_time_is_up(loans, models):
    model = models["votes"]
    search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    accepted = loans.frame[model.predict(loans.frame) == "approved"][:1]
    [point] = search.problem.cells(model.encoder_.matrix(accepted))
    late = Certifier(search.refusing, stop=np.ones(1, np.uint8))
    assert Certifier(search.refusing).refused_within(point, point) == Status.NONE
    assert late.refused_within(point, point) == Status.UNKNOWN


def test_a_point_stays_as_it_is_once_the_time_is_up(loans, models):
    model = models["votes"]
    search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    forest, rules = search.model.decides_by
    people = model.encoder_.matrix(refused(model, loans, 20))
    cells = search.problem.cells(people)
    costs = search.problem.costs(people, cells)
    categorical, moved = search.problem.categorical, 0
    far = search.problem.cells(model.encoder_.matrix(loans.frame))
    far = far[model.ensemble_.decide(model.encoder_.matrix(loans.frame))]
    for own, prices in zip(cells, costs, strict=True):
        open_ = np.isfinite(prices[np.arange(len(own)), far]).all(axis=1)
        for late in (True, False):
            for start in far[open_][:5]:
                point = start.copy()
                polish(forest, rules, own, prices, categorical, np.array([late], np.uint8), point)
                assert not late or (point == start).all()
                moved += (point != start).any()
    assert moved > 0


SEVERAL = {
    "earliest month": {"cost": "time"},
    "by a month": {"by": 6},
    "levels by a month": {"strength": Levels((0.2, 0.4, 0.6)), "by": 6},
    "lasting by a month": {"lasting": 0.5, "by": 6},
    "lasting": {"lasting": 0.5},
    "strongest": {"lasting": 0.5},
    "strongest, at least": {"lasting": 0.5, "at_least": True},
    "with a guard": {"lasting": 0.5},
}


@pytest.fixture
def spent(monkeypatch):
    """Seconds of searches, each of which takes .3 of them or what is left of its time."""
    seconds = []

    @contextmanager
    def timing(watch, i):
        flag, left = watch.flags[i], float(watch._limits[i])
        flag[:] = left <= 0
        yield flag
        watch.seconds[i] = min(left, 0.3)
        seconds.append(watch.seconds[i])

    monkeypatch.setattr(Watch, "timing", timing)
    return seconds


@pytest.mark.parametrize("drift", [0, 1], ids=["", "drift"])
@pytest.mark.parametrize("name", SEVERAL)
def test_all_questions_about_a_person_share_one_limit(spent, loans, name, drift):
    aging = [replace(f, drift=drift) if f.name == "Age" else f for f in loans.actions]
    space = ActionSpace(aging, loans.desired)
    model = RecourseForestClassifier(space, n_estimators=5, max_depth=4, random_state=0)
    if name == "levels by a month":
        model = RecourseTreeClassifier(space, max_depth=4, random_state=0)
    model.fit(loans.frame, loans.target)
    points = (Point(0.8, 100, 120, 100, 97, (0.9, 1.0)),)
    rule = "strongest" if name.startswith("strongest") else "strength"
    guard = model.ensemble_ if name == "with a guard" else None
    model.lasting_ = LastingCurve(points, 0.9, 0.5, rule, guard=guard)
    for person in range(3):
        spent.clear()
        one = refused(model, loans, 3).iloc[[person]]
        found = find_recourse(model, one, time_limit=1.0, **SEVERAL[name])
        assert sum(spent) <= 1 + 1e-9
        assert found.answers.seconds.tolist() == pytest.approx([sum(spent)])
