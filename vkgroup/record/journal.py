"""The journal of a run in progress: its folder, with results as they arrive, from which a run can be resumed.

``run.json`` identifies the run. ``results.jsonl`` has one case per line and is only appended to, so no result
is lost if the run is killed. An incomplete last line is dropped on resume.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import msgspec

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_bytes, require_regular_if_exists, write_whole
from vkgroup.record.record import Result, format_result, parse_result

try:
    import fcntl
except ImportError:  # exists on POSIX only
    fcntl = None  # type: ignore[assignment]

RESULTS = "results.jsonl"
RUN = "run.json"


class Journal:
    """The folder of one run, open for appending results.

    `folder`: created if it does not exist.
    `identity`: device, driver, seed and version of the run, as JSON data.
    `resume`: continue the run in the folder, which must have the same identity.
    Raises InvalidInput: the folder holds a run and `resume` is False, or it holds another run, or it cannot
    be written.
    """

    def __init__(self, folder: Path, identity: dict[str, Any], *, resume: bool = False) -> None:
        self.folder = folder
        self.done: dict[str, Result] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (RESULTS, RUN):
                require_regular_if_exists(folder / name)
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
        """Continue the run in the folder, or begin one if there is none."""
        results, run = self.folder / RESULTS, self.folder / RUN
        if not results.stat().st_size:
            write_whole(run, json.dumps(identity, indent=2) + "\n")
        elif resume:
            _check_identity(run, identity)
            self.done = read_results(results)
        else:
            raise InvalidInput(
                f"{self.folder} already contains a run: continue it (--resume), replace it (--overwrite), or"
                " use another folder (--out)"
            )

    def require_selected(self, cases: Collection[str]) -> None:
        """Raise InvalidInput if the folder has a result of a case that this run does not select."""
        others = [case for case in self.done if case not in cases]
        if others:
            raise InvalidInput(
                f"{self.folder} has results of cases that are not selected now ({len(others):,}, such as"
                f" {others[0]}): select the same cases or more, or name another folder (--out)"
            )

    def append(self, results: list[Result]) -> None:
        """Write results and flush them to the operating system."""
        try:
            self._file.write("".join(map(format_result, results)))
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Write the content to disk (fsync), and close the file."""
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

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def discard(folder: Path) -> None:
    """Remove the results in the folder of a run; raise InvalidInput if another run is writing them."""
    if (folder / RESULTS).is_file():
        with (folder / RESULTS).open("a", encoding="utf-8") as file:
            _lock(file, folder)
            file.truncate(0)


def _lock(file: TextIO, folder: Path) -> None:
    """Lock the folder against other runs until the file is closed, if the system can do that."""
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
        recorded = msgspec.json.decode(read_bytes(run), type=dict[str, Any])
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{run} cannot be read, so the run cannot be resumed: start another with --out"
        ) from error
    different = sorted(key for key in identity if recorded.get(key) != identity[key])
    if different:
        raise InvalidInput(
            f"{run.parent} holds another run ("
            + ", ".join(f"{key}: {recorded.get(key)!r}, not {identity[key]!r}" for key in different)
            + "): resume with the same device and seed, or name another folder with --out"
        )


def read_results(path: Path) -> dict[str, Result]:
    """Return the results in a results file by case, and cut off an incomplete last line."""
    done: dict[str, Result] = {}
    whole = 0
    data = read_bytes(path)
    for line in data.splitlines(keepends=True):
        try:
            result = parse_result(line)
        except ValueError as error:
            if whole + len(line) < len(data):
                raise InvalidInput(
                    f"{path} has a line without a result after {len(done)} good ones ({error}): start "
                    "another run"
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
