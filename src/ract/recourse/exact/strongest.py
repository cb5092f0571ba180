"""From yes-or-no questions to the action that wins most: votes, or a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answer
from ract.recourse.exact.decide import Model, ModelDescent

# A question about scores halves what lies between until this share of a model's range is left,
# and then asks for anything better at all.
FINE = 1e-3


def find_strongest_point(
    person: ModelDescent, values: np.ndarray, budget: float, max_nodes: int
) -> tuple[ModelDescent, Answer]:
    """The same person before a model that asks for the most that they can win within a budget.

    Parameters
    ----------
    person : ModelDescent
    values : float (columns,)
        Their encoded values.
    budget : float
    max_nodes : int
        Per question.

    Returns
    -------
    person : ModelDescent
        As given if they can win nothing, or if that is unknown.
    answer : Answer
        An action that wins so much, whatever it costs; optimal if none is proved to win more.
    """
    if person.stop[0]:
        return person, Answer(Status.UNKNOWN)
    whole, problem, squeeze = person, person.model.problem, None
    if person.squeezed is not None:
        person, squeeze = person.squeezed
    model, inside = person.model, person.inside(budget)

    def score(found: Answer) -> float:
        assert found.point is not None
        cells = found.point if squeeze is None else squeeze.cells(found.point)
        after = problem.values_of(values, whole.own, cells)
        return float(problem.ensemble.score(after[None])[0])

    def look(wanted: float | None) -> Answer:
        asked = person if wanted is None else replace(person, model=model.needing(wanted))
        there = person.own.copy()
        status, used = asked.look(inside, max_nodes, there, budget)
        if status != Status.FOUND:
            return Answer(Status(status), nodes=used)
        return Answer(Status.FOUND, person.cost_of(there), 0.0, there, used)

    best, answer = strongest_by(look, score, model, inside.best, person.stop)
    if best is None:
        return whole, answer
    answer = answer if squeeze is None else squeeze.answer(answer)
    return replace(whole, model=whole.model.needing(best)), answer


def strongest_by(
    look: Callable[[float | None], Answer],
    score: Callable[[Answer], float],
    model: Model,
    most: float,
    stop: np.ndarray,
) -> tuple[float | None, Answer]:
    """The most that can be won, and an action that wins it; None and why not, without any.

    Parameters
    ----------
    look : callable
        An action that wins so much (by default, that is enough for the decision), if there is one.
    score : callable
        What an action wins.
    model : Model
    most : float
        What all trees can add up to at most.
    stop : uint8 (1,)
        Set when the time is up.
    """
    found = look(None)
    if found.point is None:
        return None, found
    rule, by_votes, nodes, proved = model.rule, model.by_votes, found.nodes, True
    best, most = score(found), (most + rule.base) / rule.divisor
    fine = 1.0 if by_votes else FINE * float(np.ptp(rule.weight))
    while best < most and not stop[0]:
        wanted = best + 1 if by_votes else float(np.nextafter(best, np.inf))
        if most - best > fine:
            middle = (best + most) / 2
            wanted = max(wanted, np.ceil(middle) if by_votes else middle)
        better = look(wanted)
        nodes += better.nodes
        if better.point is not None:
            best, found = score(better), better
        else:
            proved = proved and better.status == Status.NONE
            most = wanted - 1 if by_votes else float(np.nextafter(wanted, -np.inf))
    status = Status.OPTIMAL if proved and best >= most else Status.FOUND
    return best, found._replace(status=status, bound=0.0, nodes=nodes)
