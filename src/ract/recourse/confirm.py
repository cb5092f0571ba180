"""Plans are put to the model before anybody sees them."""

from __future__ import annotations

import warnings

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answers
from ract.recourse.question import Question


def confirm_plans(question: Question, answers: Answers) -> None:
    """Put every plan and alternative, and the ends of their ranges, to the model as a user would.

    What it wins is kept as its strength. A plan that the model refuses is not given: its person is
    unknown, an alternative is dropped. With effects the model decides on outcomes, which are found
    as the table holds them.
    """
    tables = [answers, *answers.alternatives.values()]
    owners = [
        np.arange(len(question.matrix)),
        *(np.full(len(table.cost), row) for row, table in answers.alternatives.items()),
    ]
    shown = [
        np.flatnonzero((table.status == Status.OPTIMAL) | (table.status == Status.FOUND))
        for table in tables
    ]
    rows = np.concatenate([own[some] for own, some in zip(owners, shown, strict=True)])
    if not len(rows):
        return
    for table in tables:
        table.add_ends(len(question.encoder.axes))
    decided = ["values" if table.outcomes is None else "outcomes" for table in tables]
    columns = [(name, "low", "high") for name in decided]
    held = question.confirmed(
        rows,
        *(
            np.concatenate(
                [
                    getattr(table, names[k])[some]
                    for table, names, some in zip(tables, columns, shown, strict=True)
                ]
            )
            for k in range(3)
        ),
    )
    accepted = held.accepted
    if question.joint_rules and answers.outcomes is None:
        accepted &= question.keeps_rules(rows, held.values)
    if question.strength is not None:
        enough = np.all([one.goal.decide(held.values) for one in question.each], axis=0)
        accepted &= enough if answers.weaker is None else enough | answers.weaker[rows]
    parts = np.split(np.arange(len(rows)), np.cumsum([len(some) for some in shown])[:-1])
    for table, names, some, part in zip(tables, columns, shown, parts, strict=True):
        for name, new in zip(names, (held.values, held.low, held.high), strict=True):
            getattr(table, name)[some] = new[part]
        table.strength = np.full(len(table.cost), np.nan)
        table.strength[some] = question.wins(held.values[part])
    wrong = shown[0][~accepted[parts[0]]]
    answers.withdraw(wrong, question.matrix)
    for row, some, part in zip(list(answers.alternatives), shown[1:], parts[1:], strict=True):
        answers.alternatives[row] = answers.alternatives[row].take(some[accepted[part]])
    if not accepted.all():
        warnings.warn(
            f"The model did not confirm {int((~accepted).sum())} of {len(rows)} plans, as can "
            "happen when its scores are added up in another order; people whose plan it was are "
            "reported as unknown.",
            stacklevel=4,
        )
