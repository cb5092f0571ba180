"""Whether the trees that were read decide as the model itself does, and still are the model's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import parallel_config

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract.trees.readers.from_sklearn import preparation_of
from ract.trees.readers.model import OwnModel, TreeModel
from ract.trees.readers.seen import Seen
from ract.trees.readers.steps import as_trained, unwrapped

Parts = tuple[Any, ...]


def check_decisions(
    model: object, tree: TreeModel, people: TableLike, matrix: np.ndarray, threshold: float | None
) -> None:
    """Refuse a model whose own decisions on some people are not those of its trees.

    A library may stop adding up early, and a subclass may decide by a rule of its own; recourse
    in the trees would then be recourse in another model. Models of ract are their trees.

    Parameters
    ----------
    model : classifier
        As it was given.
    tree : TreeModel
        What was read of it.
    people : frame or array
    matrix : float (people, columns)
        The same, encoded.
    threshold : float, optional
        The probability that decides, where it is not the model's own rule.
    """
    regresses = not hasattr(model, "classes_")
    asked = "predict" if threshold is None or regresses else "predict_proba"
    bare = regresses and not hasattr(model, "get_params")  # a Booster predicts no class
    if isinstance(tree, OwnModel) or bare or not hasattr(model, asked):
        return
    steps, last = unwrapped(model)
    prepared = preparation_of(last)
    with warnings.catch_warnings(), parallel_config("sequential"):  # a fixed order of addition
        warnings.simplefilter("ignore")  # names of columns are checked when a model is read
        given = as_trained(steps if prepared is None else [*steps, prepared], people)
        answer = np.asarray(getattr(model, asked)(given))
    if regresses:
        decided = answer >= threshold if tree.desired == "at least" else answer <= threshold
    elif threshold is None:
        decided = answer == tree.desired
    else:
        decided = answer[:, tree.classes.tolist().index(tree.desired)] >= threshold
    differ = int((decided != tree.decide_encoded(matrix)).sum())
    if differ:
        raise InvalidSpec(
            f"{type(last).__name__}.{asked} decides otherwise than the model's trees for {differ} "
            f"of {len(matrix)} people, as where prediction stops early or a subclass has a rule of "
            "its own; such a model is not supported."
        )


def check_scores(model: TreeModel, seen: Seen, k: int, name: str) -> None:
    """Compare with the library's own scores of a few people, in case a new version differs."""
    matrix = seen.matrix
    asked = seen.reading.ask(seen.columns(matrix))
    ensemble = model.ensemble
    if seen.reading.scores is not None:
        asked = asked[:, k]
    scores = ensemble.totals(matrix)[1] if ensemble.combine == "votes" else ensemble.score(matrix)
    if k == 0 and seen.reading.scores is None:
        scores = 1 - scores if seen.reading.link is None else -scores
    if not np.allclose(scores, asked, rtol=1e-5, atol=1e-6):
        raise InvalidSpec(
            f"{name} was read wrongly: its library gives other scores to the same people; this "
            "version of the library is not supported."
        )


def fitted_parts(model: object) -> Parts | None:
    """What a model consists of; None where it can change without a sign of it.

    Fitting replaces what a model has learned. So two looks at the same model find the same objects,
    unless it was fitted, or grown further, in between.

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
