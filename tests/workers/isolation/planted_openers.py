"""Functions that open a device whose driver fails at chosen push constants; workers import them by name."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.workers.opening import open_device

CRASH, HANG, KILL, BUG, UNREADABLE = 101, 102, 103, 104, 105
"""Values of the first push constant."""


class Unreadable(Exception):
    """An exception that another process cannot make again from its arguments."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(f"{text} {number}")


def planted(info: DeviceInfo, **options: Any) -> Device:
    """Open a device that crashes, hangs in C code, is killed, or meets one of two bugs of vkgroup."""
    device = open_device(info, **options)
    original = device._run_again

    def run_again(choice: Any, groups: Any, bindings: Any, push: Any, timeout: float | None) -> Any:
        code = 0 if push is None else int(push[0])
        if code == CRASH:
            os.kill(os.getpid(), signal.SIGSEGV)
        if code == HANG:
            empty, _ = os.pipe()  # a read of it goes on after signals, unlike a pause
            ctypes.CDLL(None).read(empty, ctypes.create_string_buffer(1), 1)
        if code == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if code == BUG:
            raise KeyError("planted")
        if code == UNREADABLE:
            raise Unreadable("planted", 7)
        return original(choice, groups, bindings, push, timeout)

    device._run_again = run_again  # type: ignore[method-assign]
    return device
