"""Running mutants on a device, and what came of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.mutants.anywhere import EveryStageSetup
from vkgroup.conformance.mutants.generator import generate
from vkgroup.conformance.mutants.judging import UNEXPLAINED, judge_group
from vkgroup.conformance.mutants.mutant import Group, Mutant
from vkgroup.conformance.mutants.stages import every_stage
from vkgroup.conformance.setup import Setup
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.opening import open_device
from vkgroup.results.record import Result, Status
from vkgroup.results.run import versions
from vkgroup.runner.pool import Pool

OUTCOMES = {
    Status.FAIL: "caught",
    Status.PASS: "missed",
    Status.UNDEFINED: "missed",
    Status.CRASH: "crashed",
    Status.TIMEOUT: "timed out",
    Status.NOT_SUPPORTED: "no mutant",
}
"""What the status of a mutant's run means for it. A crash and a time-out are no verdict of the suite."""


@dataclass
class Campaign:
    """A run of mutants.

    Attributes
    ----------
    mutants, results : each mutant and what came of it, by its name.
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
        """Return what came of a mutant, a value of `OUTCOMES`."""
        return OUTCOMES[self.results[name].status]

    def named(self, outcome: str) -> list[str]:
        """Return the mutants of an outcome, by name."""
        return sorted(name for name in self.results if self.outcome(name) == outcome)

    @property
    def unexplained(self) -> list[str]:
        """The mutants that were missed for no reason that is known."""
        return [name for name in self.named("missed") if self.results[name].detail == UNEXPLAINED]

    def counts(self, key: Callable[[Mutant], str] = lambda mutant: "") -> dict[str, Counter[str]]:
        """Return the number of mutants of each outcome, by what `key` gives of a mutant."""
        found: dict[str, Counter[str]] = {}
        for name, mutant in self.mutants.items():
            found.setdefault(key(mutant), Counter())[self.outcome(name)] += 1
        return dict(sorted(found.items()))

    def to_json(self) -> dict[str, Any]:
        """Return the run as JSON data: counts, and by name every mutant that was not caught, with why."""
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
    device : the device, as `vkgroup.opening.select` gives it.
    jobs : worker processes.
    seed : of the choice of cases, and of their data.
    stages, cases, limit : see `vkgroup.conformance.mutants.generator.generate`.
    timeout : seconds that one dispatch may take.
    undeclared : whether stages are taken that the device has, and does not declare subgroup operations in.
    isolate : run in worker processes, which a crashing driver cannot take along.

    Raises
    ------
    NoDevice, DriverError
        The device cannot be opened.
    """
    with open_device(device) as opened:
        capabilities = every_stage(opened.capabilities) if undeclared else opened.capabilities
    found = Campaign(capabilities, seed, jobs, undeclared)
    found.started = datetime.now(UTC).isoformat(timespec="seconds")
    groups = generate(capabilities, seed=seed, stages=stages, cases=cases, limit=limit)
    found.mutants = {mutant.name: mutant for group in groups for mutant in group.cases}

    def take(results: Iterable[Result]) -> None:
        found.results.update((result.case, result) for result in results)

    start = time.perf_counter()
    kind = EveryStageSetup if undeclared else Setup
    setup = kind(device, seed, timeout, judge=judge_group)
    if isolate:
        for results in Pool(setup, jobs).run(groups):
            take(results)
    else:
        _run_here(setup, groups, take)
    found.seconds = time.perf_counter() - start
    return found


def _run_here(setup: Setup, groups: list[Group], take: Callable[[Iterable[Result]], None]) -> None:
    with open_device(setup.device, robust=False) as opened:
        executor = Executor(opened, seed=setup.seed, timeout=setup.timeout)
        for group in groups:
            take(judge_group(executor, group))
        executor.close()
