"""Which plans a notice offers, and in which order."""

from dataclasses import replace

import pytest

from ract.notices.ways import is_safe, only_change, sufficient, ways_of
from ract.recourse.plan import Change, Plan
from ract.recourse.reasons import PersonReasons, Reason

INCOME = Change("Income", 41000, 46000.0, 0.2, 46000.0, 52000.0)
DEBT = Change("Debt", 900.0, 500.0, 0.1, None, 500.0)
PURPOSE = Change("Purpose", "car", "home", 0.1, switch=True)
PLAN = Plan("A", "approved", "optimal", 0.2, 0.2, 0.3, (INCOME,), at_least=True)
CHEAP = replace(PLAN, changes=(DEBT,), cost=0.1)


def features(ways):
    return [[change.feature for change in way.changes] for way in ways]


def reasons(*given):
    return PersonReasons("A", "approved", "refused", 0.3, 0.5, 0.6, "margin", given)


def test_few_changes_come_first_and_then_little_effort():
    both = replace(PLAN, changes=(INCOME, PURPOSE), cost=0.05)
    plan = replace(both, alternatives=(PLAN, CHEAP))
    assert features(ways_of(plan)) == [["Debt"], ["Income"]]  # the other asks for all of Income
    plan = replace(PLAN, changes=(PURPOSE, DEBT), cost=0.05, alternatives=(PLAN,))
    assert features(ways_of(plan)) == [["Income"], ["Purpose", "Debt"]]


def test_what_a_reason_says_is_enough_comes_before_what_is_cheaper():
    why = reasons(Reason("Income", 41000, 45000, -0.2, 0.5, "too low", alone=True, asked=True))
    assert sufficient(why) == ["Income"] and sufficient(None) == []
    assert features(ways_of(replace(CHEAP, alternatives=(PLAN,)), why)) == [["Income"], ["Debt"]]
    assert features(ways_of(replace(CHEAP, alternatives=(PLAN,)))) == [["Debt"], ["Income"]]


def changed(after, *further, **given):
    return replace(PLAN, changes=(replace(DEBT, after=after, high=after), *further), **given)


def test_the_plan_that_is_only_just_enough_stands_before_the_stronger_one():
    less = changed(800.0, cost=0.05, strength=0.6, smaller=True)
    strong = changed(500.0, cost=0.1, strength=0.8, alternatives=(less,))
    assert [way.smaller for way in ways_of(strong)] == [True, False]
    why = reasons(Reason("Income", 41000, 45000, -0.2, 0.5, "too low", alone=True, asked=True))
    both = replace(strong, alternatives=(less, replace(PLAN, strength=0.8)))
    assert [(way.cost, way.smaller) for way in ways_of(both, why)] == [
        (0.2, False), (0.05, True), (0.1, False),
    ]  # fmt: skip
    nearly = replace(less, changes=changed(599.0).changes)
    assert [way.smaller for way in ways_of(replace(strong, alternatives=(nearly,)))] == [False]


def test_a_way_that_asks_for_nearly_all_of_another_one_and_more_is_left_out():
    cheap = changed(500.0, cost=0.1)
    for after, n_ways in ((600.0, 1), (620.0, 2)):  # three quarters of the way, and less
        more = changed(after, PURPOSE, cost=0.2)
        assert len(ways_of(replace(cheap, alternatives=(more,)))) == n_ways


def test_more_than_three_changes_are_offered_only_to_who_has_nothing_else():
    names = ("Savings", "Rent", "Loans", "Time")
    four = replace(PLAN, changes=tuple(replace(INCOME, feature=name) for name in names))
    assert features(ways_of(replace(four, alternatives=(CHEAP,)))) == [["Debt"]]
    assert features(ways_of(four)) == [list(names)]


def test_at_most_three_are_offered():
    names = ("Debt", "Savings", "Rent", "Loans")
    plans = [replace(CHEAP, changes=(replace(DEBT, feature=name),)) for name in names]
    assert len(ways_of(replace(PLAN, alternatives=tuple(plans)))) == 3


@pytest.mark.parametrize(
    ("changes", "at_least", "expected"),
    [((INCOME,), True, True), ((INCOME,), False, False), ((PURPOSE,), False, True)],
)
def test_a_way_is_safe_if_more_is_proved_or_there_is_no_more(changes, at_least, expected):
    assert is_safe(replace(PLAN, changes=changes, at_least=at_least)) == expected


def test_what_changes_by_itself_is_not_asked_for():
    aged = Change("Age", 30, 31, 0.0, by_itself=True)
    assert only_change(replace(PLAN, changes=(INCOME, aged)), "Income")
    assert not only_change(replace(PLAN, changes=(INCOME, DEBT)), "Income")
