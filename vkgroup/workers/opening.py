"""Listing and opening of devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from vkgroup.base import phases
from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.device import discovery, logical
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.device.discovery import Discovery, IcdReport
from vkgroup.device.launch import compile_only_refusal, require_own_process
from vkgroup.dispatch import Device
from vkgroup.dispatch.reference.capabilities import DEFAULT_SIZE, info_of
from vkgroup.dispatch.vulkan import VulkanDevice
from vkgroup.workers.emulated import emulated, started_emulation

REFERENCE = "reference"
"""The choice of the reference device; a subgroup size may follow a colon."""


def devices(timeout: float = discovery.TIMEOUT) -> Discovery:
    """Return all devices: Vulkan devices, as `vkgroup.device.discover`, and last the reference device.

    Parameters
    ----------
    timeout : seconds that one driver may take.
    """
    try:
        discovered = discovery.discover(timeout)
    except NoDevice as error:
        discovered = Discovery("", (), str(error))
    reference = IcdReport("", REFERENCE, "", "ok", "", (info_of(),))
    return replace(discovered, icds=(*discovered.icds, reference))


def select(choice: str | int | None = None, *, compile_only: bool = False) -> DeviceInfo:
    """Choose a device.

    Parameters
    ----------
    choice : as for `open_device`.
    compile_only : whether an absent GPU only compiles, although it could execute by emulation.

    Raises
    ------
    NoDevice, InvalidInput, Unsupported
        As `open_device` does.
    """
    choice = discovery.normal_choice(choice)
    device = _reference_info(choice) or discovery.select(choice, devices)
    return device if compile_only else emulated(device)


def open_device(
    choice: DeviceInfo | str | int | None = None,
    *,
    validation: bool | None = None,
    robust: bool = True,
    subgroup_size: int | None = None,
    isolated: bool = False,
    sparse: str | None = None,
    reconvergence: str | None = None,
    progress: str | None = None,
) -> Device:
    """Open a device.

    Parameters
    ----------
    choice : an index in `vkgroup.devices()`, part of a device's or driver's name, ``"gpu"``,
        ``"lavapipe"``, ``"swiftshader"``, an ICD's JSON file, ``"reference"`` (the device made of NumPy,
        which needs no Vulkan) or ``"reference:64"`` (the same, with subgroups of 64), or a `DeviceInfo`.
        None takes `VKGROUP_DEVICE`, else a GPU, else lavapipe, else SwiftShader, else the reference device.
    validation : whether errors of the Khronos validation layer become exceptions; None uses
        `VKGROUP_VALIDATION`. The reference device needs no layer.
    robust : whether accesses are kept inside their buffers if the device can do that; otherwise a shader that
        accesses memory outside a buffer may end the process. The reference device always keeps them inside.
    subgroup_size : the subgroup size of the reference device (32 unless given, a power of two up to 128); of
        a Vulkan device, the size that pipelines require unless they are given another.
    isolated : whether a worker process loads the driver. A crash of the driver is then `DriverCrash`, a hang
        ends at the time limit, and drivers with their own C library can be opened. Such a device has `run`,
        `prepare`, `draw` and `trace` with arrays; buffers and other objects raise `Unsupported`.
    sparse, reconvergence, progress : of the reference device: what it chooses where Vulkan permits several
        executions, as in `ExecutionModel`. ``"full"``, ``"half"``, ``"quarter"`` or ``"seeded"`` subgroups;
        ``"maximal"`` reconvergence, or only what the module has ``"declared"``; ``"fair"``, ``"occupancy"``
        or ``"one"``. The choice may name them, too: ``"reference:32:sparse=half"``.

    Raises
    ------
    NoDevice
        No device matches; the message says what was searched, where, and how to install one.
    Unsupported
        The device lacks Vulkan 1.1 or the subgroup size, or the validation layer is not installed.
    InvalidInput
        The subgroup size in the choice is not a number, or differs from `subgroup_size`.
    """
    words = [
        f"{name}={value}"
        for name, value in (("sparse", sparse), ("reconvergence", reconvergence), ("progress", progress))
        if value is not None
    ]
    if isolated:
        options: dict[str, Any] = {"validation": validation, "robust": robust, "subgroup_size": subgroup_size}
        options |= {"sparse": sparse, "reconvergence": reconvergence, "progress": progress}
        return _open_isolated(choice, options)
    if not isinstance(choice, DeviceInfo):
        choice = discovery.normal_choice(choice)
        is_file = isinstance(choice, str) and discovery.direct_manifest(choice)
        choice = _reference_info(choice, subgroup_size) or (choice if is_file else select(choice))
    if isinstance(choice, DeviceInfo) and choice.is_reference:
        size = choice.subgroup_size if subgroup_size is None else subgroup_size
        return _open_reference(size, (*choice.model, *words))
    if words:
        raise InvalidInput(f"{', '.join(words)}: only the reference device has this choice.")
    if isinstance(choice, DeviceInfo) and choice.own_process:
        require_own_process(choice)
    emulation = started_emulation(choice) if isinstance(choice, DeviceInfo) and choice.emulated else None
    name = choice.name if isinstance(choice, DeviceInfo) else str(choice)
    phases.update(device=name)
    with phases.phase("opening the device", phases.CodeOwner.DRIVER):
        opened = logical.open_device(choice, validate=validation, robust=robust)
        of = opened.capabilities
        if emulation is not None:
            emulation.driver = of.driver_info
            opened.after_wait = emulation.raise_problem
        phases.update(device=f"{of.name} ({of.driver_name} {of.driver_info})".replace(" )", ")"))
        return VulkanDevice(opened, subgroup_size)


def _open_isolated(choice: DeviceInfo | str | int | None, options: dict[str, Any]) -> Device:
    # Imported here, because other devices need no worker processes.
    from vkgroup.workers.isolation import IsolatedDevice

    if not isinstance(choice, DeviceInfo):
        choice = discovery.normal_choice(choice)
        choice = _reference_info(choice, options["subgroup_size"]) or select(choice)
    if choice.is_compile_only:
        raise compile_only_refusal(choice)
    return IsolatedDevice(choice, open_device, options)


def _open_reference(subgroup_size: int, words: Iterable[str]) -> Device:
    # Imported here, because loading the interpreter takes longer than opening a driver.
    from vkgroup.dispatch.reference.device import ReferenceDevice
    from vkgroup.reference.interpreter.execution.models import ExecutionModel

    return ReferenceDevice(subgroup_size, ExecutionModel.of(words))


def _reference_info(choice: str | int | None, wanted: int | None = None) -> DeviceInfo | None:
    """Return the reference device that a choice names; None if it names another device."""
    word, *given = choice.lower().split(":") if isinstance(choice, str) else ("",)
    if word != REFERENCE:
        return None
    size, model = (given[0], given[1:]) if given and "=" not in given[0] else ("", given)
    if given and not size.isdecimal() and (size or not model):
        raise InvalidInput(f"{choice!r}: a subgroup size follows the colon, as in {REFERENCE}:64.")
    if size and wanted not in (None, int(size)):
        raise InvalidInput(f"{choice!r} and a subgroup size of {wanted} contradict each other.")
    return info_of(int(size) if size else wanted or DEFAULT_SIZE, tuple(model))
