"""Status of the evidence on each device: ``status.json``, recorded from results of real runs.

It counts, for each glob of cases and each example of the tutorial, how many passed, failed, were undefined
or not supported, device by device. It is keyed by the evidence and not by the row: rows may be moved and
reworded, and a glob that is changed is "not run" until it is recorded again.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trace_evidence import Names
from trace_model import DATA, Document, Evidence

STATUS = DATA / "status.json"

DEVICES: Mapping[str, str] = {
    "swiftshader": "SwiftShader",
    "lavapipe-25.0.7": "lavapipe 25",
    "lavapipe-22.3.6": "lavapipe 22",
    "nvidia-h200": "H200",
    "reference": "reference",
}
"""The columns: folder of ``bench/results`` → title."""

_WORST_FIRST = ("Fail", "Pass", "Undefined", "NotSupported")
_AGAINST = ("Fail", "Crash", "Timeout")


@dataclass(frozen=True)
class Count:
    """Number of checks by outcome; `reason` is the most frequent reason for NotSupported."""

    passed: int = 0
    failed: int = 0
    undefined: int = 0
    not_supported: int = 0
    reason: str = ""

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.undefined + other.undefined,
            self.not_supported + other.not_supported,
            self.reason or other.reason,
        )

    @property
    def total(self) -> int:
        """All that was counted."""
        return self.passed + self.failed + self.undefined + self.not_supported

    def to_json(self) -> list[Any]:
        """Return the counts as a list; the reason last, where there is one."""
        counts: list[Any] = [self.passed, self.failed, self.undefined, self.not_supported]
        return [*counts, self.reason] if self.reason else counts


Recorded = dict[str, dict[str, Count]]
"""Evidence as text → device → count."""


def load(path: Path = STATUS) -> Recorded:
    """Read what was recorded; empty where nothing was."""
    if not path.exists():
        return {}
    table = json.loads(path.read_text(encoding="utf-8"))
    return {key: {device: Count(*counts) for device, counts in row.items()} for key, row in table.items()}


def save(recorded: Recorded, path: Path = STATUS) -> None:
    """Write the record, one line for each piece of evidence."""
    lines = []
    for key, row in sorted(recorded.items()):
        counts = {device: row[device].to_json() for device in DEVICES if device in row}
        if counts:
            lines.append(f"{json.dumps(key)}: {json.dumps(counts)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _results(folder: Path) -> Iterator[str]:
    """Read the lines of a run's results: its folder's, or those of a file, which may be compressed."""
    file = folder
    if folder.is_dir():
        file = folder / "results.jsonl"
        file = file if file.exists() else folder / "results.jsonl.gz"
    with (
        gzip.open(file, "rt", encoding="utf-8")
        if file.suffix == ".gz"
        else file.open(encoding="utf-8") as lines
    ):
        yield from lines


def _merged(folders: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Return each case's status and detail; of several runs the worst that says something."""
    found: dict[str, tuple[str, str]] = {}
    for folder in folders:
        for line in _results(folder):
            result = json.loads(line)
            status = "Fail" if result["status"] in _AGAINST else result["status"]
            before = found.get(result["case"])
            if before is None or _WORST_FIRST.index(status) < _WORST_FIRST.index(before[0]):
                found[result["case"]] = (status, result["detail"] if status == "NotSupported" else "")
    return found


def count_cases(folders: Iterable[Path], globs: Iterable[str]) -> dict[str, Count]:
    """Count, for each glob, the results of one device's runs.

    Parameters
    ----------
    folders : folders of ``vkgroup conform --out`` or their ``results.jsonl``, also with ``.gz``. Several runs
        are taken together (the reference device at its sizes): a case passed where it passed in one and
        failed in none.
    """
    merged = _merged(folders)
    names = Names(merged)
    counts = {}
    for glob in globs:
        outcomes = [merged[name] for name in names.matching(glob)]
        statuses = Counter(status for status, _ in outcomes)
        reasons = Counter(detail for status, detail in outcomes if status == "NotSupported")
        reason = reasons.most_common(1)[0][0] if reasons else ""
        counts[glob] = Count(
            statuses["Pass"], statuses["Fail"], statuses["Undefined"], statuses["NotSupported"], reason
        )
    return counts


def count_examples(file: Path, device: str) -> Recorded:
    """Count what ``python shaders/tutorial`` printed on a device: a line of name, verdict and words each."""
    found: Recorded = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        name, verdict, words = [*line.split(None, 2), "", "", ""][:3]
        outcome = {
            "ok": Count(passed=1),
            "WRONG": Count(failed=1),
            "unsupported": Count(not_supported=1, reason=words),
        }.get(verdict)
        if outcome:
            found[f"tutorial:{name}"] = {device: outcome}
    return found


def _asked_for(documents: Iterable[Document]) -> set[Evidence]:
    return {evidence for document in documents for row in document.rows for evidence in row.shown}


def record(
    recorded: Recorded,
    documents: Iterable[Document],
    runs: Mapping[str, list[Path]],
    examples: Iterable[tuple[str, Path]] = (),
) -> Recorded:
    """Return the record with new runs in it; what the documents no longer ask for is dropped.

    Parameters
    ----------
    runs : device → the folders of its runs, which replace what was recorded of its cases.
    examples : (device, what ``python shaders/tutorial`` printed there).
    """
    asked = _asked_for(documents)
    result: Recorded = {
        str(one): dict(recorded.get(str(one), {})) for one in asked if one.kind in ("case", "tutorial")
    }
    globs = [one.name for one in asked if one.kind == "case"]
    for device, folders in runs.items():
        for glob, count in count_cases(folders, globs).items():
            result[f"case:{glob}"].pop(device, None)
            if count.total:
                result[f"case:{glob}"][device] = count
    for device, file in examples:
        rows = count_examples(file, device)
        for key, row in rows.items():
            if key in result:
                result[key].update(row)
    return result


def of_row(recorded: Recorded, shown: Iterable[Evidence], device: str) -> Count:
    """Return what was counted for a row on a device, all its evidence together."""
    total = Count()
    for evidence in shown:
        count = recorded.get(str(evidence), {}).get(device, Count())
        total = replace(total + count, reason=total.reason or count.reason)
    return total
