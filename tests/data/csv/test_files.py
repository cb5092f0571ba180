"""Files of tables."""

import io

import pytest

from ract._utils.errors import InvalidData
from ract.data.csv import TableFormat
from ract.data.csv.files import likely_delimiter, likely_encoding, naming_lines, place_of


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


TEXT = 'a,b\n1,"two\nlines"\n\n2,x\n  \n3,y\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize(("row", "line"), [(0, 2), (1, 5), (2, 7)])
def test_blank_lines_are_no_rows_and_a_cell_may_have_several(path, row, line):
    assert place_of(path, TableFormat(), row) == f"line {line} of {path}"


def test_standard_input_and_rows_beyond_the_end_have_a_number(path):
    assert place_of("-", TableFormat(), 3) == "row 3 of standard input, counted from 0,"
    assert place_of(path, TableFormat(), 9) == f"row 9 of {path}, counted from 0,"


def test_only_the_row_of_an_error_is_replaced(path):
    with (
        pytest.raises(InvalidData) as caught,
        naming_lines(path, TableFormat(), [0, 2]),
    ):
        raise InvalidData("Column 'a' holds 'row 1' in row 1.")
    assert str(caught.value) == f"Column 'a' holds 'row 1' in line 7 of {path}."
