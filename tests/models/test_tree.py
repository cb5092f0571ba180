import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.costs import PercentileCost, make_cost
from ract.data.datasets import fetch_bail, fetch_compas, fetch_credit, fetch_fico, load_loans
from tests import naive
from tests.builders import SecondClassTree, quick_of, seeded


def checks_of(tree):
    known = {
        "check_class_weight_classifiers": "leaves of one person fit everyone, whatever they weigh"
    }
    if tree.recourse_weight:
        known["check_classifiers_train"] = "labels decide, probabilities are shares of leaves"
    return parametrize_with_checks([tree], expected_failed_checks=lambda _: known)


@checks_of(SecondClassTree())
def test_scikit_learn_estimator_checks(estimator, check):
    seeded(check)(estimator)


@pytest.mark.slow
@checks_of(SecondClassTree(criterion="error", recourse_weight=0.0))
def test_scikit_learn_estimator_checks_of_errors(estimator, check):
    seeded(check)(estimator)


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500)


def gini(tree):
    """Training impurity of the leaves, from scikit-learn's or our masses."""
    ours, leaves = tree.ensemble_, tree.ensemble_.leaves
    share, number = ours.value[leaves], np.bincount(tree.leaf_of_training)[leaves]
    return float((2 * share * (1 - share) * number).sum() / number.sum())


@pytest.mark.parametrize("fetch", [fetch_fico, fetch_compas, fetch_credit, fetch_bail])
@pytest.mark.parametrize("settings", [{"max_depth": 6}, {"min_samples_leaf": 20, "max_depth": 20}])
def test_plain_trees_are_as_pure_as_scikit_learns(fetch, settings, data_home):
    data = fetch(data_home=data_home)
    model = RecourseTreeClassifier(data.actions, recourse_weight=0, max_bins=65_536, **settings)
    model.fit(data.frame, data.target)
    model.leaf_of_training = model.apply(data.frame)
    X = data.frame.to_numpy(float)
    peer = DecisionTreeClassifier(random_state=0, **settings).fit(X, data.target)
    leaf = peer.tree_.children_left < 0
    number = peer.tree_.n_node_samples[leaf]
    expected = float((peer.tree_.impurity[leaf] * number).sum() / number.sum())
    # Equal splits are broken by chance in scikit-learn and by order here.
    assert gini(model) == pytest.approx(expected, rel=0.01)
    if settings == {"max_depth": 6}:
        assert abs(model.get_n_leaves() - peer.get_n_leaves()) <= 3


def brute_force_has_recourse(model, person, training, budget):
    """Try every combination of attainable values of a small person (integers and categories)."""
    space = model.encoder_.space
    options = []
    for feature in space:
        own = person[feature.name].iloc[0]
        column = training[feature.name]
        if feature.is_categorical:
            shares = {c: float((column == c).mean()) for c in feature.categories}
            order = list(feature.categories)
            near = [
                c
                for c in order
                if c == own
                or (
                    feature.weight * max(shares[c], shares[own]) <= budget
                    and (
                        feature.change == "any"
                        or (feature.change == "increase" and order.index(c) > order.index(own))
                        or (feature.change == "decrease" and order.index(c) < order.index(own))
                    )
                )
            ]
        else:
            here = naive.percentile_level(list(column), own)
            values = naive.attainable_values(
                feature.kind, feature.change, feature.lower, feature.upper, own, [], None
            )
            near = [
                v
                for v in values
                if v == own
                or feature.weight * abs(naive.percentile_level(list(column), v) - here) <= budget
            ]
        options.append(sorted(set(near), key=str))
    grid = pd.MultiIndex.from_product(options, names=[f.name for f in space]).to_frame(index=False)
    grid = grid.astype({f.name: int for f in space if not f.is_categorical})
    return bool((model.predict(grid) == model.desired_).any())


@pytest.mark.parametrize("seed", quick_of(6, range(12)))
def test_recourse_risk_equals_brute_force_over_every_action(seed):
    rng = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 7, n),
            "b": rng.integers(0, 5, n),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.integers(0, 2, n),
        }
    )
    y = (frame["a"] + rng.integers(0, 4, n) > 4) & (frame["c"] != "x")
    changes = list(rng.choice(["any", "increase", "decrease", "fixed"], 4))
    actions = ActionSpace(
        [
            Feature("a", change=changes[0], upper=5),
            Feature("b", change=changes[1], weight=0.5),
            Feature("c", "categorical", changes[2], categories=("x", "y", "z")),
            Feature("d", change=changes[3]),
        ],
        limits=None,
    )
    budget = float(rng.choice([0.11, 0.31, 0.63]))
    model = RecourseTreeClassifier(
        actions,
        desired=True,
        budget=budget,
        recourse_weight=float(rng.choice([0.05, 0.5])),
        max_depth=4,
    ).fit(frame, y.to_numpy())
    reached = model.desired_reached(frame)
    brute = [brute_force_has_recourse(model, frame.iloc[[i]], frame, budget) for i in range(n)]
    assert list(reached > 0) == brute
    assert model.recourse_risk_ == pytest.approx(1 - np.mean(brute))
    assert model.recourse_risk(frame) == pytest.approx(model.recourse_risk_)


