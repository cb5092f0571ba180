"""The question behind every answer: which model, which people, at what cost and within what."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
import pandas as pd

from ract._frames import Table, read_table, take_rows
from ract._unread import Unread, without_unread
from ract.costs import Cost, FittedCost, fit_cost, reweighted
from ract.encoding import Axis, Encoder
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidData, InvalidSpec, listing
from ract.interop import TreeModel, read_model
from ract.interop.agree import check_decisions
from ract.interop.model import OwnModel
from ract.interop.steps import unwrapped
from ract.recourse.common.limits import check_budget

TIME_LIMIT = 10.0  # seconds per person, by default

T = TypeVar("T")


class Confirmed(NamedTuple):
    """Plans as columns hold them, the ends of their ranges, and which plans the model accepts."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    accepted: np.ndarray


@dataclass(frozen=True)
class Question:
    """What these people can do to get the desired class of this model.

    Parameters
    ----------
    model : classifier
        As it was given.
    tree : TreeModel
        The model as trees over encoded columns.
    people : frame or array
        As they were given; without those who cannot be read.
    matrix : float (people, columns)
        The same, encoded.
    cost : FittedCost
    budget : float
        Most that an action may cost; inf without a limit.
    reference : frame or array, optional
        People from whom costs are learned; the people asked about by default.
    threshold : float, optional
        The probability that decides, where it is not the model's own rule.
    strength : float, optional
        What plans must win; by default what the decision needs.
    lasting : float, optional
        The probability with which plans of that strength last.
    unread : Unread, optional
        The rows that cannot be read, if there are any.
    narrow : mapping
        The features whose numbers the table holds with fewer digits than a double, and their types.
    also : tuple of Question
        The same question to further models, which must accept plans too.
    decides : bool
        Whether the model decides about people; a judge of outcomes does not, it only has to agree
        with plans.
    """

    model: Any
    tree: TreeModel
    people: Any
    matrix: np.ndarray
    cost: FittedCost
    budget: float
    reference: Any = None
    threshold: float | None = None
    strength: float | None = None
    lasting: float | None = None
    unread: Unread | None = None
    narrow: Mapping[int, Any] = field(default_factory=dict)
    also: tuple[Question, ...] = ()
    decides: bool = True

    @classmethod
    def of(cls, model: Any, X: Any, *, strict: bool = True, **how: Any) -> Question:
        """Read the model, encode the people, learn the cost; each of them once.

        Parameters are those of ``ract.find_recourse``. Cost and budget are the model's own unless
        they are given; without either, percentile cost and no limit. If ``strict`` is false, the
        question is about the people who can be read.
        """
        table = read_table(X)  # refuses an empty one
        try:
            return cls._of(model, X, table=table, **how)
        except InvalidData:
            if strict:
                raise
            encoder = _known_encoder(model, **how)
            people, unread = without_unread(X, encoder)
            given = {name for name, value in how.items() if value is not None}
            learns = "reference" not in given and (encoder is None or given & {"actions", "cost"})
            if not unread.messages or (learns and not len(people)):
                raise
        return replace(cls._of(model, people, **how), unread=unread)

    @classmethod
    def _of(
        cls,
        model: Any,
        X: Any,
        *,
        actions: Any = None,
        desired: Any = None,
        threshold: float | None = None,
        reference: Any = None,
        cost: str | Cost | None = None,
        budget: float | None = None,
        table: Table | None = None,
    ) -> Question:
        known = X if reference is None else reference
        tree = read_model(model, known, actions, desired=desired, threshold=threshold)
        budget, matrix = own_budget(model, budget), np.empty((0, tree.encoder.n_columns))
        narrow: dict[int, Any] = {}
        if len(X):
            table = read_table(X) if table is None else table
            matrix = tree.encoder.matrix(table)
            _check_order(table.names, tree.encoder.feature_names)
            narrow = tree.encoder.narrow(table)
            check_decisions(model, tree, X, matrix, threshold)
        if cost is None and hasattr(model, "cost_"):
            fitted: FittedCost = model.cost_
        else:
            learned_from = matrix if reference is None else tree.encoder.matrix(reference)
            fitted = fit_cost(
                "percentile" if cost is None else cost, list(learned_from.T),
                tree.encoder.weights, exact=True, missing=tree.encoder.missing_cells,
            )  # fmt: skip
        return cls(model, tree, X, matrix, fitted, budget, reference, threshold, narrow=narrow)

    @classmethod
    def of_all(cls, models: Sequence[Any], X: Any, **given: Any) -> Question:
        """One question to several models; cost, rules and budget are those of the first.

        Parameters are those of ``of``. Models over other columns are refused.
        """
        if not len(models):
            raise InvalidSpec("The list of models is empty.")
        first, also = cls.of(models[0], X, **given), []
        given = {name: value for name, value in given.items() if name != "strict"}
        for k, model in enumerate(models[1:], start=2):
            rules = None if hasattr(model, "ensemble_") else first.encoder.space
            own = {"actions": rules, "desired": first.tree.desired, "cost": None}
            other = cls._of(model, first.people, **(given | own))
            _check_columns(k, other.encoder, first.encoder, bounds=rules is not None)
            also.append(other)
        return replace(first, also=tuple(also))

    def of_rows(self, rows: np.ndarray) -> Question:
        """The same question about some of the people, all of whom could be read."""
        if self.unread is not None:
            raise InvalidSpec("People who cannot be read cannot be chosen from.")
        people, matrix = take_rows(self.people, rows), self.matrix[rows]
        known = self.people if self.reference is None else self.reference
        also = tuple(one.of_rows(rows) for one in self.also)
        return replace(self, people=people, matrix=matrix, reference=known, also=also)

    def at_strength(self, strength: Any) -> Question:
        """The same question about plans that must win so much."""
        check_strength(strength)
        also = tuple(one.at_strength(strength) if one.decides else one for one in self.also)
        return replace(self, strength=strength, also=also)

    def earned_by(self, judge: Any) -> Question:
        """The same question, with a judge of outcomes who must agree with plans too."""
        opinion = replace(
            self, model=judge, tree=judge.goal(self.tree), strength=None, also=(), decides=False
        )
        return replace(self, also=(*self.also, opinion))

    @property
    def each(self) -> tuple[Question, ...]:
        """The question to each of its models."""
        return (replace(self, also=()), *self.also)

    @property
    def ensemble(self) -> TreeEnsemble:
        """The model's trees."""
        return self.tree.ensemble

    @property
    def goal(self) -> TreeEnsemble:
        """The model's trees, with what plans must win in place of what the decision needs."""
        return self.ensemble if self.strength is None else self.ensemble.stronger(self.strength)

    @property
    def encoder(self) -> Encoder:
        """From the user's own table to encoded columns."""
        return self.tree.encoder

    @cached_property
    def axes_without_supply(self) -> tuple[Axis, ...]:
        """The rules of features, but nobody hands in a missing value."""
        return tuple(axis.without_supply() for axis in self.encoder.axes)

    @cached_property
    def known(self) -> np.ndarray:
        """The reference people, encoded."""
        return self.matrix if self.reference is None else self.encoder.matrix(self.reference)

    @cached_property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        if isinstance(self.people, pd.DataFrame):
            return self.people.index
        if self.unread is not None:
            return pd.Index(self.unread.rows)
        return pd.RangeIndex(len(self.matrix))

    @property
    def everyone(self) -> Any:
        """The people as they were given, with those who cannot be read."""
        return self.people if self.unread is None else self.unread.table

    @property
    def messages(self) -> dict[int, str]:
        """By position: what is wrong with the rows that cannot be read."""
        return {} if self.unread is None else self.unread.messages

    @property
    def labels_of_everyone(self) -> pd.Index:
        """Labels of all people, with those who cannot be read."""
        if self.unread is None:
            return self.labels
        table = self.unread.table
        return table.index if isinstance(table, pd.DataFrame) else pd.RangeIndex(self.unread.n_rows)

    def among_all(self, values: np.ndarray, otherwise: Any) -> np.ndarray:
        """Values of those who were read, with others for those who were not."""
        return values if self.unread is None else self.unread.among_all(values, otherwise)

    def of_those_read(self, by_label: Mapping[Any, Any] | None) -> Mapping[Any, Any] | None:
        """What is said of people by their labels, without those who cannot be read."""
        if self.unread is None or not by_label:
            return by_label
        table, bad = self.unread.table, list(self.unread.messages)
        left_out = set(table.index[bad] if isinstance(table, pd.DataFrame) else bad)
        left_out -= set(self.labels)
        return {label: said for label, said in by_label.items() if label not in left_out}

    def confirmed(
        self, rows: np.ndarray, values: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> Confirmed:
        """Put plans and the two ends of their ranges to the model, as the columns hold them.

        A value that a column rounds back (a double in a column of singles) moves on to the next
        one that the column holds, or back if that is beyond a bound. A range of which the model
        refuses an end shrinks to the plan.

        Parameters
        ----------
        rows : int (plans,)
            Whose plans they are.
        values : float (plans, columns)
        low, high : float (plans, axes)
            Ends of their ranges; infinite where there is none, NaN where nothing is proved.
        """
        encoder, narrow = self.encoder, self.narrow
        columns = [axis.columns[0] for axis in encoder.axes]
        lower, upper = np.array([axis.feature.bounds for axis in encoder.axes]).T
        goal, own = values[:, columns], self.matrix[rows][:, columns]
        least = np.where(goal > own, goal, np.where(np.isnan(low), lower, low))
        most = np.where(goal < own, goal, np.where(np.isnan(high), upper, high))
        stays = (goal == own) | np.isnan(goal)
        least[stays] = most[stays] = np.nan
        values = encoder.held(values, narrow, least, most)
        goal = values[:, columns]
        corners = []
        for end in (low, high):
            corner = values.copy()
            corner[:, columns] = np.where(np.isfinite(end), end, goal)
            corners.append(encoder.held(corner, narrow, low, high))
        everything = np.tile(rows, 3), np.vstack([values, *corners])
        asked = np.all([one._accepts(*everything) for one in self.each], axis=0)
        accepted, *ends = np.split(asked, 3)
        accepted = accepted & ~((goal < low) | (goal > high)).any(axis=1)
        ranged = np.logical_and(*ends)[:, None]
        low, high = (
            np.where(np.isfinite(end), np.where(ranged, corner[:, columns], goal), end)
            for end, corner in zip((low, high), corners, strict=True)
        )
        return Confirmed(values, low, high, accepted)

    def decide(self, *, n_jobs: int | None = None) -> np.ndarray:
        """Who has the desired class of every model already."""
        each = [one.ensemble.decide(self.matrix, n_jobs=n_jobs) for one in self.each if one.decides]
        return np.asarray(np.all(each, axis=0))

    def wins(self, values: np.ndarray) -> np.ndarray:
        """The strength of encoded rows; of several models the least."""
        each = [one.ensemble.strength(values) for one in self.each if one.decides]
        return np.asarray(np.min(each, axis=0))

    def _accepts(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether the model gives encoded people the desired class, asked as a user would."""
        model = self.model
        by_predict = self.decides and hasattr(model, "predict") and hasattr(model, "classes_")
        if isinstance(self.tree, OwnModel) or self.threshold is not None or not by_predict:
            return self.ensemble.decide(values)
        table = self.encoder.decode(values, like=take_rows(self.people, rows))
        return np.asarray(np.asarray(model.predict(table)) == self.tree.desired)

    def with_rules(self, axes: tuple[Axis, ...]) -> Question:
        """The same question under other rules: where weights differ, with another cost."""
        weights = [(axis.feature.weight, own.feature.weight, own)
                   for axis, own in zip(axes, self.encoder.axes, strict=True)]  # fmt: skip
        if all(new == old for new, old, _ in weights):
            return self
        factors = np.ones(self.encoder.n_columns)
        for new, old, own in weights:
            if new != old and old == 0:
                raise InvalidSpec(
                    f"Changing {own.feature.name!r} is free for everybody (weight 0); nothing is "
                    "known of its effort that an override could weigh."
                )
            factors[list(own.columns)] = 1.0 if new == old else new / old
        return replace(self, cost=reweighted(self.cost, factors))

    def in_own_terms(self, axis: Axis, values: np.ndarray) -> np.ndarray:
        """Encoded values (rows x columns) of a feature as the people's own table has them."""
        feature, block = axis.feature, values[:, list(axis.columns)]
        if feature.is_categorical:
            names = np.full(len(axis.columns), None, dtype=object)
            names[: len(feature.categories)] = feature.categories
            return names[block.argmax(axis=1)]
        column: list[Any] = [None if np.isnan(v) else v for v in block[:, 0].tolist()]
        if feature.kind != "continuous":
            column = [int(v) if v is not None and v == int(v) else v for v in column]
        if self._roles.get(feature.name) == "bool":
            column = [bool(v) if v in (0, 1) else v for v in column]
        out = np.empty(len(column), dtype=object)
        out[:] = column
        return out

    @cached_property
    def _roles(self) -> dict[str, str]:
        table = read_table(self.people)
        return {name: table.role(name) for name in table.names}

    def by(self, ensemble: TreeEnsemble) -> Question:
        """The same question to other trees over the same columns."""
        return replace(self, tree=replace(self.tree, ensemble=ensemble))


class ByPerson(Sequence[T]):
    """An answer to a question: something for each person, made when it is looked at."""

    question: Question

    @abstractmethod
    def _of(self, i: int) -> T:
        """What there is for the person at a position."""

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._of(i) for i in range(*index.indices(len(self)))]
        return self._of(range(len(self))[index])

    def __iter__(self) -> Iterator[T]:
        return (self._of(i) for i in range(len(self)))

    @property
    def people(self) -> Any:
        """The people as they were given."""
        return self.question.everyone

    @property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        return self.question.labels_of_everyone

    @property
    def messages(self) -> dict[int, str]:
        """By position: what is wrong with the rows that cannot be read."""
        return self.question.messages

    @property
    def desired(self) -> Any:
        """The class that people want."""
        return self.question.tree.desired

    def _among_read(self, i: int) -> int:
        """The position, among those who were read, of someone who was."""
        unread = self.question.unread
        return i if unread is None else int(np.searchsorted(unread.rows, i))


def check_strength(strength: Any) -> None:
    """Refuse what is no share."""
    if strength is None:
        return
    number = isinstance(strength, (int, float, np.number)) and not isinstance(strength, bool)
    if not (number and 0 <= strength <= 1):
        raise InvalidSpec(f"strength must be a share from 0 to 1, or 'most'; got {strength!r}.")


def _known_encoder(
    model: Any,
    *,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    **_: Any,
) -> Encoder | None:
    """The encoder that is known before any of the people were read."""
    if reference is not None:
        return read_model(model, reference, actions, desired=desired, threshold=threshold).encoder
    return getattr(unwrapped(model)[1], "encoder_", None)


def _check_columns(k: int, other: Encoder, first: Encoder, *, bounds: bool) -> None:
    """Refuse a model over other encoded columns, or whose own steps leave people less room."""
    same = other.column_names == first.column_names
    for mine, theirs in zip(other.axes, first.axes, strict=False):
        same = same and (mine.feature.name, mine.columns) == (theirs.feature.name, theirs.columns)
        same = same and (not bounds or mine.feature.bounds == theirs.feature.bounds)
    if not same:
        raise InvalidSpec(
            f"Model {k} takes other columns, categories or bounds than the first one: "
            f"{listing(other.column_names, 30)} and not {listing(first.column_names, 30)}."
        )


def _check_order(names: Sequence[str], trained: Sequence[str]) -> None:
    """Refuse columns in another order than in training, as the models themselves do."""
    if tuple(names) != tuple(trained):
        raise InvalidData(
            f"The table's columns are in another order than in training: {listing(names, 30)} and "
            f"not {listing(trained, 30)}."
        )


def own_budget(model: Any, budget: float | None = None) -> float:
    """The budget that was given, or the model's own, or no limit."""
    if budget is None:
        budget = getattr(model, "budget", np.inf) if hasattr(model, "ensemble_") else np.inf
    return check_budget(budget)
