"""Recorded runs: stored in one SQLite database, and read from there or from files.

    from vkgroup.outputs import history

    with history.open(Path("runs.db")) as database:
        for info in database.runs():                # RunInfo: device, driver, date, counts …
            print(info.id, info.device, info.counts)
        new = database.run("latest")                # RunRecord: info, results, documents
        for result in new.results or ():            # vkgroup.conformance.Result
            print(result.case, result.status)
    old = history.load(Path("results/last-week"))   # a folder or file gives a RunRecord, too

All readers of runs (reports, `vkgroup diff`) use `RunRecord`, for runs in databases and in files. The results
of a run in a database are read during iteration, so the database must stay open.
"""

from __future__ import annotations

from pathlib import Path

from vkgroup.outputs.history.connection import DatabaseError
from vkgroup.outputs.history.database import Database
from vkgroup.outputs.history.documents import kind_of, recorded
from vkgroup.outputs.history.files import CheckFindings, CostFile, load, load_all, load_shown
from vkgroup.outputs.history.recording import HistoryRecording
from vkgroup.outputs.history.writing import RunWriter
from vkgroup.record.record import Results, RunInfo, RunKind, RunRecord


def open(path: Path, *, write: bool = False) -> Database:
    """Open a database of runs.

    Raises InvalidInput: there is no such database, or it is another program's, damaged, locked, read-only
    (with `write`) or written by a newer vkgroup.
    """
    return Database(path, write=write)


__all__ = [
    "CheckFindings",
    "CostFile",
    "Database",
    "DatabaseError",
    "HistoryRecording",
    "Results",
    "RunInfo",
    "RunKind",
    "RunRecord",
    "RunWriter",
    "kind_of",
    "load",
    "load_all",
    "load_shown",
    "open",
    "recorded",
]
