"""Groups of commands of which one need not be named."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class WithDefault(TyperGroup):
    """What names no command is the first argument of the usual one."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command in front."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [self.default, *args]
        return super().parse_args(ctx, args)
