"""Rich's console; `vkgroup.cli.main` handles closed pipes."""

from __future__ import annotations

from typing import NoReturn, Self

import rich.console
from rich.text import Text

from vkgroup.cli.output import people

WIDTH = 100
"""Width of output that does not go to a terminal, in columns."""


class Console(rich.console.Console):
    """A console that raises an error for a closed pipe; Rich's would exit with code 1, as for a failure."""

    @classmethod
    def for_people(cls, json_file: str | None, width: int | None = None) -> Self:
        """Return the console beside ``--json``; `width` replaces `WIDTH`."""
        stream = people(json_file)
        return cls(file=stream, highlight=False, width=None if stream.isatty() else width or WIDTH)

    def on_broken_pipe(self) -> NoReturn:
        """Raise BrokenPipeError, as other output functions do."""
        raise BrokenPipeError

    def write_line(self, text: str, style: str = "") -> None:
        """Print text as it is: without Rich's markup and line breaks."""
        self.print(Text(text, style=style), soft_wrap=True)
