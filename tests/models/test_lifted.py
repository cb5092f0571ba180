"""Forests that are lifted where people could get to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from ract import ActionSpace, RecourseForestClassifier, load_loans
from ract.models.lifted import N_FOCUS, PER_WEIGHT
from ract.trees.cover import own_leaves

LOANS = load_loans(900, random_state=3)
SHAPED = ActionSpace(LOANS.actions.features, LOANS.desired)  # limits="size", steps="round"


def forest(space=SHAPED, **options):
    options = {"n_estimators": 25, "approval_rate": 0.65, "random_state": 0} | options
    return RecourseForestClassifier(space, **options)


@pytest.fixture(scope="module")
def lifted():
    learner = forest()
    training = learner.prepare(LOANS.frame, LOANS.target).training
    learner.choose_monotonic(training)
    return learner, training, learner.growth(training, learner.first_cut(training))


def test_points_are_within_reach_and_differ_in_few_features(lifted):
    _, training, growth = lifted
    people, points = training.people, growth.points
    home = people.cells.T[points.asked]
    for cells in points.cells:
        moved = cells != home
        axes = np.flatnonzero(moved.any(axis=0))
        assert 0 < len(axes) <= N_FOCUS
        for a in axes:
            who = np.flatnonzero(moved[:, a])
            to, rows = cells[who, a], points.asked[who]
            if people.can_enter[a] is None:
                assert (people.lowest[a, rows] <= to).all() and (
                    to <= people.highest[a, rows]
                ).all()
            else:
                assert people.can_enter[a][home[who, a], to].all()


def test_a_tree_learns_from_people_and_one_point_each(lifted):
    _, training, growth = lifted
    people, points = training.people, growth.points
    n, growing = len(people.desired), np.arange(1.0, 1 + len(people.desired))
    both, weights = points.beside(people, growing, growing, seed=5)
    assert both.desired[n:].all() and (both.desired[:n] == people.desired).all()
    assert (both.cells[:, :n] == people.cells).all()
    assert weights[n:] == pytest.approx(growing[points.asked] * points.scale * points.weight)
    turns = (points.asked + 5) % len(points.cells)
    expected = points.cells[turns, np.arange(len(turns))]
    assert (expected == both.cells[:, n:].T).all()


def test_the_score_that_is_cut_rises_where_people_could_get_to(lifted):
    learner, training, growth = lifted

    def shares(growth):
        cells = np.ascontiguousarray(growth_points.cells[0].T)
        trees = learner._trees(growth)
        at = replace(training.people.take(growth_points.asked), cells=cells)
        return np.mean([one.tree.share[own_leaves(one.tree, at)] for one in trees], axis=0)

    growth_points = growth.points
    plain = shares(replace(growth, points=None))
    assert (shares(growth) - plain).mean() > 0.02


def test_more_people_have_a_way_than_without_points():
    plain, model = (
        forest(recourse_weight=weight).fit(LOANS.frame, LOANS.target) for weight in (0.0, 0.1)
    )
    new = load_loans(400, random_state=9)

    def served(one):
        found = one.recourse(new.frame, explain=False)
        return found.found.sum() / (~found.accepted).sum()

    assert served(model) > served(plain)
    wanted = new.target == "approved"
    aucs = [roc_auc_score(wanted, m.ensemble_.score(m._matrix(new.frame))) for m in (plain, model)]
    assert aucs[1] > aucs[0] - 0.03
    assert 0 < model.recourse_weight_ < 0.1 + 1e-9
    assert 0.6 < (model.predict(LOANS.frame) == "approved").mean() < 0.75


@pytest.mark.parametrize(
    ("space", "options"),
    [(LOANS.actions, {}), (SHAPED, {"approval_rate": None}), (SHAPED, {"recourse_weight": 0.0})],
)
def test_nothing_is_lifted_without_limits_a_cut_and_a_weight(space, options):
    learner = forest(space, n_estimators=3, **options)
    training = learner.prepare(LOANS.frame, LOANS.target).training
    learner.choose_monotonic(training)
    assert learner.growth(training, learner.first_cut(training)).points is None


def test_class_weights_do_not_dilute_points(lifted):
    learner = forest(class_weight={"approved": 5.0, "refused": 5.0})
    training = learner.prepare(LOANS.frame, LOANS.target).training
    learner.choose_monotonic(training)
    points = learner.growth(training, learner.first_cut(training)).points
    assert points.scale == pytest.approx(5 * lifted[2].points.scale)
    assert points.weight <= PER_WEIGHT * learner.recourse_weight
