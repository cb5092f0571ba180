"""The table of answers: how parts are put together, taken back and set among invalid rows."""

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answer, Answers

PEOPLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def answered(rows, cost):
    """Answers of some people, each of whom moves to zeros."""
    part = Answers.unknown(PEOPLE[rows])
    part.status[:], part.cost[:], part.bound[:] = Status.OPTIMAL, cost, cost
    part.values[:] = 0.0
    return part


def test_parts_are_written_into_their_rows():
    table, part = Answers.unknown(PEOPLE), answered([2, 0], [0.5, 0.25])
    part.low = np.array([[1.0, np.nan], [2.0, 3.0]])
    part.alternatives[1] = answered([0], 1.0)
    table.put(np.array([2, 0]), part)
    assert table.cost.tolist() == [0.25, np.inf, 0.5]
    assert table.status.tolist() == [Status.OPTIMAL, Status.UNKNOWN, Status.OPTIMAL]
    np.testing.assert_array_equal(table.values, [[0, 0], [3, 4], [0, 0]])
    np.testing.assert_array_equal(table.low, [[2, 3], [np.nan, np.nan], [1, np.nan]])
    assert table.high is None and list(table.alternatives) == [0]


def test_taking_and_joining_rows_keeps_what_either_has():
    first, second = answered([0, 1], [0.1, 0.2]), answered([2], 0.3)
    second.strength = np.array([0.9])
    both = first.with_rows(second)
    assert both.cost.tolist() == [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(both.strength, [np.nan, np.nan, 0.9])
    assert both.take(np.array([2, 0])).cost.tolist() == [0.3, 0.1]


def test_an_action_that_is_withdrawn_leaves_the_person_unknown():
    table = answered([0, 1, 2], 0.5)
    table.strength, table.outcomes = np.ones(3), np.zeros((3, 2))
    table.withdraw(np.array([1]), PEOPLE)
    assert table.status.tolist() == [Status.OPTIMAL, Status.UNKNOWN, Status.OPTIMAL]
    assert np.isinf(table.cost[1]) and np.isnan(table.strength[1])
    assert table.values[1].tolist() == table.outcomes[1].tolist() == [3, 4]


def test_other_rows_are_invalid():
    table = answered([0, 1], 0.5).scattered(np.array([3, 1]), 4)
    invalid = [Status.INVALID, Status.OPTIMAL, Status.INVALID, Status.OPTIMAL]
    assert table.status.tolist() == invalid
    assert np.isnan(table.values[[0, 2]]).all() and (table.values[[1, 3]] == 0).all()


def test_the_gap_is_what_is_not_proved():
    table = answered([0, 1, 2], 0.5)
    table.status[1], table.bound[1] = Status.FOUND, 0.125
    table.status[2], table.cost[2] = Status.UNKNOWN, np.inf
    assert table.gap[0] == 0 and table.gap[1] == 0.375


def test_one_answer_is_written_down_with_its_values_if_it_has_some():
    table = Answers.unknown(PEOPLE)
    table.record(0, Answer(Status.OPTIMAL, 0.5, 0.25, nodes=7, values=np.array([8.0, 9.0])))
    table.record(1, Answer(Status.NONE, nodes=3))
    assert table.status.tolist() == [Status.OPTIMAL, Status.NONE, Status.UNKNOWN]
    assert table.cost.tolist() == [0.5, np.inf, np.inf] and table.nodes.tolist() == [7, 3, 0]
    assert table.bound.tolist() == [0.25, np.inf, 0.0]
    np.testing.assert_array_equal(table.values, [[8, 9], [3, 4], [5, 6]])
