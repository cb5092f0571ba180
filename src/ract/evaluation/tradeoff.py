"""What a parameter costs and gives: accuracy, AUC and recourse along its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ract._utils.errors import InvalidSpec, listing
from ract._utils.progress import in_threads, track
from ract._utils.typing import ColumnLike, TableLike
from ract.data.frames import read_table, take_rows
from ract.evaluation.metrics.scores import served
from ract.models.base import RecourseClassifierMixin
from ract.models.performance import Performance
from ract.models.table import Prepared
from ract.models.weight_search import Trial, WeightSearch, WeightWarning
from ract.recourse.lasting import lasting_recourse
from ract.recourse.question import check_strength

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

__all__ = ["TradeoffCurve", "Trial", "WeightSearch", "WeightWarning", "tradeoff_curve"]

SCORES = ("accuracy", "AUC", "recourse")
N_REFUSED = 200  # people who are asked whether their plans last


@dataclass(frozen=True)
class TradeoffCurve:
    """Accuracy, AUC and recourse of an estimator at several values of a parameter.

    Parameters
    ----------
    param : str
    folds : DataFrame
        One row per value and fold: value, fold, accuracy, AUC, recourse.
    lasting : DataFrame, optional
        One row per value: the share of refused people with a plan that lasts, and its interval.
    """

    param: str
    folds: pd.DataFrame
    lasting: pd.DataFrame | None = None

    def to_frame(self) -> pd.DataFrame:
        """Means over folds, their standard errors, and which values are on the Pareto front."""
        by_value = self.folds.groupby("value", sort=False)[list(SCORES)]
        means, errors = by_value.mean(), by_value.sem().add_suffix(" error")
        table = means.join(errors)
        table["front"] = pareto_front(table["AUC"].to_numpy(), table["recourse"].to_numpy())
        table = table.reset_index()
        if self.lasting is not None:
            table = table.merge(self.lasting, on="value")
        return table.rename(columns={"value": self.param})

    def best(self, *, min_recourse: float) -> Any:
        """The value of the largest AUC among those with at least this mean recourse.

        Parameters
        ----------
        min_recourse : float
        """
        table = self.to_frame()
        values, recourse = table[self.param].tolist(), table["recourse"].to_numpy()
        if not (recourse >= min_recourse).any():
            most = int(recourse.argmax())
            raise InvalidSpec(
                f"No value of {self.param} gives a recourse ratio of {min_recourse:g}; the best "
                f"is {recourse[most]:.3f} with {self.param}={values[most]!r}."
            )
        auc = np.where(recourse >= min_recourse, table["AUC"].to_numpy(), -np.inf)
        return values[int(auc.argmax())]


def pareto_front(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which points no other point beats in one respect without losing in the other.

    Examples
    --------
    >>> pareto_front(np.array([0.8, 0.7, 0.7]), np.array([0.5, 0.9, 0.6]))
    array([ True,  True, False])
    """
    ahead = (first[None] >= first[:, None]) & (second[None] >= second[:, None])
    better = ahead & ((first[None] > first[:, None]) | (second[None] > second[:, None]))
    return np.asarray(~better.any(axis=1))


