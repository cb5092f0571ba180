"""Data to try things on: simulated loan applications, the four data sets of the paper, Adult."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.actions import ActionSpace
from ract.data.effects import CausalEffects
from ract.data.loans import APPROVED, LoansModel

__all__ = [
    "DataUnavailable",
    "Dataset",
    "LoansModel",
    "fetch_adult",
    "fetch_bail",
    "fetch_compas",
    "fetch_credit",
    "fetch_fico",
    "load_loans",
]

# The repositories of the authors, each at a fixed commit.
_BASE_URL = (
    "https://raw.githubusercontent.com/kelicht/ract/"
    "b45e7c21f1d3fee7c0bcbe81c6a68e4023488151/datasets"
)
_RABIT_URL = (
    "https://raw.githubusercontent.com/kelicht/rabit/"
    "64db37bb86b6594d7196231f4d4b8f026c4bcb83/rabit/datasets"
)


_Folder = str | os.PathLike[str] | None


class DataUnavailable(OSError):
    """A data file that is not on disk and cannot be downloaded."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of people, what was decided about them, and what they may change.

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


def load_loans(n_people: int = 5000, random_state: int | np.random.Generator | None = 0) -> Dataset:
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
    return Dataset("loans", frame, target, APPROVED, model.actions, description, model.causes)


@dataclass(frozen=True)
class _Source:
    """One file, and its feature table where that is not read off the data."""

    name: str
    file: str
    sha256: str
    target: str
    labels: tuple[str, str]  # of class 0, which is the desired one, and of class 1
    description: str
    folder: str = ""  # of the file below the data folder: other repositories have other files
    coded: bool = True  # whether the file holds classes; else labels
    fixed: tuple[str, ...] = ()
    increase: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)


_FICO = _Source(
    name="fico", file="fico.csv",
    target="RiskPerformance", labels=("good", "bad"),
    sha256="c1807a5c3801cd8d38b8752a91877239821168a40bf1f572362ebca55478cb9f",
    description="Home equity lines of credit (FICO, 2018): who pays back as agreed?",
    fixed=(
        "ExternalRiskEstimate", "MSinceOldestTradeOpen", "MSinceMostRecentTradeOpen",
        "AverageMInFile", "NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec",
        "NumTotalTrades", "NumTradesOpeninLast12M",
    ),
)  # fmt: skip

_COMPAS = _Source(
    name="compas", file="compas.csv",
    target="RecidivateWithinTwoYears", labels=("stays out", "reoffends"),
    sha256="faad0e0afe22cec03bb741f3e18870db02a6b910feb833ce227594bbb791098e",
    description="Defendants in Broward County (ProPublica, 2016): who reoffends in two years?",
    fixed=("race", "gender"),
    increase=("age",),
    groups={
        "race": (
            "race:African-American", "race:Asian", "race:Caucasian", "race:Hispanic",
            "race:Native American", "race:Other",
        ),
        "c_charge_degree": ("c_charge_degree:F", "c_charge_degree:M"),
    },
)  # fmt: skip

_CREDIT = _Source(
    name="credit", file="credit_processed.csv",
    target="DefaultNextMonth", labels=("pays", "defaults"),
    sha256="db8a456dacca6cefe657354a060148f5c3d09e9a6fade4737b1e5d295109c887",
    description="Credit card clients in Taiwan (Yeh and Lien, 2009): who defaults next month?",
    # The age columns are no one-hot group: 870 people are in two of them.
    fixed=(
        "Married", "Single", "Age_lt_25", "Age_in_25_to_40", "Age_in_40_to_59", "Age_geq_60",
        "TotalOverdueCounts", "TotalMonthsOverdue",
    ),
)  # fmt: skip

_BAIL = _Source(
    name="bail", file="bail.csv",
    target="Recidivate", labels=("stays out", "reoffends"),
    sha256="85f11f62bc7228f9176503e2481a02423eef91d3dd5ec88d62fe1d6827b51b40",
    description="People released from prison (Schmidt and Witte, 1988): who reoffends?",
    fixed=(
        "White", "Super", "Married", "Felon", "Propty", "Person", "Male", "Priors", "Age", "Tservd",
        "Follow",
    ),
)  # fmt: skip


_ADULT = _Source(
    name="adult", file="adult.csv", folder="rabit", coded=False,
    target="income", labels=(">50K", "<=50K"),
    sha256="2c7c5091e60b6a0ab4936b587afa0f09f551ac65528bde48372008f20329ed49",
    description="Adults in the census of the United States (1994): who earns above 50,000?",
    fixed=("marital-status", "race", "gender", "native-country"),
    increase=("age",),
)  # fmt: skip


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
    return _fetch(_FICO, data_home, drop_duplicates)


def fetch_compas(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """Defendants and reoffending: 6167 people, 14 columns, desired "stays out".

    The columns ``race:*`` and ``c_charge_degree:*`` are declared as one-hot groups. 2423 rows
    repeat an earlier one. Parameters as in ``fetch_fico``.
    """
    return _fetch(_COMPAS, data_home, drop_duplicates)


def fetch_credit(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """Credit card clients: 30000 people, 16 features, desired "pays".

    The four age columns are separate fixed features and not a one-hot group, since 870 people
    are in two of them. 1233 rows repeat an earlier one. Parameters as in ``fetch_fico``.
    """
    return _fetch(_CREDIT, data_home, drop_duplicates)


def fetch_bail(*, data_home: _Folder = None, drop_duplicates: bool = False) -> Dataset:
    """People released from prison: 8923 people, 16 features, desired "stays out".

    Half of the rows (4406) repeat another one, so that plain cross-validation tests on people
    it was trained on; ``drop_duplicates=True`` prevents that. Parameters as in ``fetch_fico``.
    """
    return _fetch(_BAIL, data_home, drop_duplicates)


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
    return _fetch(_ADULT, data_home, drop_duplicates)


def _fetch(source: _Source, data_home: _Folder, drop_duplicates: bool) -> Dataset:
    rows = pd.read_csv(_local_file(source, data_home))
    desired, undesired = source.labels
    actions = ActionSpace.infer(
        rows.drop(columns=source.target),
        fixed=source.fixed,
        increase=source.increase,
        groups=source.groups,
        desired=desired,
        limits=None,
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

    url = f"{_RABIT_URL if source.folder else _BASE_URL}/{source.file}"

    def download_and_check(url: str, output: Any, manager: Any) -> None:
        pooch.HTTPDownloader(progressbar=False)(url, output, manager)
        _check_hash(source, Path(output), f"{url} is not the expected file; it was not kept")

    try:
        pooch.retrieve(
            url,
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
            f"Could not download {url} ({reason}); get {source.file} by other means and put it "
            f"into {folder}, or into a folder named by data_home or the environment variable "
            "RACT_DATA_HOME."
        ) from None


def _check_hash(source: _Source, path: Path, complaint: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != source.sha256:
        raise InvalidData(f"{complaint} (sha256 expected {source.sha256}, found {found}).")
