"""Training on stored people: the same model, whatever the batches."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    TunedRecourseClassifierCV,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.costs import PercentileCost
from ract.data.datasets import load_loans
from ract.data.frames import read_table
from ract.data.sketch import ColumnSketch, Points, TableSketch
from ract.models import out_of_core as _streamed
from ract.trees import model_fingerprint
from tests.builders import SUPPLYING, credit_with_holes, people_with_missing, rules_with_missing

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")

LOANS = load_loans(700)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(_streamed, "ROWS_AT_ONCE", 97)
    monkeypatch.setattr(_streamed, "IN_MEMORY", 1000)  # files too


def stored(frame, tmp_path, n_files=3):
    """A folder of Parquet files."""
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(tmp_path / f"{k}.parquet", index=False)
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"recourse_weight": 0, "max_bins": 16},
        {"class_weight": "balanced", "cost": "range", "n_estimators": 2},
        {"cost": PercentileCost(exact=True), "min_recourse": 0.9},
    ],
)
def test_the_model_is_that_of_the_table_in_memory(tmp_path, given):
    forest = RecourseForestClassifier(
        LOANS.actions, **{"n_estimators": 5, "random_state": 0, **given}
    )
    own = forest.fit(LOANS.frame, LOANS.target)
    expected, probabilities = model_fingerprint(own), own.predict_proba(LOANS.frame)
    path = stored(LOANS.frame.assign(outcome=LOANS.target), tmp_path)
    found = forest.fit(path, "outcome")
    assert model_fingerprint(found) == expected
    assert (found.predict_proba(LOANS.frame) == probabilities).all()
    assert found.feature_names_in_.tolist() == list(LOANS.frame.columns)
    assert found.grid_error_ == 0 and found.classes_.dtype == own.classes_.dtype
    assert model_fingerprint(forest.fit(ds.dataset(path), "outcome")) == expected


@pytest.mark.parametrize("actions", [SUPPLYING, None], ids=["rules", "no rules"])
def test_missing_values_categories_and_weights(tmp_path, actions):
    frame, good = credit_with_holes(600, 0)
    weights = np.random.default_rng(0).integers(0, 4, 600)
    tree = RecourseTreeClassifier(actions, desired="yes", max_depth=5, random_state=0)
    expected = model_fingerprint(tree.fit(frame, good, weights))
    path = stored(frame.assign(good=good, times=weights), tmp_path)
    assert model_fingerprint(tree.fit(path, "good", "times")) == expected


@pytest.mark.parametrize("seed", range(4))
def test_kinds_are_read_off_as_from_a_table(tmp_path, seed):
    frame, target = people_with_missing(np.random.default_rng(seed), 150)
    frame["flag"] = np.random.default_rng(seed).random(150) < 0.3
    levels = ["none", "some", "more", "most"]
    level = np.array(levels)[frame["age"].fillna(1).clip(0, 3).astype(int)]
    frame["level"] = pd.Categorical(level, levels, ordered=True)
    actions = ActionSpace(
        [*rules_with_missing(supply_cost=0.3), Feature("level", change="increase")], limits=None
    )
    tree = RecourseTreeClassifier(actions, desired="yes", max_depth=4)
    expected = model_fingerprint(tree.fit(frame, target))
    assert model_fingerprint(tree.fit(stored(frame.assign(y=target), tmp_path), "y")) == expected


def sketched(batches, most):
    whole = None
    for values in batches:
        part = TableSketch.of(pd.DataFrame({"x": values}), None, {}, most)
        whole = part if whole is None else whole + part
    return whole.columns["x"]


@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_off_by_no_more_than_is_said(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.lognormal(size=20_000), 4)
    values[rng.random(20_000) < 0.2] = 1.5  # one that many people share
    batches = np.array_split(values, 37)
    column = sketched(batches, 400)
    points = column.points
    assert 0 < column.error < 0.06 and len(points.values) < 3000
    assert points.counts.sum() == 20_000 and points.values[[0, -1]].tolist() == [
        values.min(), values.max(),
    ]  # fmt: skip
    ordered = np.sort(values)
    true = np.searchsorted(ordered, points.values, side="right")
    off = np.abs(np.cumsum(points.counts) - true).max() / len(values)
    assert off <= column.error
    exact = sketched(batches, 20_000)
    assert exact.error == 0 and exact.points.values.tolist() == np.unique(values).tolist()


def test_sketches_add_up_in_any_number_of_parts():
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=n) for n in (5, 300, 1, 40, 77)]
    one = sketched(batches, 10_000).points
    other = ColumnSketch()
    for part in (batches[:2], batches[2:]):
        other.add(sketched(part, 10_000), 10_000, "x")
    assert (one.values == other.points.values).all() and (one.mass == other.points.mass).all()
    assert isinstance(one, Points) and read_table(pd.DataFrame({"x": [1.0]})).n_rows == 1


def test_a_grid_of_sketches_is_near_the_exact_one(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=8000), "b": rng.integers(0, 9, 8000)})
    y = frame["a"] + frame["b"] / 5 + rng.normal(size=8000) > 1
    path = stored(frame.assign(y=y), tmp_path)
    columns = _streamed.Columns.of(["a", "b", "y"], "y", None, None)
    sketches = []
    for most in (10**6, 600):
        monkeypatch.setattr(_streamed, "MOST_VALUES", most)
        sketches.append(_streamed.sketch_stored(path, columns, 32))
    exact, rough = (s.columns["a"].points for s in sketches)
    assert sketches[0].error == 0 < sketches[1].error < 0.1
    forest = RecourseForestClassifier(desired=True, n_estimators=5, max_bins=32, random_state=0)
    auc = forest.fit(path, "y").score(frame, y)
    assert abs(auc - forest.fit(frame, y).score(frame, y)) < 0.01
    assert len(rough.values) < len(exact.values)


MEASURED = {"lasting": 0.5, "oob_score": True}


def measured(forest):
    """What a fit measures beside the model."""
    return [forest.lasting_, forest.oob_score_, forest.oob_recourse_ratio_]


@pytest.mark.filterwarnings("ignore::ract.recourse.calibration.LastingWarning")
def test_what_is_measured_on_people_in_memory(tmp_path, monkeypatch):
    """The same if everyone is kept; of more people, some are kept, evenly spread."""
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=20, random_state=0, **MEASURED)
    frame = LOANS.frame.assign(outcome=LOANS.target)
    path = stored(frame, tmp_path)
    own = clone(forest).fit(LOANS.frame, LOANS.target)
    found = clone(forest).fit(path, "outcome")
    assert model_fingerprint(found) == model_fingerprint(own)
    assert measured(found) == measured(own)
    np.testing.assert_array_equal(found.oob_decision_function_, own.oob_decision_function_)
    tuned = [
        TunedRecourseClassifierCV(clone(forest).set_params(lasting=None)).fit(*table)
        for table in ((LOANS.frame, LOANS.target), (path, "outcome"))
    ]
    assert tuned[0].weight_search_ == tuned[1].weight_search_
    monkeypatch.setattr("ract.models.base.MOST_ROWS", 250)
    kept = clone(forest).prepare(path, "outcome").in_memory
    assert len(kept.rows) == 250 and set(np.diff(kept.rows)) == {2, 3}
    pd.testing.assert_frame_equal(
        kept.X, LOANS.frame.iloc[kept.rows].reset_index(drop=True), check_dtype=False
    )
    assert (kept.desired == (np.asarray(LOANS.target)[kept.rows] == "approved")).all()
    some = clone(forest).set_params(recourse_weight=0.1, lasting=None).fit(path, "outcome")
    assert abs(some.oob_score_ - own.oob_score_) < 0.08
    assert not hasattr(some, "oob_decision_function_")


def test_what_needs_the_table_in_memory_is_refused(tmp_path):
    path = stored(LOANS.frame.assign(outcome=LOANS.target), tmp_path)
    with pytest.raises(InvalidSpec, match="confidence needs the whole table in memory"):
        RecourseTreeClassifier(LOANS.actions, min_recourse=0.9, confidence=0.9).fit(path, "outcome")
    forest = RecourseForestClassifier(LOANS.actions)
    with pytest.raises(InvalidSpec, match="y must name a column of a table that is read in batch"):
        forest.fit(path, LOANS.target)
    with pytest.raises(InvalidSpec, match="y must name a column .* got 'class'; its columns are"):
        forest.fit(path, "class")
    with pytest.raises(InvalidData, match="There is no file or folder nowhere"):
        forest.fit("nowhere", "outcome")
    with pytest.raises(InvalidSpec, match="A kernel estimate needs the whole column in memory"):
        RecourseForestClassifier(LOANS.actions, cost="kernel-percentile").fit(path, "outcome")
