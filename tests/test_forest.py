import itertools
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
from ract._core.attain import Attainment
from ract._core.cover import majority_labels
from ract._core.grower import draw_people
from ract.datasets import fetch_compas, fetch_fico, load_loans
from ract.errors import InvalidData, InvalidSpec
from ract.forest import RecourseForestClassifier
from ract.recourse.exact.search import ExactSearch
from tests.builders import some_trees

EVERYONE_ALIKE = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a bootstrap draws people whatever they weigh, so a weight of two is not a repeated row"
    )
}


def expected_failures(estimator):
    return EVERYONE_ALIKE if estimator.bootstrap else {}


@parametrize_with_checks(
    [
        RecourseForestClassifier(n_estimators=5),
        # Leaves of at least five people count repeated rows, which a weight is not.
        RecourseForestClassifier(
            n_estimators=5, bootstrap=False, recourse_weight=0, min_samples_leaf=1
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


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


def held(share, decided):
    """A share on the decision's side of one half."""
    if decided:
        return share if share > 0.5 else np.nextafter(0.5, 1)
    return share if share < 0.5 else 1 - np.nextafter(0.5, 1)


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
        times, after = draw_people(n_people, n_drawn, seed)
        assert (list(times), after) == splitmix_draws(seed, n_people, n_drawn)


def test_bootstrap_samples_draw_everyone_alike():
    times, _ = draw_people(1000, 500_000, seed=3)
    spread = (times - 500) / np.sqrt(500)
    assert abs(spread.mean()) < 1e-9 and 0.9 < spread.std() < 1.1 and abs(spread).max() < 5
    apart = [draw_people(2000, 2000, seed)[0] for seed in range(6)]
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
    model = RecourseForestClassifier(n_estimators=4, random_state=0, oob_score=True)
    forests = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ people are in every")
        for table in (X, frame, pl.from_pandas(frame)):
            forests.append(clone(model).fit(table, y))
    for other in forests[1:]:
        assert_same_trees(forests[0].ensemble_, other.ensemble_)
        assert forests[0].oob_score_ == other.oob_score_


@pytest.mark.parametrize("criterion", ["gini", "error"])
@pytest.mark.parametrize("max_risk", [None, 0.05])
def test_one_tree_on_everyone_is_the_tree(loans, criterion, max_risk):
    shared = {
        "criterion": criterion,
        "recourse_weight": 0.1,
        "max_depth": 5,
        "min_samples_leaf": 3,
        "max_features": None,
        "max_risk": max_risk,
    }
    tree = RecourseTreeClassifier(loans.actions, **shared).fit(loans.frame, loans.target)
    forest = RecourseForestClassifier(loans.actions, n_estimators=1, bootstrap=False, **shared)
    forest.fit(loans.frame, loans.target)
    assert_same_trees(tree.ensemble_, forest.ensemble_)
    np.testing.assert_array_equal(
        tree.predict_proba(loans.frame), forest.predict_proba(loans.frame)
    )


@pytest.mark.parametrize(
    ("n_estimators", "votes_needed", "expected"),
    [(1, None, 1), (5, None, 3), (6, None, 4), (6, 3, 3), (6, 1, 1), (6, 6, 6),
     (6, 0.5, 3), (6, 0.51, 4), (6, 0.01, 1), (6, 1.0, 6)],
)  # fmt: skip
@pytest.mark.parametrize("probability", ["shares", "votes"])
def test_votes_and_probabilities_by_hand(loans, n_estimators, votes_needed, expected, probability):
    model = small_forest(
        loans,
        n_estimators=n_estimators,
        votes_needed=votes_needed,
        probability=probability,
        max_depth=4,
    ).fit(loans.frame, loans.target)
    ensemble, people = model.ensemble_, loans.frame.head(60)
    assert (ensemble.combine, ensemble.cutoff) == ("votes", expected)
    leaves = leaves_by_hand(model, people)
    np.testing.assert_array_equal(model.apply(people), leaves)
    column = list(model.classes_).index("approved")
    proba, classes = model.predict_proba(people), model.predict(people)
    for own, probabilities, decision in zip(leaves, proba, classes, strict=True):
        votes = sum(int(ensemble.label[leaf]) for leaf in own)
        share = votes / n_estimators
        if probability == "shares":
            share = sum(ensemble.value[leaf] for leaf in own) / n_estimators
        assert (decision == "approved") == (votes >= expected)
        assert probabilities[column] == pytest.approx(held(share, votes >= expected), abs=1e-15)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], classes)


def test_more_votes_needed_refuse_more_people(loans):
    refused = [
        (small_forest(loans, votes_needed=k).fit(loans.frame, loans.target).predict(loans.frame))
        == "refused"
        for k in range(1, 7)
    ]
    for fewer, more in itertools.pairwise(refused):
        assert (fewer <= more).all()
    assert refused[0].sum() < refused[-1].sum()


@pytest.mark.parametrize("threshold", [0.2, 0.5, 2 / 3, 1.0])
def test_a_threshold_at_decision_time_is_that_of_training(loans, threshold):
    """Decisions and plans are those of a forest that was fitted with this share of votes."""
    model = small_forest(loans).fit(loans.frame, loans.target)
    asked = small_forest(loans, votes_needed=float(threshold)).fit(loans.frame, loans.target)
    people = loans.frame.head(80)
    np.testing.assert_array_equal(model.predict(people, threshold=threshold), asked.predict(people))
    plans, own = model.recourse(people, threshold=threshold), asked.recourse(people)
    np.testing.assert_array_equal(plans.status, own.status)
    np.testing.assert_array_equal(plans.cost, own.cost)
    after = plans.counterfactuals[plans.found]
    assert (model.predict(after, threshold=threshold) == "approved").all()
    assert (model.predict(people) == "approved").sum() > 0  # the forest itself has not changed
    assert model.ensemble_.cutoff == 4


def test_thresholds_are_shares(loans):
    model = small_forest(loans).fit(loans.frame, loans.target)
    for wrong in (0, 1.5, -0.1, "half", True, np.nan):
        with pytest.raises(InvalidSpec, match="threshold must"):
            model.predict(loans.frame, threshold=wrong)
        with pytest.raises(InvalidSpec, match="threshold"):
            model.recourse(loans.frame, threshold=wrong)
    for wrong in (0.0, 1.5, np.nan):
        with pytest.raises(InvalidSpec, match="votes_needed must be a share above 0 and up to 1"):
            small_forest(loans, votes_needed=wrong).fit(loans.frame, loans.target)


def test_paths_lead_to_the_leaves(loans):
    model = small_forest(loans).fit(loans.frame, loans.target)
    path, leaves = model.decision_path(loans.frame).toarray(), model.apply(loans.frame)
    assert path.shape == (600, len(model.ensemble_.feature))
    assert all(path[i, leaves[i]].all() for i in range(600))
    np.testing.assert_array_equal(path[:, model.ensemble_.leaves].sum(axis=1), 6)


@pytest.mark.parametrize("votes_needed", [None, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_bag_scores_by_hand(loans, votes_needed, weighted):
    n, T = len(loans.frame), 12
    weights = np.random.default_rng(1).integers(0, 3, n) if weighted else np.ones(n)
    model = small_forest(
        loans, n_estimators=T, oob_score=True, max_samples=0.7, votes_needed=votes_needed
    ).fit(loans.frame, loans.target, sample_weight=weights if weighted else None)
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
        enough = votes > len(out) / 2 if votes_needed is None else votes >= 8 / T * len(out)
        approved = list(model.classes_).index("approved")
        assert row[approved] == pytest.approx(held(sum(shares) / len(out), enough), abs=1e-12)
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


def test_adding_trees_gives_the_forest_grown_at_once(loans):
    at_once = small_forest(loans, n_estimators=12, oob_score=True, max_samples=0.5)
    at_once.fit(loans.frame, loans.target)
    grown = small_forest(loans, n_estimators=5, warm_start=True, max_samples=0.5)
    grown.fit(loans.frame, loans.target)
    first = grown.ensemble_
    grown.set_params(n_estimators=12, oob_score=True).fit(loans.frame, loans.target)
    assert_same_trees(at_once.ensemble_, grown.ensemble_)
    assert grown.ensemble_.cutoff == 7 and first.cutoff == 3 and first.n_trees == 5
    np.testing.assert_array_equal(at_once.oob_decision_function_, grown.oob_decision_function_)


def test_warm_start_does_not_shrink_and_says_when_it_does_not_grow(loans):
    model = small_forest(loans, warm_start=True).fit(loans.frame, loans.target)
    before = model.ensemble_
    with pytest.raises(InvalidSpec, match="n_estimators is 4, but .* the 6 trees of the last fit"):
        model.set_params(n_estimators=4).fit(loans.frame, loans.target)
    with pytest.warns(UserWarning, match="There are 6 trees already"):
        model.set_params(n_estimators=6, votes_needed=2).fit(loans.frame, loans.target)
    assert_same_trees(before, model.ensemble_)
    assert model.ensemble_.cutoff == 2
    model.set_params(n_estimators=8)
    with pytest.raises(InvalidData, match="warm_start needs the people of the last fit: 600"):
        model.fit(loans.frame.head(500), loans.target.head(500))
    model.set_params(warm_start=False, n_estimators=4)
    assert model.fit(loans.frame.head(500), loans.target.head(500)).ensemble_.n_trees == 4


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
    everyone = grown_on(bootstrap=False)
    sizes = np.diff(np.append(everyone.root, len(everyone.feature)))
    np.testing.assert_array_equal(everyone.threshold[: sizes[0]], everyone.threshold[-sizes[0] :])


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
    model = small_forest(loans, recourse_weight=0, max_cells=10_000)
    balanced = clone(model).set_params(class_weight="balanced").fit(loans.frame, loans.target)
    by_hand = compute_sample_weight("balanced", loans.target)
    other = clone(model).fit(loans.frame, loans.target, sample_weight=by_hand)
    assert_same_trees(balanced.ensemble_, other.ensemble_)


def test_a_leaf_needs_its_share_of_the_trees_own_weight(loans):
    model = small_forest(loans, min_weight_fraction_leaf=0.1, max_depth=None, max_samples=0.5)
    model.fit(loans.frame, loans.target)
    leaves = model.apply(loans.frame)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=6)
    for t, seed in enumerate(seeds):
        times = np.array(splitmix_draws(int(seed), 600, 300)[0])
        weight = np.bincount(leaves[:, t], times)
        assert weight[weight > 0].min() >= 30
    assert len(model.ensemble_.leaves) > 12


def test_desired_leaves_have_their_share_in_the_trees_own_sample(loans):
    floor = 0.45
    model = small_forest(loans, recourse_weight=0.5, max_depth=None, min_leaf_share=floor)
    ensemble = model.fit(loans.frame, loans.target).ensemble_
    desired = ensemble.leaves[ensemble.label[ensemble.leaves] == 1]
    assert floor <= ensemble.value[desired].min() < 0.5
    ensemble = model.set_params(min_leaf_share=0.0).fit(loans.frame, loans.target).ensemble_
    desired = ensemble.leaves[ensemble.label[ensemble.leaves] == 1]
    assert ensemble.value[desired].min() < floor


def test_max_risk_holds_for_each_trees_own_sample(loans, monkeypatch):
    seen = []

    class Seen(Attainment):
        def __init__(self, tree, people):
            super().__init__(tree, people)
            seen.append(self)

    monkeypatch.setattr("ract._core.cover.Attainment", Seen)
    model = small_forest(loans, max_risk=0.1, recourse_weight=0).fit(loans.frame, loans.target)
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

    monkeypatch.setattr("ract.grid.Prices.reach", never)
    small_forest(loans, recourse_weight=0).fit(loans.frame, loans.target)
    with pytest.raises(AssertionError, match="recourse work was done"):
        small_forest(loans, recourse_weight=0, max_risk=0.1).fit(loans.frame, loans.target)


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
    actions = ActionSpace(loans.actions.features)
    for desired in ("approved", "refused"):
        model = RecourseForestClassifier(
            actions, desired=desired, recourse_weight=5.0, max_depth=4, n_estimators=9,
            random_state=0,
        ).fit(loans.frame, loans.target)  # fmt: skip
        assert (model.predict(loans.frame) == desired).mean() > 0.55
        proba = model.predict_proba(loans.frame)
        np.testing.assert_array_equal(
            model.classes_[proba.argmax(axis=1)], model.predict(loans.frame)
        )


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
        ({"max_samples": 601}, "max_samples must be a whole number from 1 to 600, .* got 601."),
        ({"max_samples": 1.5}, "max_samples must be .* or a share between 0 and 1, got 1.5."),
        ({"max_samples": 0}, "max_samples must be .*, got 0."),
        ({"max_samples": 9, "bootstrap": False}, "max_samples needs bootstrap; .* got 9."),
        ({"oob_score": True, "bootstrap": False}, "oob_score needs bootstrap;"),
        ({"votes_needed": 0}, "votes_needed must be a whole number from 1 to 6, .* got 0."),
        ({"votes_needed": 7}, "votes_needed must be a whole number from 1 to 6, .* got 7."),
        ({"votes_needed": 1.5}, "votes_needed must be a share above 0 and up to 1, got 1.5."),
        ({"probability": "odds"}, "probability must be 'shares' or 'votes', got 'odds'."),
        ({"min_leaf_share": -0.1}, "min_leaf_share must be a share between 0 and 1, got -0.1."),
        ({"max_risk": 0}, "max_risk must lie above 0 and be at most 1, got 0."),
        ({"recourse_weight": -1}, "recourse_weight must be a number of 0 or more, got -1"),
        ({"budget": -0.1}, "budget must be a number of 0 or more, got -0.1"),
        ({"criterion": "loss"}, "criterion must be one of 'gini', 'entropy', 'error'"),
        ({"max_features": "half"}, "max_features must be None, 'sqrt'"),
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
    with_recourse = 0
    for i in range(80):
        out = np.array([draw_people(80, n, seed)[0][i] == 0 for seed, n in model._draws])
        part = some_trees(model.ensemble_, out, votes_needed=out.sum() // 2 + 1)
        search = ExactSearch(part, model.encoder_.axes, model.cost_)
        with_recourse += search.solve(matrix[[i]], model.budget).found[0]
    assert model.oob_recourse_ratio_ == pytest.approx(with_recourse / 80)


def test_recourse_risk_is_of_everyone(loans):
    model = small_forest(loans, recourse_weight=0).fit(loans.frame, loans.target)
    aware = small_forest(loans, recourse_weight=0.5).fit(loans.frame, loans.target)
    assert aware.recourse_risk(loans.frame) < model.recourse_risk(loans.frame)
    refused = (model.predict(loans.frame) != "approved").mean()
    assert model.recourse_risk(loans.frame, budget=0) == pytest.approx(refused, abs=0.02)
    assert model.recourse_risk(loans.frame, budget=9) <= model.recourse_risk(loans.frame)
