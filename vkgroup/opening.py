"""Opening a device of any kind by choice."""

from __future__ import annotations

from vkgroup.device import logical
from vkgroup.device.info import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.dispatch.vulkan import VulkanDevice


def open_device(
    choice: DeviceInfo | str | int | None = None, *, validation: bool | None = None, robust: bool = True
) -> Device:
    """Open a device.

    Parameters
    ----------
    choice : an index in `vkgroup.devices()`, part of a device's or driver's name, ``"gpu"``,
        ``"lavapipe"``, ``"swiftshader"``, an ICD's JSON file, or a `DeviceInfo`; None takes
        `VKGROUP_DEVICE`, else a GPU, else lavapipe, else SwiftShader.
    validation : whether the Khronos validation layer watches, and its errors become exceptions; None
        asks `VKGROUP_VALIDATION`.
    robust : whether accesses are kept inside their buffers where the device can do that; without, a shader
        that reaches beyond one may end the process.

    Raises
    ------
    NoDevice
        Nothing fits; says what was looked for, where, and how to get one.
    Unsupported
        The device has no Vulkan 1.1, or the validation layer was not found.
    """
    return VulkanDevice(logical.open_device(choice, validate=validation, robust=robust))
