"""Files of tables."""

import io

import pytest

from ract.data.csv.files import likely_delimiter, likely_encoding


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
