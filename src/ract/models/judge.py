"""A judge of outcomes: whether a person who has carried out a plan looks good enough.

A model says whom it accepts. Whether the accepted then do well is another question, and recourse
can move the two apart: people may be accepted although others like them do worse than anyone whom
a plain model would accept. A judge that never saw recourse keeps the two apart:

    table --> random halves, n_splits times --> one plain classifier on each half
                                                   |
              people, before and after  --------> mean of the halves that they are not in
                                                   |          +- spread between the halves
                                                   v
              calibrated on people outside  ----> probability, low, high
                                                   |
              the bar, from the same table  ----> earned, granted or undecided
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.progress import track
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import ANYTHING, INNER_SHARE, whole
from ract.data.actions import ActionSpace
from ract.data.encoder import Encoder
from ract.data.frames import read_table, take_rows
from ract.models.forest import RecourseForestClassifier
from ract.models.parameters import (
    SPACE,
    ThreadParameters,
    check_parameters,
    desired_label,
    parameter,
    with_parameters,
)
from ract.models.table import used_columns
from ract.models.verdicts import Judged, verdicts_of
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import TreeModel
from ract.trees.training import row_hashes

# The people at the margin are this share of the accepted.
MARGIN = 0.1
# Shares are held this far from 0 and 1, where log odds have no end.
EDGE = 1e-3
# People of each class that a judge needs, and accepted people that a bar needs.
FEWEST = 10
# The plain forest on each half. Small leaves follow the table closely, and their noise goes into
# the spread; so does that of few trees, which makes up for what all halves get wrong alike. On the
# loans model intervals of 90% hold for 84 to 91% of plans (50 trees: 79 to 87%; leaves of 10: 66
# to 77%), with the same error.
TREES, LEAF, FEATURES = 25, 3, 0.5


@with_parameters
class OutcomeJudge(ThreadParameters, BaseEstimator):
    """Probability of the desired class by classifiers that were trained without recourse.

    The table is split into random halves, several times, and a plain classifier is fitted on each
    half. A person's probability is the mean over the halves that they are not in; how far halves
    disagree says how much of it is noise. Log odds and their limits are then shifted and scaled so
    that they fit people outside (Platt's calibration).

    Parameters
    ----------
    actions : ActionSpace, optional
        For kinds and categories of the columns, which are inferred from the table where nothing is
        declared. The judge ignores what people may change.
    classifier : scikit-learn classifier, optional
        To be fitted on each half, with ``predict_proba``; by default a forest of 25 trees with
        leaves of 3 people and ``recourse_weight=0``.
    desired : label, optional
        The class that people want; needed unless the action space names it.
    n_splits : int
        Number of times that the table is split in two.
    confidence : float
        Of the intervals.
    n_jobs : int, optional
        Threads, as in joblib.
    verbose : int
        Above 0, show a progress bar with the time left.
    random_state : int
        For the halves and the forests.

    Attributes
    ----------
    classes_ : array of two labels
    desired_ : label
    scores_ : float (people,)
        Probabilities of the table's own people, by the halves that they are not in.
    spreads_ : float (people,)
        How far these halves disagree on them: standard deviations, before calibration.
    people_ : frame or array, or None
        The table; None for a judge from a model file, which is for people outside its table.
    accepted_ : float
        Only for a judge from a model file: the share of its table that the model accepts.
    judges_ : list
        The fitted classifiers, two for each split; forests of ract as ``TreeEnsemble``.
    encoder_ : Encoder
    curve_ : tuple of two floats
        Shift and scale of log odds.

    Notes
    -----
    The two halves of a split share nobody, so that their difference shows how far a judge of other
    people would be off: the variance between random halves is that of a mean over the whole table
    (Sexton and Laake, 2009; the little bags of generalised random forests). An error that all
    halves share is not in the interval: on the loans model, where the truth is known, intervals of
    90% hold for 84 to 91% of plans.

    Examples
    --------
    >>> from ract import OutcomeJudge, load_loans
    >>> from ract.models.examples import loans_forest
    >>> (model, loans), fresh = loans_forest(), load_loans(200, random_state=1)
    >>> judge = OutcomeJudge(loans.actions, n_splits=4).fit(loans.frame, loans.target)
    >>> judged = judge.judged(model.recourse(fresh.frame))
    >>> judged.frame.columns.tolist()
    ['before', 'after', 'low', 'high', 'verdict']
    >>> 0 < judged.bar < 1
    True
    """

    actions: ActionSpace | None = parameter(*SPACE, default=None, kw_only=False)
    classifier: Classifier | None = parameter(ANYTHING, default=None)
    desired: Label | None = parameter(ANYTHING, default=None)
    n_splits: int = parameter(whole(2), default=10)
    confidence: float = parameter(INNER_SHARE, default=0.9)
    random_state: int = parameter(ANYTHING, default=0)

    def fit(self, X: TableLike, y: ColumnLike) -> OutcomeJudge:
        """Fit a classifier on each half of each split.

        Parameters
        ----------
        X : frame or array (people x features)
            The model's training table, or other people with known outcomes.
        y : array (people,)
        """
        check_parameters(self)
        X, labels = used_columns(X, self.actions), _labels(y)
        truth = self._read_target(X, labels)
        self.encoder_ = Encoder(X, self._space(X))
        self.people_: TableLike | None = X
        rng = np.random.default_rng(self.random_state)
        # Equal people stand in the same half, or they would be judged by their own outcomes.
        self._rows, first, person = distinct_rows(self.encoder_, X)
        cuts = [first_half(truth[first], rng) for _ in range(self.n_splits)]
        self._in_half = np.column_stack([side for cut in cuts for side in (cut, ~cut)])
        halves = [np.flatnonzero(inside) for inside in self._in_half[person].T]
        self.judges_ = [
            self._fitted(take_rows(X, rows), labels[rows], int(rng.integers(2**31)))
            for rows in track(halves, len(halves), "Fitting the judge", show=self.verbose > 0)
        ]
        shares = self._shares(X, X)
        raw = np.nanmean(shares, axis=1)
        self.curve_ = fitted_curve(raw, truth)
        self.scores_, self.spreads_ = self._calibrated(raw), np.nanstd(shares, axis=1, ddof=1)
        return self

    def fit_apart(self, X: TableLike, y: ColumnLike) -> tuple[OutcomeJudge, OutcomeJudge]:
        """Two judges of different people: one to search with, one to report.

        Plans that were searched for with a judge (``find_recourse(..., earned=judge)``) look better
        to that judge than they are, so another judge has to say which of them are earned.

        Parameters
        ----------
        X, y
            As in ``fit``; the two judges share nobody and no equal rows.
        """
        X, labels = used_columns(X, self.actions), _labels(y)
        truth = self._read_target(X, labels)
        space = self._space(X)
        _, first, person = distinct_rows(Encoder(X, space), X)
        inside = first_half(truth[first], np.random.default_rng(self.random_state))[person]
        judge = clone(self).set_params(actions=space, desired=self.desired_)
        seeking, reporting = (
            clone(judge).fit(take_rows(X, rows), labels[rows])
            for rows in (np.flatnonzero(inside), np.flatnonzero(~inside))
        )
        return seeking, reporting

    def _space(self, X: TableLike) -> ActionSpace:
        """Kinds and categories of the columns; all fixed, since nobody acts here."""
        space = (ActionSpace([]) if self.actions is None else self.actions).complete(X)
        fixed = (f.moving("fixed") for f in space)
        return ActionSpace(fixed, self.desired_, space.limits, space.steps)

    def _read_target(self, X: TableLike, y: np.ndarray) -> np.ndarray:
        """Set classes_ and desired_; returns who has the desired class."""
        n_rows = read_table(X).n_rows
        if y.shape != (n_rows,):
            raise InvalidData(f"X has {n_rows} rows but y has shape {y.shape}.")
        self.classes_ = np.sort(pd.unique(y))
        labels = self.classes_.tolist()
        if len(labels) != 2:
            raise InvalidData(f"A judge needs two classes, got {len(labels)}: {listing(labels)}.")
        self.desired_ = desired_label(self.desired, self.actions, self.classes_)
        truth = np.asarray(y == self.desired_)
        if min(truth.sum(), (~truth).sum()) < FEWEST:
            raise InvalidData(
                f"A judge needs {FEWEST} people or more of each class, got {int(truth.sum())} "
                f"with the desired class and {int((~truth).sum())} without."
            )
        return truth

    def _fitted(self, X: TableLike, y: np.ndarray, seed: int) -> Any:
        """A classifier fitted on one half."""
        if self.classifier is not None:
            return clone(self.classifier).fit(X, y)
        forest = RecourseForestClassifier(
            self.encoder_.space,
            n_estimators=TREES,
            desired=self.desired_,
            recourse_weight=0,
            min_samples_leaf=LEAF,
            max_features=FEATURES,
            n_jobs=self.n_jobs,
            random_state=seed,
        )
        return replace(forest.fit(X, y).ensemble_, combine="mean", cutoff=0.5)

    def _shares(self, X: TableLike, people: TableLike) -> np.ndarray:
        """What each half says (people x halves); NaN of halves that hold the person.

        X may be where the people end; who they are is in ``people``.
        """
        X, people = (used_columns(table, self.actions) for table in (X, people))
        matrix, column = self.encoder_.matrix(X, kinds=False), list(self.classes_)
        shares = np.column_stack(
            [
                judge.score(matrix, n_jobs=self.n_jobs)
                if isinstance(judge, TreeEnsemble)
                else judge.predict_proba(X)[:, column.index(self.desired_)]
                for judge in self.judges_
            ]
        )
        rows = row_hashes(self.encoder_.encode(people, kinds=False))
        at = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        had_part = (self._rows[at] == rows)[:, None] & self._in_half[at]
        return np.where(had_part, np.nan, shares)

    def _calibrated(self, shares: np.ndarray) -> np.ndarray:
        shift, scale = self.curve_
        return np.asarray(expit(shift + scale * log_odds(shares)))

    def _estimates(self, X: TableLike, people: TableLike) -> np.ndarray:
        """Probability, low and high of each person (people x 3)."""
        shares = self._shares(X, people)
        middle, spread = np.nanmean(shares, axis=1), np.nanstd(shares, axis=1, ddof=1)
        n_halves = (~np.isnan(shares)).sum(axis=1)
        width = t.ppf((1 + self.confidence) / 2, n_halves - 1) * spread
        return self._calibrated(np.column_stack([middle, middle - width, middle + width]))

    def by_half(self, X: TableLike, people: TableLike) -> tuple[np.ndarray, np.ndarray]:
        """Probability of people who have become X, overall and by half; NaN of halves with them."""
        check_is_fitted(self)
        shares = self._shares(X, people)
        return self._calibrated(np.nanmean(shares, axis=1)), self._calibrated(shares)

    def probability(self, X: TableLike) -> pd.DataFrame:
        """Probability of the desired class of each person, with an interval.

        Parameters
        ----------
        X : frame or array
            People of the judge's own table are judged by the halves that they are not in.

        Returns
        -------
        DataFrame
            ``probability``, ``low``, ``high``.
        """
        check_is_fitted(self)
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(self._estimates(X, X), index, ["probability", "low", "high"])

    def bar(self, accepted: float) -> float:
        """Mean probability of people at the margin of acceptance.

        Parameters
        ----------
        accepted : float
            Share of people who are accepted: those with the highest probabilities, as by a plain
            model. The lowest tenth of them are at the margin.

        Examples
        --------
        >>> from ract import OutcomeJudge, load_loans
        >>> loans = load_loans(n_people=500)
        >>> judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame, loans.target)
        >>> judge.bar(0.4) > judge.bar(0.8)  # who accepts more people goes further down
        True
        """
        check_is_fitted(self)
        return float(self.scores_[self._at_margin(accepted)].mean())

    def _at_margin(self, accepted: float) -> np.ndarray:
        """Positions of the people at the margin, if a share of all are accepted."""
        n_accepted = round(accepted * len(self.scores_)) if 0 <= accepted <= 1 else 0
        if n_accepted < FEWEST:
            raise InvalidSpec(
                f"A bar needs at least {FEWEST} accepted people of the judge's "
                f"{len(self.scores_)}; accepted is a share of them, got {accepted!r}."
            )
        best_first = np.argsort(-self.scores_, kind="stable")
        return best_first[n_accepted - max(round(MARGIN * n_accepted), 1) : n_accepted]

    def goal(self, model: TreeModel) -> TreeModel:
        """Trees that accept people whose judged probability is well above the bar of a model.

        They are the forests of one split, on both halves, which are few enough to be searched.
        "Well above" means by half the width of the usual interval at the margin, so that the
        interval lies above the bar too.
        """
        check_is_fitted(self)
        if self.classifier is not None:
            raise InvalidSpec(
                f"Only a judge of ract's own forests can be searched with (classifier=None), not "
                f"one of {type(self.classifier).__name__}."
            )
        if self.desired_ != model.desired:
            raise InvalidSpec(
                f"The judge was fitted for the class {self.desired_!r}, the model for "
                f"{model.desired!r}."
            )
        if _layout(self.encoder_) != _layout(model.encoder):
            raise InvalidSpec(
                "The judge takes other columns or categories than the model: "
                f"{listing(self.encoder_.column_names, 30)} and not "
                f"{listing(model.encoder.column_names, 30)}; fit it with the model's actions."
            )
        accepted, (shift, scale) = self.share_accepted(model), self.curve_
        if scale == 0:
            raise InvalidSpec("The judge gives all people one probability: no plan is earned.")
        usual = float(np.median(self.spreads_[self._at_margin(accepted)]))
        share = float(expit((logit(self.bar(accepted)) - shift) / scale))
        needed = share + float(t.ppf((1 + self.confidence) / 2, len(self.judges_) - 1)) * usual

        def make() -> TreeEnsemble:
            return replace(TreeEnsemble.joined(self.judges_[:2], 1), combine="mean", cutoff=needed)

        # Searches are kept with their trees, so that these must be the same from call to call.
        trees = self.judges_[0].memo.get(("goal", needed), make)
        return TreeModel(model.encoder, trees, self.classes_, self.desired_, model.n_features)

    def share_accepted(self, model: TreeModel | Classifier) -> float:
        """Share of the judge's own table that a model accepts."""
        if self.people_ is None:
            return self.accepted_
        if isinstance(model, TreeModel):
            return float(model.decide(self.people_).mean())
        return float(np.mean(model.predict(self.people_) == self.desired_))

    def judged(self, recourse: Recourse, accepted: float | None = None) -> Judged:
        """Which plans are earned and which are granted.

        Parameters
        ----------
        recourse : Recourse
            Plans. With causal effects, people are judged after these effects.
        accepted : float, optional
            Share of people whom the model accepts, for the bar; by default of the judge's own
            table.

        Returns
        -------
        Judged
        """
        check_is_fitted(self)
        if recourse.desired != self.desired_:
            raise InvalidSpec(
                f"The plans are for the class {recourse.desired!r}, the judge was fitted for "
                f"{self.desired_!r}."
            )
        if any(also.model is self for also in recourse.question.also):
            raise InvalidSpec(
                "The plans were searched for with this judge, which rates them better than "
                "others would; let a judge of other people report (OutcomeJudge.fit_apart)."
            )
        if accepted is None:
            accepted = self.share_accepted(recourse.question.tree)
        bar, people = self.bar(accepted), recourse.people
        planned = recourse.within_budget & ~recourse.accepted
        rows = np.flatnonzero(planned)
        frame = pd.DataFrame(
            np.nan, recourse.labels, ["before", "after", "low", "high"], np.float64
        )
        if len(recourse):
            frame["before"] = self._estimates(people, people)[:, 0]
        if len(rows):
            frame.iloc[rows, 1:] = self._estimates(
                take_rows(recourse.outcomes, rows), take_rows(people, rows)
            )
        frame["verdict"] = verdicts_of(recourse, planned, frame["low"] > bar, frame["high"] < bar)
        return Judged(frame, bar, accepted, self.confidence, people)


