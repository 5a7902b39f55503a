"""Messages between a run and its workers; `vkgroup.base.processes` carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from vkgroup.device import DeviceInfo

READY = "ready"
"""A worker's first answer: its device is open."""

NO_ANSWER = "no answer in"
"""Beginning of the message of a `Failure` if the worker did not answer in time."""

CLOSE_SECONDS = 10.0
"""Seconds that a worker may take to end when it has no more jobs. The run may have ended before."""


class WorkerSession(Protocol):
    """An open device and the function that performs jobs on it."""

    def perform(self, job: Any) -> Any:
        """Perform a job and return its answer."""

    def close(self) -> None:
        """Close the device."""


class WorkerSetup(Protocol):
    """The first message to a worker. Its class is the kind of jobs that follow; it is pickled."""

    @property
    def device(self) -> DeviceInfo:
        """The device to open."""

    @property
    def timeout(self) -> float:
        """Seconds that one dispatch may take."""

    def open(self) -> WorkerSession:
        """Open the device, in the worker; VkgroupError where that fails."""


@dataclass(frozen=True)
class Failure:
    """A job without an answer.

    `kind`: ``"timeout"`` or ``"lost"`` of the device, ``"open"`` if it could not be opened, ``"idle"`` if it
    accepts work and executes nothing, ``"internal"``
    for an error of vkgroup or of the host, ``"busy"`` if vkgroup's own code did not end in time.
    """

    kind: str
    message: str

    @property
    def is_internal(self) -> bool:
        """Whether the failure says nothing about the device."""
        return self.kind in ("internal", "busy")
