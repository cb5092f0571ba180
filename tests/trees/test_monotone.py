"""Monotonic constraints: along a constrained feature nobody's answer goes the wrong way."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.trees.monotone import ordered_shares
from tests.builders import quick_of


def random_people(rng, n):
    frame = pd.DataFrame(
        {
            "income": rng.integers(0, 12, n),
            "debt": np.round(rng.normal(size=n), 1),
            "age": rng.integers(0, 6, n),
            "job": rng.choice(["cook", "clerk", "nurse"], n),
        }
    )
    logit = 0.4 * (frame["income"] - 6) - frame["debt"] + 0.5 * (frame["age"] == 3)
    noise = rng.logistic(size=n) * rng.choice([0.5, 2.0])
    return frame, np.where(logit + noise > 0, "yes", "no")


def space():
    return ActionSpace(
        [
            Feature("income", change="increase"),
            Feature("debt"),
            Feature("age", change="fixed"),
            Feature("job"),
        ],
        desired="yes",
        limits=None,
    )


def along(frame, name, rng):
    """The same people at every value of one feature, in its order (values x people)."""
    values = np.unique(frame[name])
    places = np.unique(np.concatenate([values, (values[1:] + values[:-1]) / 2]))
    if frame[name].dtype.kind == "i":
        places = np.arange(values.min(), values.max() + 1)
    people = frame.iloc[rng.choice(len(frame), 25)]
    return [people.assign(**{name: place}) for place in places]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("seed", quick_of(2, range(6)))
def test_labels_votes_and_probabilities_are_monotone(criterion, seed):
    rng = np.random.default_rng(seed)
    frame, target = random_people(rng, int(rng.integers(60, 250)))
    directions = {"income": 1, "debt": -1} if seed % 2 else {"debt": -1, "age": 1}
    options = {
        "criterion": criterion,
        "recourse_weight": float(rng.choice([0.0, 0.1, 1.0])),
        "min_samples_leaf": int(rng.integers(1, 6)),
        "monotonic": directions,
        "random_state": seed,
    }
    weights = rng.choice([0.5, 1.0, 3.0], len(frame)) if seed % 3 == 0 else None
    models = [
        RecourseTreeClassifier(space(), **options),
        RecourseForestClassifier(space(), n_estimators=7, **options),
        RecourseForestClassifier(space(), n_estimators=6, **options),
    ]
    for model in models:
        model.fit(frame, target, sample_weight=weights)
        for name, direction in directions.items():
            steps = along(frame, name, rng)
            yes = np.array([model.predict(people) == "yes" for people in steps])
            share = np.array([model.predict_proba(people)[:, 1] for people in steps])
            assert (direction * np.diff(yes.astype(int), axis=0) >= 0).all()
            assert (direction * np.diff(share, axis=0) >= 0).all()


def test_without_constraints_nothing_is_monotone_and_nothing_changes():
    rng = np.random.default_rng(1)
    frame, target = random_people(rng, 200)
    options = {"min_samples_leaf": 1, "recourse_weight": 0.1, "random_state": 0}
    plain = RecourseTreeClassifier(space(), **options).fit(frame, target)
    steps = along(frame, "income", rng)
    share = np.array([plain.predict_proba(people)[:, 1] for people in steps])
    assert (np.diff(share, axis=0) < 0).any()
    zero = RecourseTreeClassifier(space(), monotonic=[0, 0, 0, 0], **options)
    zero.fit(frame, target)
    np.testing.assert_array_equal(zero.ensemble_.threshold, plain.ensemble_.threshold)
    np.testing.assert_array_equal(zero.ensemble_.value, plain.ensemble_.value)


def test_an_array_says_the_same_as_names():
    rng = np.random.default_rng(2)
    frame, target = random_people(rng, 200)
    by_name = RecourseForestClassifier(
        space(), n_estimators=5, monotonic={"income": 1, "debt": -1}, random_state=0
    ).fit(frame, target)
    by_place = RecourseForestClassifier(
        space(), n_estimators=5, monotonic=np.array([1, -1, 0, 0]), random_state=0
    ).fit(frame, target)
    np.testing.assert_array_equal(by_name.ensemble_.threshold, by_place.ensemble_.threshold)
    assert by_name.recourse_risk(frame) <= 1


def test_shares_are_clipped_to_what_stands_above():
    rng = np.random.default_rng(0)
    for _ in range(50):
        axis = np.array([0, 1, 0, -1, -1, -1, -1])
        left, right = np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1])
        share = rng.random(7)
        share[1], share[2] = min(share[1:3]), max(share[1:3])
        direction = np.where(axis >= 0, np.array([1, 0])[axis], 0)
        clipped = ordered_shares(left, right, share, direction)
        assert max(clipped[3:5]) <= min(clipped[5:7])
        middle = (share[1] + share[2]) / 2
        np.testing.assert_allclose(clipped[3:5], np.minimum(share[3:5], middle))


def test_what_makes_no_sense_is_refused():
    frame, target = random_people(np.random.default_rng(0), 60)
    for wrong, words in (
        ({"moon": 1}, "names 'moon'"),
        ([1, 0], "one entry for each of the 4 features"),
        ({"income": 2}, "must be -1, 0 or 1"),
        ({"job": 1}, "categories have no order"),
    ):
        with pytest.raises(InvalidSpec, match=words):
            RecourseTreeClassifier(space(), monotonic=wrong).fit(frame, target)
    with pytest.raises(InvalidSpec, match="needs min_recourse to be None"):
        RecourseForestClassifier(
            space(), n_estimators=3, monotonic={"income": 1}, min_recourse=0.9
        ).fit(frame, target)