def tradeoff_curve(
    estimator: RecourseClassifierMixin,
    X: TableLike,
    y: ColumnLike,
    param: str = "recourse_weight",
    values: Sequence[Any] = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0),
    cv: int | BaseCrossValidator = 5,
    *,
    strength: float | str | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> TradeoffCurve:
    """Measure accuracy, AUC and recourse along a parameter by cross-validation.

    Parameters
    ----------
    estimator : classifier of ract
        Not fitted; it is cloned. The table of a fold is encoded, binned and priced once for all
        values that do not change this.
    X : frame or array
    y : array (people,)
    param : str
        A parameter of the estimator.
    values : sequence
        Its values.
    cv : int or splitter
        As in scikit-learn: stratified folds for a number.
    strength : float or "most", optional
        Measure lasting recourse too, for plans of this strength (``metrics.lasting_recourse`` with
        at most 200 refused people); this takes ten more fits per value.
    n_jobs : int, optional
        Fits at the same time, in threads; each fit then uses one.
    progress : bool
        Show a bar with the time left.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> tree, loans = loans_tree(600)
    >>> curve = tradeoff_curve(tree, loans.frame, loans.target, values=[0, 0.2], cv=3)
    >>> curve.to_frame()[["recourse_weight", "recourse"]].round(2)
       recourse_weight  recourse
    0              0.0      0.89
    1              0.2      1.00
    """
    if not isinstance(estimator, RecourseClassifierMixin):
        raise InvalidSpec(
            "tradeoff_curve takes a RecourseTreeClassifier, RecourseForestClassifier or "
            "RecourseBoostingClassifier, got "
            f"{type(estimator).__name__}."
        )
    if param not in estimator.get_params(deep=False):
        raise InvalidSpec(
            f"{param!r} is not a parameter of {type(estimator).__name__}; it has "
            f"{listing(sorted(estimator.get_params(deep=False)), 40)}."
        )
    if strength != "most":
        check_strength(strength)
    if not len(values):
        raise InvalidSpec("values must hold at least one value of the parameter.")
    labels = np.asarray(y)
    splits = list(check_cv(cv, labels, classifier=True).split(np.zeros(len(labels)), labels))
    if read_table(X).n_rows != len(labels):
        raise InvalidSpec(f"X has {read_table(X).n_rows} rows but y has {len(labels)}.")
    folds = [Fold.of(estimator, X, labels, k, *rows) for k, rows in enumerate(splits)]
    jobs = [(fold, value) for value in values for fold in folds]
    scores = in_threads(
        [partial(fold.scores, estimator, param, value) for fold, value in jobs], n_jobs
    )
    scores = track(scores, len(jobs), "Measuring the trade-off", show=progress)
    rows = [
        {"value": value, "fold": fold.number, **dict(zip(SCORES, found, strict=True))}
        for (fold, value), found in zip(jobs, scores, strict=True)
    ]
    lasting = None
    if strength is not None:
        how: dict[str, Any] = {"n_refused": N_REFUSED, "n_jobs": n_jobs, "time_limit": 1.0}
        shares = []
        for value in track(values, len(values), "Asking other models", show=progress):
            model = clone(estimator).set_params(**{param: value})
            found = lasting_recourse(model, X, labels, strengths=[strength], **how)
            share = found.share(strength)
            shares.append((value, share.value, share.low, share.high))
        names = ["value", "lasting", "lasting low", "lasting high"]
        lasting = pd.DataFrame(shares, columns=names)
    return TradeoffCurve(param, pd.DataFrame(rows), lasting)


@dataclass(frozen=True)
class Fold:
    """One split of the people, its training part prepared once.

    Parameters
    ----------
    number : int
    prepared : Prepared
    training, test : tuple
        Tables and labels.
    """

    number: int
    prepared: Prepared
    training: tuple[TableLike, np.ndarray]
    test: tuple[TableLike, np.ndarray]

    @classmethod
    def of(
        cls,
        estimator: RecourseClassifierMixin,
        X: TableLike,
        y: np.ndarray,
        number: int,
        train: np.ndarray,
        test: np.ndarray,
    ) -> Fold:
        """Prepare a split."""
        training = take_rows(X, train), y[train]
        # A weight of recourse, so that reach is worked out whatever the estimator's own is.
        reader = clone(estimator).set_params(recourse_weight=1.0)
        return cls(number, reader.prepare(*training), training, (take_rows(X, test), y[test]))

    def scores(
        self, estimator: RecourseClassifierMixin, param: str, value: object
    ) -> tuple[float, float, float]:
        """Accuracy, AUC and recourse ratio with a value of the parameter."""
        model = clone(estimator).set_params(**{param: value})
        if "n_jobs" in model.get_params(deep=False):
            model.set_params(n_jobs=1)
        held_out_inside = getattr(model, "confidence", None) is not None
        if self.prepared.spec.serves(model.table_spec) and not held_out_inside:
            model.fit_prepared(self.prepared)
        else:
            model.fit(*self.training)
        found = Performance.of(model, *self.test)
        return found.accuracy, found.auc, float(np.mean(served(model, self.test[0], n_jobs=1)))