def test_more_weight_on_recourse_gives_more_recourse(loans):
    risks = [
        RecourseTreeClassifier(loans.actions, recourse_weight=w, max_depth=5)
        .fit(loans.frame, loans.target)
        .recourse_risk(loans.frame)
        for w in (0.0, 0.2, 1.0)
    ]
    assert risks[0] > 0.05
    assert risks[2] <= risks[1] < risks[0]


def test_no_weight_skips_all_work_on_recourse(loans, monkeypatch):
    def never(*arguments):
        raise AssertionError("recourse work was done")

    monkeypatch.setattr("ract.data.grid.Prices.reach", never)
    model = RecourseTreeClassifier(loans.actions, recourse_weight=0).fit(loans.frame, loans.target)
    assert not hasattr(model, "recourse_risk_")


def test_frames_and_arrays_give_the_same_tree(rng):
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 9, 200)])
    y = (X[:, 0] + 0.2 * X[:, 1] > 1).astype(int)
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    trees = [
        RecourseTreeClassifier(max_depth=5, desired=1).fit(table, y).ensemble_
        for table in (X, frame, pl.from_pandas(frame))
    ]
    for other in trees[1:]:
        np.testing.assert_array_equal(trees[0].threshold, other.threshold)
        np.testing.assert_array_equal(trees[0].label, other.label)


def test_probabilities_are_the_shares_of_leaves_whatever_is_decided(loans):
    model = RecourseTreeClassifier(loans.actions, recourse_weight=2.0, max_depth=6)
    model.fit(loans.frame, loans.target)
    proba = model.predict_proba(loans.frame)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    shares, approved = model.ensemble_.value[model.apply(loans.frame)], model.classes_ == "approved"
    np.testing.assert_array_equal(proba[:, approved].ravel(), 1 - (1 - shares))
    decided = model.predict(loans.frame)
    assert ((shares < 0.5) & (decided == "approved")).any()
    ahead = model.decision_function(loans.frame) > 0
    np.testing.assert_array_equal(model.classes_[ahead.astype(int)], decided)
    assert log_loss(loans.target, proba) < 0.7


@pytest.mark.parametrize("desired", ["approved", "refused"])
def test_either_class_can_be_the_desired_one(loans, desired):
    actions = ActionSpace(loans.actions.features, limits=None)
    model = RecourseTreeClassifier(actions, desired=desired, recourse_weight=5.0, max_depth=4)
    model.fit(loans.frame, loans.target)
    assert model.desired_ == desired
    assert (model.predict(loans.frame) == desired).mean() > 0.55
    ahead = model.decision_function(loans.frame) > 0
    np.testing.assert_array_equal(model.classes_[ahead.astype(int)], model.predict(loans.frame))


def test_desired_comes_from_the_parameter_or_the_actions(loans):
    fit = lambda **k: RecourseTreeClassifier(**k).fit(loans.frame, loans.target).desired_  # noqa: E731
    with pytest.raises(InvalidSpec, match="give desired=, .*the classes are 'approved', 'refused'"):
        fit()
    assert fit(actions=loans.actions) == "approved"
    assert fit(actions=loans.actions, desired="refused") == "refused"


def test_it_works_with_scikit_learns_tools(loans):
    model = RecourseTreeClassifier(loans.actions, max_depth=4)
    scores = cross_val_score(model, loans.frame, loans.target, cv=3)
    assert scores.mean() > 0.68
    search = GridSearchCV(model, {"recourse_weight": [0.0, 0.2], "max_depth": [2, 4]}, cv=2)
    search.fit(loans.frame, loans.target)
    assert search.best_estimator_.get_depth() in (2, 4)
    fitted = clone(model).fit(loans.frame, loans.target)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(loans.frame), fitted.predict(loans.frame))
    numbers = loans.frame.select_dtypes("number")
    pipeline = make_pipeline(
        StandardScaler(), RecourseTreeClassifier(max_depth=3, desired="approved")
    )
    assert cross_val_score(pipeline, numbers, loans.target, cv=3).mean() > 0.65


