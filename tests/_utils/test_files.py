"""Files are whole or absent, keep their rights, and what is no file is written through."""

import os
import signal
import stat
import subprocess
import sys
import threading
from functools import partial

import pytest

from ract._utils.files import _remove_leftovers, whole_file, write_whole
from ract.apps.cli.outputs import form_of, table_writer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights and pipes differ")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def read_later(path):
    """Read a pipe in a thread; the list gets its content."""
    got = []
    thread = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    thread.start()
    return got, partial(thread.join, 60)


def test_a_pipe_is_written_through(tmp_path):
    """It was replaced by a regular file, and its reader waited for ever."""
    pipe = tmp_path / "plans.csv"
    os.mkfifo(pipe)
    got, joined = read_later(pipe)
    write_whole(pipe, "a,b\n1,2\n")
    joined()
    assert got == [b"a,b\n1,2\n"] and stat.S_ISFIFO(pipe.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_table_goes_into_a_pipe_in_the_form_of_its_name(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2]})
    for name, content in (("out", b"a\n1\n2\n"), ("out.jsonl", b'{"a": 1}\n{"a": 2}\n')):
        pipe = tmp_path / name
        os.mkfifo(pipe)
        got, joined = read_later(pipe)
        with table_writer(str(pipe)) as write:
            write(frame)
        joined()
        assert got == [content]


def test_a_device_stays_a_device():
    """A superuser's ``-o /dev/null`` would have replaced it for the whole machine."""
    before = os.stat("/dev/null")
    if not stat.S_ISCHR(before.st_mode):
        pytest.skip("there is no /dev/null here")
    assert form_of("/dev/null").__name__ == "_as_csv"
    with pytest.MonkeyPatch.context() as patch:  # whatever happens, nothing takes its place
        patch.setattr(os, "replace", None)
        write_whole("/dev/null", b"x" * 100_000)
    after = os.stat("/dev/null")
    assert (after.st_mode, after.st_ino, after.st_rdev) == (
        before.st_mode, before.st_ino, before.st_rdev,
    )  # fmt: skip


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed(tmp_path, exists):
    for folder in ("store", "here"):
        (tmp_path / folder).mkdir()
    real, link = tmp_path / "store" / "plans.csv", tmp_path / "here" / "plans.csv"
    if exists:
        real.write_text("old")
    link.symlink_to("../store/plans.csv")
    write_whole(link, "new")
    assert link.is_symlink() and real.read_text() == "new" and not real.is_symlink()
    assert [len(list(folder.iterdir())) for folder in tmp_path.iterdir()] == [1, 1]


@pytest.mark.parametrize("rights", [0o600, 0o640, 0o666, 0o400])
def test_an_existing_file_keeps_its_mode(tmp_path, rights):
    """Plans of people came out readable by all over a file that only its owner could read."""
    path = tmp_path / "plans.csv"
    path.write_text("old")
    path.chmod(rights)
    with whole_file(path) as file:
        file.write(b"new")
        temporary = next(one for one in tmp_path.iterdir() if one != path)
        assert mode(temporary) == 0o600
    assert mode(path) == rights and path.stat().st_size == 3


@pytest.mark.parametrize(("umask", "rights"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_a_new_file_obeys_the_umask(tmp_path, umask, rights):
    path = tmp_path / "plans.csv"
    code = f"from ract._utils.files import write_whole; write_whole({str(path)!r}, 'x')"
    subprocess.run([sys.executable, "-c", code], check=True, umask=umask)
    assert mode(path) == rights


def test_content_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(os.fstat(fd).st_size) or fsync(fd))
    monkeypatch.setattr(os, "replace", lambda a, b: calls.append("replace") or replace(a, b))
    write_whole(tmp_path / "plans.csv", "x" * 10)
    assert calls == [10, "replace"]


def test_an_error_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / "plans.csv"
    path.write_text("old")

    def interrupted():
        with whole_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="No such folder"):
        write_whole(tmp_path / "no" / "plans.csv", "x")
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "x")


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    code = (
        "import sys; from ract._utils.files import whole_file\n"
        f"with whole_file({str(tmp_path / 'plans.csv')!r}) as file:\n"
        "    print('begun', flush=True); sys.stdin.read()"
    )
    killed, alive = (
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    try:
        for run in (killed, alive):
            assert run.stdout.readline() == "begun\n"
        own = tmp_path / ".ract-notes.tmp"
        own.touch()
        killed.send_signal(signal.SIGKILL)
        killed.wait(60)
        assert len(list(tmp_path.iterdir())) == 3
        _remove_leftovers.cache_clear()
        write_whole(tmp_path / "other.csv", "x")
        left = {path.name for path in tmp_path.iterdir()} - {"other.csv", own.name}
        assert len(left) == 1 and f"-{alive.pid}-" in left.pop()
    finally:
        alive.communicate("", 60)
        killed.communicate()
    assert {path.name for path in tmp_path.iterdir()} == {"plans.csv", "other.csv", own.name}
