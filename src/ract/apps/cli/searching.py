"""Plans for the people of a file, chunk by chunk: what ``ract recourse`` and ``notice`` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ract._utils.progress import progress_bar
from ract.apps.cli import options
from ract.apps.cli.messages import BadInput, percent

if TYPE_CHECKING:
    import pandas as pd

    from ract.data.actions import ActionSpace
    from ract.data.csv import TableFormat
    from ract.recourse.result import Recourse


@dataclass(frozen=True)
class PlanOptions:
    """Which plans are sought; parameters of ``recourse`` in Python."""

    budget: float | None = None
    max_changes: int | None = None
    strength: str | None = None
    lasting: float | None = None
    n_alternatives: int = 0
    margin: float = 0.0
    by: str | None = None
    features: list[str] | None = None
    forbidden: list[str] | None = None
    strict: bool = False
    time_limit: float = 10.0
    max_nodes: int | None = None
    n_jobs: int = -1

    def parameters(self, space: ActionSpace, *, for_people: bool) -> dict[str, Any]:
        """The parameters of ``recourse``; plans that people read say which values will do.

        Parameters
        ----------
        space : ActionSpace
            That of the model.
        for_people : bool
            Ask for ranges, and for plans that hold for everyone who does more.
        """
        given = asdict(self)
        given["strength"] = options.strength_of(self.strength)
        features, forbidden = given.pop("features"), given.pop("forbidden")
        if features or forbidden:
            given["actions"] = space.restricted(features or None, forbidden=forbidden or ())
        if for_people:
            given |= {"ranges": True, "at_least": self.strength != "most"}
            return given
        # What was not asked for is left to the model, whose plans are then those of letters.
        own = ("max_changes", "strength", "lasting", "margin", "ranges", "at_least")
        return {k: v for k, v in given.items() if k not in own or v != getattr(type(self), k)}


@dataclass
class Searched:
    """The people of a file as they are searched, and a count of what was found.

    Parameters
    ----------
    classifier : fitted classifier
    find : callable
        From people to plans.
    people : str
        Their file.
    form : TableFormat
    id : str or None
        Column that names them.
    is_named : bool
        Refuse people without a name.
    """

    classifier: Any
    find: Callable[..., Recourse]
    people: str
    form: TableFormat
    id: str | None
    is_named: bool = False
    statuses: Counter[str] = field(default_factory=Counter)
    n_within: int = 0
    n_supplied: int = 0

    def __call__(self, given: dict[str, Any]) -> Iterator[tuple[pd.DataFrame, Recourse]]:
        """Each chunk of people with their plans.

        Parameters
        ----------
        given : dict
            Parameters of the search.
        """
        from ract.apps.cli.columns import model_columns, refuse_invalid
        from ract.data.csv import text_features
        from ract.data.csv.files import Chunks, naming_lines

        encoder = self.classifier.encoder_
        messages: list[str] = []
        chunks = Chunks(self.people, self.form, text=text_features(encoder.space))
        rest = iter(chunks)
        first = list(islice(rest, 2))
        is_only = len(first) == 1
        with progress_bar("Searching", show=not is_only, transient=True) as done:
            for chunk in chain(first, rest):
                X = model_columns(
                    chunk, encoder, self.people, self.id, self.form, strict=given["strict"]
                )
                if self.is_named and chunk[self.id].isna().any():
                    raise BadInput(f"--id names {self.id!r}, which is empty for some people.")
                with naming_lines(self.people, self.form, chunk.index):
                    found = self.find(X, progress=is_only, **given)
                yield X, found
                self.statuses.update(found.status.tolist())
                messages += found.messages.values()
                self.n_within += int(found.within_budget.sum())
                self.n_supplied += int(found.only_supplied.sum())
                done(chunks.share)
        refuse_invalid(self.people, self.statuses.total(), messages)

    @property
    def summary(self) -> dict[str, Any]:
        """How many people, by status, and the share with recourse among those who were read."""
        from ract._utils.status import Status

        n_people = self.statuses.total()
        counts = {s.word: self.statuses[s.word] for s in Status if self.statuses[s.word]}
        n_read = n_people - self.statuses[Status.INVALID.word]
        summary = {"people": n_people, "statuses": counts, "recourse_ratio": self.n_within / n_read}
        return summary | ({"only_supplied": self.n_supplied} if self.n_supplied else {})

    @property
    def sentence(self) -> str:
        """The summary in words."""
        summary = self.summary
        counts = ", ".join(f"{n} {status}" for status, n in summary["statuses"].items())
        who = " of those who could be read" if "invalid" in summary["statuses"] else ""
        text = (
            f"{summary['people']} people: {counts}; {percent(summary['recourse_ratio'])}{who} are "
            "accepted or have a plan within the budget."
        )
        if self.n_supplied:
            text += f" {self.n_supplied} plans only hand in missing values."
        return text
