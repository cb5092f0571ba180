"""Targets of plans: one class among several, a grade, what a regressor predicts.

The judge is the original model's own ``predict``, asked about every row of a small table.
"""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ract import (
    ActionSpace,
    Feature,
    certify,
    find_reasons,
    find_recourse,
    import_model,
    recourse_status,
)
from ract._utils.errors import InvalidSpec
from ract.recourse import find_levers
from ract.trees import read_model
from tests import naive

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")
VALUES = range(5)
GRID = pd.DataFrame(list(itertools.product(VALUES, repeat=3)), columns=["a", "b", "c"])
SPACE = ActionSpace([Feature("a", "integer"), Feature("b", "integer", "increase"),
                     Feature("c", "integer")], limits=None)  # fmt: skip


def lightgbm(kind, **params):
    library = pytest.importorskip("lightgbm")
    return getattr(library, kind)(n_jobs=1, verbose=-1, min_child_samples=3, **params)


def xgboost(kind, **params):
    return getattr(pytest.importorskip("xgboost"), kind)(n_jobs=1, max_depth=2, **params)


CLASSIFIERS = {
    "tree": lambda seed: DecisionTreeClassifier(max_depth=3, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(6, max_depth=3, random_state=seed),
    # Pure leaves and an even number of trees: ties between classes everywhere.
    "ties": lambda seed: RandomForestClassifier(4, random_state=seed),
    "extra": lambda seed: ExtraTreesClassifier(5, max_depth=2, random_state=seed),
    "boosted": lambda seed: GradientBoostingClassifier(
        n_estimators=3, max_depth=2, random_state=seed
    ),
    "one round": lambda seed: HistGradientBoostingClassifier(
        max_iter=1, min_samples_leaf=5, random_state=seed
    ),
    "histogram": lambda seed: HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=5, max_leaf_nodes=4, random_state=seed
    ),
    "lightgbm": lambda seed: lightgbm("LGBMClassifier", n_estimators=3, num_leaves=4),
    "xgboost": lambda seed: xgboost("XGBClassifier", n_estimators=3),
    "two trees at once": lambda seed: xgboost(
        "XGBClassifier", n_estimators=2, num_parallel_tree=2, subsample=0.7, random_state=seed
    ),
    "pipeline": lambda seed: make_pipeline(
        StandardScaler(), RandomForestClassifier(5, max_depth=3, random_state=seed)
    ),
}
REGRESSORS = {
    "tree": lambda seed: DecisionTreeRegressor(max_depth=3, random_state=seed),
    "forest": lambda seed: RandomForestRegressor(5, max_depth=3, random_state=seed),
    "extra": lambda seed: ExtraTreesRegressor(4, max_depth=3, random_state=seed),
    "boosted": lambda seed: GradientBoostingRegressor(
        n_estimators=4, max_depth=2, random_state=seed
    ),
    "histogram": lambda seed: HistGradientBoostingRegressor(
        max_iter=4, min_samples_leaf=5, max_leaf_nodes=4
    ),
    "lightgbm": lambda seed: lightgbm("LGBMRegressor", n_estimators=3, num_leaves=4),
    "xgboost": lambda seed: xgboost("XGBRegressor", n_estimators=3),
}


def people_of(rng, n=60):
    people = GRID.iloc[rng.integers(len(GRID), size=n)].reset_index(drop=True)
    score = people.a + rng.choice([0.5, 1, 2]) * people.b - people.c + rng.normal(scale=2, size=n)
    return people, score.to_numpy()


def wrong_answers(found, people, wins, cost, accepted=None):
    """How many answers differ from those that asking about every row of the grid gives.

    accepted: the rows that need no plan, where plans must win more than that.
    """
    accepted = wins if accepted is None else accepted
    rows, known, n = GRID.to_numpy(float), people.to_numpy(float), 0
    for i, own in enumerate(known):
        prices = naive.price_rows(cost, known, np.ones(3), own, rows)
        prices[rows[:, 1] < own[1]] = np.inf
        least, status = prices[wins].min(initial=np.inf), found.status[i]
        if accepted[(rows == own).all(axis=1)][0]:
            right = status == "accepted"
        elif np.isinf(least):
            right = status == "none"
        else:
            reached = (rows == found.counterfactuals.to_numpy(float)[i]).all(axis=1)
            right = status == "optimal" and abs(found.cost[i] - least) < 1e-9
            right = right and wins[reached].all()
        n += not right
    return n


