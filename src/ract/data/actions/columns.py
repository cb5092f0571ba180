"""What the columns of a table are: identifiers, constants, dates, yes and no, leaks."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from ract._utils.errors import listing
from ract._utils.validation import as_python
from ract.data.actions.names import IDENTIFIER, fixed_by_name
from ract.data.csv.dialect import Since

FEWEST_ROWS = 20  # below which a different value for everyone says nothing
BINS, LEAK = 50, 0.98  # of numbers, and the area under the ROC curve that one column must not reach
FEWEST_OF_A_CLASS = 20

NEGATIVE_CODES = (-1, -7, -8, -9, -99, -999, -9999, -99999)
HIGH_CODES = {96, 97, 98, 99, 996, 997, 998, 999, 9996, 9997, 9998, 9999, 365_243}
HIGH_CODES |= {10**digits - 1 for digits in range(5, 9)}
APART = 2  # how many times the largest other value a high code is

FORMATS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"),
    *("%d.%m.%Y %H:%M", "%b-%Y", "%b %Y", "%d-%b-%Y", "%d %b %Y", "%Y-%m"),
)
_LIKE_A_DATE = re.compile(r"\s*\w{1,4}[-./ ]\w{1,4}([-./ ]\w{2,4}([ T]\d.*)?)?\s*")

# Pairs of words for no and yes, in small letters.
YES_NO = (
    *(("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"), ("nein", "ja")),
    *(("n", "j"), ("falsch", "wahr"), ("non", "oui"), ("faux", "vrai"), ("no", "sí"), ("no", "si")),
)


@dataclass
class Findings:
    """What was found in columns, and why.

    Parameters
    ----------
    drop : dict
        Columns that are no features, and why.
    dates : dict
        Columns of dates that are read as times.
    codes : dict
        By column: numbers that stand for no value.
    words : dict
        By column: the words for one category.
    orders : dict
        By column: categories in their order.
    fixed : dict
        Columns that nobody can change, and why.
    unused : dict
        Columns that a model should not know, and why.
    auc_lost : str
        What that costs, in words.
    directed : dict
        Columns that may change one way only, and which.
    undirected : list of str
        Numbers of which nothing says which way is better.
    comments : dict
        Further sentences about a column.
    said : list of str
        Sentences for whoever asked.
    """

    drop: dict[str, str] = field(default_factory=dict)
    dates: dict[str, Since] = field(default_factory=dict)
    codes: dict[str, tuple[float, ...]] = field(default_factory=dict)
    words: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)
    auc_lost: str = ""
    directed: dict[str, str] = field(default_factory=dict)
    undirected: list[str] = field(default_factory=list)
    comments: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def note(self, column: str, sentence: str, *, say: bool = True) -> None:
        """Keep a sentence about a column for the action file, and say it."""
        self.comments.setdefault(column, []).append(sentence)
        if say:
            self.said.append(f"{column!r}: {sentence}")


def findings(
    frame: pd.DataFrame, target: str, *, dates: str | None, keep: Collection[str] = ()
) -> Findings:
    """Look at each column of a table.

    Parameters
    ----------
    frame : DataFrame
    target : str
    dates : {"years", "days"} or None
        What columns of dates are read as; None leaves them out.
    keep : collection of str
        Columns that stay, whatever they look like.
    """
    found = Findings()
    _yes_no(found, frame[target], is_target=True)
    for name in frame.columns:
        if name == target:
            continue
        column = frame[name]
        why = None if name in keep else _no_feature(column)
        if why is not None:
            found.drop[name] = why
        elif not _date(found, column, dates):
            _yes_no(found, column)
            if name not in keep:
                _amount(found, column)
                _codes(found, column)
    missing = frame.isna().sum()
    for name in frame.columns.difference([target, *found.drop], sort=False):
        if count := int(missing[name]):
            found.note(name, f"missing in {count} of {len(frame)} rows.", say=False)
    return found


def _no_feature(column: pd.Series) -> str | None:
    """Why a column cannot be a feature, if so."""
    values = column.dropna()
    n_values = values.nunique()
    if n_values == 0:
        return "no value in any row"
    if n_values == 1 and len(values) == len(column):
        return f"the same value, {as_python(values.iloc[0])!r}, in every row"
    differs = _differs(column)
    if differs is not None and _names_rows(values):
        return f"{differs}, so it names rows and tells nothing"
    return None


def _differs(column: pd.Series) -> str | None:
    """That no value of a column comes twice, in words; None if one does or rows are few."""
    n_known = int(column.notna().sum())
    if n_known < FEWEST_ROWS or column.nunique() < n_known:
        return None
    rows = f"{n_known} rows" if n_known == len(column) else f"the {n_known} rows that have one"
    return f"a different value in each of {rows}"


def _is_whole(values: pd.Series) -> bool:
    """Whether known values are whole numbers; floats if others of the column are missing."""
    return values.dtype.kind in "iu" or (
        values.dtype.kind == "f" and bool(np.isfinite(values).all() and (values % 1 == 0).all())
    )


def _names_rows(values: pd.Series) -> bool:
    """Whether values that all differ are names: text, or whole numbers that count or are so called.

    Amounts may all differ too.
    """
    if not _is_whole(values):
        return values.dtype.kind not in "bfM" and _formats(values) == []
    numbers = values.to_numpy()
    steps = np.diff(numbers)
    counts = int(numbers.max()) - int(numbers.min()) < 1.1 * len(numbers)
    in_order = bool((steps > 0).all() or (steps < 0).all())
    return counts or in_order or fixed_by_name(str(values.name)) == IDENTIFIER


def _amount(found: Findings, column: pd.Series) -> None:
    """Say that whole numbers that all differ were not taken for the names of rows."""
    differs = _differs(column)
    if differs is not None and _is_whole(column.dropna()):
        found.note(
            str(column.name),
            f"{differs}, kept as an amount; if it only names rows, leave it out.",
        )


def codes_for_missing(column: pd.Series) -> list[int]:
    """Numbers of a column that look like codes for no value.

    Negative ones among numbers that are otherwise 0 or more, and high ones far above all others.

    >>> codes_for_missing(pd.Series([0, 1, 3, 2, 96, 98, 0]))
    [96, 98]
    >>> codes_for_missing(pd.Series([-1, 300, 250, -1])), codes_for_missing(pd.Series([95, 96, 98]))
    ([-1], [])
    """
    if column.dtype.kind not in "iuf":
        return []
    values = np.unique(column.dropna().to_numpy(np.float64))
    negative = values[values < 0]
    found: list[int] = []
    if len(negative) and np.isin(negative, NEGATIVE_CODES).all() and (values > 0).sum() > 1:
        found += [int(value) for value in negative]
    rest = values[(values >= 0) & ~np.isin(values, list(HIGH_CODES))]
    if len(rest) > 1:
        high = values[np.isin(values, list(HIGH_CODES))]
        found += [int(code) for code in high if code >= APART * rest.max()]
    return found


def _codes(found: Findings, column: pd.Series) -> None:
    """Propose that codes for no value are read as missing."""
    if codes := codes_for_missing(column):
        count = int(column.isin(codes).sum())
        found.codes[str(column.name)] = tuple(map(float, codes))
        found.note(
            str(column.name),
            f"{', '.join(map(str, codes))} look{'s' if len(codes) == 1 else ''} like a code for no "
            f"value ({count} of {len(column)} rows) and is read as missing, see [table.codes]; "
            "take it out there if it is a number.",
        )


def _formats(column: pd.Series) -> list[str]:
    """The ways in which all values of a column are dates."""
    values = column.dropna().unique()
    if not len(values) or not all(
        isinstance(value, str) and _LIKE_A_DATE.fullmatch(value) for value in values
    ):
        return []
    texts = pd.Series(values, dtype=object)
    return [form for form in FORMATS if _are_dates(texts, form)]


def _are_dates(texts: pd.Series, form: str) -> bool:
    try:
        pd.to_datetime(texts, format=form)
    except (ValueError, OverflowError):
        return False
    return True


def _date(found: Findings, column: pd.Series, unit: str | None) -> bool:
    """Read a column of dates as times since, or leave it out; whether it is one."""
    name, is_date = str(column.name), column.dtype.kind == "M"
    forms = ["%Y-%m-%d"] if is_date else _formats(column)
    if not forms:
        return False
    if unit is None:
        found.drop[name] = "dates; read as years or days they are times since"
    elif len(forms) > 1:
        found.drop[name] = (
            f"dates that may be written as {' or '.join(forms)}; say which in [table.dates], such "
            f"as {name} = {{unit = '{unit}', until = '{dt.date.today()}', format = '{forms[0]}'}}, "
            "and take it out of this list"
        )
    else:
        found.dates[name] = Since(unit, dt.date.today(), forms[0])  # type: ignore[arg-type]
        found.fixed[name] = "a date in the past, which nobody can change"
        found.note(name, f"{unit} since the dates of this column, see [table.dates].")
    return True


def _yes_no(found: Findings, column: pd.Series, *, is_target: bool = False) -> None:
    """Put no before yes, and the spellings of one word together."""
    values = column.dropna()
    if not len(values) or not all(isinstance(value, str) for value in values.unique()):
        return
    counts = values.value_counts()
    small = counts.groupby(counts.index.str.strip().str.lower()).sum()
    pair = next((pair for pair in YES_NO if set(small.index) == set(pair)), None)
    if pair is None:
        return
    name = str(column.name)
    spellings: dict[str, list[str]] = {word: [] for word in pair}
    for value in counts.index:  # the most common spelling first
        spellings[value.strip().lower()].append(value)
    found.orders[name] = tuple(spellings[word][0] for word in pair)
    if words := {first: tuple(rest) for first, *rest in spellings.values() if rest}:
        found.words[name] = words
        same = "; ".join(f"{listing(variants, 10)} as {one!r}" for one, variants in words.items())
        found.note(name, f"read {same}.")
    if is_target:
        del found.orders[name]


def leaks(X: pd.DataFrame, desired: np.ndarray) -> dict[str, float]:
    """Columns that tell the target almost alone, and the area under their ROC curves.

    What a column tells is learned from every other row and measured on the rest.

    Parameters
    ----------
    X : DataFrame
    desired : bool (people,)
    """
    found: dict[str, float] = {}
    learn, rest = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    for part in (learn, rest):
        if min(desired[part].sum(), (~desired[part]).sum()) < FEWEST_OF_A_CLASS:
            return found
    for name in X.columns:
        bins = _bins(X[name])
        n = np.bincount(bins[learn], minlength=bins.max() + 1)
        n_desired = np.bincount(bins[learn], desired[learn], minlength=bins.max() + 1)
        share = (n_desired + desired[learn].mean()) / (n + 1)
        area = float(roc_auc_score(desired[rest], share[bins[rest]]))
        if area >= LEAK:
            found[name] = area
    return found


def _bins(column: pd.Series) -> np.ndarray:
    """Values as whole numbers from 0: categories, or equally filled bins of numbers."""
    if column.dtype.kind in "iuf" and column.nunique() > BINS:
        ranks = column.rank(pct=True).to_numpy()
        return np.where(np.isnan(ranks), 0, 1 + np.floor(np.nan_to_num(ranks) * BINS)).astype(int)
    codes, _ = pd.factorize(column)
    return np.asarray(codes + 1)


def rare(X: pd.DataFrame, fewest: int, name: str) -> Mapping[str, tuple[Any, ...]]:
    """Categories that stay when those of fewer people become one, by column of text."""
    kept: dict[str, tuple[Any, ...]] = {}
    for column in X.columns:
        if X[column].dtype.kind in "biufM":
            continue
        counts = X[column].value_counts()
        common = sorted(counts.index[counts >= fewest], key=str)
        if len(common) + 1 < len(counts) and (common or name not in counts):
            kept[column] = tuple(value for value in common if value != name)
    return kept
