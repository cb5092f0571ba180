"""One switch for how every kernel is compiled, and a notice while that takes time."""

from __future__ import annotations

import gc
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TypeVar

from numba import config, njit
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., object])


_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_PART = {"no_cpython_wrapper": True, **_OPTIONS}


def kernel(function: Kernel) -> Kernel:
    """Compile on first use, without the interpreter lock, and keep the result on disk.

    It makes no arrays, so that there are no references to count.
    """
    return _kept(function, _nrt=False)


def making_kernel(function: Kernel) -> Kernel:
    """As kernel, of a function that makes arrays."""
    return _kept(function)


def _kept(function: Kernel, **options: bool) -> Kernel:
    """Compile a function that is called from Python.

    Numba looks for a folder that can be written: NUMBA_CACHE_DIR, beside the package, the user's
    cache. In a container there may be none, and it raises RuntimeError.
    """
    compiled: Kernel
    with suppress(RuntimeError):
        compiled = njit(cache=True, **options, **_OPTIONS)(function)
        return compiled
    with suppress(RuntimeError), _keeping_in(temporary_folder()):
        compiled = njit(cache=True, **options, **_OPTIONS)(function)
        return compiled
    _NOTICE.kept = False
    compiled = njit(**options, **_OPTIONS)(function)
    return compiled


@cache
def temporary_folder() -> str:
    """A folder of this user alone in the temporary directory; empty if there can be none.

    Compiled code is run when it is read, so that nobody else may be able to put it there.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0  # temporary folders of Windows have a user
    try:
        folder = Path(tempfile.gettempdir()) / f"ract-numba-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return ""
    theirs = stat.S_ISDIR(found.st_mode) and (os.name == "nt" or found.st_uid == user)
    private = os.name == "nt" or not found.st_mode & 0o022
    return str(folder) if theirs and private else ""


@contextmanager
def _keeping_in(folder: str) -> Iterator[None]:
    """Have kernels that are declared in the meantime kept in a folder."""
    before, config.CACHE_DIR = config.CACHE_DIR, folder
    try:
        yield
    finally:
        config.CACHE_DIR = before


def inner(function: Kernel) -> Kernel:
    """Compile a function that only kernels call, as part of them: no way in from Python."""
    compiled: Kernel = njit(_nrt=False, **_PART)(function)
    return compiled


def making(function: Kernel) -> Kernel:
    """As inner, of a function that makes arrays."""
    compiled: Kernel = njit(**_PART)(function)
    return compiled


def inlined(function: Kernel) -> Kernel:
    """As inner, but copied into its caller, which saves counting references to many arrays."""
    compiled: Kernel = njit(forceinline=True, _nrt=False, **_PART)(function)
    return compiled


class _Notice(event.Listener):
    """Says once per process that kernels are being compiled; a load from disk is silent.

    Garbage is collected afterwards: compiling makes so many objects that looking through all of
    them again and again takes a tenth of the time.
    """

    def __init__(self) -> None:
        self.shown = False
        self.kept = True
        self.lock = Lock()
        self.depth = 0
        self.collects = True

    def on_start(self, started: event.Event) -> None:
        with self.lock:
            if self.depth == 0:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1
        function = getattr(started.data["dispatcher"], "py_func", None)
        if not self.shown and getattr(function, "__module__", "").startswith("ract."):
            self.shown = True
            how_often = "once" if self.kept else "each time (set NUMBA_CACHE_DIR to keep it)"
            how_long = f"which takes up to half a minute {how_often}"
            print(f"ract: compiling for this machine, {how_long} ...", file=sys.stderr)

    def on_end(self, ended: event.Event) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()


_NOTICE = _Notice()
event.register("numba:compile", _NOTICE)