def test_importances_are_shares_of_splits_by_the_users_columns(data_home):
    data = fetch_compas(data_home=data_home)
    model = RecourseTreeClassifier(data.actions, max_depth=5).fit(data.frame, data.target)
    shares = model.feature_importances_
    assert shares.shape == (14,) and shares.sum() == pytest.approx(1)
    splits = model.ensemble_.feature[model.ensemble_.feature >= 0]
    names = np.array(model.encoder_.column_names)[splits]
    for name, share in zip(model.feature_names_in_, shares, strict=True):
        assert share == pytest.approx((names == name).mean())


def test_weights_count_people(loans):
    times = np.random.default_rng(0).integers(0, 3, len(loans.frame))
    # Groups of people, which inexact costs are learned from, count repeated rows.
    model = RecourseTreeClassifier(loans.actions, max_depth=5, cost=PercentileCost(exact=True))
    weighted = clone(model).fit(loans.frame, loans.target, sample_weight=times)
    rows = np.repeat(np.arange(len(times)), times)
    repeated = clone(model).fit(loans.frame.iloc[rows], loans.target.iloc[rows])
    np.testing.assert_array_equal(weighted.ensemble_.threshold, repeated.ensemble_.threshold)
    assert weighted.recourse_risk_ == pytest.approx(repeated.recourse_risk_)
    # That many cells depend on no weights, and class weights are of errors alone.
    model.set_params(recourse_weight=0, max_bins=10_000)
    balanced = clone(model).set_params(class_weight="balanced").fit(loans.frame, loans.target)
    share = (loans.target == "approved").mean()
    by_hand = np.where(loans.target == "approved", 0.5 / share, 0.5 / (1 - share))
    other = clone(model).fit(loans.frame, loans.target, sample_weight=by_hand)
    np.testing.assert_array_equal(balanced.ensemble_.threshold, other.ensemble_.threshold)


def assert_same_costs(one, other):
    for name in ("knots", "levels"):
        for ours, theirs in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("class_weight", ["balanced", {"approved": 50.0, "refused": 1.0}])
def test_class_weights_do_not_change_what_a_percentile_means(loans, class_weight, exact):
    model = RecourseTreeClassifier(loans.actions, max_depth=4, cost=PercentileCost(exact=exact))
    times = np.random.default_rng(0).integers(0, 3, len(loans.frame))
    for sample_weight in (None, times):
        plain = clone(model).fit(loans.frame, loans.target, sample_weight)
        weighted = clone(model).set_params(class_weight=class_weight)
        weighted.fit(loans.frame, loans.target, sample_weight)
        assert_same_costs(plain.cost_, weighted.cost_)
        counted = np.repeat(weighted.desired_reached(loans.frame) == 0, 1 if sample_weight is None
                            else times)  # fmt: skip
        assert weighted.recourse_risk_ == pytest.approx(counted.mean())


def test_max_risk_is_a_share_of_people_whatever_class_weights_say():
    loans = load_loans(n_people=600)
    for class_weight in ({"approved": 1.0, "refused": 0.01}, {"approved": 0.01, "refused": 1.0}):
        model = RecourseTreeClassifier(
            loans.actions, recourse_weight=0, min_recourse=0.95, max_depth=4, budget=0.05,
            class_weight=class_weight,
        ).fit(loans.frame, loans.target)  # fmt: skip
        assert model.recourse_risk(loans.frame) <= 0.05


def test_a_model_keeps_no_value_of_fewer_than_five_people(loans):
    """The cost tables of a model held every training value."""
    model = RecourseTreeClassifier(loans.actions, max_depth=3)
    plain = clone(model).fit(loans.frame, loans.target)
    exact = clone(model).set_params(cost=PercentileCost(exact=True)).fit(loans.frame, loans.target)
    matrix = plain.encoder_.matrix(loans.frame)
    assert_same_costs(exact.cost_, make_cost("percentile").fit(matrix.T, plain.encoder_.weights))
    shown = 0
    for column, knots, all_knots in zip(
        matrix.T, plain.cost_.knots, exact.cost_.knots, strict=True
    ):
        values, counts = np.unique(column, return_counts=True)
        few = values[counts < 5]
        shown += np.isin(all_knots, few).sum()
        if not np.array_equal(column, np.round(column)):
            assert not np.isin(knots, few).any()
    assert shown > 1000


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("floor", [0.4, 0.7])
@pytest.mark.parametrize("constraints", [None, {"Income": 1, "Debt": -1}])
def test_desired_leaves_have_the_share_of_desired_people_asked_for(
    loans, criterion, floor, constraints
):
    times = np.random.default_rng(0).integers(0, 3, len(loans.frame))
    weights = times * np.where(loans.target == "approved", 0.5, 1.0)
    model = RecourseTreeClassifier(
        loans.actions, recourse_weight=0.5, max_depth=7, min_leaf_share=floor, criterion=criterion,
        class_weight={"approved": 0.5}, monotonic=constraints,
    ).fit(loans.frame, loans.target, times)  # fmt: skip
    leaf = model.apply(loans.frame)[times > 0]
    weights, approved = weights[times > 0], (loans.target == "approved")[times > 0]
    share = np.bincount(leaf, weights * approved)[leaf] / np.bincount(leaf, weights)[leaf]
    desired = model.ensemble_.label[leaf] == 1
    assert share[desired].min() >= floor
    if constraints is None:  # they may freeze any leaf to undesired
        assert desired[share >= max(floor, 0.5)].all()


