"""The model that decides, ready to answer: types of its values, plans, reasons, notices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, create_model

from ract._utils.errors import InvalidSpec
from ract.data.actions import Feature
from ract.data.frames import Table
from ract.io.load import from_bytes
from ract.models.judge import OutcomeJudge
from ract.notices import Notices, NoticeSettings
from ract.notices.language import BUILT_IN
from ract.recourse.few_changes import few_changes, with_lasting
from ract.recourse.find import Inquiry
from ract.recourse.levers import Levers, find_levers
from ract.recourse.options import Levels, Options
from ract.recourse.plan import Plan
from ract.recourse.problem import RecourseProblem
from ract.recourse.question import Question
from ract.recourse.result import Recourse
from ract.recourse.when import add_months, within_months
from ract.trees.fingerprint import model_fingerprint

Rows = Sequence[Mapping[str, Any]]

LARGEST = 1e15  # number in a request
SECONDS = 1.0  # for the search of one person, if the request has so many
CHANGES = {"any": "may change", "increase": "may rise", "decrease": "may fall", "fixed": "stays"}
QUICK = 0.04  # for someone who tries values and waits for each answer


class Bounds(BaseModel):
    """What someone can reach of a number."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    lower: float | None = Field(default=None, ge=-LARGEST, le=LARGEST)
    upper: float | None = Field(default=None, ge=-LARGEST, le=LARGEST)


class PersonalRules(BaseModel):
    """What one person says that they can do: features that stay, and numbers within bounds."""

    locked: list[str] = Field(
        default=[], max_length=1000, description="Features that must stay.", examples=[["Income"]]
    )
    bounds: dict[str, Bounds] = Field(
        default={},
        description="What can be reached of numbers.",
        examples=[{"Savings": {"upper": 20_000}}],
    )


