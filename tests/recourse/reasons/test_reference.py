"""Whom people are compared with: those of a table, or those that a model has kept."""

import numpy as np
import pytest

from ract import RecourseTreeClassifier, load_model, save_model
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.recourse.reasons.reference import choose_reference
from ract.recourse.reasons.shapley import score_of
from tests.builders import keeping_reference
from tests.recourse.reasons.test_find import FOREST, LOANS, PEOPLE


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
