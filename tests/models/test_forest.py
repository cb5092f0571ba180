import os
import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from ract import ActionSpace, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.data.datasets import fetch_compas, fetch_fico, load_loans
from ract.models.forest import RecourseForestClassifier
from ract.recourse.exact.search import ExactSearch
from ract.trees.cover import Attainment, majority_labels
from ract.trees.grower import bootstrap_counts
from tests.builders import SecondClassForest, seeded, some_trees

NOT_OF_FORESTS = {
    "check_classifiers_train": "votes decide, probabilities are the mean shares of leaves",
    "check_sample_weight_equivalence_on_dense_data": (
        "a bootstrap draws people whatever they weigh, so a weight of two is not a repeated row"
    ),
}


def checks_of(estimator):
    return parametrize_with_checks([estimator], expected_failed_checks=lambda _: NOT_OF_FORESTS)


@checks_of(SecondClassForest(n_estimators=5))
def test_scikit_learn_estimator_checks(estimator, check):
    seeded(check)(estimator)


@pytest.mark.slow
@checks_of(SecondClassForest(n_estimators=5, recourse_weight=0))
def test_scikit_learn_estimator_checks_without_recourse(estimator, check):
    seeded(check)(estimator)


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=600)


def small_forest(loans, **parameters):
    parameters = {"n_estimators": 6, "max_depth": 6, "random_state": 0, **parameters}
    return RecourseForestClassifier(loans.actions, **parameters)


def assert_same_trees(one, other):
    for name in ("feature", "threshold", "left", "right", "label", "value", "root"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def leaf_by_hand(ensemble, root, person):
    """Walk one person down one tree."""
    node = root
    while ensemble.feature[node] >= 0:
        left = person[ensemble.feature[node]] <= ensemble.threshold[node]
        node = ensemble.left[node] if left else ensemble.right[node]
    return node


def leaves_by_hand(model, frame):
    ensemble = model.ensemble_
    return [
        [leaf_by_hand(ensemble, root, person) for root in ensemble.root]
        for person in model.encoder_.matrix(frame)
    ]


def splitmix_draws(seed, n_people, n_drawn):
    """Bootstrap counts and the state they leave behind, in whole numbers of any size."""
    times, mask = [0] * n_people, 2**64 - 1
    for _ in range(n_drawn):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        times[((z >> 33) * n_people) >> 31] += 1
    return times, seed


@pytest.mark.parametrize(("n_people", "n_drawn"), [(1, 3), (7, 7), (50, 20)])
def test_bootstrap_samples_are_those_of_the_generator(n_people, n_drawn):
    for seed in (0, 1, 2**31 - 2):
        times, after = bootstrap_counts(n_people, n_drawn, seed)
        assert (list(times), after) == splitmix_draws(seed, n_people, n_drawn)


def test_bootstrap_samples_draw_everyone_alike():
    times, _ = bootstrap_counts(1000, 500_000, seed=3)
    spread = (times - 500) / np.sqrt(500)
    assert abs(spread.mean()) < 1e-9 and 0.9 < spread.std() < 1.1 and abs(spread).max() < 5
    apart = [bootstrap_counts(2000, 2000, seed)[0] for seed in range(6)]
    assert np.mean([(times == 0).mean() for times in apart]) == pytest.approx(np.exp(-1), abs=0.01)
    assert np.abs(np.corrcoef(apart) - np.eye(6)).max() < 0.1


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
    reason="threads are for compiled kernels; uncompiled ones warn when integers wrap around",
)
def test_the_number_of_threads_makes_no_difference(loans):
    forests = [small_forest(loans, n_jobs=n).fit(loans.frame, loans.target) for n in (1, 2, 4)]
    people = pd.concat([loans.frame] * 4)
    for other in forests[1:]:
        assert_same_trees(forests[0].ensemble_, other.ensemble_)
        np.testing.assert_array_equal(other.predict_proba(people), forests[0].predict_proba(people))
        np.testing.assert_array_equal(other.predict(people), forests[0].predict(people))


def test_frames_and_arrays_give_the_same_forest(rng):
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 9, 200)])
    y = (X[:, 0] + 0.2 * X[:, 1] > 1).astype(int)
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    model = RecourseForestClassifier(n_estimators=4, desired=1, random_state=0, oob_score=True)
    forests = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ people are in every")
        for table in (X, frame, pl.from_pandas(frame)):
            forests.append(clone(model).fit(table, y))
    for other in forests[1:]:
        assert_same_trees(forests[0].ensemble_, other.ensemble_)
        assert forests[0].oob_score_ == other.oob_score_


