"""When many people act: whether plans hold once the model is trained on those who followed them.

Of the refused people who have a plan, a share follows it. Where their plans end, the judge says
with which probability they have the desired outcome; it is drawn, and the same learner is trained
again on everyone as they are now:

    share 0    the model of other people: retraining, as ``lasting_recourse`` measures it
    share q    besides, people stand where plans lead, with the outcomes that they have there

Plans hold if the model trained again accepts them. Where places are limited, its cut rises until
no more people than places are accepted, and plans must reach that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ract._utils import statistics
from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.typing import ColumnLike
from ract._utils.validation import ABOVE_0, AT_LEAST_ONE, NONE, check_value
from ract.data.frames import is_frame, take_rows
from ract.evaluation.outcomes import Judge, JudgedOutcomes, check_judge
from ract.models.base import RecourseClassifierMixin
from ract.models.judge import OutcomeJudge
from ract.recourse.find import find_recourse
from ract.trees.readers.model import is_own

SHARES = (0.0, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class AdoptionCurve:
    """How many plans are still accepted, by the share of people who follow theirs.

    Parameters
    ----------
    trials : DataFrame
        One row per share and draw: ``share``, ``draw``, ``plans``, ``adopters``, ``holds`` (share
        of all plans that hold), ``approval rate`` and ``bad rate`` of everyone as they are now (by
        the judge's probabilities for adopters, by y for the others), and ``cut``, by how much a
        score must exceed the model's own cut-off; 0 unless places are limited.
    confidence : float
    """

    trials: pd.DataFrame
    confidence: float

    def to_frame(self) -> pd.DataFrame:
        """One row per share: means over draws, and an interval of the share that holds.

        The interval is Wilson's, for the people with plans; all draws are of the same people.
        """
        rows = []
        for share, part in self.trials.groupby("share"):
            n, holds = int(part["plans"].iloc[0]), float(part["holds"].mean())
            estimate = statistics.proportion(round(holds * n) if n else 0, n, self.confidence)
            row = {"share": share, "plans": n, "holds": holds}
            row |= {"low": estimate.low, "high": estimate.high}
            rows.append(
                row | part[["adopters", "approval rate", "bad rate", "cut"]].mean().to_dict()
            )
        return pd.DataFrame(rows)


def simulate_adoption(
    model: RecourseClassifierMixin,
    X: pd.DataFrame,
    y: ColumnLike,
    share: Sequence[float] = SHARES,
    slots: float | None = None,
    *,
    judge: Judge | None = None,
    strength: float | str = "most",
    n_draws: int = 5,
    confidence: float = 0.9,
    random_state: int = 0,
    **options: Any,
) -> AdoptionCurve:
    """Whether plans still hold when many people follow them and the model is trained again.

    Parameters
    ----------
    model : fitted classifier of ract
        The model that gives the plans; a clone of it is trained again.
    X : frame
        People who had no part in training, in the columns of the training table.
    y : array (people,)
        What became of them: the classes of the model.
    share : sequence of float
        Shares of refused people with plans who follow their plan, between 0 and 1.
    slots : int or float, optional
        How many people can be accepted: a number, or a share of the people below 1. By default
        everyone whom the model accepts.
    judge : OutcomeJudge or function, optional
        Predicts the outcomes of people after their plans, as in ``ract.evaluation.book``; by
        default a judge fitted on X and y.
    strength : float or "most"
        Of the plans, as in ``ract.find_recourse``.
    n_draws : int
        Number of random draws of the people who follow their plan, and of their outcomes.
    confidence : float
    random_state : int
    **options
        Further ones of ``ract.find_recourse``, such as ``budget`` or ``effects``.

    Returns
    -------
    AdoptionCurve

    Examples
    --------
    >>> from ract import load_loans
    >>> from ract.models.examples import loans_forest
    >>> (model, _), new = loans_forest(), load_loans(500, random_state=1)
    >>> curve = simulate_adoption(model, new.frame, new.target, [0, 0.5], n_draws=2)
    >>> curve.to_frame()[["share", "adopters"]].astype(int).values.tolist()[0]
    [0, 0]
    """
    shares = _checked_shares(share)
    if not is_own(model) or not hasattr(model, "decision_function"):
        raise InvalidSpec(f"simulate_adoption needs a fitted model of ract, got {model!r:.60}.")
    if not is_frame(X):
        raise InvalidSpec("simulate_adoption needs people as a frame with named columns.")
    check_value("n_draws", n_draws, AT_LEAST_ONE)
    y = np.asarray(y)
    if y.shape != (len(X),):
        raise InvalidData(f"X has {len(X)} rows but y has shape {y.shape}.")
    places = _places(slots, len(X))
    if judge is None:
        judge = OutcomeJudge(model.encoder_.space, desired=model.desired_).fit(X, y)
    check_judge(judge)
    asked = {"explain": False, "strict": True, **options, "strength": strength}
    plans = find_recourse(model, X, **asked)
    planned = np.flatnonzero(plans.within_budget & ~plans.accepted & ~plans.only_supplied)
    after = plans.outcomes
    judged = JudgedOutcomes.of(judge, take_rows(after, planned), take_rows(X, planned))
    world = _Retraining(model, X, y, after, planned, judged.bad, places)
    seeds = np.random.default_rng(random_state).integers(2**31, size=n_draws)
    rows = [
        {"share": q, "draw": k, **world.trial(q, np.random.default_rng(seed))}
        for q in shares
        for k, seed in enumerate(seeds[: 1 if q == 0 else n_draws])
    ]
    return AdoptionCurve(pd.DataFrame(rows), confidence)


@dataclass(frozen=True)
class _Retraining:
    """People, those of them with plans, and how bad these are once they have followed them."""

    model: RecourseClassifierMixin
    X: pd.DataFrame
    y: np.ndarray
    after: pd.DataFrame
    planned: np.ndarray
    bad: np.ndarray
    places: int | None

    def trial(self, share: float, rng: np.random.Generator) -> dict[str, Any]:
        """One draw of who follows their plan, and the model trained again on everyone."""
        n = round(share * len(self.planned))
        acts = rng.permutation(len(self.planned))[:n]
        rows = self.planned[acts]
        desired = self.model.desired_
        [other] = [label for label in self.model.classes_ if label != desired]
        y, bad = self.y.copy(), (self.y != desired).astype(float)
        y[rows] = np.where(rng.random(n) < self.bad[acts], other, desired)
        bad[rows] = self.bad[acts]
        moved = np.isin(np.arange(len(y)), rows)
        now = _mixed(self.X, self.after, moved)
        again = clone(self.model)
        if "lasting" in again.get_params(deep=False):
            again.set_params(lasting=None)
        again.fit(now, y)
        scores, ends = (self._scores(again, X) for X in (now, take_rows(self.after, self.planned)))
        accepted, holds, cut = scores[1], ends[1], 0.0
        if self.places is not None and accepted.sum() > self.places:
            cut = _least_cut(scores[0], self.places)
            accepted, holds = accepted & (scores[0] >= cut), holds & (ends[0] >= cut)
        shares = {
            "holds": float(holds.mean()) if len(holds) else np.nan,
            "approval rate": float(accepted.mean()),
            "bad rate": float(bad[accepted].mean()) if accepted.any() else np.nan,
        }
        return {"plans": len(self.planned), "adopters": n, **shares, "cut": cut}

    def _scores(
        self, model: RecourseClassifierMixin, X: pd.DataFrame
    ) -> tuple[np.ndarray, np.ndarray]:
        """How far the deciding score of each person lies above the cut, and who is accepted."""
        if not len(X):
            return np.zeros(0), np.zeros(0, bool)
        ahead = model.decision_function(X)
        ahead = ahead if model.classes_[1] == model.desired_ else -ahead
        return ahead, np.asarray(model.predict(X) == model.desired_)


def _least_cut(scores: np.ndarray, places: int) -> float:
    """The least score that no more people than places reach; equal scores stand together.

    >>> _least_cut(np.array([3.0, 2.0, 2.0, 1.0]), 2), _least_cut(np.array([2.0, 2.0]), 1)
    (3.0, inf)
    """
    values, counts = np.unique(scores, return_counts=True)
    reached = np.cumsum(counts[::-1])[::-1]
    enough = values[reached <= places]
    return float(enough[0]) if len(enough) else float("inf")


def _mixed(X: pd.DataFrame, after: pd.DataFrame, moved: np.ndarray) -> pd.DataFrame:
    """Everyone as they are now: those who moved where their plans end."""
    mixed = {
        name: np.where(moved, np.asarray(after[name]), np.asarray(X[name])) for name in X.columns
    }
    return X.assign(**mixed).astype(X.dtypes)


def _checked_shares(share: float | Sequence[float]) -> list[float]:
    shares = np.atleast_1d(np.asarray(share, float)).tolist()
    if not shares or not all(0 <= q <= 1 for q in shares):
        raise InvalidSpec(f"share must be shares between 0 and 1, got {share!r}.")
    return shares


def _places(slots: float | None, n: int) -> int | None:
    check_value("slots", slots, NONE, ABOVE_0)
    if slots is None:
        return None
    return round(slots * n) if slots < 1 else int(slots)
