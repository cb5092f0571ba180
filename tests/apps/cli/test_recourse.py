"""``ract recourse``: the plans of Python, in every form and in pieces."""

import json
from functools import partialmethod

import numpy as np
import pandas as pd
import pytest

from ract import RecourseForestClassifier, load_model, save_model
from ract.data.csv import files as tables
from ract.data.datasets import load_loans
from tests.apps.cli.builders import NEW, run


def plans(folder):
    return load_model(folder / "model.ract").recourse(NEW).to_frame()


def same_plans(found, expected):
    assert found["person"].tolist() == expected["person"].tolist()
    assert found["status"].tolist() == expected["status"].tolist()
    has = expected["feature"].notna()
    assert found["feature"][has].tolist() == expected["feature"][has].tolist()
    for name in ("from", "to"):
        words = [str(value) for value in expected[name][has]]
        assert [_number(v) for v in found[name][has]] == [_number(v) for v in words]
    assert np.allclose(found["cost"].astype(float).fillna(np.inf), expected["cost"])


def _number(value):
    try:
        return float(str(value))
    except ValueError:
        return str(value)


@pytest.mark.parametrize("end", ["csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("size", [7, 5000])
def test_recourse_in_every_form_and_in_pieces(folder, tmp_path, end, size, monkeypatch):
    made = tables.Chunks.__init__
    monkeypatch.setattr(tables.Chunks, "__init__", partialmethod(made, size=size))
    if end == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"plans.{end}"
    result = run("recourse", folder / "model.ract", folder / "people.csv", "-o", out, "--json")
    read = {
        "csv": pd.read_csv,
        "json": lambda path: pd.DataFrame(json.loads(path.read_text())),
        "jsonl": lambda path: pd.DataFrame(map(json.loads, path.read_text().splitlines())),
        "parquet": pd.read_parquet,
    }
    expected = plans(folder)
    same_plans(read[end](out), expected)
    summary = json.loads(result.stdout)
    assert summary["people"] == 70 and sum(summary["statuses"].values()) == 70


def test_plans_of_a_model_with_limits_are_those_of_letters(tmp_path):
    loans, new = load_loans(500, limits="size"), load_loans(40, random_state=1).frame
    model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    save_model(model.fit(loans.frame, loans.target), tmp_path / "model.ract")
    new.to_csv(tmp_path / "people.csv", index=False)
    run("recourse", tmp_path / "model.ract", tmp_path / "people.csv", "-o", tmp_path / "plans.csv")
    expected = model.recourse(new)
    same_plans(pd.read_csv(tmp_path / "plans.csv"), expected.to_frame())
    cheapest = model.recourse(new, max_changes=None)
    assert (expected.cost[expected.found] > cheapest.cost[expected.found]).any()


def test_parquet_people(folder, tmp_path):
    pytest.importorskip("pyarrow")
    NEW.to_parquet(tmp_path / "people.parquet")
    run(
        "recourse", folder / "model.ract", tmp_path / "people.parquet", "-o", tmp_path / "plans.csv"
    )
    same_plans(pd.read_csv(tmp_path / "plans.csv"), plans(folder))


def test_standard_input_and_output(folder):
    given = (folder / "people.csv").read_bytes()
    result = run("recourse", folder / "model.ract", "-", given=given)
    assert result.stdout.startswith("person,plan,feature,from,to")
    assert result.stdout.count("\n") == len(plans(folder)) + 1
    assert "70 people" in result.stderr
    run("recourse", folder / "model.ract", "-", "--json", given=given, code=2)


def test_options_reach_the_search(folder, tmp_path):
    out = tmp_path / "plans.csv"
    run(
        "recourse", folder / "model.ract", folder / "people.csv", "-o", out, "--max-changes", 1,
        "--forbidden", "LoanAmount", "--n-alternatives", 1, "--budget", 0.5,
    )  # fmt: skip
    model = load_model(folder / "model.ract")
    barred = model.encoder_.space.restricted(forbidden=["LoanAmount"])
    expected = model.recourse(NEW, max_changes=1, actions=barred, n_alternatives=1, budget=0.5)
    same_plans(pd.read_csv(out), expected.to_frame())


def test_columns_may_be_in_another_order_and_more(folder, tmp_path):
    people = pd.read_csv(folder / "people.csv")
    people[sorted(people.columns)].assign(more=1).to_csv(tmp_path / "people.csv", index=False)
    run("recourse", folder / "model.ract", tmp_path / "people.csv", "-o", tmp_path / "plans.csv")
    same_plans(pd.read_csv(tmp_path / "plans.csv"), plans(folder))
