"""How much each caller may ask for in a minute, counted by all worker processes together."""

from __future__ import annotations

import sqlite3
import threading
import time

from limits.storage import Storage

FORGOTTEN = 1000  # counts after which those of minutes that are over are removed


class SharedCounts(Storage):
    """Counts in a file that only these processes write to; it need not survive anything.

    Parameters
    ----------
    path : str
        ":memory:" for one process alone.

    Examples
    --------
    >>> from limits import RateLimitItemPerMinute
    >>> from limits.strategies import FixedWindowRateLimiter
    >>> counts, two = SharedCounts(":memory:"), RateLimitItemPerMinute(2)
    >>> [FixedWindowRateLimiter(counts).hit(two, "a") for _ in range(3)]
    [True, True, False]
    >>> counts.close()
    """

    STORAGE_SCHEME = ["ract"]  # noqa: RUF012  (that of the library)

    def __init__(self, path: str) -> None:
        super().__init__()
        self._lock, self._n = threading.Lock(), 0
        self._db = sqlite3.connect(path, 5, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=MEMORY").close()
        self._db.execute("PRAGMA synchronous=OFF").close()
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, n INT, till REAL)"
        )

    @property
    def base_exceptions(self) -> type[Exception]:
        """What may go wrong."""
        return sqlite3.Error

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count so many more; how many there are in this window."""
        now = time.time()
        with self._lock:
            self._n += 1
            if self._n % FORGOTTEN == 0:
                self._db.execute("DELETE FROM counts WHERE till <= ?", (now,))
            (found,) = self._db.execute(
                "INSERT INTO counts VALUES (:key, :n, :till) ON CONFLICT (key) DO UPDATE SET "
                "n = CASE WHEN till <= :now THEN :n ELSE n + :n END, "
                "till = CASE WHEN till <= :now THEN :till ELSE till END RETURNING n",
                {"key": key, "n": amount, "till": now + expiry, "now": now},
            ).fetchone()
        return int(found)

    def _row(self, key: str) -> tuple[int, float]:
        with self._lock:
            row = self._db.execute("SELECT n, till FROM counts WHERE key = ?", (key,)).fetchone()
        return row if row is not None and row[1] > time.time() else (0, time.time())

    def get(self, key: str) -> int:
        """How many there are in this window."""
        return self._row(key)[0]

    def get_expiry(self, key: str) -> float:
        """When the window ends."""
        return self._row(key)[1]

    def check(self) -> bool:
        """Whether counts can be kept."""
        return True

    def reset(self) -> int:
        """Forget everything."""
        return self._db.execute("DELETE FROM counts").rowcount

    def clear(self, key: str) -> None:
        """Forget one count."""
        self._db.execute("DELETE FROM counts WHERE key = ?", (key,))

    def close(self) -> None:
        """Close the file."""
        self._db.close()
