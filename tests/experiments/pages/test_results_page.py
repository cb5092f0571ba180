"""The page with everything."""

from pathlib import Path

import pytest

from experiments.benchmark import run as bench
from experiments.data import DATA
from experiments.pages.results_page import FACTS, results_page
from experiments.paper.compare import selected
from experiments.paper.recorded import Recorded
from experiments.paper.settings import EXPERIMENTS
from experiments.store import Store
from tests.experiments.builders import run_small, with_few_trees

RABIT_ROWS = """\
Fold,Model,AUC,"AUC, deciding",Accuracy,Accepted,By leaves,Exact,Unknown,Lasting,\
"Lasting, strongest",Fit [s]
1,ract-boosting,0.793,0.79,0.718,0.5,0.85,1.0,0.0,0.3,0.9,1.3
"""


def test_the_training_time_that_the_page_states_is_that_of_the_results():
    store, times = Store(Path(__file__).parents[3] / "results"), []
    for data in DATA.values():
        chosen = selected(EXPERIMENTS["forests"], data, store.read("forests", data.name))
        seconds = chosen.groupby("Method")["Time [s]"].mean()
        times.append(seconds["RACT"] / seconds["Baseline"])
    stated = f"forests take {min(times):.1f} to {max(times):.1f} times as long as Vanilla's"
    assert stated in " ".join(FACTS.split())


def test_pages_and_figures_are_written_from_the_stored_results(
    tmp_path, small, recorded, monkeypatch
):
    pytest.importorskip("matplotlib")
    for name, fewer in (("N_ASKED", 20), ("MAX_PEOPLE", 4), ("STRENGTHS", (0.0, 0.7))):
        monkeypatch.setattr(bench, name, fewer)
    out = tmp_path / "ours"
    store = run_small(out, ("forests", "trees", "complexity", "exact"), n_folds=2)
    models = with_few_trees("ract", "forest")
    bench.benchmark(models, [DATA["compas"]], out, n_folds=2, progress=False)
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    (out / "rabit").mkdir()
    (out / "rabit" / "fico.csv").write_text(RABIT_ROWS)
    results_page(store, Recorded(recorded), page)
    pages = sorted(page.parent.glob("results*.md"), key=lambda one: one.stem)
    assert [one.stem for one in pages] == [
        "results", "results-benchmark", "results-numbers", "results-paper", "results-rabit",
    ]  # fmt: skip
    short = page.read_text()
    assert len(short.splitlines()) < 60 and "## Beside the recorded results" in short
    for difference in ("Causal trees", "Training time", "Exact extraction", "*Cost*: percentiles"):
        assert difference in short
    assert all(f"({one.name})" in short for one in pages[1:])
    assert all(one.read_text().startswith("# ") for one in pages)
    text = "".join(one.read_text() for one in pages)
    for words in (
        "within the noise of both", "Order of the methods", "Running time", "Model or search",
        "benchmark: plans that last", "ract forest, defaults", "2 of 3",
        "figures/comparison-forests.svg", "figures/rabit-fico.svg", "Beside RABIT",
        "| its protocol | ract boosting | 1 | 0.793 |",
    ):  # fmt: skip
        assert words in text
    drawn = sorted(file.stem for file in (tmp_path / "docs" / "figures").iterdir())
    assert "tradeoff-trees" in drawn and "benchmark-compas" in drawn
    assert (out / "figures" / "importance.png").exists()
    first = (tmp_path / "docs" / "figures" / "comparison-forests.svg").read_bytes()
    results_page(store, Recorded(recorded), page)
    assert "".join(one.read_text() for one in pages) == text
    assert (tmp_path / "docs" / "figures" / "comparison-forests.svg").read_bytes() == first
