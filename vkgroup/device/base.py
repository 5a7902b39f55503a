"""Base of open devices of any kind, as their buffers, images and pipelines use it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, NoReturn, Protocol
from weakref import WeakSet, ref

from vkgroup.base.errors import DeviceLost, DriverError, InvalidDispatch, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.device.capabilities import Capabilities, DeviceInfo


@dataclass(frozen=True)
class MemoryStatistics:
    """Memory of a device that this process holds, in bytes; `Device.memory` returns it.

    Attributes
    ----------
    in_use : bytes of buffers and images.
    cached : bytes that were allocated from the driver and are free for the next buffers and images.
    peak : the most bytes that were in use at a time.
    allocations : number of allocations from the driver (VkDeviceMemory).
    most_allocations : the largest number that the driver allows (maxMemoryAllocationCount). Both are 0 on the
        reference device, which has no driver.
    plans, recordings : kernels that are kept for the next call with the same types, shapes and options, and
        their recorded command buffers.
    """

    in_use: int
    cached: int
    peak: int
    allocations: int
    most_allocations: int
    plans: int = 0
    recordings: int = 0


class Trimmable(Protocol):
    """An object that keeps memory for later use, and recordings."""

    @property
    def recordings(self) -> int:
        """Number of recordings that are kept."""

    def trim(self) -> None:
        """Free the memory that is kept."""


class DeviceBase(Closeable):
    """An open device as its buffers, images and pipelines see it.

    `info`: identifies the device for other processes.
    `capabilities`: the capabilities that it declares.
    `validated`: hashes of the modules that SPIRV-Tools has passed for this device.
    `closings`: how many objects of the device were closed; while it stays the same, all objects that were
    open are still open.
    `calls`: what kernels keep for their next calls on buffers.
    `lost`: why the device can no longer be used; empty as long as it can.
    `trimmable`: the plans that keep memory and recordings.
    `user`: weak reference to the `Device` that users hold.
    """

    def __init__(self, info: DeviceInfo, capabilities: Capabilities) -> None:
        self.info, self.capabilities = info, capabilities
        self.validated: set[int] = set()
        self.closings = 0
        self._closing_numbers = count(1)
        self.lost = ""
        self.calls: dict[Any, Any] = {}
        self.user: ref[Any] | None = None
        self._children: WeakSet[Closeable] = WeakSet()
        self.trimmable: WeakSet[Trimmable] = WeakSet()

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the device was closed."""

    @abstractmethod
    def memory_statistics(self) -> MemoryStatistics:
        """Return the numbers of bytes that are in use and cached."""

    @abstractmethod
    def trim(self) -> int:
        """Free cached memory; returns the number of its bytes."""

    @abstractmethod
    def finished(self, number: int) -> bool:
        """Whether a submission has finished."""

    @abstractmethod
    def wait(self, number: int, timeout: float | None) -> None:
        """Wait until a submission has finished; `DispatchTimeout` after `timeout` seconds."""

    @abstractmethod
    def synchronize(self, timeout: float | None) -> None:
        """Wait until everything that was submitted has finished."""

    def raise_validation_errors(self) -> None:
        """Raise the validation layer's errors since the last call; does nothing without the layer."""
        return

    def require_open(self) -> None:
        """Raise an error if the device was closed or lost."""
        if self.lost:
            self.raise_lost()
        if self.closed:
            raise DriverError(f"The device {self.capabilities.name} is closed; open it anew.")

    def raise_lost(self) -> NoReturn:
        """Raise `DeviceLost` with the reason."""
        raise DeviceLost(
            f"The device {self.capabilities.name} was lost earlier: {self.lost}. Open it anew.",
            "VK_ERROR_DEVICE_LOST",
        )

    def register(self, child: Closeable) -> None:
        """Close `child` before the device is closed."""
        self._children.add(child)

    @contextmanager
    def making(self, child: Closeable) -> Iterator[None]:
        """Register an object of the device while it is created, and close it if that fails."""
        self.register(child)
        child._holding = True
        try:
            yield
        except (DriverError, InvalidDispatch, Unsupported):
            child.close()
            raise
        self.raise_validation_errors()

    def forget(self, child: Closeable) -> None:
        """Undo `register`, as `child` is being closed."""
        self._children.discard(child)
        self.closings = next(self._closing_numbers)  # in one step, because threads may close side by side

    def close_children(self) -> None:
        """Close everything made from the device."""
        for child in list(self._children):
            child.close()
