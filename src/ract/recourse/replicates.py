"""Replicates of a learner on disjoint people: who plans, who judges, and for whom.

People are dealt into five folds. A *planner* is the learner fitted on two of them, its *judge* the
same learner fitted on two others; people of the fifth are in neither. Ten fits give thirty such
triples, and everyone draws one:

    folds     1   2   3   4   5
    planner   x   x                  finds a plan of some strength for a person of fold 5
    judge             x   x          accepts the person who has carried it out, or not

Given the fitted models people are independent: one yes or no each. Bootstrap samples of the same
people would share people with the planner and be too hopeful.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.progress import in_threads, track
from ract._utils.status import Status
from ract._utils.typing import Classifier, Label, TableLike
from ract._utils.validation import SHARE, check_value, is_number
from ract.data.encoder import Encoder
from ract.data.frames import read_table, take_rows
from ract.recourse.common.answers import Answers
from ract.recourse.find import Inquiry, inquire
from ract.recourse.plain_judges import SAME, PlainJudge, checked_learners
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.model import is_own
from ract.trees.training import space_for_part

N_FOLDS = 5
PLANNERS = tuple(combinations(range(N_FOLDS), 2))
PART = 2 / N_FOLDS  # of the people, on whom each is fitted

# What the least number of people of a leaf is called, by scikit-learn and ract, and by LightGBM.
LEAVES = ("min_samples_leaf", "min_child_samples")

# Of a trial: who was asked, what about and what came of it.
COLUMNS = ["person", "planner", "judge", "strength", "status", "won", "cost", "changes", "lasts"]

Strength = float | str
T = TypeVar("T")

NONE = (Status.NONE, Status.NONE_WITHIN_BUDGET)


@dataclass
class Replicates:
    """Ten fits of a learner, and everyone's planner and judge among them.

    fold, planner int (people,): everyone's. order: everyone, in the order in which to ask.

    Parameters
    ----------
    estimator : classifier
    X : frame or array
    y : array (people,)
    sample_weight : array (people,) or None
    random_state : int
    n_jobs : int or None
    options : dict
        Of ``find_recourse``.
    progress : bool
    robust_to : tuple of {"same", "boosting", "linear"}
        Learners that must accept a plan, for it to last.
    requires : bool
        Whether plans are searched for that a plain booster accepts, if it is one of them.
    adoption : float
        Share of the refused people of the judge's folds who follow the planner's strongest plan
        before the judge is fitted on them, with outcomes drawn by a plain booster of the others.
    """

    estimator: Any
    X: Any
    y: Any
    sample_weight: Any = None
    random_state: int = 0
    n_jobs: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    progress: bool = False
    robust_to: tuple[str, ...] = SAME
    requires: bool = False
    adoption: float = 0.0
    fold: np.ndarray = field(init=False)
    planner: np.ndarray = field(init=False)
    order: np.ndarray = field(init=False)
    _asked: dict[int, AtStrengths] = field(init=False, default_factory=dict, repr=False)
    _made: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.robust_to = checked_learners(self.robust_to)
        check_value("adoption", self.adoption, SHARE)
        if self.adoption and not isinstance(self.X, pd.DataFrame):
            raise InvalidSpec("adoption needs people as a pandas frame.")
        self.y, table = np.asarray(self.y), read_table(self.X)
        if table.n_rows != len(self.y):
            raise InvalidSpec(f"X has {table.n_rows} rows but y has {len(self.y)}.")
        classes, counts = np.unique(self.y, return_counts=True)
        if len(classes) < 2 or counts.min() < 2 * N_FOLDS:
            raise InvalidData(
                f"Replicates need {2 * N_FOLDS} people or more of either class, got "
                f"{dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
            )
        if self.sample_weight is not None:
            self.sample_weight = np.asarray(self.sample_weight, float)
        self.options = {"explain": False, "n_jobs": self.n_jobs, **self.options}
        n, rng = len(self.y), np.random.default_rng(self.random_state)
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=self.random_state)
        self.fold = np.empty(n, int)
        for k, (_, rows) in enumerate(folds.split(np.zeros(n), self.y)):
            self.fold[rows] = k
        # The planner of each person: one of the six pairs of the four other folds.
        elsewhere = [[f not in pair for pair in PLANNERS] for f in range(N_FOLDS)]
        pairs = np.array([np.flatnonzero(other) for other in elsewhere])
        self.planner = pairs[self.fold, rng.integers(0, pairs.shape[1], n)]
        self.order = rng.permutation(n)

    def judge(self, person: int) -> int:
        """Who judges for a person: the model of the two folds that are left."""
        used = {int(self.fold[person]), *PLANNERS[self.planner[person]]}
        return PLANNERS.index(tuple(k for k in range(N_FOLDS) if k not in used))

    @property
    def votes(self) -> bool:
        """Whether the learner is a forest, and the search one that can find its strongest plans."""
        k = next((k for k, people in enumerate(self.refused) if len(people)), None)
        if k is None:
            return False
        inquiry = self._planning(k, 1).inquiry
        ensemble = inquiry.question.ensemble
        return ensemble.n_trees > 1 and ensemble.combine != "sum" and inquiry.finds_strongest

    def rows_of(self, k: int) -> np.ndarray:
        """The people on whom a replicate is fitted."""
        return np.flatnonzero(np.isin(self.fold, PLANNERS[k]))

    @cached_property
    def models(self) -> list[Any]:
        """The replicates, one for every pair of folds."""
        table, n = (self.estimator, self.X, self.y, self.sample_weight), len(PLANNERS)
        fits = in_threads([partial(fit_on, self.rows_of(k), *table) for k in range(n)], self.n_jobs)
        return list(track(fits, n, "Fitting replicates", show=self.progress))

    @cached_property
    def refused(self) -> list[np.ndarray]:
        """Whom each planner refuses of those whose planner it is, in the order in which to ask."""
        refused = []
        for k, model in enumerate(self.models):
            people = self.order[self.planner[self.order] == k]
            refused.append(people[~self._accepted(model, people)] if len(people) else people)
        return refused

    def _accepted(self, model: Classifier, rows: np.ndarray) -> np.ndarray:
        """Whether a model gives people the desired class."""
        decided = np.asarray(model.predict(take_rows(self.X, rows)))
        return np.asarray(decided == self._desired(model))

    def trials(
        self, k: int, strengths: Sequence[Strength], people: Sequence[slice]
    ) -> pd.DataFrame:
        """Trials of some people whose planner is model k.

        Parameters
        ----------
        k : int
        strengths : sequence
        people : sequence of slice
            Who is asked at each strength, of those whom the planner refuses.
        """
        refused = self.refused[k]
        places = [np.arange(len(refused))[asked] for asked in people]
        place = np.concatenate(places)
        if not len(place):
            return pd.DataFrame(columns=COLUMNS)
        plans_of = self._planning(k, int(place.max()) + 1)
        plans = [self._plans(k, plans_of, *asked) for asked in zip(strengths, places, strict=True)]

        names = ("found", "status", "strength", "cost", "n_changes")
        found, *plan = (np.concatenate([getattr(p, name) for p in plans]) for name in names)
        ends = np.concatenate([each.answers.ends for each in plans])
        judges = np.array([self.judge(i) for i in refused[place]])
        lasts = np.zeros(len(place), bool)
        encoder = plans_of.inquiry.question.encoder
        for j in np.unique(judges[found]):  # once each, about the plans of all strengths
            rows = np.flatnonzero(found & (judges == j))
            lasts[rows] = self._accepts(k, j, encoder, ends[rows], refused[place[rows]])
        asked = np.repeat(np.array(strengths, object), [len(rows) for rows in places])
        columns = refused[place], k, judges, asked, *plan, lasts
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))

    def all_trials(self, strengths: Sequence[Strength], people: Sequence[slice]) -> pd.DataFrame:
        """Trials of every planner's people; parameters as in ``trials``."""
        n = len(PLANNERS)
        planners = track(range(n), n, "Asking other models", show=self.progress)
        return pd.concat([self.trials(k, strengths, people) for k in planners])

    @property
    def guarded(self) -> bool:
        """Whether plans must be accepted by a plain booster of the planner's people too."""
        return self.requires and "boosting" in self.robust_to

    def _plans(
        self, k: int, plans_of: AtStrengths, strength: Strength, rows: np.ndarray
    ) -> Recourse:
        """Plans of a strength; with a guard, of that strength by the guard too."""
        if not self.guarded or isinstance(strength, str):
            return plans_of.at(strength, rows)
        inquiry = plans_of.inquiry
        encoder = inquiry.question.encoder
        booster = self._plain_judge(k, "boosting", encoder)
        guard = self._once(("guard", k), lambda: booster.trees(encoder.n_columns))
        return inquiry.of(rows).agreed(guard, strength)

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is made once and kept."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def guard(self) -> TreeEnsemble | None:
        """A plain booster of everyone, cut as those of the planners are in the middle."""
        if not self.guarded:
            return None
        k = next(k for k, people in enumerate(self.refused) if len(people))
        encoder = self._planning(k, 1).inquiry.question.encoder
        cuts = [self._plain_judge(k, "boosting", encoder).cut for k in range(len(PLANNERS))]
        desired = self.y == self._desired(self.models[0])
        matrix = encoder.matrix(self.X, kinds=False)
        fitted = PlainJudge.fitted("boosting", matrix, desired, matrix, 1.0, self.sample_weight)
        return replace(fitted, cut=float(np.median(cuts))).trees(encoder.n_columns)

    def _accepts(
        self, k: int, j: int, encoder: Encoder, ends: np.ndarray, people: np.ndarray
    ) -> np.ndarray:
        """Whether judges accept people where their plans end, as the planner's encoder has it."""
        accepted = np.ones(len(ends), bool)
        for kind in self.robust_to:
            if kind != "same":
                accepted &= self._plain_judge(j, kind, encoder).accepts(ends)
                continue
            judge = self._same(k, j)
            if is_own(judge) and judge.encoder_.column_names == encoder.column_names:
                accepted &= judge.ensemble_.decide(ends)
            else:
                after = encoder.decode(ends, like=take_rows(self.X, people))
                accepted &= np.asarray(judge.predict(after)) == self._desired(judge)
        return accepted

    def _same(self, k: int, j: int) -> Any:
        """The learner on the people of judge j, some of whom follow the plans of planner k."""
        if self.adoption == 0:
            return self.models[j]
        return self._once(("adopted", k, j), lambda: self._fitted_after_adoption(k, j))

    def _fitted_after_adoption(self, k: int, j: int) -> Classifier:
        planner, rows = self.models[k], self.rows_of(j)
        rng = np.random.default_rng([self.random_state, k, j])
        desired, refused = self._desired(planner), rows[~self._accepted(planner, rows)]
        asked = np.sort(rng.permutation(refused)[: round(self.adoption * len(refused))])
        X, y = self.X.copy(), self.y.copy()
        if len(asked):
            inquiry = inquire(planner, take_rows(self.X, asked), **self._options_for(k))
            plans = inquiry.answered("most")
            encoder, found = plans.question.encoder, plans.found
            moved, ends = asked[found], plans.answers.ends[found]
            good = self._plain_judge(k, "boosting", encoder).probability(ends)
            [other] = [label for label in np.unique(self.y) if label != desired]
            y[moved] = np.where(rng.random(len(moved)) < good, desired, other)
            after = encoder.decode(ends, like=take_rows(self.X, moved))
            for name in X.columns:
                X.iloc[moved, X.columns.get_loc(name)] = np.asarray(after[name])
        return fit_on(rows, self.estimator, X, y, self.sample_weight)

    def _plain_judge(self, j: int, kind: str, encoder: Encoder) -> PlainJudge:
        """Another learner on the people of judge j, that accepts as many of the others."""

        def fitted() -> PlainJudge:
            rows, model = self.rows_of(j), self.models[j]
            rest = np.setdiff1d(np.arange(len(self.y)), rows)
            rate = float(np.mean(self._accepted(model, rest)))
            weights = None if self.sample_weight is None else self.sample_weight[rows]
            tables = (take_rows(self.X, part) for part in (rows, rest))
            inside, outside = (encoder.matrix(table, kinds=False) for table in tables)
            desired = self.y[rows] == self._desired(model)
            return PlainJudge.fitted(kind, inside, desired, outside, rate, weights)

        return self._once((j, kind, *encoder.column_names), fitted)

    def _planning(self, k: int, n: int) -> AtStrengths:
        """A planner's questions to the first of those whom it refuses."""
        if k not in self._asked or len(self._asked[k].inquiry.question.matrix) < n:
            people = take_rows(self.X, self.refused[k][:n])
            self._asked[k] = AtStrengths(inquire(self.models[k], people, **self._options_for(k)))
        return self._asked[k]

    def _options_for(self, k: int) -> dict[str, Any]:
        options = dict(self.options)
        if not hasattr(self.models[k], "cost_"):  # it knows no people of its own
            options.setdefault("reference", take_rows(self.X, self.rows_of(k)))
        return options

    def _desired(self, model: Any) -> Label:
        if hasattr(model, "desired_"):
            return model.desired_
        desired = self.options.get("desired")
        if desired is None:
            desired = getattr(self.options.get("actions"), "desired", None)
        return model.classes_[1] if desired is None else desired


