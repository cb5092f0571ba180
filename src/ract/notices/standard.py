"""Built-in lists of reasons (``standard.toml``), and which of them a feature's name suggests."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ract._utils.toml import parsed_toml, read_toml
from ract._utils.validation import check_value, one_of


@dataclass(frozen=True)
class _Hint:
    """Words in a feature's name, the direction that hurts, and the reason in both lists."""

    words: str
    direction: str
    form_c_1: int
    hmda: int
    beside: str = ""


_TABLES = read_toml(Path(__file__).with_name("standard.toml"), parsed_toml)
_HINTS = [_Hint(**entry) for entry in _TABLES.pop("hints")]
LISTS: dict[str, list[str]] = _TABLES
OTHER_C_1, OTHER_HMDA = map(len, LISTS.values())


def reasons_for(name: str, direction: str, names: Collection[str] = ()) -> tuple[int, int]:
    """The reasons that a feature's name suggests, in form C-1 and in HMDA's list.

    Parameters
    ----------
    name : str
    direction : str
    names : collection of str
        All features that the model decides by; some reasons speak of two.

    Examples
    --------
    >>> reasons_for("annual_income", "too_low", ["annual_income", "loan_amount"])
    (8, 1)
    >>> reasons_for("annual_income", "too_low"), reasons_for("annual_income", "too_high")
    ((24, 9), (24, 9))
    """
    words = spoken(name).lower()
    other_features = [spoken(one).lower() for one in names]
    for hint in _HINTS:
        fits = hint.direction == direction and re.search(hint.words, words)
        if fits and (not hint.beside or any(re.search(hint.beside, one) for one in other_features)):
            return hint.form_c_1, hint.hmda
    return OTHER_C_1, OTHER_HMDA


def spoken(name: str) -> str:
    """A column's name as words.

    >>> spoken("AverageMInFile"), spoken("loan_amount"), spoken("DTI"), spoken("Years at work")
    ('Average M in file', 'Loan amount', 'DTI', 'Years at work')
    """
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=\d)", " ", name)
    words = re.sub(r"[_\s]+", " ", parts).strip().split(" ")
    rest = [word if word.isupper() else word.lower() for word in words[1:]]
    return " ".join([words[0][:1].upper() + words[0][1:], *rest])


def check_list(name: str) -> str:
    """The name of a built-in list, or "none"."""
    check_value("codes", name, one_of(*LISTS, "none"))
    return name
