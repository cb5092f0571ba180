"""The grower against the objective's definition, at every node, on hundreds of small tables."""

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import GrowRules, People, from_cell_trees, grow_tree, to_cell_trees
from tests.builders import each_seed, random_people
from tests.naive import NaiveObjective


def random_directions(rng, people):
    """1 or -1 for some axes; categories have none."""
    return tuple(0 if table is not None else int(rng.integers(-1, 2)) for table in people.can_enter)


def candidates(people, oracle, leaf, rules):
    """Every split that may compete, in the order of the tie rule."""
    members = oracle.members(leaf)

    def enough(left):
        return min(left.sum(), (~left).sum()) >= rules.min_samples_leaf

    for axis, n_cells in enumerate(people.n_cells):
        values = oracle.cells[axis][members]
        if oracle.categorical[axis]:
            for cell in range(n_cells):
                if enough(values != cell):
                    yield axis, cell
        elif people.missing_cells[axis] >= 0:
            weight, missing = oracle.weights[members], int(people.missing_cells[axis])
            yield from thresholds_with_missing(axis, missing, values, weight, enough)
        else:
            for cell in range(n_cells - 1):
                if enough(values <= cell):
                    yield axis, cell


def thresholds_with_missing(axis, missing, values, weight, enough):
    """People without a value alone, or on either side; on the larger one if there are none."""
    none = not (values == missing).any()
    if not none and enough(values != missing):
        yield axis, (missing - 1, missing, False)
    for missing_left in (True,) if none else (True, False):
        for cell in range(missing - 1):
            left = values <= cell
            if none:
                missing_left = bool(weight[left].sum() >= weight[~left].sum())
            left = left | (missing_left & (values == missing))
            if enough(left):
                yield axis, (cell, missing, missing_left)


def cut_of(tree, people, node):
    """The cell of a split as the oracle takes it."""
    axis, cell = int(tree.axis[node]), int(tree.cell[node])
    missing = int(people.missing_cells[axis])
    return cell if missing < 0 else (cell, missing, bool(tree.missing_left[node]))


def direction_of(directions, axis, cell):
    """That of the axis; known against missing has none."""
    alone = isinstance(cell, tuple) and cell[0] == cell[1] - 1
    return 0 if alone else directions[axis]


def check_against_definition(people, weights, rules):
    """Replay the growth depth first, left first, asking the oracle at every node."""
    tree = grow_tree(people, weights, rules, seed=3)
    oracle = NaiveObjective(people, weights, rules.recourse_weight, rules.cut)
    directions = rules.monotonic or (0,) * len(people.n_cells)
    floor = rules.min_leaf_share
    finished, pending = [], [(0, [], 0, None)]
    while pending:
        node, leaf, depth, frozen = pending.pop()
        label = int(tree.label[node])
        assert frozen in (None, label)
        others = finished + [(path, int(tree.label[k])) for k, path, *_ in pending]
        members = oracle.members(leaf)
        pos = sum(weights[i] for i in members if people.desired[i])
        neg = sum(weights[i] for i in members) - pos
        np.testing.assert_allclose(tree.masses[node], [neg, pos, len(members)])
        assert not label or pos / (pos + neg) >= floor
        is_low = rules.max_depth is not None and depth >= rules.max_depth
        stops = pos == 0 or neg == 0 or is_low
        offers = []
        if not stops:
            for axis, cell in candidates(people, oracle, leaf, rules):
                direction = direction_of(directions, axis, cell)
                pairs = oracle.monotone_pairs(leaf, axis, cell, direction, frozen)
                pairs = oracle.pairs_above(floor, leaf, axis, cell, pairs, frozen)
                if not pairs:
                    continue
                labels, value = oracle.best_labels(others, leaf, axis, cell, pairs)
                if rules.criterion != "error":
                    value = oracle.split_value(others, leaf, axis, cell, labels, rules.criterion)
                offers.append((value, axis, cell, labels))
        axis = int(tree.axis[node])
        if axis >= 0:
            cell = cut_of(tree, people, node)
            left, right = int(tree.left[node]), int(tree.right[node])
            labels = (int(tree.label[left]), int(tree.label[right]))
            chosen = oracle.split_value(others, leaf, axis, cell, labels, rules.criterion)
            assert chosen == pytest.approx(min(offers)[0], abs=1e-9)
            if rules.criterion == "error":
                first = next(o for o in offers if o[0] <= min(offers)[0] + 1e-12)
                assert (axis, cell, labels) == first[1:]
            direction = direction_of(directions, axis, cell)
            kept_l, kept_r = oracle.freezes(leaf, axis, cell, direction, frozen, labels)
            pending.append((right, [*leaf, (axis, cell, True)], depth + 1, kept_r))
            pending.append((left, [*leaf, (axis, cell, False)], depth + 1, kept_l))
        else:
            assert stops or not offers
            finished.append((leaf, label))
    if rules.recourse_weight > 0:
        for i in oracle.people:
            has_recourse = any(label and oracle.attains(i, leaf) for leaf, label in finished)
            assert tree.covered[i] == has_recourse