@dataclass(frozen=True)
class Live:
    """A model and what a service needs of it, made once.

    Parameters
    ----------
    number : int
        Of the model in the database.
    question : Question
        To the model, about the example; those about people differ in them alone.
    judge : OutcomeJudge or None
    values : type
        Of a person's values, made from the action space.
    notices : dict
        By language.
    fingerprint : str
    months : float or None
        The time that plans may take; None where no feature has a pace, so that it says nothing.
    """

    number: int
    question: Question
    judge: OutcomeJudge | None
    values: type[BaseModel]
    notices: Mapping[str, Notices]
    fingerprint: str
    months: float | None = None

    @classmethod
    def of(
        cls,
        number: int,
        content: bytes,
        files: Sequence[str | Path] = (),
        months: float | None = None,
    ) -> Live:
        """From a model file's content, files of notice settings, and the time that plans may take.

        At the pace of each feature.
        """
        file = from_bytes(content)
        model = file.model
        given = {one.language[:2]: one for one in map(NoticeSettings.from_toml, files)}
        details = next((one.details for one in given.values()), None)
        for language in BUILT_IN:
            if language not in given:
                usual = NoticeSettings.suggest(model, language=language, details=details)
                given[language] = usual
        notices = {language: Notices(model, settings) for language, settings in given.items()}
        values = values_type(model)
        question = RecourseProblem(model).encoded(_frame(model, [_example(values)]))
        if not any(axis.feature.pace or axis.feature.delay for axis in model.encoder_.axes):
            months = None
        known = file.judge, values, notices, model_fingerprint(model)
        return cls(number, question, *known, months)

    @cached_property
    def asked(self) -> Question:
        """The question about plans that can be carried out in time."""
        return self.question if self.months is None else within_months(self.question, self.months)

    @property
    def model(self) -> Any:
        """The classifier."""
        return self.question.model

    @property
    def space(self) -> list[Feature]:
        """The features of the model."""
        return [axis.feature for axis in self.model.encoder_.axes]

    @property
    def example(self) -> dict[str, Any]:
        """Values of nobody, for trying the model and for its description."""
        return _example(self.values)

    def frame(self, rows: Rows) -> pd.DataFrame:
        """People as a table of the model's columns."""
        return _frame(self.model, rows)

    def accepted(self, rows: Rows) -> np.ndarray:
        """Who gets the desired class."""
        return np.asarray(self.model.ensemble_.decide(self.matrix(rows), n_jobs=1))

    def matrix(self, rows: Rows) -> np.ndarray:
        """Encoded values of people."""
        encoder = self.model.encoder_
        return np.asarray(encoder.matrix(Records(encoder.feature_names, rows)))

    def plans(
        self,
        rows: Rows,
        rules: Sequence[PersonalRules],
        each: float,
        **options: Any,
    ) -> Recourse:
        """Plans of few changes for everyone, each under their own rules.

        Parameters
        ----------
        rows : sequence of mappings
        rules : sequence of PersonalRules
        each : float
            Seconds for one person, who is searched for twice if few changes are not enough.
        options
            Of ``find_recourse``.
        """
        overrides = {i: own for i, one in enumerate(rules) if (own := self._override(one))}
        frame, matrix = self.frame(rows), self.matrix(rows)

        def find(some: pd.DataFrame, **how: Any) -> Recourse:
            how = with_lasting(self.model, how)
            strength, lasting = how.pop("strength", None), how.pop("lasting", None)
            question = replace(self.asked, people=some, matrix=matrix[some.index])
            own = how.pop("overrides", None)
            inquiry = Inquiry.about(question, Options.of(**how), overrides=own)
            if isinstance(strength, Levels):
                return inquiry.at_levels(strength, lasting)
            return inquiry.answered(strength, lasting)

        options |= {"overrides": overrides, "n_jobs": 1, "time_limit": min(SECONDS, each / 2)}
        found = few_changes(find, frame, at_least=True, ranges=True, **options)
        if self.months is not None:
            add_months(found, int(self.months))
        return found

    def distances(self, rows: Rows) -> list[Plan]:
        """The cheapest plan of each person by the model's own decision, quick and exact."""
        question = replace(self.question, people=self.frame(rows), matrix=self.matrix(rows))
        options = Options.of(explain=False, n_jobs=1, time_limit=QUICK)
        return list(Inquiry.about(question, options).answered())

    def levers(self, values: Mapping[str, Any], most: int) -> Levers:
        """Which sets of at most so many features are enough for one person."""
        frame = self.frame([values])
        return find_levers(self.model, frame, max_features=most, time_limit=SECONDS, n_jobs=1)

    @property
    def actionable(self) -> list[str]:
        """Names of the features that people may change."""
        return [feature.name for feature in self.space if feature.actionable]

    def reasons(self, frame: pd.DataFrame, seconds: float) -> Any:
        """Why one person was refused; None where that cannot be said."""
        if getattr(self.model, "reference_", None) is None:  # nobody to compare with
            return None
        found = self.model.reasons(frame, n_jobs=1, time_limit=min(SECONDS, seconds))[0]
        return found if found.reasons else None

    def _override(self, rules: PersonalRules) -> dict[str, Any]:
        known = {feature.name: feature for feature in self.space}
        for name in (*rules.locked, *rules.bounds):
            if name not in known:
                raise InvalidSpec(f"{name!r} is not a feature of the model.")
        own: dict[str, Any] = {}
        for name, bounds in rules.bounds.items():
            feature = known[name]
            if feature.kind not in ("continuous", "integer"):
                raise InvalidSpec(f"{name!r} is not a number, and so has no bounds.")
            lower, upper = (_within(feature, end) for end in (bounds.lower, bounds.upper))
            if lower is not None and upper is not None and lower > upper:
                raise InvalidSpec(f"{name!r} cannot lie above {lower:g} and below {upper:g}.")
            if lower is not None or upper is not None:
                own[name] = Feature(name, lower=lower, upper=upper)
        return own | dict.fromkeys(rules.locked, "fixed")


