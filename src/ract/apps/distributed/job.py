"""The one function that engines map: a frame of people in, a frame of answers out.

It knows nothing but the model, which a process reads once, and what is asked of it. Every part of a
population has its answers alone, so that they are those of the whole table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec, listing
from ract._utils.memo import Memo
from ract._utils.validation import check_value, one_of
from ract._utils.version import __version__
from ract.apps.distributed.answers import PANDAS, PERSON, Schema, answers_to, fitted_to, schema_of
from ract.data.actions import ActionSpace
from ract.data.encoder import Encoder
from ract.io.contents import read_bytes
from ract.io.decider import decider_from_bytes
from ract.io.load import from_bytes
from ract.io.save import model_bytes
from ract.recourse.find import find_recourse
from ract.recourse.problem import PROBLEM_KEYWORDS
from ract.recourse.reachable import recourse_status
from ract.recourse.reasons import find_reasons
from ract.recourse.reasons.shapley import check_kept

What = Literal["decisions", "plans", "reasons", "has_recourse"]

# People who are searched for at once: what a search holds of them is small beside the model.
AT_ONCE = 5000
# Nodes of each question of a search, since no clock may decide what a person is answered.
MAX_NODES = 200_000

# Of these each part of a population would learn something else from its own people.
_LEARNED = ("actions", "cost", "effects", "plausibility")
_OF_THE_RUN = {
    "time_limit": "answers would depend on the machine; give max_nodes",
    "progress": "the engine shows how far it is",
    "strict": "a row that cannot be read has the status 'invalid' and does not end the run",
}

_SEARCHES: dict[str, Callable[..., Any]] = {
    "plans": find_recourse,
    "reasons": find_reasons,
    "has_recourse": recourse_status,
}


def _names_of(search: Callable[..., Any]) -> list[str]:
    """The options of a search that engines can be asked for."""
    given = signature(search).parameters.values()
    names = [parameter.name for parameter in given if parameter.kind is Parameter.KEYWORD_ONLY]
    return [name for name in names if name not in _OF_THE_RUN] + list(PROBLEM_KEYWORDS)


_NAMES: dict[str, list[str]] = {"decisions": []} | {
    what: _names_of(search) for what, search in _SEARCHES.items()
}
_NAMES["plans"].append("form")

_models = Memo(4)  # what this process has read


@dataclass(frozen=True)
class Job:
    """A question to a model about every part of a population.

    Made by ``Job.of``; it is sent to the workers of an engine, with the model.

    Parameters
    ----------
    content : bytes
        Of the model file.
    what : {"decisions", "plans", "reasons", "has_recourse"}
    key : str or None
        The column whose values name the rows; None for the index of the frames.
    options : mapping
        Those of ``model.recourse``, ``model.reasons`` or ``ract.has_recourse``.
    version : str
        The version of ract that made the job.
    """

    content: bytes = field(repr=False)
    what: What
    key: str | None
    options: Mapping[str, Any]
    version: str = __version__

    @classmethod
    def of(cls, model: Any, what: What = "plans", *, key: str | None = None, **options: Any) -> Job:
        """The job that ``ract.apps.distributed.apply`` does, whose parameters it takes.

        A fitted model may be given in place of its file.
        """
        check_value("what", what, one_of(*_NAMES))
        for name, why in _OF_THE_RUN.items():
            if name in options:
                raise InvalidSpec(f"{name} cannot be asked of many machines: {why}.")
        unknown = [name for name in options if name not in _NAMES[what]]
        if unknown:
            raise InvalidSpec(
                f"{what} take no option {listing(unknown)}; they take "
                f"{listing(_NAMES[what], 40) or 'none'}."
            )
        check_value("form", options.get("form", "long"), one_of("long", "wide"))
        if what != "decisions":
            options = {"time_limit": None, "max_nodes": MAX_NODES, "n_jobs": 1, **options}
            _refuse_learned(options)
        content = read_bytes(model) if isinstance(model, (str, Path)) else model_bytes(model)
        job = cls(content, what, key, options)
        try:
            features = job.features
        except InvalidFile as error:
            raise InvalidFile(f"{model} cannot be read as a model: {error}.") from None
        if key is not None and key in features:
            raise InvalidSpec(f"key is {key!r}, which is a feature of the model and names nobody.")
        if what == "reasons" and options.get("reference") is None:
            check_kept(job.model, options.get("against", "margin"))
        return job

    @cached_property
    def digest(self) -> str:
        """The SHA-256 hash of the model file, by which a process knows the model again."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def model(self) -> Any:
        """The model, read once per process; for decisions, only the part that decides."""
        read = decider_from_bytes if self.what == "decisions" else _model
        return _models.get((self.digest, read), lambda: read(self.content))

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of the model."""
        return tuple(self.encoder.feature_names)

    @property
    def encoder(self) -> Encoder:
        """From the columns of the model to encoded ones."""
        encoder: Encoder = (
            self.model.model.encoder if self.what == "decisions" else self.model.encoder_
        )
        return encoder

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that people need, the key first."""
        return (() if self.key is None else (self.key,)) + self.features

    @cached_property
    def schema(self) -> Schema:
        """Columns of the answers beside ``person``, and their kinds."""
        return schema_of(self.what, self.model, self.options)

    def check(self, names: Iterable[Any]) -> None:
        """Refuse people without a column that is needed."""
        names = list(names)
        missing = [name for name in self.columns if name not in names]
        if missing:
            raise InvalidData(
                f"The people lack the column(s) {listing(missing)}, which are needed; they have "
                f"{listing(names, 30)}."
            )
        twice = [name for name in self.columns if names.count(name) > 1]
        if twice:
            raise InvalidData(f"The people have more than one column called {listing(twice)}.")

    def empty(self, people: pd.DataFrame) -> pd.DataFrame:
        """Empty result with the columns and types of every other result."""
        key = people.index.array if self.key is None else people[self.key].array
        columns = {name: pd.Series([], dtype=PANDAS[kind]) for name, kind in self.schema.items()}
        return pd.DataFrame({PERSON: key[:0], **columns})

    def __call__(self, people: pd.DataFrame) -> pd.DataFrame:
        """The answers about some people, in their order."""
        if self.version != __version__:
            raise InvalidSpec(
                f"This worker has ract {__version__}, but the run was begun with {self.version}: "
                "every machine needs the same version."
            )
        self.check(people.columns)
        parts = [
            self._answers(people.iloc[first : first + AT_ONCE])
            for first in range(0, len(people), AT_ONCE)
        ]
        if not parts:
            return self.empty(people)
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def _answers(self, people: pd.DataFrame) -> pd.DataFrame:
        key = people.index.array if self.key is None else people[self.key].array
        options = self.options
        if options.get("overrides"):
            by_key = options["overrides"]
            places = {i: by_key[k] for i, k in enumerate(key) if k in by_key}
            options = {**options, "overrides": places}
        X = people[list(self.features)].reset_index(drop=True)
        return fitted_to(self.schema, answers_to(self.what, self.model, X, options), key)


