"""What several tests build on: random tables, models and problems, and checks of actions.

Everything random comes from the generator that is passed in, so a seed gives the same case again.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
)
from ract.data.costs import fit_cost, make_cost, within
from ract.data.effects import CausalEffects
from ract.data.encoder import Encoder
from ract.io.load import from_bytes
from ract.io.save import model_bytes
from ract.trees.booster import CellRows
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import People
from tests import naive

KINDS = ["continuous", "integer", "binary", "categorical"]
WHOLE_KINDS = ["integer", "integer", "binary", "categorical"]
MOSTLY_REAL_KINDS = ["continuous"] * 3 + WHOLE_KINDS
CHANGES = ["any", "any", "increase", "decrease", "fixed"]


def quick_of(n_quick, numbers):
    """Numbers to parametrize with: the first few always, the rest only with ``make test-slow``."""
    rest = (pytest.param(number, marks=pytest.mark.slow) for number in numbers[n_quick:])
    return [*numbers[:n_quick], *rest]


def each_seed(seeds, n_quick=None):
    """Run a test with every seed; all but the first few only with ``make test-slow``.

    They are one test together: pytest takes longer over a test than most small cases do.
    """
    n_quick = len(seeds) if n_quick is None else n_quick
    quick, slow = seeds[:n_quick], seeds[n_quick:]
    parts = [pytest.param(quick, id=f"{quick[0]}-{quick[-1]}")]
    if slow:
        parts += [pytest.param(slow, id=f"{slow[0]}-{slow[-1]}", marks=pytest.mark.slow)]

    def decorate(test):
        @functools.wraps(test)
        def run(*, seeds, **given):
            for seed in seeds:
                try:
                    test(seed=seed, **given)
                except BaseException as error:
                    error.add_note(f"This is the case of seed {seed}.")
                    raise

        signature = inspect.signature(test)
        names = ["seeds" if name == "seed" else name for name in signature.parameters]
        taken = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
        run.__signature__ = signature.replace(parameters=taken)
        return pytest.mark.parametrize("seeds", parts)(run)

    return decorate


# Tables


def random_table(rng, n, kinds=KINDS, n_features=(1, 3)):
    """A table of n people with a few features of some kinds, and an action space."""
    data, features = {}, []
    for k in range(int(rng.integers(*n_features, endpoint=True))):
        kind = rng.choice(kinds)
        change, weight = rng.choice(CHANGES), float(rng.choice([1.0, 1.0, 0.5, 2.0]))
        bounds = {}
        if kind == "continuous":
            column = np.round(rng.normal(size=n), 1)
        elif kind == "integer":
            column = rng.integers(0, 7, n)
        elif kind == "binary":
            column = rng.permutation(np.append(rng.integers(0, 2, n - 2), [0, 1]))
        else:
            column = np.array(["u", "v", "w", "z"])[rng.permutation(np.arange(n) % 4)]
            bounds = {"categories": np.unique(column)}
        if kind in ("continuous", "integer") and rng.random() < 0.4:
            bounds = dict(zip(("lower", "upper"), np.sort(rng.choice(column, 2)), strict=True))
        data[f"f{k}"] = column
        features.append(Feature(f"f{k}", kind, change, weight=weight, **bounds))
    return pd.DataFrame(data), ActionSpace(features, limits=None)


def with_limits(rng, frame, actions):
    """The same rules, with limits on how far most numbers may move."""
    features = []
    for feature in actions:
        if feature.kind in ("continuous", "integer") and rng.random() < 0.9:
            limits = {}
            if rng.random() < 0.6:
                limits["max_change"] = float(rng.choice([0.0, 0.3, 1.0, 2.0, 2.5, np.inf]))
            if not limits or rng.random() < 0.6:
                limits["max_relative"] = float(rng.choice([0.0, 0.2, 0.5, 0.29, 2.0]))
            feature = dataclasses.replace(feature, **limits)
        features.append(feature)
    return ActionSpace(features, limits=None).complete(frame)


def _meets(feature, values):
    """Whether some value may be within the bounds, which a space is refused without."""
    lower, upper = feature.bounds
    return values.min() <= upper and values.max() >= lower


def with_holes(rng, frame, actions):
    """The same table with missing values in most columns, and rules for those without one."""
    frame, features = frame.copy(), []
    for feature in actions:
        if rng.random() < 0.8:
            missing = rng.random(len(frame)) < rng.choice([0.15, 0.4])
            missing[rng.choice(len(frame), 4, replace=False)] = False
            kept = frame[feature.name]
            seen = set(kept[~missing]) == set(kept)  # every category, 0 and 1 are still there
            is_number = feature.kind in ("continuous", "integer")
            if seen or (is_number and _meets(feature, kept[~missing])):
                frame[feature.name] = kept.astype(object).where(~missing, None)
                if feature.kind != "categorical":
                    frame[feature.name] = frame[feature.name].astype(float)
                rule = "supply" if rng.random() < 0.6 else "stays"
                price = float(rng.choice([0.0, 0.2, 0.45])) if rule == "supply" else None
                feature = dataclasses.replace(feature, missing=rule, supply_cost=price)
        features.append(feature)
    return frame, ActionSpace(features, limits=None)


def credit_with_holes(n, seed):
    """People whose income, savings and job are sometimes not known, and who was accepted."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": np.round(rng.lognormal(3.5, 0.5, n), 1),
            "savings": rng.integers(0, 60, n).astype(float),
            "job": rng.choice(["clerk", "cook", "judge"], n),
            "age": np.round(rng.uniform(18, 80, n), 2),
        }
    )
    score = frame["income"] + frame["savings"] + 25 * (frame["job"] == "judge") - 0.2 * frame["age"]
    good = (score + rng.normal(0, 5, n) > 60).to_numpy()
    frame.loc[rng.random(n) < 0.3, "income"] = np.nan
    frame.loc[rng.random(n) < 0.2, "savings"] = np.nan
    frame.loc[rng.random(n) < 0.2, "job"] = None
    return frame, np.where(good, "yes", "no")


