"""Templates to text: ours or those of a folder, with mistakes in one sentence.

Whatever a template prints is escaped, and what it does not know is an error. Templates run in
Jinja's sandbox and are given plain values: they can write text and nothing else.
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import (
    ChoiceLoader,
    FileSystemLoader,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.sandbox import SandboxedEnvironment

from ract._printable import printable
from ract.errors import InvalidSpec, listing

OURS = PackageLoader("ract.report")


def percent(share: Any) -> str:
    """A share as a percentage with one decimal."""
    return "-" if pd.isna(share) else f"{100 * float(share):.1f}%"


def points(share: Any) -> str:
    """A difference of shares in percentage points."""
    return "-" if pd.isna(share) else f"{100 * float(share):+.1f}"


def short(value: Any) -> str:
    """A cost or budget with three digits."""
    if pd.isna(value):
        return "-"
    return "no budget" if math.isinf(value) else f"{float(value):.3g}"


def _shown(value: Any) -> Any:
    """What is printed for a value: text without control characters, drawings as they are."""
    return printable(value) if type(value) is str else value


def thousands(count: int) -> str:
    """A count with separators."""
    return f"{count:,}"


def open_templates(folder: str | Path | None = None) -> SandboxedEnvironment:
    """Templates of a folder before ours of the same name, which are ``ract/name`` too.

    Raises
    ------
    InvalidSpec
        If there is no such folder, if it replaces none of our templates, or if the syntax of one
        that it replaces is wrong.
    """
    loaders = [PrefixLoader({"ract": OURS}), OURS]
    if folder is not None:
        loaders.insert(1, FileSystemLoader(folder))
    environment = SandboxedEnvironment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=_shown,
    )  # fmt: skip
    environment.filters |= {
        "percent": percent, "points": points, "short": short, "thousands": thousands,
    }  # fmt: skip
    if folder is not None:
        names = OURS.list_templates()
        own = [name for name in names if Path(folder, name).is_file()]
        if not own:
            raise InvalidSpec(
                f"templates must be a folder with at least one of {listing(names, len(names))}, "
                f"got {str(folder)!r}."
            )
        for name in own:
            with _mistakes_in(Path(folder, name)):
                environment.get_template(name)
    return environment


def render(name: str, values: dict[str, Any], folder: str | Path | None = None) -> str:
    """The text of a template.

    Parameters
    ----------
    name : str
    values : dict
        What the template may use.
    folder : path, optional
        Of templates to use instead of ours of the same name.
    """
    template = open_templates(folder).get_template(name)
    if folder is None:
        return template.render(values)
    with _mistakes_in(folder):
        return template.render(values)


@contextmanager
def _mistakes_in(path: str | Path) -> Iterator[None]:
    """Whatever goes wrong with a user's template as one sentence with its file and line."""
    try:
        yield
    except Exception as error:
        where, message = os.path.normpath(path), " ".join(str(error).split()).rstrip(".")
        lines = [
            f"{frame.filename}, line {frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(where)
        ]
        if isinstance(error, TemplateSyntaxError):
            lines.append(f"{error.filename}, line {error.lineno}")
            message = str(error.message).rstrip(".")
        if isinstance(error, TemplateNotFound):
            message = f"there is no template {error.name!r}"
        raise InvalidSpec(f"{lines[-1] if lines else where}: {message}.") from None
