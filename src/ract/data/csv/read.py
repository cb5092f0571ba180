"""From a table as it is written to the columns that a model takes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from ract._utils.errors import InvalidData
from ract.data.csv.dialect import Since, TableFormat
from ract.data.csv.numbers import as_numbers, pattern

DAYS_OF_A_YEAR = 365.25


def as_read(
    frame: pd.DataFrame,
    form: TableFormat,
    features: Iterable[Any] = (),
) -> pd.DataFrame:
    """A table with its columns converted as a format says: numbers, words, dates, categories.

    A cell that cannot be read in this way is left unchanged, and its row is refused later.

    Parameters
    ----------
    frame : DataFrame
    form : TableFormat
    features : iterable of Feature
        If they are known: which columns contain numbers, and the categories of the others.

    Examples
    --------
    >>> form = TableFormat(words={"phone": {"yes": ["Y"]}}, dates={
    ...     "since": Since("years", dt.date(2026, 7, 1), "%d.%m.%Y")
    ... })
    >>> as_read(pd.DataFrame({"phone": ["Y", "no"], "since": ["01.07.2016", "?"]}), form)
      phone since
    0   yes  10.0
    1    no     ?
    """
    kinds = {feature.name: feature for feature in features}
    read = frame.copy(deep=False)
    for name in frame.columns:
        column = read[name]
        if form.missing and not _is_number(column):
            column = column.mask(column.isin(form.missing))
        if name in form.dates:
            column = _time_since(column, form.dates[name], frame)
        elif name in kinds and kinds[name].is_categorical:
            pass
        elif not _is_number(column) and (form.decimal, form.thousands) != (".", None):
            column = _numbers(column, form, known=name in kinds)
        if name in form.codes and column.dtype.kind in "iuf":
            column = column.mask(column.isin(form.codes[name]))
        if name in form.words:
            column = _in_one_word(column, form.words[name])
        if name in form.others and name in kinds:
            column = _with_others(column, kinds[name].categories, form.others[name])
        read[name] = column
    return read


def date_columns(form: TableFormat) -> set[str]:
    """Columns of a table that hold dates, those that others are counted up to included."""
    ends = {said.until for said in form.dates.values() if isinstance(said.until, str)}
    return set(form.dates) | ends


def text_features(features: Iterable[Any] | None) -> list[str]:
    """Names of the features whose categories are texts, even if they look like numbers."""
    return [
        feature.name
        for feature in features or ()
        if feature.categories
        and not feature.columns
        and all(isinstance(value, str) for value in feature.categories)
    ]


def _is_number(column: pd.Series) -> bool:
    return column.dtype.kind in "biufM" or isinstance(column.dtype, pd.CategoricalDtype)


def _numbers(column: pd.Series, form: TableFormat, *, known: bool) -> pd.Series:
    """Text as numbers: cell by cell if they are known to be numbers, else all or none."""
    is_number = pattern(form.decimal, form.thousands)
    cells = column.dropna().unique()
    if known or all(isinstance(cell, str) and is_number.fullmatch(cell) for cell in cells):
        return as_numbers(column, form.decimal, form.thousands)
    return column


def _in_one_word(column: pd.Series, words: Mapping[str, Collection[str]]) -> pd.Series:
    same = {other: name for name, others in words.items() for other in others}
    return column.map(lambda cell: same.get(cell, cell) if isinstance(cell, str) else cell)


def _with_others(column: pd.Series, categories: Collection[Any], others: str) -> pd.Series:
    known = set(categories)
    return column.map(lambda cell: cell if pd.isna(cell) or cell in known else others)


def _time_since(column: pd.Series, said: Since, frame: pd.DataFrame) -> pd.Series:
    """Days or years from each date; what is no date stays as it is."""
    dates, until = _dates(column, said.format), said.until
    end: Any = until
    if isinstance(until, dt.date):
        end = pd.Timestamp(until)
    elif until in frame.columns:
        end = _dates(frame[until], said.format)
    else:
        raise InvalidData(
            f"The dates in {column.name!r} count up to those in {until!r}, which the table lacks."
        )
    days = (end - dates) / pd.Timedelta(days=1)
    time = days if said.unit == "days" else (days / DAYS_OF_A_YEAR).round(2)
    wrong = dates.isna() & column.notna()
    return time if not wrong.any() else time.astype(object).where(~wrong, column)


def _dates(column: pd.Series, form: str) -> pd.Series:
    if column.dtype.kind == "M":
        return column.dt.tz_localize(None).dt.floor("D")
    text = column.map(str, na_action="ignore").astype(object)
    return pd.to_datetime(text, format=form, errors="coerce")
