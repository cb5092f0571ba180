"""A forest grown in pieces is the forest grown at once."""

import pytest

from ract import RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.models.distributed_fit import checked, grown, shares
from ract.trees import model_fingerprint


def test_trees_of_shares_of_the_seeds_make_the_same_forest():
    loans = load_loans(200)
    forest = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
    prepared = checked(forest).prepare(loans.frame, loans.target)
    parts = shares(forest.seeds, 2)
    assert parts == [forest.seeds[:3], forest.seeds[3:]]
    trees = [tree for part in parts for tree in grown(forest, prepared.training, None, part)]
    pieces = model_fingerprint(forest.fit_grown(prepared, trees))
    assert pieces == model_fingerprint(forest.fit(loans.frame, loans.target))


def test_only_forests_are_grown_in_pieces():
    with pytest.raises(InvalidSpec, match="got a RecourseTreeClassifier"):
        checked(RecourseTreeClassifier())
