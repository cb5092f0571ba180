"""How tables are written, as a section of an action file."""

import datetime as dt

import pytest

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.data.csv import Since, TableFormat
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


@pytest.mark.parametrize("held", [3, {"drop": 1}, {"words": {"a": {"b": 2}}}, {"decimal": None}])
def test_a_model_file_with_a_strange_section_is_refused(held):
    with pytest.raises(InvalidFile, match="how its tables are written is invalid: "):
        Contents("tree", {}, {"table": held}, {}).table()
