"""The request of one check of ``vkgroup check``, and the command that repeats it."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

import vkgroup
from vkgroup.check import CheckRequest, Guarantees
from vkgroup.check.outcome import ConfigurationOutcome
from vkgroup.cli import pairs, shaders
from vkgroup.cli.deadline import RUN_PART
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import words_of
from vkgroup.cli.settings import Settings
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.device import DeviceInfo
from vkgroup.spirv import Module
from vkgroup.workers.opening import select


def load(settings: Settings) -> Module:
    """Return the module of the shader, with line numbers."""
    options = argparse.Namespace(**{**vars(settings.options), "debug": True})
    return shaders.load(options)


def request_of(settings: Settings, devices: Sequence[DeviceInfo], command: str) -> CheckRequest:
    """Return the request of a check with the options of the command line and of a configuration.

    `devices`: the real devices on which the shader also runs.
    `command`: the command that repeats the check, without sizes and devices.
    """
    options, module = settings.options, load(settings)
    settings.require_valid(module)
    return CheckRequest(
        module,
        sizes=options.subgroup_size,
        groups=options.groups,
        size=options.size,
        inputs=settings.inputs(module),
        outputs=[pairs.key(name) for name in options.outputs],
        push=settings.push(),
        specialization=settings.specialization(module),
        entry_point=options.entry_point,
        defines=dict(shaders.define(text) for text in options.defines),
        target=options.target,
        seed=options.seed,
        devices=devices,
        timeout=options.timeout / RUN_PART,
        step_limit=options.step_limit,
        host=Guarantees(options.full_subgroups, options.lanes == "linear", options.size_control),
        name=str(options.shader),
        command=command,
        compiler=compiler_of(options.shader, options.compiler, options.dialect),
    )


def command_of(arguments: argparse.Namespace, settings: Settings) -> str:
    """Return the command that repeats a check, without sizes and devices."""
    words = ["vkgroup", "check"]
    if arguments.shader is not None:
        words.append(str(settings.options.shader))
    if arguments.with_file is not None:
        words += ["--with", str(arguments.with_file)]
        words += ["--configuration", settings.name] if settings.name else []
    # A default of the command line replaces a value of the configuration.
    with_defaults = arguments.with_file is not None
    words += words_of(OPTIONS["check"].options, arguments, with_defaults=with_defaults)
    return shlex.join(words)


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
