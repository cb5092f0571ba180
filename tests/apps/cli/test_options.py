"""Options have the same names and the same help in every command."""

import inspect
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

import ract
from ract.apps.cli import app, options
from ract.apps.cli.recourse import RecourseOptions
from ract.evaluation.certificates import certify
from ract.evaluation.report import audit
from ract.recourse.problem import PROBLEM_KEYWORDS

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
    assert "Example: ract " in CliRunner().invoke(app, [command, "--help"]).output


@pytest.mark.parametrize(
    ("group", "function"),
    [
        (RecourseOptions, ract.find_recourse),
        (options.Bound, certify),
        (options.Bound, audit),
    ],
)
def test_groups_of_options_have_the_names_of_python_parameters(group, function):
    known = {*inspect.signature(function).parameters, *PROBLEM_KEYWORDS}
    known |= {*inspect.signature(ract.ActionSpace.restricted).parameters}
    assert {field.name for field in fields(group)} <= known
