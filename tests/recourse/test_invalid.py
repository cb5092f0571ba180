"""Rows that cannot be read get a message; everyone else gets the answer they get without them."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    recourse_status,
    save_model,
)
from ract._utils.errors import InvalidData
from ract.apps.cli import app
from ract.data.datasets import load_loans
from ract.evaluation import certificates, metrics, report
from ract.recourse.find import find_recourse

LOANS = load_loans(n_people=600, random_state=0)
NEW = load_loans(n_people=40, random_state=1).frame

# Row, column and what it holds instead, with what is said of it.
BAD = [
    (3, "Income", np.nan, "Column 'Income' is missing."),
    (7, "Income", "a lot", "Column 'Income' holds 'a lot', not a finite number."),
    (8, "Debt", np.inf, "Column 'Debt' holds inf, not a finite number."),
    (11, "Age", 33.5, "Column 'Age' is integer, but holds 33.5; allowed: whole numbers below"),
    (12, "Purpose", "Yacht", "Column 'Purpose' holds 'Yacht', which is not one of its categories"),
    (13, "Purpose", None, "Column 'Purpose' is missing."),
    (39, "Guarantor", 2, "Column 'Guarantor' is binary, but holds 2; allowed: 0 or 1."),
]
ROWS = [row for row, *_ in BAD]


def spoiled(frame, bad=BAD):
    frame = frame.astype({column: object for _, column, *_ in bad})
    for row, column, value, _ in bad:
        frame.iloc[row, frame.columns.get_loc(column)] = value
    return frame


@pytest.fixture(scope="module")
def model():
    model = RecourseForestClassifier(LOANS.actions, n_estimators=15, random_state=0)
    return model.fit(LOANS.frame, LOANS.target)


def without_person(plan):
    return re.sub(r"person=[^,]*, ", "", repr(plan))


def check(found, alone, rows, n_people):
    """Plans of all, those of the readable people alone, and which rows cannot be read."""
    good = np.setdiff1d(np.arange(n_people), rows)
    assert len(found) == n_people and np.flatnonzero(found.invalid).tolist() == sorted(rows)
    for name in ("status", "cost", "bound", "strength", "before", "after", "effort", "low", "high",
                 "found", "accepted", "within_budget", "n_changes", "changed"):  # fmt: skip
        np.testing.assert_array_equal(getattr(found, name)[good], getattr(alone, name), name)
    assert set(found.status[rows]) == {"invalid"} and np.isinf(found.cost[rows]).all()
    assert not (found.found | found.accepted | found.within_budget)[rows].any()
    assert sorted(found.obstacles) == good[sorted(alone.obstacles)].tolist()
    for i, plan in zip(good, alone, strict=True):
        assert without_person(found[int(i)]) == without_person(plan)
    numbers, others = found.summary(), alone.summary()
    assert numbers["people"] == n_people and numbers["invalid"] == len(rows)
    left = numbers.drop(["people", "invalid"])
    pd.testing.assert_series_equal(left, others.drop("people"))


def test_a_row_that_cannot_be_read_gets_a_message_and_the_others_their_plans(model):
    people = spoiled(NEW)
    good = NEW.drop(index=ROWS)
    how = {"n_alternatives": 1, "ranges": True, "budget": 0.2}
    found, alone = model.recourse(people, **how), model.recourse(good, **how)
    check(found, alone, ROWS, len(NEW))
    assert {"accepted", "optimal", "none within budget"} <= set(alone.status)
    for row, _, _, says in BAD:
        assert found.messages[row].startswith(says)
        assert found[row].message == found.messages[row]
        assert found[row].describe() == f"This row cannot be read. {found.messages[row]}"
        assert not found[row].has_recourse
    long = found.to_frame()
    pd.testing.assert_frame_equal(
        long[long["status"] != "invalid"].drop(columns="message").reset_index(drop=True),
        alone.to_frame().drop(columns="message"),
    )
    invalid = long[long["status"] == "invalid"]
    assert invalid["person"].tolist() == ROWS
    assert invalid["message"].tolist() == [found.messages[row] for row in ROWS]
    assert invalid["reason"].isna().all()
    wide = found.to_frame("wide")
    assert wide["message"].notna().sum() == len(ROWS)
    assert (wide["status"][~found.invalid] == alone.status).all()
    assert "7 invalid" in repr(found)
    after = found.counterfactuals
    assert after.index.equals(NEW.index) and after.loc[ROWS].isna().all(axis=None)
    pd.testing.assert_frame_equal(after.drop(index=ROWS), alone.counterfactuals, check_dtype=False)
    assert found.actions.loc[ROWS].isna().all(axis=None)


def test_several_models_are_asked_about_those_who_can_be_read(model):
    other = RecourseTreeClassifier(LOANS.actions, max_depth=4).fit(LOANS.frame, LOANS.target)
    both, good = [model, other], NEW.drop(index=ROWS)
    check(find_recourse(both, spoiled(NEW)), find_recourse(both, good), ROWS, len(NEW))


def test_all_that_is_wrong_with_a_row_is_said(model):
    people = spoiled(NEW, [(2, "Income", None, ""), (2, "Purpose", "Yacht", "")])
    (message,) = model.recourse(people, explain=False).messages.values()
    assert message.startswith("Column 'Purpose' holds 'Yacht', which")
    assert message.endswith("; Column 'Income' is missing.")


def test_who_has_recourse_is_the_same_beside_rows_that_cannot_be_read(model):
    status = recourse_status(model, spoiled(NEW))
    assert (status[ROWS] == "invalid").all()
    np.testing.assert_array_equal(
        np.delete(status, ROWS), recourse_status(model, NEW.drop(index=ROWS))
    )


def test_strict_refuses_the_whole_table(model):
    for ask in (model.recourse, lambda people, **how: recourse_status(model, people, **how)):
        with pytest.raises(InvalidData, match="Column"):
            ask(spoiled(NEW), strict=True)
    with pytest.raises(InvalidData, match="Column"):
        model.predict(spoiled(NEW))


def test_what_is_measured_or_certified_refuses_rows_that_cannot_be_read(model):
    people = spoiled(NEW)
    for ask in (
        metrics.recourse_ratio,
        metrics.validity,
        metrics.recourse_report,
        certificates.certify,
        report.audit,
    ):
        with pytest.raises(InvalidData, match="Column"):
            ask(model, people)


def test_nobody_can_be_read(model):
    people = spoiled(NEW.head(2), [(0, "Income", None, ""), (1, "Income", "x", "")])
    found = model.recourse(people)
    assert found.status.tolist() == ["invalid"] * 2 and len(found.to_frame()) == 2
    assert np.isnan(found.summary()["recourse ratio"])
    assert found.counterfactuals.isna().all(axis=None)
    assert recourse_status(model, people).tolist() == ["invalid"] * 2


def test_a_table_without_a_column_is_refused_all_the_same(model):
    with pytest.raises(ValueError, match="Income"):
        model.recourse(spoiled(NEW).drop(columns="Income"))
    with pytest.raises(InvalidData, match="empty"):
        find_recourse(model, NEW.head(0))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(model, library):
    bad = [entry for entry in BAD if entry[0] in (3, 12, 13)]
    rows = [row for row, *_ in bad]
    people, good = spoiled(NEW, bad), NEW.drop(index=rows)
    people = people.astype({"Income": float})
    frame = pl.from_pandas(people.reset_index(drop=True))
    plain = pl.from_pandas(good)
    if library == "pyarrow":
        frame, plain = frame.to_arrow(), plain.to_arrow()
    found, alone = model.recourse(frame), model.recourse(plain)
    check(found, alone, rows, len(NEW))
    after = found.counterfactuals
    assert type(after) is type(frame)
    as_rows = after.to_pylist() if library == "pyarrow" else after.rows(named=True)
    assert [i for i, row in enumerate(as_rows) if row["Income"] is None] == rows
    words = {name: ["?", *map(str, NEW[name][1:])] for name in ("Income", "Guarantor", "Age")}
    text = pl.from_pandas(NEW.assign(**words))
    check(model.recourse(text), model.recourse(pl.from_pandas(NEW[1:])), [0], len(NEW))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, object])
def test_arrays(dtype):
    rng = np.random.default_rng(0)
    X = rng.random((200, 4))
    space = ActionSpace([Feature(f"x{j}") for j in range(4)], limits=None)
    model = RecourseTreeClassifier(space, desired=True, max_depth=4).fit(X, X.sum(axis=1) > 2)
    people = X[:30].astype(dtype)
    people[4, 1], people[9, 0] = np.nan, np.inf
    rows = [4, 9]
    if dtype is object:
        people[17, 2] = "?"
        rows.append(17)
    found = model.recourse(people, overrides={4: {"x0": "fixed"}, 5: {"x0": "fixed"}})
    alone = np.delete(people, rows, axis=0).astype(np.float64 if dtype is object else dtype)
    check(found, model.recourse(alone, overrides={4: {"x0": "fixed"}}), rows, 30)
    assert found.labels.tolist() == list(range(30))
    after = found.counterfactuals
    assert np.isnan(np.asarray(after[rows], float)).all()


@pytest.mark.parametrize("with_reference", [False, True])
def test_models_of_other_libraries(with_reference):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 9, (200, 3)), columns=["a", "b", "c"])
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, X.sum(axis=1) > 12)
    space = ActionSpace([Feature("a"), Feature("b", change="increase"), Feature("c")], limits=None)
    how = {"actions": space, "reference": X if with_reference else None}
    people = X.head(30).astype(float)
    people.iloc[4, 1], people.iloc[9, 0] = np.nan, np.inf
    good = people.drop(index=[4, 9])
    check(find_recourse(forest, people, **how), find_recourse(forest, good, **how), [4, 9], 30)
    if with_reference:
        people = people.astype({"c": object})
        people.iloc[20, 2] = "?"
        found = find_recourse(forest, people, **how)
        check(found, find_recourse(forest, good.drop(index=20), **how), [4, 9, 20], 30)


# Commands


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def files(model, tmp_path):
    save_model(model, tmp_path / "model.ract")
    spoiled(NEW).assign(Name=[f"p{i}" for i in range(40)]).to_csv(tmp_path / "bad.csv", index=False)
    good = NEW.assign(Name=[f"p{i}" for i in range(40)]).drop(index=ROWS)
    good.to_csv(tmp_path / "good.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
def test_commands_mark_rows_that_cannot_be_read(files, end):
    reading = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    read = reading.get(end, lambda path: pd.read_json(path, lines=True))
    for command in ("recourse", "predict"):
        tables = {}
        for name in ("bad", "good"):
            path = files / f"{command}-{name}.{end}"
            arguments = (command, files / "model.ract", files / f"{name}.csv", "--id", "Name")
            said = run(*arguments, "-o", path)
            tables[name] = read(path)
        assert "7 " in said.stderr or "33 people" in said.stderr
        bad, good = tables["bad"], tables["good"]
        marked = bad["message"].notna()
        assert bad["person"][marked].tolist() == [f"p{row}" for row in ROWS]
        pd.testing.assert_frame_equal(
            bad[~marked].drop(columns="message").reset_index(drop=True),
            good.drop(columns="message"),
            check_dtype=False,
        )
        if command == "predict":
            assert bad.loc[marked, ["prediction", "probability"]].isna().all(axis=None)
        else:
            assert (bad["status"][marked] == "invalid").all()


def test_summaries_of_commands_count_rows_that_cannot_be_read_apart(files):
    given = (files / "model.ract", files / "bad.csv", "-o", files / "out.csv", "--json")
    plans = json.loads(run("recourse", *given).stdout)
    assert plans["people"] == 40 and plans["statuses"]["invalid"] == 7
    alone = json.loads(run("recourse", given[0], files / "good.csv", *given[2:]).stdout)
    assert plans["recourse_ratio"] == alone["recourse_ratio"]
    decided = json.loads(run("predict", *given).stdout)
    alone = json.loads(run("predict", given[0], files / "good.csv", *given[2:]).stdout)
    assert decided["invalid"] == 7 and decided["desired_share"] == alone["desired_share"]
    said = run("recourse", *given[:-1]).stderr
    assert "7 invalid" in said and "of those who could be read" in said
    assert "7 of whom could not be read" in run("predict", *given[:-1]).stderr


def test_nobody_gets_a_letter_for_a_row_that_cannot_be_read(files):
    model, settings = files / "model.ract", files / "notice.toml"
    contact = ("--creditor", "A", "--address", "B", "--contact", "C")
    run("notice", "init", model, "-o", settings, *contact)
    for name in ("bad", "good"):
        run("notice", model, files / f"{name}.csv", "-o", files / name, "--reasons", settings,
            "--without-reasons", "--id", "Name", "--time-limit", 60)  # fmt: skip
    letters = [{path.name: path.read_text() for path in (files / name).iterdir()}
               for name in ("bad", "good")]  # fmt: skip
    assert letters[0] == letters[1]


def test_a_file_of_which_no_row_can_be_read_is_refused(files):
    path = files / "all.csv"
    NEW.assign(Purpose="Boat").to_csv(path, index=False)
    for command in ("recourse", "predict"):
        said = run(command, files / "model.ract", path, "-o", files / "out.csv", code=2).stderr
        assert f"No row of {path} can be read. The first: Column 'Purpose' holds 'Boat'" in said
        assert not (files / "out.csv").exists()


def test_strict_commands_stop_at_the_first_row(files):
    for command in ("recourse", "predict"):
        said = run(command, files / "model.ract", files / "bad.csv", "--strict", code=2).stderr
        assert "Column" in said