class Records(Table):
    """Values of people, as requests hold them, for the encoder to read.

    Parameters
    ----------
    names : sequence of str
    rows : sequence of mappings
    """

    def __init__(self, names: Sequence[str], rows: Rows) -> None:
        super().__init__([name for name in names if all(name in row for row in rows)], len(rows))
        self._rows = rows
        for name in self.names:
            values = [row[name] for row in rows]
            if all(map(_is_number, values)):  # nothing is left to be checked
                self._kept[name] = np.array(values, dtype=float)

    def _raw(self, name: str) -> np.ndarray:
        values = [row[name] for row in self._rows]
        is_plain = not any(value is None or isinstance(value, str) for value in values)
        return np.array(values, dtype=None if is_plain else object)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and -LARGEST <= value <= LARGEST


def _example(values: type[BaseModel]) -> dict[str, Any]:
    return dict(values.model_config["json_schema_extra"]["examples"][0])  # type: ignore


def _frame(model: Any, rows: Rows) -> pd.DataFrame:
    """People as a table of the model's columns, numbered from 0."""
    frame = pd.DataFrame(list(rows), columns=list(model.encoder_.feature_names))
    features = [axis.feature for axis in model.encoder_.axes]
    labels = {feature.name for feature in features if feature.is_categorical}
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    # Numbers, or yes and no, of which some are missing.
    mixed = [name for name, kind in kinds if kind == np.dtype(object) and name not in labels]
    return frame.astype(dict.fromkeys(mixed, float)) if mixed else frame


def _within(feature: Feature, end: float | None) -> float | None:
    """An end of what a person can reach, within what the model's rules allow."""
    if end is None:
        return None
    lower, upper = feature.bounds
    end = min(max(end, lower), upper)
    return float(round(end)) if feature.kind == "integer" and math.isfinite(end) else end


def values_type(model: Any) -> type[BaseModel]:
    """The type of a person's values: a field for each column, checked as the model needs it.

    Examples
    --------
    >>> from ract import RecourseTreeClassifier, load_loans
    >>> loans = load_loans(300)
    >>> model = RecourseTreeClassifier(loans.actions, max_depth=2).fit(loans.frame, loans.target)
    >>> kind = values_type(model)
    >>> given = kind.model_validate(loans.frame.iloc[0].to_dict())
    >>> list(given.model_dump(by_alias=True))[:3]
    ['Age', 'LatePayments', 'Education']
    """
    fields: dict[str, Any] = {}
    example: dict[str, Any] = {}
    for axis in model.encoder_.axes:
        feature = axis.feature
        kind, limits, shown = _field(feature)
        described = f"{feature.kind}; {CHANGES[feature.change]}"
        for name in feature.columns or (feature.name,):
            may_lack = feature.missing is not None
            default = None if may_lack else ...
            # Columns may be named like anything; pydantic's own names are f0, f1, ...
            fields[f"f{len(fields)}"] = (
                kind | None if may_lack else kind,
                Field(default, alias=name, description=described, **limits),
            )
            example[name] = float(name == feature.columns[0]) if feature.columns else shown
    config = ConfigDict(
        extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": [example]}
    )
    return create_model("Values", __config__=config, **fields)


def _field(feature: Feature) -> tuple[Any, dict[str, Any], Any]:
    """Type, limits and an example of a feature's values."""
    limits = {"ge": -LARGEST, "le": LARGEST}
    if feature.columns:
        return float, {"ge": 0, "le": 1}, 0.0
    if feature.is_categorical:
        return Literal[tuple(feature.categories)], {}, feature.categories[0]
    lower, upper = feature.bounds
    middle = (lower + upper) / 2 if math.isfinite(lower + upper) else 0.0
    if feature.kind == "binary":
        return bool, {}, False
    if feature.kind == "integer":
        return int, limits, round(middle)
    return float, limits, float(f"{middle:.4g}")
