import dataclasses
import warnings

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import RandomForestClassifier

from ract import ActionSpace, Feature, RecourseTreeClassifier, load_model, save_model
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.recourse.reasons.shapley import (
    choose_reference,
    cutoff_of,
    principal_reasons,
    score_of,
    shapley_values,
)
from ract.trees.readers import read_model
from tests import naive
from tests.builders import (
    each_seed,
    keeping_reference,
    random_problem,
    random_problem_with_holes,
    stump_on,
)
from tests.recourse.reasons.test_find import LOANS, PEOPLE, loans_forest


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@each_seed(range(25))
def test_values_equal_brute_force_over_all_coalitions(combine, seed):
    rng = np.random.default_rng([seed, 7])
    encoder, matrix, ensemble, _ = random_problem(rng, combine, n_features=(1, 5))
    ensemble = dataclasses.replace(ensemble, single=False)
    people, reference = matrix[:3], matrix[3 : 3 + int(rng.integers(1, 5))]
    parts = shapley_values(ensemble, encoder.axes, people, reference)
    blocks = [axis.columns for axis in encoder.axes]
    for own, found in zip(people, parts, strict=True):
        wanted = naive.shapley(
            lambda rows: naive.naive_score(ensemble, rows), own, reference, blocks
        )
        np.testing.assert_allclose(found.sum(axis=1), wanted, atol=1e-12)
    score = score_of(ensemble, matrix)
    difference = score[:3] - score[3 : 3 + len(reference)].mean()
    np.testing.assert_allclose(parts.sum(axis=(1, 2)), difference, atol=1e-12)


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@each_seed(range(15))
def test_values_with_missing_values_equal_brute_force(combine, seed):
    rng = np.random.default_rng([seed, 9])
    encoder, matrix, ensemble, _ = random_problem_with_holes(rng, combine, n_features=(2, 4))
    ensemble = dataclasses.replace(ensemble, single=False)
    for axis in encoder.axes:  # values may be missing where training had none
        if not axis.has_missing:
            matrix[np.ix_(rng.random(len(matrix)) < 0.3, axis.columns)] = np.nan
    people, reference = matrix[:4], matrix[4:8]
    parts = shapley_values(ensemble, encoder.axes, people, reference)
    blocks = [axis.columns for axis in encoder.axes]
    for own, found in zip(people, parts, strict=True):
        wanted = naive.shapley(
            lambda rows: naive.naive_score(ensemble, rows), own, reference, blocks
        )
        np.testing.assert_allclose(found.sum(axis=1), wanted, atol=1e-12)
    difference = score_of(ensemble, people) - score_of(ensemble, reference).mean()
    np.testing.assert_allclose(parts.sum(axis=(1, 2)), difference, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_those_of_smaller_larger_and_unknown_reference_people(seed):
    rng = np.random.default_rng([seed, 8])
    encoder, matrix, ensemble, _ = random_problem_with_holes(
        rng, kinds=["continuous"], n_features=(2, 3)
    )
    people, reference = matrix[:2], matrix[2:8]
    parts = shapley_values(ensemble, encoder.axes, people, reference)
    for i, own in enumerate(people):
        for a, axis in enumerate(encoder.axes):
            j, sums = axis.columns[0], np.zeros(3)
            for other in reference:
                one = shapley_values(ensemble, encoder.axes, own[None], other[None])
                part = 2 if np.isnan(other[j]) else int(other[j] > own[j])
                sums[part] += one[0, a].sum() / len(reference)
            np.testing.assert_allclose(parts[i, a], sums, atol=1e-12)


def test_threads_and_parts_change_nothing(rng):
    encoder, matrix, ensemble, _ = random_problem(rng, n_features=(3, 3))
    people = np.tile(matrix, (10, 1))
    one = shapley_values(ensemble, encoder.axes, people, matrix, n_jobs=1)
    assert np.array_equal(one, shapley_values(ensemble, encoder.axes, people, matrix, n_jobs=2))


def test_a_feature_that_is_not_split_on_has_no_value_at_all(rng):
    encoder, matrix, _, _ = random_problem(rng, kinds=["continuous"], n_features=(3, 3))
    stump = stump_on(1, float(np.median(matrix[:, 1])))
    parts = shapley_values(stump, encoder.axes, matrix, matrix)
    assert (parts[:, [0, 2]] == 0).all() and (parts[:, 1] != 0).any()


def values_by_shap(model, people, reference):
    with warnings.catch_warnings():  # of its own plots, when it is imported
        warnings.simplefilter("ignore")
        import shap
    explainer = shap.TreeExplainer(
        model, reference, feature_perturbation="interventional", model_output="raw"
    )
    return explainer.shap_values(people, check_additivity=False)


def some_people(rng, n=400):
    people = rng.normal(size=(n, 6))
    score = people @ [1, -1, 0.5, 0, 0.3, 0.1] + people[:, 0] * people[:, 1]
    return people, (score > 0).astype(int)


SPACE = ActionSpace([Feature(f"x{k}") for k in range(6)], limits=None)


def values_by_ract(model, people, reference):
    tree = read_model(model, people, SPACE)
    matrix, other = tree.encoder.matrix(people[:20]), tree.encoder.matrix(reference)
    return tree, shapley_values(tree.ensemble, tree.encoder.axes, matrix, other).sum(axis=2)


@pytest.mark.parametrize("desired", [0, 1])
def test_values_of_a_scikit_learn_forest_are_those_of_shap(rng, desired):
    people, y = some_people(rng)
    model = RandomForestClassifier(12, random_state=0).fit(people, y)
    tree = read_model(model, people, SPACE, desired=desired)
    reference = people[50:90]
    ours = shapley_values(
        tree.ensemble, tree.encoder.axes, tree.encoder.matrix(people[:20]),
        tree.encoder.matrix(reference),
    ).sum(axis=2)  # fmt: skip
    theirs = values_by_shap(model, people[:20], reference)
    np.testing.assert_allclose(ours, theirs[:, :, desired], atol=1e-6)
    assert cutoff_of(tree.ensemble) == pytest.approx(0.5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_values_of_boosted_trees_are_those_of_shap(rng, library):
    people, y = some_people(rng)
    if library == "lightgbm":
        model = lightgbm.LGBMClassifier(n_estimators=15, num_leaves=8, verbose=-1)
    else:
        model = xgboost.XGBClassifier(n_estimators=15, max_depth=4)
    model.fit(people, y)
    reference = people[50:90]
    tree, ours = values_by_ract(model, people, reference)
    assert tree.ensemble.combine == "sum"
    theirs = values_by_shap(model, people[:20], reference)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_principal_reasons_hurt_most_first_and_say_ties():
    parts = np.zeros((6, 3))
    parts[:, 0] = [-0.1, 0.4, -0.3, 0.0, -0.295, -0.001]
    found = principal_reasons(parts, 4)
    assert [reason.axis for reason in found] == [2, 4, 0]
    assert [reason.tied for reason in found] == [(4,), (2,), ()]
    assert found[0].share == pytest.approx(0.3 / 0.696)
    assert [reason.axis for reason in principal_reasons(parts, 1)] == [2]
    assert principal_reasons(parts, 1)[0].tied == (4,)  # who is left out is named
    assert principal_reasons(np.maximum(parts, 0), 4) == []


def test_equal_features_stand_in_the_order_of_the_table():
    parts = np.array([[-0.2, 0.0, 0.0], [0.0, -0.2, 0.0], [-0.2, 0.0, 0.0]])
    found = principal_reasons(parts, 2)
    assert [(reason.axis, reason.larger, reason.tied) for reason in found] == [
        (0, False, (1, 2)),
        (1, True, (0, 2)),
    ]


def test_comparison_with_people_without_a_number_gives_no_direction():
    parts = np.array([[-0.1, -0.2, -0.9], [0.1, 0.0, -0.5]])
    assert [reason.larger for reason in principal_reasons(parts, 2)] == [True, None]


def test_the_reference_is_the_lowest_tenth_of_the_accepted():
    matrix, trees = loans_forest().encoder_.matrix(LOANS.frame), loans_forest().ensemble_
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
    given = loans_forest().reasons(PEOPLE, reference=LOANS.frame)
    kept = loans_forest().reasons(PEOPLE)
    assert np.array_equal(kept.values, given.values)
    save_model(loans_forest(), tmp_path / "kept.ract")
    again = load_model(tmp_path / "kept.ract")
    assert np.array_equal(again.reference_, loans_forest().reference_)
    assert again.reasons(PEOPLE).to_frame().equals(kept.to_frame())
    with pytest.raises(InvalidSpec, match="against='mean' needs others than it has kept"):
        loans_forest().reasons(PEOPLE, against="mean")


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
