"""``vkgroup probe`` of compile-only devices: declarations of one driver, or a table of several GPUs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from rich.table import Table

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.console import Console
from vkgroup.cli.output import write_json
from vkgroup.cli.probe_tables import print_declared
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.device.discovery import inspect_in_own_process
from vkgroup.device.fetched import gpu_of, labels, newest_names, without_builds
from vkgroup.probe import Probe
from vkgroup.spec.categories import KHR_CATEGORIES
from vkgroup.workers.multi_device import choose

NOTHING_RAN = "These are declarations of the driver. Nothing was run: the GPU is absent."

_TYPES = {
    "int8": "shaderInt8",
    "int16": "shaderInt16",
    "int64": "shaderInt64",
    "float16": "shaderFloat16",
    "float64": "shaderFloat64",
}

_GRAPHICS = ("vertex", "tessellation_control", "tessellation_evaluation", "geometry", "fragment")
_RAYS = ("raygen", "any_hit", "closest_hit", "miss", "intersection", "callable")
_STAGES = {"graphics": _GRAPHICS, "compute": ("compute",), "mesh": ("task", "mesh"), "rays": _RAYS}
"""Words for stages that most devices declare together."""


def chosen_compile_only(choice: str) -> list[DeviceInfo]:
    """Return the compile-only devices of a choice of several; InvalidInput if others are among them."""
    devices = choose(choice, compile_only=True)
    others = [device.name for device in devices if not device.is_compile_only]
    if others:
        raise InvalidInput(
            f"--device {choice}: `vkgroup probe` takes several devices only if they are compile-only;"
            f" {others[0]} executes. Probe it alone."
        )
    return devices


def execute(arguments: argparse.Namespace, devices: Sequence[DeviceInfo], console: Console) -> int:
    """Print what the drivers of compile-only devices declare; return the exit code."""
    known = [inspect_in_own_process(device.choice) for device in devices]
    if len(known) == 1:
        print_declared(known[0][1], console)
        console.print()
        console.write_line(NOTHING_RAN)
        write_json(_data(*known[0]), arguments.json)
    else:
        _print_table(known, arguments.json)
        write_json([_data(*pair) for pair in known], arguments.json)
    return 1 if any(capabilities.minimum_promises() for _, capabilities in known) else 0


def _data(device: DeviceInfo, capabilities: Capabilities) -> dict[str, object]:
    """Return a probe without experiments, with the device's choice and its row of the table of GPUs."""
    gpu = gpu_of(device)
    declared = Probe(capabilities, {}, False).to_json()
    declared["device"] |= {
        "choice": device.choice,
        "compile_only": True,
        "generation": gpu.generation,
        "products": gpu.products,
    }
    return declared


def _print_table(known: Sequence[tuple[DeviceInfo, Capabilities]], json_file: str | None) -> None:
    """Print one line for each GPU: subgroup sizes, operations, stages and types."""
    console = Console.for_people(json_file, 140)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("device", "generation", *_COLUMNS):
        table.add_column(name, no_wrap=name in ("device", "sizes"))
    names, builds = without_builds(labels([device.choice for device, _ in known], newest_names()))
    for device, capabilities in known:
        cells = (tell(capabilities) for tell in _COLUMNS.values())
        table.add_row(names[device.choice], gpu_of(device).generation, *cells)
    console.print(table)
    for line in builds:
        console.write_line(line)
    console.write_line(NOTHING_RAN.replace("the GPU is", "the GPUs are"))


def _sizes(capabilities: Capabilities) -> str:
    control, size = capabilities.size_control, capabilities.subgroup.size
    if not size:
        return "none"
    if not control.supported or control.min_size == control.max_size:
        return str(size)
    return f"{control.min_size} to {control.max_size}"


def _operations(capabilities: Capabilities) -> str:
    has = set(capabilities.subgroup.supported_operations)
    lacking = [category.value for category in KHR_CATEGORIES if category.value not in has]
    if not has:
        return "none"
    further = ", ".join(sorted(name for name in has if name.startswith(("rotate", "partitioned"))))
    text = "all" if not lacking else "all but " + ", ".join(lacking)
    return f"{text}, {further}".rstrip(", ").replace("_", " ")


def _stages(capabilities: Capabilities) -> str:
    rest = list(capabilities.subgroup.supported_stages)
    words = []
    for word, stages in _STAGES.items():
        if set(stages) <= set(rest):
            words.append(word)
            rest = [stage for stage in rest if stage not in stages]
    return ", ".join([*words, *rest]).replace("_", " ") or "none"


def _types(capabilities: Capabilities) -> str:
    if "shaderSubgroupExtendedTypes" not in capabilities.features:
        return "none"
    return ", ".join(name for name, feature in _TYPES.items() if feature in capabilities.features) or "none"


_COLUMNS: dict[str, Callable[[Capabilities], str]] = {
    "Vulkan": lambda capabilities: ".".join(map(str, capabilities.api_version[:2])),
    "sizes": _sizes,
    "operations": _operations,
    "stages": _stages,
    "types besides 32 bits": _types,
}
"""Columns of the table of several GPUs."""
