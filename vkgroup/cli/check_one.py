"""One check with the settings of the command line and of a configuration."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import vkgroup
from vkgroup.check import Guarantees, checking
from vkgroup.check.outcome import ConfigurationOutcome
from vkgroup.check.report import Report
from vkgroup.cli import pairs, shaders
from vkgroup.cli.deadline import RUN_PART
from vkgroup.cli.with_file import Settings
from vkgroup.compiler import TargetEnvironment
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.device import DeviceInfo
from vkgroup.spirv import Module
from vkgroup.workers.opening import select


@dataclass(frozen=True)
class CheckedShader:
    """A shader and the report of its check."""

    module: Module
    report: Report


def load(settings: Settings) -> Module:
    """Return the module of the shader, with line numbers."""
    options = argparse.Namespace(**{**vars(settings.options), "debug": True})
    return shaders.load(options, target_of(settings))


def target_of(settings: Settings) -> TargetEnvironment:
    """Return the target of the shader: the given one, else a default."""
    compiled = settings.options.shader.suffix in (".spv", ".spvasm")
    return settings.target(TargetEnvironment.VULKAN_1_4 if compiled else checking.TARGET)


def check_one(
    settings: Settings, devices: Sequence[DeviceInfo], command: str = "", module: Module | None = None
) -> CheckedShader:
    """Check a shader.

    `command`: the command that repeats the check, without sizes and devices.
    `module`: the module of the shader, if it is loaded already.
    """
    options = settings.options
    module = module or load(settings)
    settings.require_valid(module)
    report = checking.check(
        module,
        sizes=options.subgroup_size,
        groups=options.groups,
        size=options.size,
        inputs=settings.inputs(module),
        outputs=[pairs.key(name) for name in options.outputs],
        push=settings.push(),
        specialization=settings.specialization(module),
        entry_point=options.entry_point,
        seed=options.seed,
        devices=devices,
        timeout=options.timeout / RUN_PART,
        step_limit=options.step_limit,
        host=guarantees(options),
        name=str(options.shader),
        command=command,
        compiler=compiler_of(options.shader, options.compiler, options.dialect),
    )
    return CheckedShader(module, report)


def guarantees(options: argparse.Namespace) -> Guarantees:
    """Return the guarantees of the host."""
    return Guarantees(
        full_subgroups=options.full_subgroups,
        linear_lanes=options.lanes == "linear",
        size_control=options.size_control,
    )


def devices_of(choices: list[str] | None) -> list[DeviceInfo]:
    """Return the real devices to run on: those of --device or `VKGROUP_DEVICE`, else all that work."""
    if choices is None and os.environ.get("VKGROUP_DEVICE"):
        return [select()]
    if choices is None:
        return [device for device in vkgroup.devices().devices if not device.is_reference]
    return [select(choice) for choice in choices if choice != "none"]


def record_of(settings: Settings, outcome: ConfigurationOutcome) -> dict[str, Any]:
    """Return the entry of one of several configurations in the JSON output."""
    return {
        "name": settings.name,
        "shader": str(settings.options.shader),
        "outcome": outcome.kind.value,
        "summary": outcome.summary,
        "exit_code": outcome.exit_code,
        "seconds": round(outcome.seconds, 3),
        "unchanged": outcome.unchanged,
        "report": outcome.report,
    }
