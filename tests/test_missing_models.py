"""Trees of people with missing values: leaves attained, files, exports, words."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.data.grid import Grid
from ract.evaluation.text import export_text
from ract.io.checked import checked_cost
from ract.io.decider import read_decider
from ract.io.export import to_json, to_onnx, to_sklearn
from ract.trees.cover import Attainment, exact_cover, flip_costs, own_leaves
from ract.trees.fingerprint import cost_parts, model_fingerprint
from ract.trees.grower import GrowRules, from_cell_trees, grow_tree, to_cell_trees
from ract.trees.training import people_on
from tests.builders import people_with_missing, random_people, rules_with_missing
from tests.naive import goes_right, reachable_points


def test_undeclared_missing_values_are_decided_on_and_refused_for_recourse():
    frame, target = people_with_missing(np.random.default_rng(1), 200, share=0.0)
    models = [
        RecourseTreeClassifier(rules_with_missing(), min_samples_leaf=5),
        RecourseForestClassifier(rules_with_missing(), n_estimators=5, random_state=0),
    ]
    for model in models:
        plain = ActionSpace(
            [Feature(f.name, change=f.change) for f in rules_with_missing()], "yes", limits=None
        )
        model.set_params(actions=plain).fit(frame, target)
        holes = frame.mask(np.random.default_rng(2).random(frame.shape) < 0.4)
        matrix = model.encoder_.matrix(holes, undeclared=True)
        leaves = model.ensemble_.apply(matrix)
        assert_array_equal(leaves, walked(model, matrix))
        with pytest.raises(InvalidData, match="'age', 'income', 'member', 'job' have missing val"):
            model.recourse_risk(holes)


def walked(model, matrix):
    """Leaves by the larger side at each split, counted on the training people's weights."""
    trees = model.ensemble_
    out = np.empty((len(matrix), trees.n_trees), int)
    for i, t in itertools.product(range(len(matrix)), range(trees.n_trees)):
        node = trees.root[t]
        while trees.feature[node] >= 0:
            x = matrix[i, trees.feature[node]]
            left = x <= trees.threshold[node] or (np.isnan(x) and trees.missing_left[node] == 1)
            node = (trees.left if left else trees.right)[node]
        out[i, t] = node
    return out


def test_a_value_that_training_never_missed_takes_the_larger_side():
    frame, target = people_with_missing(np.random.default_rng(1), 200, share=0.0)
    model = RecourseTreeClassifier(desired=True, min_samples_leaf=5).fit(frame, target == "yes")
    leaves, trees = model.apply(frame), model.ensemble_
    for node in np.flatnonzero(trees.feature >= 0):
        below = [
            sum(leaf == child or on_path(trees, leaf, child) for leaf in leaves)
            for child in (trees.left[node], trees.right[node])
        ]
        assert trees.missing_left[node] == (below[0] >= below[1])


def on_path(trees, node, ancestor):
    while node >= 0:
        node = trees.parent[node]
        if node == ancestor:
            return True
    return False


# Trees


@pytest.mark.parametrize("seed", range(40))
def test_who_attains_which_leaf_by_enumeration(seed):
    rng = np.random.default_rng([seed, 5])
    people = random_people(rng, missing=True)
    n = people.cells.shape[1]
    tree = grow_tree(people, np.ones(n), GrowRules(float(rng.choice([0.0, 0.5])), max_depth=4))
    attainment = Attainment(tree, people)
    small = [array.astype(int) for array in (people.cells, people.lowest, people.highest)]
    expected = [
        {leaf_of(tree, people, point) for point in reachable_points(
            *small, people.can_enter, i, people.missing_cells)}
        for i in range(n)
    ]  # fmt: skip
    for part, start, leaves in attainment.leaves(np.arange(n)):
        found = [set(leaves[start[k] : start[k + 1]].tolist()) for k in range(len(part))]
        assert found == expected
    for leaf in tree.leaves:
        who = attainment.who_attains(int(leaf), np.arange(n))
        assert_array_equal(who, [leaf in attained for attained in expected])
    own = [leaf_of(tree, people, people.cells[:, i].astype(int)) for i in range(n)]
    assert_array_equal(own_leaves(tree, people), own)


