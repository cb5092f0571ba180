"""Answers of a Dask cluster are those of one process, even if a worker dies."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from ract import (
    OutcomeJudge,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    certify,
    load_model,
    save_model,
    verify,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.cli import app
from ract.apps.distributed import Job, apply, run
from ract.data.datasets import load_loans
from ract.evaluation.metrics import recourse_report
from ract.evaluation.report import audit
from ract.trees import model_fingerprint
from tests.builders import SUPPLYING, credit_with_holes

dd = pytest.importorskip("dask.dataframe")
scale = pytest.importorskip("ract.apps.distributed.dask")

LOANS = load_loans(300, random_state=1)
PEOPLE = LOANS.frame.assign(who=np.arange(300) + 1000, target=np.asarray(LOANS.target))
HOLES = credit_with_holes(200, 1)[0].assign(who=[f"p{i}" for i in range(200)])


def local(frame):
    """The same frame with the types that a Dask frame of texts has."""
    texts = {name: "string" for name in frame if isinstance(frame[name].dtype, pd.StringDtype)}
    return frame.astype(texts)


def same(one, other):
    pd.testing.assert_frame_equal(
        local(one.reset_index(drop=True)), local(other), check_dtype=False
    )


def with_an_empty_part(frame, n_parts):
    """A Dask frame of which one part has nobody."""
    parts = dd.from_pandas(frame, npartitions=n_parts)
    return dd.concat([parts.partitions[0], parts[parts["who"] == "nobody"].partitions[0],
                      *(parts.partitions[k] for k in range(1, n_parts))])  # fmt: skip


def test_plans_of_numbers_and_categories(cluster, loans_model):
    people = dd.from_pandas(PEOPLE, npartitions=4)
    found = scale.recourse(loans_model, people, key="who")
    assert found._meta.dtypes.equals(apply(loans_model, PEOPLE.head(0), key="who").dtypes)
    same(found.compute(), apply(loans_model, PEOPLE, key="who"))


def test_missing_values_bad_rows_and_a_part_of_nobody(cluster, holes_model):
    people = HOLES.copy()
    people.loc[[3, 150], "job"] = "astronaut"
    parts = with_an_empty_part(people, 3)
    assert parts.npartitions == 4
    for what in ("plans", "decisions", "has_recourse"):
        found = scale.apply(holes_model, parts, what, key="who").compute()
        same(found, apply(holes_model, people, what, key="who"))
    assert found["status"].eq("invalid").sum() == 2


def test_the_index_names_people_without_a_key(cluster, loans_model):
    found = scale.apply(loans_model, dd.from_pandas(LOANS.frame, npartitions=3), "has_recourse")
    assert found.compute()["person"].tolist() == list(range(300))


def test_certificate_and_report_from_parts(cluster, loans_model):
    people, model = dd.from_pandas(PEOPLE, npartitions=5), load_model(loans_model)
    X, y = LOANS.frame, np.asarray(LOANS.target)
    options = {"time_limit": None, "max_nodes": 200_000}
    own = certify(model, X, groups="Education", **options)
    found = scale.certify(loans_model, people, groups="Education")
    assert found.everyone == own.everyone and found.groups == own.groups
    assert (found.model, found.cost, found.budget) == (own.model, own.cost, own.budget)
    assert found.max_changes is own.max_changes is None
    for some in (X, X[::-1]):  # their order does not matter
        assert verify(found, model, some, groups="Education")
    other = X.assign(Income=X["Income"].where(X.index != 7, 0.0))
    assert "data" in verify(found, model, other, search=False).problems
    table = scale.report(loans_model, people, "target", groups="Education")
    expected = recourse_report(model, X, y, groups="Education", **options)
    expected = expected[expected["metric"] != "plausibility"].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, expected, rtol=1e-9)
    known = {"reference": X[:100], "effects": None}
    table = scale.report(loans_model, people, **known)
    pd.testing.assert_frame_equal(table, recourse_report(model, X, **known, **options), rtol=1e-9)


def test_an_audit_of_everyone_from_parts(cluster, holes_model):
    """Missing values, rows that cannot be read, a part of nobody, groups, and a judge."""
    model, people = load_model(holes_model), HOLES.copy()
    people.loc[[3, 150], "job"] = "astronaut"
    people["town"] = pd.Categorical(["Bonn"] * 70 + ["Rom"] * 130)  # no Bonn in the last part
    people["good"] = model.predict(HOLES.drop(columns="who"))
    judge = OutcomeJudge(SUPPLYING, n_splits=2, desired=model.desired_)
    judge.fit(*credit_with_holes(500, 0))
    with pytest.warns(UserWarning, match="2 of 200 rows cannot be read and are set aside."):
        found = scale.audit(
            holes_model, with_an_empty_part(people, 3), "good", key="who", groups="town",
            judge=judge, budget=0.2,
        )  # fmt: skip
    read = people.drop([3, 150]).set_index("who")
    own = audit(
        model, read.drop(columns=["town", "good"]), read["good"],
        groups=read["town"].to_numpy(object), judge=judge, budget=0.2, time_limit=None,
        max_people=None,
    )  # fmt: skip
    assert found.certificate.everyone == own.certificate.everyone
    assert found.certificate.groups == own.certificate.groups
    pd.testing.assert_frame_equal(found.metrics, own.metrics, rtol=1e-9)
    for name in ("costs", "changes", "held", "without", "verdicts"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(own, name), rtol=1e-9)
    assert found.n_supplied == own.n_supplied > 0 and found.judged == own.judged
    shown = [re.sub(r"<details>.*</details>|people-1-\w+|data-1-\w+|[\d-]{10} \d\d:\d\d", "",
                   one.to_html(), flags=re.DOTALL)
                 for one in (found, replace(own, sendable=None, book=None))]  # fmt: skip
    unknown = "It is not known whether some of these people were used in training"
    assert shown[0] == shown[1] and unknown in shown[0]


def test_the_command_checks_a_certificate_of_parts(cluster, loans_model, tmp_path):
    scale.certify(loans_model, dd.from_pandas(PEOPLE, npartitions=3)).save(tmp_path / "c.json")
    PEOPLE[::-1].to_csv(tmp_path / "people.csv", index=False)
    given = ["certify", loans_model, tmp_path / "people.csv", "--check", tmp_path / "c.json"]
    result = CliRunner().invoke(app, [str(one) for one in given])
    assert result.exit_code == 0, result.output
    assert "agrees with its record and model and data and question and counts" in result.stderr


def test_statements_refuse_what_they_do_not_take(loans_model):
    people = dd.from_pandas(PEOPLE, npartitions=2)
    with pytest.raises(InvalidSpec, match="no option 'strength' here; the options are 'budget', "):
        scale.certify(loans_model, people, strength=0.8)
    with pytest.raises(InvalidSpec, match="The people have no column 'Moon'."):
        scale.audit(loans_model, people, groups="Moon")
    with pytest.raises(InvalidSpec, match="people must be a Dask frame, got DataFrame."):
        scale.report(loans_model, PEOPLE)
    with pytest.raises(InvalidData, match="There is nobody to count."):
        scale.certify(loans_model, people[people["who"] == "nobody"])


def die_once(part, flag):
    """Kill the worker the first time this part is touched."""
    if not Path(flag).exists():
        Path(flag).touch()
        os._exit(1)
    return part


@pytest.mark.filterwarnings("ignore")  # of connections that ended with the worker
def test_a_worker_that_dies_changes_nothing(cluster, loans_model, tmp_path):
    people = dd.from_pandas(PEOPLE, npartitions=3)
    dying = people.map_partitions(die_once, str(tmp_path / "died"), meta=people._meta)
    found = scale.recourse(loans_model, dying, key="who", explain=False).compute()
    assert (tmp_path / "died").exists()
    same(found, apply(loans_model, PEOPLE, key="who", explain=False))


def test_what_does_not_fit_is_refused_before_anything_is_computed(loans_model):
    people = dd.from_pandas(PEOPLE, npartitions=2)
    with pytest.raises(InvalidData, match=r"lack the column\(s\) 'Debt', which are needed"):
        scale.recourse(loans_model, people.drop(columns="Debt"))
    with pytest.raises(InvalidSpec, match="people must be a Dask frame, got DataFrame."):
        scale.recourse(loans_model, PEOPLE)


def test_a_folder_of_parquet_becomes_the_same_bytes(cluster, holes_model, tmp_path):
    HOLES.to_parquet(tmp_path / "people.parquet")
    job, people = Job.of(holes_model, key="who", explain=False), tmp_path / "people.parquet"
    counts = run(job, people, tmp_path / "a", rows_per_part=60, mapper=scale.mapper(cluster))
    assert counts == run(job, people, tmp_path / "b", rows_per_part=60)
    one, other = (
        [path.read_bytes() for path in sorted((tmp_path / name).glob("*.parquet"))] for name in "ab"
    )
    assert len(one) == 4 and one == other


TRAINING = load_loans(400).frame.assign(outcome=np.asarray(load_loans(400).target))


def forest(**given):
    actions = load_loans(1).actions
    return RecourseForestClassifier(actions, **{"n_estimators": 6, "random_state": 0, **given})


def fitted_here(model, frame, target):
    return model.fit(frame.drop(columns=target), frame[target])


def test_a_forest_of_many_workers_is_that_of_one_machine(cluster):
    people = dd.from_pandas(TRAINING, npartitions=4)
    for given in ({}, {"max_samples": 0.5, "class_weight": "balanced", "monotonic": None}):
        own = fitted_here(forest(**given), TRAINING, "outcome")
        found = scale.fit(forest(**given), people, "outcome")
        assert model_fingerprint(found) == model_fingerprint(own)
        X = TRAINING.drop(columns="outcome")
        assert (found.predict(X) == own.predict(X)).all()


@pytest.mark.filterwarnings("ignore::ract.recourse.calibration.LastingWarning")
def test_what_a_fit_measures_is_measured_on_people_who_are_kept(cluster):
    given = {"lasting": 0.5, "oob_score": True, "n_estimators": 25}
    own = fitted_here(forest(**given), TRAINING, "outcome")
    found = scale.fit(forest(**given), dd.from_pandas(TRAINING, npartitions=4), "outcome")
    assert model_fingerprint(found) == model_fingerprint(own)
    for name in ("lasting_", "oob_score_", "oob_recourse_ratio_"):
        assert getattr(found, name) == getattr(own, name), name


@pytest.mark.filterwarnings("ignore")  # of connections that ended with the worker
def test_a_worker_that_dies_does_not_change_the_forest(cluster, tmp_path):
    frame, good = credit_with_holes(400, 0)
    frame = frame.assign(good=good, times=np.arange(400) % 3)
    model = RecourseForestClassifier(SUPPLYING, n_estimators=4, random_state=0)
    own = clone(model).fit(frame.drop(columns=["good", "times"]), good, frame["times"])
    people = dd.from_pandas(frame, npartitions=3)
    dying = people.map_partitions(die_once, str(tmp_path / "died"), meta=people._meta)
    found = scale.fit(model, dying, "good", "times")
    assert (tmp_path / "died").exists()
    assert model_fingerprint(found) == model_fingerprint(own)


def test_people_divided_among_workers(cluster, tmp_path):
    people = dd.from_pandas(TRAINING, npartitions=3)
    one, other = (
        scale.fit(forest(), people, "outcome", rows="divided", n_parts=2) for _ in range(2)
    )
    assert model_fingerprint(one) == model_fingerprint(other)
    X = TRAINING.drop(columns="outcome")
    scores = one.predict_proba(X)[:, list(one.classes_).index("approved")]
    assert roc_auc_score(TRAINING["outcome"] == "approved", scores) > 0.8
    save_model(one, tmp_path / "divided.ract")
    assert (load_model(tmp_path / "divided.ract").predict(X) == one.predict(X)).all()


def test_what_cannot_be_trained_by_workers_is_refused():
    people = dd.from_pandas(TRAINING, npartitions=2)
    with pytest.raises(InvalidSpec, match="Workers grow a RecourseForestClassifier, got a Recours"):
        scale.fit(RecourseTreeClassifier(), people, "outcome")
    with pytest.raises(InvalidSpec, match="oob_score needs rows='all'"):
        scale.fit(forest(oob_score=True), people, "outcome", rows="divided")
    with pytest.raises(InvalidSpec, match="rows must be 'all' or 'divided', got 'some'."):
        scale.fit(forest(), people, "outcome", rows="some")


def test_a_local_cluster_listens_on_this_machine_only():
    """Its dashboard answers without a login."""
    psutil = pytest.importorskip("psutil")
    own = psutil.Process()
    before = {c.laddr for c in own.net_connections("tcp") if c.status == "LISTEN"}
    with scale.local_client(n_workers=1):
        processes = [own, *own.children(recursive=True)]
        listening = {
            c.laddr for p in processes for c in p.net_connections("tcp") if c.status == "LISTEN"
        } - before
        assert len(listening) >= 2
        assert all(address.ip.endswith(("127.0.0.1", "::1")) for address in listening)


def test_trees_of_shares_of_the_seeds_make_the_same_forest():
    loans = load_loans(200)
    forest = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
    prepared = scale._checked(forest).prepare(loans.frame, loans.target)
    parts = scale._shares(forest.seeds, 2)
    assert parts == [forest.seeds[:3], forest.seeds[3:]]
    trees = [tree for part in parts for tree in scale._grown(forest, prepared.training, None, part)]
    pieces = model_fingerprint(forest.fit_grown(prepared, trees))
    assert pieces == model_fingerprint(forest.fit(loans.frame, loans.target))


def test_only_forests_are_grown_in_pieces():
    with pytest.raises(InvalidSpec, match="got a RecourseTreeClassifier"):
        scale._checked(RecourseTreeClassifier())
