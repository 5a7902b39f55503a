"""Multi-device runs: choose the devices, group them by model, and divide the workers among them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.device.fetched import expand
from vkgroup.workers.opening import devices, select
from vkgroup.workers.pool import default_jobs
from vkgroup.workers.scheduler import BatchScheduler, LocalScheduler, model_of, read_capabilities

ALL = "all"
"""Chooses every GPU, or, if there is none, every software driver's device."""

NO_UUID = "0" * 32
"""The UUID of drivers that do not tell their devices apart."""


@dataclass(frozen=True)
class RunTarget:
    """One of several runs that are made at the same time."""

    name: str  # the devices, for people
    folder: str  # a name for the run's folder, unique among the targets
    device: DeviceInfo  # the device, or the first of those that share the run
    scheduler: BatchScheduler  # distributes the run's batches


def is_several(choice: str | None) -> bool:
    """Return whether a ``--device`` chooses several devices: ``all``, a list with commas, or a glob.

    Names of devices may have commas, too; a text that chooses one device as a whole is not a list.
    """
    if choice is None:
        return False
    if "," not in choice:
        return choice.strip().lower() == ALL or expand(choice) != [choice]
    try:
        select(choice)
    except (NoDevice, InvalidInput):  # InvalidInput: reference:32,reference:64
        return True
    return False


def choose(choice: str, *, compile_only: bool = False) -> list[DeviceInfo]:
    """Return the devices of a choice, in its order: ``all``, a list with commas and globs, or one device.

    `compile_only`: as for `select`.
    """
    if not is_several(choice):
        return [select(choice, compile_only=compile_only)]
    if choice.strip().lower() != ALL:
        parts = [part.strip() for part in choice.split(",") if part.strip()]
        return [select(one, compile_only=compile_only) for part in parts for one in expand(part)]
    discovery = devices()
    gpus = [device for device in discovery.devices if device.is_gpu]
    chosen = _without_duplicates(gpus) or [device for device in discovery.devices if not device.is_reference]
    if not chosen:
        raise NoDevice(
            f"--device all: no Vulkan device was found. {discovery.problem} Fetch a software "
            "driver (`vkgroup drivers fetch swiftshader`), or install your GPU's; "
            "`vkgroup devices` lists all devices."
        )
    return chosen


def _without_duplicates(gpus: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """Return GPUs without those that one driver lists twice, through two manifests."""
    unique: dict[tuple[object, ...], DeviceInfo] = {}
    for gpu in gpus:
        identity = (gpu.uuid, gpu.driver_name) if gpu.uuid not in ("", NO_UUID) else (gpu.manifest, gpu.index)
        unique.setdefault(identity, gpu)
    return list(unique.values())


def targets(
    members: Sequence[DeviceInfo],
    jobs: int | None = None,
    *,
    each: bool = False,
    read: Callable[[DeviceInfo], Capabilities] = read_capabilities,
) -> list[RunTarget]:
    """Return the runs for devices: one for all that are the same model.

    `jobs`: worker processes of all runs together; by default the number that suits this machine. Every device
    has its part, one at least.
    `each`: make a separate run for every device.
    `read`: reads a device's capabilities.
    """
    jobs_each = max(1, (jobs or default_jobs(len(members))) // len(members))
    known = {device: read(device) for device in dict.fromkeys(members)}
    groups: dict[object, list[DeviceInfo]] = {}
    for number, device in enumerate(members):
        build = device.manifest if device.gpu else ""  # builds of a driver are compared
        groups.setdefault(number if each else (build, model_of(known[device])), []).append(device)
    made: list[RunTarget] = []
    names = run_names([group[0] for group in groups.values()])
    for group, one, folder in zip(groups.values(), names, unique_slugs(names), strict=True):
        first = group[0]
        name = one if len(group) == 1 else f"{len(group)} × {one}"
        made.append(RunTarget(name, folder, first, LocalScheduler(group, jobs_each, known[first])))
    return made


def run_names(members: Sequence[DeviceInfo]) -> list[str]:
    """Return a name for the run of each device.

    It is the device's own; its choice if several versions of a driver give an absent GPU the same name.
    """
    number = Counter(device.name for device in members)
    return [device.choice if device.gpu and number[device.name] > 1 else device.name for device in members]


def slug(name: str) -> str:
    """Return a device's name as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "device"


def unique_slugs(names: Sequence[str]) -> list[str]:
    """Return a folder name for each device; those with the same name are numbered from the second on."""
    made: list[str] = []
    for name in map(slug, names):
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        made.append(next(folder for folder in itertools.chain([name], numbered) if folder not in made))
    return made
