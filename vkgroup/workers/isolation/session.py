"""Worker side of an isolated device: calls of the methods of a device that the worker opened."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vkgroup.base.errors import VkgroupError
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device

OPEN = "open"
"""The method of the first call, which opens the device and returns its information and capabilities."""


@dataclass(frozen=True)
class MethodCall:
    """One call of a method of `Device`."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CallAnswer:
    """The answer of a call: its result, or the exception that it raised."""

    result: Any = None
    error: Exception | None = None


@dataclass
class CallSession:
    """The first message to the worker of an isolated device, and its session; see `vkgroup.workers.messages`.

    `opener`: `vkgroup.workers.opening.open_device`, as a function because that module imports this one.
    `options`: its options.
    """

    device: DeviceInfo
    opener: Callable[..., Device]
    options: Mapping[str, Any]
    timeout: float = 0.0  # of the protocol; each call has its own limit
    _opened: Device | None = None

    def open(self) -> CallSession:
        """Return the session; the first call opens the device, so that its error is an answer."""
        return self

    def perform(self, call: MethodCall) -> CallAnswer:
        """Return the answer of a call.

        An exception that is not of vkgroup has the traceback in the worker as a note.
        """
        try:
            if call.method == OPEN:
                self._opened = self.opener(self.device, **self.options)
                return CallAnswer((self._opened.info, self._opened.capabilities))
            assert self._opened is not None, "the first call opens the device"
            return CallAnswer(getattr(self._opened, call.method)(**call.options))
        except VkgroupError as error:
            return CallAnswer(error=error)
        except Exception as error:
            error.add_note("In the worker process of the device:\n" + traceback.format_exc())
            return CallAnswer(error=error)

    def close(self) -> None:
        """Close the device."""
        if self._opened is not None:
            self._opened.close()
