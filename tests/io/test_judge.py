"""A judge in a model file: the same verdicts, nobody's rows, and nothing that is not a judge."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ract import OutcomeJudge, RecourseForestClassifier, import_model, load_model, save_model
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.data.datasets import load_loans
from ract.io import load_judge, read_model_file
from ract.io.archive import from_npy, pack_members, to_npy, unpack
from ract.io.load import from_bytes
from ract.io.save import model_bytes
from ract.trees import model_fingerprint

LOANS, NEW = load_loans(400), load_loans(100, random_state=1)
NUMBERS = ["Age", "Income", "Debt", "Savings", "LoanAmount"]


@pytest.fixture(scope="module")
def model():
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=5, max_depth=4, random_state=0)
    return forest.fit(LOANS.frame, LOANS.target)


@pytest.fixture(scope="module")
def judge():
    return OutcomeJudge(LOANS.actions, n_splits=2).fit(LOANS.frame, LOANS.target)


def test_verdicts_are_the_same_from_a_file(model, judge, tmp_path):
    save_model(model, tmp_path / "model.ract", judge=judge)
    kept, again = load_judge(tmp_path / "model.ract"), load_model(tmp_path / "model.ract")
    assert model_fingerprint(again) == model_fingerprint(model)
    recourse = again.recourse(NEW.frame, explain=False)
    one, other = recourse.judged(judge), recourse.judged(kept)
    pd.testing.assert_frame_equal(one.frame, other.frame)
    assert (one.bar, one.accepted) == (other.bar, other.accepted)
    # A second file from what was read is the same file.
    assert model_bytes(again, judge=kept) == model_bytes(model, judge=judge)


def test_a_judge_is_kept_only_on_request(model, judge, tmp_path):
    save_model(model, tmp_path / "model.ract")
    assert read_model_file(tmp_path / "model.ract").judge is None
    with pytest.raises(InvalidFile, match="contains no judge; fit one on the training table"):
        load_judge(tmp_path / "model.ract")
    assert len(model_bytes(model)) < len(model_bytes(model, judge=judge))


def test_nobodys_row_is_kept(model, judge):
    meta, arrays = content(model_bytes(model, judge=judge))
    assert "people" not in json.dumps(meta["judge"])
    named = {name for name in arrays if name.startswith("judge.")}
    trees = ("feature", "threshold", "left", "right", "label", "value", "root", "missing_left")
    assert named == {"judge.scores", "judge.spreads", *(f"judge.ensemble.{name}" for name in trees)}


def test_imported_models_keep_one_too(tmp_path):
    people = LOANS.frame[NUMBERS]
    tree = DecisionTreeClassifier(max_depth=3).fit(people, LOANS.target)
    imported = import_model(tree, people, LOANS.actions.infer(people, fixed=["Age"], groups={}),
                            desired="approved")  # fmt: skip
    judge = OutcomeJudge(desired="approved", n_splits=2).fit(people, LOANS.target)
    save_model(imported, tmp_path / "model.ract", judge=judge)
    kept, recourse = load_judge(tmp_path / "model.ract"), imported.recourse(NEW.frame[NUMBERS])
    pd.testing.assert_frame_equal(recourse.judged(judge).frame, recourse.judged(kept).frame)


def test_what_cannot_be_kept_is_refused(model, tmp_path):
    people = LOANS.frame[NUMBERS]
    flipped = OutcomeJudge(desired="refused", n_splits=2).fit(LOANS.frame, LOANS.target)
    own = OutcomeJudge(LOANS.actions, classifier=DecisionTreeClassifier(), n_splits=2)
    logistic = OutcomeJudge(
        desired="approved", classifier=LogisticRegression(max_iter=10_000), n_splits=2
    ).fit(people / people.max(), LOANS.target)
    for judge, message in [(flipped, "fitted for the class 'refused'"),
                           (logistic, "LogisticRegression cannot be stored")]:  # fmt: skip
        with pytest.raises(InvalidSpec, match=message):
            save_model(model, tmp_path / "model.ract", judge=judge)
    with pytest.raises(ValueError, match="not fitted"):
        save_model(model, tmp_path / "model.ract", judge=own)
    assert not list(tmp_path.iterdir())


def content(data):
    """The meta data and arrays of a file."""
    _, members = unpack(data)
    meta = json.loads(members.pop("model.json"))
    return meta, {name.removesuffix(".npy"): from_npy(held, name).copy()
                  for name, held in members.items()}  # fmt: skip


def file_of(model, meta, arrays):
    members = {f"{name}.npy": to_npy(array) for name, array in arrays.items()}
    head = {"ract": "1", "kind": "forest", "fingerprint": model_fingerprint(model)}
    return pack_members({"model.json": json.dumps(meta).encode(), **members}, head)


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        ("n_splits", 1, "not those of halves"),
        ("n_splits", 3, "not those of halves"),
        ("n_splits", 10**9, "not those of halves"),
        ("scale", -1.0, "numbers of its judge"),
        ("shift", {"float": "inf"}, "not finite"),
        ("confidence", 1, "numbers of its judge"),
        ("accepted", 1.5, "numbers of its judge"),
        ("accepted", None, "accepted"),
        ("encoder", {}, "columns"),
        ("ensemble", 3, "ensemble"),
        ("judge.scores", np.array([0.5] * 9), "scores of its judge"),
        ("judge.scores", np.array([0.5] * 20 + [np.nan]), "no shares"),
        ("judge.scores", np.array([0.5] * 20 + [1.5]), "no shares"),
        ("judge.scores", np.zeros((5, 5)), "scores of its judge"),
        ("judge.spreads", np.array([0.1] * 20), "differ in length"),
        ("judge.ensemble.left", np.zeros(3, np.int32), "differ in length"),
    ],
)
def test_a_judge_is_not_believed(model, judge, place, value, complaint):
    meta, arrays = content(model_bytes(model, judge=judge))
    from_bytes(file_of(model, meta, arrays))
    (arrays if place in arrays else meta["judge"])[place] = value
    with pytest.raises(InvalidFile, match=complaint):
        from_bytes(file_of(model, meta, arrays))


def test_a_judge_of_other_columns_is_refused(model, judge):
    meta, arrays = content(model_bytes(model, judge=judge))
    meta["judge"]["encoder"]["columns"].reverse()
    with pytest.raises(InvalidFile, match="other columns than its model"):
        from_bytes(file_of(model, meta, arrays))
