"""Numbers as people write them."""

import pytest

from ract.data.csv.numbers import convention, pattern, plain_digits


@pytest.mark.parametrize(
    ("values", "marks", "number"),
    [
        (["1.234,5", "7"], (",", "."), 1234.5),
        (["1,234.5", "7"], (".", ","), 1234.5),
        (["12,5", "7"], (",", None), 12.5),
        (["1 234,5", "1\u202f000"], (",", " "), 1234.5),
        (["1'234.5", "7"], (".", "'"), 1234.5),
        (["1234.5", "-7e3"], (".", None), 1234.5),
        (["12.50", "1.5"], (".", None), 12.5),
    ],
)  # fmt: skip
def test_the_marks_of_numbers_are_told(values, marks, number):
    told = convention([values, ["blue", "1.2.3"]])
    assert (told.decimal, told.thousands) == marks and told.other is None
    assert float(plain_digits(values[0], *marks)) == number


def test_numbers_that_can_be_read_in_two_ways_are_not_guessed():
    assert convention([["1,234", "7,001"]])[:3] == (",", None, (".", ","))
    assert convention([["1.234", "7.001"]])[:3] == (".", None, (",", "."))
    # Another column tells.
    assert convention([["1.234", "7.001"], ["0,5"]])[:3] == (",", ".", None)
    assert convention([["0.234", "0.001"]]).other is None  # no thousands begin with 0


@pytest.mark.parametrize(
    "cell", ["1.2.3", "01.02.2020", "1,23,456", "12.34,5", "", ".", "1.234.56"]
)
def test_what_is_no_number_is_not_read_as_one(cell):
    """Pandas reads 01.02.2020 with a point between thousands as 1022020."""
    assert not pattern(",", ".").fullmatch(cell)
