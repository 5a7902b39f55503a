"""Absent GPUs that execute by emulation: which they are, and the emulation of this process."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from vkgroup.base.errors import NoDevice
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.device.fetched import driver_of, is_compile_only
from vkgroup.device.launch import OWN, require_own_process
from vkgroup.device.manifests import read_manifest
from vkgroup.drivers.gpus import is_emulated

if TYPE_CHECKING:
    from vkgroup.amd.emulation import Emulation

_started: dict[str, Emulation] = {}


def emulated(device: DeviceInfo) -> DeviceInfo:
    """Return a device that executes where this one only compiles, if its GPU is emulated; else itself."""
    gpu = driver_of(device.choice)[1] if device.is_compile_only else None
    return replace(device, emulated=True) if gpu is not None and is_emulated(gpu) else device


def emulates_here() -> bool:
    """Return whether this process was started for an emulated GPU."""
    choice = os.environ.get(OWN, "")
    gpu = driver_of(choice)[1] if is_compile_only(choice) else None
    return gpu is not None and is_emulated(gpu)


def started_emulation(device: DeviceInfo) -> Emulation:
    """Return the emulation of this process, which was started for the device.

    Raises NoDevice: the process was started for another device, or the driver is not emulated.
    """
    # Imported here, because other devices need no emulation.
    from vkgroup.amd.emulation import Emulation
    from vkgroup.amd.errors import EmulationError

    require_own_process(device)
    if device.choice not in _started:
        driver, gpu = driver_of(device.choice)
        assert gpu is not None
        # The library is loaded before its calls are replaced; the loader of Vulkan finds it loaded.
        library = read_manifest(driver.icd).library
        try:
            ctypes.CDLL(library)
            _started[device.choice] = Emulation(gpu.llvm, driver.loader.parent)
        except (OSError, EmulationError) as error:
            raise NoDevice(f"{device.choice} is not supported: {driver.package}: {error}") from None
    return _started[device.choice]
