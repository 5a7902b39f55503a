"""Reading what a report shows: folders of runs, and files of `conform`, `probe`, `check` and `bench`."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from vkgroup.conformance.results import Result
from vkgroup.errors import InvalidInput

_RESULTS = ("results.jsonl", "results.jsonl.xz")


@dataclass(frozen=True)
class Conformance:
    """One run of ``vkgroup conform``.

    Attributes
    ----------
    place : its folder or file, as it was given.
    identity : ``run.json``: device, driver, seed, version; empty where there is none.
    summary : ``summary.json``; empty where there is none.
    results : of every case, the last one where a case has several.
    damaged : lines that are no results, such as one that was cut off.
    """

    place: str
    identity: dict[str, Any]
    summary: dict[str, Any]
    results: list[Result]
    damaged: int = 0

    @property
    def device(self) -> str:
        """The device's name."""
        return str(self.summary.get("device") or self.identity.get("device") or "unknown device")

    @property
    def driver(self) -> str:
        """The driver's name and version."""
        named = self.summary.get("driver")
        if isinstance(named, dict):
            return f"{named.get('name', '')} {named.get('info', '')}".strip()
        return str(self.identity.get("driver", "")).strip()


@dataclass(frozen=True)
class Data:
    """A JSON file: a probe, a check or a benchmark, as its command wrote it.

    Attributes
    ----------
    place : the file, as it was given.
    path : where it lies.
    given : which of the places that were given it came from, from 0.
    data : what is in it.
    """

    place: str
    path: Path
    given: int
    data: dict[str, Any]


@dataclass
class Inputs:
    """Everything that a report shows, by kind, in the order in which it was given."""

    runs: list[Conformance] = field(default_factory=list)
    probes: list[Data] = field(default_factory=list)
    checks: list[Data] = field(default_factory=list)
    benches: list[Data] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.runs) + len(self.probes) + len(self.checks) + len(self.benches)


def read(places: Sequence[Path]) -> Inputs:
    """Read folders and files.

    Parameters
    ----------
    places : each the folder of a run (``results.jsonl`` or ``results.jsonl.xz``, ``run.json``,
        ``summary.json``, and files of other commands beside them), or a file of results, of
        ``vkgroup probe --json``, of ``vkgroup check --json``, or of ``vkgroup bench --json``.

    Raises
    ------
    InvalidInput
        One of them cannot be read, or holds nothing of that.
    """
    found = Inputs()
    for given, place in enumerate(places):
        if place.is_dir():
            _read_folder(place, given, found)
        elif place.name.endswith((".jsonl", ".jsonl.xz")):
            beside = place.parent
            found.runs.append(_conformance(place, str(place), beside / "run.json", beside / "summary.json"))
        elif not _take(place, given, found):
            raise InvalidInput(
                f"{place} is no run: give the folder of a run, its results.jsonl, or what "
                "`vkgroup probe --json`, `vkgroup check --json` or `vkgroup bench --json` wrote"
            )
    return found


def _read_folder(folder: Path, given: int, found: Inputs) -> None:
    """Take everything of a folder that a report can show."""
    before = len(found)
    results = next((folder / name for name in _RESULTS if (folder / name).is_file()), None)
    identity, summary = folder / "run.json", folder / "summary.json"
    if results is not None or summary.is_file():
        found.runs.append(_conformance(results, str(folder), identity, summary))
    for path in sorted(folder.glob("*.json")):
        if path not in (identity, summary):
            _take(path, given, found)
    if len(found) == before:
        raise InvalidInput(
            f"{folder} holds no run: there is no results.jsonl, and no file of `vkgroup probe --json`, "
            "`vkgroup check --json` or `vkgroup bench --json`"
        )


def _conformance(results: Path | None, place: str, identity: Path, summary: Path) -> Conformance:
    """Read a run; what does not stand in the results stands beside them, or is not known."""
    last: dict[str, Result] = {}
    damaged = 0
    for line in _lines(results) if results is not None else ():
        try:
            result = Result.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            damaged += 1
        else:
            last[result.case] = result
    if results is not None and damaged and not last:
        raise InvalidInput(f"{results} holds no results: none of its {damaged} lines is one")
    about = [_object(path) if path.is_file() else {} for path in (identity, summary)]
    return Conformance(place, about[0], about[1], list(last.values()), damaged)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file that may be compressed; one that ends too early yields what it has."""
    try:
        with _opened(path) as file, suppress(EOFError):
            yield from (line for line in file if line.strip())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error
    except lzma.LZMAError as error:
        raise InvalidInput(f"{path} is no .xz file, or is damaged: {error}") from error


def _opened(path: Path) -> TextIO:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _object(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text, parse_constant=_none, parse_float=_finite)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no JSON: {error}") from error
    return data if isinstance(data, dict) else {}


def _none(_: str) -> None:
    """Stand for NaN and infinities, which are no JSON: browsers refuse them."""


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _take(path: Path, given: int, found: Inputs) -> bool:
    """Add a JSON file to what it is; returns whether it is anything that a report shows."""
    data = _object(path)
    one = Data(str(path), path, given, data)
    if isinstance(data.get("capabilities"), dict):
        found.probes.append(one)
    elif isinstance(data.get("findings"), list) and "shader" in data:
        found.checks.append(one)
    elif isinstance(data.get("benchmarks"), list):
        found.benches.append(one)
    elif "totals" in data and "device" in data:
        found.runs.append(Conformance(str(path), {}, data, []))
    else:
        return False
    return True
