"""The honest benchmark: our forest beside what a user would deploy instead."""

from __future__ import annotations

from pathlib import Path

import typer

from ract._files import write_whole
from ract.experiments.benchmark.models import MODELS
from ract.experiments.benchmark.run import benchmark
from ract.experiments.data import DATA, chosen
from ract.experiments.pages.benchmark_page import benchmark_page, draw_benchmark


def run(
    data: list[str], models: list[str], folds: int | None, jobs: int, out: Path, figures: bool
) -> None:
    """Run what is not done, then write the tables and the pictures."""
    compared, sets = chosen("model", models, MODELS), chosen("data set", data, DATA)
    store = benchmark(compared, sets, out, n_folds=folds, n_jobs=jobs)
    drawn = draw_benchmark(store, out / "figures") if figures else {}
    pictures = {name: f"figures/{file.name}" for name, file in drawn.items()}
    write_whole(out / "benchmark.md", benchmark_page(store, pictures))
    typer.echo(f"Results are in {out / 'benchmark.md'}.", err=True)
