"""Members that give people a way back."""

from __future__ import annotations

import numpy as np
import pytest

from ract.trees.advice import Cells, Cooperation, best_points, trees_of
from ract.trees.booster import BoostRules, boost
from ract.trees.cooperation import cooperate
from tests.builders import people_in_cells, rows_with_points


@pytest.mark.parametrize("n_replicates", [0, 3])
def test_refused_people_get_a_way_back(n_replicates):
    rng = np.random.default_rng(5)
    people = people_in_cells(rng, 500)
    rows, rules = rows_with_points(people, rng), BoostRules(30, 0.2, 6, 20, 1.0)
    cells, everyone = Cells.of(people), np.arange(500)

    def share_served(models):
        best = best_points(trees_of(models[0], 4), cells, everyone, (), models[0].base, np.inf)
        return (np.mean([model.scores(best) for model in models], axis=0) >= 0).mean()

    plain = boost(people, rows, rules, range(30))
    cooperation = Cooperation(2.0, 1.0, n_replicates, 2)
    members, replicates, *_ = cooperate(
        people, rows, np.ones(500), rules, cooperation, np.random.RandomState(0)
    )
    assert (len(members), len(replicates)) == ((1, 0) if n_replicates == 0 else (2, 3))
    assert share_served(members) > share_served([plain]) + 0.05


@pytest.mark.parametrize(("wrong", "expected"), [(True, 0.25 * 0.5**4), (False, 0.25)])
def test_the_weight_falls_while_members_lose_much_auc(wrong, expected):
    """A constraint against what is known costs AUC, which the weight is lowered for."""
    rng = np.random.default_rng(7)
    people = people_in_cells(rng, 600)
    people.desired[:] = people.cells[0] > people.cells[0].mean()
    rows = rows_with_points(people, rng)
    rows = rows.of(np.ascontiguousarray(people.cells.T), people.desired, np.ones(600))
    rules = BoostRules(20, 0.2, 6, 20, 1.0, directions=(-1 if wrong else 1, 0, 0, 0))
    asked = Cooperation(0.25, 1.0, 3, 3, n_focus=2)
    *_, used = cooperate(people, rows, np.ones(600), rules, asked, np.random.RandomState(0))
    assert used == expected


def test_points_count_twice_where_three_features_bring_people_half_of_the_way():
    rng = np.random.default_rng(7)
    people = people_in_cells(rng, 600)
    rows = rows_with_points(people, rng)
    rows = rows.of(np.ascontiguousarray(people.cells.T), people.desired, np.ones(600))
    used = []
    for margin in (0.3, 5.0):
        asked = Cooperation(0.01, margin, 3, 3, n_focus=4)
        rules = BoostRules(20, 0.2, 6, 20, 1.0)
        *_, weight = cooperate(people, rows, np.ones(600), rules, asked, np.random.RandomState(0))
        used.append(weight)
    assert used == [0.02, 0.01]
