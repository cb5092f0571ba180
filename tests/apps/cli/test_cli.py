import inspect
import re
import subprocess
import sys
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

import ract
from ract.apps.cli import app, options
from ract.apps.cli.fit import Parameters
from ract.apps.cli.recourse import Search
from ract.evaluation.certificates import certify
from ract.evaluation.report import audit
from ract.models import TunedRecourseClassifierCV
from ract.recourse.problem import PROBLEM_KEYWORDS

runner = CliRunner()


def test_demo_shows_two_forests_and_what_people_can_do(tmp_path):
    page = tmp_path / "audit.html"
    result = runner.invoke(app, ["demo", "--n-people", "12", "--budget", "0.2", "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "2000 loan applications" in result.output
    assert "Increasing only" in result.output
    assert "recourse-aware" in result.output
    assert result.output.count("Applicant ") == 12
    said = " ".join(result.output.split())
    takes = [int(months) for months in re.findall(r"This takes (\d+) months?\.", said)]
    assert takes and max(takes) <= 12 and "Change Education" not in said
    assert "Raise" in result.output or "Lower" in result.output
    assert "audit.html" in result.output.replace("\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_wrong_option_is_a_usage_error():
    result = runner.invoke(app, ["demo", "--budget", "-1"])
    assert result.exit_code == 2
    assert "Invalid value" in result.output


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output.strip() == f"ract {ract.__version__}"
    text = runner.invoke(app, ["--help"]).output
    assert "demo" in text and "Exit codes" in text


def test_help_does_not_load_the_heavy_libraries():
    code = (
        "import sys, ract.apps.cli; "
        "print(sorted(m for m in ('numpy','pandas','numba','sklearn','scipy') if m in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# Commands that hold others (notice, promises) have options of their own in each.
COMMANDS = {
    name: command
    for name, command in typer.main.get_command(app).commands.items()
    if not hasattr(command, "commands")
}


def names(parameters):
    return {name for parameter in parameters for name in parameter.opts}


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_every_command(command):
    given = names(COMMANDS[command].params)
    assert not given & {"--jobs", "--threads", "--out", "--seed", "--people", "--folds"}
    assert ("-o" in given) == ("--output" in given) == (command != "warmup")
    reads = given & {"data", "people", "reference"}
    csv = {f"--{field.name}" for field in fields(options.Csv)}
    assert given & csv == (csv if reads else set())
    assert "Example: ract " in runner.invoke(app, [command, "--help"]).output


@pytest.mark.parametrize(
    ("group", "function"),
    [
        (Search, ract.find_recourse),
        (options.Bound, certify),
        (options.Bound, audit),
    ],
)
def test_groups_of_options_have_the_names_of_python_parameters(group, function):
    known = {*inspect.signature(function).parameters, *PROBLEM_KEYWORDS}
    known |= {*inspect.signature(ract.ActionSpace.restricted).parameters}
    assert {field.name for field in fields(group)} <= known


def test_parameters_of_fit_are_those_of_the_estimators():
    forest = ract.RecourseForestClassifier().get_params()
    tree = ract.RecourseTreeClassifier().get_params()
    tuned = inspect.signature(TunedRecourseClassifierCV).parameters
    kept = {"exact_costs", "keep_reference"}  # of the cost, and of saving
    assert {field.name for field in fields(Parameters)} <= {*forest, *tree, *tuned, *kept}
