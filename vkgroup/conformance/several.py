"""Several devices at once: which, which of them share a run, and how workers are divided among them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vkgroup.conformance.crew import Crew, Together, model_of, read_capabilities
from vkgroup.conformance.run import default_jobs
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import InvalidInput, NoDevice
from vkgroup.opening import devices, select

ALL = "all"
"""The choice of every GPU, or, where there is none, of every software driver's device."""

NO_UUID = "0" * 32
"""What a driver reports that does not tell its devices apart."""


@dataclass(frozen=True)
class Target:
    """One run of several that are made at once.

    Attributes
    ----------
    name : the devices, for people.
    folder : a name for the run's folder, unique among the targets.
    device : the device, or the first of those that share the run.
    crew : judges the run.
    """

    name: str
    folder: str
    device: DeviceInfo
    crew: Crew


def is_several(choice: str | None) -> bool:
    """Whether a ``--device`` stands for several devices: ``all``, or a list with commas.

    Names of devices may have commas too; what chooses a device as a whole is no list.
    """
    if choice is None or "," not in choice:
        return choice is not None and choice.strip().lower() == ALL
    try:
        select(choice)
    except (NoDevice, InvalidInput):  # the latter of reference:32,reference:64
        return True
    return False


def choose(choice: str) -> list[DeviceInfo]:
    """Return the devices that a choice stands for, in their order: ``all``, a list with commas, or one.

    Raises
    ------
    NoDevice
        One of the list fits no device, or there is no Vulkan device at all.
    """
    if not is_several(choice):
        return [select(choice)]
    if choice.strip().lower() != ALL:
        return [select(part) for part in choice.split(",") if part.strip()]
    found = devices()
    gpus = [device for device in found.devices if device.is_gpu]
    chosen = _once_each(gpus) or [device for device in found.devices if not device.is_reference]
    if not chosen:
        raise NoDevice(
            f"--device all: no Vulkan device was found. {found.problem} Fetch a software driver (`vkgroup "
            "drivers fetch swiftshader`), or install your GPU's; `vkgroup devices` says what there is."
        )
    return chosen


def _once_each(gpus: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """Return GPUs without those that one driver lists twice, through two manifests."""
    kept: dict[tuple[object, ...], DeviceInfo] = {}
    for gpu in gpus:
        itself = (gpu.uuid, gpu.driver_name) if gpu.uuid not in ("", NO_UUID) else (gpu.manifest, gpu.index)
        kept.setdefault(itself, gpu)
    return list(kept.values())


def targets(
    members: Sequence[DeviceInfo],
    jobs: int | None = None,
    *,
    each: bool = False,
    read: Callable[[DeviceInfo], Capabilities] = read_capabilities,
) -> list[Target]:
    """Make runs for devices: one for all that are the same model.

    Parameters
    ----------
    jobs : worker processes of all runs together; by default as many as suit this machine. Every device has
        its part, one at least.
    each : make a run of its own for every device.
    read : reads a device's capabilities.

    Raises
    ------
    NoDevice, DriverError
        A device cannot be opened.
    """
    one = max(1, (jobs or default_jobs(len(members))) // len(members))
    known = {device: read(device) for device in dict.fromkeys(members)}
    groups: dict[object, list[DeviceInfo]] = {}
    for number, device in enumerate(members):
        groups.setdefault(number if each else model_of(known[device]), []).append(device)
    made: list[Target] = []
    folders = unique_slugs([group[0].name for group in groups.values()])
    for group, folder in zip(groups.values(), folders, strict=True):
        first = group[0]
        name = first.name if len(group) == 1 else f"{len(group)} × {first.name}"
        made.append(Target(name, folder, first, Together(tuple(group), one, known[first])))
    return made


def slug(name: str) -> str:
    """Return a device's name as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "device"


def unique_slugs(names: Sequence[str]) -> list[str]:
    """Return a folder's name for each device; those of one name are numbered from the second on."""
    made: list[str] = []
    for name in map(slug, names):
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        made.append(next(one for one in itertools.chain([name], numbered) if one not in made))
    return made