def random_case(rng, criterion, seed, *, missing=False, **rules):
    """Small people, weights and rules; the seed decides what is in play."""
    people = random_people(rng, missing=missing)
    n = people.cells.shape[1]
    # Weights and recourse weights are binary fractions, so that equal objectives are equal.
    weights = (
        rng.choice([1.0, 0.5, 2.0, 0.0], n, p=[0.7, 0.1, 0.1, 0.1]) if seed % 2 else np.ones(n)
    )
    if not (weights > 0).any():
        weights[0] = 1.0
    rules = GrowRules(
        recourse_weight=float(rng.choice([0.0, 0.25, 0.5, 1.0, 4.0])),
        criterion=criterion,
        max_depth=int(rng.integers(1, 5)) if seed % 3 else None,
        min_samples_leaf=int(rng.choice([1, 1, 2])),
        monotonic=random_directions(rng, people) if seed % 4 == 0 else (),
        **rules,
    )
    return people, weights, rules


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@each_seed(range(160))
def test_every_node_has_the_least_objective(criterion, seed):
    rng = np.random.default_rng([seed, len(criterion)])
    people, weights, rules = random_case(rng, criterion, seed)
    check_against_definition(people, weights, rules)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("floor", [0.25, 0.4, 0.5, 0.7, 1.0])
@each_seed(range(40))
def test_every_node_has_the_least_objective_above_a_floor(criterion, floor, seed):
    rng = np.random.default_rng([seed, len(criterion), int(100 * floor)])
    people, weights, rules = random_case(rng, criterion, seed, min_leaf_share=floor)
    check_against_definition(people, weights, rules)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("cut", [0.25, 0.75])
@pytest.mark.parametrize("floor", ["none", "cut"])
@each_seed(range(30))
def test_every_node_has_the_least_objective_with_a_cut(criterion, cut, floor, seed):
    rng = np.random.default_rng([seed, len(criterion), int(100 * cut)])
    share = cut if floor == "cut" else 0.0
    people, weights, rules = random_case(rng, criterion, seed, cut=cut, min_leaf_share=share)
    check_against_definition(people, weights, rules)
    tree = grow_tree(people, weights, rules)
    if floor == "cut" and not rules.monotonic:  # then labels are the shares', whatever recourse
        shares, known = tree.masses[:, 1], tree.masses[:, 0] + tree.masses[:, 1]
        np.testing.assert_array_equal(tree.label == 1, shares / known >= cut)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("floor", [0.0, 0.4])
@each_seed(range(600), n_quick=40)
def test_every_node_has_the_least_objective_where_values_are_missing(criterion, floor, seed):
    rng = np.random.default_rng([seed, len(criterion), int(100 * floor), 17])
    people, weights, rules = random_case(rng, criterion, seed, missing=True, min_leaf_share=floor)
    check_against_definition(people, weights, rules)


def test_zero_one_loss_tries_the_highest_threshold():
    cells = np.tile(np.arange(4, dtype=np.uint8), 10)[None]
    people = People(cells, cells, cells, np.array([4]), (None,), (cells[0] == 3).astype(np.uint8))
    tree = grow_tree(people, np.ones(40), GrowRules(criterion="error", max_depth=1))
    assert tree.cell[0] == 2 and tree.label[tree.leaves].tolist() == [0, 1]
    assert (tree.masses[tree.leaves, :2].min(axis=1) == 0).all()


def test_a_split_with_too_few_people_does_not_end_a_node():
    """The best split of all parts three people from seven; the best with four on a side is made."""
    cells = np.arange(10, dtype=np.uint8)[None]
    people = People(cells, cells, cells, np.array([10]), (None,), (cells[0] < 3).astype(np.uint8))
    tree = grow_tree(people, np.ones(10), GrowRules(criterion="error", min_samples_leaf=4))
    assert tree.cell[0] == 3 and tree.masses[tree.leaves, 2].tolist() == [4, 6]


@pytest.mark.parametrize("n_desired", [6, 7, 8])
def test_a_share_at_the_floor_is_enough(n_desired):
    """0.07 * 100 is larger than 7 in floating point, 7 / 100 is not larger than 0.07."""
    cells = np.repeat(np.array([[0, 1]], np.uint8), 100, axis=1)
    desired = (np.arange(200) < n_desired).astype(np.uint8)
    people = People(cells, cells, cells, np.array([2]), (None,), desired)
    rules = GrowRules(4.0, min_leaf_share=0.07, max_depth=1)
    tree = grow_tree(people, np.ones(200), rules)
    assert tree.label[tree.leaves].tolist() == [int(n_desired >= 7), 0]


