"""``vkgroup probe`` of GPUs that are not there: what their drivers declare, for one GPU or side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.text import Text

from vkgroup.cli.console import Console
from vkgroup.cli.output import table
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.drivers.gpus import GPUS, Gpu
from vkgroup.probe.declared import declared
from vkgroup.runner.describe import describe
from vkgroup.spec.categories import KHR_CATEGORIES

NOTHING_RAN = "These are declarations of the driver. Nothing was run: the GPU is not there."

_TYPES = {
    "int8": "shaderInt8",
    "int16": "shaderInt16",
    "int64": "shaderInt64",
    "float16": "shaderFloat16",
    "float64": "shaderFloat64",
}


def capabilities_of(devices: Sequence[DeviceInfo]) -> dict[str, Capabilities]:
    """Return what the drivers declare, by the devices' choices."""
    return {device.choice: describe(device) for device in devices}


def gpu_of(device: DeviceInfo) -> Gpu:
    """Return the GPU of a device in the table of GPUs."""
    return next(gpu for gpu in GPUS if gpu.name == device.gpu and device.icd.startswith(f"{gpu.family}-"))


def print_table(devices: Sequence[DeviceInfo], known: Mapping[str, Capabilities], console: Console) -> None:
    """Print one line for each GPU: subgroup sizes, operations, stages and types."""
    rows = [["device", "GPU", *_COLUMNS]]
    for device in devices:
        capabilities = known[device.choice]
        gpu = gpu_of(device)
        rows.append([gpu.choice, gpu.generation, *(tell(capabilities) for tell in _COLUMNS.values())])
    table(rows, console.file)
    console.print(Text(NOTHING_RAN.replace("the GPU is", "the GPUs are"), style="dim"))


def sections_of(capabilities: Capabilities) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the titles and lines of what a driver declares."""
    return [(section.title, section.lines) for section in declared(capabilities)]


def _sizes(capabilities: Capabilities) -> str:
    control, size = capabilities.size_control, capabilities.subgroup.size
    if not size:
        return "unknown"
    if not control.supported or control.min_size == control.max_size:
        return str(size)
    return f"{control.min_size} to {control.max_size}"


def _operations(capabilities: Capabilities) -> str:
    has = set(capabilities.subgroup.supported_operations)
    lacking = [category.value for category in KHR_CATEGORIES if category.value not in has]
    if not has:
        return "none"
    return "all" if not lacking else "all but " + ", ".join(lacking).replace("_", " ")


def _stages(capabilities: Capabilities) -> str:
    return str(len(capabilities.subgroup.supported_stages))


def _types(capabilities: Capabilities) -> str:
    if "shaderSubgroupExtendedTypes" not in capabilities.features:
        return "32 bits"
    return ", ".join(name for name, feature in _TYPES.items() if feature in capabilities.features)


_COLUMNS: dict[str, Callable[[Capabilities], str]] = {
    "Vulkan": lambda capabilities: ".".join(map(str, capabilities.api_version[:2])),
    "subgroup sizes": _sizes,
    "operations": _operations,
    "stages": _stages,
    "further types": _types,
}
"""Columns of the table of several GPUs."""
