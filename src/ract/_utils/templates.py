"""Templates to text: ours or those of a folder, with mistakes in one sentence.

What a template does not know is an error. Templates run in Jinja's sandbox and are given plain
values: they can write text and nothing else.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

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

from ract._utils.errors import InvalidSpec, listing
from ract._utils.printable import printable


class Templates:
    """Templates of a folder before ours of the same name, which are ``ract/name`` too.

    Parameters
    ----------
    package : str
        Whose folder ``templates`` has ours.
    folder : path, optional
        Of the user.
    filters : mapping
        What templates may use beside Jinja's own.
    markup : bool
        Whether what they print is escaped; it must be for HTML.
    more : sequence of str
        Names that a folder may have beside ours.

    Raises
    ------
    InvalidSpec
        If there is no such folder, if it has none of these templates, or if the syntax of one of
        them is wrong.
    """

    def __init__(
        self,
        package: str,
        folder: str | Path | None = None,
        *,
        filters: Mapping[str, Callable[..., Any]],
        markup: bool = True,
        more: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        ours = PackageLoader(package)
        loaders = [PrefixLoader({"ract": ours}), ours]
        if folder is not None:
            loaders.insert(1, FileSystemLoader(folder))
        options: dict[str, Any] = {"undefined": StrictUndefined, "finalize": _shown}
        options |= dict.fromkeys(("trim_blocks", "lstrip_blocks", "keep_trailing_newline"), True)
        self._environment = SandboxedEnvironment(
            loader=ChoiceLoader(loaders), autoescape=markup, **options
        )
        self._environment.filters |= filters
        self.names = ours.list_templates()
        if folder is not None:
            self._check(folder, [*self.names, *more])

    def _check(self, folder: str | Path, names: list[str]) -> None:
        replaced = [name for name in names if Path(folder, name).is_file()]
        if not replaced:
            raise InvalidSpec(
                f"templates must be a folder with at least one of {listing(names, len(names))}, "
                f"got {str(folder)!r}."
            )
        for name in replaced:
            with _mistakes_in(Path(folder, name)):
                self._environment.get_template(name)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The text of a template.

        Parameters
        ----------
        name : str
        values : mapping
            What the template may use.
        """
        with nullcontext() if self.folder is None else _mistakes_in(self.folder):
            return self._environment.get_template(name).render(values)


def _shown(value: Any) -> Any:
    """What is printed for a value: text without control characters, drawings as they are."""
    return printable(value) if type(value) is str else value


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
