"""What a model file decides, without the learner and the searches that the model comes with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData
from ract._utils.typing import TableLike
from ract.data.csv import TableFormat
from ract.data.invalid_rows import set_aside_invalid
from ract.io.contents import Contents, read_contents
from ract.trees.ensemble import TreeEnsemble
from ract.trees.log_odds import sigmoid
from ract.trees.readers.model import TreeModel

MOST_WALKS = 200_000  # of people through trees


class _Plain(TreeEnsemble):
    """Trees that are walked in plain NumPy while it is quicker than to load compiled code."""

    @classmethod
    def of(cls, trees: TreeEnsemble) -> _Plain:
        """The same trees."""
        return cls(**{field.name: getattr(trees, field.name) for field in fields(trees)})

    def _totals(self, X: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if len(X) * len(root) > MOST_WALKS:
            return super()._totals(X, root)
        at, person = np.tile(root, (len(X), 1)), np.arange(len(X))[:, None]
        moved = True
        while moved:
            left, right, column = np.moveaxis(self._steps[at], -1, 0)
            here = X[person, column]
            to_left = here <= self.threshold[at]
            if self.missing_left is not None:
                to_left |= np.isnan(here) & (self.missing_left[at] == 1)
            child = np.where(to_left, left, right)
            moved, at = bool((child != at).any()), child
        votes = self.label[at].sum(axis=1, dtype=np.int64)
        sums: np.ndarray = np.full(len(X), self.base, np.float32 if self.single else np.float64)
        for leaf in at.T:  # in the order of the trees, as the kernel adds
            sums += self.value[leaf]
        return votes, sums


@dataclass(frozen=True)
class Decider:
    """The decisions of a model: its ``predict`` and ``predict_proba``, bit for bit.

    Parameters
    ----------
    model : TreeModel
    shares : {"shares", "scores"} or None
        What the probabilities of one of ract's own models are; None for an imported one.
    table : TableFormat
        How tables for the model are written.
    gives : TreeEnsemble, optional
        The trees whose scores the probabilities are; those that decide by default.
    """

    model: TreeModel
    shares: str | None
    table: TableFormat = field(default_factory=TableFormat)
    gives: TreeEnsemble | None = None

    def decide(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        """The class of each person, and the probability of the desired class."""
        model, ensemble = self.model, self.model.ensemble
        if self.shares is None:
            decided, probability = model.decide(X), model.probability(X).astype(np.float64)
        else:
            matrix = model.encoder.matrix(X, undeclared=True)
            decided = ensemble.decide(matrix)
            if self.shares == "scores":
                probability = sigmoid((self.gives or ensemble).score(matrix))
            else:
                probability = ensemble.totals(matrix)[1] / ensemble.n_trees
        other = model.classes[model.classes != model.desired][0]
        if other == model.classes[1]:  # as a table of both classes has it, whose rows sum to 1
            probability = 1 - (1 - probability)
        return np.where(decided, model.desired, other).astype(model.classes.dtype), probability


def read_decider(source: str | Path) -> Decider:
    """The decisions of a model file.

    Parameters
    ----------
    source : path
    """
    return read_contents(source, decider_from_bytes)


def decider_from_bytes(data: bytes) -> Decider:
    """The decisions of the content of a model file."""
    contents = Contents.of_bytes(data)
    core, shares = contents.core, {"boosting": "scores", "imported": None}
    n_features = len(core.encoder.feature_names)
    plain, link = _Plain.of(core.ensemble), core.link
    model = TreeModel(core.encoder, plain, core.classes, core.desired, n_features, link)
    gives = None if core.probability_ensemble is None else _Plain.of(core.probability_ensemble)
    return Decider(model, shares.get(contents.kind, "shares"), contents.table(), gives)


def decided(decider: Decider, X: pd.DataFrame, *, strict: bool = False) -> pd.DataFrame:
    """What a model decides about people, in their order; a row that cannot be read has a message.

    Parameters
    ----------
    decider : Decider
    X : DataFrame
        In the columns of the model.
    strict : bool
        Refuse the whole table if a row cannot be read.
    """
    read, invalid = X, None
    try:
        prediction, probability = decider.decide(X)
    except InvalidData:
        if strict:
            raise
        kinds = decider.shares is not None  # an imported model takes fractions, as its library
        read, invalid = set_aside_invalid(X, decider.model.encoder, kinds=kinds)
        if not invalid.messages:
            raise
        nobody = decider.model.classes[:0], np.empty(0)
        prediction, probability = decider.decide(read) if len(read) else nobody
    # Arrays of pandas keep their type beside missing values, and all parts have the same.
    columns = {"prediction": pd.array(prediction), "probability": probability}
    answers = pd.DataFrame(columns, index=read.index)
    messages = {} if invalid is None else invalid.messages
    if invalid is not None:
        answers = invalid.scatter_table(answers)
    answers["message"] = np.array([messages.get(i) for i in range(len(X))], object)
    answers.insert(0, "person", X.index)
    return answers
