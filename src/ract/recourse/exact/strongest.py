"""From yes-or-no questions to the action that wins most: votes, or a score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answer
from ract.recourse.exact.decide import Person

# A question about scores halves what lies between until this share of a model's range is left,
# and then asks for anything better at all.
FINE = 1e-3


def find_strongest(
    person: Person, values: np.ndarray, budget: float, max_nodes: int
) -> tuple[Person, Answer]:
    """The same person before a model that asks for the most that they can win within a budget.

    Parameters
    ----------
    person : Person
    values : float (columns,)
        Their encoded values.
    budget : float
    max_nodes : int
        Per question.

    Returns
    -------
    person : Person
        As given if they can win nothing, or if that is unknown.
    answer : Answer
        An action that wins so much, whatever it costs; optimal if none is proved to win more.
    """
    if person.stop[0]:
        return person, Answer(Status.UNKNOWN)
    whole, problem, squeeze = person, person.model.problem, None
    if person.squeezed is not None:
        person, squeeze = person.squeezed
    model = person.model
    inside = person.inside(budget)
    divisor, base, by_votes = model.rule.divisor, model.rule.base, model.by_votes

    def score(point: np.ndarray) -> float:
        cells = point if squeeze is None else squeeze.cells(point)
        after = problem.values_of(values, whole.own, cells)
        return float(problem.ensemble.score(after[None])[0])

    point = person.own.copy()
    status, nodes = person.look(inside, max_nodes, point, budget)
    if status != Status.FOUND:
        return whole, Answer(Status(status), nodes=nodes)
    best, most, proved = score(point), (inside.best + base) / divisor, True
    fine = 1.0 if by_votes else FINE * float(np.ptp(model.rule.weight))
    while best < most and not person.stop[0]:
        wanted = best + 1 if by_votes else float(np.nextafter(best, np.inf))
        if most - best > fine:
            middle = (best + most) / 2
            wanted = max(wanted, np.ceil(middle) if by_votes else middle)
        there = person.own.copy()
        asked = replace(person, model=model.needing(wanted))
        status, used = asked.look(inside, max_nodes, there, budget)
        nodes += used
        if status == Status.FOUND:
            best, point = score(there), there
        else:
            proved = proved and status == Status.NONE
            most = wanted - 1 if by_votes else float(np.nextafter(wanted, -np.inf))
    cost = person.cost_of(point)
    status = Status.OPTIMAL if proved and best >= most else Status.FOUND
    answer = Answer(status, cost, 0.0, point, nodes)
    answer = answer if squeeze is None else squeeze.answer(answer)
    return replace(whole, model=whole.model.needing(best)), answer