def check_classes(name, seed, n=60):
    """Plans for every class of a random model against brute force; the people that were asked."""
    rng = np.random.default_rng(seed)
    people, score = people_of(rng, n)
    y = np.digitize(score, np.quantile(score, [0.3, 0.6, 0.8][: rng.integers(2, 4)]))
    labels = np.arange(4) if "xgboost" in name or "at once" in name else np.array(list("DCBA"))
    model = CLASSIFIERS[name](seed).fit(people, labels[y])
    predicted = model.predict(GRID)
    for desired in np.unique(labels[y]).tolist():
        cost = str(rng.choice(["percentile", "l1"]))
        found = find_recourse(
            model, people, actions=SPACE, desired=desired, reference=people, cost=cost
        )
        assert wrong_answers(found, people, predicted == desired, cost) == 0
        reach = recourse_status(
            model, people, actions=SPACE, desired=desired, reference=people, cost=cost
        )
        expected = np.where(found.status == "optimal", "found", found.status)
        np.testing.assert_array_equal(reach, expected)


def strengths_of(model, k):
    """The strength of a class for every row of the grid: the least against another class."""
    tree = read_model(model, GRID, SPACE, desired=model.classes_[k], two_classes=False)
    rows = tree.encoder.matrix(GRID)
    return np.min([one.strength(rows) for one in (tree.ensemble, *tree.also)], axis=0)


def check_strengths(name, seed, n=60):
    """Plans of a strength for every class, mostly of one that some row has exactly."""
    rng = np.random.default_rng(seed)
    people, score = people_of(rng, n)
    y = np.digitize(score, np.quantile(score, [0.3, 0.6, 0.8][: rng.integers(2, 4)]))
    model = CLASSIFIERS[name](seed).fit(people, y)
    predicted = model.predict(GRID)
    for k in range(y.max() + 1):
        won, cost = strengths_of(model, k), str(rng.choice(["percentile", "l1"]))
        wins = predicted == k
        if not wins.any():
            continue
        if name in ("forest", "ties", "extra", "pipeline"):
            np.testing.assert_allclose(won, model.predict_proba(GRID)[:, k], rtol=1e-9, atol=1e-12)
        strength = float(rng.choice(won[wins])) if rng.random() < 0.8 else 0.6
        asked = {"actions": SPACE, "desired": k, "reference": people, "cost": cost}
        strength = min(strength, 1 - 1e-9)
        found = find_recourse(model, people, strength=strength, **asked)
        assert (found.strength[found.found & ~found.accepted] >= strength).all()
        assert wrong_answers(found, people, wins & (won >= strength), cost, predicted == k) == 0
        reach = recourse_status(model, people, strength=strength, **asked)
        expected = np.where(found.status == "optimal", "found", found.status)
        np.testing.assert_array_equal(reach, expected)


