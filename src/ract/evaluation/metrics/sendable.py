"""Sendable plans: those that a lender could put into a letter as they are.

Five checks, each on the plan exactly as a letter says it (``Change.goal``):

    few     at most three features change
    safe    doing more never hurts (``doing_more``)
    size    no number moves too far (``amounts``)
    round   every number is round (``amounts``)
    lasts   models that were trained on other people accept it too

A refused person without a plan has no sendable plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract._utils.typing import ColumnLike, Label, TableLike
from ract._utils.validation import AT_LEAST_ONE, check_value, one_of
from ract.data.actions import ActionSpace
from ract.data.groups import MetricColumn, Metrics
from ract.evaluation.metrics.amounts import Amounts, is_round
from ract.evaluation.metrics.doing_more import Further, proved_safe, sampled_safe
from ract.evaluation.metrics.letters import Decider, Letters, accepts_by
from ract.recourse.common.answers import differs
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse

FEW = 3
N_POINTS = 200
CHECKS = ("few", "safe", "size", "round", "lasts")
HAS_PLAN, SENDABLE, ASIDE = "has a plan", "sendable", "sendable, roundness aside"
_PROOFS = {Status.NONE: "proved", Status.FOUND: "refuted", Status.UNKNOWN: "not proved"}


@dataclass(frozen=True, repr=False)
class Sendable:
    """Which plans can be sent.

    Parameters
    ----------
    people : DataFrame
        By refused person: ``plan`` (whether there is one), ``changes``, ``cost``, one column for
        each check that was made, ``proof`` of safety ("proved", "refuted", "not proved", or
        "sampled") and ``sendable``. Checks of people without a plan are False.
    metrics : DataFrame
        By group: "sendable", "sendable, roundness aside" and "has a plan" as shares of the
        refused, and each check as a share of those who have a plan, with intervals; as
        ``recourse_report``.
    """

    people: pd.DataFrame
    metrics: pd.DataFrame

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that were made; "lasts" is one of them if other models were given."""
        return tuple(check for check in CHECKS if check in self.people)

    @property
    def share(self) -> float:
        """Share of the refused whose plan passes every check; NaN if nobody is refused."""
        return self.share_of(*self.checks)

    def share_of(self, *checks: str) -> float:
        """Share of the refused whose plan passes some of the checks."""
        unknown = [check for check in checks if check not in self.checks]
        if unknown:
            raise InvalidSpec(f"No check {unknown[0]!r}; there are {', '.join(self.checks)}.")
        if not len(self.people):
            return float("nan")
        passed = self.people[["plan", *checks]].to_numpy(dtype=bool).all(axis=1)
        return float(passed.mean())

    def failures(self) -> pd.DataFrame:
        """Number of people by the set of checks that their plans fail, the largest first."""
        failed = self.people["fails"]
        counts = failed[failed != ""].value_counts()
        return counts.rename_axis("fails").rename("people").reset_index()

    def __repr__(self) -> str:
        if not len(self.people):
            return "Sendable plans: nobody is refused"
        planned = self.people[self.people["plan"]]
        each = [f"{name} {planned[name].mean():.2f}" for name in self.checks if len(planned)]
        unmade = "" if "lasts" in self.checks else "; lasts was not checked"
        return (
            f"Sendable plans: {self.share:.2f} of {len(self.people)} refused people "
            f"(has a plan {self.people['plan'].mean():.2f}; of plans: {', '.join(each)}{unmade})"
        )


