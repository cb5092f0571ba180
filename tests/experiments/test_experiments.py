"""The paper's experiments on small made-up data; the real data where they are."""

import dataclasses
import json
import os

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from ract import ActionSpace, Feature
from ract._core.grower import Rules, grow_tree
from ract.cli import app
from ract.costs import PercentileCost
from ract.datasets import Dataset, DataUnavailable
from ract.encoding import Encoder
from ract.errors import InvalidSpec
from ract.experiments.benchmark import run as bench
from ract.experiments.benchmark.models import MODELS, Entry
from ract.experiments.pages.benchmark_page import benchmark_page, dominated_by
from ract.experiments.pages.comparison import comparison_page
from ract.experiments.pages.figures import draw_figures
from ract.experiments.pages.results_page import results_page
from ract.experiments.pages.tables import model_or_search, paper_tables
from ract.experiments.paper import reproduce as repro
from ract.experiments.paper.authors import Growth, Nursery
from ract.experiments.paper.compare import differences, orders, selected, share_within, welch
from ract.experiments.paper.hold_outs import HoldOuts, nodes_tried
from ract.experiments.paper.leaves import Actions, FirstLeaves, desired_leaves
from ract.experiments.paper.margins import authors_margins
from ract.experiments.paper.measures import action_columns, exact_columns, prediction_columns
from ract.experiments.paper.people import Population
from ract.experiments.paper.recorded import Recorded
from ract.experiments.paper.relabel import attained, relabelled
from ract.experiments.paper.run import columns_of, run_fold
from ract.experiments.paper.settings import (
    DATA,
    EXPERIMENTS,
    IMPORTANCE,
    METHODS,
    OAF,
    RACT,
    VANILLA,
    chosen_data,
    chosen_experiments,
)
from ract.experiments.progress import Task, run_all
from ract.experiments.store import Store
from ract.recourse.exact.search import ExactSearch
from ract.recourse.heuristic.leaves import LeafSearch
from ract.status import Status
from tests import naive
from tests._core.test_grower import random_people
from tests.naive import naive_decision

runner = CliRunner()


