"""What plans cost by the months that they take."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.typing import Classifier, TableLike
from ract._utils.validation import COUNT, check_value
from ract.data.actions.pace import whole_months
from ract.recourse.find import inquire
from ract.recourse.problem import RecourseProblem
from ract.recourse.result import Recourse
from ract.recourse.when import HORIZON


def time_frontier(
    model: Classifier | RecourseProblem,
    X: TableLike,
    *,
    by: float | str = HORIZON,
    n_points: int = 5,
    **keywords: Any,
) -> pd.DataFrame:
    """The costs of plans by the month in which they are done, from the earliest to the cheapest.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
    X : frame or array
        People, in the columns of the training table; all rows must be valid.
    by : float or str
        The time that plans may take: whole months, or a text such as "1 year".
    n_points : int
        Largest number of rows for each person: the first and the last month, and those between in
        which the cost falls most.
    **keywords
        Of ``RecourseProblem`` and ``find_recourse``, except ``strength``.

    Returns
    -------
    DataFrame
        A row for each month in which a plan is cheaper than all before: "person", "month", "cost",
        "status" ("optimal" if no plan by then is cheaper) and "plan" in words. There are no rows
        for people who are accepted already or have no plan.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest(600, n_estimators=10)
    >>> table = time_frontier(model, loans.frame.head(50), by="1 year")
    >>> bool((table.groupby("person")["cost"].diff().dropna() < 0).all())
    True
    """
    check_value("n_points", n_points, COUNT)
    inquiry = inquire(model, X, **keywords)
    question, last = inquiry.question, whole_months(by)
    rows = []
    for row, plans in inquiry.by_month(last).costs().items():
        months = sorted(plans)
        falls = [plans[a].cost[0] - plans[b].cost[0] for a, b in pairwise(months)]
        between = sorted(range(1, len(months) - 1), key=lambda k: -falls[k - 1])
        ends = [0, len(months) - 1][: min(n_points, len(months))]
        person = question.of_rows(np.array([row]))
        for k in sorted([*ends, *between[: max(0, n_points - 2)]]):
            plan = Recourse(replace(person, months=last), plans[months[k]])[0]
            rows.append((plan.person, months[k], plan.cost, plan.status, plan.describe()))
    return pd.DataFrame(rows, columns=["person", "month", "cost", "status", "plan"])
