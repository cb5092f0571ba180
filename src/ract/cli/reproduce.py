"""The paper's experiments on the real data, beside what its authors recorded."""

from __future__ import annotations

from pathlib import Path

import typer

from ract._files import write_whole
from ract.experiments.data import DATA, chosen
from ract.experiments.pages.comparison import comparison_page
from ract.experiments.pages.figures import draw_figures
from ract.experiments.pages.markdown import page
from ract.experiments.pages.results_page import results_page
from ract.experiments.pages.tables import model_or_search, paper_tables
from ract.experiments.paper.recorded import Recorded
from ract.experiments.paper.reproduce import reproduce
from ract.experiments.paper.settings import EXPERIMENTS
from ract.experiments.store import Store


def run(
    experiments: list[str],
    data: list[str],
    folds: int | None,
    jobs: int,
    out: Path,
    recorded: Path | None,
    report: Path | None,
    figures: bool,
) -> None:
    """Run what is not done, then write tables, figures and the comparison."""
    named, sets = chosen("experiment", experiments, EXPERIMENTS), chosen("data set", data, DATA)
    beside = Recorded.find(recorded)
    store = reproduce(named, sets, out, n_folds=folds, n_jobs=jobs)
    written = write_pages(store, beside, figures=figures)
    if report is not None:
        results_page(store, beside, report)
        written.append(report)
    typer.echo(f"Results are in {out}.", err=True)
    for file in written:
        typer.echo(f"  {file}", err=True)


def write_pages(store: Store, recorded: Recorded | None, *, figures: bool) -> list[Path]:
    """Tables and comparison as Markdown, and the figures, beside the results."""
    tables, comparison = store.folder / "tables.md", store.folder / "comparison.md"
    text = page(
        "# The paper's tables", paper_tables(store, recorded), "## Model or search",
        model_or_search(store),
    )  # fmt: skip
    write_whole(tables, text)
    write_whole(comparison, comparison_page(store, recorded))
    drawn = draw_figures(store, recorded, store.folder / "figures") if figures else []
    return [tables, comparison, *drawn]
