"""Tables in the form that a file's name asks for, whole or not at all."""

import sys

import numpy as np
import pandas as pd
import pytest

from ract._utils.errors import InvalidSpec
from ract.apps.cli.messages import BadInput
from ract.apps.cli.outputs import check_picture, form_of, picture, table_writer

FIRST = pd.DataFrame({"person": ["=1+1", "b"], "cost": [0.5, np.inf], "ok": [True, False]})
SECOND = pd.DataFrame({"person": ["c"], "cost": [2.0], "ok": [True]})
CSV = "person,cost,ok\n'=1+1,0.5,True\nb,inf,False\nc,2.0,True\n"
RECORDS = [
    '{"person": "=1+1", "cost": 0.5, "ok": true}',
    '{"person": "b", "cost": null, "ok": false}',
    '{"person": "c", "cost": 2.0, "ok": true}',
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t.csv", CSV),
        ("T.CSV", CSV),
        ("t.jsonl", "".join(f"{record}\n" for record in RECORDS)),
        ("t.json", "[\n" + ",\n".join(RECORDS) + "\n]\n"),
    ],
)
def test_chunks_are_one_table(tmp_path, name, expected):
    with table_writer(str(tmp_path / name)) as write:
        write(FIRST)
        write(SECOND)
        assert not (tmp_path / name).exists()
    assert (tmp_path / name).read_bytes() == expected.encode()


@pytest.mark.parametrize("end", ["parquet", "pq"])
def test_chunks_of_parquet_have_the_types_of_the_first(tmp_path, end):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"t.{end}"
    with table_writer(str(path)) as write:
        write(FIRST)
        write(SECOND.assign(cost=[2]))
    found = pd.read_parquet(path)
    assert found["person"].tolist() == ["=1+1", "b", "c"]  # a program gets the text as it is
    assert found["cost"].tolist() == [0.5, np.inf, 2.0] and found["ok"].dtype == bool


def test_no_rows_are_valid_json(tmp_path):
    with table_writer(str(tmp_path / "t.json")):
        pass
    assert (tmp_path / "t.json").read_text() == "[]\n"


def test_a_table_that_was_not_finished_is_not_there(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def interrupted():
        with table_writer(str(path)) as write:
            write(FIRST)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_table_without_a_file_is_printed_or_thrown_away(capsysbinary):
    with table_writer("-") as write:
        write(SECOND)
    assert capsysbinary.readouterr().out == b"person,cost,ok\nc,2.0,True\n"
    with table_writer(None) as write:
        write(SECOND)
    assert capsysbinary.readouterr().out == b""


def test_unknown_forms_are_refused():
    with pytest.raises(BadInput, match=r"^t\.doc must end in \.csv, \.parquet, \.json or \.jsonl"):
        form_of("t.doc")


def test_pictures_are_checked_before_and_drawn_in_their_form(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    path = tmp_path / "curve.SVG"
    check_picture(None)
    check_picture(path)
    with picture(path) as axes:
        axes.plot([0, 1], [1, 0])
    assert b"<svg" in path.read_bytes()
    with pytest.raises(BadInput, match=r"writes PNG, SVG or PDF, got 'curve\.doc'"):
        check_picture(tmp_path / "curve.doc")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidSpec, match="matplotlib is needed for drawing"):
        check_picture(path)
