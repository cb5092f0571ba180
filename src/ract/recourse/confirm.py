"""Before a plan is shown: it lands on the columns' own types, and the model confirms it."""

from __future__ import annotations

import warnings

import numpy as np

from ract._frames import take_rows
from ract.interop.model import OwnModel
from ract.recourse.common.answers import Answers
from ract.recourse.question import Question
from ract.status import Status


def confirm(question: Question, answers: Answers) -> None:
    """Put every plan and every alternative to the model as a user would.

    A value that a column of the table cannot hold (a double in a column of singles) moves on to
    the next one that it can. A plan that the model refuses is not given: its person is unknown,
    an alternative is dropped.
    """
    tables = [answers, *answers.alternatives.values()]
    owners = [np.arange(len(question.matrix)), *(
        np.full(len(table.cost), row) for row, table in answers.alternatives.items()
    )]  # fmt: skip
    plans = (Status.OPTIMAL, Status.FOUND)
    shown = [np.flatnonzero(np.isin(table.status, plans)) for table in tables]
    rows = np.concatenate([own[some] for own, some in zip(owners, shown, strict=True)])
    if not len(rows):
        return
    values = np.concatenate([t.values[some] for t, some in zip(tables, shown, strict=True)])
    values, accepted = _landed(question, rows, values)
    parts = np.split(np.arange(len(rows)), np.cumsum([len(some) for some in shown])[:-1])
    for table, some, part in zip(tables, shown, parts, strict=True):
        table.values[some] = values[part]
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


def _landed(
    question: Question, rows: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values that the columns hold, and whether the model accepts them."""
    encoder, model = question.encoder, question.model
    held = encoder.held(values, like=question.people)
    if held is not values:
        up = values > question.matrix[rows]
        short = (held != values) & (up == (held < values))
        beyond = np.where(up, np.inf, -np.inf).astype(np.float32)
        step = np.nextafter(held.astype(np.float32), beyond).astype(np.float64)
        held = encoder.held(np.where(short, step, held), like=question.people)
    by_predict = hasattr(model, "predict") and hasattr(model, "classes_")
    if isinstance(question.tree, OwnModel) or question.threshold is not None or not by_predict:
        return held, question.ensemble.decide(held)
    table = encoder.decode(held, like=take_rows(question.people, rows))
    return held, np.asarray(model.predict(table)) == question.tree.desired
