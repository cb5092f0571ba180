"""Recourse for people: from a model and a table to plans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract.data.actions.pace import whole_months
from ract.recourse.common.answers import Answers
from ract.recourse.common.search import Limits, check_budget
from ract.recourse.dispatch import Entry, Task, answer, confirm_plans, highest, resolved, search_for
from ract.recourse.options import TIME_LIMIT, Levels, Options, Overrides, rows_by_rules
from ract.recourse.plausible.plausibility import Plausibility
from ract.recourse.problem import PROBLEM_KEYWORDS, ModelLike, ProblemKeywords, RecourseProblem
from ract.recourse.question import PlanJudge, Question
from ract.recourse.result import Recourse
from ract.recourse.when import HORIZON, Months
from ract.trees.ensemble import TreeEnsemble


def find_recourse(
    model: ModelLike,
    X: TableLike,
    *,
    strength: float | str | Levels | None = None,
    lasting: float | None = None,
    earned: PlanJudge | None = None,
    method: str = "exact",
    max_changes: int | None = None,
    prefer: str | None = None,
    n_alternatives: int = 0,
    margin: float = 0.0,
    ranges: bool = False,
    at_least: bool = False,
    by: float | str | None = None,
    overrides: Overrides | None = None,
    plausibility: Plausibility | str | None = None,
    effects: object = None,
    explain: bool = True,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    strict: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> Recourse:
    """What each person can do to get the desired class.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
        The model, or a problem that contains it.
    X : frame or array
        People, in the columns of the training table.
    strength : float or "most", optional
        The strength that plans must have, from what the decision needs (the default) up to 1: the
        share of votes of a forest, the share of desired people in a single tree's leaf, the mean
        probability, or the sigmoid of a score. Stronger plans cost more, and last longer when the
        model is trained again. "most" gives the strongest plan within the budget, the cheapest of
        them if there are several; ``ract.recourse.options.Levels`` gives the highest of several
        strengths that each person can reach.
    lasting : float, optional
        The probability with which the same learner, trained again on other people, should accept
        the plans. Plans have the strength that this needs, as measured when the model was fitted
        with ``lasting`` (or by ``ract.calibrate``); for a forest they are the strongest plans
        within the budget. People without such a plan within the budget get their strongest plan,
        without that promise (``Recourse.lasts``).
    earned : OutcomeJudge, optional
        Only plans that this judge places well above the bar, so that it calls them earned. Let a
        judge of other people report how many of them are (``OutcomeJudge.fit_apart``).
    method : {"exact", "leaves"}
        The exact search, or leaf enumeration (the paper's Algorithm 2).
    max_changes : int, optional
        How many features a plan may change.
    prefer : {"cheapest", "fewest"}, optional
        "fewest": the plan that changes the fewest features, and the cheapest of several.
        "cheapest": the cheapest plan, and of several the one that changes the fewest features. By
        default any of the cheapest.
    n_alternatives : int
        Further plans for each person, none of which changes all the features of one before it.
    margin : float
        Plans are accepted even if each change falls short by up to this share, each independently
        of the others.
    ranges : bool
        Widen each plan to a box in which everyone is proved to get the desired class, and of which
        no side can move further.
    at_least : bool
        Everyone who does more than the plan is proved to be accepted: with all changes at least as
        far as in the plan, up to the bounds of the features. If no such plan is found within the
        budget, the plan has ranges as wide as can be proved.
    by : float or str, optional
        The time that plans may take: whole months, or a text such as "6 months". Changes are made
        in parallel, each at the pace of its feature (``Feature.pace``, ``delay``). Features that
        change by themselves have the values of that month (``drift``); waiting can be a plan. Plans
        are the cheapest of all months up to it, or the earliest (up to 36) with ``cost="time"``.
    overrides : mapping, optional
        By a person's label (the index of a pandas frame, else the row number): features that differ
        for them, as "fixed", another direction, or a ``Feature``. What a ``Feature`` leaves at its
        default stays as it is, the direction too (the text "any" allows both); its categories are
        those that the person may enter. A feature that the action space fixes for everyone cannot
        be freed for one person.
    plausibility : Plausibility or str, optional
        Only plans that lead to plausible people, by "isolation_forest" or
        "local_outlier_factor" (or a ``ract.recourse.Plausibility``), learned
        from the reference people unless it has been fitted.
    effects : CausalEffects, mapping, graph or "estimate", optional
        Include the causal effects of changes on other features: effects, edges such as
        ``{("Income", "Savings"): 0.3}``, a networkx graph with weights, or estimated from the
        reference people by DirectLiNGAM. Rules and costs are about the changes that people make
        themselves; the model decides on the features after all effects. Estimated effects are
        assumed to be wrong by up to 30% (``CausalEffects.uncertainty``).
    explain : bool
        Say why people without a plan have none.
    time_limit : float or None
        Seconds for each person's search.
    max_nodes : int, optional
        Nodes of each question of the exact search, which ends as found or unknown beyond them.
        Together with ``time_limit=None`` the same people get the same plans on every machine.
    n_jobs : int, optional
        Threads.
    progress : bool
        Show a bar with the time left.
    strict : bool
        Refuse the whole table if a row cannot be read: a value is missing, infinite or not a
        number where one is needed, or a category is new. By default such a row has the status
        "invalid" with a message, and the others have their plans. Which categories there are is
        known from ract's own models or from ``reference``.
    **problem
        The keywords of ``RecourseProblem``, where a bare model is given: ``actions``, ``desired``,
        ``threshold``, ``cost``, ``budget``, ``reference``. With ``cost="time"`` a plan costs the
        months until it is done, and ``budget`` is the largest number of months. Of all plans for
        the earliest month, the cheapest by the model's own cost is given; the model's own budget
        does not apply.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ract import ActionSpace
    >>> people = pd.DataFrame({"age": [25, 32, 47, 51, 60, 38], "income": [20, 44, 30, 62, 58, 25]})
    >>> approved = people["income"] > 40
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(people, approved)
    >>> space = ActionSpace.infer(people, fixed=["age"])
    >>> recourse = find_recourse(forest, people, actions=space)
    >>> recourse[0].describe()
    'Raise income from 20 to 38 (38 to 41 will do).'
    """
    limits = Limits(max_changes, time_limit, n_jobs, progress, max_nodes)
    options = Options(method, limits, margin, ranges, n_alternatives, explain, at_least, prefer)
    options = replace(options, plausibility=plausibility, effects=effects)
    asked = RecourseProblem.of(model, problem, "find_recourse")
    earliest = isinstance(asked.cost, str) and asked.cost == "time"
    last = HORIZON if by is None else whole_months(by)
    if earliest:
        last = last if asked.budget is None else int(min(last, check_budget(asked.budget)))
        asked = replace(asked, cost=None, budget=np.inf)
    question, invalid = asked.encoded_valid(X, strict=strict)
    rules = overrides if invalid is None else invalid.without(overrides)
    inquiry = Inquiry.about(question, options, earned=earned, overrides=rules)
    in_time = None if by is None and not earliest else (last, earliest)
    return Recourse.with_invalid(inquiry.plans(strength, lasting, in_time), invalid)


@dataclass(frozen=True)
class Inquiry:
    """A question that was read and encoded once, to be asked about plans of any strength.

    Parameters
    ----------
    question : Question
    options : Options
    search : Entry
        The search that serves them.
    overrides : mapping, optional
        By label: rules that differ for single people.
    """

    question: Question
    options: Options
    search: Entry
    overrides: Overrides | None = None

    @classmethod
    def about(
        cls,
        question: Question,
        options: Options,
        *,
        earned: PlanJudge | None = None,
        overrides: Overrides | None = None,
    ) -> Inquiry:
        """A question with options; what cannot be asked for together is refused."""
        if earned is not None:
            question = question.earned_by(earned)
        search = search_for(question, options)
        return cls(question, resolved(question, options), search, overrides)

    def of(self, rows: np.ndarray) -> Inquiry:
        """The same inquiry about some of the people, all of whose rows must be valid."""
        question, rules = self.question.of_rows(rows), self.overrides
        if rules:
            rules = {label: rule for label, rule in rules.items() if label in question.labels}
        options = replace(self.options, limits=self.options.limits.of_rows(rows))
        return replace(self, question=question, options=options, overrides=rules)

    def after(self, seconds: float | np.ndarray) -> Inquiry:
        """The same inquiry with what is left of each person's time after so many seconds."""
        limits = self.options.limits.after(seconds)
        return replace(self, options=replace(self.options, limits=limits))

    @property
    def in_half_the_time(self) -> Inquiry:
        """The same inquiry; the other half is for plans of those who have none that lasts."""
        limit = self.options.limits.time_limit
        return self if limit is None else self.after(limit / 2)

    def plans(
        self,
        strength: float | str | Levels | None,
        lasting: float | None,
        in_time: tuple[int, bool] | None,
    ) -> Recourse:
        """Plans as ``find_recourse`` gives them.

        in_time: the last month, and whether those of the earliest are asked for.
        """
        if isinstance(strength, Levels):
            return self.at_levels(strength, lasting, in_time)
        if in_time is None:
            return self.answered(strength, lasting)
        return self._in_time(*in_time, strength, lasting)

    def answered(
        self,
        strength: float | str | None = None,
        lasting: float | None = None,
        *,
        least: float | np.ndarray = 0.0,
        most: float | np.ndarray = np.inf,
    ) -> Recourse:
        """Plans of a strength, or that last with a probability, as ``find_recourse`` gives them.

        least, most: what no plan of each person can cost less than, and what one costs at most, as
        far as that is known.
        """
        if lasting is None:
            return self._plans(strength, least, most)
        if strength is not None:
            raise InvalidSpec("Give either strength or lasting, which stands for a strength.")
        needed, curve = self.question.strength_for(lasting)
        if curve.guard is None and curve.rule == "strongest":
            return self._strongest(lasting, needed)
        if curve.guard is not None:
            if curve.guard.feature.max() >= self.question.encoder.n_columns:
                raise InvalidSpec("The plain booster of lasting_ was fitted on other columns.")
            found = self.in_half_the_time.agreed(curve.guard, needed)
        else:
            found = self.in_half_the_time._plans(needed, least, most)
        question = replace(self.question.at_strength(needed), lasting=lasting)
        return Recourse(question, self._or_strongest(found))

    def at_levels(
        self,
        levels: Levels,
        lasting: float | None = None,
        in_time: tuple[int, bool] | None = None,
    ) -> Recourse:
        """Plans of the highest of several levels that each person can have.

        Who asks for plans that last or for several models, and whose action space does not limit
        changes, gets the cheapest.
        """

        def ask(strength: float | None, rows: np.ndarray | None = None) -> Recourse:
            if rows is None:
                return self.plans(strength, lasting, in_time)
            left = self.of(rows).after(found.answers.seconds[rows])
            return left.plans(strength, lasting, in_time)

        question = self.question
        if lasting is not None or question.also or not question.encoder.space.is_limited:
            return ask(None)
        ensemble = question.ensemble
        single = ensemble.combine == "votes" and ensemble.n_trees == 1  # leaves, not sums
        if in_time is None and not single and "levels" in self.search.honours:
            options = replace(self.options, levels=levels)
            return replace(self, options=options).answered()
        found, strengths = ask(None), levels.strengths(ensemble)
        highest(found.answers, ask, strengths, beside=levels.beside)
        return found

    def _plans(
        self, strength: float | str | None, least: float | np.ndarray, most: float | np.ndarray
    ) -> Recourse:
        """Search for everyone who is not accepted, and put the plans to the model."""
        strongest = isinstance(strength, str) and strength == "most"
        options = replace(self.options, strongest=strongest)
        question = self.question if strongest else self.question.at_strength(strength)
        if strongest:
            search_for(question, options)  # refuses what the strongest cannot go with
        accepted = question.decide(n_jobs=options.limits.n_jobs)
        answers = Answers.unknown(question.matrix)
        answers.accept(accepted)
        least, most = (np.broadcast_to(bound, len(accepted)) for bound in (least, most))
        refused, axes = np.flatnonzero(~accepted), question.encoder.axes
        for rows, rules in rows_by_rules(refused, question.labels, axes, self.overrides):
            how = replace(options, limits=options.limits.of_rows(rows))
            task = Task(question.with_rules(rules), how, rules, least[rows], most[rows])
            answer(task, self.search, rows, answers)
        confirm_plans(question, answers)
        return Recourse(question, answers)

    def _in_time(
        self, last: int, earliest: bool, strength: float | str | None, lasting: float | None
    ) -> Recourse:
        """The cheapest plans by a month, or those of the earliest month up to it."""
        if isinstance(strength, str) or self.options.effects is not None:
            what = "effects" if self.options.effects is not None else f"strength={strength!r}"
            raise InvalidSpec(f"{what} and a time (by, cost='time') cannot be asked for together.")
        question = self.question
        if lasting is not None and strength is None:
            strength, curve = question.strength_for(lasting)
            if curve.rule == "strongest" or curve.guard is not None:
                strongest = curve.rule == "strongest"
                what = "the strongest plans" if strongest else "plans of several learners"
                raise InvalidSpec(
                    f"lasting stands for {what} of this model and cannot be asked for together "
                    "with a time (by, cost='time'); give a strength."
                )
        months = (self if lasting is None else self.in_half_the_time).by_month(last, strength)
        answers = months.earliest() if earliest else months.cheapest()
        answers.seconds = months.seconds
        without = np.flatnonzero(~answers.found)
        if lasting is not None:
            answers.weaker = np.zeros(len(answers.status), bool)
            if len(without):  # the strongest that there is in the end
                months = self.by_month(last, None, lasting, seconds=answers.seconds)
                others = months.at(without, last)
                others.weaker = others.found
                answers.put(without, others)
        question = replace(question.at_strength(strength), lasting=lasting, months=last)
        if earliest:
            question = replace(question, budget=float(last))
            months.count(answers)
        return Recourse(question, months.ended(answers))

    def by_month(
        self,
        last: int,
        strength: float | None = None,
        lasting: float | None = None,
        *,
        seconds: np.ndarray | None = None,
    ) -> Months:
        """The same question about people in every month up to a last one.

        seconds: what of each person's time has been used up; none by default.
        """
        everyone, axes = self.question.labels, self.question.encoder.axes
        list(rows_by_rules(np.arange(0), everyone, axes, self.overrides))  # refuses wrong overrides
        options = replace(self.options, explain=False)

        def ask(
            question: Question, rows: np.ndarray, most: np.ndarray, seconds: np.ndarray
        ) -> Answers:
            part = replace(self, question=question, options=options).of(rows).after(seconds)
            return part.answered(strength, lasting, most=most).answers

        return Months(self.question, ask, last, seconds)

    @property
    def finds_strongest(self) -> bool:
        """Whether the strongest plans can be asked for."""
        return self.options.margin == 0 and self._for_strongest is not None

    @property
    def _for_strongest(self) -> Inquiry | None:
        """The same without a margin, and with ranges in place of ``at_least``.

        None if the search does not find the strongest plans.
        """
        ranges = self.options.ranges or self.options.at_least
        options = replace(self.options, at_least=False, ranges=ranges, margin=0.0)
        refused = self.search.refused(replace(options, strongest=True))
        return None if refused else replace(self, options=options)

    def _strongest(self, lasting: float, needed: float) -> Recourse:
        """The strongest plans, of which those that win what is needed are promised to last."""
        inquiry = self._for_strongest
        if inquiry is None or self.options.margin > 0:
            raise InvalidSpec(
                "lasting stands for the strongest plans of this model, which need the exact "
                "method, a cost that is a maximum or a sum, one model, and neither a margin, "
                "effects, plausibility nor earned plans."
            )
        found = inquiry.answered("most")
        answers, question = found.answers, found.question.at_strength(needed)
        enough = question.goal.decide(found.after)
        answers.weaker = found.found & ~enough
        if self.options.at_least:
            # A plan that wins as much and for which doing more is proved, where there is one.
            won = np.floor(100 * found.strength + 1e-9) / 100
            won[~(found.found & enough)] = np.nan
            for level in np.unique(won[~np.isnan(won)]).tolist():
                rows = np.flatnonzero(won == level)
                seconds = answers.seconds[rows]
                again = self.of(rows).after(seconds).answered(max(level, needed)).answers
                if again.beyond is not None:
                    better = np.flatnonzero(again.found & again.beyond)
                    answers.put(rows[better], again.take(better))
                answers.seconds[rows] = seconds + again.seconds
        return Recourse(replace(question, lasting=lasting), answers)

    def agreed(self, guard: TreeEnsemble, strength: float) -> Recourse:
        """Plans that win so much of the model and of a guard."""
        question = self.question.agreed_by(guard, strength)
        return Inquiry.about(question, self.options, overrides=self.overrides).answered(strength)

    def _or_strongest(self, found: Recourse) -> Answers:
        """The same answers; who has no plan gets the strongest that there is, without a promise."""
        answers, without = found.answers, np.flatnonzero(~found.found & ~found.accepted)
        answers.weaker, strongest = np.zeros(len(answers.status), bool), self._for_strongest
        if len(without) and strongest is not None:
            seconds = answers.seconds[without]
            others = strongest.of(without).after(seconds).answered("most")
            answers.put(without, others.answers)
            answers.weaker[without] = others.found
            answers.seconds[without] += seconds
        return answers


def inquire(
    model: ModelLike,
    X: TableLike,
    *,
    earned: PlanJudge | None = None,
    overrides: Overrides | None = None,
    **keywords: Any,
) -> Inquiry:
    """Read a model and people once, all of whose rows must be valid.

    Keywords are those of ``RecourseProblem`` and of ``find_recourse``, but no strength.
    """
    problem = {name: keywords.pop(name) for name in PROBLEM_KEYWORDS if name in keywords}
    question = RecourseProblem.of(model, problem, "find_recourse").encoded(X)
    return Inquiry.about(question, Options.of(**keywords), earned=earned, overrides=overrides)
