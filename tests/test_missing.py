"""Missing values in training, against brute force over every action on small tables."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from ract import (
    ActionSpace,
    Feature,
    RecourseTreeClassifier,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.costs import PercentileCost, ScaledCost, fit_cost
from ract.data.encoder import Encoder
from ract.data.frames import read_table
from ract.data.grid import Grid
from ract.trees.fingerprint import data_fingerprint
from ract.trees.training import space_for_part
from tests.builders import people_with_missing, rules_with_missing
from tests.naive import flip_cost, percentile_level

MARKS = {
    "NaN": lambda f: f,
    "None": lambda f: f.astype(object).where(f.notna(), None),
    "NA": lambda f: f.convert_dtypes(),
    "categories": lambda f: f.astype({"job": "category"}),
    "polars": lambda f: pl.from_pandas(f),
    "polars NaN": lambda f: pl.from_pandas(f, nan_to_null=False),
    "arrow": lambda f: pa.Table.from_pandas(f),
}


def whole_space():
    """Features whose allowed values can all be listed."""
    return ActionSpace([f for f in rules_with_missing() if f.name != "income"], "yes", limits=None)


# Tables


@pytest.mark.parametrize("mark", MARKS)
def test_every_mark_of_a_missing_value_is_the_same(mark):
    frame, _ = people_with_missing(np.random.default_rng(0), 40)
    marked = MARKS[mark](frame)
    own, other = Encoder(frame, rules_with_missing()), Encoder(marked, rules_with_missing())
    assert own.space == other.space
    assert own.column_names == other.column_names
    assert own.column_names[-1] == "job=missing"
    matrix = own.matrix(frame)
    assert_array_equal(other.matrix(marked), matrix)
    assert_array_equal(np.isnan(matrix[:, :3]), frame.iloc[:, :3].isna())
    assert_array_equal(matrix[:, -1], frame["job"].isna())
    again = other.decode(matrix, marked)
    assert type(again) is type(marked)
    assert_array_equal(other.matrix(again), matrix)
    if isinstance(marked, pd.DataFrame) and mark != "None":
        pd.testing.assert_frame_equal(again, marked)
    if mark != "None":  # a column of mixed objects is read, but has no words of its own
        assert data_fingerprint(marked) == data_fingerprint(frame)


def test_kinds_and_bounds_are_read_off_the_known_values():
    frame, _ = people_with_missing(np.random.default_rng(0), 40)
    found = ActionSpace.infer(frame, fixed=["age"], limits=None)
    assert [f.kind for f in found] == ["integer", "continuous", "binary", "categorical"]
    assert [f.missing for f in found] == ["stays"] * 4
    assert found["age"].upper == frame["age"].max()
    assert found["job"].categories == ("clerk", "cook", "nurse")
    known = ActionSpace.infer(frame.dropna(), fixed=["age"], limits=None)
    assert [f.missing for f in known] == [None] * 4


def test_an_action_file_says_it():
    given = rules_with_missing(supply_cost=0.1)
    text = given.to_toml_text()
    assert 'missing = "supply"\nsupply_cost = 0.1' in text
    assert ActionSpace.from_toml_text(text) == given


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"missing": "never"}, "missing 'never' is not one of 'stays', 'supply'"),
        ({"missing": "supply", "supply_cost": -1}, "supply_cost must be 0 or more, got -1"),
        ({"missing": "stays", "supply_cost": 1}, "supply_cost is for missing 'supply'"),
        ({"supply_cost": 1}, "supply_cost is for missing 'supply', not None"),
        ({"missing": "supply", "supply_cost": float("nan")}, "supply_cost must be finite"),
        ({"missing": "stays", "columns": ("a", "b")}, "which take no missing values"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rules, message):
    with pytest.raises(InvalidSpec, match=message):
        Feature("age", **rules)


def test_bad_tables_are_refused_in_a_sentence():
    frame, target = people_with_missing(np.random.default_rng(0), 30)
    model = RecourseTreeClassifier(rules_with_missing())
    for bad, message in (
        (frame.assign(age=np.nan, job=None), "Nobody has a value in column.* 'age', 'job'"),
        (frame.assign(income=np.inf), "'income' is infinite"),
        (frame.assign(job=frame["job"].astype(object).fillna("nan")), "'job' holds the text 'nan'"),
    ):
        with pytest.raises(InvalidData, match=message):
            model.fit(bad, target)
    grouped = ActionSpace([Feature("group", columns=("age", "member"))], limits=None)
    with pytest.raises(InvalidData, match="One-hot column.* 'age', 'member' have missing values"):
        Encoder(frame, grouped)

    class Own(ScaledCost):
        """A cost that ract does not know."""

    with pytest.raises(InvalidSpec, match="Own takes no missing values"):
        RecourseTreeClassifier(rules_with_missing(), cost=Own()).fit(frame, target)


def test_a_category_called_nan_is_one_where_it_was_listed_or_real_ones_are_marked():
    words = pd.DataFrame({"job": ["nan", "cook", None]})
    assert Encoder(words).column_names == ("job=cook", "job=nan", "job=missing")
    listed = ActionSpace([Feature("job", "categorical", categories=("nan", "cook"))], limits=None)
    assert Encoder(words.dropna(), listed).column_names == ("job=nan", "job=cook")


# Costs


def median_of_changes(costs):
    """The lower median of the costs of pairs of people whose values differ."""
    costs = sorted(costs)
    return costs[(len(costs) + 1) // 2 - 1]


def test_handing_in_a_value_costs_a_usual_change_of_it():
    frame, _ = people_with_missing(np.random.default_rng(3), 30)
    encoder = Encoder(frame, rules_with_missing())
    columns = list(encoder.matrix(frame).T)
    cost = fit_cost(
        "percentile", columns, encoder.weights, exact=True, missing=encoder.missing_cells
    )
    ages, jobs = frame["age"].dropna().tolist(), frame["job"].dropna().tolist()
    level = {age: percentile_level(ages, age) for age in ages}
    flip = {job: flip_cost([float(other == job) for other in jobs]) for job in jobs}
    of_age = [abs(level[a] - level[b]) for a, b in itertools.combinations(ages, 2) if a != b]
    of_job = [max(flip[a], flip[b]) for a, b in itertools.combinations(jobs, 2) if a != b]
    prices = {s.columns: s.cost for s in cost.supply}
    assert prices[0,] == pytest.approx(median_of_changes(of_age))
    assert prices[2,] == 0.2
    assert prices[3, 4, 5, 6] == pytest.approx(median_of_changes(of_job))


def test_a_declared_price_is_times_the_weight_and_actions_add_up():
    frame, _ = people_with_missing(np.random.default_rng(3), 60)
    rules = ActionSpace(
        [Feature("age", missing="supply", supply_cost=0.3, weight=2.0)], limits=None
    )
    encoder = Encoder(frame, rules)
    matrix = encoder.matrix(frame)
    options = {"exact": True, "missing": encoder.missing_cells}
    highest, total = (
        fit_cost(name, list(matrix.T), encoder.weights, **options) for name in ("range", "l1")
    )
    start = matrix[[0, 0]].copy()
    start[:, 0], start[:, 1] = np.nan, 0.0
    stop = start.copy()
    stop[0, 0], stop[:, 1] = 3.0, 1.0
    moved = 1.0 / np.ptp(frame["income"].dropna())
    np.testing.assert_allclose(total.between(start, stop), [0.6 + moved, moved])
    np.testing.assert_allclose(highest.between(start, stop), [max(0.6, moved), moved])
    ages = np.sort(frame["age"].dropna())
    assert highest.supply[0].middle == ages[(len(ages) - 1) // 2]


def test_costs_without_missing_values_are_what_they_were():
    values = np.random.default_rng(0).normal(size=70)
    assert PercentileCost().fit([values], np.ones(1)).supply == ()


# Cells, prices and reach


def options_of(feature, own, known, budget):
    """Every value that a person may have of a feature within a budget, None for a missing one."""
    known = [value for value in known if value is not None]
    if feature.is_categorical:
        values = list(feature.categories)
        flip = {v: flip_cost([float(other == v) for other in known]) for v in values}
        place = {v: k for k, v in enumerate(values)}

        def cost(one, other):
            return max(flip[one], flip[other])
    else:
        values = [float(v) for v in range(int(feature.lower), int(feature.upper) + 1)]
        level = {v: percentile_level(known, v) for v in {*values, *known}}
        place = {v: v for v in level}

        def cost(one, other):
            return abs(level[one] - level[other])

    if own is None:
        if not feature.may_supply:
            return [None]
        pairs = [cost(a, b) for a, b in itertools.combinations(known, 2) if a != b]
        price = median_of_changes(pairs) if feature.supply_cost is None else feature.supply_cost
        return [None, *(values if price <= budget else [])]
    may = {True: feature.may_rise, False: feature.may_fall}
    return [own] + [
        v for v in values if v != own and may[place[v] > place[own]] and cost(own, v) <= budget
    ]


@pytest.mark.parametrize("seed", range(6))
def test_training_knows_exactly_who_has_recourse(seed):
    rng = np.random.default_rng(seed)
    frame, target = people_with_missing(rng, 40)
    frame, budget = frame.drop(columns="income"), float(rng.choice([0.2, 0.35, 0.6]))
    rules = whole_space()
    if seed % 2:
        rules = ActionSpace(
            [*(f for f in rules if f.name != "age"), Feature("age")], "yes", limits=None
        )
    tree = RecourseTreeClassifier(
        rules,
        budget=budget,
        recourse_weight=0.2,
        min_samples_leaf=2,
        cost=PercentileCost(exact=True),
    ).fit(frame, target)
    people = [
        [None if pd.isna(v) else v for v in row] for row in frame.itertuples(index=False, name=None)
    ]
    known, features = list(zip(*people, strict=True)), [tree.encoder_.space[n] for n in frame]
    has_recourse = []
    for person in people:
        each = [
            options_of(feature, own, column, budget + 1e-12)
            for feature, own, column in zip(features, person, known, strict=True)
        ]
        actions = pd.DataFrame(list(itertools.product(*each)), columns=frame.columns)
        actions = actions.astype({"age": float, "member": float, "job": object})
        has_recourse.append((tree.predict(actions) == "yes").any())
    assert_array_equal(tree.desired_reached(frame) > 0, has_recourse)
    assert tree.recourse_risk_ == pytest.approx(1 - np.mean(has_recourse))


def test_missing_people_have_the_last_cell_and_only_what_they_may_hand_in():
    frame, _ = people_with_missing(np.random.default_rng(4), 80)
    rules = ActionSpace(
        [*(f for f in rules_with_missing(upper=3) if f.name != "income"), Feature("income")],
        limits=None,
    )
    encoder = Encoder(frame, rules)
    columns = encoder.encode(frame)
    cost = fit_cost(
        "percentile", columns, encoder.weights, exact=True, missing=encoder.missing_cells
    )
    grid = Grid.from_columns(encoder.axes, columns)
    assert_array_equal(grid.missing_cell, grid.n_cells - 1)
    cells = grid.cells(columns)
    for a, axis in enumerate(encoder.axes):
        assert_array_equal(cells[a] == grid.missing_cell[a], frame[axis.feature.name].isna())
    prices = grid.price(cost)
    reach = prices.reach(columns, cells, budget=1.0)
    age, income = 0, 1
    missing = frame["age"].isna().to_numpy()
    assert set(reach.lowest[age, missing]) == {0}
    assert set(reach.highest[age, missing]) == {3}
    assert (reach.highest[age, ~missing] < grid.missing_cell[age]).all()
    assert set(reach.lowest[income, frame["income"].isna()]) == {grid.missing_cell[income]}
    person = encoder.matrix(frame)[int(np.flatnonzero(missing & frame["income"].isna())[0])]
    costs, values = prices.of_person(person)
    n, price = grid.missing_cell[age], cost.supply[0].cost
    assert_array_equal(costs[age, : n + 1], [price] * 4 + [np.inf] * (n - 4) + [0.0])
    assert_array_equal(values[age, :4], [0, 1, 2, 3])
    assert (costs[income, : grid.missing_cell[income]] == np.inf).all()
    with_age = encoder.matrix(frame)[int(np.flatnonzero(~missing)[0])]
    assert prices.of_person(with_age)[0][age, n] == np.inf


def test_the_missing_cell_counts_among_the_most_cells():
    values = np.append(np.arange(600.0) / 7, np.nan)[:, None]
    encoder = Encoder(values)
    grid = Grid.from_columns(encoder.axes, encoder.encode(values), max_cells=256)
    assert grid.n_cells[0] == 256
    assert grid.dtype == np.uint8


def test_a_part_of_the_people_may_have_no_value_of_a_feature():
    frame, _ = people_with_missing(np.random.default_rng(0), 40)
    part = frame.iloc[:5].assign(age=np.nan, income=np.nan, job=None)
    whole_table, part_table = read_table(frame), read_table(part)
    for rules in (None, rules_with_missing()):
        found = space_for_part(rules, whole_table, part_table)
        assert found["age"].upper == frame["age"].max()
        assert [f.missing for f in Encoder(part, found).space] == [f.missing for f in found]
        columns = Encoder(part, found).encode(part)
        cells = Encoder(part, found).missing_cells
        cost = fit_cost("percentile", columns, np.ones(len(columns)), exact=True, missing=cells)
        grid = Grid.from_columns(Encoder(part, found).axes, columns)
        assert (grid.cells(columns)[0] == grid.missing_cell[0]).all()
        assert grid.price(cost).of_person(np.array([c[0] for c in columns]))[0].min() == 0.0
