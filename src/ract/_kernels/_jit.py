"""One switch for how every kernel is compiled, and a notice while that takes time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., object])

_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: Kernel) -> Kernel:
    """Compile on first use, without the interpreter lock, and keep the result on disk."""
    compiled: Kernel = njit(cache=True, **_OPTIONS)(function)
    return compiled


def inner(function: Kernel) -> Kernel:
    """Compile a function that only kernels call, as part of them: no way in from Python."""
    compiled: Kernel = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    return compiled


def inlined(function: Kernel) -> Kernel:
    """As inner, but copied into its caller, which saves counting references to many arrays."""
    compiled: Kernel = njit(
        forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS
    )(function)
    return compiled


class _Notice(event.Listener):
    """Says once per process that kernels are being compiled; a load from disk is silent."""

    def __init__(self) -> None:
        self.shown = False

    def on_start(self, started: Any) -> None:
        function = getattr(started.data["dispatcher"], "py_func", None)
        if not self.shown and getattr(function, "__module__", "").startswith("ract."):
            self.shown = True
            print(
                "ract: compiling for this machine, which takes up to half a minute once ...",
                file=sys.stderr,
            )

    def on_end(self, ended: Any) -> None:
        pass


event.register("numba:compile", _Notice())
