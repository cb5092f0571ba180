"""Fewest changes, then cheapest; or of the cheapest the one with fewest changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answer

# Costs that differ by less than this part are the same, whatever the order in which they add up.
SAME = 1e-9


def fewest_first(person: Any, budget: float, max_nodes: int, least: float = 0.0) -> Answer:
    """The cheapest of the actions within a budget that change fewest features.

    Optimal if no action changes fewer features, and none that changes as many costs less.

    Parameters
    ----------
    person : Descent or RuledPerson
        Whose number of changes is the most that is asked about.
    budget : float
    max_nodes : int
        Per question.
    least : float
        What no action can cost less than.
    """
    nodes, proved = 0, True
    for changes in range(person.changes + 1):
        found = replace(person, changes=changes).cheapest(budget, max_nodes, least)
        nodes += found.nodes
        proved = proved and found.status in (Status.OPTIMAL, Status.NONE)
        if found.point is not None:
            status = Status.OPTIMAL if proved else Status.FOUND
            return found._replace(status=status, nodes=nodes)
    return Answer(Status.NONE if proved else Status.UNKNOWN, bound=least, nodes=nodes)


def fewest_of_cheapest(person: Any, budget: float, max_nodes: int, least: float = 0.0) -> Answer:
    """Of the cheapest actions within a budget the one that changes fewest features.

    Parameters are those of ``fewest_first``. Costs that differ by less than 1e-9 are the same.
    """
    best = person.cheapest(budget, max_nodes, least)
    nodes, proved = best.nodes, best.status == Status.OPTIMAL
    while best.point is not None and (changes := int((best.point != person.own).sum())) > 0:
        most = min(best.cost * (1 + SAME), budget)
        fewer = replace(person, changes=changes - 1).cheapest(most, max_nodes, best.bound)
        nodes += fewer.nodes
        if fewer.point is None:
            proved = proved and fewer.status == Status.NONE
            break
        best = fewer._replace(bound=best.bound)
    if best.point is None:
        return best
    status = Status.OPTIMAL if proved else Status.FOUND
    bound = best.cost if proved else float(np.minimum(best.bound, best.cost))
    return best._replace(status=status, bound=bound, nodes=nodes)


PREFERRED = {"fewest": fewest_first, "cheapest": fewest_of_cheapest}
