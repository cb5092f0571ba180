"""The program as a whole: its version, its help, and how little that loads."""

import subprocess
import sys

from typer.testing import CliRunner

import ract
from ract.apps.cli import app


def test_version_and_help():
    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"ract {ract.__version__}"
    text = CliRunner().invoke(app, ["--help"]).output
    assert "demo" in text and "Exit codes" in text


def test_help_does_not_load_the_heavy_libraries():
    code = (
        "import sys, ract.apps.cli; "
        "print(sorted(m for m in ('numpy','pandas','numba','sklearn','scipy') if m in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
