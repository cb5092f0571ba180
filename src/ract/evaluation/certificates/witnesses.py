"""Witness files: where an action takes everyone who has recourse.

A witness file is one matrix of doubles in NumPy's .npy format, with a row for everyone whom a
certificate counts as having an action or as unknown:

    number of the row in the table (from 0), then the encoded values after the action;
    NaN in place of all values if the search ended without an answer; else NaN where a number is
    missing, before the action and after it

It holds the values of single people and is to be kept as safe as the table itself. The record of
the certificate holds nothing of it but its hash.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from ract._utils.errors import InvalidFile
from ract._utils.files import write_whole
from ract.io.archive import from_npy, to_npy


def write_witnesses(path: str | Path, rows: np.ndarray, values: np.ndarray) -> str:
    """Write a witness file, whole or not at all.

    Parameters
    ----------
    path : path
        Usually ending in ``.npy``.
    rows : int (people,), ascending
    values : float (people, columns)

    Returns
    -------
    str
        The SHA-256 hash of the file.
    """
    content = to_npy(np.column_stack([rows.astype(np.float64), values]))
    write_whole(path, content)
    return hashlib.sha256(content).hexdigest()


def read_witnesses(path: str | Path, sha256: str) -> np.ndarray:
    """The matrix of a witness file, if it is the one with this hash."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidFile(f"it cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InvalidFile("its hash is not the one in the record")
    return from_npy(content, "the array")


def rows_and_values(
    matrix: np.ndarray, n_people: int, n_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers and values of a witness file that fits a table and its encoding."""
    if matrix.dtype != np.float64 or matrix.ndim != 2 or matrix.shape[1] != 1 + n_columns:
        raise InvalidFile(f"it does not have {1 + n_columns} columns of doubles")
    number, values = matrix[:, 0], matrix[:, 1:]
    is_row = (number >= 0) & (number < n_people) & (number == np.floor(number))
    if not is_row.all() or (np.diff(number) <= 0).any():
        raise InvalidFile("its rows are not those of a table of this length, in their order")
    if np.isinf(values).any():
        raise InvalidFile("it has values that are not finite")
    return number.astype(np.int64), values
