import pandas as pd
import polars as pl
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidData, InvalidSpec

FRAME = pd.DataFrame(
    {
        "age": [20, 30, 40],
        "income": [1.5, 2.0, 9.0],
        "owner": [0, 1, 1],
        "member": [True, False, True],
        "job": ["cook", "clerk", "cook"],
    }
)


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_infer_reads_kinds_bounds_and_categories(convert):
    declared = {"fixed": ["age"], "increase": ["income"], "groups": {}}
    space = ActionSpace.infer(convert(FRAME), **declared, desired="yes")
    kinds = {f.name: f.kind for f in space}
    assert kinds == {
        "age": "integer",
        "income": "continuous",
        "owner": "binary",
        "member": "binary",
        "job": "categorical",
    }
    assert (space["age"].lower, space["age"].upper) == (20.0, 40.0)
    assert space["job"].categories == ("clerk", "cook")
    changes = [f.change for f in space]
    assert changes == ["fixed", "increase", "any", "any", "any"]
    assert space.desired == "yes"


def test_undeclared_columns_are_fixed_and_keep_the_order_of_the_table():
    space = ActionSpace([Feature("income", change="increase")], limits=None).complete(FRAME)
    assert [f.name for f in space] == list(FRAME.columns)
    assert [f.actionable for f in space] == [False, True, False, False, False]


def test_toml_file_round_trip(tmp_path):
    space = ActionSpace.infer(FRAME, fixed=["age"], groups={}, desired="yes", limits=None)
    path = tmp_path / "actions.toml"
    space.to_toml(path)
    assert ActionSpace.from_toml(path) == space
    assert [p.name for p in tmp_path.iterdir()] == ["actions.toml"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "actions.toml"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        ActionSpace([Feature("age")], limits=None).to_toml(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["actions.toml"]


def test_a_wrong_space_is_refused():
    with pytest.raises(InvalidSpec, match="'f' is declared twice"):
        ActionSpace([Feature("f"), Feature("f")], limits=None)
    with pytest.raises(InvalidSpec, match="Column 'a' belongs to both 'g' and 'a'"):
        ActionSpace([Feature("g", columns=["a", "b"]), Feature("a")], limits=None)
    with pytest.raises(InvalidSpec, match="Expected a Feature, got str"):
        ActionSpace(["f"], limits=None)
    with pytest.raises(KeyError, match="No feature 'x'"):
        ActionSpace([Feature("f")], limits=None)["x"]


def test_a_space_that_does_not_fit_the_table_is_refused():
    with pytest.raises(InvalidSpec, match="names 'salary', which the table does not have"):
        ActionSpace([Feature("salary")], limits=None).complete(FRAME)
    with pytest.raises(InvalidSpec, match="lower bound 50 lies outside the data.* 20 to 40"):
        ActionSpace([Feature("age", lower=50)], limits=None).complete(FRAME)
    with pytest.raises(InvalidSpec, match="upper bound 1 lies outside the data"):
        ActionSpace([Feature("income", upper=1)], limits=None).complete(FRAME)
    with pytest.raises(InvalidData, match="'income' is integer, but row 0 holds 1.5"):
        ActionSpace([Feature("income", kind="integer")], limits=None).complete(FRAME)
    with pytest.raises(InvalidData, match="'age' is binary, but row 0 holds 20"):
        ActionSpace([Feature("age", kind="binary")], limits=None).complete(FRAME)
    with pytest.raises(InvalidData, match="'job' holds 'cook', which is not a number"):
        ActionSpace([Feature("job", kind="integer")], limits=None).complete(FRAME)


def test_infer_refuses_wrong_names():
    with pytest.raises(InvalidSpec, match="No column called 'salary'"):
        ActionSpace.infer(FRAME, fixed=["salary"], limits=None)
    with pytest.raises(InvalidSpec, match="named both 'fixed' and 'increase'"):
        ActionSpace.infer(FRAME, fixed=["age"], increase=["age"], limits=None)
    with pytest.raises(InvalidSpec, match="takes a list of names, got the text 'age'"):
        ActionSpace.infer(FRAME, fixed="age", limits=None)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "actions.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidSpec, match="not UTF-8"):
        ActionSpace.from_toml(path)
