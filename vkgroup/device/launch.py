"""Start of processes that open a device: an ordinary one, or one with the C library of the driver."""

from __future__ import annotations

import os

from vkgroup.base import processes
from vkgroup.base.errors import NoDevice
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.device.fetched import driver_of
from vkgroup.drivers import CachedDriver
from vkgroup.drivers.cache import AMD_NAMES
from vkgroup.drivers.gpus import Gpu

OWN = "VKGROUP_PROCESS_OF"
"""Environment variable with the choice of the device that a process was started for."""

Launch = tuple[list[str], dict[str, str]]
"""A command, and the environment of its process."""


def launch_of(device: DeviceInfo | None, module: str, *arguments: str) -> Launch:
    """Return the command of a process that runs a module and opens a device; None is an ordinary device.

    Raises NoDevice: the driver is no longer in the cache.
    """
    if device is None or not device.own_process:
        return processes.command(module, *arguments), processes.environment()
    driver, gpu = driver_of(device.choice)
    return launch(driver, gpu, module, *arguments)


def launch(driver: CachedDriver, gpu: Gpu | None, module: str, *arguments: str) -> Launch:
    """Return the command of a process that runs a module with a driver that has its own C library.

    `gpu`: the absent GPU; None for a driver that executes.
    """
    assert driver.start is not None
    environment = {
        **processes.environment(),
        OWN: own_choice(driver, gpu),
        "VKGROUP_LOADER": str(driver.loader),
    }
    if gpu is not None:
        # Shaders are compiled in each process anew: statistics and errors come from the compiler.
        environment["MESA_SHADER_CACHE_DISABLE"] = "true"
        # NVK's compiler is written in Rust: the backtrace of a panic would take the place of its message.
        environment["RUST_BACKTRACE"] = "0"
        if driver.start.variable:
            environment[driver.start.variable] = gpu.value
        if (names := driver.start.libraries / AMD_NAMES).is_file():
            environment["AMDGPU_ASIC_ID_TABLE_PATH"] = str(names)
    return driver.start.command(processes.command(module, *arguments)), environment


def own_choice(driver: CachedDriver, gpu: Gpu | None) -> str:
    """Return the choice of a device that needs its own process: ``radv-26.1.6:navi31``."""
    return f"{driver.name}:{gpu.name}" if gpu else driver.name


def require_own_process(device: DeviceInfo) -> None:
    """Raise NoDevice unless this process was started for the device; see `launch`."""
    if os.environ.get(OWN) == device.choice:
        return
    if device.emulated:
        raise NoDevice(
            f"{device.choice} is emulated, in a process of its own. `vkgroup run`, `check`, `conform` and"
            " `probe` start it, and in Python vkgroup.open(..., isolated=True) does. `bench` refuses it,"
            " because the times of an emulation say nothing about the GPU."
        )
    if not device.is_compile_only:
        raise NoDevice(
            f"{device.choice} has its own C library, because that of this system is too old. This process"
            " cannot load it; the command `vkgroup` starts one that can, and in Python"
            " vkgroup.open(..., isolated=True) does."
        )
    raise compile_only_refusal(device)


def compile_only_refusal(device: DeviceInfo) -> NoDevice:
    """Return the error of work that a compile-only device cannot execute."""
    return NoDevice(
        f"{device.choice} is compile-only: its GPU is absent, and its driver executes nothing. `vkgroup"
        " conform`, `cost`, `probe` and `check --compile-on` accept it. To execute, choose a device of"
        " `vkgroup devices`."
    )
