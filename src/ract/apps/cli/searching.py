"""Plans for the people of a file, chunk by chunk: what ``ract recourse`` and ``notice`` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ract._utils.progress import progress_bar
from ract.apps.cli import options
from ract.apps.cli.messages import BadInput, percent

if TYPE_CHECKING:
    import pandas as pd

    from ract.data.actions import ActionSpace
    from ract.data.csv import TableFormat
    from ract.data.encoder import Encoder
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
        from ract.recourse.few_changes import OF_PLANS

        return {k: v for k, v in given.items() if k not in OF_PLANS or v != getattr(type(self), k)}


def searched(
    find: Callable[..., Recourse],
    encoder: Encoder,
    people: str,
    form: TableFormat,
    id: str | None,
    given: dict[str, Any],
    counts: Counter[str],
    *,
    is_named: bool = False,
) -> Iterator[tuple[pd.DataFrame, Recourse]]:
    """The people of a file chunk by chunk, with their plans, which are counted.

    Parameters
    ----------
    find : callable
        From people to plans.
    encoder : Encoder
        Of the model.
    people : str
        Their file.
    form : TableFormat
    id : str or None
        Column that names them.
    given : dict
        Parameters of the search.
    counts : Counter
        Is added to: people by status, those "within" the budget and those for whom plans are
        "only supplied" values, as ``ract.apps.distributed.run`` counts them.
    is_named : bool
        Refuse people without a name.
    """
    from ract.apps.cli.tables import model_columns, refuse_invalid
    from ract.data.csv import Chunks, naming_lines, text_features

    messages: list[str] = []
    chunks = Chunks(people, form, text=text_features(encoder.space))
    rest, n_people = iter(chunks), 0
    first = list(islice(rest, 2))
    is_only = len(first) == 1
    with progress_bar("Searching", show=not is_only, transient=True) as done:
        for chunk in chain(first, rest):
            X = model_columns(chunk, encoder, people, id, form, strict=given["strict"])
            if is_named and chunk[id].isna().any():
                raise BadInput(f"--id names {id!r}, which is empty for some people.")
            with naming_lines(people, form, chunk.index):
                found = find(X, progress=is_only, **given)
            yield X, found
            counts.update(found.status.tolist())
            counts["within"] += int(found.within_budget.sum())
            counts["only supplied"] += int(found.only_supplied.sum())
            messages += found.messages.values()
            n_people += len(X)
            done(chunks.share)
    refuse_invalid(people, n_people, messages)


def search_summary(counts: Counter[str]) -> dict[str, Any]:
    """How many people, by status, and the share with recourse among those who were read."""
    from ract._utils.status import Status

    statuses = {s.word: counts[s.word] for s in Status if counts[s.word]}
    n_people = sum(statuses.values())
    part = counts["within"] / (n_people - counts[Status.INVALID.word])
    summary = {"people": n_people, "statuses": statuses, "recourse_ratio": part}
    n_supplied = counts["only supplied"]
    return summary | ({"only_supplied": n_supplied} if n_supplied else {})


def search_sentence(summary: dict[str, Any]) -> str:
    """The summary in words."""
    counts = ", ".join(f"{n} {status}" for status, n in summary["statuses"].items())
    who = " of those who could be read" if "invalid" in summary["statuses"] else ""
    text = (
        f"{summary['people']} people: {counts}; {percent(summary['recourse_ratio'])}{who} are "
        "accepted or have a plan within the budget."
    )
    if "only_supplied" in summary:
        text += f" {summary['only_supplied']} plans only supply missing values."
    return text