SUPPLYING = ActionSpace(
    [
        Feature("income", change="increase", missing="supply", supply_cost=0.1),
        Feature("savings", change="any"),
        Feature("job", missing="supply", supply_cost=0.15),
        Feature("age", change="fixed"),
    ],
    desired="yes",
    limits=None,
)


def people_with_missing(rng, n, share=0.25):
    """People with whole numbers, a number, a truth and a word, each missing for some."""
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 5, n),
            "income": np.round(rng.normal(size=n), 1),
            "member": rng.integers(0, 2, n),
            "job": rng.choice(["clerk", "cook", "nurse"], n),
        }
    )
    target = (frame["age"] / 2 + frame["income"] + (frame["job"] == "cook") > 1).to_numpy()
    frame = frame.mask(rng.random(frame.shape) < share)
    frame = frame.astype({"age": float, "income": float, "member": float})
    return frame, np.where(target ^ (rng.random(n) < 0.1), "yes", "no")


def rules_with_missing(**of_age):
    """What they may change, and supply where it is missing."""
    return ActionSpace(
        [
            Feature("age", change="increase", missing="supply", **of_age),
            Feature("income"),
            Feature("member", change="fixed", missing="supply", supply_cost=0.2),
            Feature("job", missing="supply"),
        ],
        desired="yes",
        limits=None,
    )


def random_people(rng, *, missing=False):
    """A few binned people as the grower takes them: ties, one-way and fixed axes, categories.

    missing: whether values of most ordinal axes are missing, which some of them allow to supply.
    """
    n, n_axes = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    cells, lowest, highest, n_cells, can_enter = [], [], [], [], []
    for _ in range(n_axes):
        c = int(rng.integers(2, 5))
        column = rng.integers(0, c, n)
        n_cells.append(c)
        cells.append(column)
        if rng.random() < 0.35:
            table = rng.random((c, c)) < rng.choice([0.0, 0.4, 1.0])
            np.fill_diagonal(table, True)
            can_enter.append(table)
            lowest.append(column)
            highest.append(column)
        else:
            down, up = rng.choice([[0, 0], [0, 2], [2, 0], [1, 1], [3, 3]])
            can_enter.append(None)
            lowest.append(np.maximum(column - rng.integers(0, down + 1, n), 0))
            highest.append(np.minimum(column + rng.integers(0, up + 1, n), c - 1))
    desired = rng.integers(0, 2, n).astype(np.uint8)
    as_cells = [np.array(v, dtype=np.uint8) for v in (cells, lowest, highest)]
    people = People(*as_cells, np.array(n_cells), tuple(can_enter), desired)
    return with_missing_cells(rng, people) if missing else people


