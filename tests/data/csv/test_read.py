import datetime as dt
import io

import numpy as np
import pandas as pd
import pytest

from ract import Feature
from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.data.csv import Since, TableFormat, as_read
from ract.data.csv.numbers import convention, pattern, plain
from ract.data.csv.recognise import likely_delimiter, likely_encoding
from ract.io.contents import Contents

FULL = TableFormat(
    delimiter=";", decimal=",", thousands=".", encoding="cp1252", missing=["?"], drop=["id"],
    words={"phone": {"ja": ["Ja", "J"]}}, others={"town": "other"},
    dates={"born": Since("years", dt.date(2026, 1, 1), "%d.%m.%Y"), "since": Since("days", "born")},
)  # fmt: skip


def test_a_format_reads_back_from_toml_and_from_records():
    assert TableFormat.from_toml_text(FULL.to_toml_text()) == FULL
    assert TableFormat.of_record(FULL.to_record()) == FULL
    assert TableFormat.from_toml_text("") == TableFormat() and TableFormat().to_record() == {}
    native = '[table.dates]\nborn = {unit = "days", until = 2026-01-01}'
    assert TableFormat.from_toml_text(native).dates["born"].until == dt.date(2026, 1, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("table = 3", "[table] must be a table, got 3."),
        ("[table]\nseparator = ';'", "has unknown entry 'separator'; known are 'delimiter'"),
        ("[table]\ndelimiter = '::'", "delimiter must be one character, got '::'."),
        ("[table]\ndecimal = ','\nthousands = ','", "decimals and thousands must differ, got ','"),
        ("[table]\nencoding = 8", "encoding must be a name such as utf-8, got 8."),
        ("[table]\ndrop = 'id'", "drop must be a list of texts, got 'id'."),
        ("[table]\nmissing = [3]", "missing must be a list of texts, got [3]."),
        ("[table]\nwords = 3", "[table.words] must be a table, got 3."),
        ("[table.words]\na = 3", "[table.words.a] must be a table, got 3."),
        ("[table.words.a]\nyes = 'y'", "words.a must be a list of texts, got 'y'."),
        ("[table.others]\na = 3", "others must be a list of texts, got [3]."),
        ("[table.dates]\na = 3", "says 3 of 'a'; it takes unit, until and format."),
        ("[table.dates]\na = {unit = 'weeks', until = 'b'}", "as 'years' or 'days', got 'weeks'"),
        ("[table.dates]\na = {unit = 'days', until = 3}", "a day or a column in 'until', got 3"),
        ("[table.dates]\na = {unit='days', until='b', format='D'}", "is such as '%Y-%m-%d' or"),
    ],
)  # fmt: skip
def test_a_wrong_section_gets_one_sentence(text, says):
    with pytest.raises(InvalidSpec) as error:
        TableFormat.from_toml_text(text)
    assert says in str(error.value)


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
    assert float(plain(values[0], *marks)) == number


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


def test_the_mark_between_columns_is_told_from_whole_lines():
    assert likely_delimiter("a;b\n1,5;2,5\n") == ";"
    assert likely_delimiter("income, net;age\n1,5;3\n") == ";"
    assert likely_delimiter('a,"b;c;d"\n1,2\n') == ","
    assert likely_delimiter("a\tb\n1\t2\n") == "\t" and likely_delimiter("a|b\n1|2") == "|"
    assert likely_delimiter("a,b\n1,2,3\n1\n") == "," and likely_delimiter("a\n1\n") == ","


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
def test_the_encoding_is_told(encoding):
    data = "Größe;Beruf\n1;Köchin\n".encode(encoding)
    assert likely_encoding(io.BytesIO(data)) == encoding
    assert likely_encoding(io.BytesIO(b"a\x81\xe9")) == "latin-1"


def test_reading_a_table_that_is_written_as_usual_changes_nothing():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "1,5"], "c": [True, np.nan]})
    pd.testing.assert_frame_equal(as_read(frame, TableFormat()), frame)


@pytest.mark.parametrize("held", [3, {"drop": 1}, {"words": {"a": {"b": 2}}}, {"decimal": None}])
def test_a_model_file_with_a_strange_section_is_refused(held):
    with pytest.raises(InvalidFile, match="how its tables are written is invalid: "):
        Contents("tree", {}, {"table": held}, {}).table()
