"""Options that several commands share, with the names of the Python parameters.

Every option is a parameter with a type and a default; what typer takes besides is in ``help.toml``.
Options that belong together are the fields of a dataclass: a command takes the dataclass as one
parameter, and ``with_option_groups`` shows typer its fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from ract._utils.toml import parsed_toml, read_toml

# By command or group of options, or for every one.
HELP = read_toml(Path(__file__).with_name("help.toml"), parsed_toml)
Command = TypeVar("Command", bound=Callable[..., None])


@dataclass(frozen=True)
class Csv:
    """How a CSV file is written, where it differs from the action file or the model."""

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class TrainingData:
    """A table with a target, the features in it, and the class that people want."""

    data: str
    target: str
    desired: str | None = None
    drop: list[str] | None = None


@dataclass(frozen=True)
class Bound:
    """How the share of people without recourse is bounded."""

    budget: float | None = None
    confidence: float = 0.95
    time_limit: float = 10.0
    n_jobs: int = -1


class WithDefault(TyperGroup):
    """A group in which what names no command is the first argument of the first command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command in front."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def command(app: typer.Typer, name: str) -> Callable[[Command], Command]:
    """A decorator that adds a function to a group of commands under a name."""

    def add(function: Command) -> Command:
        app.command(name)(with_option_groups(function))
        return function

    return add


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option for each field of its dataclass parameters."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__signature__ = Signature(_parameters(command))  # type: ignore[attr-defined]
    return run


def _parameters(owner: Any) -> list[Parameter]:
    """The options and arguments of a command, or of a group of options."""
    hints, found = get_type_hints(owner), []
    of = [HELP.get(kind.__name__, {}) for kind in getattr(owner, "__mro__", (owner,))]
    for name, parameter in signature(owner).parameters.items():
        if is_dataclass(hints[name]):
            found += _parameters(hints[name])
        else:
            said = next(texts[name] for texts in (*of, HELP["every"]) if name in texts)
            found.append(_option(parameter, hints[name], said))
    return found


def _option(parameter: Parameter, hint: Any, said: str | dict[str, Any]) -> Parameter:
    """A parameter as typer reads it; a flag has no opposite."""
    name, default = parameter.name, parameter.default
    given: dict[str, Any] = {"show_default": default is not Parameter.empty}
    given |= {"help": said} if isinstance(said, str) else said
    kind = typer.Argument if given.pop("argument", False) else typer.Option
    names = ["-o", "--output"] if name == "output" else []
    names += [f"--{name.replace('_', '-')}"] if default is False else []
    hint = Annotated[hint, kind(*names, **given)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def strength_of(given: str | None) -> float | str | None:
    """A share, or "most"; anything else is refused where strengths are."""
    try:
        return given if given is None else float(given)
    except ValueError:
        return given
