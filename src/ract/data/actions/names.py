"""What the name of a column suggests: protected attributes, past events, and which way is better.

The words are in ``names.toml``: English, German, Spanish and French, without accents. Proposals,
never rules: whoever uses them says so, and an action space that was declared is not looked at.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ract.data.actions.feature import Feature

Way = Literal["increase", "decrease"]


@dataclass(frozen=True)
class Hint:
    """What some words mean.

    Parameters
    ----------
    meaning : str
    words : str
        That are words of a name.
    stems : str
        That a name contains, with nothing between its words.
    unless : str
        Words beside which it means something else.
    """

    meaning: str
    words: str = ""
    stems: str = ""
    unless: str = ""

    def place(self, words: list[str]) -> int | None:
        """Where a name first has one of the words or stems; None if it has none."""
        if set(words) & set(self.unless.split()):
            return None
        joined, start, places = "".join(words), 0, []
        for word in words:
            if word in self.words.split():
                places.append(start)
            start += len(word)
        places += [at for stem in self.stems.split() if (at := joined.find(stem)) >= 0]
        return min(places, default=None)


_FILE = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
_HINTS = {kind: [Hint(**entry) for entry in entries] for kind, entries in _FILE.items()}
IDENTIFIER = _HINTS["identifier"][0].meaning

# Amounts that people ask for, if the name says nothing else.
_REQUESTED = {"amount", "betrag", "importe", "monto", "montant"}

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(name: str) -> list[str]:
    """The words of a name, in small letters and without accents.

    >>> words_of("AgeInYears"), words_of("Kredithöhe"), words_of("année_de_naissance")
    (['age', 'in', 'years'], ['kredithohe'], ['annee', 'de', 'naissance'])
    """
    parts = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return [word.lower() for word in _WORD.findall(plain)]


def _meaning(name: str, *kinds: str) -> str | None:
    """What a name says, of some kinds of hints."""
    words, hints = words_of(name), [hint for kind in kinds for hint in _HINTS[kind]]
    return next((hint.meaning for hint in hints if hint.place(words) is not None), None)


def fixed_by_name(name: str) -> str | None:
    """What a name says that nobody can be asked to change; None if it says no such thing.

    >>> fixed_by_name("AgeInYears"), fixed_by_name("date_of_birth"), fixed_by_name("mileage")
    ('age', 'birth', None)
    """
    return _meaning(name, "protected", "identifier")


def past_by_name(name: str) -> str | None:
    """That a name speaks of the past, in words; None if it does not.

    >>> past_by_name("MSinceMostRecentDelq")
    'time since a past event, which passes by itself'
    """
    return _meaning(name, "past")


def better_way(name: str) -> Way | None:
    """Which way a change is for the better, by its name: the first word that says so.

    >>> better_way("Monatseinkommen"), better_way("debt_to_income"), better_way("Purpose")
    ('increase', 'decrease', None)
    """
    words = words_of(name)
    if len(words) == 1 and words[0] in _REQUESTED:
        return "decrease"
    ways: tuple[Way, ...] = ("increase", "decrease")
    places = ((hint.place(words), way) for way, hint in zip(ways, _HINTS["better"], strict=True))
    found = [(place, way) for place, way in places if place is not None]
    return min(found)[1] if found else None


def unit_of_time(name: str) -> str | None:
    """The unit in which a name counts time that passes: "year", "month" or None.

    >>> unit_of_time("Age"), unit_of_time("MonthsSinceDelay"), unit_of_time("MonthlyIncome")
    ('year', 'month', None)
    """
    return _meaning(name, "time")


def fixed_feature(feature: Feature) -> str | None:
    """What nobody can be asked to change, by the name of a feature or of a column of its group."""
    return next(filter(None, map(fixed_by_name, (feature.name, *feature.columns))), None)


def protected_feature(feature: Feature) -> str | None:
    """The protected attribute that a feature is, by its name; None if it is none.

    >>> protected_feature(Feature("Geschlecht")), protected_feature(Feature("Income"))
    ('sex or gender', None)
    """
    names = (feature.name, *feature.columns)
    return next(filter(None, (_meaning(name, "protected") for name in names)), None)