def test_the_root_label_keeps_to_the_floor():
    cells = np.zeros((1, 4), np.uint8)
    people = People(cells, cells, cells, np.array([1]), (None,), np.array([1, 0, 0, 0], np.uint8))
    for floor, label in ((0.0, 1), (0.25, 1), (0.26, 0), (1.0, 0)):
        rules = GrowRules(4.0, min_leaf_share=floor)
        assert grow_tree(people, np.ones(4), rules).label[0] == label


def test_the_root_label_weighs_recourse_against_error():
    cells = np.zeros((1, 4), np.uint8)
    people = People(cells, cells, cells, np.array([1]), (None,), np.array([1, 0, 0, 0], np.uint8))
    for weight, label in ((0.0, 0), (0.25, 0), (0.5, 1), (1.0, 1)):
        assert grow_tree(people, np.ones(4), GrowRules(weight)).label[0] == label


def test_feature_sampling_depends_only_on_the_seed(rng):
    cells = rng.integers(0, 30, (8, 300)).astype(np.uint8)
    desired = rng.integers(0, 2, 300).astype(np.uint8)
    people = People(cells, cells, cells, np.full(8, 30), (None,) * 8, desired)
    trees = [grow_tree(people, np.ones(300), GrowRules(0.0, max_features=2), s) for s in (1, 1, 2)]
    np.testing.assert_array_equal(trees[0].axis, trees[1].axis)
    assert not np.array_equal(trees[0].axis[:20], trees[2].axis[:20])


def test_wide_cells_grow_the_same_tree(rng):
    cells = rng.integers(0, 200, (4, 500))
    desired = rng.integers(0, 2, 500).astype(np.uint8)
    trees = []
    for dtype in (np.uint8, np.uint16):
        c = cells.astype(dtype)
        people = People(c, c, c, np.full(4, 200), (None,) * 4, desired)
        trees.append(grow_tree(people, np.ones(500), GrowRules(0.5)))
    np.testing.assert_array_equal(trees[0].cell, trees[1].cell)


SPACE = ActionSpace(
    [Feature("age", "integer", lower=0, upper=9), Feature("job", "categorical", categories="abc")]
)
AXES = Encoder.of_space(SPACE, ["age", "job"]).axes  # age, job=a, job=b, job=c


def two_trees():
    """Age <= 4 and then job b, and job c alone."""
    return TreeEnsemble(
        feature=np.array([0, 2, -1, -1, -1, 3, -1, -1], np.int32),
        threshold=np.array([4.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]),
        left=np.array([1, 3, -1, -1, -1, 6, -1, -1], np.int32),
        right=np.array([2, 4, -1, -1, -1, 7, -1, -1], np.int32),
        label=np.array([0, 0, 1, 0, 1, 0, 1, 0], np.uint8),
        value=np.array([0.5, 0.2, 0.9, 0.1, 0.8, 0.5, 0.7, 0.3]),
        root=np.array([0, 5], np.int32),
        combine="votes",
        cutoff=2,
        missing_left=np.zeros(8, np.uint8),
    )


def test_trees_come_back():
    trees = two_trees()
    grid = Grid.from_splits(AXES, trees.feature[trees.feature >= 0], np.array([4.0, 0.5, 0.5]))
    first, second = to_cell_trees(trees, grid)
    assert first.axis.tolist() == [0, 1, -1, -1, -1] and first.cell[:2].tolist() == [0, 1]
    assert second.axis.tolist() == [1, -1, -1] and second.cell[0] == 2
    assert second.left.tolist() == [1, -1, -1] and second.label.tolist() == [0, 1, 0]
    again = from_cell_trees([first, second], grid, votes_needed=2)
    for name in ("feature", "threshold", "left", "right", "label", "value", "root"):
        assert np.array_equal(getattr(again, name), getattr(trees, name)), name
        assert getattr(again, name).dtype == getattr(trees, name).dtype, name
    assert again.combine == "votes" and again.cutoff == 2


@pytest.mark.parametrize("order", [[0], [1], [1, 0], [0, 0, 1]])
def test_some_trees_are_walked_as_among_all(order):
    trees, rows = two_trees(), np.array([[a, *job] for a in (3.0, 7.0) for job in np.eye(3)])
    taken = trees.take_trees(order)
    assert np.array_equal(trees.value[trees.apply(rows)][:, order], taken.value[taken.apply(rows)])
    assert taken.n_trees == len(order) and taken.root[0] == 0
