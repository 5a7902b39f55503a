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
from vkgroup.spirv import Module
from vkgroup.workers.opening import open_device

OF_DRIVER = ("crash", "hang", "differed")
OF_VKGROUP = ("exception", "end", "hang")


def failure_of(module: Module, failures: tuple[str, ...]) -> str:
    """Return the planted failure of a module; most have none."""
    number = int(module.words.sum()) % 8
    return failures[number] if number < len(failures) else ""


def planted_driver(info: DeviceInfo, **options: Any) -> Device:
    """Open a device with planted failures."""
    device = open_device(info, **options)
    run, run_again = device.run, device._run_again

    def planted_run(*, module: Module, **given: Any) -> Any:
        result = run(module=module, **given)
        if failure_of(module, OF_DRIVER) == "differed":
            for key in result:
                result[key].reshape(-1).view("u1")[...] ^= 0xFF
        return result

    def planted_run_again(choice: Any, *arguments: Any) -> Any:
        failure = failure_of(choice.key[0], OF_DRIVER)
        if failure == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if failure == "hang":
            ctypes.CDLL(None).pause()
        return run_again(choice, *arguments)

    device.run, device._run_again = planted_run, planted_run_again  # type: ignore[method-assign]
    return device
