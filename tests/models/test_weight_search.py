"""Trials along a ladder of weights, with trials that are known in advance."""

import numpy as np
import pytest

from ract.models.weight_search import (
    LADDER,
    Trial,
    WeightWarning,
    choose_weight,
    choose_weight_and_floor,
    spread,
)


def recourse_of(weight, floor=None):
    recourse = 1 - (0.1 + (floor or 0) / 5) / (1 + weight)
    return Trial(weight, recourse, 0.8 - 0.01 * weight, 0.7, floor)


@pytest.mark.parametrize("goal", np.linspace(0.9, 0.989, 12))
def test_the_least_weight_that_meets_the_goal_is_found_in_three_trials(goal):
    enough = [weight for weight in LADDER if recourse_of(weight).recourse >= goal]
    how = {"min_recourse": goal, "max_auc_loss": None, "n_people": 9}
    search = choose_weight(recourse_of, 1.0, **how)
    assert search.weight == min(enough) and search.met and len(search.trials) <= 3
    assert search.to_frame()["chosen"].sum() == 1


def test_a_goal_that_no_weight_meets_is_said():
    how = {"min_recourse": 0.999, "max_auc_loss": None, "n_people": 9}
    with pytest.warns(WeightWarning, match=r"No weight gives 99\.9% of people recourse"):
        search = choose_weight(recourse_of, 1.0, **how)
    assert not search.met and search.weight == LADDER[-1]


def test_a_floor_is_lowered_only_where_the_goal_needs_it():
    how = {"max_auc_loss": None, "n_people": 9}
    search = choose_weight_and_floor(recourse_of, 1.0, [0.5, 0.0], min_recourse=0.85, **how)
    assert search.met and search.trials[0].weight == 0
    assert search.floor == search.trials[0].floor == 0.0  # no weight is needed for it


@pytest.mark.parametrize(("n", "most"), [(10, 5), (7, 7), (1000, 150), (1, 1)])
def test_positions_are_different_and_spread(n, most):
    places = spread(n, most)
    assert len(set(places.tolist())) == most and places.min() == 0 and places.max() < n
    assert np.diff(np.sort(places)).max(initial=1) <= -(-n // most)
