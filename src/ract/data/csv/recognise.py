"""How a file of text is written: its encoding and the mark between its columns."""

from __future__ import annotations

import codecs
import csv
import io
from typing import Any, BinaryIO

SAMPLE = 2**16  # bytes from which the mark between columns is recognised

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def start_of(file: Any) -> bytes:
    """The first bytes of a file, which are still to be read from it; a pipe may show few."""
    if file.seekable():
        place = file.tell()
        start: bytes = file.read(SAMPLE)
        file.seek(place)
        return start
    return bytes(file.peek(SAMPLE)) if hasattr(file, "peek") else b""


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a byte order mark names; None without one.

    >>> marked_encoding("Age".encode("utf-16")), marked_encoding(b"Age")
    ('utf-16', None)
    """
    return next((name for mark, name in _MARKS if start.startswith(mark)), None)


def likely_encoding(file: BinaryIO) -> str:
    """The encoding of a whole file: that of its mark, UTF-8 if it is, else a guess.

    The guess is UTF-16 where every second byte is zero, cp1252 (Western Windows) where all bytes
    have a meaning in it, else Latin-1.

    >>> likely_encoding(io.BytesIO("Größe".encode("cp1252")))
    'cp1252'
    """
    start = start_of(file)
    marked = marked_encoding(start)
    if marked is not None:
        return marked
    if len(start) > 3 and b"\0" in start[:4]:
        return "utf-16-le" if start[1] == 0 else "utf-16-be"
    place = file.tell()
    try:
        for name in ("utf-8", "cp1252"):
            decoder = codecs.getincrementaldecoder(name)()
            file.seek(place)
            try:
                while chunk := file.read(2**20):
                    decoder.decode(chunk)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            return name
    finally:
        file.seek(place)
    return "latin-1"


def likely_delimiter(text: str) -> str:
    """The mark that cuts every line into as many columns as the head, the most of them.

    Commas stand in names and numbers too, so that any other mark of which there are as many goes
    before them. Where no mark does, a comma if the head has one, else another usual mark in it.

    Parameters
    ----------
    text : str
        The first lines, the last of them perhaps cut off.

    Examples
    --------
    >>> likely_delimiter("Name;Income, net;Age" + chr(10) + "Ann;1,5;3")
    ';'
    """
    lines = text.splitlines(keepends=True)
    whole = "".join(lines[:-1] if len(lines) > 2 else lines)
    head = lines[0] if lines else ""
    n_columns = {}
    for mark in "\t;|,":
        try:
            records = [r for r in csv.reader(io.StringIO(whole, newline=""), delimiter=mark) if r]
        except csv.Error:
            continue
        counts = {len(record) for record in records}
        if len(counts) == 1 and records and len(records[0]) > 1:
            n_columns[mark] = len(records[0])
    if n_columns:
        return max(n_columns, key=lambda mark: n_columns[mark])
    return next((mark for mark in ",;\t|" if mark in head), ",")
