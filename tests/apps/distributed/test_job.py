"""Answers of any part are those of the whole table, with one schema."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import ract
from ract import RecourseForestClassifier, save_model
from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.apps.distributed import Job, apply
from ract.data.datasets import load_loans
from tests.builders import SUPPLYING, credit_with_holes, keeping_reference

LOANS = load_loans(600)
NEW = load_loans(120, random_state=1).frame
HOLES, GOOD = credit_with_holes(500, 0)
NEW_HOLES = credit_with_holes(90, 1)[0]


@pytest.fixture(scope="module")
def model():
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=15, random_state=0)
    return keeping_reference(forest.fit(LOANS.frame, LOANS.target), LOANS.frame)


@pytest.fixture(scope="module")
def lacking():
    forest = RecourseForestClassifier(SUPPLYING, n_estimators=15, random_state=0)
    return forest.fit(HOLES, GOOD)


def in_parts(job, people, cuts):
    """The answers part by part, put together."""
    ends = [0, *cuts, len(people)]
    parts = [job(people.iloc[a:b]) for a, b in pairwise(ends)]
    kinds = {tuple(part.dtypes.items()) for part in parts}
    assert len(kinds) == 1
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("plans", {}),
        ("plans", {"form": "wide", "max_changes": 2}),
        ("plans", {"n_alternatives": 1, "explain": False}),
        ("decisions", {}),
        ("reasons", {}),
        ("has_recourse", {}),
    ],
)
def test_parts_add_up_to_the_whole(model, what, options):
    people = NEW.copy()
    people["Income"] = people["Income"].astype(object)
    people.loc[[7, 30], "Income"] = ["a lot", None]
    people.loc[55, "Purpose"] = "Yacht"
    job = Job.of(model, what, **options)
    whole = job(people)
    parts = in_parts(pickle.loads(pickle.dumps(job)), people, [0, 31, 31, 60])
    pd.testing.assert_frame_equal(whole, parts)
    assert set(whole["person"]) == set(people.index)
    wrong = whole[whole["message"].notna()]
    assert wrong["person"].tolist() == [7, 30, 55]
    assert wrong["message"].iloc[0] == "Column 'Income' holds 'a lot', not a finite number."
    if "status" in whole:
        assert (wrong["status"] == "invalid").all()


def test_plans_are_those_of_the_model(model):
    table = apply(model, NEW).fillna(np.nan)
    own = model.recourse(NEW, time_limit=None).to_frame()
    assert table["feature"].fillna("").tolist() == own["feature"].fillna("").tolist()
    for name in ("cost", "strength", "low", "high", "effort", "budget needed"):
        np.testing.assert_array_equal(table[name].to_numpy(float), own[name].to_numpy(float))
    numbers = own["feature"].isin(["Income", "Debt", "Savings", "LoanAmount"])
    assert table["to"][numbers].astype(float).tolist() == own["to"][numbers].tolist()


def test_missing_values_and_keys(lacking):
    people = NEW_HOLES.assign(who=[f"p{i}" for i in range(len(NEW_HOLES))], else_="unused")
    job = Job.of(lacking, key="who")
    whole = job(people)
    pd.testing.assert_frame_equal(whole, in_parts(job, people, [1, 40]))
    own = lacking.recourse(NEW_HOLES, time_limit=None).to_frame()
    assert whole["person"].tolist() == [f"p{i}" for i in own["person"]]
    assert whole["status"].tolist() == own["status"].tolist()
    assert whole["only supplied"].tolist() == own["only supplied"].tolist()


def test_texts_of_pandas_own_type(lacking):
    people = NEW_HOLES.copy()
    people.loc[3, "job"] = "astronaut"
    texts = people.astype({"job": "string"})
    assert texts["job"].isna().any()
    pd.testing.assert_frame_equal(apply(lacking, people), apply(lacking, texts))


def test_overrides_go_by_the_key(model):
    refused = NEW[model.predict(NEW) == "refused"].head(6)
    people = refused.assign(who=list("abcdef"))
    given = {"overrides": {"c": {"Income": "fixed", "Debt": "fixed"}}}
    table = apply(model, people, key="who", **given)
    own = model.recourse(
        refused, overrides={refused.index[2]: given["overrides"]["c"]}, time_limit=None
    ).to_frame()
    assert table["feature"].fillna("").tolist() == own["feature"].fillna("").tolist()


def test_a_model_file_is_read_once_in_a_process(model, tmp_path, monkeypatch):
    save_model(model, tmp_path / "a.ract")
    n_read = []
    from ract.apps.distributed import job

    monkeypatch.setattr(job, "_models", job.Memo(4))
    read = job.from_bytes
    monkeypatch.setattr(job, "from_bytes", lambda data: n_read.append(1) or read(data))
    for _ in range(3):
        apply(tmp_path / "a.ract", NEW.head(3))
    assert len(n_read) == 1


def test_what_cannot_be_meant_is_refused_in_one_sentence(model, tmp_path, monkeypatch):
    with pytest.raises(InvalidData, match=r"lack the column\(s\) 'Debt', which are needed; they"):
        apply(model, NEW.drop(columns="Debt"))
    with pytest.raises(InvalidSpec, match="time_limit cannot be asked of many machines: answers"):
        Job.of(model, time_limit=3.0)
    with pytest.raises(InvalidSpec, match="what must be one of 'decisions'"):
        Job.of(model, "letters")
    with pytest.raises(InvalidSpec, match="cost would be learned from each part of the people"):
        Job.of(model, cost="l1")
    with pytest.raises(InvalidSpec, match="key is 'Debt', which is a feature of the model"):
        Job.of(model, key="Debt")
    with pytest.raises(InvalidSpec, match="decisions take no option 'budget'; they take none."):
        Job.of(model, "decisions", budget=1)
    with pytest.raises(InvalidSpec, match="plans take no option 'budgets'; they take 'strength', "):
        Job.of(model, budgets=1)
    with pytest.raises(InvalidSpec, match="form must be 'long' or 'wide', got 'tall'."):
        Job.of(model, form="tall")
    (tmp_path / "no.ract").write_bytes(b"nothing")
    with pytest.raises(InvalidFile, match=r"no.ract cannot be read as a model: "):
        Job.of(tmp_path / "no.ract")
    begun = Job.of(model)
    monkeypatch.setattr("ract.apps.distributed.job.__version__", "9.9")
    with pytest.raises(
        InvalidSpec, match=f"has ract 9.9, but the run was begun with {ract.__version__}: every"
    ):
        begun(NEW)


def test_nodes_end_a_search_on_every_machine_alike(model):
    refused = NEW[model.predict(NEW) == "refused"]
    none = apply(model, refused, "has_recourse", max_nodes=0)
    assert set(none["status"]) <= {"unknown", "none within budget"}
    assert (none["status"] == "unknown").any()
    enough = apply(model, refused, "has_recourse")
    assert not (enough["status"] == "unknown").any()
    with pytest.raises(InvalidSpec, match="max_nodes and method='leaves' cannot be asked for"):
        model.recourse(refused, method="leaves", max_nodes=5)