def with_missing_cells(rng, people):
    """The same people, some of them without a value on some ordinal axes."""
    n_cells, missing = people.n_cells.copy(), np.full(len(people.n_cells), -1)
    for a, table in enumerate(people.can_enter):
        if table is not None or rng.random() < 0.2:
            continue
        missing[a], n_cells[a] = n_cells[a], n_cells[a] + 1
        who = rng.random(people.cells.shape[1]) < rng.choice([0.0, 0.2, 0.5])
        ends = np.sort(rng.integers(0, missing[a], 2)) if rng.random() < 0.6 else [missing[a]] * 2
        people.cells[a, who], people.lowest[a, who], people.highest[a, who] = missing[a], *ends
    return dataclasses.replace(people, n_cells=n_cells, missing=missing)


# Models


def voting_trees(feature, threshold, left, right, label, root=(0,), votes_needed=1):
    """Trees that vote with their labels, from lists; a leaf has feature, left and right -1."""
    return TreeEnsemble(
        np.array(feature, np.int32),
        np.array(threshold, float),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(label, np.uint8),
        np.zeros(len(feature)),
        np.array(root, np.int32),
        "votes",
        votes_needed,
    )


def stump_on(column, threshold):
    """A tree that accepts whoever has a column above a threshold; leaf values equal labels."""
    stump = voting_trees([column, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1])
    return dataclasses.replace(stump, value=np.array([0.5, 0.0, 1.0]))


def random_ensemble(rng, matrix, n_trees):
    """Voting trees with random splits near the data, with ties and useless splits."""
    feature, threshold, left, right, label, root = [], [], [], [], [], []

    def grow(depth):
        node = len(feature)
        for array, value in zip(
            (feature, threshold, left, right, label),
            (-1, 0.0, -1, -1, int(rng.random() < 0.4)),
            strict=True,
        ):
            array.append(value)
        if depth < 3 and rng.random() < 0.8:
            j = int(rng.integers(matrix.shape[1]))
            column = matrix[:, j]
            if set(np.unique(column)) <= {0.0, 1.0}:
                cut = 0.5
            else:
                cut = float(
                    rng.choice([rng.choice(column), rng.uniform(column.min(), column.max())])
                )
            feature[node], threshold[node] = j, cut
            left[node] = grow(depth + 1)
            right[node] = grow(depth + 1)
        return node

    for _ in range(n_trees):
        root.append(grow(0))
    votes_needed = int(rng.integers(1, n_trees + 1))
    return voting_trees(feature, threshold, left, right, label, root, votes_needed)


def with_random_values(rng, ensemble, combine):
    """The same trees deciding by the mean or sum of values: few different ones, hence ties."""
    values = rng.choice([rng.random(4), np.array([0.1, 0.3, 0.5, 0.9]), rng.normal(size=4)])
    value = rng.choice(values, len(ensemble.feature))
    base = float(rng.choice([0.0, rng.normal()])) if combine == "sum" else 0.0
    valued = dataclasses.replace(
        ensemble, value=value, combine=combine, base=base, single=bool(rng.random() < 0.3)
    )
    if combine == "mean":
        valued = dataclasses.replace(valued, single=False)
        if rng.random() < 0.4:  # the class with the larger sum wins
            cutoff = float(rng.choice([0.5, np.nextafter(0.5, 1)]))
            share = np.round(rng.random(4), 1)[rng.integers(0, 4, len(value))]
            return dataclasses.replace(valued, value=share, against=1 - share, cutoff=cutoff)
    points = valued.score(
        rng.choice([-1.0, 0.0, 0.5, 1.0, 3.0], (40, int(ensemble.feature.max()) + 1))
    )
    return dataclasses.replace(valued, cutoff=float(rng.choice(points)))


def some_trees(ensemble, kept, votes_needed):
    """An ensemble of the trees that are kept, with nodes of its own."""
    ends = np.append(ensemble.root[1:], len(ensemble.feature))
    rows, root, n = [], [], 0
    for first, last, keep in zip(ensemble.root, ends, kept, strict=True):
        if keep:
            rows.append(np.arange(first, last))
            root.append(n)
            n += last - first
    rows = np.concatenate(rows)
    position = np.full(len(ensemble.feature) + 1, -1)  # the last stands for no child
    position[rows] = np.arange(len(rows))
    return voting_trees(
        ensemble.feature[rows],
        ensemble.threshold[rows],
        position[ensemble.left[rows]],
        position[ensemble.right[rows]],
        ensemble.label[rows],
        root,
        votes_needed,
    )