def test_a_floor_takes_recourse_that_undesired_leaves_would_give(loans):
    shared = {"recourse_weight": 0.5, "max_depth": 5, "budget": 0.05, "random_state": 0}
    plain = RecourseTreeClassifier(loans.actions, **shared).fit(loans.frame, loans.target)
    risks, accepted = [], []
    for floor in (0.0, 0.3, 0.5, 0.8):
        model = clone(plain).set_params(min_leaf_share=floor).fit(loans.frame, loans.target)
        risks.append(model.recourse_risk_)
        accepted.append(model.ensemble_.decide(model.encoder_.matrix(loans.frame)).mean())
        assert model.recourse_risk(loans.frame) == pytest.approx(model.recourse_risk_)
    assert risks[0] == plain.recourse_risk_
    assert risks == sorted(risks) and risks[0] < risks[-1]
    assert accepted == sorted(accepted, reverse=True) and accepted[0] > accepted[-1]


def test_max_risk_goes_before_the_floor(loans):
    model = RecourseTreeClassifier(
        loans.actions, min_recourse=0.99, max_depth=4, budget=0.05, min_leaf_share=0.9
    ).fit(loans.frame, loans.target)
    assert model.recourse_risk_ <= 0.01
    desired = model.ensemble_.leaves[model.ensemble_.label[model.ensemble_.leaves] == 1]
    assert model.ensemble_.value[desired].min() < 0.9


@pytest.mark.parametrize("relabelling", ["greedy", "exact"])
@pytest.mark.parametrize("max_risk", [0.3, 0.05, 0.01])
def test_max_risk_holds_on_the_training_people(loans, relabelling, max_risk):
    model = RecourseTreeClassifier(
        loans.actions,
        recourse_weight=0,
        min_recourse=1 - max_risk,
        relabelling=relabelling,
        max_depth=4,
    ).fit(loans.frame, loans.target)
    assert model.recourse_risk_ <= max_risk
    assert model.recourse_risk(loans.frame) == pytest.approx(model.recourse_risk_)


@pytest.mark.parametrize("bound", ["sequence", "pac"])
def test_confidence_holds_people_out_and_says_what_it_guarantees(bound):
    loans = load_loans(n_people=6000, random_state=3)
    model = RecourseTreeClassifier(
        loans.actions, recourse_weight=0.05, max_depth=3, min_recourse=0.8, confidence=0.9,
        relabelling=bound, random_state=0,
    ).fit(loans.frame, loans.target)  # fmt: skip
    given = model.guarantee_
    assert given.met and given.n_people == 1800 and given.risk_bound <= 0.2
    assert "90% confidence" in str(given)
    fresh = load_loans(n_people=20_000, random_state=4)
    assert model.recourse_risk(fresh.frame) <= 0.2


def test_rare_categories_among_the_held_out_are_readable():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=400), "c": ["common"] * 398 + ["rare"] * 2})
    y = frame["n"] > 0
    for seed in range(8):
        RecourseTreeClassifier(
            desired=True, min_recourse=0.8, confidence=0.9, random_state=seed
        ).fit(frame, y)


