"""Recording a run in a database while it runs; an error of the database does not end the run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

from vkgroup.base.files import printable
from vkgroup.outputs.history.connection import DatabaseError
from vkgroup.outputs.history.database import Database
from vkgroup.outputs.history.writing import RunWriter
from vkgroup.record.record import Result, RunRecord


class HistoryRecording:
    """Writes one run into a database, or nothing if there is no database.

    If the database fails (a full disk, a lock that is never released), the run continues, and its last
    message says what to do.

    `path`: the database; None records nothing.
    `source`: folder or file that the run also writes; None if there is none.
    `resume`: continue the run that was recorded with the same source.
    Raises InvalidInput: the database cannot be opened; this is raised before the first measurement.
    """

    def __init__(self, path: Path | None, source: Path | None = None, *, resume: bool = False) -> None:
        self._database = Database(path, write=True) if path is not None else None
        self._source = source
        self._resume = resume
        self._writer: RunWriter | None = None
        self._error: DatabaseError | None = None

    @property
    def id(self) -> str:
        """The run's id in the database; empty until the recording begins."""
        return self._writer.id if self._writer is not None else ""

    def begin(self, run: RunRecord) -> None:
        """Begin to record a run with its current documents."""
        if self._database is None or self._error is not None:
            return
        info = replace(
            run.info,
            vkgroup=run.info.vkgroup or version("vkgroup"),
            started=run.info.started or datetime.now(UTC).isoformat(timespec="seconds"),
            source=printable(self._source.resolve()) if self._source is not None else "",
            host=run.info.host or platform.node(),
        )
        try:
            self._writer = self._database.begin(info, resume=self._resume)
        except DatabaseError as error:
            self._error = error
        self._write_documents(run)

    def add(self, results: Sequence[Result]) -> None:
        """Record a batch of results."""
        self._write(lambda writer: writer.add(results))

    def update(self, run: RunRecord) -> None:
        """Record the current documents of a run; begins the recording if necessary."""
        if self._writer is None:
            self.begin(run)
        else:
            self._write_documents(run)

    def finish(self, run: RunRecord, seconds: float | None = None) -> None:
        """Record the documents of a run, and mark it as finished.

        `seconds`: the duration, if `RunRecord.info` does not have it.
        """
        self.update(run)
        seconds = run.info.seconds if seconds is None else seconds
        self._write(lambda writer: writer.finish(seconds, run.info.counts))

    def __enter__(self) -> HistoryRecording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database; raise DatabaseError if the run succeeded but was not recorded completely."""
        if self._database is None:
            return
        self._database.close()
        if self._error is not None and kind is None:
            again = (
                f"the run itself is complete: vkgroup history add {self._database.path} {self._source}"
                if self._source is not None
                else "run it again, or with --json, whose file can be added (vkgroup history add)"
            )
            raise DatabaseError(f"not all of the run is recorded: {self._error}\n{again}") from self._error

    def _write_documents(self, run: RunRecord) -> None:
        for name, data in run.documents.items():
            self._write(partial(RunWriter.document, name=name, data=data))

    def _write(self, write: Callable[[RunWriter], None]) -> None:
        if self._writer is None or self._error is not None:
            return
        try:
            write(self._writer)
        except DatabaseError as error:
            self._error = error
