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
    beside_rabit: Annotated[
        bool,
        typer.Option(help="Boosted trees on RABIT's tables instead, from RACT_DATA_HOME/rabit."),
    ] = False,
    recorded: Annotated[
        Path | None, typer.Option(help="Folder of the results that RABIT's authors recorded.")
    ] = None,
) -> None:
    """Compare our forest with what a user would deploy instead, without repeated rows.

    Example: ract benchmark --data compas --n-folds 1 -o results
    """
    if beside_rabit:
        _beside_rabit(data, model, n_folds, n_jobs, output, figures, recorded)
        return
    from ract._files import write_whole
    from ract.cli.messages import say
    from ract.experiments.benchmark import run
    from ract.experiments.benchmark.models import MODELS
    from ract.experiments.data import DATA, chosen
    from ract.experiments.pages.benchmark_page import benchmark_page, draw_benchmark

    models, sets = chosen("model", model or [], MODELS), chosen("data set", data or [], DATA)
    store = run.benchmark(models, sets, output, n_folds=n_folds, n_jobs=n_jobs)
    drawn = draw_benchmark(store, output / "figures") if figures else {}
    pictures = {name: f"figures/{file.name}" for name, file in drawn.items()}
    write_whole(output / "benchmark.md", benchmark_page(store, pictures))
    say(f"Results are in {output / 'benchmark.md'}.")


def _beside_rabit(
    data: list[str] | None,
    model: list[str] | None,
    n_splits: int | None,
    n_jobs: int,
    output: Path,
    figures: bool,
    recorded: Path | None,
) -> None:
    from ract._files import write_whole
    from ract.cli.messages import say
    from ract.experiments.benchmark import rabit, rabit_weights
    from ract.experiments.data import chosen
    from ract.experiments.pages.rabit_page import draw_rabit, rabit_page

    models = chosen("model", model or [], rabit.BOOSTERS)
    sets = chosen("data set", data or [], rabit.TABLES)
    theirs = None if recorded is None else rabit.recorded(recorded)
    store = rabit.beside_rabit(models, sets, output, n_folds=n_splits, n_jobs=n_jobs)
    rabit_weights.over_weights(models, sets, output, n_folds=n_splits, n_jobs=n_jobs)
    drawn = draw_rabit(store, output / "figures", theirs) if figures else {}
    pictures = {name: f"figures/{file.name}" for name, file in drawn.items()}
    write_whole(output / "rabit.md", rabit_page(store, pictures, theirs))
    say(f"Results are in {output / 'rabit.md'}.")
