"""The five figures, counted by hand."""

import numpy as np
import pytest

from ract import RecourseTreeClassifier
from ract.data.datasets import load_loans
from ract.models.performance import Performance, held_out_performance


class Model:
    classes_, desired_ = np.array([0, 1]), 1

    def predict(self, X):
        return (X[:, 0] >= 0.5).astype(int)

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


SCORES, TRUTH = np.array([[0.9], [0.8], [0.6], [0.3]]), np.array([1, 0, 1, 0])


def test_figures_are_shares_of_people():
    found = Performance.of(Model(), SCORES, TRUTH)
    assert found == Performance(0.75, 0.75, 0.75, pytest.approx(1 / 3), 0.5)


def test_figures_count_weights():
    found = Performance.of(Model(), SCORES, TRUTH, [1, 3, 1, 5], held_out=True)
    assert found.accuracy == 0.7 and found.approval_rate == 0.5 and found.bad_rate == 0.6
    assert found.base_rate == 0.2 and found.held_out


def test_what_is_not_known_is_left_out():
    found = Performance.of(Model(), SCORES[3:], TRUTH[3:])
    assert set(found.to_dict()) == {"accuracy", "approval_rate", "base_rate", "held_out"}


def test_a_fifth_is_held_out_unless_a_class_is_too_small():
    loans = load_loans(200)
    tree = RecourseTreeClassifier(loans.actions, max_depth=2, random_state=0)
    found = held_out_performance(tree, loans.frame, loans.target)
    assert found.held_out and found.accuracy * 40 == pytest.approx(round(found.accuracy * 40))
    few = np.where(np.arange(200) < 9, "refused", "approved")
    assert held_out_performance(tree, loans.frame, few) is None
