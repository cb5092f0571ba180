import subprocess
import sys

from typer.testing import CliRunner

import ract
from ract.cli import app

runner = CliRunner()


def test_demo_shows_two_forests_and_what_people_can_do(tmp_path):
    page = tmp_path / "audit.html"
    result = runner.invoke(app, ["demo", "--people", "2", "--budget", "0.2", "--report", str(page)])
    assert result.exit_code == 0, result.output
    assert "2000 loan applications" in result.output
    assert "Increasing only" in result.output
    assert "recourse-aware" in result.output
    assert result.output.count("Applicant ") == 2
    assert "Raise" in result.output or "Lower" in result.output
    assert "audit.html" in result.output.replace("\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_wrong_option_is_a_usage_error():
    result = runner.invoke(app, ["demo", "--budget", "-1"])
    assert result.exit_code == 2
    assert "Invalid value" in result.output


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output.strip() == f"ract {ract.__version__}"
    assert "demo" in runner.invoke(app, ["--help"]).output


def test_help_does_not_load_the_heavy_libraries():
    code = (
        "import sys, ract.cli; "
        "print(sorted(m for m in ('numpy','pandas','numba','sklearn','scipy') if m in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
