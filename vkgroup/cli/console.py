"""Rich's console; `vkgroup.cli.main` handles closed pipes."""

from __future__ import annotations

import re
from typing import Any, NoReturn, Self

import rich.console
from rich.text import Text

from vkgroup.cli.output import people

WIDTH = 100
"""Width of output that does not go to a terminal, in columns."""

_COPIED = re.compile(r"vkgroup (run|check|conform)\b|^ *\d* \||^ +(-->|cc) |https?:")
"""Lines that are not wrapped."""

_LEADING = re.compile(r" *(= |\d+\. )?")
"""The beginning of a line: spaces, and a mark that the hanging indent goes beyond."""


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

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is: a command that is killed could not show it again."""
        return False

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does; outside a terminal without the spaces at the ends of lines."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        self.file.write(re.sub(" +$", "", captured.get(), flags=re.MULTILINE))
        self.file.flush()

    def write_line(self, text: str, style: str = "") -> None:
        """Print text without Rich's markup; see `write`."""
        self.write(Text(text, style=style))

    def write(self, text: rich.console.RenderableType) -> None:
        """Print lines; on a terminal, what does not fit goes on below, with a hanging indent.

        Commands, paths and lines of sources are printed as they are, so that they can be copied; so are
        tables.
        """
        if not isinstance(text, Text):
            self.print(text)
            return
        for line in text.split("\n", allow_blank=True):
            if not self.is_terminal or line.cell_len <= self.width or _COPIED.search(line.plain):
                self.print(line, soft_wrap=True)
                continue
            leading = _LEADING.match(line.plain)
            assert leading is not None  # it may match nothing
            indent = leading.end()
            start, hanging = line[:indent], indent if leading[1] else indent + 2
            for part in line[indent:].wrap(self, self.width - hanging):
                part.rstrip()
                self.print(start + part, soft_wrap=True)
                start = Text(" " * hanging)
