"""Numbers, dates and values as people write them in a language."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.numbers import format_decimal, get_currency_symbol

from ract._utils.errors import InvalidSpec
from ract._utils.printable import printable
from ract._utils.validation import is_missing, is_number

BUILT_IN = ("de", "en", "fr")
PERCENT_GAP = "\u202f"  # between a number and the sign, outside English

SAID_ALIKE = ("yes", "no", "not given")  # what every language has words for
_WORDS = {"de": ("ja", "nein", "nicht angegeben"), "fr": ("oui", "non", "non indiqué")}


def single_line(value: object) -> str:
    """People's own text on one line, without control characters."""
    return " ".join(printable(str(value)).split())


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
        own = dict(zip(SAID_ALIKE, _WORDS.get(self.base, SAID_ALIKE), strict=True))
        self.words = own | dict(words or {})

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

    def with_unit(self, text: str, unit: str) -> str:
        r"""A number with its unit: a currency (its code or sign), "%", or a word such as "years".

        >>> Language("de").with_unit("46.500", "EUR"), Language("en").with_unit("46,500", "USD")
        ('46.500\xa0€', '$46,500')
        >>> Language("fr").with_unit("12", "%"), Language("en").with_unit("12", "years")
        ('12\u202f%', '12\xa0years')
        """
        unit = single_line(unit)
        if unit == "%":
            return f"{text}{'' if self.base == 'en' else PERCENT_GAP}%"
        if len(unit) == 3 and unit.isupper():
            unit = get_currency_symbol(unit, locale=self.locale)
        if len(unit) == 1 and unicodedata.category(unit) == "Sc" and self.base == "en":
            return f"-{unit}{text[1:]}" if text.startswith("-") else f"{unit}{text}"
        return f"{text}\u00a0{unit}"

    def value(self, value: Any) -> str:
        """A value as people read it: numbers with four digits or more, words for categories."""
        if is_missing(value):
            return single_line(self.words["not given"])
        if isinstance(value, (bool, np.bool_)):
            return self.words["yes" if value else "no"]
        if not is_number(value):
            text = single_line(value)
            return single_line(self.words.get(text, text))
        number = float(value)
        if not number.is_integer():
            number = round(number, max(0, 3 - math.floor(math.log10(abs(number)))))
        return self.exact(number)
