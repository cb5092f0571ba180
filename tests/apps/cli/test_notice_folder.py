"""A folder gets all notices of a run or none, and never those of two runs."""

from types import SimpleNamespace

import numpy as np
import pytest

from ract.apps.cli.messages import BadInput
from ract.apps.cli.notice_folder import WAITING, notice_writer, refused_of


class Letters:
    """Notices of one line, so that what is in a folder can be said by hand."""

    def check_sendable(self, reasons):
        if reasons == "secret":
            raise BadInput("not to be sent")

    def values(self, plan, reasons):
        return f"{plan.person}: {reasons}"

    def render_values(self, values, form):
        return f"{values} as {form}"


def person(name):
    return SimpleNamespace(person=name)


def write(folder, people, reasons=None, forms=("html",), *, replace=False):
    with notice_writer(folder, Letters(), forms, replace=replace) as batch:
        return batch([person(name) for name in people], reasons)


def held(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_each_person_has_a_file_in_each_form(tmp_path):
    folder = tmp_path / "new" / "letters"
    assert write(folder, ["a", "../b c"], ["r", "s"], ("html", "text")) == 2
    assert held(folder) == {
        "a.html": "a: r as html",
        "a.txt": "a: r as text",
        "..%2Fb c.html": "../b c: s as html",
        "..%2Fb c.txt": "../b c: s as text",
    }


def test_long_names_stay_different(tmp_path):
    write(tmp_path / "letters", ["x" * 300 + end for end in "ab"], forms=["json"])
    names = sorted(held(tmp_path / "letters"))
    assert len(names) == 2 and {len(name) for name in names} == {200 + 1 + 16 + len(".json")}


@pytest.mark.parametrize(
    ("people", "reasons", "sentence"),
    [
        (["a", "b"], ["r", "secret"], "not to be sent"),
        (["a", "a"], None, "--id names more than one person 'a'"),
    ],
)
def test_nothing_is_left_of_a_run_that_failed(tmp_path, people, reasons, sentence):
    with pytest.raises(BadInput, match=sentence):
        write(tmp_path / "new", people, reasons)
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "z.html").write_text("z")
    with pytest.raises(BadInput, match=sentence):
        write(tmp_path / "old", people, reasons, replace=True)
    assert held(tmp_path / "old") == {"z.html": "z"}


def test_notices_of_another_run_are_refused_or_replaced(tmp_path):
    write(tmp_path, ["a", "b"])
    (tmp_path / f"{WAITING}left").mkdir()  # by a run that was killed
    with pytest.raises(BadInput, match=r"holds 2 notice\(s\) already"):
        write(tmp_path, ["c"])
    write(tmp_path, ["c"], replace=True)
    assert held(tmp_path) == {"c.html": "c: None as html"}
    (tmp_path / "ledger.csv").write_text("")
    with pytest.raises(BadInput, match=r"holds 'ledger\.csv'; --output takes a folder of its own"):
        write(tmp_path, ["c"], replace=True)
    with pytest.raises(BadInput, match="is a file; --output takes a folder"):
        write(tmp_path / "c.html", ["c"])


def test_who_is_refused():
    accepted, invalid = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], bool)
    assert refused_of(SimpleNamespace(accepted=accepted, invalid=invalid)) == [1, 3]
