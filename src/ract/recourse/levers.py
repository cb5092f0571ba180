"""The menu of levers: with which few features a person can be accepted, and with which not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ract._utils.status import Status
from ract._utils.typing import Classifier, Label, TableLike
from ract._utils.validation import AT_LEAST_ONE, check_value
from ract.recourse.common.answers import Answer, Answers
from ract.recourse.common.search import Limits, ceilings_of
from ract.recourse.dispatch import Task, confirm_plans, ruled_ends, ruled_search
from ract.recourse.exact.search import MAX_NODES
from ract.recourse.options import TIME_LIMIT, Options
from ract.recourse.problem import ProblemKeywords, RecourseProblem
from ract.recourse.result import Recourse
from ract.recourse.rules.person import RuledPerson

Names = tuple[str, ...]


@dataclass(frozen=True)
class Levers:
    """Sets of features with which people can be accepted.

    Parameters
    ----------
    sets : tuple of tuple of str
        Sets from which no feature can be left out, ordered by people and costs.
    plans : Recourse
        The cheapest plan with each of these sets: ``plans[k]`` is that of ``sets[k]``.
    people : Index
        The person of each set, by label.
    accepted : Index
        People who need none.
    undecided : dict of label to list of tuple of str
        Sets for which the search reached a limit. Every other set, up to the number of features
        that was asked for, is proved not to be enough, or contains a set that is.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> levers = find_levers(model, loans.frame.iloc[[15]])
    >>> levers.sets
    (('Income', 'Savings'), ('ExistingLoans',), ('LoanAmount',))
    >>> levers.plans[1].describe()
    'Lower ExistingLoans from 2 to exactly 1.'
    """

    sets: tuple[Names, ...]
    plans: Recourse
    people: pd.Index
    accepted: pd.Index
    undecided: dict[Any, list[Names]]

    def of(self, person: Label) -> list[Names]:
        """The sets of one person, by label; the cheapest first."""
        pairs = zip(self.sets, self.people, strict=True)
        return [names for names, label in pairs if label == person]

    def enough(self, person: Label, *features: str) -> bool | None:
        """Whether some features are enough for a person; None if the search could not decide."""
        asked = set(features)
        if person in self.accepted or any(asked.issuperset(names) for names in self.of(person)):
            return True
        open_ = any(asked.issuperset(names) for names in self.undecided.get(person, ()))
        return None if open_ else False

    def to_frame(self) -> pd.DataFrame:
        """One row per set: person, features, cost and the plan in words."""
        columns = {
            "person": self.people,
            "features": [", ".join(names) for names in self.sets],
            "cost": self.plans.cost,
            "plan": [plan.describe() for plan in self.plans],
        }
        return pd.DataFrame(columns)


def find_levers(
    model: Classifier | RecourseProblem,
    X: TableLike,
    *,
    max_features: int = 3,
    strength: float | None = None,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> Levers:
    """All minimal sets of few features with which people can be accepted.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
    X : frame or array
        People, in the columns of the training table; all rows must be valid.
    max_features : int
        Largest number of features of a set.
    strength, time_limit, max_nodes, n_jobs, progress
        As in ``ract.find_recourse``; the time is for all sets of a person, nodes are for each set.
    **problem
        The keywords of ``RecourseProblem``, where a bare model is given.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> levers = find_levers(model, loans.frame.iloc[[15]], max_features=2)
    >>> levers.enough(15, "Income"), levers.enough(15, "Income", "Savings")
    (False, True)
    """
    check_value("max_features", max_features, AT_LEAST_ONE)
    question = RecourseProblem.of(model, problem, "find_levers").encoded(X).at_strength(strength)
    limits = Limits(time_limit=time_limit, n_jobs=n_jobs, progress=progress, max_nodes=max_nodes)
    accepted, axes = question.decide(n_jobs=n_jobs), question.encoder.axes
    refused, budget = np.flatnonzero(~accepted), float(ceilings_of(question.budget, 1)[0])
    names = [axis.feature.name for axis in axes]
    menus: dict[int, Menu] = {}

    def search(i: int, person: RuledPerson) -> None:
        menus[i] = Menu.of(person, int(max_features), budget, limits.nodes(MAX_NODES))

    ruled_search(question, axes).for_each(search, question.matrix[refused], limits)
    found = [(i, axes_of) for i in sorted(menus) for axes_of in menus[i].sets]
    rows = np.array([refused[i] for i, _ in found], dtype=np.intp)
    asked = question.of_rows(rows)
    answers = Answers.unknown(asked.matrix)
    for k, (i, levers) in enumerate(found):
        answers.record(k, menus[i].sets[levers])
    ruled_ends(Task(question, Options(), axes), asked.matrix, answers)
    confirm_plans(asked, answers)
    return Levers(
        tuple(tuple(names[a] for a in levers) for _, levers in found),
        Recourse(asked, answers),
        question.labels[rows],
        question.labels[accepted],
        {
            question.labels[refused[i]]: [tuple(names[a] for a in s) for s in menu.undecided]
            for i, menu in menus.items()
            if menu.undecided
        },
    )


@dataclass(frozen=True)
class Menu:
    """One person's sets of axes, with the plan that changes these alone."""

    sets: Mapping[tuple[int, ...], Answer]
    undecided: list[tuple[int, ...]]

    @classmethod
    def of(cls, person: RuledPerson, most: int, budget: float, max_nodes: int) -> Menu:
        """All sets of at most so many axes; those that hold an earlier one are passed over."""
        costs, start = person.person.costs, person.person.own
        inside = costs <= budget
        inside[np.arange(len(start)), start] = False
        free = [a for a in range(len(start)) if inside[a].any() or a in person.ruling.axes]
        every = frozenset(range(len(start)))
        found: dict[tuple[int, ...], Answer] = {}
        undecided = []
        for size in range(1, min(most, len(free)) + 1):
            for levers in combinations(free, size):
                if any(set(earlier) <= set(levers) for earlier in found):
                    continue
                restricted = replace(person, still=every - {*levers})
                answer = restricted.cheapest(budget, max_nodes)
                if answer.values is not None:
                    found[levers] = answer
                elif answer.status != Status.NONE:
                    undecided.append(levers)
        return cls(dict(sorted(found.items(), key=lambda one: one[1].cost)), undecided)
