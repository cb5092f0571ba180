"""Options that several commands share, with the names of the Python parameters.

A single option is an annotated type. Options that belong together are the fields of a dataclass:
a command takes the dataclass as one parameter, and ``with_option_groups`` shows typer its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from ract._utils.toml import parsed_toml, read_toml

# By command or group of options, or for every one: the file keeps texts out of signatures.
HELP = read_toml(Path(__file__).with_name("help.toml"), parsed_toml)
Command = TypeVar("Command", bound=Callable[..., None])

DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV or Parquet file; - for standard input.")
]
PeopleFile = Annotated[
    str,
    typer.Argument(metavar="PEOPLE", help="CSV or Parquet file of people; - for standard input."),
]
PeopleFolder = Annotated[
    str,
    typer.Argument(
        metavar="PEOPLE",
        help="CSV or Parquet file of people, or a folder of Parquet files; - for standard input.",
    ),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.")]
Picture = Annotated[
    Path | None, typer.Option(help="Picture to write: PNG, SVG or PDF by its suffix.")
]
Training = Annotated[
    str | None, typer.Option(help="Training table, to detect people who are in both tables.")
]
RandomState = Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]


@dataclass(frozen=True)
class Csv:
    """How a CSV file is written, where it differs from the action file or the model."""

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class NoticePages:
    """How notices are written, with reasons or without."""

    language: str | None = None
    template: Path | None = None
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove the notices that are in the folder.")
    ] = False


@dataclass(frozen=True)
class TrainingData:
    """A table with a target, the features in it, and the class that people want."""

    data: DataFile
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
    """A group in which what names no command is the first argument of the usual one."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command in front."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def adds_to(app: typer.Typer) -> Callable[[str], Callable[[Command], Command]]:
    """A decorator that adds a function to a group of commands under a name."""

    def named(name: str) -> Callable[[Command], Command]:
        def add(function: Command) -> Command:
            app.command(name)(with_option_groups(function))
            return function

        return add

    return named


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option for each field of its dataclass parameters."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            parameters += _fields(groups[name])
        else:
            parameters.append(_option([command], name, hints[name], parameter.default))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _fields(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        _option(
            group.__mro__,
            field.name,
            hints[field.name],
            Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]


def _option(owners: Iterable[Any], name: str, hint: Any, default: Any) -> Parameter:
    """An option; what is no more than its help, and a flag, need not say how it is written."""
    if get_origin(hint) is not Annotated:
        of = [HELP.get(owner.__name__, {}) for owner in owners]
        said = next(texts[name] for texts in (*of, HELP["every"]) if name in texts)
        names = ["-o", "--output"] if name == "output" else []
        names += [f"--{name.replace('_', '-')}"] if default is False else []
        shown = default is not Parameter.empty
        hint = Annotated[hint, typer.Option(*names, help=said, show_default=shown)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def strength_of(given: str | None) -> float | str | None:
    """A share, or "most"; anything else is refused where strengths are."""
    try:
        return given if given is None else float(given)
    except ValueError:
        return given
