"""Capabilities of a device, read in another process."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.base.errors import NoDevice
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

SECONDS = 60.0
"""Seconds that a driver may take."""


@dataclass(frozen=True)
class DescribeSetup:
    """Setup of a worker that answers every job with the capabilities of its device."""

    device: DeviceInfo
    timeout: float = SECONDS

    def open(self) -> DescribeSession:
        """Open the device and read its capabilities."""
        with open_device(self.device) as device:
            return DescribeSession(device.capabilities)


@dataclass(frozen=True)
class DescribeSession:
    """The capabilities of a device that is closed again."""

    capabilities: Capabilities

    def perform(self, job: object) -> Capabilities:
        """Return the capabilities."""
        return self.capabilities

    def close(self) -> None:
        """Do nothing: the device is closed."""


def describe(device: DeviceInfo) -> Capabilities:
    """Return a device's capabilities, read in another process."""
    try:
        worker = WorkerProcess(DescribeSetup(device), start_seconds=SECONDS)
        try:
            answer = worker.ask("describe", SECONDS)
        finally:
            worker.close()
    except (WorkerDied, NoDevice) as error:
        raise NoDevice(f"{device.name} ({device.manifest}) cannot be opened: {error}") from error
    if isinstance(answer, Failure):
        raise NoDevice(f"{device.name} ({device.manifest}) cannot be opened: {answer.message}")
    assert isinstance(answer, Capabilities)
    return answer
