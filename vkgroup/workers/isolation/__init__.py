"""Isolated devices: a worker process loads the driver, so that its crash does not end the user's process."""

from __future__ import annotations

from vkgroup.workers.isolation.device import IsolatedDevice

__all__ = ["IsolatedDevice"]