def _layout(encoder: Encoder) -> list[tuple[object, ...]]:
    """What must agree between two encoders that give the same columns."""
    return [(axis.feature.name, axis.columns, axis.feature.categories) for axis in encoder.axes]


def _labels(y: ColumnLike) -> np.ndarray:
    """Classes as an array of their own type: classifiers refuse numbers held as objects."""
    labels = np.asarray(y)
    is_mixed = labels.dtype == object and labels.ndim == 1
    return np.asarray(pd.Series(labels).infer_objects()) if is_mixed else labels


def distinct_rows(encoder: Encoder, X: TableLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hashes of different rows in order, where each stands first, and which each person has."""
    hashes = row_hashes(encoder.encode(X))
    return np.unique(hashes, return_index=True, return_inverse=True)


def first_half(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Who is in the first of two random halves with equal shares of both classes."""
    order = np.lexsort((rng.random(len(label)), label))
    first = np.zeros(len(label), np.bool_)
    first[order[::2]] = True
    return first


def log_odds(shares: np.ndarray) -> np.ndarray:
    """Log odds of shares, which are kept off 0 and 1."""
    return np.asarray(logit(np.clip(shares, EDGE, 1 - EDGE)))


def fitted_curve(shares: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Shift and scale of log odds with which shares fit the outcomes of people outside.

    Shares that go against the outcomes say nothing: then everyone gets the share of all.
    """
    fitted = LogisticRegression(C=1e6).fit(log_odds(shares)[:, None], truth)
    shift, scale = float(fitted.intercept_[0]), float(fitted.coef_[0, 0])
    return (shift, scale) if scale > 0 else (float(logit(truth.mean())), 0.0)