# Problems: an encoder, the encoded table, a model and a cost


def random_problem(rng, combine="votes", kinds=KINDS, cost="percentile", n_features=(1, 3)):
    """A small table with a random model and a fitted cost: (encoder, matrix, ensemble, cost)."""
    frame, actions = random_table(rng, int(rng.integers(8, 20)), kinds, n_features)
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = random_ensemble(rng, matrix, int(rng.integers(1, 9)))
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    return encoder, matrix, ensemble, make_cost(cost).fit(matrix.T, encoder.weights)


def random_problem_with_holes(rng, combine="votes", kinds=KINDS, n_features=(1, 3), n_trees=8):
    """A problem as above, of which values are missing; trees send people without one anywhere."""
    whole, actions = random_table(rng, int(rng.integers(10, 20)), kinds, n_features)
    frame, actions = with_holes(rng, whole, actions)
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = random_ensemble_with_holes(rng, matrix, n_trees)
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    cost = fit_cost("percentile", matrix.T, encoder.weights, exact=True,
                    missing=encoder.missing_cells)  # fmt: skip
    return encoder, matrix, ensemble, cost


def random_ensemble_with_holes(rng, matrix, n_trees):
    """Voting trees that send people without a value left or right, or part them from others."""
    middle = np.where(np.isnan(matrix), np.nanmedian(matrix, axis=0), matrix)
    ensemble = random_ensemble(rng, middle, int(rng.integers(1, n_trees + 1)))
    number = ~np.isin(middle, (0.0, 1.0)).all(axis=0)
    apart = (ensemble.feature >= 0) & number[ensemble.feature]
    apart &= rng.random(len(apart)) < 0.1
    return dataclasses.replace(
        ensemble,
        threshold=np.where(apart, np.inf, ensemble.threshold),
        missing_left=(rng.random(len(ensemble.feature)) < 0.5).astype(np.uint8),
    )


def random_causal_problem(rng, kinds=MOSTLY_REAL_KINDS):
    """A random problem of two to four features, with random effects as its fifth part."""
    encoder, *rest = random_problem(rng, kinds=kinds, n_features=(2, 4))
    return encoder, *rest, random_effects(rng, encoder)


def random_effects(rng, encoder):
    """Arrows along a random order, to numeric columns only."""
    names = encoder.column_names
    categories = {j for axis in encoder.axes if axis.is_categorical for j in axis.columns}
    place = rng.permutation(len(names))
    direct = rng.normal(size=(len(names),) * 2) * (rng.random((len(names),) * 2) < 0.5)
    direct *= place[:, None] > place
    direct[list(categories)] = 0.0
    return CausalEffects(names, direct)


def after_effects(loans, people, plans):
    """People after they act, when the true effects have followed, in their own columns."""
    encoder = Encoder.of_space(loans.actions, tuple(people.columns))
    x, ends = encoder.matrix(people), encoder.matrix(plans)
    return encoder.decode(loans.causes.after(x, ends - x), like=people)


@dataclasses.dataclass(frozen=True)
class SquareRootCost:
    """A cost of one's own: fitted, of any column, and without knots."""

    norm: str = "max"

    def level(self, column, values):
        return np.sign(values) * np.sqrt(np.abs(values))

    def between(self, start, stop):
        return np.abs(self.level(0, np.asarray(stop)) - self.level(0, np.asarray(start))).max(
            axis=1
        )


# Actions


def random_actions(rng, encoder, own, n):
    """Encoded rows that a person may move to, many of them near the own one."""
    values = np.tile(own, (n, 1))
    for axis in encoder.axes:
        f, columns = axis.feature, list(axis.columns)
        acts = np.flatnonzero((rng.random(n) < 0.6) & f.actionable)
        if f.is_categorical:
            now = int(np.argmax(own[columns]))
            allowed = {"any": slice(None), "increase": slice(now, None), "decrease": slice(now + 1)}
            options = np.arange(len(columns))[allowed.get(f.change, slice(now, now + 1))]
            values[np.ix_(acts, columns)] = np.eye(len(columns))[rng.choice(options, len(acts))]
            continue
        x = own[columns[0]]
        low = x if f.change == "increase" else min(f.lower, x)
        high = x if f.change == "decrease" else max(f.upper, x)
        drawn = x + (rng.uniform(low, high, len(acts)) - x) * rng.random(len(acts)) ** 2
        values[acts, columns[0]] = drawn if f.kind == "continuous" else np.round(drawn)
    return values


