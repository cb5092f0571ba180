"""Plans of the same people at several strengths, each search spared what others have shown."""

from __future__ import annotations

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answers
from ract.recourse.find import Inquiry
from ract.recourse.result import Recourse

NONE = (Status.NONE, Status.NONE_WITHIN_BUDGET)


class AtStrengths:
    """People who are asked about one strength after the other, up or down.

    Upwards, a plan that wins more than was asked is the cheapest of the next strength too, who has
    no plan has none that wins more, and what the cheapest costs is a bound. Downwards, a plan that
    wins more will do, so that the cheapest costs no more.

    Parameters
    ----------
    inquiry : Inquiry
        About refused people, all of whom could be read.

    Examples
    --------
    >>> from ract import RecourseForestClassifier, load_loans
    >>> from ract.recourse.find import inquire
    >>> loans = load_loans(n_people=500)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> forest.fit(loans.frame, loans.target)
    RecourseForestClassifier(...)
    >>> refused = loans.frame[forest.predict(loans.frame) == "refused"]
    >>> plans = AtStrengths(inquire(forest, refused, explain=False))
    >>> any_strength, strong = (plans.at(strength).found for strength in (0, 0.9))
    >>> bool((strong <= any_strength).all()), bool(strong.sum() < any_strength.sum())
    (True, True)
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        n = len(inquiry.question.matrix)
        self._answers = Answers.unknown(inquiry.question.matrix)
        self._won = np.full(n, np.nan)
        self._asked = np.full(n, -np.inf)
        self._hopeless = np.zeros(n, bool)

    def at(self, strength: float | str, rows: np.ndarray | None = None) -> Recourse:
        """Plans of a strength, for some of the people or for all of them.

        Parameters
        ----------
        strength : float or "most"
        rows : int array, optional
        """
        known = self._answers
        rows = np.arange(len(self._asked)) if rows is None else rows
        level = np.inf if isinstance(strength, str) else strength
        up, down, found = self._asked < level, self._asked > level, np.isfinite(known.cost)
        up &= level < np.inf  # the strongest plan is another question
        none = np.isin(known.status, NONE)
        settled = (self._asked == level) | (up & (none | (found & (self._won >= level))))
        todo = rows[~(settled | self._hopeless)[rows]]
        if len(todo):
            least = np.where(up, known.bound, 0.0)[todo]
            enough = np.where(down & found & ~np.isposinf(self._asked), known.cost, np.inf)[todo]
            asked = self.inquiry.of(todo).answered(strength, least=least, most=enough)
            known.put(todo, asked.answers)
            self._asked[todo], self._won[todo] = level, asked.strength
            if level <= 0:  # there is no plan at all
                self._hopeless[todo] = np.isin(asked.answers.status, NONE)
        question = self.inquiry.question.of_rows(rows)
        if not isinstance(strength, str):
            question = question.at_strength(strength)
        return Recourse(question, known.take(rows))