def sendable(
    model: Recourse | Decider,
    X: TableLike | None = None,
    *,
    plans: TableLike | None = None,
    others: Decider | list[Decider] | tuple[Decider, ...] = (),
    groups: str | ColumnLike | None = None,
    reference: TableLike | None = None,
    actions: ActionSpace | None = None,
    desired: Label | None = None,
    safety: str = "auto",
    max_changes: int = FEW,
    n_points: int = N_POINTS,
    confidence: float = 0.95,
    random_state: int = 0,
    **options: Any,
) -> Sendable:
    """Share of refused people whose plan can be sent as it is, and who fails on which check.

    Parameters
    ----------
    model : Recourse or fitted classifier
        Plans that were found; or a model, whose plans are ``model.recourse(X)`` or, for models of
        other libraries, ``find_recourse(model, X)``; or, with ``plans``, any model with
        ``predict``, or a function from a table to a bool per person, True for accepted people.
    X : frame or array, optional
        People; by default those of the Recourse.
    plans : frame, optional
        The people after plans that were found by other means, in the rows of X; people without a
        plan are unchanged. Needs ``actions`` and ``desired``.
    others : fitted classifier or function, or a sequence of them
        Models that were trained on other people, best on a disjoint half: a plan lasts if all of
        them accept it. Without any, that is not checked.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    reference : frame, optional
        The table whose percentiles limit how much more people may do, best the training table; by
        default the reference of the plans, or X. If the action space does not limit changes, sizes
        are measured against it too.
    actions, desired
        As in ``find_recourse``.
    safety : {"auto", "proved", "sampled"}
        Prove that doing more is safe, which needs a tree model that ract can read, or try
        ``n_points`` random points for each person. "auto" samples only for models that cannot be
        read.
    max_changes : int
        Largest number of changes that counts as few.
    n_points : int
    confidence : float
        Of intervals.
    random_state : int
        Of the sample.
    **options
        Further ones of ``find_recourse``, if plans have yet to be found.

    Returns
    -------
    Sendable

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> again, _ = loans_forest(random_state=1)
    >>> sent = sendable(model, loans.frame.head(100), others=again, reference=loans.frame)
    >>> sent.checks
    ('few', 'safe', 'size', 'round', 'lasts')
    >>> bool(sent.share <= sent.share_of("few", "safe"))
    True
    """
    check_value("safety", safety, one_of("auto", "proved", "sampled"))
    check_value("n_points", n_points, AT_LEAST_ONE)
    check_value("max_changes", max_changes, AT_LEAST_ONE)
    if plans is not None:
        letters = Letters.of_table(model, X, plans, actions, desired, reference, safety)
    else:
        given = {"actions": actions, "desired": desired, "reference": reference}
        letters = Letters.of_recourse(_found(model, X, given, options))
    judged = _Judged(letters, letters.known_people if reference is None else reference)
    columns = {
        "few": judged.n_changes <= max_changes,
        **judged.safe(safety, n_points, np.random.default_rng(random_state)),
        "size": judged.sizes_fit(),
        "round": judged.rounds(),
        **judged.lasts(others if isinstance(others, (list, tuple)) else [others]),
    }
    return _counted(judged, columns, groups, confidence)