def for_part(estimator: Any) -> Any:
    """The learner for a part of the people: its leaves hold as large a share of them.

    On fewer people, leaves of as many would make coarser trees, which agree more with each other
    than the trees that a promise is about.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> for_part(RandomForestClassifier(min_samples_leaf=20))
    RandomForestClassifier(min_samples_leaf=8)
    """
    fewest = {
        name: max(1, round(PART * value))
        for name, value in estimator.get_params(deep=False).items()
        if name in LEAVES and is_number(value, whole=True)
    }
    return clone(estimator).set_params(**fewest) if fewest else estimator


def fit_on(
    rows: np.ndarray,
    estimator: Any,
    X: TableLike,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
) -> Any:
    """A replicate of a learner: a clone of it, fitted on some of the people."""
    replicate, part = clone(estimator), take_rows(X, rows)
    if "actions" in replicate.get_params(deep=False):
        # Others may have categories that nobody here has.
        space = space_for_part(replicate.actions, read_table(X), read_table(part))
        replicate.set_params(actions=space)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight[rows]}
    return replicate.fit(part, y[rows], **weights)


class AtStrengths:
    """People who are asked about one strength after the other, up or down.

    Upwards, a plan that wins more than was asked is the cheapest of the next strength too, who has
    no plan has none that wins more, and what the cheapest costs is a bound. Downwards, a plan that
    wins more will do, so that the cheapest costs no more.

    Parameters
    ----------
    inquiry : Inquiry
        About refused people, all of whom could be read.

    Examples
    --------
    >>> from ract import RecourseForestClassifier, load_loans
    >>> from ract.recourse.find import inquire
    >>> loans = load_loans(n_people=500)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> forest.fit(loans.frame, loans.target)
    RecourseForestClassifier(...)
    >>> refused = loans.frame[forest.predict(loans.frame) == "refused"]
    >>> plans = AtStrengths(inquire(forest, refused, explain=False))
    >>> any_strength, strong = (plans.at(strength).found for strength in (0, 0.9))
    >>> bool((strong <= any_strength).all()), bool(strong.sum() < any_strength.sum())
    (True, True)
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        n = len(inquiry.question.matrix)
        self._answers = Answers.unknown(inquiry.question.matrix)
        self._won = np.full(n, np.nan)
        self._asked = np.full(n, -np.inf)
        self._hopeless = np.zeros(n, bool)

    def at(self, strength: float | str, rows: np.ndarray | None = None) -> Recourse:
        """Plans of a strength, for some of the people or for all of them.

        Parameters
        ----------
        strength : float or "most"
        rows : int array, optional
        """
        known = self._answers
        rows = np.arange(len(self._asked)) if rows is None else rows
        level = np.inf if isinstance(strength, str) else strength
        up, down, found = self._asked < level, self._asked > level, np.isfinite(known.cost)
        up &= level < np.inf  # the strongest plan is another question
        none = np.isin(known.status, NONE)
        settled = (self._asked == level) | (up & (none | (found & (self._won >= level))))
        todo = rows[~(settled | self._hopeless)[rows]]
        if len(todo):
            least = np.where(up, known.bound, 0.0)[todo]
            enough = np.where(down & found & ~np.isposinf(self._asked), known.cost, np.inf)[todo]
            asked = self.inquiry.of(todo).answered(strength, least=least, most=enough)
            known.put(todo, asked.answers)
            self._asked[todo], self._won[todo] = level, asked.strength
            if level <= 0:  # there is no plan at all
                self._hopeless[todo] = np.isin(asked.answers.status, NONE)
        question = self.inquiry.question.of_rows(rows)
        if not isinstance(strength, str):
            question = question.at_strength(strength)
        return Recourse(question, known.take(rows))
