"""Messages between a run and its workers; `vkgroup.processes` carries them."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.conformance.execute import Transform
from vkgroup.device import DeviceInfo
from vkgroup.processes import receive, send, serve_and_leave

__all__ = ["CLOSE_SECONDS", "Failure", "Setup", "receive", "send", "serve_and_leave"]

CLOSE_SECONDS = 10.0
"""Seconds that a worker may take to end when it has no more to do. Its run may be gone by then."""


@dataclass(frozen=True)
class Setup:
    """What a worker needs to know before the first batch."""

    device: DeviceInfo
    seed: int
    timeout: float
    transform: Transform | None = None


@dataclass(frozen=True)
class Failure:
    """A batch without results: the device was lost or timed out, or could not be opened."""

    kind: str
    message: str