def leaf_of(tree, people, point):
    node = 0
    while tree.axis[node] >= 0:
        axis, cell = int(tree.axis[node]), int(tree.cell[node])
        missing = int(people.missing_cells[axis])
        if missing >= 0:
            cell = (cell, missing, bool(tree.missing_left[node]))
        right = goes_right(people.can_enter[axis] is not None, point[axis], cell)
        node = int(tree.right[node] if right else tree.left[node])
    return node


def test_relabelling_covers_people_without_values_too():
    frame, target = people_with_missing(np.random.default_rng(6), 80)
    tree = RecourseTreeClassifier(
        rules_with_missing(),
        min_recourse=0.95,
        recourse_weight=0,
        min_samples_leaf=5,
        relabelling="exact",
    ).fit(frame, target)
    assert tree.recourse_risk_ <= 0.05
    assert tree.recourse_risk(frame) == pytest.approx(tree.recourse_risk_)


def test_cells_and_values_lead_to_the_same_leaves():
    frame, target = people_with_missing(np.random.default_rng(7), 150)
    tree = RecourseTreeClassifier(rules_with_missing(), recourse_weight=0.1, min_samples_leaf=3)
    tree.fit(frame, target)
    trees, matrix = tree.ensemble_, tree.encoder_.matrix(frame)
    grid = Grid.from_splits(tree.encoder_.axes, trees.feature, trees.threshold)
    (in_cells,) = to_cell_trees(trees, grid)
    desired = np.zeros(len(frame), np.uint8)
    people = people_on(grid, tree.cost_, list(matrix.T), desired, 0.3, with_reach=False)
    assert_array_equal(own_leaves(in_cells, people), trees.apply(matrix)[:, 0])
    assert_array_equal(trees.apply(matrix), walked(tree, matrix))
    again = from_cell_trees([in_cells], grid, 1)
    assert_array_equal(again.apply(matrix), trees.apply(matrix))


def test_missing_people_part_from_all_others_where_that_says_most():
    rng = np.random.default_rng(8)
    x = rng.normal(size=200)
    missing = rng.random(200) < 0.3
    X = np.where(missing, np.nan, x)[:, None]
    plain = {"max_depth": 1, "recourse_weight": 0, "min_samples_leaf": 1}
    tree = RecourseTreeClassifier(desired=1, **plain).fit(X, missing.astype(int))
    assert tree.score(X, missing.astype(int)) == 1.0
    assert tree.ensemble_.threshold[0] == np.inf
    assert export_text(tree).splitlines()[0] == "|--- x0 is known"
    assert export_text(tree).splitlines()[2] == "|--- x0 is missing"
    low = RecourseTreeClassifier(desired=1, **plain).fit(X, (missing | (x < 0)).astype(int))
    assert low.ensemble_.missing_left[0] == 1
    assert export_text(low, decimals=0).splitlines()[0].endswith("0 or missing")


def test_monotone_features_with_missing_values():
    rng = np.random.default_rng(9)
    frame, target = people_with_missing(rng, 300)
    forest = RecourseForestClassifier(
        rules_with_missing(), n_estimators=7, monotonic={"age": 1, "income": 1}, random_state=0
    ).fit(frame, target)
    people = frame.iloc[rng.choice(300, 60)]
    for name, steps in (("age", range(5)), ("income", np.linspace(-2, 2, 9))):
        votes = np.array([forest.predict_proba(people.assign(**{name: v}))[:, 1] for v in steps])
        assert (np.diff(votes, axis=0) >= 0).all()


# Files and exports


@pytest.fixture(scope="module")
def fitted():
    frame, target = people_with_missing(np.random.default_rng(10), 250)
    numbers = frame.drop(columns="job")
    rules = rules_with_missing()
    only_numbers = ActionSpace([f for f in rules if f.name != "job"], "yes", limits=None)
    return frame, {
        "tree": RecourseTreeClassifier(rules_with_missing(), recourse_weight=0.1).fit(
            frame, target
        ),
        "forest": RecourseForestClassifier(
            rules, n_estimators=6, recourse_weight=0.1, random_state=0
        ).fit(frame, target),
        "numbers": RecourseForestClassifier(
            only_numbers, n_estimators=6, min_samples_leaf=1, random_state=0
        ).fit(numbers, target),
    }


