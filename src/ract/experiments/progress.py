"""Many folds at once, in processes, with a bar that tells the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed


@dataclass(frozen=True)
class Task:
    """A piece of work: what it is called, how large it is, and the arguments of the function."""

    title: str
    size: float
    arguments: tuple[Any, ...]


def run_all(
    function: Callable[..., Any], tasks: Sequence[Task], *, n_jobs: int, quiet: bool = False
) -> None:
    """Call a function for every task, largest first.

    Parameters
    ----------
    function : callable
        Keeps its results itself.
    tasks : sequence of Task
    n_jobs : int
        Processes; with 1 everything runs in this one.
    quiet : bool
        Show no bar.
    """
    ordered = sorted(tasks, key=lambda task: -task.size)
    bar = _nothing if quiet else _bar
    for _ in bar(_done(function, ordered, n_jobs), sum(task.size for task in tasks)):
        pass


def _done(
    function: Callable[..., Any], tasks: Sequence[Task], n_jobs: int
) -> Iterator[tuple[str, float]]:
    if n_jobs == 1:
        for task in tasks:
            function(*task.arguments)
            yield task.title, task.size
        return

    def run(task: Task) -> tuple[str, float]:
        function(*task.arguments)
        return task.title, task.size

    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(run)(task) for task in tasks
    )


def _nothing(done: Iterator[tuple[str, float]], total: float) -> Iterator[None]:
    for _ in done:
        yield


def _bar(done: Iterator[tuple[str, float]], total: float) -> Iterator[None]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.percentage:3.0f}%"),
        progress.BarColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left:"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.description}"),
    )
    with progress.Progress(
        *columns, console=Console(stderr=True), speed_estimate_period=1e6
    ) as bar:
        task = bar.add_task("", total=total)
        for title, size in done:
            bar.update(task, advance=size, description=f"last: {title}")
            yield
