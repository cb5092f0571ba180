"""From a table as it is written to the columns that a model takes.

Numbers are read as people write them: decimal commas, and marks between thousands.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData
from ract.data.csv.dialect import Since, TableFormat

DAYS_OF_A_YEAR = 365.25

# What may stand for a space between thousands.
_SPACES = " \u00a0\u202f\u2009"
# The conventions that are distinguished, the plainest first: decimal mark, mark of thousands.
CONVENTIONS: tuple[tuple[str, str | None], ...] = (
    *((".", None), (",", None), (",", "."), (".", ",")),
    *((",", " "), (".", " "), (".", "'"), (",", "'")),
)
# 1.234,56 or 1,234 or 12,5 or $1,234.50 or 45%: numbers to people, text to a computer. Spaces are
# matched once and never given back (*+), so that a cell of spaces takes linear time.
_LOOKS_LIKE_A_NUMBER = re.compile(
    r"\s*+[-+(]?\s*+[$€£]?\s*+\d{1,3}(?:[.,'\s\u00a0\u202f]?\d{3})*(?:[.,]\d+)?"
    r"\s*+[$€£%]?\s*+\)?\s*+"
)


def as_read(frame: pd.DataFrame, form: TableFormat, features: Iterable[Any] = ()) -> pd.DataFrame:
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
    same = {other: name for name, variants in words.items() for other in variants}
    return column.map(lambda cell: same.get(cell, cell) if isinstance(cell, str) else cell)


def _with_others(column: pd.Series, categories: Collection[Any], rest: str) -> pd.Series:
    known = set(categories)
    return column.map(lambda cell: cell if pd.isna(cell) or cell in known else rest)


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


class Convention(NamedTuple):
    """How numbers are written.

    Parameters
    ----------
    decimal, thousands : str
        The marks; None for no mark of thousands.
    other : tuple or None
        Marks under which as many columns are numbers, but other ones.
    example : str or None
        A number that is another one under these.
    """

    decimal: str
    thousands: str | None
    other: tuple[str, str | None] | None = None
    example: str | None = None


def pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    """What a number looks like; groups of thousands have three digits, the first no leading 0."""
    whole = r"\d+"
    if thousands is not None:
        between = f"[{_SPACES}]" if thousands in _SPACES else re.escape(thousands)
        whole = rf"(?:[1-9]\d{{0,2}}(?:{between}\d{{3}})+|\d+)"
    mark = re.escape(decimal)
    return re.compile(rf"\s*+[-+]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?\s*+")


def plain_digits(text: str, decimal: str, thousands: str | None) -> str:
    """A number as a computer writes it.

    >>> plain_digits("1.234,5", ",", ".")
    '1234.5'
    """
    for mark in "" if thousands is None else _SPACES if thousands in _SPACES else thousands:
        text = text.replace(mark, "")
    return text.strip().replace(decimal, ".")


def as_numbers(column: pd.Series, decimal: str, thousands: str | None) -> pd.Series:
    """A column of text, numbers in it as numbers and all else as it is.

    >>> as_numbers(pd.Series(["1.234,5", "12"]), ",", ".").tolist()
    [1234.5, 12.0]
    """
    is_number = pattern(decimal, thousands)
    cells = [
        plain_digits(cell, decimal, thousands)
        if isinstance(cell, str) and is_number.fullmatch(cell)
        else cell
        for cell in column
    ]
    read = pd.Series(cells, column.index, object)
    try:
        return pd.to_numeric(read)
    except (ValueError, TypeError):  # something else is in it
        return read


def convention(columns: Iterable[Iterable[str]]) -> Convention:
    """The convention under which most columns of text are numbers, the plainest of several.

    Parameters
    ----------
    columns : iterable of iterables of str
        Different values of each column.

    Examples
    --------
    >>> convention([["1.234,5", "7"], ["blue"]])
    Convention(decimal=',', thousands='.', other=None, example=None)
    >>> convention([["1,234", "7,001"]]).other
    ('.', ',')
    """
    columns = [list(values) for values in columns]
    numeric = {}
    for marks in CONVENTIONS:
        is_number = pattern(*marks)
        numeric[marks] = {
            k
            for k, values in enumerate(columns)
            if values and all(map(is_number.fullmatch, values))
        }
    most = max(map(len, numeric.values()))
    first, *as_good = (marks for marks in CONVENTIONS if len(numeric[marks]) == most)
    for other in as_good:
        for k in numeric[first] & numeric[other]:
            for value in columns[k]:
                if float(plain_digits(value, *first)) != float(plain_digits(value, *other)):
                    return Convention(first[0], first[1], other, value)
    return Convention(first[0], first[1])


def refuse_formatted_numbers(column: pd.Series, name: str, *, most: float = 0.0) -> None:
    """Refuse numbers formatted by a spreadsheet, which would pass for categories.

    Parameters
    ----------
    column : Series
    name : str
    most : float
        The share of them that is let pass.
    """
    if column.dtype.kind in "biuf" or isinstance(column.dtype, pd.CategoricalDtype):
        return
    values = column.dropna().unique()
    if not len(values) or not all(isinstance(value, str) for value in values):
        return
    if all(_LOOKS_LIKE_A_NUMBER.fullmatch(value) for value in values):
        formatted = [value for value in values if not _is_plain(value)]
        if len(formatted) > most * len(values):
            example = formatted[0]
            shown = example if len(example) < 40 else f"{example[:30]}..."
            sign = next((mark for mark in "$€£%(" if mark in example), None)
            how = (
                f"without {sign!r}"
                if sign
                else "or say how they are written: decimal and thousands"
            )
            raise InvalidData(
                f"Column {name!r} holds {shown!r}, which is too large or looks like a number in a "
                f"spreadsheet's writing; save plain numbers such as 1234.56, {how}."
            )


def _is_plain(value: str) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False
