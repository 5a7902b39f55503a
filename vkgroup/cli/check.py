"""``vkgroup check``: is a compute shader right on every subgroup size?"""

from __future__ import annotations

import argparse
import os
import shlex

import vkgroup
from vkgroup.check import judge
from vkgroup.check.text import lines_of
from vkgroup.cli import output, pairs, shaders
from vkgroup.cli.arguments import seconds
from vkgroup.cli.console import Console
from vkgroup.compiler import COMPILERS, Target
from vkgroup.device import DeviceInfo
from vkgroup.opening import select

_LARGEST = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Is a compute shader right on every subgroup size? Runs it on the reference device at each, with"
        " lanes in order and shuffled, and on the real devices that are present."
    )
    parser.epilog = (
        "B is a binding's name, its number in set 0, or SET.NUMBER. Exit codes: 0 nothing found, 1 something,"
        " 2 bad usage or input, 3 missing capability. What is found and compared, what is made up, and the"
        " fields of the JSON: docs/check.md."
    )
    shaders.add_arguments(parser)
    _add_where(parser.add_argument_group("where it runs"))
    _add_inputs(parser.add_argument_group("what it works on", "What is not given is made up."))
    parser.add_argument("--json", metavar="F", help="write everything as JSON; - is standard output")


def _add_where(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--subgroup-size",
        metavar="N[,N]…",
        type=_sizes,
        help=f"sizes to try (default: {', '.join(map(str, judge.SIZES))}, and those of the devices)",
    )
    group.add_argument(
        "--device",
        metavar="D",
        dest="devices",
        action="append",
        help="run on this device as well; may be repeated; none: only on the reference device"
        " (default: VKGROUP_DEVICE, else all)",
    )
    group.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        default=judge.TIMEOUT,
        help=f"seconds that one run may take (default: {judge.TIMEOUT:g})",
    )
    group.add_argument(
        "--step-limit",
        metavar="N",
        type=_positive,
        default=judge.STEP_LIMIT,
        help=f"rounds after which a loop hangs (default: {judge.STEP_LIMIT})",
    )


def _add_inputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--groups", metavar="X[,Y[,Z]]", type=_groups, help="workgroups in each dimension (default: several)"
    )
    pairs.add_inputs(group)
    group.add_argument(
        "--out",
        dest="outputs",
        metavar="B",
        action="append",
        default=[],
        help="a binding whose contents are undefined before the run",
    )
    pairs.add_constants(group)
    group.add_argument(
        "--seed",
        metavar="N",
        type=_natural,
        default=0,
        help="of what is made up, and of the shuffled lanes (default: 0)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    arguments.debug = True
    compiled = arguments.shader.suffix in (".spv", ".spvasm")
    report = judge.check(
        shaders.load(arguments, Target.VULKAN_1_4 if compiled else judge.TARGET),
        sizes=arguments.subgroup_size,
        groups=arguments.groups,
        inputs=pairs.arrays(arguments.inputs),
        outputs=[pairs.key(name) for name in arguments.outputs],
        push={name: pairs.values(text) for name, text in arguments.push},
        specialization={pairs.constant(name): pairs.value(text) for name, text in arguments.spec},
        entry_point=arguments.entry_point,
        seed=arguments.seed,
        devices=_devices(arguments.devices),
        timeout=arguments.timeout,
        step_limit=arguments.step_limit,
        name=str(arguments.shader),
        command=_command(arguments),
    )
    console = Console(file=output.people(arguments.json), highlight=False)
    for line in lines_of(report):
        console.print(line, soft_wrap=True)
    output.write_json(report.to_json(), arguments.json)
    if report.interrupted is not None:
        report.interrupted.add_note("what was found until then is above: run the command again for the rest")
        raise report.interrupted
    return 1 if report.findings else 0


def _devices(choices: list[str] | None) -> list[DeviceInfo]:
    """Return the real devices to run on: those chosen here or by `VKGROUP_DEVICE`, or all that work."""
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
    if arguments.groups:
        words += ["--groups", ",".join(map(str, arguments.groups))]
    if arguments.seed:
        words += ["--seed", str(arguments.seed)]
    if arguments.step_limit != judge.STEP_LIMIT:
        words += ["--step-limit", str(arguments.step_limit)]
    return shlex.join(words)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _positive(text: str) -> int:
    number = _natural(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _groups(text: str) -> tuple[int, ...]:
    numbers = tuple(_positive(word) for word in text.split(","))
    if len(numbers) > 3:
        raise argparse.ArgumentTypeError("one to three numbers, as in 4 or 8,8")
    return numbers


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(_natural(word) for word in text.split(","))
    if any(not 1 <= size <= _LARGEST or size & (size - 1) for size in sizes):
        raise argparse.ArgumentTypeError(f"subgroup sizes are powers of two from 1 to {_LARGEST}")
    return sizes
