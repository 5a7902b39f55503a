"""Inspection of one ICD in its own process: ``python -m vkgroup.device.inspect MANIFEST NAME [GPU]``.

GPU is the name of an absent GPU that the driver compiles for; it is empty for a driver that executes and has
its own C library.

The report goes to standard output as one line of JSON. Whatever the driver itself prints there is sent
to standard error, and what it does to the process affects no other process.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

from vkgroup.base.errors import VkgroupError
from vkgroup.device.capabilities import DeviceInfo, named_after
from vkgroup.device.instance import VulkanInstance
from vkgroup.device.manifests import preload, read_manifest
from vkgroup.device.query import read_capabilities

_ENTRIES = ("vk_icdGetInstanceProcAddr", "vk_icdNegotiateLoaderICDInterfaceVersion")


def inspect(path: Path, name: str, gpu: str | None = None) -> dict[str, Any]:
    """Report how far a driver gets from its manifest to its devices: status, message, library, devices."""
    manifest = read_manifest(path, name)
    report: dict[str, Any] = {"status": "ok", "message": "", "library": manifest.library, "devices": []}
    declarations: list[dict[str, Any]] = []
    if manifest.problem:
        return report | {"status": "manifest", "message": manifest.problem}
    try:
        preload(path)
        # As the Vulkan loader would, to learn the dynamic linker's own reason.
        library = manifest.library
        try:
            loaded = ctypes.CDLL(library)
        except OSError as error:
            message = f"the library {library} does not load: {error}"
            return report | {"status": "library", "message": message}
        if not any(hasattr(loaded, entry) for entry in _ENTRIES):
            message = f"the library {library} loads, but is no Vulkan driver (it lacks {_ENTRIES[0]})"
            return report | {"status": "not_a_driver", "message": message}
        instance, devices = VulkanInstance(path, validate=False), []
        for index, physical in enumerate(instance.physical_devices()):
            declared = read_capabilities(instance.functions, physical, instance.version)
            capabilities = named_after(gpu or "", declared)
            info = DeviceInfo.of(str(path), name, index, capabilities, gpu or "", gpu is not None)
            devices.append(dataclasses.asdict(info))
            declarations.append(capabilities.to_json())
    except VkgroupError as error:
        return report | {"status": "instance", "message": str(error)}
    if not devices:
        return report | {
            "status": "no_devices",
            "message": "the driver loads, but finds no device of its own",
        }
    # Only the caller for a driver with its own C library reads them, and they are long.
    return report | {"devices": devices, "declarations": declarations if gpu is not None else []}


def main() -> None:
    """Inspect the ICD named on the command line, then exit without running the driver's clean-up."""
    answer = os.dup(1)
    os.dup2(2, 1)
    report = inspect(Path(sys.argv[1]), *sys.argv[2:])
    os.write(answer, json.dumps(report).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main()
