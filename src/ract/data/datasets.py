"""Data to try things on: simulated loan applications, the four data sets of the paper, Adult."""

from __future__ import annotations

import hashlib
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.actions import ActionSpace
from ract.data.actions.infer import Limits
from ract.data.effects import CausalEffects
from ract.data.loans import APPROVED, LoansModel

_Folder = str | os.PathLike[str] | None


class DataUnavailable(OSError):
    """A data file that is not on disk and cannot be downloaded."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: features, target, action space and desired class.

    Parameters
    ----------
    name : str
    frame : DataFrame
        One row per person, one column per feature.
    target : Series
        One readable label per person.
    desired : str
        The label that people want.
    actions : ActionSpace
        What people may change, with every kind, bound and category filled in.
    description : str
    causes : CausalEffects, optional
        The true causal effects, where they are known.

    Examples
    --------
    >>> load_loans(n_people=100)
    Dataset('loans': 100 people, 11 features, desired 'approved')
    """

    name: str
    frame: pd.DataFrame
    target: pd.Series
    desired: str
    actions: ActionSpace
    description: str
    causes: CausalEffects | None = None

    def __repr__(self) -> str:
        people, features = self.frame.shape
        return (
            f"Dataset({self.name!r}: {people} people, {features} features, "
            f"desired {self.desired!r})"
        )


def load_loans(
    n_people: int = 5000,
    random_state: int | np.random.Generator | None = 0,
    limits: Limits = None,
) -> Dataset:
    """Simulated loan applications from a linear causal model that is known in full.

    Age, late payments, education, years employed, existing loans, guarantor and purpose are
    drawn independently; income, debt, savings and the loan amount follow linearly from them
    and from each other, plus noise. About 60% of the applications are approved. Bounds are
    those of the model, so that any two draws have equal ``actions``.

    Parameters
    ----------
    n_people : int
    random_state : int, numpy.random.Generator or None
        The same number gives the same people; None gives new ones each time.
    limits : "size" or None
        Of the ``ActionSpace``: "size" for plans that can be sent, in round amounts; None for the
        paper's question, in which a number may change by any amount.

    Returns
    -------
    Dataset
        With ``causes``, the true effects of features on each other, which ``find_recourse`` takes
        as ``effects``.

    Examples
    --------
    >>> loans = load_loans()
    >>> loans.actions["Education"].change, loans.actions["Education"].categories
    ('increase', ('HighSchool', 'College', 'Graduate'))
    >>> loans.causes.edges().query("cause == 'Income'")
         cause      effect  direct  total
    22  Income        Debt    0.15   0.15
    23  Income     Savings    0.30   0.27
    24  Income  LoanAmount    0.10   0.10
    """
    try:
        rng = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidSpec(
            "random_state must be a whole number from 0, a numpy Generator or None, "
            f"got {random_state!r}."
        ) from None
    model = LoansModel()
    frame, target = model.sample(n_people, rng)
    description = "Simulated loan applications, with known causes: who is approved?"
    actions = model.actions if limits is None else ActionSpace(model.actions, APPROVED, limits)
    return Dataset("loans", frame, target, APPROVED, actions, description, model.causes)


