"""A run's folder: results as they come, and what it takes to resume an interrupted run.

``run.json`` says what the run judges; ``results.jsonl`` has one case a line and is only ever appended to,
so that whatever kills the run leaves what was measured. A line cut off in the middle is dropped on resume.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from vkgroup.conformance.results import Result
from vkgroup.errors import InvalidInput
from vkgroup.files import write_whole

try:
    import fcntl
except ImportError:  # no such thing outside POSIX
    fcntl = None  # type: ignore[assignment]

RESULTS = "results.jsonl"
RUN = "run.json"


class Store:
    """The folder of one run, open for appending results.

    Parameters
    ----------
    folder : made if it does not exist.
    identity : what the run judges (device, driver, seed …), as JSON data.
    resume : go on with the run in the folder, which must have the same identity.

    Raises
    ------
    InvalidInput
        The folder holds a run and `resume` is False, or another run than the one to resume, or cannot be
        written.
    """

    def __init__(self, folder: Path, identity: dict[str, Any], *, resume: bool = False) -> None:
        self.folder = folder
        self.done: dict[str, Result] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / RESULTS).open("a", encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            _lock(self._file, folder)
            self._begin(identity, resume)
        except OSError as error:
            self._file.close()
            raise self._unwritable(error) from error
        except InvalidInput:
            self._file.close()
            raise

    def _begin(self, identity: dict[str, Any], resume: bool) -> None:
        """Take up the run that is in the folder, or begin one where none is."""
        results, run = self.folder / RESULTS, self.folder / RUN
        if not results.stat().st_size:
            write_whole(run, json.dumps(identity, indent=2) + "\n")
        elif resume:
            _check_identity(run, identity)
            self.done = read_results(results)
        else:
            raise InvalidInput(
                f"{self.folder} already holds a run: go on with it (--resume), or name another folder (--out)"
            )

    def append(self, results: list[Result]) -> None:
        """Write results and hand them to the operating system."""
        lines = [json.dumps(result.to_json(), ensure_ascii=False) + "\n" for result in results]
        try:
            self._file.write("".join(lines))
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the file, its content on disk."""
        if self._file.closed:
            return
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with suppress(OSError):
                self._file.close()

    def _unwritable(self, error: OSError) -> InvalidInput:
        return InvalidInput(
            f"cannot write results into {self.folder}: {error.strerror}; make room or name another folder "
            "with --out; what was written can be resumed with --resume"
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _lock(file: TextIO, folder: Path) -> None:
    """Keep other runs out of the folder until the file is closed, where the system can do that."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidInput(
            f"another run is writing into {folder}: wait for it, or name another folder with --out"
        ) from None


def _check_identity(run: Path, identity: dict[str, Any]) -> None:
    try:
        found = json.loads(run.read_text())
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{run} cannot be read, so the run cannot be resumed: start another with --out"
        ) from error
    different = sorted(key for key in identity if found.get(key) != identity[key])
    if different:
        raise InvalidInput(
            f"{run.parent} holds another run ("
            + ", ".join(f"{key}: {found.get(key)!r}, not {identity[key]!r}" for key in different)
            + "): resume with the same device and seed, or name another folder with --out"
        )


def read_results(path: Path) -> dict[str, Result]:
    """Read the whole lines of a results file and cut off a last one that is not whole."""
    done: dict[str, Result] = {}
    whole = 0
    data = path.read_bytes()
    for line in data.splitlines(keepends=True):
        try:
            result = Result.from_json(json.loads(line))
        except (ValueError, KeyError, RecursionError):
            if whole + len(line) < len(data):
                raise InvalidInput(
                    f"{path} has a line that is no result after {len(done)} good ones: start another run"
                ) from None
            break
        if not line.endswith(b"\n"):
            break
        done[result.case] = result
        whole += len(line)
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
    return done
