import datetime as dt

import numpy as np
import pandas as pd
import pytest

from ract import Feature
from ract._utils.errors import InvalidData
from ract.data.csv import Since, TableFormat, as_read
from ract.data.csv.read import convention, pattern, plain_digits

FULL = TableFormat(
    delimiter=";", decimal=",", thousands=".", encoding="cp1252", missing=["?"], drop=["id"],
    words={"phone": {"ja": ["Ja", "J"]}}, others={"town": "other"},
    dates={"born": Since("years", dt.date(2026, 1, 1), "%d.%m.%Y"), "since": Since("days", "born")},
)  # fmt: skip


def test_cells_are_read_as_the_format_says_and_others_stay():
    frame = pd.DataFrame({
        "income": ["1.234,5", "12", "?", "a lot"], "phone": ["J", "nein", "ja", None],
        "town": ["Bonn", "Ulm", None, "Ulm"],
        "born": ["01.01.2016", "31.12.2025", "2016", None],
    })  # fmt: skip
    features = [
        Feature("income", "continuous"), Feature("born", "continuous"),
        Feature("town", "categorical", categories=("Ulm", "other")),
    ]  # fmt: skip
    read = as_read(
        frame, TableFormat(**{**vars(FULL), "dates": {"born": FULL.dates["born"]}}), features
    )
    assert read["income"].tolist()[:2] == ["1234.5", "12"] and read["income"][3] == "a lot"
    assert pd.isna(read["income"][2])
    assert read["phone"].tolist()[:3] == ["ja", "nein", "ja"]
    assert read["town"].tolist()[:2] == ["other", "Ulm"] and pd.isna(read["town"][2])
    assert read["born"].tolist()[:3] == [10.0, 0.0, "2016"] and pd.isna(read["born"][3])
    assert frame["income"][0] == "1.234,5"  # the table is not written to


def test_dates_count_up_to_a_column_of_dates():
    frame = pd.DataFrame({"opened": ["2020-01-01"], "applied": pd.to_datetime(["2020-01-31"])})
    form = TableFormat(dates={"opened": Since("days", "applied")})
    assert as_read(frame, form)["opened"].tolist() == [30.0]
    with pytest.raises(InvalidData, match="count up to those in 'applied', which the table lacks"):
        as_read(frame[["opened"]], form)


def test_reading_a_table_that_is_written_as_usual_changes_nothing():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "1,5"], "c": [True, np.nan]})
    pd.testing.assert_frame_equal(as_read(frame, TableFormat()), frame)


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
