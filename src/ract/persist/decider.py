"""What a model file decides, without the learner and the searches that the model comes with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ract.ensemble import TreeEnsemble, on_its_side, sigmoid
from ract.errors import InvalidFile
from ract.interop.model import TreeModel
from ract.persist.contents import Contents, read_contents
from ract.persist.values import entry
from ract.tables import TableFormat

MOST_WALKS = 200_000  # of people through trees


class _Plain(TreeEnsemble):
    """Trees that are walked in plain NumPy while it is quicker than to load compiled code."""

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
    shares : {"shares", "votes", "scores"} or None
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

    def decide(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The class of each person, and the probability of the desired class."""
        model, ensemble = self.model, self.model.ensemble
        if self.shares is None:
            decided = model.decide(X)
            probability = np.asarray(model.probability(X), np.float64)
        elif self.shares == "scores":
            matrix = model.encoder.matrix(X, undeclared=True)
            decided = ensemble.decide(matrix)
            probability = on_its_side(sigmoid((self.gives or ensemble).score(matrix)), decided)
        else:
            votes, sums = ensemble.totals(model.encoder.matrix(X, undeclared=True))
            decided = votes >= ensemble.cutoff
            share = (sums if self.shares == "shares" else votes) / ensemble.n_trees
            probability = on_its_side(share, decided)
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
    return read_contents(source, _decider)


def _decider(data: bytes) -> Decider:
    contents = Contents.of_bytes(data)
    core, shares = contents.core(), None
    if contents.kind == "boosting":
        shares = "scores"
    elif contents.kind != "imported":
        shares = entry(contents.meta, "parameters", dict).get("probability", "shares")
        if shares not in ("shares", "votes"):
            raise InvalidFile(f"its parameter probability is {shares!r:.60}")
    encoder = core["encoder_"]
    plain, gives = (_plain(core.get(name)) for name in ("ensemble_", "probability_ensemble_"))
    assert plain is not None
    n_features, link = len(encoder.feature_names), core.get("link")
    model = TreeModel(encoder, plain, core["classes_"], core["desired_"], n_features, link)
    return Decider(model, shares, contents.table(), gives)


def _plain(trees: TreeEnsemble | None) -> _Plain | None:
    if trees is None:
        return None
    return _Plain(**{field.name: getattr(trees, field.name) for field in fields(trees)})
