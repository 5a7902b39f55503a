"""Rich's console, with closed pipes left to `vkgroup.cli.main`."""

from __future__ import annotations

from typing import NoReturn

import rich.console


class Console(rich.console.Console):
    """A console that does not end the process, with the exit code of a verdict, where nobody reads on."""

    def on_broken_pipe(self) -> NoReturn:
        """Let the error through, as it is with any other output."""
        raise BrokenPipeError