def made_up(n_people=150, seed=0):
    """People with numbers, a fixed one, a one-hot group, and a label that depends on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n_people),
            "debts": rng.integers(0, 12, n_people),
            "saved": rng.integers(0, 30, n_people),
            "job:a": rng.integers(0, 2, n_people),
        }
    )
    frame["job:b"] = 1 - frame["job:a"]
    score = frame["saved"] - 2 * frame["debts"] + 0.2 * frame["age"] + rng.normal(0, 6, n_people)
    target = pd.Series(np.where(score > score.median(), "yes", "no"), name="paid")
    features = [
        Feature("age", "integer", "increase", 0, 200),
        Feature("debts", "integer", "any", -100, 100),
        Feature("saved", "integer", "fixed", -100, 100),
        Feature("job", columns=("job:a", "job:b")),
    ]
    return Dataset("made up", frame, target, "yes", ActionSpace(features, "yes"), "Made up.")


@pytest.fixture
def small(monkeypatch):
    """Experiments of a few trees and folds on made-up people, whatever data set is named."""
    calls = []

    def load(setting, *, drop_duplicates=False):
        calls.append(setting.name)
        return made_up(120 + 10 * list(DATA).index(setting.name))

    monkeypatch.delenv("RACT_RECORDED", raising=False)  # those are of other people
    for module in (repro, bench):
        monkeypatch.setattr(module, "load", load)
    for cached in (repro.population, repro.hold_outs, bench.people, bench.folds_of):
        cached.cache_clear()
    for name, experiment in list(EXPERIMENTS.items()):
        sizes = tuple(max(size // 50, 1) for size in experiment.n_trees)
        fewer = dataclasses.replace(experiment, n_trees=sizes, n_folds=3, max_depth=6)
        monkeypatch.setitem(EXPERIMENTS, name, fewer)
    yield calls
    for cached in (repro.population, repro.hold_outs, bench.people, bench.folds_of):
        cached.cache_clear()


def fold_of(population, experiment, data, number):
    if experiment.model == "tree":
        return HoldOuts(population, experiment, data).fold(number)
    return population.fold(experiment.n_folds, number)


def run_small(out, names=("forests",), data=("compas",), **options):
    chosen = chosen_experiments(list(names)), chosen_data(list(data))
    return repro.reproduce(*chosen, out, quiet=True, **options)


# Growing, relabelling and searching by the authors' rules


def naive_authors_tree(people, weights, alpha, max_depth, first_code):
    """Algorithm 1 as the authors wrote it: every candidate scored from boolean reach.

    In their first code outsiders attain a side only by crossing, later also by standing there.
    """
    cells = people.cells.astype(int)
    crossable = lambda a, c: (people.lowest[a] <= c) & (people.highest[a] > c)  # noqa: E731
    desired = people.desired == 1
    everyone = weights > 0
    total, wanted = weights.sum(), weights[desired].sum()
    root = total - wanted <= wanted + alpha * total
    state = {"reached": np.full(len(weights), int(root))}
    leaves = []

    def grow(inside, reach, label, depth):
        mass = lambda who: weights[who].sum()  # noqa: E731
        exposed = everyone & (state["reached"] - label * reach == 0)
        kinds = {bool(d) for d in desired[inside]}
        best = None
        if depth < max_depth and inside.sum() > 1 and len(kinds) == 2:
            for a, n in enumerate(people.n_cells):
                for c in range(n - 2 if n > 2 else n - 1):
                    left, cross = cells[a] <= c, crossable(a, c)
                    m, m_l, m_r = (
                        mass(exposed & reach & side)
                        for side in (everyone, left | cross, ~left | cross)
                    )
                    for labels, without in (
                        ((1, 1), 0.0), ((1, 0), m - m_l), ((0, 1), m - m_r), ((0, 0), m),
                    ):  # fmt: skip
                        wrong = sum(
                            mass(inside & side & (desired != bool(y)))
                            for side, y in ((left, labels[0]), (~left, labels[1]))
                        )
                        value = wrong + alpha * without
                        if best is None or value < best[0]:
                            best = (value, a, c, labels)
        if best is not None:
            _, a, c, labels = best
            left, cross = cells[a] <= c, crossable(a, c)
            if (inside & left).any() and (inside & ~left).any():
                sides = [(inside & left, labels[0]), (inside & ~left, labels[1])]
                standing = [inside & left, inside & ~left] if first_code else [left, ~left]
                reaches = [reach & (side | cross) for side in standing]
                state["reached"] = state["reached"] - label * reach
                for (_, y), r in zip(sides, reaches, strict=True):
                    state["reached"] = state["reached"] + y * r
                for (within, y), r in zip(sides, reaches, strict=True):
                    grow(within, r, y, depth + 1)
                return
        leaves.append((inside, label))

    grow(everyone, everyone.copy(), int(root), 0)
    return leaves


def ordinal_people(rng):
    while True:
        people = random_people(rng)
        if all(table is None for table in people.can_enter):
            return people


@pytest.mark.parametrize("first_code", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_trees_follow_the_authors_reach(seed, first_code):
    rng = np.random.default_rng(seed)
    people = ordinal_people(rng)
    weights = rng.integers(0, 3, people.cells.shape[1]).astype(float)
    weights[0] = 1.0
    alpha = float(rng.choice([0.0, 0.25, 0.5, 1.0]))
    rules = Rules(alpha, "error", max_depth=3, authors_reach=first_code)
    tree = grow_tree(people, weights, rules)
    expected = naive_authors_tree(people, weights, alpha, 3, first_code)
    leaves, reached = attained(tree, people)
    assert [int(tree.label[leaf]) for leaf in leaves] == [label for _, label in expected]
    members = [tree.masses[leaf, 2] for leaf in leaves]
    assert members == [inside.sum() for inside, _ in expected]
    for (inside, _), who in zip(expected, reached, strict=True):
        assert who[inside].all()


@pytest.mark.parametrize("seed", range(20))
def test_relabelling_flips_the_leaf_that_covers_most_for_its_price(seed):
    rng = np.random.default_rng(seed)
    people = ordinal_people(rng)
    n = people.cells.shape[1]
    tree = grow_tree(people, np.ones(n), Rules(0.1, "error", max_depth=3, authors_reach=True))
    leaves, reached = attained(tree, people)
    for risk, labels in zip((0.0, 0.3), relabelled(tree, people, (0.0, 0.3)), strict=True):
        naive, covered = tree.label.copy(), reached[tree.label[leaves] == 1].any(axis=0)
        while covered.mean() < 1 - risk:
            rates = [
                (covered | reached[k]).sum() - covered.sum() if naive[leaf] == 0 else 0
                for k, leaf in enumerate(leaves)
            ]
            rates = [
                r / tree.masses[leaf, 0] if r else 0 for r, leaf in zip(rates, leaves, strict=True)
            ]
            if max(rates) == 0:
                break
            naive[leaves[int(np.argmax(rates))]] = 1
            covered = covered | reached[int(np.argmax(rates))]
        assert (labels[leaves] == naive[leaves]).all()


def grown_forest(population, weight=0.1, n_trees=7, seed=0):
    cost = PercentileCost("kernel").fit(list(population.matrix.T), np.ones(5))
    nursery = Nursery(population.matrix, population.desired, population.separate, cost)
    return nursery.forest(Growth(weight, 0.3, 6), n_trees, seed), cost


def test_the_search_equals_the_leaf_search_where_that_applies():
    data = made_up()
    separate = ActionSpace([f for f in data.actions if not f.columns], "yes")
    plain = dataclasses.replace(
        data, frame=data.frame.drop(columns=["job:a", "job:b"]), actions=separate
    )
    population = Population.of(plain)
    matrix, axes = population.matrix, population.grouped
    cost = PercentileCost().fit(list(matrix.T), np.ones(3))
    nursery = Nursery(matrix, population.desired, population.separate, cost)
    ensemble = nursery.forest(Growth(0.1, 0.3, 6), 9, seed=1)
    refused = matrix[~ensemble.decide(matrix)]
    ours = FirstLeaves(ensemble, axes, cost, np.zeros(3), None).solve(refused)
    assert ours.cost == pytest.approx(LeafSearch(ensemble, axes, cost).solve(refused).cost)
    for limit in (10, None):
        for margins in (np.zeros(3), authors_margins(matrix, axes)):
            ours = FirstLeaves(ensemble, axes, cost, margins, limit).solve(refused)
            for i, own in enumerate(refused):
                expected = naive.cheapest_of_regions(
                    naive.candidate_leaves(ensemble, own)[:limit], ensemble, axes, own, matrix,
                    np.random.default_rng(0), margins=margins,
                )  # fmt: skip
                assert ours.cost[i] == pytest.approx(expected)


def test_the_authors_margins():
    rng = np.random.default_rng(0)
    n = 50
    columns = {
        "real": rng.normal(size=n), "whole": rng.integers(0, 400, n), "flag": np.arange(n) % 2,
        "job": np.array(["u", "v"])[np.arange(n) % 2],
    }  # fmt: skip
    frame = pd.DataFrame(columns)
    encoder = Encoder(frame)
    matrix = encoder.matrix(frame)
    low, high = (np.quantile(matrix[:, :2], q, axis=0) for q in (0.01, 0.99))
    share = (high - low) / (n * (0.99 - 0.01))
    assert share[1] > 2  # so that the whole part counts
    expected = [share[0], int(share[1]) + 1, 0, 0, 0]
    np.testing.assert_allclose(authors_margins(matrix, encoder.axes), expected)


def test_actions_are_accepted_and_keep_to_the_rules():
    population = Population.of(made_up())
    ensemble, cost = grown_forest(population)
    refused = population.matrix[~ensemble.decide(population.matrix)]
    margins = authors_margins(population.matrix, population.grouped)
    found = FirstLeaves(ensemble, population.grouped, cost, margins, 1000).solve(refused)
    assert found.found.any()
    after, before = found.values[found.found], refused[found.found]
    assert naive_decision(ensemble, after).all()
    assert (after[:, 2] == before[:, 2]).all()  # fixed
    assert (after[:, 0] >= before[:, 0]).all()  # only increases
    assert (after[:, 3:].sum(axis=1) == 1).all()  # one job each
    assert (found.values[~found.found] == refused[~found.found]).all()
    assert cost.between(before, after) == pytest.approx(found.cost[found.found])


def test_effects_are_judged_and_no_effects_change_nothing():
    population = Population.of(made_up())
    ensemble, cost = grown_forest(population)
    refused = population.matrix[~ensemble.decide(population.matrix)]
    effects = np.zeros((5, 5))
    arguments = ensemble, population.grouped, cost, np.zeros(5), 1000
    plain = FirstLeaves(*arguments).solve(refused)
    assert (FirstLeaves(*arguments, effects).solve(refused).values == plain.values).all()
    effects[2, 1] = -3.0  # fewer debts, more savings
    causal = FirstLeaves(*arguments, effects).solve(refused)
    moved = causal.values - refused
    assert causal.outcome == pytest.approx(causal.values + moved @ effects.T)
    assert ensemble.decide(causal.outcome[causal.found]).all()
    assert causal.cost.mean() < plain.cost.mean()


def test_desired_leaves_come_in_the_order_of_the_trees():
    population = Population.of(made_up())
    ensemble, _ = grown_forest(population)
    lower, upper = desired_leaves(ensemble, 5, None)
    inside = (lower[None] < population.matrix[:, None]) & (
        population.matrix[:, None] <= upper[None]
    )
    votes = ensemble.totals(population.matrix)[0]
    assert (inside.all(axis=2).sum(axis=1) == votes).all()
    assert (desired_leaves(ensemble, 5, 3)[0] == lower[:3]).all()


# Measures


def test_columns_of_actions_are_those_of_the_recorded_files():
    people = np.zeros((4, 2))
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    actions = Actions(np.array([0.1, 0.5, np.inf, 0.3]), values, values)
    columns = action_columns(people, actions, budget=0.3, n_tested=10)
    assert columns["Cost"] == pytest.approx(0.9 / 4)
    assert columns["Validity"] == 0.75 and columns["Budget-Validity"] == 0.5
    assert columns["Valid-Cost"] == pytest.approx(0.3)
    assert columns["Recourse"] == pytest.approx(0.8)
    assert columns["Sparsity"] == pytest.approx(4 / 3)


def test_nobody_refused_counts_as_valid_at_no_cost():
    nobody = np.zeros((0, 2))
    columns = action_columns(nobody, Actions(np.zeros(0), nobody, nobody), 0.3, 10)
    assert columns["Validity"] == 1.0 and columns["Recourse"] == 1.0 and columns["Valid-Cost"] == 0


def test_exact_columns_count_what_is_open_apart():
    population = Population.of(made_up())
    ensemble, cost = grown_forest(population)
    refused = population.matrix[~ensemble.decide(population.matrix)]
    search = ExactSearch(ensemble, population.grouped, cost)
    solutions = search.solve(refused, 0.3)
    assert (
        search.attains(refused, 0.3) == np.where(solutions.found, Status.FOUND, Status.NONE)
    ).all()
    nobody = np.zeros(len(refused), np.bool_)
    columns = exact_columns(search, refused, nobody, 0.3, 150, max_nodes=10**6)
    assert columns["Recourse (exact)"] == pytest.approx(1 - (~solutions.found).sum() / 150)
    assert columns["Unknown (exact)"] == 0
    hasty = exact_columns(search, refused, nobody, 0.3, 150, max_nodes=0)
    assert hasty["Unknown (exact)"] > 0
    assert hasty["Recourse (exact)"] <= columns["Recourse (exact)"]


def test_predictions_are_measured_as_recorded():
    population = Population.of(made_up())
    ensemble, _ = grown_forest(population, n_trees=8)
    assert ensemble.cutoff == 4  # an even vote is for the desired class
    columns = prediction_columns(ensemble, population.matrix, population.desired, with_auc=True)
    accepted = naive_decision(ensemble, population.matrix)
    assert columns["Accuracy"] == (accepted == population.desired).mean()
    assert 0.5 < columns["AUC"] <= 1


# Runs


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_runs_and_has_the_recorded_columns(name, small):
    experiment, data = EXPERIMENTS[name], DATA["bail"]
    population = Population.of(made_up())
    rows = run_fold(experiment, data, fold_of(population, experiment, data, 1))["results"]
    assert list(rows) == columns_of(experiment)
    assert not rows[["Accuracy", "Recourse"]].isna().any().any()
    expected = {
        "forests": 7, "trees": 27, "complexity": 14, "budget-forests": 28, "budget-trees": 108,
        "exact": 3, "causal-forests": 7, "causal-trees": 27,
    }  # fmt: skip
    assert len(rows) == expected[name]
    assert not rows.duplicated(list(experiment.keys)).any()
    assert set(rows["Method"]) == {VANILLA, OAF, RACT}


def without_times(file):
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    return rows.drop(columns=[column for column in rows if column.endswith("[s]")]).to_csv()


def test_an_interrupted_run_is_taken_up_and_ends_in_the_same_file(tmp_path, small, monkeypatch):
    names = ("forests", "trees")
    run_small(tmp_path / "whole", names)
    real, calls = repro.run_fold, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(repro, "run_fold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "parts", names)
    run_small(tmp_path / "parts", names)
    assert len(calls) == 2 * 3 + 1  # no fold but the interrupted one twice
    for table in ("forests", "trees", "importance"):
        files = [tmp_path / folder / table / "compas.csv" for folder in ("whole", "parts")]
        assert without_times(files[0]) == without_times(files[1])
    assert not list((tmp_path / "parts" / "parts").iterdir())


def test_folds_limits_a_run_and_more_folds_add_to_it(tmp_path, small):
    store = run_small(tmp_path, n_folds=1)
    first = store.read("forests", "compas")
    assert set(first["Fold"]) == {1}
    store = run_small(tmp_path)
    assert set(store.read("forests", "compas")["Fold"]) == {1, 2, 3}
    again = store.read("forests", "compas").query("Fold == 1").reset_index(drop=True)
    pd.testing.assert_frame_equal(first, again)
    with pytest.raises(InvalidSpec, match="folds must be 1 or more, got 0"):
        run_small(tmp_path, n_folds=0)


def test_every_task_is_run_once_in_processes_too(tmp_path):
    tasks = [Task(str(k), k, (str(tmp_path / str(k)),)) for k in range(4)]
    run_all(os.mkdir, tasks, n_jobs=2, quiet=True)
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2", "3"]


def test_results_of_other_settings_are_refused_and_kept(tmp_path, small, monkeypatch):
    run_small(tmp_path, n_folds=1)
    before = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    other = dataclasses.replace(EXPERIMENTS["forests"], max_depth=2)
    monkeypatch.setitem(EXPERIMENTS, "forests", other)
    with pytest.raises(InvalidSpec, match="other settings .*'max_depth'.*Nothing was changed"):
        run_small(tmp_path)
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before


def test_a_folder_of_something_else_is_refused(tmp_path, small):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidSpec, match="no folder of results"):
        run_small(tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_store_keeps_text_as_it_is(tmp_path):
    store = Store(tmp_path / "new")
    store.open({"forests": {"a": (1, 2)}})
    store.open({"forests": {"a": [1, 2]}})
    rows = pd.DataFrame({"Fold": [2], "Method": ["x"], "Cost": [0.1 + 0.2]})
    store.add_fold("forests", "fico", 2, {"results": rows})
    store.add_fold("forests", "fico", 1, {"results": rows.assign(Fold=1, Cost=np.nan)})
    assert store.folds("forests", "fico") == {1, 2}
    store.collect("forests", "fico", {"results": "forests"})
    text = (tmp_path / "new" / "forests" / "fico.csv").read_text()
    assert text == "Fold,Method,Cost\n1,x,\n2,x,0.30000000000000004\n"
    assert json.loads((tmp_path / "new" / "settings.json").read_text())["forests"] == {"a": [1, 2]}


# Comparison


@pytest.fixture
def recorded(tmp_path, small):
    """A folder of recorded results: our own columns, from another seed of made-up people."""
    folder = tmp_path / "recorded"
    for name in ("forests", "trees"):
        experiment, data = EXPERIMENTS[name], DATA["compas"]
        population = Population.of(made_up(140, seed=1))
        frames = [
            run_fold(experiment, data, fold_of(population, experiment, data, k))["results"]
            for k in (1, 2, 3)
        ]
        rows = pd.concat(frames)
        rows = pd.concat([rows.assign(Fold=rows["Fold"] + 3 * k) for k in range(4)])
        file = folder / experiment.recorded.format("c")
        file.parent.mkdir(parents=True, exist_ok=True)
        rows.drop(columns=["Recourse (exact)", "Unknown (exact)"]).to_csv(file, index=False)
    return folder


@pytest.mark.parametrize("seed", range(5))
def test_welch_intervals_are_scipys(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0, 1, 10), rng.normal(0.7, 3, 30)
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert welch(a, b) == pytest.approx((interval.low, interval.high))
    low, high = welch(a, b)
    assert (low <= 0 <= high) == (expected.pvalue >= 0.05)


def test_numbers_without_spread_are_compared_as_they_are():
    ones = np.ones(10)
    assert welch(ones, ones) == (0.0, 0.0)
    assert welch(ones, ones - 0.5) == (0.5, 0.5)


def test_every_number_is_compared_at_its_setting(tmp_path, small, recorded):
    ours = run_small(tmp_path / "ours").read("forests", "compas")
    experiment, data = EXPERIMENTS["forests"], DATA["compas"]
    theirs = Recorded(recorded).read(experiment, data)
    found = list(differences(experiment, ours, theirs))
    settings = {(one.setting["Method"], one.setting["Alpha"]) for one in found}
    assert len(settings) == 7 and len(found) <= 7 * 7
    assert {one.measure for one in found} >= {"Accuracy", "AUC", "Recourse", "Plausibility"}
    one = next(o for o in found if o.measure == "Accuracy" and o.setting["Method"] == VANILLA)
    assert one.ours == pytest.approx(ours.query("Method == 'Baseline'")["Accuracy"].mean())
    assert one.n_ours == 3 and one.n_recorded == 12
    same = list(differences(experiment, theirs, theirs))
    assert share_within(same) == 1.0 and all(other.equal for other in same)
    assert not one.equal
    chosen = selected(experiment, data, ours)
    assert set(chosen.loc[chosen["Method"] == RACT, "Alpha"]) == {0.06}
    assert all(order.agrees for order in orders(experiment, data, theirs, theirs))


def test_pages_and_figures_are_written_from_the_stored_results(tmp_path, small, recorded):
    pytest.importorskip("matplotlib")
    out = tmp_path / "ours"
    store = run_small(out, ("forests", "trees", "complexity", "exact"), n_folds=2)
    bench.benchmark(chosen_data(["compas"]), [MODELS["ract"], MODELS["forest"]], out, quiet=True)
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    results_page(store, Recorded(recorded), page)
    text = page.read_text()
    for words in (
        "within the noise of both", "Order of the methods", "Running time", "Model or search",
        "honest benchmark", "ract forest, defaults", "2 of 3", "figures/comparison-forests.svg",
    ):  # fmt: skip
        assert words in text
    drawn = sorted(file.stem for file in (tmp_path / "docs" / "figures").iterdir())
    assert "tradeoff-trees" in drawn and "benchmark-compas" in drawn
    assert (out / "figures" / "importance.png").exists()
    first = (tmp_path / "docs" / "figures" / "comparison-forests.svg").read_bytes()
    results_page(store, Recorded(recorded), page)
    assert page.read_text() == text
    assert (tmp_path / "docs" / "figures" / "comparison-forests.svg").read_bytes() == first


def test_recorded_results_of_other_features_leave_the_figure_without_them(tmp_path, small):
    pytest.importorskip("matplotlib")
    store = run_small(tmp_path / "ours", n_folds=1)
    file = tmp_path / "recorded" / IMPORTANCE.format(DATA["compas"].letter)
    file.parent.mkdir(parents=True)
    theirs = {"Method": list(METHODS), "Alpha": 0.06, "Fold": 1, "other": 1.0}
    pd.DataFrame(theirs).to_csv(file, index=False)
    draw_figures(store, Recorded(tmp_path / "recorded"), tmp_path / "figures")
    assert (tmp_path / "figures" / "importance.svg").exists()


def test_without_recorded_results_the_page_says_so(tmp_path, small, monkeypatch):
    monkeypatch.delenv("RACT_RECORDED", raising=False)
    store = run_small(tmp_path, n_folds=1)
    assert Recorded.find(None) is None
    assert "not at hand" in comparison_page(store, None)
    assert "Accuracy" in paper_tables(store, None)
    assert "COMPAS" in model_or_search(store)
    with pytest.raises(InvalidSpec, match="no folder of recorded results"):
        Recorded.find(tmp_path / "nowhere")


# The honest benchmark


def test_the_benchmark_judges_every_model_alike(tmp_path, small):
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    names = list(MODELS)
    store = bench.benchmark(
        chosen_data(["compas"]), bench.chosen_models([]), tmp_path, n_folds=1, quiet=True
    )
    rows = store.read("benchmark", "compas")
    assert sorted(rows["Model"]) == sorted(names)
    assert list(rows) == list(bench.COLUMNS)
    assert rows["AUC"].between(0.4, 1).all()
    assert (rows["Recourse"] + rows["Unknown"] <= 1 + 1e-12).all()
    text = benchmark_page(store)
    assert "XGBoost" in text and ("Pareto" in text or "is beaten in both" in text)
    more = bench.benchmark(chosen_data(["compas"]), bench.chosen_models(["forest"]), tmp_path,
                           n_folds=2, quiet=True).read("benchmark", "compas")  # fmt: skip
    assert len(more) == len(rows) + 1
    with pytest.raises(InvalidSpec, match="Unknown model 'catboost'; known are 'ract'"):
        bench.chosen_models(["catboost"])


def test_people_with_the_same_features_are_never_in_different_folds():
    data = made_up(60)
    twice = pd.concat([data.frame, data.frame], ignore_index=True)
    other = pd.concat([data.target, data.target.map({"yes": "no", "no": "yes"})], ignore_index=True)
    data = dataclasses.replace(data, frame=twice, target=other)
    for train, test in bench.folds(data):
        assert not {k % 60 for k in train} & {k % 60 for k in test}


def test_a_dominating_model_is_named():
    rows = pd.DataFrame(
        {
            "Model": ["ract", "forest", "xgboost"],
            "AUC": [0.8, 0.81, 0.9],
            "Recourse": [0.9, 0.8, 0.5],
            "Unknown": [0.0, 0.1, 0.3],
        }
    )
    assert dominated_by(rows, "ract") == []
    assert dominated_by(rows, "ract", doubts=True) == ["forest"]
    assert dominated_by(rows.assign(Recourse=[0.5, 0.8, 0.6]), "ract") == ["forest", "xgboost"]


def test_a_missing_library_is_told_with_how_to_get_it():
    entry = Entry("x", "Some Boosting", "no_such_library:Model", extra="boosting")
    with pytest.raises(InvalidSpec, match=r'pip install "ract\[boosting\]"'):
        entry.check()


def test_hold_outs_are_the_same_in_any_order(small):
    """A fold that is run alone, as after an interruption, is the fold of a whole run."""
    population, experiment = Population.of(made_up()), EXPERIMENTS["trees"]
    in_order = HoldOuts(population, experiment, DATA["bail"])
    folds = [in_order.fold(number) for number in (1, 2, 3)]
    alone = HoldOuts(population, experiment, DATA["bail"]).fold(3)
    assert (alone.test == folds[2].test).all()
    assert alone.implausibility(alone.new) == folds[2].implausibility(alone.new)
    assert (in_order.fold(2).test == folds[1].test).all()
    assert len({tuple(fold.test) for fold in folds}) == 3


def test_nodes_tried_are_those_of_two_classes_above_the_last_level():
    rng = np.random.default_rng(0)
    people = ordinal_people(rng)
    tree = grow_tree(people, np.ones(people.cells.shape[1]), Rules(0.1, "error", max_depth=3))
    asked = 0
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        undesired, desired, _ = tree.masses[node]
        asked += bool(undesired and desired and depth < 3)
        if tree.axis[node] >= 0:
            stack += [(tree.left[node], depth + 1), (tree.right[node], depth + 1)]
    assert nodes_tried(tree, 3) == asked > 1


# The command line


def test_commands_run_and_say_what_they_wrote(tmp_path, small):
    pytest.importorskip("matplotlib")
    out = str(tmp_path / "out")
    result = runner.invoke(app, ["reproduce", "forests", "--data", "compas,bail", "--n-folds", "1",
                                 "--output", out])  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "comparison.md" in result.output
    assert (tmp_path / "out" / "forests" / "bail.csv").exists()
    result = runner.invoke(app, ["benchmark", "--data", "compas", "--model", "ract",
                                 "--n-folds", "1", "--output", out])  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Pareto" in (tmp_path / "out" / "benchmark.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "forrests"], "Unknown experiment 'forrests'; known are 'forests', 'trees'"),
        (["reproduce", "--data", "adult"], "Unknown data set 'adult'; known are 'fico', 'compas'"),
        (["reproduce", "--n-folds", "0"], "folds must be 1 or more, got 0"),
        (["benchmark", "--model", "catboost"], "Unknown model 'catboost'"),
        (["reproduce", "--recorded", "nowhere"], "no folder of recorded results at nowhere"),
    ],
)
def test_wrong_input_is_one_sentence_and_leaves_nothing_behind(arguments, message, tmp_path):
    out = tmp_path / "out"
    result = runner.invoke(app, [*arguments, "--output", str(out)])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not out.exists()


def test_missing_data_is_told(tmp_path, small, monkeypatch):
    def unavailable(setting, **_):
        raise DataUnavailable("Could not download fico.csv; set RACT_DATA_HOME.")

    monkeypatch.setattr(repro, "load", unavailable)
    out = tmp_path / "out"
    result = runner.invoke(app, ["reproduce", "forests", "--data", "fico", "--output", str(out)])
    assert result.exit_code == 2 and "RACT_DATA_HOME" in result.output
    assert not out.exists()


# The real data


@pytest.fixture
def beside(data_home, monkeypatch):
    """The authors' results, where the real data are too."""
    monkeypatch.setenv("RACT_DATA_HOME", str(data_home))
    folder = data_home.parent / "reference"
    if not folder.is_dir():
        pytest.skip("the recorded results are not here; they lie beside the data sets")
    return Recorded(folder)


