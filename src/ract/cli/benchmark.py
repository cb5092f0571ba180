"""``ract benchmark``: our forest beside what a user would deploy instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ract.cli import options


def benchmark(
    data: options.DataNames = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Only this model. May be given again.")
    ] = None,
    n_folds: options.NFolds = None,
    n_jobs: options.NProcesses = 1,
    output: options.ResultsFolder = Path("ract-results"),
    figures: options.Figures = True,
) -> None:
    """Compare our forest with what a user would deploy instead, without repeated rows.

    Example: ract benchmark --data compas --n-folds 1 -o results
    """
    from ract._files import write_whole
    from ract.cli.messages import say
    from ract.experiments.benchmark import run
    from ract.experiments.pages.benchmark_page import benchmark_page, draw_benchmark
    from ract.experiments.paper.settings import chosen_data

    sets, models = chosen_data(data or []), run.chosen_models(model or [])
    store = run.benchmark(sets, models, output, n_folds=n_folds, n_jobs=n_jobs)
    drawn = draw_benchmark(store, output / "figures") if figures else {}
    pictures = {name: f"figures/{file.name}" for name, file in drawn.items()}
    write_whole(output / "benchmark.md", benchmark_page(store, pictures))
    say(f"Results are in {output / 'benchmark.md'}.")
