"""Rich's console, with closed pipes handled by `vkgroup.cli.main`."""

from __future__ import annotations

from typing import NoReturn

import rich.console
from rich.text import Text


class Console(rich.console.Console):
    """A console that raises an error for a closed pipe; Rich's console would exit with code 1, a verdict."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise BrokenPipeError, like other output."""
        raise BrokenPipeError

    def write_line(self, text: str, style: str = "") -> None:
        """Print text without markup, and without line breaks that Rich adds."""
        self.print(Text(text, style=style), soft_wrap=True)