@pytest.mark.parametrize(("n_estimators", "expected"), [(1, 1), (5, 3), (6, 4)])
def test_votes_and_probabilities_by_hand(loans, n_estimators, expected):
    model = small_forest(loans, n_estimators=n_estimators, max_depth=4)
    model.fit(loans.frame, loans.target)
    ensemble, people = model.ensemble_, loans.frame.head(60)
    assert (ensemble.combine, ensemble.cutoff) == ("votes", expected)
    leaves = leaves_by_hand(model, people)
    np.testing.assert_array_equal(model.apply(people), leaves)
    column = list(model.classes_).index("approved")
    proba, classes = model.predict_proba(people), model.predict(people)
    for own, probabilities, decision in zip(leaves, proba, classes, strict=True):
        votes = sum(int(ensemble.label[leaf]) for leaf in own)
        share = sum(ensemble.value[leaf] for leaf in own) / n_estimators
        assert (decision == "approved") == (votes >= expected)
        assert probabilities[column] == pytest.approx(share, abs=1e-15)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    ahead = model.decision_function(people)
    np.testing.assert_array_equal(model.classes_[(ahead > 0).astype(int)], classes)


def test_paths_lead_to_the_leaves(loans):
    model = small_forest(loans).fit(loans.frame, loans.target)
    path, leaves = model.decision_path(loans.frame).toarray(), model.apply(loans.frame)
    assert path.shape == (600, len(model.ensemble_.feature))
    assert all(path[i, leaves[i]].all() for i in range(600))
    np.testing.assert_array_equal(path[:, model.ensemble_.leaves].sum(axis=1), 6)


@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_bag_scores_by_hand(loans, weighted):
    n, T = len(loans.frame), 12
    weights = np.random.default_rng(1).integers(0, 3, n) if weighted else np.ones(n)
    model = small_forest(loans, n_estimators=T, oob_score=True, max_samples=0.7).fit(
        loans.frame, loans.target, sample_weight=weights if weighted else None
    )
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=T)
    growing = np.flatnonzero(weights > 0)
    drawn = [
        splitmix_draws(int(seed), len(growing), round(0.7 * len(growing)))[0] for seed in seeds
    ]
    leaves, ensemble = leaves_by_hand(model, loans.frame), model.ensemble_
    right, judged = 0, 0
    for k, person in enumerate(growing):
        out = [t for t in range(T) if drawn[t][k] == 0]
        row = model.oob_decision_function_[person]
        votes = sum(int(ensemble.label[leaves[person][t]]) for t in out)
        shares = [ensemble.value[leaves[person][t]] for t in out]
        enough = votes > len(out) / 2
        approved = list(model.classes_).index("approved")
        assert row[approved] == pytest.approx(sum(shares) / len(out), abs=1e-12)
        assert row.sum() == pytest.approx(1)
        judged += 1
        right += (loans.target.iloc[person] == "approved") == enough
    assert model.oob_score_ == pytest.approx(right / judged)
    assert np.isnan(np.delete(model.oob_decision_function_, growing, axis=0)).all()


def test_people_in_every_sample_have_no_out_of_bag_score(loans):
    model = small_forest(loans, n_estimators=1, oob_score=True)
    with pytest.warns(UserWarning, match="[0-9]+ people are in every tree's sample"):
        model.fit(loans.frame, loans.target)
    seed = int(np.random.RandomState(0).randint(2**31 - 1, size=1)[0])
    inside = np.array(splitmix_draws(seed, 600, 600)[0]) > 0
    np.testing.assert_array_equal(np.isnan(model.oob_decision_function_[:, 0]), inside)
    assert 0.5 < model.oob_score_ < 1
    model.set_params(oob_score=False).fit(loans.frame, loans.target)
    assert not hasattr(model, "oob_score_") and not hasattr(model, "oob_decision_function_")


def test_a_second_fit_starts_anew(loans):
    model = small_forest(loans)
    first = model.fit(loans.frame, loans.target).ensemble_
    assert_same_trees(first, model.fit(loans.frame, loans.target).ensemble_)


def test_the_seed_decides(loans):
    fit = lambda seed: small_forest(loans, random_state=seed).fit(loans.frame, loans.target)  # noqa: E731
    same = fit(np.random.RandomState(0))
    assert_same_trees(fit(0).ensemble_, same.ensemble_)
    assert not np.array_equal(fit(0).ensemble_.feature, fit(1).ensemble_.feature)
    forest = fit(0).ensemble_
    assert len(set(forest.threshold[forest.root])) > 1


def test_bootstrap_samples_are_as_large_as_asked(loans):
    def grown_on(**parameters):
        model = small_forest(loans, max_features=None, recourse_weight=0, **parameters)
        return model.fit(loans.frame, loans.target).ensemble_

    few = [grown_on(max_samples=size, max_depth=None) for size in (60, 0.1)]
    assert_same_trees(*few)
    many = grown_on(max_depth=None)
    assert len(few[0].feature) < 0.3 * len(many.feature)