def test_the_same_seed_gives_the_same_tree(loans):
    fit = lambda seed: (  # noqa: E731
        RecourseTreeClassifier(loans.actions, max_features=3, random_state=seed)
        .fit(loans.frame, loans.target)
        .ensemble_.feature
    )
    np.testing.assert_array_equal(fit(1), fit(1))
    assert not np.array_equal(fit(1), fit(2))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": -0.1}, "budget must be a number of 0 or more, or None, got -0.1"),
        ({"recourse_weight": -1}, "recourse_weight must be a number of 0 or more, got -1"),
        ({"recourse_weight": float("nan")}, "recourse_weight must be a number"),
        ({"min_recourse": 1}, "min_recourse must be a share of at least 0 and below 1, .* got 1"),
        ({"min_recourse": -0.5}, "min_recourse must be a share .*, got -0.5"),
        ({"confidence": 0.9}, "confidence needs min_recourse above 0"),
        ({"min_recourse": 0, "confidence": 0.9}, "confidence needs min_recourse above 0"),
        ({"min_recourse": 0.9, "confidence": 1.0}, "confidence must be a share between 0 and 1"),
        ({"min_recourse": 0.9, "confidence": 0.9, "validation_fraction": 2}, "must be a share"),
        ({"relabelling": "best"}, "relabelling must be one of 'auto', 'greedy', 'exact'"),
        ({"relabelling": "pac"}, "relabelling must be one of 'auto', 'greedy', 'exact' without"),
        ({"cost": "l1"}, "Training needs a cost that is the largest"),
        ({"cost": "effort"}, "Unknown cost 'effort'"),
        ({"criterion": "loss"}, "criterion must be one of 'gini', 'entropy', 'error'"),
        ({"max_depth": 0}, "max_depth must be a whole number of 1 or more, or None, got 0"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be a whole number of 1 or more"),
        ({"min_leaf_share": 1.1}, "min_leaf_share must be a share between 0 and 1, or None"),
        ({"min_leaf_share": float("nan")}, "min_leaf_share must be a share between 0 and 1"),
        ({"min_leaf_share": "half"}, "min_leaf_share must be a share between 0 and 1, or None"),
        ({"max_features": "half"}, "max_features must be 'sqrt' or 'log2', or a whole"),
        ({"max_bins": 1}, "max_bins must be a whole number from 2 to"),
        ({"desired": "maybe"}, "desired is 'maybe', which is not a class.*'approved', 'refused'"),
        ({"actions": {"a": 1}}, "actions must be an ActionSpace, or None, got {"),
    ],
)
def test_wrong_parameters_are_refused(loans, parameters, message):
    with pytest.raises(InvalidSpec, match=message):
        RecourseTreeClassifier(**{"desired": "approved", **parameters}).fit(
            loans.frame, loans.target
        )


def test_wrong_targets_and_weights_are_refused(loans):
    model = RecourseTreeClassifier(desired="a")
    frame = loans.frame.head(30)
    with pytest.raises(InvalidData, match="3 classes, 'a', 'b', 'c'"):
        model.fit(frame, ["a", "b", "c"] * 10)
    with pytest.raises(InvalidData, match="only one class, 'a'"):
        model.fit(frame, ["a"] * 30)
    with pytest.raises(InvalidData, match="X has 30 rows but y has 2"):
        model.fit(frame, ["a", "b"])
    y = ["a", "b"] * 15
    with pytest.raises(InvalidData, match="sample_weight must be finite and 0 or more"):
        model.fit(frame, y, sample_weight=[-1.0] * 30)
    with pytest.raises(InvalidData, match="sample_weight has shape"):
        model.fit(frame, y, sample_weight=[1.0])
    with pytest.raises(InvalidData, match="sample_weight is zero for everyone"):
        model.fit(frame, y, sample_weight=[0.0] * 30)


def test_a_cost_of_ones_own_can_be_used(loans):
    class Doubled:
        def fit(self, columns, weights, sample_weight=None):
            fitted = make_cost("percentile").fit(columns, weights, sample_weight)
            return type(fitted)("max", fitted.knots, tuple(2 * level for level in fitted.levels))

    own = RecourseTreeClassifier(loans.actions, cost=Doubled(), budget=0.6, max_depth=4)
    exact = PercentileCost(exact=True)
    plain = RecourseTreeClassifier(loans.actions, budget=0.3, max_depth=4, cost=exact)
    own.fit(loans.frame, loans.target)
    plain.fit(loans.frame, loans.target)
    np.testing.assert_array_equal(own.ensemble_.threshold, plain.ensemble_.threshold)


def test_the_risk_of_training_is_exact_where_values_are_missing():
    """Below "x <= 0.5 or missing" the side "x > 0.5" was thought to be within reach."""
    X = np.repeat([0.0, 1.0, np.nan], [3, 9, 4])[:, None]
    space = ActionSpace([Feature("x0")], desired=1, limits=None)
    tree = RecourseTreeClassifier(space, recourse_weight=1.0, budget=1.0, criterion="error")
    tree.fit(X, np.isnan(X[:, 0]).astype(int))
    assert tree.recourse_risk_ == tree.recourse_risk(X) == 0
    assert tree.predict(X).tolist() == [1] * 3 + [0] * 9 + [1] * 4
