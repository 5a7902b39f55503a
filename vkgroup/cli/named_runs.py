"""Runs that a command line names, by a path or by their id in a database."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import TracebackType

from vkgroup.errors import InvalidInput
from vkgroup.results import history
from vkgroup.results.history import Kind, RunRecord

_FILES = (".json", ".jsonl", ".xz", ".db", ".sqlite")


class Runs:
    """Finds runs by name; opens the database when the first run needs it.

    Parameters
    ----------
    arguments : has ``db``, ``kind`` and ``device``: the database, and the filters for its runs.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._database: history.Database | None = None

    def named(self, name: str) -> Path | RunRecord:
        """Return a path that exists, or else the run of that name in the database."""
        if Path(name).exists():
            return Path(name)
        if self._arguments.db is None and ("/" in name or name.endswith(_FILES)):
            raise InvalidInput(f"there is no {name}")
        if self._database is None:
            self._database = history.open(database(self._arguments.db))
        kind = Kind(self._arguments.kind) if self._arguments.kind else None
        return self._database.run(name, kind=kind, device=self._arguments.device)

    def __enter__(self) -> Runs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._database is not None:
            self._database.close()


def database(path: Path | None) -> Path:
    """Return the path of the database; InvalidInput if there is none."""
    if path is None:
        raise InvalidInput("which database? Name it with --db, or set VKGROUP_DB")
    return path
