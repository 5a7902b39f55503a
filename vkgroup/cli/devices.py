"""``vkgroup devices``: list all devices, and all drivers with their status."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from vkgroup.cli.output import people, table, write_json
from vkgroup.cli.progress import working
from vkgroup.device import Discovery
from vkgroup.device.fetched import fetched_gpus, own_drivers
from vkgroup.drivers import CachedDriver
from vkgroup.drivers.gpus import Gpu, is_emulated
from vkgroup.workers.opening import devices as find_devices


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return 0, because the reference device always exists."""
    with working("asking all drivers for their devices"):
        discovery = find_devices()
    stream, wide = people(arguments.json), arguments.wide
    print(f"Loader: {discovery.loader or discovery.problem}", file=stream)
    rows = [["", "#", "device", *["type"] * wide, "Vulkan", "subgroup", *["driver"] * wide, "version"]]
    for index, device in enumerate(discovery.devices):
        rows.append(
            [
                "*" if device == discovery.default else "",
                str(index),
                device.name,
                *[device.type.replace("_", " ")] * wide,
                "none" if device.is_reference else ".".join(map(str, device.api_version)),
                str(device.subgroup_size or "none"),
                *[f"{device.driver_name} {device.driver_info}".strip()] * wide,
                device.driver_version or "unknown",
            ]
        )
    table(rows, stream)
    print("* is the default; --device takes the number, part of a name, or the driver's", file=stream)
    print("file; reference:64 is the reference device with subgroups of 64.", file=stream)
    if names := own_drivers():
        print("Drivers with their own C library, for workers and commands:", file=stream)
        print(f"  {', '.join(names)}", file=stream)
    compile_only = fetched_gpus()
    for title, emulated in (
        ("Emulated: absent GPUs whose compute shaders are executed, slowly and exactly:", True),
        ("Compile only: drivers that compile for absent GPUs and execute nothing:", False),
    ):
        absent = [pair for pair in compile_only if is_emulated(pair[1]) == emulated]
        if absent:
            print(title, file=stream)
            rows = [["  device", "GPU", *["driver"] * wide, "products"]]
            rows += [
                [f"  {gpu.choice}", gpu.generation, *[driver.name] * wide, gpu.products]
                for driver, gpu in absent
            ]
            table(rows, stream)
    icds = [icd for icd in discovery.icds if icd.manifest]
    if icds:
        print("Drivers (ICDs):", file=stream)
        states = ((icd.status, f"{icd.manifest}: {icd.message}".removesuffix(": ")) for icd in icds)
        table([[f"  {status}", text] for status, text in states], stream)
    if all(device.is_reference for device in discovery.devices):
        print(
            "There is no Vulkan device. Fetch a software driver with `vkgroup drivers fetch swiftshader`.",
            file=stream,
        )
    write_json(_data(discovery, compile_only), arguments.json)
    return 0


def _data(discovery: Discovery, compile_only: Sequence[tuple[CachedDriver, Gpu]]) -> dict[str, object]:
    default = discovery.default
    devices = discovery.devices
    return {
        "loader": discovery.loader or None,
        "default": devices.index(default) if default is not None else None,
        "devices": [
            {"number": number, **asdict(device), "driver_version": device.driver_version}
            for number, device in enumerate(devices)
        ],
        "icds": [
            {name: getattr(icd, name) for name in ("manifest", "name", "library", "status", "message")}
            | {"devices": [devices.index(device) for device in icd.devices]}
            for icd in discovery.icds
            if icd.manifest
        ],
        "own_c_library": own_drivers(),
        "compile_only": [
            {
                "device": gpu.choice,
                "generation": gpu.generation,
                "products": gpu.products,
                "driver": driver.name,
                "emulated": is_emulated(gpu),
            }
            for driver, gpu in compile_only
        ],
    }
