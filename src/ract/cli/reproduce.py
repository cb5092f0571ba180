"""``ract reproduce``: the paper's experiments, beside what its authors recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="forests, trees, complexity, budget-forests, budget-trees, exact, "
            "causal-forests or causal-trees; all of them by default."
        ),
    ] = None,
    data: options.DataNames = None,
    n_folds: options.NFolds = None,
    n_jobs: options.NProcesses = 1,
    output: options.ResultsFolder = Path("ract-results"),
    recorded: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the authors' recorded results (or RACT_RECORDED), to compare with."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write everything as one Markdown page.")
    ] = None,
    figures: options.Figures = True,
) -> None:
    """Run the paper's experiments on its data and compare with what its authors recorded.

    Example: ract reproduce trees --data compas --n-folds 1 -o results
    """
    from ract.cli.messages import say
    from ract.experiments.pages.results_page import results_page
    from ract.experiments.paper import reproduce as paper
    from ract.experiments.paper.recorded import Recorded
    from ract.experiments.paper.settings import chosen_data, chosen_experiments

    chosen, sets = chosen_experiments(experiments or []), chosen_data(data or [])
    beside = Recorded.find(recorded)
    store = paper.reproduce(chosen, sets, output, n_folds=n_folds, n_jobs=n_jobs)
    written = _write_pages(store, beside, figures)
    if report is not None:
        results_page(store, beside, report)
        written.append(report)
    say("\n".join([f"Results are in {output}.", *(f"  {file}" for file in written)]))


def _write_pages(store: Any, recorded: Any, figures: bool) -> list[Path]:
    """Tables and comparison as Markdown, and the figures, beside the results."""
    from ract._files import write_whole
    from ract.experiments.pages.comparison import comparison_page
    from ract.experiments.pages.figures import draw_figures
    from ract.experiments.pages.markdown import page
    from ract.experiments.pages.tables import model_or_search, paper_tables

    tables, comparison = store.folder / "tables.md", store.folder / "comparison.md"
    text = page(
        "# The paper's tables", paper_tables(store, recorded), "## Model or search",
        model_or_search(store),
    )  # fmt: skip
    write_whole(tables, text)
    write_whole(comparison, comparison_page(store, recorded))
    drawn = draw_figures(store, recorded, store.folder / "figures") if figures else []
    return [tables, comparison, *drawn]
