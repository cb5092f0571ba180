"""Arrays as NumPy's own .npy format, read more strictly than NumPy reads it.

Only the header that NumPy writes for plain numbers is taken, and only if as many bytes follow as
it says: nothing is evaluated, unpickled or allocated on a header's word.
"""

from __future__ import annotations

import io
import math
import re

import numpy as np

from ract._utils.errors import InvalidFile

KINDS = ("<i4", "<i8", "<f8", "|u1")
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': "
    rb"\((\d{1,12}),(?: (\d{1,12}))?\), \} *\n"
)


def to_npy(array: np.ndarray) -> bytes:
    """An array of one or two dimensions as the content of an .npy file."""
    out = io.BytesIO()
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    np.lib.format.write_array(out, little, version=(1, 0), allow_pickle=False)
    return out.getvalue()


def from_npy(content: bytes, name: str) -> np.ndarray:
    """The array of an .npy file; a copy that may be written to.

    >>> from_npy(to_npy(np.array([[1.0, 2.0]])), "x")
    array([[1., 2.]])
    """
    start = 10 + int.from_bytes(content[8:10], "little")
    match = _HEADER.fullmatch(content[10:start])
    if content[:8] != b"\x93NUMPY\x01\x00" or match is None:
        raise InvalidFile(f"{name} in it is not an array of plain numbers")
    kind = match[1].decode("ascii")
    if kind not in KINDS:
        raise InvalidFile(f"{name} in it holds numbers of type {kind!r}")
    shape = [int(size) for size in match.groups()[1:] if size is not None]
    if math.prod(shape) * np.dtype(kind).itemsize != len(content) - start:
        raise InvalidFile(f"{name} in it is cut short or too long")
    return np.frombuffer(content, kind, offset=start).reshape(shape).astype(np.dtype(kind[1:]))
