"""Built-in lists of reasons (``standard.toml``), and which of them a feature's name suggests."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ract._utils.errors import InvalidSpec, listing
from ract._utils.toml import parsed_toml, read_toml

LISTS: dict[str, list[str]] = read_toml(Path(__file__).with_name("standard.toml"), parsed_toml)
OTHER_C_1, OTHER_HMDA = map(len, LISTS.values())

_AMOUNT = (
    r"(loan|credit|requested|financed).*amount|^amount$|amount (requested|of credit)|principal"
)
_INCOME = r"\bincome|salary|\bwage|earnings"
_LATE = r"delinq|delq|\blate\b|overdue|past due|arrears|missed|derog"
_SPAN = "(years|months|length|time|duration)"
_JOB, _HOME = "(employ|job|work)", "(residen|address)"


@dataclass(frozen=True)
class _Hint:
    """Words in a feature's name, the direction that hurts, and the reason in both lists.

    ``beside`` are words of another feature, without which the reason would say too much: an income
    is insufficient for an amount only where an amount is known.
    """

    words: str
    direction: str
    form_c_1: int
    hmda: int
    beside: str = ""


# The first hint that fits decides. A direction that no hint names is "other".
_HINTS = (
    _Hint("", "missing", 1, 7),
    _Hint(r"inquir|\binq", "too_high", 22, 3),
    _Hint(r"bankrupt", "too_high", 21, 3),
    _Hint(r"foreclos|repossess", "too_high", 20, 3),
    _Hint(r"garnish|attachment", "too_high", 19, 3),
    _Hint(r"since.*(delq|delinq|late)|never.*(delq|delinq)", "too_low", 17, 3),
    _Hint(rf"^(?!.*(since|never)).*({_LATE})", "too_high", 17, 3),
    _Hint(r"collection|judgment|judgement", "too_high", 18, 3),
    _Hint(r"collateral|property value|home value|appraisal", "too_low", 23, 4),
    _Hint(r"loan to value|\bltv\b", "too_high", 23, 4),
    _Hint(r"debt.*income|\bdti\b|obligations.*income", "too_high", 9, 1),
    _Hint(_INCOME, "too_low", 8, 1, _AMOUNT),
    _Hint(r"\bdebts?\b|obligation", "too_high", 9, 1, _INCOME),
    _Hint(rf"{_SPAN}.*{_JOB}|{_JOB}.*{_SPAN}|\bseniority\b|\btenure\b", "too_low", 7, 2),
    _Hint(rf"{_SPAN}.*{_HOME}|{_HOME}.*{_SPAN}", "too_low", 11, OTHER_HMDA),
    _Hint(r"in file|oldest|credit history|credit experience|total trades", "too_low", 15, 3),
    _Hint(r"\bcash\b|down ?payment", "too_low", OTHER_C_1, 5),
)


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
    others = [spoken(one).lower() for one in names]
    for hint in _HINTS:
        fits = hint.direction == direction and re.search(hint.words, words)
        if fits and (not hint.beside or any(re.search(hint.beside, one) for one in others)):
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
    if name not in (*LISTS, "none"):
        raise InvalidSpec(f"codes must be one of {listing((*LISTS, 'none'))}, got {name!r}.")
    return name
