"""Decisions where the scores of both classes tie."""

import dataclasses

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from ract._utils.errors import InvalidSpec
from ract.trees.readers import read_model
from ract.trees.readers.scoring import as_votes, scored, starting_from, with_rounded_ties
from tests.builders import random_ensemble

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_a_tie_that_rounding_breaks():
    """Shares 8/9, 2/6, 1/9 and 4/6 and their complements both sum to 2, but not in doubles."""
    people = np.zeros((1, 1))
    forest = RandomForestClassifier(4, random_state=0).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    shares = [(8, 9), (2, 6), (1, 9), (4, 6)]
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        for k, (part, whole) in enumerate(shares[i] for i in order):
            y = np.arange(whole) < part
            forest.estimators_[k] = DecisionTreeClassifier().fit(np.zeros((whole, 1)), y)
        chosen = forest.predict(people)[0]
        assert chosen == (1 if order[0] == 0 else 0)
        assert forest.predict_proba(people)[0, chosen] == 0.5
        for desired in (0, 1):
            read = read_model(forest, people, desired=desired)
            assert read.score(people)[0] == forest.predict_proba(people)[0, desired]
            assert read.decide(people)[0] == (chosen == desired)


def test_parts_for_one_class():
    part = {"column": np.array([-1]), "value": np.array([2.5]), "codes": {}}
    tree = scored(part, 1, 3)
    assert tree["scores"].tolist() == [[0.0, 2.5, 0.0]] and tree["value"].tolist() == [0.0]
    start, same = starting_from(np.array([1.0, 2.0, 3.0]), [tree])
    assert same is tree and start["scores"].tolist() == [[1.0, 2.0, 3.0]]
    assert start["column"].tolist() == [-1] and start["codes"] == {}


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(5, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_class_that_is_predicted_wins_everywhere(model):
    rng = np.random.default_rng(0)
    people = rng.normal(size=(200, 3)).round(1)
    model.fit(people, np.digitize(people[:, 0] + people[:, 1], [-0.5, 0.5]))
    for desired in range(3):
        read = read_model(model, people, desired=desired, two_classes=False)
        assert np.array_equal(read.decide(people), model.predict(people) == desired)
    alone = isinstance(model, DecisionTreeClassifier)
    assert len(read.also) == (0 if alone else 1)
    if isinstance(model, GradientBoostingClassifier):
        with pytest.raises(InvalidSpec, match="probabilities of this model are no sum"):
            read_model(model, people, desired=1, two_classes=False, threshold=0.4)
    else:
        read = read_model(model, people, desired=1, two_classes=False, threshold=0.4)
        assert np.array_equal(read.decide(people), model.predict_proba(people)[:, 1] >= 0.4)


def softmax(scores, kind):
    """As LightGBM and XGBoost work it out, in doubles or in singles."""
    powers = np.exp((scores - scores.max(axis=0)).astype(kind))
    return (powers / powers.sum(axis=0, dtype=np.float64).astype(kind)).astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whoever_may_win_by_a_rounding_wins(kind):
    """Scores of both classes are the same but for a few units in the last place."""
    rng, n_ties = np.random.default_rng(0), 0
    for _ in range(60):
        matrix = rng.normal(size=(40, 2))
        ensemble = random_ensemble(rng, matrix, int(rng.integers(2, 6)))
        value = (rng.normal(size=len(ensemble.feature)) * 0.1).astype(kind).astype(float)
        against = value.copy()
        last = slice(ensemble.root[-1], None)
        against[last] += rng.integers(0, 4, len(against[last])) * np.finfo(kind).eps / 4
        ensemble = dataclasses.replace(
            ensemble, value=value, against=against.astype(kind).astype(float), combine="sum",
            cutoff=0.0, single=kind is np.float32,
        )  # fmt: skip
        other = dataclasses.replace(ensemble, value=ensemble.against, against=None)
        ours, theirs = ensemble.score(matrix), other.score(matrix)
        scores = np.stack([ours, theirs, theirs - rng.uniform(0.1, 3, len(theirs))])
        first = softmax(scores, kind).argmax(axis=0) == 0
        lenient = with_rounded_ties(ensemble).decide(matrix)
        assert lenient[first].all()
        n_ties += int((first & ~ensemble.decide(matrix)).sum())
    assert n_ties > 50


def test_nobody_else_wins():
    """The second class loses ties, and the first one a clear difference."""
    matrix = np.zeros((1, 1))
    rng = np.random.default_rng(0)
    ensemble = dataclasses.replace(
        random_ensemble(rng, rng.normal(size=(20, 1)), 2), combine="sum", cutoff=0.0
    )
    ensemble = dataclasses.replace(ensemble, value=ensemble.value * 0, against=ensemble.value * 0)
    clear = dataclasses.replace(ensemble, against=ensemble.against + 1e-13)
    assert with_rounded_ties(ensemble).decide(matrix).all()
    assert not with_rounded_ties(clear).decide(matrix).any()
    second = dataclasses.replace(ensemble, cutoff=float(np.nextafter(0.0, 1.0)))
    assert with_rounded_ties(second) is second


@pytest.mark.parametrize("desired", [0, 1])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_leaves_that_say_all_or_nothing_vote(desired, bootstrap):
    rng = np.random.default_rng(0)
    people = rng.integers(0, 6, (300, 3)).astype(float)
    target = (people.sum(axis=1) + rng.integers(0, 3, 300) > 8).astype(int)
    known, first = np.unique(people, axis=0, return_index=True)
    # With an even number of trees many people are at a tie.
    forest = RandomForestClassifier(6, max_features=1, bootstrap=bootstrap, random_state=0)
    forest.fit(known, target[first])
    read = read_model(forest, known, desired=desired)
    for strength in (None, 0.5, 0.51, 2 / 3, 0.7, 1.0):
        mean = read.ensemble if strength is None else read.ensemble.stronger(strength)
        votes = as_votes(mean)
        assert (mean.combine, votes.combine) == ("mean", "votes")
        np.testing.assert_array_equal(votes.decide(people), mean.decide(people))
        np.testing.assert_allclose(votes.strength(people), mean.strength(people))
        assert votes.memo is mean.memo and votes.key == as_votes(mean).key
    assert (as_votes(read.ensemble).decide(people) == (forest.predict(people) == desired)).all()


def test_leaves_with_shares_do_not_vote():
    rng = np.random.default_rng(1)
    people, target = rng.integers(0, 4, (100, 2)).astype(float), rng.integers(0, 2, 100)
    forest = RandomForestClassifier(5, random_state=0).fit(people, target)
    mean = read_model(forest, people, desired=1).ensemble
    assert as_votes(mean) is mean