def apply(
    model: Any,
    people: pd.DataFrame,
    what: What = "plans",
    *,
    key: str | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Answer a question about a part of a population: the function that every engine calls.

    A pure function: the same people get the same answers, however a table is divided into parts, on
    every machine. Columns and their types depend on the question, not on the people. A row that
    cannot be read has the status "invalid" and a message.

    Parameters
    ----------
    model : path or fitted model
        A model file, which a process reads once.
    people : DataFrame
        With the columns of the model; further columns are ignored.
    what : {"plans", "decisions", "reasons", "has_recourse"}
        One row per change of each plan; the class and its probability; one row per reason; or
        only whether there is a plan.
    key : str, optional
        A column whose values name the rows, in the column ``person``; the index by default.
    **options
        Of plans those of ``ract.find_recourse``, and ``form="wide"`` for one row per person; of
        reasons those of ``ract.find_reasons``; of has_recourse those of ``ract.has_recourse``.
        Searches end by ``max_nodes``, not by time.

    Examples
    --------
    >>> from ract import RecourseForestClassifier, load_loans
    >>> loans = load_loans(n_people=1000)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> model = model.fit(loans.frame, loans.target)
    >>> apply(model, loans.frame.head(4), "has_recourse")
       person              status message
    0       0            accepted    <NA>
    1       1            accepted    <NA>
    2       2  none within budget    <NA>
    3       3            accepted    <NA>
    """
    return Job.of(model, what, key=key, **options)(people)


def _model(content: bytes) -> Any:
    return from_bytes(content).model


def _refuse_learned(options: Mapping[str, Any]) -> None:
    if options.get("reference") is not None:
        return
    learned = [name for name in _LEARNED if options.get(name) is not None]
    if isinstance(options.get("actions"), ActionSpace) and options["actions"].is_complete:
        learned.remove("actions")
    if learned:
        raise InvalidSpec(
            f"{learned[0]} would be learned from each part of the people anew; give reference, the "
            "people to learn from."
        )