@pytest.mark.parametrize("kind", ["tree", "forest", "numbers"])
def test_files_keep_everything(fitted, kind, tmp_path):
    frame, models = fitted
    model = models[kind]
    frame = frame[list(model.feature_names_in_)]
    save_model(model, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    assert again.encoder_.space == model.encoder_.space
    assert again.cost_.supply == model.cost_.supply
    assert model_fingerprint(again) == model_fingerprint(model)
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    classes, share = read_decider(tmp_path / "model.ract").decide(frame)
    assert_array_equal(classes, model.predict(frame))
    assert_array_equal(share, model.predict_proba(frame)[:, 1])


def test_the_fingerprint_counts_where_missing_values_go(fitted):
    model = fitted[1]["tree"]
    before, trees = model_fingerprint(model), model.ensemble_
    model.ensemble_ = replace(trees, missing_left=1 - trees.missing_left)
    after = model_fingerprint(model)
    model.ensemble_ = trees
    assert before != after
    assert before == model_fingerprint(model)


def test_exports_decide_alike(fitted):
    frame, models = fitted
    model, numbers = models["numbers"], frame.drop(columns="job")
    assert np.isinf(model.ensemble_.threshold).any()
    assert_array_equal(to_sklearn(model).predict(numbers), model.predict(numbers))
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    inputs = {name: numbers[[name]].to_numpy(np.float64) for name in numbers}
    assert_array_equal(session.run(["label"], inputs)[0], model.predict(numbers))
    for export in (to_sklearn, to_onnx):
        with pytest.raises(InvalidSpec, match="Categories are missing in 'job'"):
            export(models["forest"])


@pytest.mark.parametrize("kind", ["forest", "numbers"])
def test_json_can_be_walked(fitted, kind):
    frame, models = fitted
    model = models[kind]
    document = json.loads(json.dumps(to_json(model), allow_nan=False))
    assert document["version"] == 2
    people = frame[list(model.feature_names_in_)].astype(object)
    people = people.where(people.notna(), None).to_dict("records")
    decided = [
        sum(walk_json(document, nodes, person) for nodes in document["trees"]) >= 4
        for person in people
    ]
    assert_array_equal(model.predict(frame[list(model.feature_names_in_)]) == "yes", decided)


def walk_json(document, nodes, person):
    node = nodes[0]
    while "column" in node:
        column = document["columns"][node["column"]]
        value = person[column["column"]]
        if "is" in column:
            value = float(value == column["is"])
        if value is None:
            answer = node["missing"]
        else:
            within = node["at_most"] is None or value <= node["at_most"]
            answer = "yes" if within else "no"
        node = nodes[node[answer]]
    return node["vote"]


def test_files_with_a_wrong_price_are_refused(fitted):
    model = fitted[1]["tree"]
    parts = cost_parts(model.cost_)
    for wrong in ([], [parts.meta["supply"][0]], [{"columns": [0], "cost": -1.0, "middle": 0.0}]):
        with pytest.raises(InvalidFile, match="cost has no price|supplying a value costs"):
            checked_cost(parts.meta | {"supply": wrong}, parts.arrays, model.encoder_)


def test_cover_is_exact_where_values_are_missing():
    rng = np.random.default_rng(12)
    people = random_people(rng, missing=True)
    n = people.cells.shape[1]
    tree = grow_tree(people, np.ones(n), GrowRules(max_depth=3))
    tree = replace(tree, masses=tree.masses * [1, 0, 1] + [0.5, 0, 0])  # every flip has a cost
    attainment, nothing = Attainment(tree, people), np.zeros(len(tree.axis), np.uint8)
    cover = exact_cover(attainment, np.ones(n), nothing, 0.0)
    costs, leaves = flip_costs(tree), tree.leaves
    reached = np.array([attainment.who_attains(int(leaf), np.arange(n)) for leaf in leaves])
    best = min(
        costs[leaves[list(chosen)]].sum()
        for k in range(1, len(leaves) + 1)
        for chosen in itertools.combinations(range(len(leaves)), k)
        if reached[list(chosen)].any(axis=0).all()
    )
    assert cover.cost == pytest.approx(best)