def test_people_without_weight_count_for_nothing(loans):
    weights = np.random.default_rng(0).integers(0, 2, len(loans.frame))
    kept = weights > 0
    model = small_forest(loans)
    weighted = clone(model).fit(loans.frame, loans.target, sample_weight=weights)
    fewer = clone(model).fit(loans.frame[kept], loans.target[kept])
    assert_same_trees(weighted.ensemble_, fewer.ensemble_)
    doubled = clone(model).fit(loans.frame, loans.target, sample_weight=2 * weights)
    assert_same_trees(weighted.ensemble_, doubled.ensemble_)


def test_class_weights_are_sample_weights_of_errors(loans):
    # That many cells depend on no weights, and class weights are of errors alone.
    people, target = loans.frame[:300], loans.target[:300]
    model = small_forest(loans, recourse_weight=0, max_bins=1000)
    balanced = clone(model).set_params(class_weight="balanced").fit(people, target)
    by_hand = compute_sample_weight("balanced", target)
    other = clone(model).fit(people, target, sample_weight=by_hand)
    assert_same_trees(balanced.ensemble_, other.ensemble_)


def test_desired_leaves_have_their_share_in_the_trees_own_sample(loans):
    floor = 0.45
    model = small_forest(loans, recourse_weight=0.5, max_depth=None, min_leaf_share=floor)
    ensemble = model.fit(loans.frame, loans.target).ensemble_
    desired = ensemble.leaves[ensemble.label[ensemble.leaves] == 1]
    assert floor <= ensemble.value[desired].min() < 0.5
    ensemble = model.set_params(min_leaf_share=0.0).fit(loans.frame, loans.target).ensemble_
    desired = ensemble.leaves[ensemble.label[ensemble.leaves] == 1]
    assert ensemble.value[desired].min() < floor


def test_min_recourse_holds_for_each_trees_own_sample(loans, monkeypatch):
    seen = []

    class Seen(Attainment):
        def __init__(self, tree, people):
            super().__init__(tree, people)
            seen.append(self)

    monkeypatch.setattr("ract.trees.cover.Attainment", Seen)
    model = small_forest(loans, min_recourse=0.9, recourse_weight=0).fit(loans.frame, loans.target)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=6)
    ends = np.append(model.ensemble_.root, len(model.ensemble_.feature))
    flipped = 0
    for t, attained in enumerate(seen):
        times = np.array(splitmix_draws(int(seeds[t]), 600, 600)[0])
        labels = model.ensemble_.label[ends[t] : ends[t + 1]]
        without = attained.desired_reached(labels) == 0
        assert times[without].sum() / times.sum() <= 0.1
        flipped += (labels != majority_labels(attained.tree))[attained.tree.leaves].sum()
    assert len(seen) == 6 and flipped > 0


def test_no_weight_skips_all_work_on_recourse(loans, monkeypatch):
    def never(*arguments):
        raise AssertionError("recourse work was done")

    monkeypatch.setattr("ract.data.grid.Prices.reach", never)
    small_forest(loans, recourse_weight=0).fit(loans.frame, loans.target)
    with pytest.raises(AssertionError, match="recourse work was done"):
        small_forest(loans, recourse_weight=0, min_recourse=0.9).fit(loans.frame, loans.target)


def test_recourse_weight_moves_labels_towards_the_desired_class(loans):
    votes = [
        small_forest(loans, recourse_weight=w).fit(loans.frame, loans.target).ensemble_.label.mean()
        for w in (0.0, 5.0)
    ]
    assert votes[1] > votes[0]


def test_it_works_with_scikit_learns_tools(loans):
    model = small_forest(loans, n_estimators=8)
    assert cross_val_score(model, loans.frame, loans.target, cv=3).mean() > 0.65
    search = GridSearchCV(model, {"recourse_weight": [0.0, 0.2], "max_depth": [2, 4]}, cv=2)
    search.fit(loans.frame, loans.target)
    assert search.best_estimator_.ensemble_.depth.max() <= 4
    fitted = clone(model).fit(loans.frame, loans.target)
    expected = fitted.predict_proba(loans.frame)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(loans.frame), expected)
    assert set(again.ensemble_.__dict__) - set(fitted.ensemble_.__dataclass_fields__) == {
        "leaves",
        "_steps",
    }


def test_either_class_can_be_the_desired_one(loans):
    actions = ActionSpace(loans.actions.features, limits=None)
    for desired in ("approved", "refused"):
        model = RecourseForestClassifier(
            actions, desired=desired, recourse_weight=5.0, max_depth=4, n_estimators=9,
            random_state=0,
        ).fit(loans.frame, loans.target)  # fmt: skip
        assert (model.predict(loans.frame) == desired).mean() > 0.55
        ahead = model.decision_function(loans.frame) > 0
        np.testing.assert_array_equal(model.classes_[ahead.astype(int)], model.predict(loans.frame))