class _Judged:
    """The checks of the refused; people without a plan pass none."""

    def __init__(self, letters: Letters, reference: TableLike) -> None:
        self.letters, self.axes = letters, letters.encoder.axes
        self.known = letters.encoder.matrix(reference)
        self.amounts = Amounts.of(self.axes, self.known)
        self.rows = np.flatnonzero(letters.refused)
        self.found = letters.found[self.rows]
        self.planned = self.rows[self.found]
        self.before, self.after = letters.before[self.planned], letters.after[self.planned]
        first = [axis.columns[0] for axis in self.axes]
        self.start, self.target = self.before[:, first], self.after[:, first]

    @property
    def n_changes(self) -> np.ndarray:
        """How many features each of the refused is asked to change; inf without a plan."""
        moved = differs(self.before, self.after)
        count = sum((moved[:, list(a.columns)].any(axis=1).astype(float) for a in self.axes), 0.0)
        return self._spread(np.asarray(count), np.inf)

    def sizes_fit(self) -> np.ndarray:
        most = self.amounts.largest_change(self.start) * (1 + 1e-9)
        return self._spread((~(np.abs(self.target - self.start) > most)).all(axis=1), False)

    def rounds(self) -> np.ndarray:
        numbers = [axis.feature.is_number for axis in self.axes]
        start, target = self.start[:, numbers], self.target[:, numbers]
        return self._spread((is_round(start, target) | np.isnan(start)).all(axis=1), False)

    def safe(self, safety: str, n_points: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        letters = self.letters
        further = Further.of(self.amounts, self.before, self.after)
        if safety == "sampled" or not letters.ensembles:
            safe = sampled_safe(letters.accepts, further, n_points, rng)
            return {"safe": self._spread(safe, False), "proof": self._spread(["sampled"], "")}
        status = proved_safe(letters.ensembles, letters.encoder, self.known, further)
        safe, proof = status == Status.NONE, np.array([_PROOFS[s] for s in status], dtype=object)
        return {"safe": self._spread(safe, False), "proof": self._spread(proof, "")}

    def lasts(self, models: Sequence[Decider]) -> dict[str, np.ndarray]:
        if not models:
            return {}
        lasts = np.ones(len(self.planned), bool)
        if len(lasts):
            table = self.letters.encoder.decode(self.after, like=self.letters.people)
            for model in models:
                lasts &= accepts_by(model, self.letters.desired)(table)
        return {"lasts": self._spread(lasts, False)}

    def _spread(self, values: np.ndarray | list[str], otherwise: float | str) -> np.ndarray:
        """Values of those with a plan among all who are refused."""
        values = np.asarray(values)
        spread = np.full(len(self.rows), otherwise, dtype=values.dtype)
        spread[self.found] = values
        return spread


def _counted(
    judged: _Judged,
    columns: dict[str, np.ndarray],
    groups: str | ColumnLike | None,
    confidence: float,
) -> Sendable:
    """The table of people, and the shares of those who pass each check."""
    letters, rows = judged.letters, judged.rows
    checks = [name for name in CHECKS if name in columns]
    passes = np.stack([columns[name] for name in checks], axis=1)
    aside = np.stack([columns[name] for name in checks if name != "round"], axis=1)
    n_changes = np.where(judged.found, judged.n_changes, 0).astype(int)
    people = {"plan": judged.found, "changes": n_changes, "cost": letters.cost[rows]}
    people |= {name: columns[name] for name in (*checks, "proof")}
    people[SENDABLE] = np.all(passes, axis=1)
    failed = [", ".join(np.array(checks)[~passed]) for passed in passes]
    people["fails"] = np.where(judged.found, np.array(failed, dtype=object), "plan")

    def for_everyone(values: np.ndarray) -> np.ndarray:
        full = np.zeros(len(letters.refused), bool)
        full[rows] = values
        return full

    shares = {SENDABLE: people[SENDABLE], ASIDE: np.all(aside, axis=1), HAS_PLAN: judged.found}
    counted = [MetricColumn(name, for_everyone(of), letters.refused) for name, of in shares.items()]
    planned = letters.refused & letters.found
    counted += [MetricColumn(name, for_everyone(columns[name]), planned) for name in checks]
    metrics = Metrics.of(counted, letters.people, groups).table(confidence)
    return Sendable(pd.DataFrame(people, index=letters.labels[rows]), metrics)


def _found(
    model: Recourse | Decider,
    X: TableLike | None,
    given: dict[str, Any],
    options: dict[str, Any],
) -> Recourse:
    """The plans that were found, or those of a model that are yet to be found."""
    if isinstance(model, Recourse):
        if options:
            raise InvalidSpec(
                f"Plans that were found take no options of the search, got {', '.join(options)}."
            )
        return model
    if X is None:
        raise InvalidSpec("A model needs people: sendable(model, X).")
    said = {name: value for name, value in given.items() if value is not None}
    asked: Any = model
    find = getattr(asked, "recourse", None) or partial(find_recourse, asked)
    found: Recourse = find(X, **{"explain": False, **said, **options})
    return found
