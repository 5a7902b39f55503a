"""Rich's console; `vkgroup.cli.main` handles closed pipes."""

from __future__ import annotations

from typing import NoReturn

import rich.console
from rich.text import Text


class Console(rich.console.Console):
    """A console that raises an error for a closed pipe; Rich's would exit with code 1, as for a failure."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise BrokenPipeError, as other output functions do."""
        raise BrokenPipeError

    def write_line(self, text: str, style: str = "") -> None:
        """Print text as it is: without Rich's markup and line breaks."""
        self.print(Text(text, style=style), soft_wrap=True)
