"""Plans as letters say them, whatever found them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.encoder import Encoder
from ract.data.frames import read_table
from ract.recourse.common.answers import differs
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import read_model


@dataclass(frozen=True)
class Letters:
    """Plans as letters say them, of people who may be refused.

    Parameters
    ----------
    encoder : Encoder
    before, after : float (people, columns)
        Encoded people before and after what their letter says.
    refused, found : bool (people,)
        Who is refused, and who of them has a plan.
    cost : float (people,)
    labels : Index
    people, known_people : frame
        The people, and the table from which costs were learned.
    desired : label
    ensembles : tuple of TreeEnsemble
        Trees that all have to accept; empty if the model cannot be read.
    model : classifier or function, optional
        What decides where there are no trees.
    """

    encoder: Encoder
    before: np.ndarray
    after: np.ndarray
    refused: np.ndarray
    found: np.ndarray
    cost: np.ndarray
    labels: pd.Index
    people: Any
    known_people: Any
    desired: Any
    ensembles: tuple[TreeEnsemble, ...] = ()
    model: Any = None

    @classmethod
    def of_recourse(cls, recourse: Recourse) -> Letters:
        """Those of plans that ract found."""
        question = recourse.question
        after, columns = recourse.after.copy(), recourse.encoder.axes
        first = {axis.feature.name: axis.columns[0] for axis in columns}
        for i in np.flatnonzero(recourse.found).tolist():
            for change in recourse[i].changes:
                if not change.switch and not change.by_itself:
                    after[i, first[change.feature]] = float(change.goal)
        known = question.people if question.reference is None else question.reference
        return cls(
            recourse.encoder, recourse.before, after, ~(recourse.accepted | recourse.invalid),
            recourse.found, recourse.cost, recourse.labels, recourse.people, known,
            recourse.desired, tuple(one.ensemble for one in question.each if one.decides),
        )  # fmt: skip

    @classmethod
    def of_table(
        cls,
        model: Any,
        X: Any,
        plans: Any,
        actions: Any,
        desired: Any,
        reference: Any,
        safety: str,
    ) -> Letters:
        """Those of plans that were found by other means."""
        if actions is None or desired is None:
            raise InvalidSpec("plans need actions and desired: what may change, and to what end.")
        known = X if reference is None else reference
        ensembles: tuple[TreeEnsemble, ...] = ()
        encoder = Encoder.of_space(actions.complete(known), read_table(known).names)
        if safety != "sampled":
            try:
                tree = read_model(model, known, actions, desired=desired)
                ensembles, encoder = (tree.ensemble,), tree.encoder
            except (InvalidSpec, InvalidData):
                if safety == "proved":
                    raise
        before, after = encoder.matrix(X), encoder.matrix(plans)
        if before.shape != after.shape:
            raise InvalidData(f"X has {len(before)} rows but plans has {len(after)}.")
        refused = ~accepts_by(model, desired)(X)
        found = refused & differs(before, after).any(axis=1)
        labels = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(before))
        cost = np.full(len(before), np.nan)
        return cls(
            encoder, before, after, refused, found, cost, labels, X, known, desired, ensembles,
            model,
        )  # fmt: skip

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Whom the model accepts of encoded people."""
        if self.ensembles:
            each = [ensemble.decide(points) for ensemble in self.ensembles]
            return np.asarray(np.all(each, axis=0))
        return accepts_by(self.model, self.desired)(self.encoder.decode(points, like=self.people))


def accepts_by(model: Any, desired: Any) -> Callable[[Any], np.ndarray]:
    """From a table to whom a model accepts."""
    if hasattr(model, "predict"):
        return lambda table: np.asarray(np.asarray(model.predict(table)) == desired)
    if not callable(model):
        raise InvalidSpec(
            f"Expected a fitted model or a function from a table to who is accepted, got "
            f"{type(model).__name__}."
        )
    return lambda table: np.asarray(model(table), dtype=bool)
