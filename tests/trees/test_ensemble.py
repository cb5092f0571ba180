"""Prediction from flat arrays against a walk by hand, for trees that nobody grew."""

import dataclasses
import pickle

import numpy as np
import pytest

from ract._kernels.predict import BLOCK, GROUP
from ract.trees.ensemble import TreeEnsemble
from tests import naive


def random_ensemble(rng, n_trees, n_columns, combine="votes", cutoff=1):
    """Random trees whose siblings lie anywhere, some of them a single leaf."""
    feature, threshold, left, right, root = [], [], [], [], []

    def add(depth):
        node = len(feature)
        inside = depth < 7 and rng.random() < 0.8
        feature.append(int(rng.integers(n_columns)) if inside else -1)
        threshold.append(float(rng.integers(-2, 3)) if inside else 0.0)
        left.append(-1)
        right.append(-1)
        if inside:
            left[node] = add(depth + 1)
            right[node] = add(depth + 1)
        return node

    for _ in range(n_trees):
        root.append(add(0) if rng.random() < 0.9 else add(7))
    return TreeEnsemble(
        feature=np.array(feature, np.int32),
        threshold=np.array(threshold),
        left=np.array(left, np.int32),
        right=np.array(right, np.int32),
        label=rng.integers(0, 2, len(feature)).astype(np.uint8),
        value=rng.normal(size=len(feature)),
        root=np.array(root, np.int32),
        combine=combine,
        cutoff=cutoff,
    )


@pytest.mark.parametrize("n_people", [0, 1, GROUP - 1, GROUP, 3 * GROUP + 5])
@pytest.mark.parametrize("seed", range(8))
def test_leaves_and_totals_equal_a_walk_by_hand(seed, n_people):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, n_trees=int(rng.integers(1, 6)), n_columns=3)
    # Whole values, so that many lie on a threshold.
    X = rng.integers(-3, 4, (n_people, 3)).astype(float)
    leaves = naive.naive_leaves(ensemble, X)
    np.testing.assert_array_equal(ensemble.apply(X), leaves)
    votes, sums = ensemble.totals(X)
    np.testing.assert_array_equal(votes, ensemble.label[leaves].sum(axis=1))
    np.testing.assert_allclose(sums, ensemble.value[leaves].sum(axis=1), rtol=0, atol=1e-12)
    some = slice(1, 3)
    votes, sums = ensemble.totals(X, trees=some)
    np.testing.assert_array_equal(votes, ensemble.label[leaves[:, some]].sum(axis=1))
    np.testing.assert_allclose(sums, ensemble.value[leaves[:, some]].sum(axis=1), atol=1e-12)


def test_blocks_and_threads_make_no_difference(rng):
    ensemble = random_ensemble(rng, n_trees=4, n_columns=2)
    X = rng.normal(size=(BLOCK + GROUP + 3, 2))
    one_by_one = [ensemble.totals(X[i : i + 1]) for i in (0, BLOCK - 1, BLOCK, len(X) - 1)]
    votes, sums = ensemble.totals(X)
    for i, (vote, total) in zip((0, BLOCK - 1, BLOCK, len(X) - 1), one_by_one, strict=True):
        assert (votes[i], sums[i]) == (vote[0], total[0])
    for n_jobs in (2, 3):
        threaded = ensemble.totals(X, n_jobs=n_jobs)
        np.testing.assert_array_equal(threaded[0], votes)
        np.testing.assert_array_equal(threaded[1], sums)
    np.testing.assert_array_equal(ensemble.totals(X[:, ::-1][::2].copy())[0], ensemble.totals(
        X[::2, ::-1])[0])  # fmt: skip


@pytest.mark.parametrize(("combine", "cutoff"), [("votes", 3), ("mean", 0.1), ("sum", -0.2)])
def test_the_decision_counts_what_the_ensemble_combines(rng, combine, cutoff):
    ensemble = random_ensemble(rng, 5, 3, combine, cutoff)
    X = rng.normal(size=(50, 3))
    leaves = ensemble.apply(X)
    expected = {
        "votes": ensemble.label[leaves].sum(axis=1),
        "mean": ensemble.value[leaves].mean(axis=1),
        "sum": ensemble.value[leaves].sum(axis=1),
    }[combine]
    np.testing.assert_allclose(ensemble.score(X), expected, atol=1e-12)
    np.testing.assert_array_equal(ensemble.decide(X), ensemble.score(X) >= cutoff)


@pytest.mark.parametrize("single", [False, True])
def test_sums_start_from_the_base_and_are_rounded_in_the_order_of_the_trees(rng, single):
    kind = np.float32 if single else np.float64
    plain = random_ensemble(rng, 30, 3, "sum", 0.0)
    value = plain.value.astype(kind).astype(np.float64)
    base = float(kind(rng.normal()))
    ensemble = dataclasses.replace(plain, value=value, base=base, single=single)
    X = rng.normal(size=(200, 3))
    expected = []
    for leaves in ensemble.apply(X):
        total = kind(base)
        for leaf in leaves:
            total = kind(total + kind(value[leaf]))
        expected.append(total)
    for n_jobs in (1, 2):
        score = ensemble.score(np.repeat(X, 6, axis=0), n_jobs=n_jobs)
        assert (score == score.astype(kind)).all()
        np.testing.assert_array_equal(score, np.repeat(expected, 6))
    np.testing.assert_array_equal(ensemble.decide(X), np.array(expected) >= 0.0)


def test_two_classes_are_compared_with_each_other(rng):
    plain = random_ensemble(rng, 4, 3, "mean", 0.5)
    shares = rng.integers(0, 5, len(plain.feature)) / 4  # sums are exact, so ties are ties
    X = 3 * rng.normal(size=(2000, 3))
    leaves = plain.apply(X)
    ours, theirs = shares[leaves].sum(axis=1) / 4, (1 - shares)[leaves].sum(axis=1) / 4
    tied = ours == theirs
    assert tied.any()
    for cutoff, tie in ((0.5, True), (np.nextafter(0.5, 1), False)):
        both = dataclasses.replace(plain, value=shares, against=1 - shares, cutoff=cutoff)
        decided = both.decide(X)
        np.testing.assert_array_equal(decided, (ours > theirs) | (tied & tie))
        assert pickle.loads(pickle.dumps(both)).decide(X).tolist() == decided.tolist()


def test_joined_trees_vote_together(rng):
    parts = [random_ensemble(rng, n, 3) for n in (2, 1, 3)]
    joined = TreeEnsemble.joined(parts, votes_needed=4)
    X = rng.normal(size=(40, 3))
    votes, sums = (sum(total) for total in zip(*(part.totals(X) for part in parts), strict=True))
    np.testing.assert_array_equal(joined.totals(X)[0], votes)
    np.testing.assert_allclose(joined.totals(X)[1], sums, atol=1e-12)
    np.testing.assert_array_equal(joined.decide(X), votes >= 4)
    assert joined.n_trees == 6 and len(joined.feature) == sum(len(p.feature) for p in parts)
    alone = TreeEnsemble.joined(parts[:1], votes_needed=2)
    assert alone.cutoff == 2 and alone.feature is parts[0].feature


def test_what_is_worked_out_on_demand_is_not_saved(rng):
    ensemble = random_ensemble(rng, 3, 3)
    size = len(pickle.dumps(ensemble))
    X = rng.normal(size=(10, 3))
    expected = ensemble.score(X)
    assert len(pickle.dumps(ensemble)) == size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ensemble)).score(X), expected)
