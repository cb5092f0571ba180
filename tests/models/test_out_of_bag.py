"""Votes of trees that were grown without the person, against a loop over trees and people."""

import numpy as np

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans
from ract.models.out_of_bag import out_of_bag, shares_out_of_bag
from ract.trees.grower import bootstrap_counts

LOANS = load_loans(900)


def test_shares_out_of_bag_by_hand():
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=8, random_state=0)
    prepared = forest.prepare(LOANS.frame, LOANS.target)
    trees = forest._trees(forest.growth(prepared.training, None))
    shares = shares_out_of_bag(trees, prepared.training.people, np.arange(900))
    ensemble = forest.fit_grown(prepared, trees).ensemble_
    leaves = ensemble.apply(forest.encoder_.matrix(LOANS.frame))
    out = np.column_stack([bootstrap_counts(900, 900, seed)[0] == 0 for seed in forest.seeds])
    with np.errstate(invalid="ignore"):
        expected = (ensemble.value[leaves] * out).sum(axis=1) / out.sum(axis=1)
    np.testing.assert_allclose(shares, expected)
    assert 0 < np.isnan(shares).sum() < 100


def test_votes_and_sums_are_those_of_the_trees_that_left_the_person_out():
    frame, target = LOANS.frame[:120], LOANS.target[:120]
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=5, random_state=0)
    forest.fit(frame, target)
    matrix, ensemble = forest.encoder_.matrix(frame), forest.ensemble_
    draws = [(seed, 120) for seed in forest.seeds]
    bag = out_of_bag(ensemble, draws, matrix, slice(None), 120)
    leaves = ensemble.apply(matrix)
    for i in range(120):
        left_out = [bootstrap_counts(120, 120, seed)[0][i] == 0 for seed, _ in draws]
        own = leaves[i, left_out]
        assert bag.n_trees[i] == sum(left_out) and bag.votes[i] == ensemble.label[own].sum()
        np.testing.assert_allclose(bag.sums[i], ensemble.value[own].sum())
        assert bag.left_out[i].tolist() == left_out
    np.testing.assert_array_equal(bag.asked, np.arange(120))
