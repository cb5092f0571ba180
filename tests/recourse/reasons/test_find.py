import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_reasons,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.data.datasets import load_loans
from ract.recourse.reasons.reference import choose_reference
from ract.recourse.reasons.shapley import score_of
from tests.builders import keeping_reference

LOANS = load_loans(n_people=600)
FOREST = keeping_reference(
    RecourseForestClassifier(LOANS.actions, n_estimators=15, random_state=0).fit(
        LOANS.frame, LOANS.target
    ),
    LOANS.frame,
)
PEOPLE = LOANS.frame.head(40)


def test_values_add_up_and_only_the_refused_have_reasons():
    reasons = FOREST.reasons(PEOPLE, reference=LOANS.frame)
    assert len(reasons) == 40 and reasons.values.shape == (40, len(reasons.feature_names))
    np.testing.assert_allclose(reasons.values.sum(axis=1), reasons.score - reasons.base, atol=1e-12)
    refused = FOREST.predict(PEOPLE) != "approved"
    assert np.array_equal(reasons.refused, refused) and 0 < refused.sum() < 40
    assert ((reasons.score < reasons.cutoff) == refused).all()
    for person, out in zip(reasons, refused, strict=True):
        assert bool(person.reasons) == bool(out)
        hurt = [reason.contribution for reason in person.reasons]
        assert len(hurt) <= 4 and hurt == sorted(hurt) and all(value < 0 for value in hurt)


def test_a_category_is_one_reason_in_the_words_of_the_table():
    reasons = FOREST.reasons(LOANS.frame, reference=LOANS.frame, responsiveness=False)
    given = [reason for person in reasons for reason in person.reasons]
    purposes = [reason for reason in given if reason.feature == "Purpose"]
    assert purposes and all(reason.direction == "category" for reason in purposes)
    known = set(LOANS.frame["Purpose"])
    assert {reason.value for reason in purposes} <= known and purposes[0].typical in known
    assert not purposes[0].asked and purposes[0].mending == "unknown"
    guarantor = [reason for reason in given if reason.feature == "Guarantor"]
    assert guarantor and all(isinstance(reason.value, bool) for reason in guarantor)


def test_the_reference_is_the_lowest_tenth_of_the_accepted():
    matrix, trees = FOREST.encoder_.matrix(LOANS.frame), FOREST.ensemble_
    score = score_of(trees, matrix)
    accepted = np.sort(score[trees.decide(matrix)])
    margin = choose_reference(trees, matrix)
    n = int(np.ceil(len(accepted) / 10))
    assert len(margin.matrix) == n and margin.base == pytest.approx(accepted[:n].mean())
    assert choose_reference(trees, matrix, "accepted", None).base == pytest.approx(accepted.mean())
    assert choose_reference(trees, matrix, "mean", None).base == pytest.approx(score.mean())
    few = choose_reference(trees, matrix, "accepted", 50)
    assert len(few.matrix) == 50 and few.base == pytest.approx(accepted.mean(), abs=0.02)


def test_kept_people_serve_in_this_process_and_from_a_file(tmp_path):
    given = FOREST.reasons(PEOPLE, reference=LOANS.frame)
    kept = FOREST.reasons(PEOPLE)
    assert np.array_equal(kept.values, given.values)
    save_model(FOREST, tmp_path / "kept.ract")
    again = load_model(tmp_path / "kept.ract")
    assert np.array_equal(again.reference_, FOREST.reference_)
    assert again.reasons(PEOPLE).to_frame().equals(kept.to_frame())
    with pytest.raises(InvalidSpec, match="against='mean' needs others than it has kept"):
        FOREST.reasons(PEOPLE, against="mean")


def test_a_file_with_other_reference_people_than_columns_is_refused(tmp_path):
    broken = RecourseTreeClassifier(LOANS.actions, max_depth=2).fit(LOANS.frame, LOANS.target)
    broken.reference_ = np.zeros((3, 2))
    save_model(broken, tmp_path / "broken.ract")
    with pytest.raises(InvalidFile, match="reference people"):
        load_model(tmp_path / "broken.ract")


