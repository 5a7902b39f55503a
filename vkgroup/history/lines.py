"""The results in a ``results.jsonl``, which may be compressed (``.xz``)."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from vkgroup.conformance.results import Result, Status
from vkgroup.errors import InvalidInput


class FileResults:
    """The results in a file: of a case that has several lines, the last.

    The last line of a run that was killed may be cut off; it counts as not there.

    Parameters
    ----------
    path : the file.
    strict : refuse any other line that is no result. Else it is left out and counted.

    Attributes
    ----------
    damaged : lines that were left out when the file was last gone through.
    """

    def __init__(self, path: Path, *, strict: bool = True) -> None:
        self._path = path
        self._strict = strict
        self.damaged = 0

    def __iter__(self) -> Iterator[Result]:
        last = {case: number for number, case, _ in self._seen()}
        for number, line in self._lines():
            result = self._result(number, line)
            if result is not None and last.get(result.case) == number:
                yield result
        if self.damaged and not last:
            raise InvalidInput(f"{self._path} holds no results: none of its {self.damaged} lines is one")

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name."""
        return {case: status for _, case, status in self._seen()}

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name."""
        wanted = frozenset(cases)
        found: dict[str, Result] = {}
        for number, line in self._lines() if wanted else ():
            plain = _LINE.fullmatch(line)
            if plain and plain[1].decode() not in wanted:
                continue
            result = self._result(number, line)
            if result is not None and result.case in wanted:
                found[result.case] = result
        return found

    def _seen(self) -> Iterator[tuple[int, str, Status]]:
        """Yield the number of each line with a result, the case and its status."""
        for number, line in self._lines():
            plain = _LINE.fullmatch(line)
            status = _STATUSES.get(plain[2]) if plain else None
            if plain and status:
                yield number, plain[1].decode(), status
            elif result := self._result(number, line):
                yield number, result.case, result.status

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines by their numbers; of a compressed file that is cut off, what it has."""
        self.damaged = 0
        try:
            with _opened(self._path) as file, suppress(EOFError):
                yield from enumerate(file, 1)
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror or error}") from error
        except lzma.LZMAError as error:
            raise InvalidInput(f"{self._path} is no .xz file, or is damaged: {error}") from error

    def _result(self, number: int, line: bytes) -> Result | None:
        """Return the result of a line; None for one that is left out."""
        try:
            return Result.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            if line.isspace():
                return None
            if self._strict and line.endswith(b"\n"):
                raise InvalidInput(
                    f"{self._path}, line {number}, is no result: what vkgroup conform writes has one a line"
                ) from None
            self.damaged += 1
            return None


_LINE = re.compile(
    rb'\{"case": "([\w.+-]+)", "status": "(\w+)", "seconds": [\d.e-]+, "defined": \d+, "undefined": \d+, '
    rb'"detail": "[^\0-\x1f]*"\}\n'
)
"""Lines as vkgroup writes them: names and statuses are seen without parsing. Any other line is parsed."""

_STATUSES = {status.value.encode(): status for status in Status}


def _opened(path: Path) -> IO[bytes]:
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")
