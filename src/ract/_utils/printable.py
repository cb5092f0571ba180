"""People's own text, made safe to show in a terminal, a page or a spreadsheet."""

from __future__ import annotations

import re

# Control characters but line ends and tabs, and the marks that reverse the direction of text.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Text without control characters, which terminals and browsers may obey.

    >>> printable("Ann\x1b[2J Lee")
    'Ann[2J Lee'
    """
    return _UNSEEN.sub("", text)


def formula_safe(text: str) -> str:
    """Text that a spreadsheet shows and does not run; numbers stay as they are.

    >>> formula_safe("=1+1"), formula_safe("-12.5"), formula_safe("Ann")
    ("'=1+1", '-12.5', 'Ann')
    """
    text = printable(text)
    if not text.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")):  # noqa: RUF001
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
