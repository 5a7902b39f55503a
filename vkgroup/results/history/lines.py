"""The results in a ``results.jsonl``, which may be compressed (``.xz``)."""

from __future__ import annotations

import lzma
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from vkgroup.errors import InvalidInput
from vkgroup.results.record import Result, Status, parse_result


class FileResults:
    """The results in a file; if a case has several lines, the last one counts.

    An incomplete last line, of a run that was killed, is ignored.

    Parameters
    ----------
    path : the file.
    strict : raise InvalidInput for any other line without a result. Otherwise it is left out and counted.

    Attributes
    ----------
    damaged : lines that the last iteration left out.
    """

    def __init__(self, path: Path, *, strict: bool = True) -> None:
        self._path = path
        self._strict = strict
        self.damaged = 0

    def __iter__(self) -> Iterator[Result]:
        last = {result.case: number for number, result in self._results()}
        for number, result in self._results():
            if last.get(result.case) == number:
                yield result
        if self.damaged and not last:
            raise InvalidInput(f"{self._path} holds no results: none of its {self.damaged} lines is one")

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name."""
        return {result.case: result.status for _, result in self._results()}

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name."""
        wanted = frozenset(cases)
        if not wanted:
            return {}
        return {result.case: result for _, result in self._results() if result.case in wanted}

    def _results(self) -> Iterator[tuple[int, Result]]:
        """Yield the number of each line with a result, and the result."""
        for number, line in self._lines():
            result = self._result(number, line)
            if result is not None:
                yield number, result

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines by number; of a compressed file that is cut off, those that are there."""
        self.damaged = 0
        try:
            with _opened(self._path) as file, suppress(EOFError):
                yield from enumerate(file, 1)
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror or error}") from error
        except lzma.LZMAError as error:
            raise InvalidInput(f"{self._path} is not an .xz file, or is damaged: {error}") from error

    def _result(self, number: int, line: bytes) -> Result | None:
        """Return the result of a line; None for a line that is left out."""
        try:
            return parse_result(line)
        except ValueError as error:
            if line.isspace():
                return None
            if self._strict and line.endswith(b"\n"):
                raise InvalidInput(
                    f"{self._path}, line {number}, is not a result of vkgroup conform: {error}"
                ) from None
            self.damaged += 1
            return None


def _opened(path: Path) -> IO[bytes]:
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")
