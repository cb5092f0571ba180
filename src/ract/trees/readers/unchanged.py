"""Whether a model of another library is still the one that was read.

Fitting replaces what a model has learned. So two looks at the same model find the same objects,
unless it was fitted, or grown further, in between.
"""

from __future__ import annotations

from typing import Any

from ract.trees.readers.steps import unwrapped

Parts = tuple[Any, ...]


def fitted_parts(model: object) -> Parts | None:
    """What a model consists of; None where it can change without a sign of it.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    >>> before = fitted_parts(tree)
    >>> same_parts(before, fitted_parts(tree))
    True
    >>> same_parts(before, fitted_parts(tree.fit([[0], [2]], [0, 1])))
    False
    """
    steps, last = unwrapped(model)
    parts: list[Any] = []
    for each in (model, *steps, last):
        if not hasattr(each, "get_params") or not hasattr(each, "__dict__"):
            return None  # a booster grows in place
        for name, value in vars(each).items():
            inside = value if isinstance(value, (list, tuple)) else ()
            parts += [name, value, *inside]
    return tuple(parts)


def same_parts(one: Parts, other: Parts) -> bool:
    """Whether two looks at a model found the same objects, or equal texts and numbers."""
    if len(one) != len(other):
        return False
    return all(
        a is b or (isinstance(a, (str, int, float)) and type(a) is type(b) and a == b)
        for a, b in zip(one, other, strict=True)
    )
