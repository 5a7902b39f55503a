"""Recording a run in a database while it runs; an error of the database does not end the run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

from vkgroup.results.history.connection import DatabaseError
from vkgroup.results.history.database import Database
from vkgroup.results.history.documents import count, describe
from vkgroup.results.history.writing import Writer
from vkgroup.results.record import Kind, Result, RunInfo
from vkgroup.results.run import Run


class Recording:
    """Writes one run into a database, or nowhere.

    If the database fails (a full disk, a lock that is never released), the run continues, and its last
    message says what to do.

    Parameters
    ----------
    path : the database; None records nothing.
    source : folder or file that the run writes, too; None if it writes none.
    resume : continue the run that was recorded with the same source.

    Raises
    ------
    InvalidInput
        The database cannot be opened; this is raised before the first measurement.
    """

    def __init__(self, path: Path | None, source: Path | None = None, *, resume: bool = False) -> None:
        self._database = Database(path, write=True) if path is not None else None
        self._source = source
        self._resume = resume
        self._writer: Writer | None = None
        self._error: DatabaseError | None = None

    @property
    def id(self) -> str:
        """The run's id in the database; empty until the recording begins."""
        return self._writer.id if self._writer is not None else ""

    def begin_conform(self, run: Run) -> None:
        """Begin to record a conformance run, with its device's capabilities."""
        device = run.capabilities
        self._begin(run.info)
        self._write(lambda writer: writer.document("capabilities", {"capabilities": device.to_json()}))

    def add(self, results: Sequence[Result]) -> None:
        """Record a batch of results."""
        self._write(lambda writer: writer.add(results))

    def finish_conform(self, run: Run, summary: dict[str, Any]) -> None:
        """Record the run's summary, and that it is finished."""
        self._write(lambda writer: writer.document("summary", summary))
        self._finish(Kind.CONFORM, summary, run.seconds)

    def probe(self, data: dict[str, Any]) -> None:
        """Record a whole probe.

        Parameters
        ----------
        data : of `vkgroup.probe.Probe.to_json`.
        """
        self._begin(replace(describe(Kind.PROBE, data), vkgroup=version("vkgroup")))
        self._write(lambda writer: writer.document("probe", data))
        self._finish(Kind.PROBE, data, None)

    def bench(self, data: dict[str, Any], *, seconds: float | None = None) -> None:
        """Record the rows of a benchmark run so far.

        Parameters
        ----------
        data : of `vkgroup.bench.google.to_json`.
        seconds : the duration of the run; None while it is running.
        """
        if self._writer is None:
            self._begin(describe(Kind.BENCH, data))
        self._write(lambda writer: writer.document("bench", data))
        if seconds is not None:
            self._finish(Kind.BENCH, data, seconds)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database; `DatabaseError` if the run succeeded and could not be recorded."""
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

    def _begin(self, info: RunInfo) -> None:
        if self._database is None or self._error is not None:
            return
        info = replace(
            info,
            started=info.started or datetime.now(UTC).isoformat(timespec="seconds"),
            source=str(self._source.resolve()) if self._source is not None else "",
            host=info.host or platform.node(),
        )
        try:
            self._writer = self._database.begin(info, resume=self._resume)
        except DatabaseError as error:
            self._error = error

    def _write(self, write: Callable[[Writer], None]) -> None:
        if self._writer is None or self._error is not None:
            return
        try:
            write(self._writer)
        except DatabaseError as error:
            self._error = error

    def _finish(self, kind: Kind, data: Mapping[str, Any], seconds: float | None) -> None:
        self._write(lambda writer: writer.finish(seconds, count(kind, data)))
