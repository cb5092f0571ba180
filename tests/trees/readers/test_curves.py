"""Curves from margins to probabilities, and their records."""

import json

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract.trees.readers.curves import (
    CLogistic,
    Isotonic,
    Logistic,
    ShareCurve,
    Sigmoid,
    SingleLogistic,
    StepCurve,
    curve_of,
    curve_record,
)

CURVES = [
    None,
    Logistic(2),
    CLogistic(0.7),
    SingleLogistic(),
    StepCurve(),
    ShareCurve(1),
    Sigmoid(-2.0, 0.5, Logistic()),
    Isotonic((0.0, 1.0), (0.25, 0.5), False, Sigmoid(-1.0, 0.0)),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve).__name__)
def test_records_come_back(curve):
    assert curve_of(json.loads(json.dumps(curve_record(curve)))) == curve


def test_values_by_hand():
    margin = np.array([-800.0, 0.0, np.log(3.0)])
    for curve, expected in (
        (Logistic(2), [0, 0.5, 0.9]),
        (CLogistic(1.0), [0, 0.5, 0.75]),
        (SingleLogistic(), [0, 0.5, 0.75]),
        (StepCurve(), [0, 0, 1]),
        (ShareCurve(1), [-799, 1, 1 + np.log(3.0)]),
        (Sigmoid(-2.0, 0.0), [0, 0.5, 0.9]),
        (Isotonic((0.0, 1.0), (0.25, 0.5)), [0.25, 0.25, 0.5]),
        (Isotonic((0.5,), (0.3,)), [0.3, 0.3, 0.3]),
        (Isotonic((0.5, 1.0), (0.0, 1.0), False, Logistic()), [0, 0, 0.5]),
    ):
        np.testing.assert_allclose(curve(margin), expected, rtol=1e-7)
    assert SingleLogistic()(margin).dtype == np.float32


@pytest.mark.parametrize(
    "record",
    [
        3,
        {"curve": "line"},
        {"curve": "logistic"},
        {"curve": "logistic", "steepness": -1},
        {"curve": "logistic", "steepness": True},
        {"curve": "shares", "start": 2},
        {"curve": "sigmoid", "a": 1.0, "b": 0.0, "of": None},
        {"curve": "isotonic", "knots": [1, 0], "levels": [0, 1], "single": False, "of": None},
        {"curve": "isotonic", "knots": [0, 1], "levels": [1, 0], "single": False, "of": None},
        {"curve": "isotonic", "knots": [0, 1], "levels": [0], "single": False, "of": None},
        {"curve": "isotonic", "knots": 1, "levels": [0], "single": False, "of": None},
    ],
)
def test_other_records_are_refused(record):
    with pytest.raises(ValueError, match="link"):
        curve_of(record)


def test_curves_that_are_code_have_no_record():
    with pytest.raises(InvalidSpec, match="cannot be written as data"):
        curve_record(np.exp)