def box_points(model, values, low, high):
    """Points at every distinct place of a box: ends and around each threshold inside."""
    axes = model.encoder_.axes
    choices = []
    for a, axis in enumerate(axes):
        j = axis.columns[0]
        if np.isnan(low[a]):
            choices.append([values[list(axis.columns)]])
            continue
        cuts = model.ensemble_.threshold[model.ensemble_.feature == j]
        places = np.concatenate([cuts, np.nextafter(cuts, np.inf), [low[a], high[a], values[j]]])
        if axis.feature.kind != "continuous":
            places = np.concatenate([np.floor(cuts), np.floor(cuts) + 1, [low[a], high[a]]])
        inside = np.unique(places[(places >= low[a]) & (places <= high[a]) & np.isfinite(places)])
        choices.append([np.array([v]) for v in inside])
    order = [j for axis in axes for j in axis.columns]
    rows = [np.concatenate(choice) for choice in itertools.product(*choices)]
    X = np.empty((len(rows), len(order)))
    X[:, order] = rows
    return X


def check_allowed(encoder, people, values):
    """Every person may move to the encoded row beside theirs: kinds, directions and bounds."""
    for axis in encoder.axes:
        f, columns = axis.feature, list(axis.columns)
        before, after = people[:, columns], values[:, columns]
        if f.missing is not None:
            lacked, lacks = (_lacking(f, rows) for rows in (before, after))
            assert not (lacks & ~lacked).any()
            if f.missing == "stays":
                assert (lacks == lacked).all()
            handed = (lacked & ~lacks).nonzero()[0]
            assert f.is_categorical or (
                ((after[handed] >= f.lower) & (after[handed] <= f.upper)).all()
                and (f.kind == "continuous" or (after[handed] == np.floor(after[handed])).all())
            )
            before, after = before[~lacked], after[~lacked]
        if f.is_categorical:
            assert ((after == 0) | (after == 1)).all() and (after.sum(axis=1) == 1).all()
            step = after.argmax(axis=1) - before.argmax(axis=1)
        else:
            step = (after - before)[:, 0]
            within = np.where(step > 0, after[:, 0] <= f.upper, after[:, 0] >= f.lower)
            assert within[step != 0].all()
            room = np.array([naive.room_of(f, own) for own in before[:, 0]])
            assert (np.abs(step) <= room * (1 + 1e-8)).all()
            assert f.kind == "continuous" or (after == np.floor(after)).all()
        assert not (f.change in ("increase", "fixed") and (step < 0).any())
        assert not (f.change in ("decrease", "fixed") and (step > 0).any())


def _lacking(feature, rows):
    """Who has no value in a feature, from its encoded columns."""
    return rows[:, -1] == 1 if feature.is_categorical else np.isnan(rows[:, 0])


def n_changes(encoder, people, values):
    """How many features differ between people and the encoded rows beside theirs."""
    moved = (people != values) & ~(np.isnan(people) & np.isnan(values))
    return np.sum([moved[:, list(axis.columns)].any(axis=1) for axis in encoder.axes], axis=0)


def check_values(
    encoder, ensemble, cost, people, solutions, *, total=None, budget=np.inf, max_changes=None
):
    """Every action found is allowed, costs what it says, and the model accepts where it leads.

    total: matrix of total effects, where changes have any.
    """
    found = solutions.found
    own, values = people[found], solutions.values[found]
    ends = values
    if total is not None:
        ends = np.array([naive.outcome(*rows, total) for rows in zip(own, values, strict=True)])
    assert naive.naive_decision(ensemble, ends.reshape(values.shape)).all()
    np.testing.assert_allclose(cost.between(own, values), solutions.cost[found], atol=1e-12)
    assert (solutions.bound[found] <= solutions.cost[found]).all()
    assert within(solutions.cost[found], budget).all()
    assert max_changes is None or (n_changes(encoder, own, values) <= max_changes).all()
    np.testing.assert_array_equal(solutions.values[~found], people[~found])
    check_allowed(encoder, people, solutions.values)


