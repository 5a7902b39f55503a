"""Run of mutants on a device, and its results."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mutants.every_stage_setup import EveryStageSetup
from mutants.generator import generate
from mutants.judging import UNEXPLAINED, judge_group
from mutants.mutant import Group, Mutant
from mutants.stages import every_stage
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.record.record import Result, Status
from vkgroup.record.run import versions
from vkgroup.workers.opening import open_device
from vkgroup.workers.scheduler import LocalScheduler

OUTCOMES = {
    Status.FAIL: "caught",
    Status.PASS: "missed",
    Status.UNDEFINED: "missed",
    Status.CRASH: "crashed",
    Status.TIMEOUT: "timed out",
    Status.NOT_SUPPORTED: "no mutant",
}
"""Status of a mutant's run → outcome. A crash and a time-out are not verdicts of the suite."""


@dataclass
class Campaign:
    """A run of mutants.

    Attributes
    ----------
    mutants, results : mutants and their results, by name.
    undeclared : whether stages are included that do not declare subgroup operations.
    seconds, started : duration and start of the run.
    """

    capabilities: Capabilities
    seed: int
    jobs: int
    undeclared: bool = False
    mutants: dict[str, Mutant] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    seconds: float = 0.0
    started: str = ""

    def outcome(self, name: str) -> str:
        """Return the outcome of a mutant, a value of `OUTCOMES`."""
        return OUTCOMES[self.results[name].status]

    def named(self, outcome: str) -> list[str]:
        """Return the names of the mutants with an outcome."""
        return sorted(name for name in self.results if self.outcome(name) == outcome)

    @property
    def unexplained(self) -> list[str]:
        """Names of the mutants that were missed without a known reason."""
        return [name for name in self.named("missed") if self.results[name].detail == UNEXPLAINED]

    def counts(self, key: Callable[[Mutant], str] = lambda mutant: "") -> dict[str, Counter[str]]:
        """Return the number of mutants of each outcome, grouped by `key`."""
        counts: dict[str, Counter[str]] = {}
        for name, mutant in self.mutants.items():
            counts.setdefault(key(mutant), Counter())[self.outcome(name)] += 1
        return dict(sorted(counts.items()))

    def to_json(self) -> dict[str, Any]:
        """Return the run as JSON data: counts, and each mutant that was not caught with the reason."""
        totals = self.counts().get("", Counter())
        judged = sum(totals.values()) - totals["no mutant"]
        return {
            "device": self.capabilities.name,
            "driver": f"{self.capabilities.driver_name} {self.capabilities.driver_info}",
            "subgroup_size": self.capabilities.subgroup.size,
            "versions": versions(),
            "seed": self.seed,
            "jobs": self.jobs,
            "undeclared_stages": self.undeclared,
            "started": self.started,
            "seconds": round(self.seconds, 1),
            "mutants": judged,
            "caught": totals["caught"],
            "caught_percent": round(100 * totals["caught"] / judged, 2) if judged else None,
            "unexplained": len(self.unexplained),
            "by_stage": self.counts(lambda mutant: mutant.case.stage),
            "by_operation": self.counts(lambda mutant: mutant.case.operation),
            "by_operator": self.counts(lambda mutant: mutant.operator),
            **{
                outcome.replace(" ", "_"): {name: self.results[name].detail for name in self.named(outcome)}
                for outcome in ("missed", "crashed", "timed out", "no mutant")
            },
        }


def run(
    device: DeviceInfo,
    *,
    jobs: int = 1,
    seed: int = 0,
    stages: Sequence[str] = (),
    cases: int = 2,
    limit: int | None = None,
    timeout: float = 20.0,
    undeclared: bool = False,
    isolate: bool = True,
) -> Campaign:
    """Run mutants on a device.

    Parameters
    ----------
    device : the device, as `vkgroup.workers.opening.select` gives it.
    jobs : worker processes.
    seed : of the selection of cases, and of their data.
    stages, cases, limit : see `mutants.generator.generate`.
    timeout : seconds that one dispatch may take.
    undeclared : whether to include stages in which the device does not declare subgroup operations.
    isolate : run in worker processes, so that a crashing driver does not end this process.

    Raises
    ------
    NoDevice, DriverError
        The device cannot be opened.
    """
    with open_device(device) as opened:
        capabilities = every_stage(opened.capabilities) if undeclared else opened.capabilities
    campaign = Campaign(capabilities, seed, jobs, undeclared)
    campaign.started = datetime.now(UTC).isoformat(timespec="seconds")
    groups = generate(capabilities, seed=seed, stages=stages, cases=cases, limit=limit)
    campaign.mutants = {mutant.name: mutant for group in groups for mutant in group.cases}

    def take(results: Iterable[Result]) -> None:
        campaign.results.update((result.case, result) for result in results)

    start = time.perf_counter()
    kind = EveryStageSetup if undeclared else Setup
    setup = kind(device, seed, timeout, job_function=judge_group)
    if isolate:
        with _importable_by_workers():
            for results in LocalScheduler([device], jobs, capabilities).run(setup, groups):
                take(results)
    else:
        _run_here(setup, groups, take)
    campaign.seconds = time.perf_counter() - start
    return campaign


@contextmanager
def _importable_by_workers() -> Iterator[None]:
    """Put the folder of this package on PYTHONPATH, which worker processes inherit."""
    before = os.environ.get("PYTHONPATH")
    folder = str(Path(__file__).resolve().parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _run_here(setup: Setup, groups: list[Group], take: Callable[[Iterable[Result]], None]) -> None:
    with open_device(setup.device, robust=False) as opened:
        executor = Executor(opened, seed=setup.seed, timeout=setup.timeout)
        for group in groups:
            take(judge_group(executor, group))
        executor.close()
