"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(target: str | Path, content: str | bytes) -> None:
    """Write text or bytes beside the target and move them into place: no half file is ever seen."""
    with whole_file(target) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def whole_file(target: str | Path) -> Iterator[BinaryIO]:
    """A file to write to piece by piece, which takes the target's place when all went well."""
    path = Path(target)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
