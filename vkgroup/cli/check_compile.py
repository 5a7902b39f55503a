"""``vkgroup check --compile-on``: compilation of checked shaders for absent GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vkgroup.base.errors import InvalidInput, Unsupported, VkgroupError
from vkgroup.check.findings import Finding, FindingKind, SourceLocation
from vkgroup.check.report import Report
from vkgroup.cli.check_request import load
from vkgroup.cli.progress import track
from vkgroup.cli.settings import Settings
from vkgroup.cost import CompileJob, CompileStatus, Cost, costs_on_all, job_of
from vkgroup.device import DeviceInfo
from vkgroup.device.fetched import labels, newest_names
from vkgroup.workers.multi_device import choose

_REASON_LINES = 3
"""Lines of an error in the list of devices; a finding has all."""


def require_gpus(choice: str) -> list[DeviceInfo]:
    """Return the compile-only devices of ``--compile-on``, all for ``*``.

    Raises InvalidInput if others are among them.
    """
    devices = choose("*:*" if choice.strip() == "*" else choice, compile_only=True)
    others = [device.name for device in devices if not device.is_compile_only]
    if others:
        raise InvalidInput(f"--compile-on {choice}: {others[0]} is no compile-only device; use --device.")
    return devices


@dataclass(frozen=True)
class CompileResults:
    """The results of compiling one shader for the devices of ``--compile-on``."""

    findings: tuple[Finding, ...]  # one for each device whose driver rejects the shader or crashes
    lines: tuple[str, ...]  # how many devices compile it, which do not and why, and which spill


def compile_all(settings: Sequence[Settings], choice: str) -> dict[str, CompileResults]:
    """Compile the shaders of all configurations for the devices of ``--compile-on``, by name.

    Each device is opened once, several at the same time. A shader that cannot be loaded is left out: its
    check says why.
    """
    devices = require_gpus(choice)
    jobs: dict[str, CompileJob] = {}
    found: dict[str, CompileResults] = {}
    for entry in settings:
        try:
            jobs[entry.name] = _job(entry)
        except Unsupported as error:
            found[entry.name] = CompileResults((), (f"not compiled for {choice}: {error}",))
        except VkgroupError:
            continue
    costs: dict[str, list[Cost]] = {name: [] for name in jobs}
    compiled = costs_on_all(devices if jobs else (), list(jobs.values()))
    for on_device in track(compiled, len(devices), f"compiling for {choice}"):
        for name, its in zip(jobs, on_device, strict=True):
            costs[name] += its
    shaders = {entry.name: str(entry.options.shader) for entry in settings}
    labels_of = labels([device.choice for device in devices], newest_names())
    for name, its in costs.items():
        by_device: dict[str, list[Cost]] = {}
        for cost in its:
            by_device.setdefault(labels_of[cost.device], []).append(cost)
        found[name] = CompileResults(tuple(_findings(by_device, shaders[name])), tuple(_lines(by_device)))
    return found


def _job(settings: Settings) -> CompileJob:
    options = settings.options
    module = load(settings)
    return job_of(
        module,
        entry_point=module.reflection.entry_point(options.entry_point).name,
        specialization=settings.specialization(module),
        full_subgroups=bool(options.full_subgroups),
    )


def with_compilation(report: Report, compilation: CompileResults | None) -> Report:
    """Return a report with the results of compiling; `compilation`: None if nothing was compiled."""
    if compilation is None:
        return report
    return replace(report, findings=(*report.findings, *compilation.findings), compilations=compilation.lines)


def _findings(devices: Mapping[str, Sequence[Cost]], shader: str) -> list[Finding]:
    """Return a finding for each device whose driver rejects the shader or crashes."""
    findings = []
    for device, its in devices.items():
        failed = [
            cost for cost in its if cost.status not in (CompileStatus.COMPILED, CompileStatus.NOT_SUPPORTED)
        ]
        if failed:
            sizes = ", ".join(str(cost.subgroup_size) for cost in failed)
            message = f"{device}, subgroups of {sizes}: {failed[0].status}: {failed[0].detail}"
            findings.append(Finding(FindingKind.COMPILE, message, SourceLocation(shader, 0, "", -1)))
    return findings


def _lines(devices: Mapping[str, Sequence[Cost]]) -> list[str]:
    """Return lines on all devices: how many compile the shader, which do not and why, and which spill."""
    reasons: dict[str, list[str]] = {}
    spills: dict[tuple[int, float], list[str]] = {}
    for device, its in devices.items():
        failed = next((cost for cost in its if cost.status is not CompileStatus.COMPILED), None)
        if failed is not None:
            reasons.setdefault(f"{failed.status}: {_short(failed.detail)}", []).append(device)
        for cost in its:
            if number := cost.quantities.get("spills", 0.0):
                spills.setdefault((cost.subgroup_size, number), []).append(device)
    count = len(devices) - sum(map(len, reasons.values()))
    # A GPU may be there with several versions of its driver.
    what = "GPU" if len({its[0].key[0] for its in devices.values()}) == len(devices) else "device"
    lines = [f"compiles on {count} of {len(devices)} {what}{'s' * (len(devices) != 1)}"]
    lines += [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    lines += [
        f"{', '.join(names)}, subgroups of {size}: {number:g} spills"
        for (size, number), names in spills.items()
    ]
    return lines


def _short(detail: str) -> str:
    """Return the first lines of an error as one line; a backtrace may follow them."""
    return " ".join(line.strip() for line in detail.splitlines()[:_REASON_LINES])
