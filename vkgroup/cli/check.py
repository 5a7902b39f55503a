"""``vkgroup check``: check a compute or fragment shader on every subgroup size."""

from __future__ import annotations

import argparse
import os
import shlex

import vkgroup
from vkgroup.check import Guarantees, checking
from vkgroup.check.findings import Report, lines_of
from vkgroup.choices import CHECK_STEP_LIMIT, SOURCE_DIALECTS
from vkgroup.cli import output, pairs, shaders
from vkgroup.cli.console import Console
from vkgroup.compiler import COMPILERS, Target
from vkgroup.device import DeviceInfo
from vkgroup.errors import InvalidInput
from vkgroup.opening import select
from vkgroup.spirv import Module


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    arguments.debug = True
    compiled = arguments.shader.suffix in (".spv", ".spvasm")
    module = shaders.load(arguments, Target.VULKAN_1_4 if compiled else checking.TARGET)
    stages = {entry.stage for entry in module.reflection.entry_points}
    if arguments.repro is not None and "fragment" in stages:
        raise InvalidInput("--repro supports compute shaders only.")
    devices = _devices(arguments.devices)
    report = checking.check(
        module,
        sizes=arguments.subgroup_size,
        groups=arguments.groups,
        size=arguments.size,
        inputs=pairs.arrays(arguments.inputs),
        outputs=[pairs.key(name) for name in arguments.outputs],
        push={name: pairs.values(text) for name, text in arguments.push},
        specialization={pairs.constant(name): pairs.value(text) for name, text in arguments.spec},
        entry_point=arguments.entry_point,
        seed=arguments.seed,
        devices=devices,
        timeout=arguments.timeout,
        step_limit=arguments.step_limit,
        host=_guarantees(arguments),
        name=str(arguments.shader),
        command=_command(arguments),
        compiler=checking.compiler_of(arguments.shader, arguments.compiler, arguments.dialect),
    )
    console = Console(file=output.people(arguments.json), highlight=False)
    for line in lines_of(report):
        console.print(line, soft_wrap=True)
    output.write_json(report.to_json(), arguments.json)
    if arguments.repro is not None:
        _make_folder(arguments, module, report, devices)
        console.print(
            f"Reproduce it on any host: vkgroup run {shlex.quote(str(arguments.repro))}", soft_wrap=True
        )
    if report.interrupted is not None:
        report.interrupted.add_note("partial results are above: run the command again for all of them")
        raise report.interrupted
    report.require_verdict()
    return 1 if report.findings else 0


def _make_folder(
    arguments: argparse.Namespace, module: Module, report: Report, devices: list[DeviceInfo]
) -> None:
    """Write the reproduction folder of ``--repro``."""
    # Imported here, because only --repro needs the suite.
    from vkgroup.results.reproduction.findings import Checked, make_check

    how = Checked(
        dialect=arguments.dialect or SOURCE_DIALECTS.get(arguments.shader.suffix),
        defines=dict(shaders.define(text) for text in arguments.defines),
        entry_point=arguments.entry_point,
        outputs=[pairs.key(name) for name in arguments.outputs],
        push={name: pairs.values(text) for name, text in arguments.push},
        specialization={pairs.constant(name): pairs.value(text) for name, text in arguments.spec},
        seed=arguments.seed,
        step_limit=arguments.step_limit,
        local_size=arguments.local_size,
        host=_guarantees(arguments),
    )
    make_check(arguments.repro, module, report, how, devices[0] if devices else None)


def _guarantees(arguments: argparse.Namespace) -> Guarantees:
    return Guarantees(
        full_subgroups=arguments.full_subgroups,
        linear_lanes=arguments.lanes == "linear",
        size_control=arguments.size_control,
    )


def _devices(choices: list[str] | None) -> list[DeviceInfo]:
    """Return the real devices to run on: those of --device or `VKGROUP_DEVICE`, else all that work."""
    if choices is None and os.environ.get("VKGROUP_DEVICE"):
        return [select()]
    if choices is None:
        return [device for device in vkgroup.devices().devices if not device.is_reference]
    return [select(choice) for choice in choices if choice != "none"]


_REPEATED = (
    ("-D", "defines"),
    ("-I", "include_paths"),
    ("--stage", "stage"),
    ("--dialect", "dialect"),
    ("--optimize", "optimize"),
    ("--in", "inputs"),
    ("--out", "outputs"),
    ("--push", "push"),
    ("--spec", "spec"),
)


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that repeats this one, without sizes and devices."""
    words = ["vkgroup", "check", str(arguments.shader)]
    for option, name in _REPEATED:
        given = getattr(arguments, name)
        for entry in given if isinstance(given, list) else [given] if given else []:
            words += [option, "=".join(entry) if isinstance(entry, tuple) else str(entry)]
    if arguments.entry_point != "main":
        words += ["--entry-point", arguments.entry_point]
    if arguments.compiler != COMPILERS[0]:
        words += ["--compiler", arguments.compiler]
    if arguments.local_size:
        words += ["--local-size", ",".join(map(str, arguments.local_size))]
    if arguments.register_shift:
        shifts = ",".join(f"{name}={shift}" for name, shift in arguments.register_shift.items())
        words += ["--register-shift", shifts]
    if arguments.groups:
        words += ["--groups", ",".join(map(str, arguments.groups))]
    if arguments.size:
        words += ["--size", ",".join(map(str, arguments.size))]
    if arguments.seed:
        words += ["--seed", str(arguments.seed)]
    words += ["--full-subgroups"] * arguments.full_subgroups
    words += ["--lanes", arguments.lanes] if arguments.lanes != "any" else []
    words += ["--no-size-control"] * (not arguments.size_control)
    if arguments.step_limit != CHECK_STEP_LIMIT:
        words += ["--step-limit", str(arguments.step_limit)]
    return shlex.join(words)