def test_importances_are_shares_of_splits_by_the_users_columns(data_home):
    data = fetch_compas(data_home=data_home)
    model = RecourseForestClassifier(data.actions, n_estimators=4, max_depth=5, random_state=0)
    model.fit(data.frame, data.target)
    shares = model.feature_importances_
    assert shares.shape == (14,) and shares.sum() == pytest.approx(1)
    splits = model.ensemble_.feature[model.ensemble_.feature >= 0]
    names = np.array(model.encoder_.column_names)[splits]
    for name, share in zip(model.feature_names_in_, shares, strict=True):
        assert share == pytest.approx((names == name).mean())


def test_a_forest_ranks_better_than_a_tree(data_home):
    data = fetch_fico(data_home=data_home)
    train, test = np.arange(1500), np.arange(1500, len(data.frame))
    y = data.target == data.desired

    def auc(model):
        model.fit(data.frame.iloc[train], y.iloc[train])
        return roc_auc_score(y.iloc[test], model.predict_proba(data.frame.iloc[test])[:, 1])

    forest = RecourseForestClassifier(data.actions, desired=True, n_estimators=15, random_state=0)
    tree = RecourseTreeClassifier(data.actions, desired=True, max_depth=8)
    assert auc(forest) > auc(tree) + 0.02
    assert accuracy_score(y.iloc[test], forest.predict(data.frame.iloc[test])) > 0.69


def test_progress_is_shown_on_the_error_stream_when_asked(loans, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    small_forest(loans, verbose=1).fit(loans.frame, loans.target)
    shown = capsys.readouterr()
    assert "Growing trees" in shown.err and "100%" in shown.err and not shown.out
    small_forest(loans).fit(loans.frame, loans.target)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number of 1 or more, got 0."),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number of 1 or more, got 2.5."),
        ({"max_samples": 601}, "max_samples must be at most 600, .* got 601."),
        ({"max_samples": 1.5}, "max_samples must be .* or a share between 0 and 1, or None, got"),
        ({"max_samples": 0}, "max_samples must be .*, got 0."),
        ({"oob_score": "yes"}, "oob_score must be True or False, got 'yes'."),
        ({"min_leaf_share": -0.1}, "min_leaf_share must be a share between 0 and 1, or None"),
        (
            {"min_recourse": 1},
            "min_recourse must be a share of at least 0 and below 1, or N.* got 1",
        ),
        ({"recourse_weight": -1}, "recourse_weight must be a number of 0 or more, got -1"),
        ({"budget": -0.1}, "budget must be a number of 0 or more, or None, got -0.1"),
        ({"criterion": "loss"}, "criterion must be one of 'gini', 'entropy', 'error'"),
        ({"max_features": "half"}, "max_features must be 'sqrt' or 'log2', or a whole"),
    ],
)
def test_wrong_parameters_are_refused(loans, parameters, message):
    with pytest.raises(InvalidSpec, match=message):
        small_forest(loans, **parameters).fit(loans.frame, loans.target)


def test_out_of_bag_recourse_by_hand(loans):
    """Each person judged by a forest of only the trees that did not see them."""
    frame, target = loans.frame.head(80), loans.target.head(80)
    model = small_forest(loans, n_estimators=15, oob_score=True, max_depth=3)
    model.fit(frame, target)
    matrix = model.encoder_.matrix(frame)
    with_recourse, draws = 0, [(seed, 80) for seed in model.seeds]
    for i in range(80):
        out = np.array([bootstrap_counts(80, n, seed)[0][i] == 0 for seed, n in draws])
        part = some_trees(model.ensemble_, out, votes_needed=out.sum() // 2 + 1)
        search = ExactSearch(part, model.encoder_.axes, model.cost_)
        with_recourse += search.solve(matrix[[i]], model.budget_).found[0]
    assert model.oob_recourse_ratio_ == pytest.approx(with_recourse / 80)


def test_recourse_risk_is_of_everyone(loans):
    model = small_forest(loans, recourse_weight=0).fit(loans.frame, loans.target)
    aware = small_forest(loans, recourse_weight=0.5).fit(loans.frame, loans.target)
    assert aware.recourse_risk(loans.frame) < model.recourse_risk(loans.frame)
    refused = (model.predict(loans.frame) != "approved").mean()
    assert model.recourse_risk(loans.frame, budget=0) == pytest.approx(refused, abs=0.02)
    assert model.recourse_risk(loans.frame, budget=9) <= model.recourse_risk(loans.frame)
