"""The file itself: a zip of JSON and arrays, with the length and hash of each member.

    manifest.json      what this is, its version, and {"bytes", "sha256"} of every other member
    model.json         everything but large arrays
    ensemble.feature.npy, cost.knots.npy, ...

Members are stored or deflated, nothing else. Lengths are checked before anything is unpacked, so
that a small file cannot claim a large one. Arrays are in NumPy's own .npy format, read more
strictly than NumPy reads it: only the header that it writes for plain numbers is taken, and only if
as many bytes follow as it says. Nothing is evaluated, unpickled or allocated on a header's word.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.io.strict_json import MOST_JSON, check_json, parse_object

MANIFEST = "manifest.json"
FORMAT, VERSION = "ract model", 2

MOST_BYTES = 2**32
MOST_MEMBERS = 64
# A file may unpack to this much, and by this factor more where it is large.
FREELY_UNPACKED, MOST_UNPACKED_BY = 2**26, 100
EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: the same model gives the same bytes

KINDS = ("<i4", "<i8", "<f8", "|u1")
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': "
    rb"\((\d{1,12}),(?: (\d{1,12}))?\), \} *\n"
)

_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def pack_members(members: Mapping[str, bytes], head: Mapping[str, Any]) -> bytes:
    """The bytes of a file.

    Parameters
    ----------
    members : mapping of name to content
    head : mapping
        What the manifest holds beside format, version and members.
    """
    manifest = {"format": FORMAT, "version": VERSION, **head, "members": _listed(members)}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {MANIFEST: json_bytes(manifest), **members}.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return out.getvalue()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and the members of a file, complete and as they were written."""
    if not data:
        raise InvalidFile("the file is empty")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            contents = _contents(archive, len(data))
    except InvalidFile:
        raise
    except _FAULTS:
        raise InvalidFile("it is not a model file, or it is damaged") from None
    if MANIFEST not in contents:
        raise InvalidFile("it is a zip file but not a model file")
    manifest = parsed(contents.pop(MANIFEST), MANIFEST)
    _check_version(manifest)
    _check_members(manifest.get("members"), contents)
    return manifest, contents


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """The JSON object that a member holds."""
    try:
        return parse_object(content)
    except ValueError as error:
        raise InvalidFile(f"{name} in it {error}") from None


def json_bytes(values: Mapping[str, Any]) -> bytes:
    """JSON values as the content of a member, which can be read again."""
    content = json.dumps(values, indent=1, allow_nan=False).encode("utf-8")
    try:
        check_json(content)
    except ValueError as error:
        raise InvalidSpec(f"The model cannot be stored: its JSON {error}.") from None
    return content


def _listed(members: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """The length and hash of each member."""
    return {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
    }


def _contents(archive: zipfile.ZipFile, n_bytes: int) -> dict[str, bytes]:
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise InvalidFile(f"it has {len(infos)} members, more than any model file")
    if len({info.filename for info in infos}) < len(infos):
        raise InvalidFile("it has two members of one name")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise InvalidFile("its members are packed in a way that model files never are")
    total = sum(info.file_size for info in infos)
    if total > min(MOST_BYTES, FREELY_UNPACKED + MOST_UNPACKED_BY * n_bytes):
        raise InvalidFile(f"it claims to unpack to {total} bytes, more than any model file")
    for info in infos:
        if info.filename.endswith(".json") and info.file_size > MOST_JSON:
            raise InvalidFile(f"{info.filename} in it is larger than in any model file")
    return {info.filename: _content(archive, info) for info in infos}


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member as long as it claims to be; read without a limit, more would be unpacked first."""
    with archive.open(info) as file:
        return file.read(info.file_size)


def _check_version(manifest: Mapping[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise InvalidFile("it is a zip file but not a model file")
    version = manifest.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InvalidFile(f"its version is {version!r}")
    if version > VERSION:
        raise InvalidFile(
            f"it has version {version} of the format, written by ract "
            f"{manifest.get('ract')!s:.40}; upgrade ract, which reads up to version {VERSION}"
        )


def _check_members(listed: object, contents: Mapping[str, bytes]) -> None:
    if not isinstance(listed, dict) or set(listed) != set(contents):
        raise InvalidFile("its members are not those that its manifest lists")
    for name, right in _listed(contents).items():
        if listed[name] != right:
            raise InvalidFile(f"{name} in it is not what was written; the file is damaged")


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
