"""Reasons in words."""

import pytest

from ract.recourse.reasons import PersonReasons, Reason


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"alone": True, "from_value": 40.0}, "Supplying 40 or more would be enough."),
        ({"alone": True, "from_value": 40.0, "until": 52.5}, "Supplying 40 to 52.5 would"),
        ({"alone": True, "from_value": 1, "until": 1}, "Supplying 1 would be enough."),
        ({"alone": True, "from_value": True, "until": True}, "Supplying yes would be enough."),
        ({"alone": False, "with_others": True}, "handing it in alone is not enough; together"),
        ({"alone": False, "with_others": False}, "No value that could be supplied within"),
        ({"alone": None}, "Whether handing it in helps is not known"),
        ({"changeable": False}, "It cannot be supplied."),
    ],
)
def test_handing_in_is_said_in_words(answers, words):
    reason = Reason("Income", None, 45_000, -0.2, 0.6, "missing", asked=True, **answers)
    text = reason.describe()
    assert text.startswith("Income was not given (usual is 45,000). ") and words in text


@pytest.mark.parametrize(
    ("direction", "answers", "words"),
    [
        ("too low", {"alone": True, "from_value": 43_500}, "Raising it to 43,500 or more"),
        ("too low", {"alone": True, "from_value": 3, "until": 5.25}, "Raising it to 3 to 5.25"),
        ("too high", {"alone": True, "from_value": 7}, "Lowering it to 7 or less would be enough."),
        ("category", {"alone": True, "from_value": "car"}, "Changing it to 'car' would be enough."),
        ("too low", {"alone": False, "with_others": True}, "together with other changes it is."),
        ("too low", {"alone": False, "with_others": False}, "helps, not even with others."),
        ("too low", {"alone": False}, "Whether changing it helps is not known"),
        ("too low", {"changeable": False, "alone": False}, "Nobody can change it."),
    ],
)
def test_what_mending_does_is_said_in_words(direction, answers, words):
    reason = Reason("Income", 31_000, 45_000, -0.2, 0.6, direction, asked=True, **answers)
    assert words in reason.describe()


def test_usual_values_are_said_where_they_lie_on_the_right_side():
    low = Reason("Income", 31_000, 30_000, -0.2, 0.6, "too low", tied_with=("Debt", "Age"))
    assert low.describe() == (
        "Income is too low (31,000). Debt and Age mattered as much, or nearly so."
    )


def test_reasons_of_a_person_are_numbered():
    reason = Reason("Income", 31_000, 45_000, -0.2, 0.6, "too low")
    person = PersonReasons("p1", 1, "refused", 0.31, 0.5, 0.62, "accepted", (reason,))
    assert str(person).splitlines() == [
        "Refused with a score of 0.31, where 0.5 is needed. In comparison with accepted people:",
        "1. Income is too low (31,000; usual is 45,000).",
    ]
    invalid = PersonReasons("p2", 1, "invalid", 0.0, 0.5, 0.62, "mean", message="Age is missing.")
    assert str(invalid) == "This row cannot be read. Age is missing."
