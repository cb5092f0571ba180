"""The question behind every answer: which model, which people, at what cost and within what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract._utils.validation import NONE, between, check_value
from ract.data.actions.rules import ROUNDING, IfThen, LinearRelation, NoTransition
from ract.data.costs import FittedCost, reweighted
from ract.data.encoder import Axis, Encoder
from ract.data.frames import read_table, take_rows
from ract.recourse.rules.ruling import Ruling
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import TreeModel
from ract.trees.readers.model import OwnModel
from ract.trees.readers.scoring import by_share, with_rounded_ties

STRENGTH = between(0, 1, "a share from 0 to 1, or 'most'")


class PlanJudge(Protocol):
    """A judge of outcomes who must agree with plans, such as ``ract.OutcomeJudge``."""

    def goal(self, model: TreeModel, /) -> TreeModel:
        """Trees over a model's columns that accept whom the judge holds well above the bar."""


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
        People from whom costs are learned; by default the people of the question.
    threshold : float, optional
        The probability that decides, where it is not the model's own rule.
    strength : float, optional
        What plans must win; by default what the decision needs.
    lasting : float, optional
        The probability with which plans of that strength last.
    row_labels : Index, optional
        Labels of the people, where they are not those of their table.
    narrow : mapping
        The features whose numbers the table holds with fewer digits than a double, and their types.
    also : tuple of Question
        The same question to further models, which must accept plans too.
    decides : bool
        Whether the model decides about people; a judge of outcomes does not, it only has to agree
        with plans.
    months : int, optional
        The time that plans may take.
    """

    model: Any
    tree: TreeModel
    people: TableLike
    matrix: np.ndarray
    cost: FittedCost
    budget: float
    reference: TableLike | None = None
    threshold: float | None = None
    strength: float | None = None
    lasting: float | None = None
    row_labels: pd.Index | None = None
    narrow: Mapping[int, Any] = field(default_factory=dict)
    also: tuple[Question, ...] = ()
    decides: bool = True
    months: int | None = None

    def of_rows(self, rows: np.ndarray) -> Question:
        """The same question about some of the people, all of whom could be read."""
        people, matrix = take_rows(self.people, rows), self.matrix[rows]
        known = self.people if self.reference is None else self.reference
        also = tuple(one.of_rows(rows) for one in self.also)
        labels = None if self.row_labels is None else self.row_labels[rows]
        return replace(
            self, people=people, matrix=matrix, reference=known, also=also, row_labels=labels
        )

    def at_strength(self, strength: float | str | None) -> Question:
        """The same question about plans that must win so much."""
        share = check_strength(strength)
        deciding = [one for one in self.each if one.decides]
        if share is not None and any(one.tree.regresses for one in deciding):
            raise InvalidSpec(
                "What a regressor predicts has no strength; ask for more by another threshold."
            )
        first, *also = (replace(one, strength=share) if one.decides else one for one in self.each)
        # One class among several of averaged trees must have that share, besides winning.
        shares = {id(one.ensemble.root): by_share(one.ensemble) for one in deciding if share}
        for trees in filter(None, shares.values()):
            also.append(replace(self.by(trees), strength=share, also=(), decides=False))
        return replace(first, also=tuple(also))

    def strength_for(self, lasting: float) -> tuple[float, Any]:
        """The strength whose plans last with a probability, and the curve that says so."""
        curve = getattr(self.model, "lasting_", None)
        if curve is None:
            raise InvalidSpec(
                "How long plans last was not measured for this model: fit it with lasting=..., or "
                "give ract.import_model the curve that ract.calibrate makes."
            )
        strength: float | None = curve.strength_for(lasting)
        if strength is None:
            raise InvalidSpec(
                f"No strength was shown to make plans last with a probability of {lasting:.0%}; "
                "print(model.lasting_) says what was. Ask for less, or for strength='most'."
            )
        return strength, curve

    def earned_by(self, judge: PlanJudge) -> Question:
        """The same question, with a judge of outcomes who must agree with plans too."""
        return self._with_opinion(judge, judge.goal(self.tree), None)

    def agreed_by(self, guard: TreeEnsemble, strength: float) -> Question:
        """The same question, with trees over the same columns that plans must win as much of."""
        return self._with_opinion(guard, replace(self.tree, ensemble=guard), strength)

    def _with_opinion(self, judge: object, tree: TreeModel, strength: float | None) -> Question:
        opinion = replace(self, model=judge, tree=tree, strength=strength, also=(), decides=False)
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
        """The model's trees, with what plans must win in place of what the decision needs.

        Where a library compares rounded probabilities, points that may win by a rounding count as
        won: the library itself is asked about every plan, and "none" must hold for it, too.
        """
        strength = self.strength
        goal = self.ensemble if strength is None else self.ensemble.stronger(strength)
        return with_rounded_ties(goal) if self.tree.compares_rounded else goal

    @property
    def without_roundings(self) -> Question:
        """The same question by the scores alone, where a library compares rounded probabilities."""
        also = tuple(one.without_roundings for one in self.also)
        return replace(self, tree=replace(self.tree, compares_rounded=False), also=also)

    @property
    def encoder(self) -> Encoder:
        """From the user's own table to encoded columns."""
        return self.tree.encoder

    @property
    def rules(self) -> tuple[Axis, ...]:
        """What people may change by the model's own action space, where it has one."""
        if not isinstance(self.tree, OwnModel):
            return self.encoder.axes
        rules: tuple[Axis, ...] = self.tree.model.encoder_.axes
        if rules is self.encoder.axes:
            return rules
        return tuple(
            replace(rule, feature=replace(rule.feature, within=axis.feature.within))
            for rule, axis in zip(rules, self.encoder.axes, strict=True)
        )  # what a time leaves is no option

    @cached_property
    def joint_rules(self) -> tuple[LinearRelation | IfThen, ...]:
        """The rules between features; forbidden transitions are in the axes."""
        every = self.encoder.space.rules
        return tuple(rule for rule in every if not isinstance(rule, NoTransition))

    def refuse_rules(self, what: str) -> None:
        """Refuse rules between features for what does not honour them."""
        if self.joint_rules:
            raise InvalidSpec(
                f"{what} cannot take account of rules between features, such as "
                f"'{self.joint_rules[0]}'; leave the rules out of the action space."
            )

    def refuse_several(self, what: str) -> None:
        """Refuse several models, and one class among several, for what takes one ensemble."""
        if self.also:
            raise InvalidSpec(
                f"{what} is about one model of two classes; got several models, or a model of "
                f"{len(self.tree.classes)} classes."
            )

    def keeps_rules(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether encoded plans of some people keep the rules, as the columns hold them."""
        rounding = float(np.finfo(np.float32).eps) if self.narrow else ROUNDING
        ruling = Ruling(self.joint_rules, self.encoder.axes, self.cost)
        return ruling.hold(self.matrix[rows], values, rounding)

    @cached_property
    def axes_without_supply(self) -> tuple[Axis, ...]:
        """The rules of features, but nobody supplies a missing value."""
        return tuple(axis.without_supply() for axis in self.encoder.axes)

    @cached_property
    def known(self) -> np.ndarray:
        """The reference people, encoded."""
        return self.matrix if self.reference is None else self.encoder.matrix(self.reference)

    @cached_property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        if self.row_labels is None and isinstance(self.people, pd.DataFrame):
            return self.people.index
        return pd.RangeIndex(len(self.matrix)) if self.row_labels is None else self.row_labels

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
        if narrow:
            goal, now = values[:, columns], self.matrix[rows][:, columns]
            lower, upper = _boxes(encoder.axes, now)
            least = np.where(goal > now, goal, np.fmax(np.where(np.isnan(low), lower, low), lower))
            most = np.where(goal < now, goal, np.fmin(np.where(np.isnan(high), upper, high), upper))
            stays = (goal == now) | np.isnan(goal)
            least[stays] = most[stays] = np.nan
            values = encoder.held(values, narrow, least, most)
        goal = values[:, columns]
        corners = []
        for end in (low, high):
            corner = values.copy()
            corner[:, columns] = np.where(np.isfinite(end), end, goal)
            corners.append(encoder.held(corner, narrow, low, high))
        everything = np.tile(rows, 3), np.vstack([values, *corners])
        asked = np.all([one._accepts(*everything) for one in self._judges], axis=0)
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
        """The strength of encoded rows; of several models the least, and NaN of a regressor."""
        if self.tree.regresses:
            return np.full(len(values), np.nan)
        each = [one.ensemble.strength(values) for one in self.each if one.decides]
        return np.asarray(np.min(each, axis=0))

    @property
    def _judges(self) -> list[Question]:
        """Of the questions to models whose own ``predict`` decides one for each; all others."""
        each = {(id(one.model), one._by_predict or id(one.ensemble)): one for one in self.each}
        return list(each.values())

    @property
    def _by_predict(self) -> bool:
        by_predict = hasattr(self.model, "predict") and hasattr(self.model, "classes_")
        own_rule = isinstance(self.tree, OwnModel) or self.threshold is not None
        return self.decides and by_predict and not own_rule

    def _accepts(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether the model gives encoded people the desired class, asked as a user would."""
        model = self.model
        if not self._by_predict:
            return self.ensemble.decide(values)
        table = self.encoder.decode(values, like=take_rows(self.people, rows))
        return np.asarray(np.asarray(model.predict(table)) == self.tree.desired)

    def with_rules(self, axes: tuple[Axis, ...]) -> Question:
        """The same question under other rules: where weights differ, with another cost."""
        factors = np.ones(self.encoder.n_columns)
        for axis, usual in zip(axes, self.encoder.axes, strict=True):
            new, old = axis.feature.weight, usual.feature.weight
            if new != old and old == 0:
                raise InvalidSpec(
                    f"Changing {usual.feature.name!r} is free for everybody (weight 0); its "
                    "effort is not known, so an override cannot give it a weight."
                )
            if new != old:
                factors[list(usual.columns)] = new / old
        same = bool((factors == 1).all())
        return self if same else replace(self, cost=reweighted(self.cost, factors))

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


def _boxes(axes: Sequence[Axis], matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value (people x axes) that people may set; bounds without a value."""
    each = []
    for axis, values in zip(axes, matrix.T, strict=True):
        box = np.stack(axis.feature.box(values))
        bounds = np.reshape(axis.feature.bounds, (2, 1))
        each.append(np.where(np.isnan(box) | axis.is_categorical, bounds, box))
    lower, upper = np.stack(each, axis=2)
    return lower, upper


def check_strength(strength: object) -> float | None:
    """A share or None; anything else is refused."""
    check_value("strength", strength, NONE, STRENGTH)
    return strength  # type: ignore[return-value]
