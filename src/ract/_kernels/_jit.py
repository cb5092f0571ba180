"""One switch for how every kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

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
