"""JSON of strangers: its length and its shape are checked before it is parsed.

Parsed values take up to fifty times the bytes of their text: a few kilobytes that unpack to
megabytes of brackets would otherwise fill the memory before anything could be refused.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

MOST_JSON = 2**23  # bytes
MOST_CONTAINERS = 2**18
DEEPEST = 32


def parse_object(content: bytes) -> dict[str, Any]:
    """The JSON object that a text holds; a ValueError as of ``parse_json``."""
    values = parse_json(content)
    if not isinstance(values, dict):
        raise ValueError("is not a JSON object")
    return values


def parse_json(content: bytes) -> Any:
    """The values of a JSON text; a ValueError that says what is wrong with it.

    Infinities, NaN and numbers of thousands of digits are refused, and so is an object with two
    entries of one name, of which a program reads the last and a person the first.

    >>> parse_json(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    check_json(content)
    try:
        return json.loads(
            content.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_object
        )
    except ValueError:
        raise ValueError("is not JSON") from None


def check_json(content: bytes) -> None:
    """Refuse a text that is too long or too nested, in time linear in its length."""
    if len(content) > MOST_JSON:
        raise ValueError(f"is longer than {MOST_JSON} bytes")
    text = np.frombuffer(content.replace(rb"\\", b"").replace(rb"\"", b""), np.uint8)
    inside = np.logical_xor.accumulate(text == ord('"'))
    opens = ~inside & ((text == ord("[")) | (text == ord("{")))
    closes = ~inside & ((text == ord("]")) | (text == ord("}")))
    n_containers = np.count_nonzero(opens)
    if n_containers > MOST_CONTAINERS:
        raise ValueError(f"has {n_containers} lists and objects; {MOST_CONTAINERS} are allowed")
    depth = np.cumsum(np.where(opens[opens | closes], 1, -1))
    if depth.max(initial=0) > DEEPEST:
        raise ValueError(f"is nested too deep; {DEEPEST} levels are allowed")


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _object(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(entries)
    if len(values) < len(entries):
        raise ValueError("two entries of one name")
    return values
