"""Files are written whole or not at all; what is no regular file is written through."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from ract._utils.errors import InvalidFile

# Machine and process are in the name of a temporary file: a later run knows what was left behind.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_TEMPORARY = re.compile(rf"\.ract-{_MACHINE}-(\d{{1,10}})-[0-9a-f]{{16}}\.tmp")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn a file that cannot be opened into one sentence."""
    if path.is_dir():  # Windows would call it a lack of permission
        raise InvalidFile(f"{path} is a folder, not a file.")
    try:
        yield
    except FileNotFoundError:
        raise InvalidFile(f"There is no file {path}.") from None
    except PermissionError:
        raise InvalidFile(f"{path} may not be read.") from None


def write_whole(target: str | Path, content: str | bytes) -> None:
    """Write text or bytes beside the target and move them into place: no half file is ever seen."""
    with whole_file(target) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def whole_file(target: str | Path) -> Iterator[BinaryIO]:
    """A file to write to piece by piece, which takes the target's place when all went well.

    A link stays and leads to the new content. An existing file keeps its mode, a new one has
    what the umask leaves. A pipe or a device stays what it is and gets the whole content at once.
    """
    if is_stream(target):
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with open(target, "wb") as stream:
                shutil.copyfileobj(file, stream)
        return
    check_target(target)
    path = Path(os.path.realpath(target))
    _remove_leftovers(path.parent)
    old = path.stat() if path.exists() else None
    temporary = path.parent / f".ract-{_MACHINE}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb", opener=_private if old else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            _take_rights(temporary, old)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_target(target: str | Path) -> None:
    """Refuse a place where no file can be, before any work is done for it."""
    path = Path(os.path.realpath(target))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(path))


def is_stream(target: str | Path) -> bool:
    """Whether there is something that is neither a regular file nor a folder: a pipe, a device."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _take_rights(path: Path, old: os.stat_result) -> None:
    """Give a file the owner and the mode of the one that it replaces."""
    mode, new = stat.S_IMODE(old.st_mode), path.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(path, old.st_uid, old.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG  # another group than the one that had these rights
    path.chmod(mode)


@cache
def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this user and machine left; a folder is searched once."""
    if os.name != "posix":
        return
    with suppress(OSError):
        for file in os.scandir(folder):
            match = _TEMPORARY.fullmatch(file.name)
            if match and file.stat(follow_symlinks=False).st_uid == os.getuid():
                try:
                    os.kill(int(match[1]), 0)
                except ProcessLookupError:
                    Path(file).unlink(missing_ok=True)
                except OSError:  # it runs, as another user
                    continue
