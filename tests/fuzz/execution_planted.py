"""Planted failures of a driver and of vkgroup, which executing fuzzing must find.

`planted_driver` opens a device whose results, crashes and hangs depend on the module. Importing
`execution_planted_errors` plants failures into the reference device.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.opening import open_device
from vkgroup.spirv import Module

OF_DRIVER = ("crash", "hang", "differed")
OF_VKGROUP = ("exception", "end", "hang")


def failure_of(module: Module, failures: tuple[str, ...]) -> str:
    """Return the planted failure of a module; most have none."""
    number = int(module.words.sum()) % 8
    return failures[number] if number < len(failures) else ""


def planted_driver(info: DeviceInfo, **options: Any) -> Device:
    """Open a device with planted failures."""
    device = open_device(info, **options)
    original = device.run

    def run(module: Module, groups: Any, bindings: Any, **given: Any) -> Any:
        failure = failure_of(module, OF_DRIVER)
        if failure == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if failure == "hang":
            ctypes.CDLL(None).pause()
        result = original(module, groups, bindings, **given)
        if failure == "differed":
            for key in result:
                result[key].reshape(-1).view("u1")[...] ^= 0xFF
        return result

    device.run = run  # type: ignore[method-assign]
    return device
