"""A guarantee for forests, boosters and other libraries' models: less needed, until it holds.

Asking for fewer votes (or a lower probability) accepts more people and refuses nobody else, so the
recourse risk falls. That gives a fixed sequence of models, from "everyone is accepted", whose risk
is 0, to the model as it is:

    votes needed     0    1    2   ...   38   39   40 | 41 ... 51
    risk on n        0    0    0   ...  .03  .04  .05 | .06
    bound            -   .02  .02  ...  .05  .06  .07 | .09        asked: 0.08
                                                  ^ the last that passes is kept

The walk starts at the safe end and stops at the first model whose Clopper-Pearson bound is above
``max_risk``. To keep a model of larger risk, the first such model must have passed, which is as
unlikely as asked: testing many models needs no correction. Since nobody gains recourse on the way,
the walk's end is found by halving.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.signature import refuse_unknown_keywords
from ract._utils.statistics import clopper_pearson_upper
from ract._utils.status import Status
from ract._utils.typing import Classifier, TableLike
from ract.evaluation.certificates.certify import check_certified
from ract.models.guarantee import most_failures, sequence_people_needed
from ract.models.imported import ImportedClassifier
from ract.models.tree import RecourseTreeClassifier
from ract.recourse.common.search import Limits
from ract.recourse.options import TIME_LIMIT
from ract.recourse.problem import PROBLEM_KEYWORDS, ProblemKeywords, RecourseProblem
from ract.recourse.reachable import reach
from ract.trees.ensemble import TreeEnsemble
from ract.trees.log_odds import sigmoid
from ract.trees.readers import read_model

STEPS = 50
# Margins beyond this have a probability of 0 or 1; halving it so often reaches the last place.
LARGEST_MARGIN, BISECTIONS = 1e4, 80


@dataclass(frozen=True)
class RecourseGuarantee:
    """A model whose recourse risk is bounded with confidence.

    Parameters
    ----------
    model : classifier
        A copy that needs fewer votes, for forests of ract, or a lower probability, for boosters of
        ract and imported models; else the model that was given, to be used with ``threshold``.
    votes_needed : int or None
        Of a forest that votes.
    threshold : float or None
        Probability from which the desired class is given, of other models.
    max_risk, confidence : float
        What was asked for.
    risk_bound : float
        With the given confidence at most this share of people is without recourse.
    empirical_risk : float
        Share of the calibration people without recourse.
    n_people : int
        How many there were.
    accepted_before, accepted : float
        Shares of them who are accepted, before and after.
    """

    model: Classifier
    votes_needed: int | None
    threshold: float | None
    max_risk: float
    confidence: float
    risk_bound: float
    empirical_risk: float
    n_people: int
    accepted_before: float
    accepted: float

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """The guarantee in plain words."""
        how = f"{self.votes_needed} votes are needed"
        if self.threshold is not None:
            how = f"the desired class is given from a probability of {self.threshold:.3g}"
        return (
            f"With {100 * self.confidence:.4g}% confidence at most "
            f"{100 * self.risk_bound:.3g}% of people are without recourse (asked: "
            f"{100 * self.max_risk:.4g}%), from {self.n_people} held-out people, if {how}; "
            f"{100 * self.accepted:.3g}% of them are accepted, {100 * self.accepted_before:.3g}% "
            "before."
        )


def guarantee_recourse(
    model: Classifier | RecourseProblem,
    X: TableLike,
    max_risk: float,
    confidence: float = 0.95,
    *,
    time_limit: float | None = TIME_LIMIT,
    n_jobs: int | None = None,
    progress: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> RecourseGuarantee:
    """Lower the votes or the threshold that a model requires until its recourse risk is bounded.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
        A forest or booster of ract's, an imported model, or any that ``read_model`` takes. A tree
        of ract's gets its guarantee while it is fitted (parameter ``confidence``).
    X : frame or array
        Calibration people, who had no part in training.
    max_risk : float
        Largest acceptable share of people without recourse.
    confidence : float
    time_limit, n_jobs, progress
        As in ``ract.find_recourse``. People for whom the search ends early count as without
        recourse, and so do people who would have to supply a missing value.
    **problem
        The keywords of ``RecourseProblem`` except the threshold, which is what is lowered; none if
        a problem is given.

    Examples
    --------
    >>> from ract import load_loans
    >>> from ract.models.examples import loans_forest
    >>> (forest, _), fresh = loans_forest(recourse_weight=0), load_loans(500, random_state=1)
    >>> given = guarantee_recourse(forest, fresh.frame, max_risk=0.1)
    >>> given.risk_bound <= 0.1, given.votes_needed <= forest.ensemble_.cutoff
    (True, True)
    """
    check_certified(confidence, max_risk)
    allowed = frozenset({*PROBLEM_KEYWORDS} - {"threshold"})
    refuse_unknown_keywords("guarantee_recourse", problem, allowed)
    asked = RecourseProblem.of(model, problem, "guarantee_recourse")
    if asked.threshold is not None:
        raise InvalidSpec("guarantee_recourse chooses the threshold; leave it out of the problem.")
    classifier: Classifier = asked.model
    question = asked.encoded(X)
    question.refuse_rules("A certificate")
    matrix, trees = question.matrix, question.ensemble
    is_ours = hasattr(classifier, "ensemble_")  # one of ract's classifiers, or an imported one
    by_votes = is_ours and trees.combine == "votes" and trees.n_trees > 1
    if isinstance(classifier, RecourseTreeClassifier):
        raise InvalidSpec(
            "One tree has one vote, so there is nothing to lower; fit the RecourseTreeClassifier "
            "with min_recourse and confidence, which relabels its leaves."
        )
    n = len(matrix)
    tolerated = most_failures(n, max_risk, confidence) if n else -1
    if tolerated < 0:
        needed = sequence_people_needed(max_risk, confidence)
        raise InvalidData(
            f"{n} calibration people are too few for max_risk={max_risk:g} with confidence "
            f"{confidence:g}: {needed} are needed even if all of them have recourse."
        )

    highest = _threshold_of(classifier)
    limits = Limits(None, time_limit, n_jobs, progress)

    def ensemble(step: int) -> TreeEnsemble:
        if by_votes:
            return replace(trees, cutoff=step)
        if step == STEPS:
            return trees
        threshold = highest * step / STEPS
        if is_ours:
            return _lowered(classifier, trees, threshold)
        known, given = X if asked.reference is None else asked.reference, asked.desired
        tree = read_model(classifier, known, asked.actions, desired=given, threshold=threshold)
        return tree.ensemble

    def n_without(step: int) -> int:
        """How many people are without recourse at a step of the sequence; nobody at step 0."""
        status = reach(question.by(ensemble(step)), limits, supply=False)
        return int((~np.isin(status, (Status.ACCEPTED, Status.FOUND))).sum())

    last = int(trees.cutoff) if by_votes else STEPS
    step = _last_that_passes(lambda k: n_without(k) <= tolerated, last)
    chosen = ensemble(step)
    failures, bound = 0, 0.0
    if step:
        failures = n_without(step)
        # The walk chose among models at one level, which is all that it shows; the model as it
        # was is the end of the sequence, whose own failures may count.
        counted = failures if step == last else tolerated
        bound = clopper_pearson_upper(counted, n, confidence)
    return RecourseGuarantee(
        model=_with_trees(classifier, chosen) if is_ours else classifier,
        votes_needed=step if by_votes else None,
        threshold=None if by_votes else highest * step / STEPS,
        max_risk=max_risk,
        confidence=confidence,
        risk_bound=bound,
        empirical_risk=failures / n,
        n_people=n,
        accepted_before=float(trees.decide(matrix).mean()),
        accepted=float(chosen.decide(matrix).mean()),
    )


def _threshold_of(model: Classifier) -> float:
    """The probability from which a model decides for the desired class; mostly one half."""
    trees = getattr(model, "ensemble_", None)
    if trees is None or isinstance(model, ImportedClassifier) or trees.combine == "votes":
        return 0.5
    return float(sigmoid(trees.cutoff) if trees.combine == "sum" else trees.cutoff)


def _last_that_passes(passes: Callable[[int], bool], last: int) -> int:
    """The last step that passes of those from 1 to last, or 0; once one fails, all after it do."""
    if passes(last):
        return last
    return bisect_left(range(1, last), True, key=lambda step: not passes(step))


def _with_trees(model: Classifier, trees: TreeEnsemble) -> Classifier:
    """A copy of a model that decides by other trees."""
    if isinstance(model, ImportedClassifier):
        return replace(model, ensemble_=trees)
    changed = copy.copy(model)
    vars(changed)["ensemble_"] = trees
    return changed


def _lowered(model: Classifier, trees: TreeEnsemble, probability: float) -> TreeEnsemble:
    """The trees of a booster or an imported model, asked for a probability of the desired class."""
    if not isinstance(model, ImportedClassifier):
        return trees.at_threshold(probability)
    link = model.link
    if trees.combine == "votes":  # a single tree
        return replace(trees, label=(trees.value >= probability).astype(np.uint8))
    if link is None:
        return replace(trees, cutoff=probability, against=None)
    second = model.desired_ == model.classes_[1]

    def enough(score: float) -> bool:
        at = np.array([score if second else -score])
        share = link(at)[0] if second else 1 - link(at)[0]
        return bool(share >= probability)

    low, high = -LARGEST_MARGIN, LARGEST_MARGIN
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return replace(trees, cutoff=high, against=None)
