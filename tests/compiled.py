"""Where tests and pages keep compiled code, and how workers share the work of compiling.

Numba notices a change of a kernel's own file but not of the files that it calls into. Compiled code
is therefore kept by the state of all kernels, and by Numba's version, since two environments would
overwrite each other's. To be imported before Numba.
"""

import hashlib
import os
import threading
from contextlib import suppress
from functools import wraps
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_sources = sorted((ROOT / "src" / "ract" / "_kernels").rglob("*.py"))
_state = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
FOLDER = ROOT / ".numba_cache" / f"{_state}-{version('numba')}"
FOLDER.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("NUMBA_CACHE_DIR", str(FOLDER))


def compile_in_turn():
    """Have one process compile a kernel while others wait, to load what it has kept."""
    from numba.core.dispatcher import Dispatcher

    with suppress(ImportError):  # there is no fcntl on Windows, where every process compiles
        Dispatcher.compile = _in_turn(Dispatcher.compile)


def _in_turn(compile_here):
    from fcntl import LOCK_EX, flock

    thread = threading.local()

    @wraps(compile_here)
    def compile_or_load(self, signature):
        if getattr(thread, "compiles", False):  # a part of a kernel whose turn it is
            return compile_here(self, signature)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        with (FOLDER / name).open("w") as turn:
            flock(turn, LOCK_EX)
            thread.compiles = True
            try:
                return compile_here(self, signature)
            finally:
                thread.compiles = False

    return compile_or_load
