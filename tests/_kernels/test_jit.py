"""Where compiled code is kept: wherever the package runs, it runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ract

PROGRAM = """
import numpy as np
from ract._kernels.cells import add_category
out = np.zeros(2, np.uint8)
add_category(np.array([0.0, 1.0]), 3, out)
print(out)
"""


@pytest.fixture
def container(tmp_path):
    """A copy of the package, a home and a temporary directory; only the last can be written."""
    package = shutil.copytree(
        Path(ract.__file__).parent, tmp_path / "ract", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").touch()  # a file where a folder is needed stops root as well
    (tmp_path / "home").touch()
    (tmp_path / "tmp").mkdir()
    return tmp_path


def run(container, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "TMP"))}
    places = {"HOME": container / "home", "TMPDIR": container / "tmp", "PYTHONPATH": container}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**kept, **{k: str(v) for k, v in {**places, **environment}.items()}},
        capture_output=True,
        text=True,
    )


def test_without_a_folder_of_numbas_own_the_temporary_one_keeps_compiled_code(container):
    """It used to be "RuntimeError: cannot cache function", and a bug in ract."""
    first, second = run(container), run(container)
    assert first.stdout == second.stdout == "[0 3]\n"
    assert first.stderr.count("\n") == 1 and first.stderr.endswith("once ...\n")
    assert second.stderr == ""
    (folder,) = (container / "tmp").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbc"))


def test_a_folder_that_somebody_else_could_fill_is_not_read(container):
    """What is read there is run."""
    folder = container / "tmp" / f"ract-numba-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    shared = run(container)
    folder.chmod(0o700)
    folder.rename(container / "elsewhere")
    folder.symlink_to(container / "elsewhere")
    linked = run(container)
    for result in shared, linked:
        assert result.stdout == "[0 3]\n"
        assert result.stderr.count("\n") == 1 and "NUMBA_CACHE_DIR" in result.stderr
    assert not list((container / "elsewhere").iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_read(container):
    folder = container / "tmp" / "ract-numba-0"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    assert "NUMBA_CACHE_DIR" in run(container).stderr
    assert not list(folder.iterdir())


def test_the_folder_that_is_asked_for_is_used(container):
    assert run(container, NUMBA_CACHE_DIR=container / "mine").stdout == "[0 3]\n"
    assert list((container / "mine").rglob("*.nbc"))
    assert not list((container / "tmp").iterdir())
