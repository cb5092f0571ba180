"""Progress on the error stream: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")
# Times left are estimated from the whole run: rich's 30 seconds are less than a slow step takes.
ESTIMATE_PERIOD = 1e6
LINE_PERIOD = 30.0  # seconds between lines where there is no terminal


@contextmanager
def progress_bar(
    description: str, total: float = 1.0, *, show: bool = True, transient: bool = False
) -> Iterator[Callable[[float], None]]:
    """Show progress while a block runs, which calls its function with how much is done so far.

    On a terminal or in a notebook that is a bar; elsewhere it is a line every half a minute, so
    that the log of a long run is not silent and that of a short one is not noisy.

    Parameters
    ----------
    description : str
    total : float
        How much there is to do.
    show : bool
        Without it nothing is shown.
    transient : bool
        Remove the bar at the end.
    """
    if not show:
        yield lambda done: None
        return
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield _lines(description, total)
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(
        console=Console(stderr=True), transient=transient, speed_estimate_period=ESTIMATE_PERIOD
    )
    with bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lines(description: str, total: float) -> Callable[[float], None]:
    """Print the share done, at most once per period."""
    last = monotonic()

    def report(done: float) -> None:
        nonlocal last
        if monotonic() - last >= LINE_PERIOD:
            last = monotonic()
            print(f"{description}: {done / total:.0%} done.", file=sys.stderr, flush=True)

    return report


def track(
    items: Iterable[Item],
    total: float,
    description: str,
    *,
    size: Callable[[Item], float] | None = None,
    show: bool = True,
) -> Iterator[Item]:
    """The same items, with a bar that moves by the size of each (1 without ``size``).

    >>> list(track("abc", 3, "Reading", show=False))
    ['a', 'b', 'c']
    """
    done = 0.0
    with progress_bar(description, total, show=show) as report:
        for item in items:
            done += 1 if size is None else size(item)
            report(done)
            yield item


def in_threads(jobs: Iterable[Callable[[], Item]], n_jobs: int | None) -> Iterator[Item]:
    """What jobs come to, in their order; the number of threads as in joblib.

    >>> list(in_threads([lambda: 1, lambda: 2], n_jobs=2))
    [1, 2]
    """
    from joblib import Parallel, delayed

    done: Iterator[Item] = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(job)() for job in jobs
    )
    return done
