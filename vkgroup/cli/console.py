"""Rich's console, with closed pipes handled by `vkgroup.cli.main`."""

from __future__ import annotations

from typing import NoReturn

import rich.console


class Console(rich.console.Console):
    """A console that raises an error for a closed pipe; Rich's console would exit with code 1, a verdict."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise BrokenPipeError, like other output."""
        raise BrokenPipeError
