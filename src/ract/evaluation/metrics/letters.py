"""Plans as letters say them, whatever found them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.typing import Classifier, Label, TableLike
from ract.data.actions import ActionSpace
from ract.data.encoder import Encoder
from ract.data.frames import read_table
from ract.recourse.common.answers import differs
from ract.recourse.few_changes import plans_for_people
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import read_model

# A fitted model, or a function from a table to who is accepted.
Decider: TypeAlias = "Classifier | Callable[[Any], np.ndarray]"


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
    people: TableLike
    known_people: TableLike
    desired: Label
    ensembles: tuple[TreeEnsemble, ...] = ()
    model: object = None

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
        refused = ~(recourse.accepted | recourse.invalid)
        people = (refused, recourse.found, recourse.cost, recourse.labels, recourse.people)
        trees = tuple(asked.ensemble for asked in question.each if asked.decides)
        encoder, before = recourse.encoder, recourse.before
        return cls(encoder, before, after, *people, known, recourse.desired, trees)

    @classmethod
    def of_table(
        cls,
        model: object,
        X: TableLike | None,
        plans: TableLike,
        actions: ActionSpace | None,
        desired: Label | None,
        reference: TableLike | None,
        safety: str,
    ) -> Letters:
        """Those of plans that were found by other means."""
        if X is None or actions is None or desired is None:
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
        people = (refused, found, np.full(len(before), np.nan), labels, X)
        return cls(encoder, before, after, *people, known, desired, ensembles, model)

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Whom the model accepts of encoded people."""
        if self.ensembles:
            return np.all([ensemble.decide(points) for ensemble in self.ensembles], axis=0)
        return accepts_by(self.model, self.desired)(self.encoder.decode(points, like=self.people))


def plans_of_letters(model: Classifier, X: TableLike, **options: Any) -> Recourse:
    """The plans that letters carry: those of ``model.recourse``, or of any model that is read."""
    find = getattr(model, "recourse", partial(find_recourse, model))
    return plans_for_people(find, X, **{"explain": False, **options})


def accepts_by(model: object, desired: Label) -> Callable[[TableLike], np.ndarray]:
    """From a table to whom a model accepts."""
    if hasattr(model, "predict"):
        return lambda table: np.asarray(np.asarray(model.predict(table)) == desired)
    if not callable(model):
        raise InvalidSpec(
            f"Expected a fitted model or a function from a table to who is accepted, got "
            f"{type(model).__name__}."
        )
    return lambda table: np.asarray(model(table), dtype=bool)
