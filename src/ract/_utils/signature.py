"""Methods that take the keywords of a function, written down once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

from ract._utils.renamed import refuse_removed

F = TypeVar("F", bound=Callable[..., Any])


def takes_keywords_of(function: Callable[..., Any], more: Iterable[str] = ()) -> Callable[[F], F]:
    """Let a method take the keywords of a function, show them, and refuse all others.

    Parameters
    ----------
    function : callable
        Whose keyword-only parameters the method takes.
    more : names
        Further keywords, None by default.

    Examples
    --------
    >>> def scale(x, *, factor=2.0):
    ...     return x * factor
    >>> class Scaler:
    ...     @takes_keywords_of(scale)
    ...     def scaled(self, x, **keywords):
    ...         return scale(x, **keywords)
    >>> Scaler().scaled(3, factor=1)
    3
    >>> Scaler().scaled(3, facto=1)
    Traceback (most recent call last):
    TypeError: scaled() got an unexpected keyword argument 'facto'. Did you mean 'factor'?
    """
    given = signature(function).parameters.values()
    keywords = [p for p in given if p.kind is Parameter.KEYWORD_ONLY]
    keywords += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in more]
    known = frozenset(parameter.name for parameter in keywords)

    def decorate(method: F) -> F:
        shown = signature(method)
        named = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]

        @wraps(method)
        def checked(*arguments: Any, **options: Any) -> Any:
            refuse_unknown_keywords(method.__name__, options, known)
            return method(*arguments, **options)

        checked.__signature__ = shown.replace(parameters=[*named, *keywords])  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


class _MadeOnFirstLook:
    """A method that is decorated when it is first looked at."""

    def __init__(self, decorator: Callable[[], Callable[[F], F]], method: F) -> None:
        self.decorator, self.method = decorator, method

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, estimator: object, owner: type | None = None) -> Any:
        made = self.decorator()(self.method)
        setattr(self.owner, self.name, made)
        return made.__get__(estimator, owner)


def made_on_first_look(decorator: Callable[[], Callable[[F], F]]) -> Callable[[F], F]:
    """Decorate a method when it is first looked at, so that only then is loaded what this needs.

    Parameters
    ----------
    decorator : callable
        Gives the decorator.

    Examples
    --------
    >>> class Scaler:
    ...     @made_on_first_look(lambda: takes_keywords_of(round))
    ...     def scaled(self, x, **keywords):
    ...         return 3 * x
    >>> Scaler().scaled(1)
    3
    """
    return partial(_MadeOnFirstLook, decorator)  # type: ignore[return-value]


def refuse_unknown_keywords(function: str, given: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse a keyword that a function does not have, as Python does, with a proposal."""
    for name in given:
        if name not in known:
            refuse_removed(f"{name}=")
            close = get_close_matches(name, known, 1)
            proposal = f" Did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}.{proposal}")
