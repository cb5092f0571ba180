"""Models to try things on are those that one would fit by hand."""

from ract import RecourseForestClassifier, RecourseTreeClassifier
from ract.data.datasets import load_loans
from ract.models.examples import loans_forest, loans_tree
from ract.trees import model_fingerprint


def test_a_tree_comes_with_its_people():
    tree, loans = loans_tree(300, max_depth=3, criterion="entropy")
    expected = load_loans(300)
    assert loans.frame.equals(expected.frame) and loans.target.equals(expected.target)
    by_hand = RecourseTreeClassifier(expected.actions, max_depth=3, criterion="entropy")
    by_hand.fit(expected.frame, expected.target)
    assert model_fingerprint(tree) == model_fingerprint(by_hand)


def test_a_forest_comes_with_its_people():
    forest, loans = loans_forest(300, n_estimators=3, random_state=5, max_depth=4)
    expected = load_loans(300)
    assert loans.frame.equals(expected.frame) and loans.target.equals(expected.target)
    by_hand = RecourseForestClassifier(
        expected.actions, n_estimators=3, random_state=5, max_depth=4
    )
    by_hand.fit(expected.frame, expected.target)
    assert model_fingerprint(forest) == model_fingerprint(by_hand)
