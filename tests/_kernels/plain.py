"""Kernels as plain Python, without compiling them: parts of kernels have no way in from Python."""

from __future__ import annotations

from types import FunctionType, ModuleType

from ract._kernels import words

_MADE: dict[object, FunctionType] = {}


def plain(kernel):
    """The Python function of a kernel, calling the Python functions of others."""
    function = getattr(kernel, "py_func", kernel)
    if function not in _MADE:
        names = dict(function.__globals__)
        _MADE[function] = FunctionType(function.__code__, names, function.__name__)
        for name in function.__code__.co_names:
            value = names.get(name)
            if hasattr(value, "py_func") or isinstance(value, FunctionType):
                names[name] = plain(value)
            elif value is words.lowest_bit or value is words.popcount:
                names[name] = getattr(words, f"_plain_{name}")
            assert not isinstance(value, ModuleType) or not value.__name__.startswith("ract.")
    return _MADE[function]
