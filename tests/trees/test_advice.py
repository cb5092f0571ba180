import itertools
from dataclasses import replace

import numpy as np
import pytest

from ract._kernels.boost import lines
from ract.trees.advice import (
    N_LIFTED,
    Cells,
    Cooperation,
    agreed_directions,
    best_points,
    focused,
    trees_of,
)
from ract.trees.booster import Boosted, BoostRules, boost
from tests.builders import CELLS, MISSING_CELLS, people_in_cells, rows_with_points


def within_reach(people, i, axis):
    """Cells of an axis that a person attains, the own one included."""
    own = int(people.cells[axis, i])
    if people.can_enter[axis] is not None:
        return set(np.flatnonzero(people.can_enter[axis][own]).tolist())
    low, high = int(people.lowest[axis, i]), int(people.highest[axis, i])
    return {own} | set(range(low, high + 1))


@pytest.fixture(scope="module")
def boosted():
    rng = np.random.default_rng(0)
    people = people_in_cells(rng, 250)
    return people, boost(
        people, rows_with_points(people, rng), BoostRules(20, 0.3, 8, 5), range(20)
    )


def test_a_line_search_is_brute_force_along_an_axis(boosted):
    people, model = boosted
    cells = Cells.of(people)
    rows = np.arange(len(cells.home))
    for axis in range(len(CELLS)):
        points, scores = cells.home.copy(), model.scores(cells.home)
        lines.ascend(
            points, rows.astype(np.uint32), np.array([axis]), cells.reach(rows),
            trees_of(model, len(CELLS)), np.inf, 1, scores,
        )  # fmt: skip
        np.testing.assert_allclose(scores, model.scores(points))
        for i in rows[:80]:
            choices = np.repeat(cells.home[i][None], CELLS[axis], axis=0)
            choices[:, axis] = np.arange(CELLS[axis])
            allowed = sorted(within_reach(people, i, axis))
            best = model.scores(choices)[allowed].max()
            assert scores[i] == pytest.approx(best)
            assert points[i, axis] in allowed


def test_best_points_are_within_reach_and_no_axis_betters_them(boosted):
    people, model = boosted
    cells, rows = Cells.of(people), np.arange(100)
    trees = trees_of(model, len(CELLS))
    points = best_points(trees, cells, rows, (), model.base, np.inf)
    before, after = model.scores(cells.home[rows]), model.scores(points)
    assert (after >= before - 1e-9).all() and (after > before + 0.1).mean() > 0.5
    settled = 0
    for i in rows:
        assert all(points[i, a] in within_reach(people, i, a) for a in range(len(CELLS)))
        moves = [
            np.where(np.arange(len(CELLS)) == a, c, points[i])
            for a in range(len(CELLS))
            for c in within_reach(people, i, a)
        ]
        settled += model.scores(np.array(moves, np.uint8)).max() <= after[i] + 1e-9
    assert settled >= 95  # sweeps are few


def test_points_go_to_the_end_of_reach_along_directions_and_stay_if_good_enough(boosted):
    people, model = boosted
    cells, rows = Cells.of(people), np.arange(100)
    trees = trees_of(model, len(CELLS))
    points = best_points(trees, cells, rows, (1, 0, 0, -1), model.base, np.inf)
    np.testing.assert_array_equal(points[:, 0], cells.highest[rows, 0])
    known = cells.home[rows, 3] != MISSING_CELLS[3]
    np.testing.assert_array_equal(points[known, 3], cells.lowest[rows, 3][known])
    np.testing.assert_array_equal(points[~known, 3], MISSING_CELLS[3])
    stay = best_points(trees, cells, rows, (), model.base, -np.inf)
    np.testing.assert_array_equal(stay, cells.home[rows])


def test_directions_are_those_on_which_all_agree(boosted):
    people, model = boosted
    cells = Cells.of(people)
    rules = BoostRules(10, 0.3, 8, 5)
    models = [
        model,
        boost(people, rows_with_points(people, np.random.default_rng(1)), rules, range(10)),
    ]
    trees = [trees_of(one, len(CELLS)) for one in models]
    directions = agreed_directions(trees, cells, (0, 0, 0, -1))
    assert directions[1] == 0 and directions[3] == -1  # categories have none; what is given stays
    for axis in (0, 2):
        known = cells.home[:, axis] != MISSING_CELLS[axis]
        some = np.linspace(0, len(known) - 1, 200).astype(int)
        some = some[known[some]]
        last = CELLS[axis] - 1 - (MISSING_CELLS[axis] >= 0)
        in_reach, in_all = (
            [gain_between(one, cells.home[some], axis, *ends) for one in models]
            for ends in ((cells.lowest[some, axis], cells.highest[some, axis]), (0, last))
        )
        same = np.sign(in_reach[0]) if np.sign(in_reach[0]) == np.sign(in_reach[1]) else 0
        assert directions[axis] == (same if same == np.sign(sum(in_all)) else 0)