def check_numbers(name, seed, n=60):
    """Plans that reach a prediction, on a value that is predicted too."""
    rng = np.random.default_rng(seed)
    people, score = people_of(rng, n)
    model = REGRESSORS[name](seed).fit(people, score)
    predicted = model.predict(GRID)
    for desired in ("at least", "at most"):
        threshold = float(rng.choice(predicted)) if rng.random() < 0.7 else float(score.mean())
        wins = predicted >= threshold if desired == "at least" else predicted <= threshold
        cost = str(rng.choice(["percentile", "l1"]))
        found = find_recourse(
            model, people, actions=SPACE, desired=desired, threshold=threshold,
            reference=people, cost=cost,
        )  # fmt: skip
        assert wrong_answers(found, people, wins, cost) == 0


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_among_several(name):
    check_classes(name, 0)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_strength_of_one_class_among_several(name):
    check_strengths(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_strength_of_one_class_among_several_in_many_models(name):
    for seed in range(1, 9):
        check_strengths(name, seed)


@pytest.mark.parametrize("name", REGRESSORS)
def test_what_a_regressor_predicts(name):
    check_numbers(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_among_several_in_many_models(name):
    for seed in range(1, 9):
        check_classes(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRESSORS)
def test_what_many_regressors_predict(name):
    for seed in range(1, 9):
        check_numbers(name, seed)


def nearly_tied(values):
    """LightGBM trees of three classes: in each, the score up to a = 2 and the score above."""
    people = GRID.astype(float)
    y = np.where(people.a > 2, 0, np.where(people.b > 2, 1, 2))
    model = lightgbm("LGBMClassifier", n_estimators=1, num_leaves=2).fit(people, y)
    text = re.sub("tree_sizes=.*\n", "", model.booster_.model_to_string())
    text = re.sub("split_feature=.*", "split_feature=0", text)
    text = re.sub("threshold=.*", "threshold=2.5", text)
    leaves = iter(values)
    text = re.sub("leaf_value=.*", lambda _: "leaf_value={!r} {!r}".format(*next(leaves)), text)
    model._Booster = type(model.booster_)(model_str=text)
    return model


def test_a_tie_of_rounded_probabilities_is_no_proof_that_there_is_no_plan():
    """LightGBM predicts the first of two classes whose scores differ in the last digit."""
    more = float(np.nextafter(0.3, 1.0))
    tied = nearly_tied([(-1.0, 0.3), (more, more), (-5.0, -5.0)])
    people = GRID[GRID.a <= 2].astype(float)
    assert (tied.predict(people) == 1).all()
    assert (tied.predict(GRID[GRID.a > 2].astype(float)) == 0).all()
    space = ActionSpace([Feature(n, "integer", lower=0, upper=4) for n in "abc"], limits=None)
    asked = {"actions": space, "desired": 0, "reference": people}
    found = find_recourse(tied, people, **asked)
    assert set(found.status) == {"optimal"} and (found.counterfactuals["a"] == 3).all()
    assert (tied.predict(found.counterfactuals) == 0).all()
    assert set(recourse_status(tied, people, **asked)) == {"unknown"}  # by its scores it has none
    # Just beyond what rounding makes equal there is no plan, which is not known without asking.
    apart = nearly_tied([(-1.0, 0.3), (0.3 + 4e-16,) * 2, (-5.0, -5.0)])
    assert (apart.predict(GRID.astype(float)) == 1).all()
    with pytest.warns(UserWarning, match="did not confirm"):
        assert set(find_recourse(apart, people, **asked).status) == {"unknown"}
    clear = nearly_tied([(-1.0, 0.3), (0.3001, 0.3001), (-5.0, -5.0)])
    assert set(find_recourse(clear, people, **asked).status) == {"none"}
    assert set(recourse_status(clear, people, **asked)) == {"none"}


def test_the_least_share_of_a_class_among_several():
    people, score = people_of(np.random.default_rng(1))
    y = np.array(list("CBA"))[np.digitize(score, np.quantile(score, [0.3, 0.7]))]
    forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(people, y)
    share = forest.predict_proba(GRID)[:, forest.classes_.tolist().index("B")]
    for threshold in (0.3, float(np.sort(share)[-20])):
        found = find_recourse(
            forest, people, actions=SPACE, desired="B", threshold=threshold, reference=people
        )
        assert wrong_answers(found, people, share >= threshold, "percentile") == 0


def test_the_largest_prediction_within_the_budget_is_the_strongest_plan():
    people, score = people_of(np.random.default_rng(5))
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(people, score)
    asked = {"actions": SPACE, "threshold": float(score.mean()), "reference": people}
    found = find_recourse(model, people, strength="most", budget=0.4, **asked)
    predicted, rows, known = model.predict(GRID), GRID.to_numpy(float), people.to_numpy(float)
    assert np.isnan(found.strength).all() and found.found.sum() > 10
    for i in np.flatnonzero(found.found).tolist():
        prices = naive.price_rows("percentile", known, np.ones(3), known[i], rows)
        prices[rows[:, 1] < known[i, 1]] = np.inf
        assert found.status[i] == "optimal"
        reached = (rows == found.counterfactuals.to_numpy(float)[i]).all(axis=1)
        assert predicted[reached][0] == predicted[prices <= 0.4 + 1e-12].max()


def test_grades_are_thresholds():
    people, score = people_of(np.random.default_rng(2))
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(people, score > 1)
    grades = {"A": 0.8, "B": 0.6, "C": 0.4}
    share = forest.predict_proba(GRID)[:, 1]
    costs = []
    for least in grades.values():
        found = find_recourse(forest, people, actions=SPACE, threshold=least, reference=people)
        assert wrong_answers(found, people, share >= least, "percentile") == 0
        costs.append(np.where(found.status == "accepted", 0.0, found.cost))
    assert (costs[0] >= costs[1]).all() and (costs[1] >= costs[2]).all()


def test_options_that_several_models_take():
    people, score = people_of(np.random.default_rng(3))
    y = np.array(list("CBA"))[np.digitize(score, np.quantile(score, [0.3, 0.7]))]
    forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(people, y)
    asked = {"actions": SPACE, "desired": "A", "reference": people}
    few = find_recourse(forest, people, max_changes=1, **asked)
    free = find_recourse(forest, people, **asked)
    changed = (few.counterfactuals[few.found] != people[few.found]).sum(axis=1)
    assert changed.max() == 1 and (few.cost >= free.cost - 1e-12).all()
    levers = find_levers(forest, people, max_features=3, **asked)
    for row in np.flatnonzero(free.status == "optimal").tolist():
        # Minimal sets only: under a maximum, more small changes may cost less.
        assert levers.plans.cost[levers.people == row].min() >= free.cost[row] - 1e-12
    assert (forest.predict(levers.plans.counterfactuals) == "A").all()


def test_what_cannot_be_asked_of_several_classes_is_refused():
    people, score = people_of(np.random.default_rng(4))
    y = np.array(list("CBA"))[np.digitize(score, np.quantile(score, [0.3, 0.7]))]
    forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(people, y)
    boosted = GradientBoostingClassifier(n_estimators=2).fit(people, y)
    mean = RandomForestRegressor(4).fit(people, score)
    asked = {"actions": SPACE, "reference": people}
    with pytest.raises(InvalidSpec, match=r"has 3 classes, 'A', 'B', 'C'; say which one"):
        find_recourse(forest, people, **asked)
    with pytest.raises(InvalidSpec, match=r"'D', which is not a class of the model"):
        find_recourse(forest, people, desired="D", **asked)
    with pytest.raises(InvalidSpec, match=r"No sum of scores has a strength of 1"):
        find_recourse(boosted, people, desired="A", strength=1, **asked)
    with pytest.raises(InvalidSpec, match=r"strength='most'.*got one class among several"):
        find_recourse(forest, people, desired="A", strength="most", **asked)
    with pytest.raises(InvalidSpec, match=r"are no sum of its trees"):
        find_recourse(boosted, people, desired="A", threshold=0.8, **asked)
    with pytest.raises(
        InvalidSpec, match=r"'ranges' needs the exact method.*got one class among several"
    ):
        find_recourse(forest, people, desired="A", ranges=True, **asked)
    with pytest.raises(InvalidSpec, match=r"one model of two classes; got .* of 3 classes"):
        find_reasons(forest, people, desired="A", **asked)
    with pytest.raises(InvalidSpec, match=r"one model of two classes; got .* of 3 classes"):
        certify(forest, people, desired="A", training=people, **asked)
    with pytest.raises(InvalidSpec, match=r"3 class\(es\), 'A', 'B', 'C'; two are needed here"):
        import_model(forest, people, SPACE, desired="A")
    with pytest.raises(InvalidSpec, match=r"say by a threshold from which number on"):
        find_recourse(mean, people, **asked)
    with pytest.raises(InvalidSpec, match=r"a regressor predicts has no strength"):
        find_recourse(mean, people, threshold=1.0, strength=0.8, **asked)
    with pytest.raises(InvalidSpec, match=r"predicts a number; a classifier is needed here"):
        import_model(mean, people, SPACE)