@pytest.mark.parametrize(
    ("experiment", "name", "number"),
    [("trees", "compas", 3), ("trees", "credit", 1), ("budget-trees", "bail", 2)],
)
def test_trees_are_the_authors_to_the_last_digit(experiment, name, number, beside):
    """Trees are not random, and hold-outs and isolation forests come from the authors' state."""
    experiment, data = EXPERIMENTS[experiment], DATA[name]
    fold = HoldOuts(Population.of(repro.load(data)), experiment, data).fold(number)
    ours = run_fold(experiment, data, fold)["results"]
    theirs = beside.read(experiment, data).query("Fold == @number")
    both = ours.merge(theirs, on=list(experiment.keys), suffixes=("", "_recorded"))
    assert len(both) == 27 * len(experiment.budgets)
    measured = [c for c in theirs if c not in experiment.keys and c != "Time [s]"]
    for column in measured:
        expected = both[f"{column}_recorded"].to_numpy()
        assert both[column].to_numpy() == pytest.approx(expected, abs=1e-6), column


def test_encoders_of_the_population_keep_the_order_of_the_columns():
    data = made_up()
    population = Population.of(data)
    assert population.names == tuple(data.frame.columns)
    assert len(population.separate) == 5 and len(population.grouped) == 4
    assert population.names == Encoder(data.frame, data.actions).column_names
