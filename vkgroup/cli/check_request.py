"""The request of one check of ``vkgroup check``, and the command that repeats it."""

from __future__ import annotations

import argparse
import os
import shlex
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import vkgroup
from vkgroup.base.choices import CHECK_SIZES, SOURCE_DIALECTS
from vkgroup.check import CheckRequest, Guarantees
from vkgroup.check.allowances import allowed_lines, for_check, read_baseline
from vkgroup.check.outcome import ConfigurationOutcome
from vkgroup.cli import pairs, shaders
from vkgroup.cli.deadline import RUN_PART
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import words_of
from vkgroup.cli.settings import Settings
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.compiler.hlsl_front_ends import wave_sizes
from vkgroup.compiler.request import read
from vkgroup.device import DeviceInfo
from vkgroup.device.fetched import fetched_gpus
from vkgroup.spirv import Module
from vkgroup.workers.multi_device import ALL
from vkgroup.workers.opening import select


def load(settings: Settings) -> Module:
    """Return the module of the shader, with line numbers."""
    options = argparse.Namespace(**{**vars(settings.options), "debug": True})
    # A check looks for the errors that these hide.
    options.robustness = options.robustness or "off"
    options.workgroup_zeros = options.workgroup_zeros or "off"
    return shaders.load(options)


def shader_request(settings: Settings) -> CheckRequest:
    """Return the request with the shader and its inputs, of ``vkgroup check`` and ``vkgroup equal``."""
    options, module = settings.options, load(settings)
    settings.require_valid(module)
    return CheckRequest(
        module,
        groups=options.groups,
        inputs=settings.inputs(module),
        outputs=[pairs.key(name) for name in options.outputs],
        push=settings.push(),
        specialization=settings.specialization(module),
        entry_point=options.entry_point,
        defines=dict(shaders.define(text) for text in options.defines),
        target=options.target,
        seed=options.seed,
        timeout=options.timeout / RUN_PART,
        step_limit=options.step_limit,
        name=str(options.shader),
    )


def request_of(settings: Settings, chosen: ChosenDevices, command: str) -> CheckRequest:
    """Return the request of a check with the options of the command line and of a configuration.

    `chosen`: the real devices on which the shader also runs.
    `command`: the command that repeats the check, without sizes and devices.
    """
    options = settings.options
    declared = _wave_sizes(options)
    request, given = shader_request(settings), settings.given
    configured = [] if given is None else [*allowed_lines(given.fields.allow, given.file, given.where)]
    baseline = () if options.baseline is None else read_baseline(options.baseline)
    return replace(
        request,
        sizes=_sizes(options, declared),
        size=options.size,
        devices=chosen.devices,
        skip_idle_devices=chosen.skip_idle,
        host=Guarantees(
            options.full_subgroups,
            options.lanes == "linear",
            options.size_control,
            options.reconvergence,
            options.progress,
        ),
        command=command,
        compiler=_compiler(options, declared),
        barriers=options.barriers,
        traces=options.trace is not None,
        allow=for_check(request, configured, baseline) if configured or baseline else (),
    )


def _dialect(options: argparse.Namespace) -> str | None:
    """Return the dialect of the shader; None for that of GLSL or SPIR-V by its suffix."""
    return options.dialect or SOURCE_DIALECTS.get(options.shader.suffix)


def _wave_sizes(options: argparse.Namespace) -> tuple[int, int] | str | None:
    """Return the sizes that HLSL or Slang declares, as `wave_sizes` does; None if sizes are given."""
    if options.subgroup_size or _dialect(options) not in ("hlsl", "slang"):
        return None
    defines = dict(shaders.define(text) for text in options.defines)
    return wave_sizes(read(options.shader), options.entry_point, defines)


def _sizes(options: argparse.Namespace, declared: tuple[int, int] | str | None) -> tuple[int, ...] | None:
    """Return the sizes to run: the given ones, or those that the source declares; None for the default."""
    if not isinstance(declared, tuple):
        return options.subgroup_size or None
    return tuple(size for size in CHECK_SIZES if declared[0] <= size <= declared[1]) or None


def _compiler(options: argparse.Namespace, declared: tuple[int, int] | str | None) -> str:
    """Return name and version of the compiler.

    With it, for WGSL how it guards accesses and workgroup memory, for HLSL the declared sizes.
    """
    name = compiler_of(options.shader, options.compiler, options.dialect)
    if name and _dialect(options) == "wgsl":
        robustness, zeros = options.robustness or "off", options.workgroup_zeros or "off"
        name += f"; robustness {robustness}, workgroup zeros {zeros}"
    if name and isinstance(declared, tuple):
        name += f"; [WaveSize] allows sizes {declared[0]} to {declared[1]}"
    elif name and declared:
        name += f"; [WaveSize({declared})] is not understood: give --subgroup-size"
    return name


def command_of(arguments: argparse.Namespace, settings: Settings) -> str:
    """Return the command that repeats a check, without sizes and devices."""
    words = ["vkgroup", "check"]
    if arguments.shader is not None:
        words.append(str(settings.options.shader))
        if arguments.with_file is None:  # one of several in a file of WGSL
            arguments = argparse.Namespace(**vars(arguments))
            arguments.entry_point = settings.options.entry_point
    if arguments.with_file is not None:
        words += ["--with", str(arguments.with_file)]
        words += ["--configuration", settings.name] if settings.name else []
    # A default of the command line replaces a value of the configuration.
    with_defaults = arguments.with_file is not None
    words += words_of(OPTIONS["check"].options, arguments, with_defaults=with_defaults)
    return shlex.join(words)


class ChosenDevices(NamedTuple):
    """The real devices on which shaders also run."""

    devices: list[DeviceInfo]
    left_out: list[str] = []  # noqa: RUF012 (never changed)
    skip_idle: bool = False  # whether one that turns out to execute nothing is left out, too

    @property
    def note(self) -> str:
        """The devices that are left out, in a sentence; empty if there are none."""
        return f"Left out, since they execute nothing: {', '.join(self.left_out)}" if self.left_out else ""


def devices_of(choices: list[str] | None, *, several: bool) -> ChosenDevices:
    """Return the devices of --device or `VKGROUP_DEVICE`, else all.

    Of all, and where `several` shaders are checked, those that execute nothing are left out; the check of one
    shader refuses them.
    """
    if choices is None and os.environ.get("VKGROUP_DEVICE"):
        choices = [os.environ["VKGROUP_DEVICE"]]
    every = choices is None or ALL in choices
    given = [choice for choice in choices or () if choice not in (ALL, "none")]
    found = [select(choice) for choice in given]
    left_out: list[str] = []
    if every:
        found += [device for device in vkgroup.devices().devices if not device.is_reference]
        drivers = Counter(driver.name for driver, _ in fetched_gpus()) if choices else {}
        left_out += [f"{name} ({count} compile-only devices)" for name, count in drivers.items()]
    if every or several:
        left_out += [device.choice for device in found if not device.can_execute]
        found = [device for device in found if device.can_execute]
    return ChosenDevices(found, left_out, every or several)


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
