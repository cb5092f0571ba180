"""Work on blocks of rows, in threads where there are enough of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np


class Blocks:
    """Divides rows among threads, of which the caller's is the first.

    Parameters
    ----------
    n_threads : int
    fewest : int
        Rows of a block at least, so that the work is worth more than handing it out.

    Examples
    --------
    >>> with Blocks(2, fewest=3) as blocks:
    ...     blocks(0, 9, lambda first, last, k: (first, last)), blocks(0, 5, lambda *of: of)
    ([(0, 4), (4, 9)], [(0, 5, 0)])
    """

    def __init__(self, n_threads: int, fewest: int) -> None:
        self.n_threads, self.fewest = n_threads, max(fewest, 1)
        # With enough rows for two blocks, and threads for them, more rows than this are divided.
        self.most_rows = 2 * self.fewest - 1 if n_threads > 1 else 2**62
        self._others = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Blocks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._others is not None:
            self._others.shutdown()

    def bounds(self, first: int, last: int) -> np.ndarray:
        """Where the blocks of some rows begin, and where the last one ends (int64)."""
        n_blocks = max(1, min(self.n_threads, (last - first) // self.fewest))
        return first + np.arange(n_blocks + 1) * (last - first) // n_blocks

    def __call__(self, first: int, last: int, work: Callable[[int, int, int], Any]) -> list[Any]:
        """What some work gives for each block: its first and last row, and its number."""
        if self._others is None or last - first <= self.most_rows:
            return [work(first, last, 0)]
        bounds = self.bounds(first, last).tolist()
        later = [
            self._others.submit(work, start, end, k)
            for k, (start, end) in enumerate(pairwise(bounds[1:]), 1)
        ]
        return [work(bounds[0], bounds[1], 0), *(one.result() for one in later)]
