"""How a file is written, read off the file."""

import pandas as pd
import pytest

from ract._utils.errors import InvalidData, InvalidFile
from ract.data.csv import describe_file
from ract.data.csv.describe import writing_of


def described(tmp_path, text, written="utf-8", **given):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(written))
    return describe_file(str(path), given)


def test_marks_encoding_and_missing_words_are_recognised(tmp_path):
    text = "Größe;Preis\n1.234,5;12\n?;7\n980;3\n"
    found = described(tmp_path, text, "cp1252")
    form = found.form
    assert (form.delimiter, form.decimal, form.thousands) == (";", ",", ".")
    assert form.encoding == "cp1252" and form.missing == ("?",)
    assert found.frame["Preis"].tolist() == [12, 7, 3] and found.frame["Größe"].isna()[1]
    assert writing_of(form) == (
        "';' between columns, decimals after ',' and '.' between thousands, letters in cp1252"
    )
    assert found.comments["missing"] == ["'?' is read as a missing value; it is in 'Größe'."]


def test_what_is_given_is_not_looked_into(tmp_path):
    found = described(tmp_path, "a;b\n1,5;2\n", delimiter=";", decimal=".", encoding="latin-1")
    assert (found.form.decimal, found.form.encoding) == (".", "latin-1")
    assert found.frame["a"].tolist() == ["1,5"]


def test_a_usual_file_has_nothing_to_be_said(tmp_path):
    found = described(tmp_path, "a,b\n1,x\n2,y\n")
    assert writing_of(found.form) == "" and not found.said and not found.comments


def test_two_readings_are_a_question(tmp_path):
    with pytest.raises(InvalidData, match="may be written in two ways: '1,234'"):
        described(tmp_path, "a;b\n1,234;x\n7,001;y\n")


def test_parquet_has_no_writing_and_a_missing_file_is_named(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    assert describe_file(str(tmp_path / "t.parquet")).frame["a"].tolist() == [1, 2]
    with pytest.raises(InvalidFile, match="There is no file"):
        describe_file(str(tmp_path / "no.csv"))
