"""The published robust methods: what they compute, and that they keep to rules and budget."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from experiments.benchmark.robust import METHODS, RobustVotes, RobX, share_needed
from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from tests import naive
from tests.experiments.builders import made_up

BUDGET = 0.4


def people_and_rules(n_people=300, seed=0):
    """Made-up people with one more number that is no whole one, and may only fall."""
    data, rng = made_up(n_people, seed), np.random.default_rng(seed)
    frame = data.frame.assign(rate=np.round(rng.normal(5, 2, n_people), 3)).rename(
        columns={"job:a": "job_a", "job:b": "job_b"}
    )
    features = [
        *(feature for feature in data.actions if not feature.is_categorical),
        Feature("job", columns=("job_a", "job_b")),
        Feature("rate", "continuous", "decrease", 2.0, 9.0),
    ]
    return frame, data.target, ActionSpace(features, "yes", limits=None)


def asked(method, model, n_people=12, **options):
    """A method for the first people whom a forest or booster of made-up people refuses."""
    frame, target, actions = people_and_rules()
    model.fit(frame, target)
    refused = frame[model.predict(frame) == "no"].head(n_people)
    return method(
        model, refused, actions=actions, reference=frame, desired="yes", budget=BUDGET, **options
    )


def forest(seed=0):
    return RandomForestClassifier(25, min_samples_leaf=3, random_state=seed)


def booster():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=15, num_leaves=6, verbose=-1, n_jobs=1)


def check(method, recourse):
    """Plans keep to the rules and the budget, cost what they say, and the model accepts them."""
    found = recourse.found
    before, after = method.people[found], recourse.counterfactuals[found]
    assert (method.model.predict(after) == "yes").all()
    assert (after["saved"] == before["saved"]).all()
    assert (after["age"] >= before["age"]).all() and (after["age"] <= 200).all()
    assert (after["rate"] <= before["rate"]).all()
    assert ((after["rate"] >= 2) | (after["rate"] == before["rate"])).all()
    assert (after[["job_a", "job_b"]].sum(axis=1) == 1).all()
    assert after["job_a"].isin([0, 1]).all()
    whole = ["age", "debts", "job_a", "job_b"]
    assert (after[whole] == np.rint(after[whole])).all(axis=None)
    training = {name: method.reference[name].to_numpy() for name in method.reference}
    for i, cost in zip(np.flatnonzero(found), recourse.cost[found], strict=True):
        was, now = method.people.iloc[i], recourse.counterfactuals.iloc[i]
        efforts = [
            abs(
                naive.percentile_level(values, was[name])
                - naive.percentile_level(values, now[name])
            )
            for name, values in training.items()
        ]
        assert cost == pytest.approx(max(efforts), abs=1e-9)
    assert (recourse.cost[found] <= BUDGET).all()
    assert np.isinf(recourse.cost[~found]).all()


# Robust votes


def refused_by_new_trees(n_trees, p):
    """Probability that at most half of the trees accept, each with probability p."""
    return sum(
        math.comb(n_trees, k) * p**k * (1 - p) ** (n_trees - k) for k in range(n_trees // 2 + 1)
    )


@pytest.mark.parametrize("n_trees", [1, 10, 25, 100])
@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.05, 1e-3, 1e-6])
def test_the_share_of_trees_is_the_least_that_is_safe(n_trees, alpha):
    share = share_needed(n_trees, alpha)
    assert refused_by_new_trees(n_trees, share) == pytest.approx(alpha, rel=1e-6)
    assert refused_by_new_trees(n_trees, share - 1e-3) > alpha


def test_shares_that_cannot_be_are_refused():
    with pytest.raises(InvalidSpec, match="a probability, got 0"):
        share_needed(100, 0.0)
    with pytest.raises(InvalidSpec, match="boosted"):
        asked(RobustVotes, GradientBoostingClassifier(n_estimators=3)).plans()


def test_robust_votes_are_the_cheapest_plans_of_a_mean_probability():
    method = asked(RobustVotes, forest())
    cheapest, robust = method.cheapest(), method.plans(0.2)
    check(method, robust)
    assert robust.found.any()
    mean = method.model.predict_proba(robust.counterfactuals)[:, 1]
    assert (mean[robust.found] >= share_needed(25, 0.2) - 1e-12).all()
    assert (robust.cost >= cheapest.cost - 1e-12).all()
    enough = method.model.predict_proba(cheapest.counterfactuals)[:, 1] >= share_needed(25, 0.2)
    assert robust.cost[enough & cheapest.found] == pytest.approx(
        cheapest.cost[enough & cheapest.found]
    )


# RobX


def naive_stability(method, point):
    """Mean less standard deviation of the model's probability over the samples, one by one."""
    names = list(method.reference)
    deviation = method.reference.std(ddof=0).to_numpy()
    normal = np.random.default_rng(method.random_state).normal(size=(method.n_samples, len(names)))
    scores = []
    for row in normal:
        sample = [v + method.sigma * z * d for v, z, d in zip(point, row, deviation, strict=True)]
        frame = pd.DataFrame([sample], columns=names)
        scores.append(method.model.predict_proba(frame)[0, 1])
    mean = sum(scores) / len(scores)
    return mean - math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))


@pytest.mark.parametrize("model", [forest, booster])
def test_stability_is_the_mean_less_the_standard_deviation_of_samples(model):
    method = asked(RobX, model(), n_people=3, n_samples=40, sigma=0.3)
    columns = [list(method.reference).index(name) for name in method._cheapest.encoder.column_names]
    assert columns == sorted(columns)
    points = method.people.to_numpy(float)
    expected = [naive_stability(method, point) for point in points]
    assert method.stability(points) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("model", [forest, booster])
@pytest.mark.parametrize("max_changes", [None, 2])
def test_robx_gives_stable_plans_within_the_rules(model, max_changes):
    method = asked(RobX, model(), max_changes=max_changes, n_samples=100, n_neighbours=4, n_steps=8)
    cheapest = method.cheapest()
    costs = []
    for tau in (0.0, 0.4, 0.6):
        robust = method.plans(tau)
        check(method, robust)
        assert (method.stability(robust.after[robust.found]) >= tau).all()
        assert (robust.cost >= cheapest.cost - 1e-12).all()
        assert not (robust.found & ~cheapest.found).any()
        assert (robust.n_changes <= (max_changes or 9)).all()
        costs.append(robust.cost)
    assert costs[0] == pytest.approx(cheapest.cost)  # whatever is accepted is stable enough
    moved = np.isfinite(costs[1]) & (costs[1] > costs[0] + 1e-9)
    assert moved.any()


def test_robx_says_unknown_where_it_finds_nothing():
    method = asked(RobX, forest(), n_samples=50, n_neighbours=2, n_steps=4)
    cheapest, robust = method.cheapest(), method.plans(1.5)
    assert not robust.found.any()
    assert (robust.status[cheapest.found] == "unknown").all()
    assert (robust.status[~cheapest.found] == cheapest.status[~cheapest.found]).all()
    assert (robust.counterfactuals == method.people).all(axis=None)


def test_every_method_has_a_default_among_its_settings():
    for method in METHODS.values():
        assert method.default in method.settings
