"""Core of an open Vulkan device: handles, functions, error checks, loss, and reusable command buffers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from vkgroup.base.errors import DeviceLost, DispatchTimeout, InvalidDispatch
from vkgroup.device import vk
from vkgroup.device.base import DeviceBase
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.instance import VulkanInstance
from vkgroup.device.timeline import Timeline


def checked_timeout(timeout: Any) -> float | None:
    """Return a timeout in seconds or None.

    Raises `InvalidDispatch` for NaN, which would wait forever, and for values that are not positive.
    """
    if timeout is None or (type(timeout) is float and timeout > 0):
        return timeout
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        seconds = 0.0
    if not seconds > 0:
        raise InvalidDispatch(f"timeout must be a positive number of seconds or None; {timeout!r} was given.")
    return seconds


class DeviceCore(DeviceBase):
    """A VkDevice and its queue, as command buffers and memory use them; closed while `handle` is None."""

    enabled_features: frozenset[str]
    enabled_extensions: list[str]
    functions: vk.Functions
    queue: Any
    timeline: Timeline
    family: int
    transfer_family: int | None  # None without a family that can only copy
    command_pool: Any

    def __init__(
        self, instance: VulkanInstance, physical: Any, info: DeviceInfo, capabilities: Capabilities
    ) -> None:
        super().__init__(info, capabilities)
        self.instance, self.physical = instance, physical
        self.handle: Any = None
        self.lock = threading.RLock()
        self.idle_commands: list[Any] = []  # arrays of one VkCommandBuffer that no submitted work uses
        self._stuck = False
        #: Called when a wait has ended: raises the problem of an emulation, unknown to the driver.
        self.after_wait: Callable[[], None] | None = None

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self.handle is None

    @property
    def families(self) -> list[int]:
        """The queue families that the device uses."""
        main, transfer = self.family, self.transfer_family
        return [main] if transfer is None else sorted({main, transfer})

    @property
    def usable(self) -> bool:
        """Whether objects of the device may still be destroyed: it is open, and no work hangs in it."""
        return self.handle is not None and not self._stuck

    def raise_validation_errors(self) -> None:
        """Raise the validation layer's errors since the last call; does nothing without the layer."""
        self.instance.raise_validation_errors()

    def check(self, code: int, what: str) -> None:
        """Raise unless a call succeeded; remember when the device is lost."""
        if code < 0:
            error = vk.failure(code, what)
            if isinstance(error, DeviceLost):
                self.lost = f"{what} failed ({error.result})"
            self.instance.raise_validation_errors(error)
            raise error

    def create(self, kind: str, info: Any, what: str) -> Any:
        """Return a new object of a Vulkan type, such as ``"Sampler"``, from its create info."""
        handle = vk.ffi.new(f"Vk{kind} *")
        create = getattr(self.functions, f"vkCreate{kind}")
        self.check(create(self.handle, info, vk.NULL, handle), f"creating {what}")
        return handle[0]

    def destroy(self, kind: str, handle: Any) -> None:
        """Destroy an object of a Vulkan type, once no submitted work can use it.

        Does nothing for None, or while work hangs in the device.
        """
        if handle is not None and self.usable:
            function, device = getattr(self.functions, f"vkDestroy{kind}"), self.handle
            self.timeline.after(lambda: function(device, handle, vk.NULL))

    def finished(self, number: int) -> bool:
        """Whether a submission has finished."""
        if self.handle is None:
            return True
        self.timeline.flush(number)
        return number <= self.timeline.completed or number <= self.timeline.poll()

    def synchronize(self, timeout: float | None) -> None:
        """Wait until everything that was submitted has finished."""
        self.wait(self.timeline.submitted, timeout)

    def wait(
        self, number: int, timeout: float | None, *, poll: bool = True, timeline: Timeline | None = None
    ) -> None:
        """Wait until a submission has finished; after `timeout` seconds the device is lost.

        `timeline` is that of another queue than the main one.
        """
        timeout = checked_timeout(timeout)
        if self.handle is None or (timeline or self.timeline).wait(number, timeout, poll=poll):
            if self.after_wait is not None:
                self.after_wait()
            return
        self.abandon(f"its work did not finish within {timeout:g} s")
        raise DispatchTimeout(
            f"The work did not finish within {timeout:g} s on {self.capabilities.name}. It cannot be"
            " called back: open the device anew (a software driver's in a new process: its threads are"
            " still at it), and give `timeout` more seconds if the work is right.",
            "VK_TIMEOUT",
        )

    def abandon(self, why: str) -> None:
        """Give the device up with work in flight: none of its objects can be freed before that work ends."""
        self.lost = why
        self._stuck = True
