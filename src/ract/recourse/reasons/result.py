"""Reasons of a batch of people, as arrays, frames and words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from ract._utils.printable import html_table
from ract._utils.status import Status
from ract._utils.validation import check_value, one_of
from ract.data.encoder import Axis
from ract.data.invalid_rows import InvalidRows
from ract.recourse.by_person import ByPerson, frame_of
from ract.recourse.plan import least_number, nice_number
from ract.recourse.question import Question
from ract.recourse.reasons.mending import Mending
from ract.recourse.reasons.person import Direction, PersonReasons, Reason
from ract.recourse.reasons.shapley import Principal, Reference
from ract.recourse.result import lacks_value

COLUMNS: dict[str, Any] = {
    "person": None,
    "rank": "int64",
    "feature": None,
    "value": object,
    "typical": object,
    "direction": None,
    "contribution": float,
    "share": float,
    "tied with": None,
    "mending": None,
    "from": object,
    "accepted share": float,
    "status": None,
    "message": None,
}


@dataclass(frozen=True, repr=False)
class Reasons(ByPerson[PersonReasons]):
    """Why each of a batch of people was refused, in their order.

    Parameters
    ----------
    question : Question
        The model, the people and the budget.
    reference : Reference
        The people with whom they are compared.
    parts : float (valid rows, features, 3)
        Of ``ract.recourse.reasons.shapley.shapley_values``.
    valid_score : float (valid rows,)
    cutoff : float
        The score that the desired class needs.
    found : dict
        By position among the valid rows: their principal reasons.
    mendings : dict
        By that position and a feature's: what mending it does. Empty if that was not asked.
    invalid_rows : InvalidRows, optional
        Rows that cannot be read.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> reasons = model.reasons(loans.frame.head(20), reference=loans.frame)
    >>> reasons.status[:3].tolist()
    ['accepted', 'accepted', 'refused']
    >>> bool(np.allclose(reasons.values.sum(axis=1), reasons.score - reasons.base))
    True
    """

    question: Question
    reference: Reference
    parts: np.ndarray
    valid_score: np.ndarray
    cutoff: float
    found: dict[int, list[Principal]]
    mendings: dict[tuple[int, int], Mending]
    invalid_rows: InvalidRows | None = None

    def _of(self, i: int) -> PersonReasons:
        status, score = self.status[i], float(self.score[i])
        reasons: tuple[Reason, ...] = ()
        if status == "refused":
            row = int(self._scatter(np.arange(len(self.parts)), -1)[i])
            reasons = tuple(self._reason(row, reason) for reason in self.found.get(row, []))
        scores, against = (score, self.cutoff, self.base), self.reference.against
        person = PersonReasons(self.labels[i], self.desired, status, *scores, against, reasons)
        return replace(person, message=self.messages[i]) if i in self.messages else person

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, in the order of the columns of ``values``."""
        return tuple(axis.feature.name for axis in self.question.encoder.axes)

    @cached_property
    def values(self) -> np.ndarray:
        """How much each feature moved the score (people x features); NaN in rows not read."""
        return self._scatter(self.parts.sum(axis=2), np.nan)

    @property
    def base(self) -> float:
        """The mean score of the reference people."""
        return self.reference.base

    @cached_property
    def score(self) -> np.ndarray:
        """The score that decides: share of votes, mean or sum; NaN in rows not read."""
        return self._scatter(self.valid_score, np.nan)

    @cached_property
    def status(self) -> np.ndarray:
        """What became of each person: "accepted", "refused" or "invalid"."""
        accepted = np.full(len(self.parts), "accepted", object)
        accepted[list(self.found)] = "refused"
        return self._scatter(accepted, Status.INVALID.word)

    @property
    def refused(self) -> np.ndarray:
        """Who was refused."""
        return np.asarray(self.status == "refused")

    def to_frame(self, form: Literal["long", "wide"] = "long") -> pd.DataFrame:
        """The reasons as a table.

        Parameters
        ----------
        form : {"long", "wide"}
            One row per reason (and one for everyone without), or one row per person with the
            status, the score and how much each feature moved it.
        """
        if form == "wide":
            table = pd.DataFrame(self.values, self.labels, list(self.feature_names))
            table.insert(0, "status", self.status)
            table.insert(1, "score", self.score)
            return table
        check_value("form", form, one_of("long", "wide"))
        rows = [row for person in self for row in _rows(person)]
        return frame_of(rows, COLUMNS)

    def __repr__(self) -> str:
        counts = pd.Series(self.status).value_counts()
        each = [f"{counts[s]} {s}" for s in ("accepted", "refused", "invalid") if s in counts]
        return f"Reasons of {len(self)} people: {', '.join(each) or 'nobody'}"

    def _repr_html_(self) -> str:
        refused = [self[int(i)] for i in np.flatnonzero(self.refused)[:10]]
        rows = [
            (person.person, rank, reason.feature, reason.value, reason.typical, reason.describe())
            for person in refused
            for rank, reason in enumerate(person.reasons, start=1)
        ]
        columns = ("person", "rank", "feature", "value", "usual", "in words")
        more = " (the first 10 who are refused)" if int(self.refused.sum()) > 10 else ""
        return html_table(repr(self) + more, columns, rows)

    def _reason(self, row: int, principal: Principal) -> Reason:
        """A reason of someone who was read, in the table's own terms."""
        a, names = principal.axis, self.feature_names
        axis, person = self.question.encoder.axes[a], self.question.matrix[row]
        value = self.question.in_own_terms(axis, person[None])[0]
        way: Direction = "too low" if principal.larger else "too high"
        if axis.feature.kind in ("binary", "categorical") or principal.larger is None:
            way = "category"
        changeable = axis.feature.actionable
        if self._lacking[row, a]:
            way, changeable = "missing", axis.feature.may_supply
        contribution = float(self.parts[row, a].sum())
        tied = tuple(names[b] for b in principal.tied)
        what = names[a], value, self._typical[a], contribution, principal.share, way, tied
        mending = self.mendings.get((row, a))
        if mending is None:
            return Reason(*what, changeable)
        first, last = self._ends(axis, person, mending)
        share = None if np.isnan(mending.accepted_share) else mending.accepted_share
        mended = mending.alone, mending.with_others, first, last, share
        return Reason(*what, changeable, *mended, asked=True)

    def _ends(self, axis: Axis, person: np.ndarray, mending: Mending) -> tuple[Any, Any]:
        """From which value on someone is accepted, and the last one if there is one."""
        if not mending.alone:
            return None, None
        first, last, lacks = mending.first, mending.last, lacks_value([axis], person[None])[0, 0]
        if axis.is_categorical:
            category = axis.feature.categories[int(first)]
            return category, category if lacks else None
        if lacks:
            first = least_number(first, last)
        else:
            first = nice_number(float(person[axis.columns[0]]), first, *sorted((first, last)))
        ends = np.tile(person, (2, 1))
        ends[:, axis.columns[0]] = first, last
        first, last = self.question.in_own_terms(axis, ends)
        return first, None if mending.open_end else last

    @cached_property
    def _lacking(self) -> np.ndarray:
        """Who of those who were read has no value in which feature (people x features)."""
        return lacks_value(self.question.encoder.axes, self.question.matrix)

    @cached_property
    def _typical(self) -> list[Any]:
        """What is usual among the reference people: a middle number, the commonest category.

        None where nobody of them has a number, or most have no category.
        """
        typical = []
        for axis in self.question.encoder.axes:
            block = self.reference.matrix[:, list(axis.columns)]
            row = np.zeros((1, self.question.encoder.n_columns))
            if axis.is_categorical:
                row[0, axis.columns[int(block.sum(axis=0).argmax())]] = 1.0
            else:
                known = block[~np.isnan(block[:, 0]), 0]
                row[0, axis.columns[0]] = (
                    np.quantile(known, 0.5, method="inverted_cdf") if len(known) else np.nan
                )
            typical.append(self.question.in_own_terms(axis, row)[0])
        return typical


def _rows(person: PersonReasons) -> list[tuple[Any, ...]]:
    whole = person.status, person.message or None
    if not person.reasons:
        return [(person.person, 0, *(None,) * 4, *(np.nan,) * 2, *(None,) * 3, np.nan, *whole)]
    rows = []
    for rank, r in enumerate(person.reasons, start=1):
        harm = r.direction, r.contribution, r.share, ", ".join(r.tied_with) or None
        share = np.nan if r.accepted_share is None else r.accepted_share
        mended = r.mending, r.from_value, share
        rows.append((person.person, rank, r.feature, r.value, r.typical, *harm, *mended, *whole))
    return rows
