"""``python -m experiments.reproduce``: the paper's experiments beside recorded results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.command import (
    DataNames,
    Figures,
    NFolds,
    NProcesses,
    ResultsFolder,
    application,
)


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="forests, trees, complexity, budget-forests, budget-trees, exact, "
            "causal-forests or causal-trees; all of them by default."
        ),
    ] = None,
    data: DataNames = None,
    n_folds: NFolds = None,
    n_jobs: NProcesses = 1,
    output: ResultsFolder = Path("ract-results"),
    recorded: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the authors' recorded results (or RACT_RECORDED), to compare with."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write everything as one Markdown page.")
    ] = None,
    figures: Figures = True,
) -> None:
    """Run the paper's experiments on its data and compare with what its authors recorded.

    Example: python -m experiments.reproduce trees --data compas --n-folds 1 -o results
    """
    from experiments.data import DATA, chosen
    from experiments.pages.results_page import results_page
    from experiments.paper import reproduce as paper
    from experiments.paper.recorded import Recorded
    from experiments.paper.settings import EXPERIMENTS
    from ract.apps.cli.messages import say

    named = chosen("experiment", experiments or [], EXPERIMENTS)
    sets, beside = chosen("data set", data or [], DATA), Recorded.find(recorded)
    store = paper.reproduce(named, sets, output, n_folds=n_folds, n_jobs=n_jobs)
    written = _write_pages(store, beside, figures)
    if report is not None:
        results_page(store, beside, report)
        written.append(report)
    say("\n".join([f"Results are in {output}.", *(f"  {file}" for file in written)]))


def _write_pages(store: Any, recorded: Any, figures: bool) -> list[Path]:
    """Tables and comparison as Markdown, and the figures, beside the results."""
    from experiments.pages.comparison import comparison_page
    from experiments.pages.figures import draw_figures
    from experiments.pages.markdown import page
    from experiments.pages.tables import model_or_search, paper_tables
    from ract._utils.files import write_whole

    tables, comparison = store.folder / "tables.md", store.folder / "comparison.md"
    text = page(
        "# The paper's tables", paper_tables(store, recorded), "## Model or search",
        model_or_search(store),
    )  # fmt: skip
    write_whole(tables, text)
    write_whole(comparison, comparison_page(store, recorded))
    drawn = draw_figures(store, recorded, store.folder / "figures") if figures else []
    return [tables, comparison, *drawn]


app = application(reproduce)

if __name__ == "__main__":
    app()
