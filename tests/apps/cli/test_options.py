"""Options have the same names and the same help in every command."""

import contextlib
import importlib
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


def test_every_text_of_the_help_file_is_of_an_option(monkeypatch):
    read = set()

    class Noted(dict):
        def __getitem__(self, key):
            read.add((self.name, key))
            return super().__getitem__(key)

    noted = {}
    for name, texts in options.HELP.items():
        noted[name] = Noted(texts)
        noted[name].name = name
    monkeypatch.setattr(options, "HELP", noted)
    for module in ("audit", "certify", "data", "fit", "import_model", "init", "notice", "predict",
                   "promises", "reasons", "recourse", "tradeoff", "demo", "export", "leak",
                   "ledger", "serve", "warmup"):  # fmt: skip
        held = vars(importlib.import_module(f"ract.apps.cli.{module}")).values()
        for command in held:
            command = getattr(command, "__wrapped__", command)
            if inspect.isfunction(command) and command.__module__ == f"ract.apps.cli.{module}":
                with contextlib.suppress(StopIteration):  # no command
                    options.with_option_groups(command)
    assert read == {(name, key) for name, texts in options.HELP.items() for key in texts}


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
