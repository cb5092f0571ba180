"""The progress bar: on the error stream, with a description, the share done and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
# Times left are estimated from the whole run: rich's 30 seconds are less than a slow step takes.
ESTIMATE_PERIOD = 1e6


@contextmanager
def progress_bar(
    description: str, total: float = 1.0, *, show: bool = True, transient: bool = False
) -> Iterator[Callable[[float], None]]:
    """A bar while a block runs, which calls the function it gets with how much is done so far.

    Parameters
    ----------
    description : str
    total : float
        How much there is to do.
    show : bool
        Without it there is no bar.
    transient : bool
        Remove the bar at the end.
    """
    if not show:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(
        console=Console(stderr=True), transient=transient, speed_estimate_period=ESTIMATE_PERIOD
    )
    with bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.update(task, completed=done)


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