# Axes of random tables of cells: the last cell of two ordinal ones is that of missing values.
CELLS = np.array([6, 4, 5, 3])
CELL_KINDS = ("ordinal", "categorical", "ordinal", "ordinal")
MISSING_CELLS = np.array([-1, -1, 4, 2])


def people_in_cells(rng, n=60):
    """Random people on two plain axes, one of categories and two with missing values."""
    cells = np.stack([rng.integers(0, c, n) for c in CELLS]).astype(np.uint8)
    low = np.maximum(cells.astype(int) - rng.integers(0, 3, cells.shape), 0)
    last = np.where(MISSING_CELLS >= 0, MISSING_CELLS - 1, CELLS - 1)[:, None]
    high = np.minimum(cells + rng.integers(0, 3, cells.shape), last)
    for axis in np.flatnonzero(MISSING_CELLS >= 0):
        lacking = cells[axis] == MISSING_CELLS[axis]
        # Those of one axis may supply cells 1 to 2, those of the other nothing.
        low[axis, lacking] = 1 if axis == 2 else MISSING_CELLS[axis]
        high[axis, lacking] = 2 if axis == 2 else MISSING_CELLS[axis]
    can_enter = rng.random((4, 4)) < 0.5
    np.fill_diagonal(can_enter, True)
    low, high = (ends.astype(np.uint8) for ends in (low, high))
    low[1] = high[1] = cells[1]
    tables = (None, can_enter, None, None)
    desired = (rng.random(n) < 0.2 + 0.6 * (cells[0] > 2)).astype(np.uint8)
    return People(cells, low, high, CELLS, tables, desired, MISSING_CELLS)


def rows_with_points(people, rng, n_points=0):
    """People with weights, and points of some of them."""
    codes = np.ascontiguousarray(people.cells.T)
    rows = CellRows.of(codes, people.desired, rng.uniform(0.5, 2, len(codes)))
    if n_points:
        rows = rows.with_points(rows.codes[:n_points].copy(), np.ones(n_points))
    return rows


def keeping_reference(model, people):
    """The model as it comes from a file that keeps people to compare others with."""
    return from_bytes(model_bytes(model, keep_reference=people)).model


class WantsSecondClass:
    """The class that sorts last is the desired one.

    scikit-learn's checks fit on targets of any labels, of which nobody can say who wants what.
    """

    def prepare(self, X, y, sample_weight=None):
        try:
            self._wanted = np.unique(np.asarray(y).ravel())[-1]
        except (IndexError, TypeError, ValueError):
            self._wanted = None
        return super().prepare(X, y, sample_weight)

    @property
    def table_spec(self):
        return dataclasses.replace(super().table_spec, desired=self._wanted)


class SecondClassTree(WantsSecondClass, RecourseTreeClassifier):
    """A tree for scikit-learn's checks."""


class SecondClassForest(WantsSecondClass, RecourseForestClassifier):
    """A forest for scikit-learn's checks."""


class SecondClassBooster(WantsSecondClass, RecourseBoostingClassifier):
    """A booster for scikit-learn's checks."""


def timeless(loans):
    """A data set whose changes take no time, for tests that are about something else."""
    features = (dataclasses.replace(f, pace=None, delay=0.0) for f in loans.actions)
    return dataclasses.replace(loans, actions=loans.actions.with_features(features))


def seeded(check):
    """A check of scikit-learn that fits without a random state, so that luck has no part in it."""

    def run(estimator):
        np.random.seed(0)  # noqa: NPY002
        check(estimator)

    return run


def random_graph(rng, d, share=0.4):
    """Direct effects of a linear model along a graph without cycles."""
    place = rng.permutation(d)
    strength = rng.choice([-1, 1], (d, d)) * rng.uniform(0.5, 1.5, (d, d))
    return strength * (rng.random((d, d)) < share) * (place[:, None] > place)


def draw_linear(rng, direct, n):
    """People from a linear model with skewed, flat and peaked noise, each column on a scale."""
    d = len(direct)
    kinds = [rng.exponential, lambda size: rng.uniform(-1.7, 1.7, size), rng.laplace]
    noise = np.stack([kinds[rng.integers(3)](size=n) for _ in range(d)])
    scale = np.exp(rng.normal(size=d))
    matrix = np.linalg.solve(np.eye(d) - direct, noise).T * scale
    return matrix, direct * scale[:, None] / scale
