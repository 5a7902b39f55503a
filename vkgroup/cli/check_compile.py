"""``vkgroup check --compile-on``: compilation of the checked shader for absent GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vkgroup.check.findings import Finding, Kind, Place
from vkgroup.check.report import Report
from vkgroup.cli.with_file import Settings
from vkgroup.cost import Cost, Job, Status, costs_on
from vkgroup.device import DeviceInfo
from vkgroup.errors import InvalidInput
from vkgroup.runner.multi_device import choose
from vkgroup.spirv import Module


def require_gpus(choice: str) -> list[DeviceInfo]:
    """Return the compile-only devices of ``--compile-on``; InvalidInput if others are among them."""
    devices = choose(choice)
    others = [device.name for device in devices if not device.is_compile_only]
    if others:
        raise InvalidInput(f"--compile-on {choice}: {others[0]} is no compile-only device; use --device.")
    return devices


def with_compilations(report: Report, settings: Settings, module: Module) -> Report:
    """Return a report with the results of compiling for the devices of ``--compile-on``."""
    options = settings.options
    entry = module.reflection.entry_point(options.entry_point)
    if entry.stage != "compute":
        raise InvalidInput("--compile-on supports compute shaders only.")
    job = Job(
        module.to_bytes(),
        entry.name,
        settings.specialization(),
        full_subgroups=bool(options.full_subgroups),
    )
    costs = [cost for device in require_gpus(options.compile_on) for cost in costs_on(device, job)]
    return replace(
        report,
        findings=(*report.findings, *_findings(costs, str(options.shader))),
        compilations=tuple(_lines(costs)),
    )


def _by_device(costs: Sequence[Cost]) -> dict[str, list[Cost]]:
    devices: dict[str, list[Cost]] = {}
    for cost in costs:
        devices.setdefault(cost.key[0], []).append(cost)
    return devices


def _findings(costs: Sequence[Cost], shader: str) -> list[Finding]:
    """Return a finding for each device whose driver rejects the shader or crashes."""
    findings = []
    for device, its in _by_device(costs).items():
        failed = [cost for cost in its if cost.status not in (Status.COMPILED, Status.NOT_SUPPORTED)]
        if failed:
            sizes = ", ".join(str(cost.subgroup_size) for cost in failed)
            message = f"{device}, subgroups of {sizes}: {failed[0].status}: {failed[0].detail}"
            findings.append(Finding(Kind.COMPILE, message, Place(shader, 0, "", -1)))
    return findings


def _lines(costs: Sequence[Cost]) -> list[str]:
    """Return lines on all devices: how many compile the shader, which do not and why, and which spill."""
    devices = _by_device(costs)
    reasons = {
        device: next(cost for cost in its if cost.status is not Status.COMPILED)
        for device, its in devices.items()
        if any(cost.status is not Status.COMPILED for cost in its)
    }
    count = len(devices) - len(reasons)
    lines = [f"compiles on {count} of {len(devices)} GPU{'s' * (len(devices) != 1)}"]
    lines += [f"{device}: {cost.status}: {cost.detail}" for device, cost in reasons.items()]
    for device, its in devices.items():
        spills = {cost.subgroup_size: cost.quantities.get("spills", 0.0) for cost in its}
        lines += [
            f"{device}, subgroups of {size}: {number:g} spills" for size, number in spills.items() if number
        ]
    return lines
