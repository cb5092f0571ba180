"""One fold of every experiment; on the real data, beside the recorded results."""

import pytest

from experiments.data import DATA, load
from experiments.paper.hold_outs import HoldOuts
from experiments.paper.population import Population
from experiments.paper.recorded import Recorded
from experiments.paper.run import columns_of, run_fold
from experiments.paper.settings import EXPERIMENTS, OAF, RACT, VANILLA
from tests.experiments.builders import fold_of, made_up


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_runs_and_has_the_recorded_columns(name, small):
    experiment, data = EXPERIMENTS[name], DATA["bail"]
    population = Population.of(made_up())
    rows = run_fold(experiment, data, fold_of(population, experiment, data, 1))[name]
    assert list(rows) == columns_of(experiment)
    assert not rows[["Accuracy", "Recourse"]].isna().any().any()
    expected = {
        "forests": 7, "trees": 27, "complexity": 14, "budget-forests": 28, "budget-trees": 108,
        "exact": 3, "causal-forests": 7, "causal-trees": 27,
    }  # fmt: skip
    assert len(rows) == expected[name]
    assert not rows.duplicated(list(experiment.keys)).any()
    assert set(rows["Method"]) == {VANILLA, OAF, RACT}


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
    [
        ("trees", "compas", 3),
        pytest.param("trees", "credit", 1, marks=pytest.mark.slow),
        pytest.param("budget-trees", "bail", 2, marks=pytest.mark.slow),
    ],
)
def test_trees_are_the_authors_to_the_last_digit(experiment, name, number, beside):
    """Trees are not random, and hold-outs and isolation forests come from the authors' state."""
    experiment, data = EXPERIMENTS[experiment], DATA[name]
    fold = HoldOuts(Population.of(load(name)), experiment, data).fold(number)
    ours = run_fold(experiment, data, fold)[experiment.name]
    theirs = beside.read(experiment.name, name).query("Fold == @number")
    both = ours.merge(theirs, on=list(experiment.keys), suffixes=("", "_recorded"))
    assert len(both) == 27 * len(experiment.budgets)
    measured = [c for c in theirs if c not in experiment.keys and c != "Time [s]"]
    for column in measured:
        expected = both[f"{column}_recorded"].to_numpy()
        assert both[column].to_numpy() == pytest.approx(expected, abs=1e-6), column
