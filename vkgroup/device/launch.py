"""Start of processes that open a device: an ordinary one, or one with the C library of the driver."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

from vkgroup import drivers, processes
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.drivers import Driver
from vkgroup.drivers.cache import version_key
from vkgroup.drivers.gpus import Gpu, gpus_of
from vkgroup.errors import NoDevice

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


def launch(driver: Driver, gpu: Gpu | None, module: str, *arguments: str) -> Launch:
    """Return the command of a process that runs a module with a driver that has its own C library.

    `gpu`: the absent GPU; None for a driver that executes.
    """
    assert driver.start is not None
    environment = {
        **processes.environment(),
        OWN: f"{driver.name}:{gpu.name}" if gpu else driver.name,
        "VKGROUP_LOADER": str(driver.loader),
    }
    if gpu is not None:
        # Shaders are compiled in each process anew: statistics and errors come from the compiler.
        environment["MESA_SHADER_CACHE_DISABLE"] = "true"
        # NVK's compiler is written in Rust: the backtrace of a panic would take the place of its message.
        environment["RUST_BACKTRACE"] = "0"
        if driver.start.variable:
            environment[driver.start.variable] = gpu.value
    return driver.start.command(processes.command(module, *arguments)), environment


def require_own_process(device: DeviceInfo) -> None:
    """Raise NoDevice unless this process was started for the device; see `launch`."""
    if os.environ.get(OWN) == device.choice:
        return
    if not device.is_compile_only:
        raise NoDevice(
            f"{device.choice} has its own C library, because that of this system is too old. This process"
            " cannot load it; the command `vkgroup` starts one that can, and in Python"
            " vkgroup.open(..., isolated=True) does."
        )
    raise NoDevice(
        f"{device.choice} is compile-only: its GPU is absent, and its driver executes nothing. `vkgroup"
        " conform`, `cost` and `probe` accept it. To execute, choose a device of `vkgroup devices`."
    )


def driver_of(choice: str) -> tuple[Driver, Gpu | None]:
    """Return driver and GPU of a choice such as ``radv:navi31``; None for the GPU of ``lavapipe-26.1.6``.

    Raises NoDevice: the driver is not in the cache, or does not know the GPU; the message says what to do.
    """
    name, colon, word = choice.lower().partition(":")
    family, _ = drivers.parse_name(name)
    if not colon:
        return drivers.path(name), None
    gpu = next((gpu for gpu in gpus_of(family.name) if gpu.name == word), None)
    if gpu is None:
        known = ", ".join(gpu.name for gpu in gpus_of(family.name))
        raise NoDevice(f"{family.name} has no GPU {word!r}. It compiles for {known}.")
    driver = drivers.path(name)
    if not _knows(driver, gpu):
        raise NoDevice(f"{driver.name} does not know {gpu.name}: it needs version {gpu.since} or newer.")
    return driver, gpu


def _knows(driver: Driver, gpu: Gpu) -> bool:
    """Return whether a driver of the GPU's family has a version that compiles for the GPU."""
    return version_key(driver.version) >= version_key(gpu.since)


def gpu_of(device: DeviceInfo) -> Gpu:
    """Return the GPU of a compile-only device."""
    gpu = driver_of(device.choice)[1]
    assert gpu is not None
    return gpu


def fetched_gpus() -> list[tuple[Driver, Gpu]]:
    """Return the GPUs that the drivers in the cache compile for; of several versions the newest driver's."""
    newest: dict[str, Driver] = {}
    for driver in _compile_only_drivers():
        newest.setdefault(driver.family, driver)
    return _gpus_of(newest.values())


def _compile_only_drivers() -> list[Driver]:
    return [driver for driver in drivers.installed() if driver.is_compile_only]


def _gpus_of(chosen: Iterable[Driver]) -> list[tuple[Driver, Gpu]]:
    return [(driver, gpu) for driver in chosen for gpu in gpus_of(driver.family) if _knows(driver, gpu)]


def representatives() -> list[str]:
    """Return the choices of the first GPU of each generation that the fetched drivers compile for."""
    first: dict[tuple[str, str], str] = {}
    for driver, gpu in fetched_gpus():
        first.setdefault((gpu.family, gpu.generation), f"{driver.name}:{gpu.name}")
    return list(first.values())


def expand(choice: str) -> list[str]:
    """Return the choices of a glob over absent GPUs, such as ``radv:navi*``; else the choice alone.

    The part before the colon is matched with the names of drivers without their version, which chooses the
    newest ones (``*:navi*``), or with it (``radv-25.0.7:navi*``, ``radv-*:navi31``).

    Raises NoDevice: no GPU of the fetched drivers matches.
    """
    name, colon, pattern = choice.strip().lower().partition(":")
    if not colon or not any(letter in choice for letter in "*?["):
        return [choice]
    known = [(driver, gpu) for driver, gpu in fetched_gpus() if fnmatchcase(gpu.family, name)] or _gpus_of(
        driver for driver in _compile_only_drivers() if fnmatchcase(driver.name, name)
    )
    chosen = [f"{driver.name}:{gpu.name}" for driver, gpu in known if fnmatchcase(gpu.name, pattern)]
    if not chosen:
        names = ", ".join(dict.fromkeys(gpu.choice for _, gpu in known)) or _no_driver(name)
        raise NoDevice(f"No GPU of the fetched drivers matches {choice!r}. There are {names}.")
    return chosen


def _no_driver(name: str) -> str:
    """Return what to do if no compile-only driver in the cache has this name, which may be a glob."""
    fetched = ", ".join(driver.name for driver in _compile_only_drivers())
    if not fetched:
        return "none: fetch them with `vkgroup drivers fetch radv`"
    return f"those of {fetched}; `vkgroup drivers list` shows which others can be fetched"


def own_drivers() -> list[str]:
    """Return the names of the drivers in the cache that have their own C library and execute."""
    return [
        driver.name
        for driver in drivers.installed()
        if driver.start is not None and not driver.is_compile_only
    ]


def needs_own_process(choice: str) -> bool:
    """Return whether a choice names a driver in the cache that has its own C library and executes."""
    return choice.lower() in own_drivers()


def is_compile_only(choice: str) -> bool:
    """Return whether a choice names an absent GPU, whether or not its driver was fetched."""
    name, colon, _ = choice.partition(":")
    family = name.partition("-")[0].lower()
    return bool(colon) and bool(gpus_of(family))
