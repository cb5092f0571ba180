"""Numbers, dates and values as people write them in a language."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.numbers import format_decimal

from ract._printable import printable
from ract.errors import InvalidSpec

BUILT_IN = ("de", "en", "fr")

# The words for yes, for no, and for a value that nobody gave.
_WORDS = {"de": ("ja", "nein", "nicht angegeben"), "fr": ("oui", "non", "non indiqué")}


def one_line(value: Any) -> str:
    """People's own text on one line, without control characters."""
    return " ".join(printable(str(value)).split())


def is_number(value: Any) -> bool:
    """Whether a value is an amount; yes and no are none."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def is_missing(value: Any) -> bool:
    """Whether there is no value."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


class Language:
    """How one language, or its variant in one country, writes values.

    Parameters
    ----------
    name : str
        Such as "de", "fr-CH" or "en_GB".
    words : mapping of str to str
        What to write for categories, and for "yes", "no" and "not given".

    Examples
    --------
    >>> german = Language("de", {"car": "Auto"})
    >>> german.value(46512.75), german.exact(0.1), german.value(True), german.value("car")
    ('46.513', '0,1', 'ja', 'Auto')
    >>> german.date(datetime.date(2026, 3, 9))
    '9. März 2026'
    """

    def __init__(self, name: str, words: Mapping[str, str] | None = None) -> None:
        try:
            self.locale = Locale.parse(name.replace("-", "_"))
        except (ValueError, UnknownLocaleError):
            raise InvalidSpec(
                f"language must be a code such as 'en', 'de' or 'fr-CH', got {name!r}."
            ) from None
        yes, no, missing = _WORDS.get(self.base, ("yes", "no", "not given"))
        self.words = {"yes": yes, "no": no, "not given": missing, **(words or {})}

    @property
    def base(self) -> str:
        """The language without its country."""
        return str(self.locale.language)

    @property
    def tag(self) -> str:
        """The language as HTML names it."""
        return str(self.locale).replace("_", "-")

    def date(self, day: datetime.date) -> str:
        """A day in full."""
        return format_date(day, "long", locale=self.locale)

    def exact(self, value: Any) -> str:
        """A number with all its digits."""
        value = float(value)
        if value and not 1e-6 <= abs(value) < 1e15:
            return f"{value:g}" if float(f"{value:g}") == value else repr(value)
        number = Decimal(int(value)) if value.is_integer() else Decimal(repr(value))
        return format_decimal(number, locale=self.locale, decimal_quantization=False)

    def value(self, value: Any) -> str:
        """A value as people read it: numbers with four digits or more, words for categories."""
        if is_missing(value):
            return one_line(self.words["not given"])
        if isinstance(value, (bool, np.bool_)):
            return self.words["yes" if value else "no"]
        if not is_number(value):
            text = one_line(value)
            return one_line(self.words.get(text, text))
        value = float(value)
        if not value.is_integer():
            value = round(value, max(0, 3 - math.floor(math.log10(abs(value)))))
        return self.exact(value)
