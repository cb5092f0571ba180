"""Whether the trees that were read decide as the model itself does."""

from __future__ import annotations

import warnings

import numpy as np
from joblib import parallel_config

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract.trees.readers.from_sklearn import preparation_of
from ract.trees.readers.model import OwnModel, TreeModel
from ract.trees.readers.seen import Seen
from ract.trees.readers.steps import as_trained, unwrapped


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
    own = ensemble.totals(matrix)[1] if ensemble.combine == "votes" else ensemble.score(matrix)
    if k == 0 and seen.reading.scores is None:
        own = 1 - own if seen.reading.link is None else -own
    if not np.allclose(own, asked, rtol=1e-5, atol=1e-6):
        raise InvalidSpec(
            f"{name} was read wrongly: its library gives other scores to the same people; this "
            "version of the library is not supported."
        )
