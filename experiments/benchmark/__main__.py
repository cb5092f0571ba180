"""``python -m experiments.benchmark``: our forest beside what a user would deploy instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.command import (
    DataNames,
    Figures,
    NFolds,
    NProcesses,
    ResultsFolder,
    application,
)


def benchmark(
    data: DataNames = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Only this model. May be given again.")
    ] = None,
    n_folds: NFolds = None,
    n_jobs: NProcesses = 1,
    output: ResultsFolder = Path("ract-results"),
    figures: Figures = True,
    beside_rabit: Annotated[
        bool,
        typer.Option(help="Boosted trees on RABIT's tables instead, from RACT_DATA_HOME/rabit."),
    ] = False,
    recorded: Annotated[
        Path | None, typer.Option(help="Folder of the results that RABIT's authors recorded.")
    ] = None,
    sendable: Annotated[
        bool, typer.Option(help="Which plans can be sent instead, on the tables of spaces/.")
    ] = False,
    max_people: Annotated[
        int, typer.Option(min=1, help="With --sendable: refused people of a fold and direction.")
    ] = 25,
) -> None:
    """Compare our forest with what a user would deploy instead, without repeated rows.

    Example: python -m experiments.benchmark --data compas --n-folds 1 -o results
    """
    if sendable:
        _sendable(data, model, n_folds, n_jobs, output, max_people)
        return
    if beside_rabit:
        _beside_rabit(data, model, n_folds, n_jobs, output, figures, recorded)
        return
    from experiments.benchmark import run
    from experiments.benchmark.models import MODELS
    from experiments.data import DATA, chosen
    from experiments.pages.benchmark_page import benchmark_page, draw_benchmark
    from ract._utils.files import write_whole
    from ract.apps.cli.messages import say

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
    from experiments.benchmark import rabit, rabit_weights
    from experiments.data import chosen
    from experiments.pages.rabit_page import draw_rabit, rabit_page
    from ract._utils.files import write_whole
    from ract.apps.cli.messages import say

    models = chosen("model", model or [], rabit.BOOSTERS)
    sets = chosen("data set", data or [], rabit.TABLES)
    theirs = None if recorded is None else rabit.recorded(recorded)
    store = rabit.beside_rabit(models, sets, output, n_folds=n_splits, n_jobs=n_jobs)
    rabit_weights.over_weights(models, sets, output, n_folds=n_splits, n_jobs=n_jobs)
    drawn = draw_rabit(store, output / "figures", theirs) if figures else {}
    pictures = {name: f"figures/{file.name}" for name, file in drawn.items()}
    write_whole(output / "rabit.md", rabit_page(store, pictures, theirs))
    say(f"Results are in {output / 'rabit.md'}.")


def _sendable(
    data: list[str] | None,
    model: list[str] | None,
    n_folds: int | None,
    n_jobs: int,
    output: Path,
    max_people: int,
) -> None:
    from experiments.benchmark.sendable import run_sendable
    from experiments.benchmark.sendable_models import ENTRIES
    from experiments.data import chosen
    from experiments.pages.sendable_page import sendable_page
    from experiments.spaces.tables import TABLES
    from ract._utils.files import write_whole
    from ract.apps.cli.messages import say

    entries = chosen("model", model or [], ENTRIES)
    tables = chosen(
        "table", data or [name for name, t in TABLES.items() if not t.set_aside], TABLES
    )
    store = run_sendable(
        entries, tables, output, max_people=max_people, n_folds=n_folds, n_jobs=n_jobs
    )
    write_whole(output / "sendable.md", sendable_page(store))
    say(f"Results are in {output / 'sendable.md'}.")


app = application(benchmark)

if __name__ == "__main__":
    app()
