"""Pieces of features that rules name, worked out by hand."""

import numpy as np

from ract.data import Condition, Feature, IfThen
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.recourse.rules.choices import category_choices, number_choices, round_values

TENTH = LinearCost("max", np.array([0.1]))


def after(value):
    return np.nextafter(value, np.inf)


def before(value):
    return np.nextafter(value, -np.inf)


def axis_of(**rules):
    return Axis(Feature("x", **{"kind": "continuous", "lower": 0.0, "upper": 10.0} | rules), (0,))


def test_cells_are_cut_at_the_own_value_and_at_constants():
    pieces = number_choices(axis_of(), np.array([5.0]), TENTH, 3.0, np.array([7.0]))
    assert pieces.low.tolist() == [0, 3, after(3), after(5), 7, after(7)]
    assert pieces.high.tolist() == [before(3), 3, 5, before(7), 7, 10]
    assert pieces.cell.tolist() == [0, 0, 0, 1, 1, 1] and pieces.own == 1
    np.testing.assert_allclose(pieces.effort, [0, 0, 0, 0.2, 0.4, 0.4], atol=1e-12)
    assert pieces.value.tolist() == np.clip(3.0, pieces.low, pieces.high).tolist()


def test_few_whole_numbers_and_round_values_are_pieces_of_their_own():
    whole = axis_of(kind="integer", change="increase", upper=6)
    pieces = number_choices(whole, np.array([4.0]), TENTH, 3.0, np.zeros(0))
    assert pieces.low.tolist() == pieces.high.tolist() == [3, 4, 5, 6]
    assert pieces.cell.tolist() == [0, 0, 1, 1] and pieces.own == 0
    stepped = number_choices(axis_of(step=5.0), np.array([4.0]), TENTH, 3.0, np.zeros(0))
    assert stepped.low.tolist() == round_values(3.0, 0.0, 10.0, 5.0).tolist()
    assert {0.0, 3.0, 5.0, 10.0} <= set(stepped.low.tolist())


def test_a_condition_holds_in_all_of_a_piece_or_nowhere():
    axis = axis_of(kind="integer", upper=4)
    pieces = number_choices(axis, np.zeros(0), TENTH, 1.0, np.zeros(0))  # 0, 1, 2, 3, 4
    rule = IfThen("x >= 2", "x <= 3")
    for sign, value, holds in (
        ("<=", 1, [0, 1]), (">=", 3, [3, 4]), ("=", 2, [2]), ("!=", 2, [0, 1, 3, 4]),
        ("changes", None, [0, 2, 3, 4]), ("stays", None, [1]),
    ):  # fmt: skip
        met = pieces.meets(Condition("x", sign, value), axis, rule)
        assert np.flatnonzero(met).tolist() == holds


def test_categories_are_their_positions():
    axis = Axis(Feature("job", "categorical", categories=("clerk", "cook", "baker")), (0, 1, 2))
    pieces = category_choices(np.array([0.2, 0.0, np.inf]), 1)
    rule = IfThen("job = cook", "job != clerk")
    assert pieces.meets(rule.condition, axis, rule).tolist() == [False, True, False]
    assert pieces.meets(rule.consequence, axis, rule).tolist() == [False, True, True]
