"""A few results that are dear to make, kept beside what they were made from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class Memo:
    """At most so many values by key; the one that was not used for longest goes first.

    Safe between threads: two that ask for the same key at once may both make its value.

    Parameters
    ----------
    size : int

    Examples
    --------
    >>> memo = Memo(2)
    >>> memo.get("a", lambda: 1), memo.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The value of a key, made if it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value
