"""``ract warmup``: nothing is left to compile."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_warmup_leaves_nothing_to_compile(folder, tmp_path):
    cache = tmp_path / "cache"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}

    def run_afresh(*arguments):
        command = [sys.executable, "-m", "ract", *map(str, arguments)]
        subprocess.run(command, env=environment, capture_output=True, check=True)
        return {path.name for path in cache.rglob("*.nbi")}, {
            path.name for path in cache.rglob("*.nbc")
        }

    compiled = run_afresh("warmup")
    assert len(compiled[1]) > 10
    model = tmp_path / "model.ract"
    for arguments in (
        ["fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--desired", "approved", "--actions",
         folder / "actions.toml", "-o", model],
        ["predict", model, folder / "people.csv", "-o", tmp_path / "out.csv"],
        ["recourse", model, folder / "people.csv", "-o", tmp_path / "plans.csv",
         "--n-alternatives", 1, "--ranges", "--margin", 0.1, "--budget", 0.1],
        ["recourse", model, folder / "people.csv", "-o", tmp_path / "plans.csv",
         "--max-changes", 1],
    ):  # fmt: skip
        assert run_afresh(*arguments) == compiled, arguments