@dataclass(frozen=True)
class _Source:
    """One file as ``datasets.toml`` describes it."""

    name: str
    url: str
    sha256: str
    target: str
    labels: tuple[str, str]
    description: str
    folder: str = ""  # of the file below the data folder: other repositories have other files
    coded: bool = True
    fixed: tuple[str, ...] = ()
    increase: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Name of the file."""
        return self.url.rpartition("/")[2]


_FILE = Path(__file__).with_name("datasets.toml")
_SOURCES = {
    name: _Source(name, **entry) for name, entry in tomllib.loads(_FILE.read_text("utf-8")).items()
}


def fetch_fico(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """Home equity lines of credit: 9871 people, 23 features, desired "good".

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``fico.csv``, or that it is downloaded into. By default the folder
        in the environment variable ``RACT_DATA_HOME``, or else the user's cache folder.
    drop_duplicates : bool
        Drop rows that repeat an earlier row in all features and the target (1 row).

    Returns
    -------
    Dataset
        With the paper's action space; bounds are those of the whole file.

    Examples
    --------
    >>> fico = fetch_fico()  # doctest: +SKIP
    >>> fico.actions["NumSatisfactoryTrades"].change  # doctest: +SKIP
    'any'
    """
    return _fetch("fico", data_home, drop_duplicates)


def fetch_compas(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """Defendants and reoffending: 6167 people, 14 columns, desired "stays out".

    The columns ``race:*`` and ``c_charge_degree:*`` are declared as one-hot groups. 2423 rows
    repeat an earlier one. Parameters as in ``fetch_fico``.
    """
    return _fetch("compas", data_home, drop_duplicates)


def fetch_credit(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """Credit card clients: 30000 people, 16 features, desired "pays".

    The four age columns are separate fixed features and not a one-hot group, since 870 people
    are in two of them. 1233 rows repeat an earlier one. Parameters as in ``fetch_fico``.
    """
    return _fetch("credit", data_home, drop_duplicates)


def fetch_bail(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """People released from prison: 8923 people, 16 features, desired "stays out".

    Half of the rows (4406) repeat another one, so that plain cross-validation tests on people
    it was trained on; ``drop_duplicates=True`` prevents that. Parameters as in ``fetch_fico``.
    """
    return _fetch("bail", data_home, drop_duplicates)


def fetch_adult(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """Adults and their income: 48842 people, 9 features, desired ">50K".

    The table and feature rules of RABIT (Kanamori et al., 2025), in a folder of its own,
    ``rabit/adult.csv``. Marital status, race, gender and country are categories and fixed; age
    only rises. 22,775 rows repeat an earlier one. Parameters as in ``fetch_fico``.

    Examples
    --------
    >>> adult = fetch_adult()  # doctest: +SKIP
    >>> adult.actions["age"].change, adult.actions["race"].change  # doctest: +SKIP
    ('increase', 'fixed')
    """
    return _fetch("adult", data_home, drop_duplicates)


def _fetch(name: str, data_home: _Folder, drop_duplicates: bool) -> Dataset:
    source = _SOURCES[name]
    rows = pd.read_csv(_local_file(source, data_home))
    desired, undesired = source.labels
    X, fixed, increase = rows.drop(columns=source.target), source.fixed, source.increase
    actions = ActionSpace.infer(
        X, fixed=fixed, increase=increase, groups=source.groups, desired=desired, limits=None
    )
    if drop_duplicates:
        rows = rows.drop_duplicates(ignore_index=True)
    target = rows.pop(source.target)
    if source.coded:
        target = target.map({0: desired, 1: undesired})
    return Dataset(source.name, rows, target, desired, actions, source.description)


def _local_file(source: _Source, data_home: _Folder) -> Path:
    """The data file, downloaded first if need be; its content is always the expected one."""
    import pooch  # slow to import, and needed only here

    named = data_home or os.environ.get("RACT_DATA_HOME")
    folder = Path(named or pooch.os_cache("ract")).expanduser() / source.folder
    path = folder / source.file
    if not path.exists():
        _download(source, folder)
    _check_hash(source, path, f"{path} is not the expected file; delete it to download it again")
    return path


def _download(source: _Source, folder: Path) -> None:
    """Download beside the file's place, check, and only then move it there (pooch does)."""
    import pooch
    from requests.exceptions import RequestException

    def download_and_check(url: str, output: str, manager: object) -> None:
        pooch.HTTPDownloader(progressbar=False)(url, output, manager)
        _check_hash(source, Path(output), f"{url} is not the expected file; it was not kept")

    try:
        pooch.retrieve(
            source.url,
            known_hash=source.sha256,
            fname=source.file,
            path=folder,
            downloader=download_and_check,
        )
    except RequestException as error:
        reason = type(error).__name__
        if error.response is not None:
            error.response.close()  # pooch leaves the connection open
            reason = f"status {error.response.status_code}"
        raise DataUnavailable(
            f"Could not download {source.url} ({reason}); get {source.file} by other means and put "
            f"it into {folder}, or into a folder named by data_home or the environment variable "
            "RACT_DATA_HOME."
        ) from None


def _check_hash(source: _Source, path: Path, complaint: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != source.sha256:
        raise InvalidData(f"{complaint} (sha256 expected {source.sha256}, found {found}).")