def gain_between(model, codes, axis, low, high):
    """How much rows gain by going from some cells of an axis to others, in all."""
    at = np.arange(codes.shape[1]) == axis
    ends = (np.where(at, np.reshape(end, (-1, 1)), codes).astype(np.uint8) for end in (low, high))
    below, above = (model.scores(end).sum() for end in ends)
    return above - below


def test_a_direction_that_turns_out_of_reach_is_none():
    # A score that falls from cell 0 to 1, within reach of everyone, and rises steeply at cell 5.
    rng = np.random.default_rng(6)
    people = people_in_cells(rng, 300)
    cells = Cells.of(people)
    cells.home[:, 0], cells.lowest[:, 0], cells.highest[:, 0] = 0, 0, 1
    last = CELLS[0] - 1
    one = Boosted(0.0)
    for first, gain in ((1, -1.0), (last, 5.0)):
        one.nodes.append(np.array([[0, first, last, 1, 2, 0], [-1] * 6, [-1] * 6], np.int32))
        one.values.append(np.array([0.0, 0.0, gain]))
    falling = Boosted(0.0, one.nodes[:1], one.values[:1])
    trees = [[trees_of(model, len(CELLS))] * 2 for model in (one, falling)]
    assert agreed_directions(trees[0], cells, ()) == ()
    assert agreed_directions(trees[1], cells, ()) == (-1, 0, 0, 0)


def test_the_features_in_focus_lift_most_one_after_the_other(boosted):
    """By hand: every axis beside those chosen, every cell of the axes for every refused person."""
    people, model = boosted
    cells, margin = Cells.of(people), 0.5
    trees = trees_of(model, len(CELLS))
    cooperation = Cooperation(0.1, margin, 1, 1, n_focus=2)
    scores = model.scores(cells.home)
    found, _ = focused([(model.base, trees)], cells, cooperation, scores)
    refused = np.flatnonzero(scores < margin)
    rows = refused[np.linspace(0, len(refused) - 1, min(N_LIFTED, len(refused))).astype(int)]

    def lifted(axes):
        total = 0.0
        for i in rows:
            options = [sorted(within_reach(people, i, axis)) for axis in axes]
            choices = np.array(list(itertools.product(*options)), dtype=cells.home.dtype)
            points = np.repeat(cells.home[i][None], len(choices), axis=0)
            points[:, axes] = choices
            total += min(model.scores(points).max(), margin)
        return total

    first = max(range(len(CELLS)), key=lambda axis: lifted([axis]))
    assert found.focus[0] == first and found.movable.tolist() == list(found.focus)
    # The second is found by ascent along one axis at a time, which need not be the best of pairs.
    pairs = {axis: lifted([first, axis]) for axis in range(len(CELLS)) if axis != first}
    assert pairs[found.focus[1]] >= sorted(pairs.values())[-2]


def test_three_features_in_focus_are_enough_where_they_bring_people_half_of_the_way(boosted):
    people, model = boosted
    cells, scores = Cells.of(people), model.scores(Cells.of(people).home)
    models = [(model.base, trees_of(model, len(CELLS)))]
    outcomes = []
    for margin in (*np.linspace(scores.min() + 0.1, scores.max(), 9), 2 * scores.max()):
        asked = Cooperation(0.1, margin, 1, 1, n_focus=4)
        found, enough = focused(models, cells, asked, scores)
        assert len(found.focus) == (3 if enough else 4)
        three, _ = focused(models, cells, replace(asked, n_focus=3), scores)
        rows = np.flatnonzero(scores < margin)
        points, lifted = cells.home[rows], scores[rows].copy()
        everyone = np.arange(len(rows), dtype=np.uint32)
        for axis in three.focus:
            along = (points, everyone, np.array([axis]), cells.reach(rows), models[0][1], margin, 1)
            lines.ascend(*along, lifted)
        way = margin - scores[rows]
        assert enough == (np.minimum(lifted - scores[rows], way).sum() > 0.5 * way.sum())
        outcomes.append(enough)
    assert len(set(outcomes)) == 2


def test_points_move_only_on_the_axes_in_focus(boosted):
    people, model = boosted
    cells = replace(Cells.of(people), focus=(1,))
    rows = np.arange(100)
    points = best_points(trees_of(model, len(CELLS)), cells, rows, (), model.base, np.inf)
    moved = (points != cells.home[rows]).any(axis=0)
    assert moved[1] and moved.sum() == 1
