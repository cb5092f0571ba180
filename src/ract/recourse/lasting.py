"""Do plans last? Whether models that were trained on other people accept them too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.files import write_whole
from ract._utils.progress import track
from ract._utils.statistics import Estimate, exact_share
from ract._utils.typing import ColumnLike, TableLike
from ract.data.frames import read_table, take_rows
from ract.data.groups import group_masks
from ract.recourse.plain_judges import SAME, checked_learners
from ract.recourse.replicates import PLANNERS, Replicates, Strength

# The first is what the decision needs, whatever that is.
STRENGTHS = (0.0, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True)
class LastingRecourse:
    """How many plans last, for refused people on whom neither model was trained.

    Parameters
    ----------
    trials : DataFrame
        One row per refused person and strength: person (row of X), planner, judge (their folds),
        strength (asked for), status, won (the strength of the plan), cost, changes, lasts, group.
    confidence : float
        Of intervals.
    """

    trials: pd.DataFrame
    confidence: float

    @property
    def strengths(self) -> list[Strength]:
        """The strengths that were asked for, in their order."""
        strengths: list[Strength] = self.trials["strength"].unique().tolist()
        return strengths

    def share(self, strength: Strength, *, fallback: bool = False) -> Estimate:
        """Share of the refused who have a plan of a strength that lasts.

        Parameters
        ----------
        strength : float or "most"
            One of those that were asked for.
        fallback : bool
            Use the strongest plan of people who have none of the strength; "most" must have been
            asked for.
        """
        wanted = self._at(strength)
        lasts = wanted["lasts"].to_numpy(bool)
        if fallback:
            without = ~found_in(wanted)
            lasts = np.where(without, self._at("most")["lasts"].to_numpy(bool), lasts)
        return exact_share(int(lasts.sum()), len(lasts), self.confidence)

    def kept(self, strength: Strength) -> Estimate:
        """Share of the plans of a strength that last."""
        plans = self._at(strength)
        plans = plans[found_in(plans)]
        return exact_share(int(plans["lasts"].sum()), len(plans), self.confidence)

    def to_frame(self, by: str | Sequence[str] = ()) -> pd.DataFrame:
        """Lasting recourse by strength.

        Parameters
        ----------
        by : str or list of str
            Further columns of ``trials`` to divide by, such as "group", "changes" or "planner".
        """
        rows = []
        names = ["strength", *([by] if isinstance(by, str) else by)]
        for key, part in self.trials.groupby(names, sort=False, dropna=False):
            found = found_in(part)
            n, n_lasting = len(part), int(part["lasts"].sum())
            estimate = exact_share(n_lasting, n, self.confidence)
            kept = n_lasting / found.sum() if found.any() else np.nan
            mean = part["cost"][found].mean() if found.any() else np.nan
            unknown = int((part["status"] == "unknown").sum())
            counts = n, int(found.sum()), unknown, n_lasting
            rows.append((*key, *counts, estimate.value, estimate.low, estimate.high, kept, mean))
        columns = ["refused", "plans", "unknown", "last", "lasting recourse", "low", "high"]
        return pd.DataFrame(rows, columns=[*names, *columns, "share of plans", "mean cost"])

    def _at(self, strength: Strength) -> pd.DataFrame:
        part = self.trials[self.trials["strength"] == strength]
        if len(self.trials) and not len(part):
            raise InvalidSpec(f"Strength {strength!r} was not asked for; {self.strengths} were.")
        return part


def found_in(trials: pd.DataFrame) -> np.ndarray:
    """Which trials have a plan."""
    return trials["status"].isin(["optimal", "found"]).to_numpy()


def lasting_recourse(
    estimator: Any,
    X: TableLike,
    y: ColumnLike,
    *,
    strengths: Sequence[Strength] = STRENGTHS,
    n_refused: int | None = None,
    groups: str | ColumnLike | None = None,
    robust_to: Sequence[str] = SAME,
    sample_weight: ColumnLike | None = None,
    confidence: float = 0.9,
    random_state: int = 0,
    checkpoint: str | Path | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    **options: Any,
) -> LastingRecourse:
    """Measure how many plans the same learner, trained on other people, accepts.

    Ten replicates of the learner are fitted, each on two fifths of the people; plans are found for
    one and judged by another that shares nobody with it, for people who are in neither.

    Parameters
    ----------
    estimator : classifier
        Not fitted; any that scikit-learn can clone and ``ract.find_recourse`` can read.
    X : frame or array
    y : array (people,)
    strengths : sequence of float or "most"
        Strengths that plans must have, in increasing order; 0 stands for what the decision needs.
    n_refused : int, optional
        About how many refused people to use; all by default.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    robust_to : sequence of {"same", "boosting", "linear"}
        The learners that must accept a plan, for it to last, as in ``ract.calibrate``.
    sample_weight : array (people,), optional
        For fitting.
    confidence : float
        Of intervals.
    random_state : int
        For the folds, and for choosing people.
    checkpoint : path, optional
        A file to which finished parts are written, so that an interrupted run can be resumed.
    n_jobs : int, optional
        Threads.
    progress : bool
        Show a bar with the time left.
    **options
        Of ``ract.find_recourse``: ``actions`` (needed for other libraries' learners),
        ``budget``, ``max_changes`` and so on.

    Returns
    -------
    LastingRecourse

    Examples
    --------
    >>> from ract import RecourseForestClassifier, load_loans
    >>> loans = load_loans(n_people=600)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> found = lasting_recourse(
    ...     forest, loans.frame, loans.target, strengths=[0, 0.8], n_refused=80)
    >>> found.kept(0.8).value > found.kept(0).value
    True
    """
    table, learners = (estimator, X, y, sample_weight), checked_learners(robust_to)
    replicates = Replicates(*table, random_state, n_jobs, options, progress, learners)
    path = None if checkpoint is None else Path(checkpoint)
    key = "" if path is None else _key_of(replicates, tuple(strengths), n_refused)
    done = {} if path is None or not path.exists() else _read_checkpoint(path, key)
    if todo := [k for k in range(len(PLANNERS)) if k not in done]:
        n_each = None if n_refused is None else -(-n_refused // len(PLANNERS))
        asked = [slice(n_each)] * len(strengths)
        replicates.models  # noqa: B018  fitted before the next bar is shown
        for k in track(todo, len(todo), "Asking other models", show=progress):
            done[k] = replicates.trials(k, strengths, asked)
            if path is not None:
                parts = {str(k): part.to_dict("list") for k, part in done.items()}
                write_whole(path, json.dumps({"key": key, "parts": parts}))
    trials = pd.concat([done[k] for k in sorted(done)], ignore_index=True)
    of_whom = np.full(len(replicates.y), None, object)
    for group, rows in ({} if groups is None else group_masks(X, groups)).items():
        of_whom[rows] = group
    trials["group"] = of_whom[trials["person"].to_numpy(int)]
    # Strength by strength, each with its people in order: rows of two strengths stand alike.
    order = {strength: k for k, strength in enumerate(strengths)}
    trials["order"] = trials["strength"].map(order)
    trials = trials.sort_values(["order", "person"], ignore_index=True).drop(columns="order")
    return LastingRecourse(trials, confidence)


def _key_of(run: Replicates, strengths: tuple[Strength, ...], n_refused: int | None) -> str:
    """What tells one run from another, for the checkpoint."""
    options = {name: value for name, value in run.options.items() if name != "n_jobs"}
    learner = run.estimator.get_params(), repr(run.estimator)
    table = read_table(run.X).names, take_rows(run.X, np.arange(len(run.y))), run.y
    how = run.sample_weight, run.random_state, repr(options), run.robust_to
    key: str = joblib.hash((*learner, *table, strengths, n_refused, *how))
    return key


def _read_checkpoint(path: Path, key: str) -> dict[int, pd.DataFrame]:
    """The finished parts of a run, by planner."""
    try:
        content = json.loads(path.read_text("utf-8"))
        same = content["key"] == key
    except (ValueError, KeyError, TypeError):
        raise InvalidData(f"{path} is no checkpoint of lasting_recourse.") from None
    if not same:
        raise InvalidData(f"{path} is the checkpoint of another run; name another file.")
    return {int(k): pd.DataFrame(part) for k, part in content["parts"].items()}