def test_nothing_is_kept_unless_asked_for(tmp_path):
    tree = RecourseTreeClassifier(LOANS.actions, max_depth=3).fit(LOANS.frame, LOANS.target)
    assert not hasattr(tree, "reference_")
    with pytest.raises(InvalidSpec, match="give reference="):
        tree.reasons(PEOPLE)
    found = tree.reasons(PEOPLE, reference=LOANS.frame)
    assert set(found.score) <= {0.0, 1.0} and found.cutoff == 1.0  # its label decides
    kept = keeping_reference(tree, LOANS.frame)
    assert kept.reasons(PEOPLE).to_frame().equals(found.to_frame())
    assert not hasattr(kept.fit(LOANS.frame, LOANS.target), "reference_")


NUMBERS = LOANS.frame[["Age", "Income", "Savings", "Debt"]].astype(float)
SPACE = ActionSpace(
    [Feature("Age", change="fixed"), *map(Feature, ["Income", "Savings", "Debt"])], limits=None
)


@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
def test_models_of_other_libraries_have_reasons_imported_or_not(kind, tmp_path):
    model = kind(n_estimators=8, max_depth=4, random_state=0).fit(NUMBERS, LOANS.target)
    with pytest.raises(InvalidSpec, match="give reference="):
        find_reasons(model, NUMBERS.head(30), actions=SPACE, desired="approved")
    found = find_reasons(
        model, NUMBERS.head(30), actions=SPACE, desired="approved", reference=NUMBERS
    )
    np.testing.assert_allclose(found.values.sum(axis=1), found.score - found.base, atol=1e-9)
    imported = import_model(model, NUMBERS, SPACE, desired="approved", budget=np.inf)
    save_model(imported, tmp_path / "other.ract", keep_reference=NUMBERS)
    kept = load_model(tmp_path / "other.ract").reasons(NUMBERS.head(30))
    np.testing.assert_allclose(kept.values, found.values, atol=1e-12)
    assert [p.describe() for p in kept] == [p.describe() for p in found]


def test_people_of_any_library_and_those_who_cannot_be_read():
    plain = FOREST.reasons(PEOPLE)
    assert FOREST.reasons(pl.from_pandas(PEOPLE))[2].reasons == plain[2].reasons
    holes = PEOPLE.copy()
    holes["Income"] = holes["Income"].astype(object)
    holes.loc[holes.index[1], "Income"] = "much"
    marked = FOREST.reasons(holes)
    assert marked.status[1] == "invalid" and "'much'" in marked[1].describe()
    assert np.isnan(marked.values[1]).all() and not marked[1].reasons
    assert marked[2].reasons == plain[2].reasons
    assert marked.to_frame()["message"].notna().sum() == 1
    with pytest.raises(InvalidData, match="'Income'"):
        FOREST.reasons(holes, strict=True)


def test_frames_have_a_row_for_everyone():
    reasons = FOREST.reasons(PEOPLE)
    long, wide = reasons.to_frame(), reasons.to_frame("wide")
    assert set(long["person"]) == set(PEOPLE.index) and len(wide) == 40
    assert (long.loc[long["rank"] > 0, "contribution"] < 0).all()
    assert wide.columns[:2].tolist() == ["status", "score"]
    with pytest.raises(InvalidSpec, match="form must be"):
        reasons.to_frame("tall")
    assert repr(reasons).startswith("Reasons of 40 people: ")
    everyone = LOANS.frame[FOREST.predict(LOANS.frame) == "approved"].head(5)
    none = FOREST.reasons(everyone)
    assert none.to_frame()["rank"].tolist() == [0] * 5
    assert none[0].describe() == "Already approved: there are no reasons for a refusal."


def test_what_cannot_be_asked_is_refused_in_one_sentence():
    with pytest.raises(InvalidSpec, match="against must be one of"):
        FOREST.reasons(PEOPLE, against="median")
    with pytest.raises(InvalidSpec, match="max_reasons must be 0 or more"):
        FOREST.reasons(PEOPLE, max_reasons=-1)
    with pytest.raises(InvalidSpec, match="n_reference must be 1 or more"):
        FOREST.reasons(PEOPLE, n_reference=0)
    with pytest.raises(InvalidSpec, match="Reasons are those of one model"):
        find_reasons([FOREST, FOREST], PEOPLE)
    refused = LOANS.frame[FOREST.predict(LOANS.frame) != "approved"]
    with pytest.raises(InvalidData, match="accepts nobody of the"):
        FOREST.reasons(PEOPLE, reference=refused)
    assert isinstance(FOREST.reasons(PEOPLE, max_reasons=2).to_frame(), pd.DataFrame)
