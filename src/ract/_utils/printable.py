"""People's own text, made safe to show in a terminal, a page, a notebook or a spreadsheet."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

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


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption: numbers to the right, missing values empty, booleans yes or no.

    >>> html_table("<b>", ["x"], [[1.25], ["<i>"], [None]]).splitlines()[0]
    '<table><caption style="text-align: left">&lt;b&gt;</caption>'
    """
    head = "".join(
        f'<th scope="col" style="text-align: left; padding: 0 .6em">{_text(name)}</th>'
        for name in columns
    )
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<table><caption style="text-align: left">{_text(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    )


def html_text(text: str) -> str:
    """A paragraph, with its line ends.

    >>> html_text("a < b")
    '<p style="white-space: pre-line">a &lt; b</p>'
    """
    return f'<p style="white-space: pre-line">{_text(text)}</p>'


def _cell(value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, (int, float)):
        shown = (
            "" if math.isnan(value) else f"{value:,}" if isinstance(value, int) else _short(value)
        )
        return f'<td style="text-align: right; padding: 0 .6em">{shown}</td>'
    text = "" if value is None else _text(str(value))
    return f'<td style="text-align: left; padding: 0 .6em">{text}</td>'


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _text(text: str) -> str:
    return escape(printable(str(text)))
