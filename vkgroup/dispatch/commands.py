"""Commands of bound work (dispatch, draw, launch of rays), values read from buffers, and submissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.base.workgroups import padded_counts
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.results import RunResult

_COMMAND_BYTES = 12
"""Size of VkDispatchIndirectCommand."""

_MOST_REPEATS = 1_000_000

Groups = tuple[int, int, int]
"""Numbers of workgroups, or of ray-generation invocations, in x, y and z."""


@dataclass(frozen=True)
class Indirect:
    """Workgroups in x, y and z: three uint32 in a buffer from `offset` on (VkDispatchIndirectCommand)."""

    buffer: Buffer
    offset: int = 0

    def check(self, device: DeviceBase) -> None:
        """Raise where Vulkan forbids it (Vulkan 1.4, vkCmdDispatchIndirect)."""
        _check(self.buffer, self.offset, _COMMAND_BYTES, device, "The numbers of workgroups")

    def counts(self) -> tuple[int, int, int]:
        """Read the numbers; the caller has checked the offset."""
        x, y, z = (int(count) for count in self.buffer.read(np.uint32, 3, self.offset))
        return x, y, z


@dataclass(frozen=True)
class Condition:
    """A uint32 in a buffer that decides whether work runs (VK_EXT_conditional_rendering).

    It is read when the work starts. A device with the extension reads it itself.
    """

    buffer: Buffer  # the buffer with the uint32
    offset: int = 0  # offset of its first byte, a multiple of 4
    inverted: bool = False  # whether work runs if the uint32 is zero; otherwise it runs if it is not zero

    def check(self, device: DeviceBase) -> None:
        """Raise where Vulkan forbids it (Vulkan 1.4, VkConditionalRenderingBeginInfoEXT)."""
        _check(self.buffer, self.offset, 4, device, "The condition")

    def holds(self) -> bool:
        """Read whether work is to run; the caller has checked the offset."""
        return bool(self.buffer.read(np.uint32, 1, self.offset)[0]) != self.inverted


def _check(buffer: Buffer, offset: int, nbytes: int, device: DeviceBase, what: str) -> None:
    if not isinstance(buffer, Buffer):
        raise InvalidDispatch(f"{what} must lie in a Buffer, as Device.buffer makes; {buffer!r} was given.")
    if buffer.device is not device:
        raise InvalidDispatch(f"{what} must lie in a buffer of the same device.")
    if buffer.closed:
        raise DriverError("The buffer is closed; make a new one.")
    if not isinstance(offset, int | np.integer) or offset < 0 or offset % 4:
        raise InvalidDispatch(f"The offset is a multiple of 4, from 0 on; {offset!r} was given.")
    if offset + nbytes > buffer.nbytes:
        raise InvalidDispatch(
            f"{what}: {nbytes} bytes from byte {offset} on are read; the buffer has {buffer.nbytes}."
        )


class DispatchCommand(NamedTuple):
    """One dispatch of a compute pipeline.

    The device reads an `indirect` command's counts from its buffer again; a `condition` may discard the
    dispatch.
    """

    counts: Groups
    indirect: Indirect | None = None
    condition: Condition | None = None


class DrawCommand(NamedTuple):
    """One draw of a graphics pipeline: what it draws is part of the bound work."""

    counts: tuple[int, ...] = ()


class TraceCommand(NamedTuple):
    """One launch of a ray-tracing pipeline on a grid of (width, height, depth) ray-generation invocations."""

    counts: Groups


Command = DispatchCommand | DrawCommand | TraceCommand


def checked_repeat(repeat: Any) -> int:
    """Return a number of repetitions; `InvalidDispatch` where it is not a number from 1 on, or too large."""
    if not isinstance(repeat, int | np.integer) or not 1 <= repeat <= _MOST_REPEATS:
        raise InvalidDispatch(f"repeat must be a number from 1 to {_MOST_REPEATS}; {repeat!r} was given.")
    return int(repeat)


def checked_counts(groups: int | Sequence[int], limits: Groups) -> Groups:
    """Return the numbers of workgroups in x, y and z; `limits` is the maxComputeWorkGroupCount."""
    counts = groups if type(groups) is tuple and len(groups) == 3 else padded_counts(groups)
    for count, most in zip(counts, limits, strict=True):
        if not isinstance(count, int | np.integer) or count < 0:
            raise InvalidDispatch(f"groups are whole numbers from 0 on; {groups!r} was given.")
        if count > most:
            raise InvalidDispatch(
                f"{counts} workgroups are over the device's maxComputeWorkGroupCount,"
                f" {tuple(limits)}. Dispatch in parts, or give each invocation more work."
            )
    return counts


class Submission:
    """Work in flight; methods with ``wait=False`` return it.

    Reading a buffer or an image waits for the work that uses it, and later work sees what earlier work wrote.
    So a submission needs to be waited for only to measure times or to get errors early.
    """

    def __init__(self, device: DeviceBase, number: int) -> None:
        self._device, self._number = device, number

    @property
    def done(self) -> bool:
        """Whether the work has finished. The reference device finishes before it returns."""
        return self._device.finished(self._number)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the work has finished.

        Parameters
        ----------
        timeout : seconds; None waits without limit.

        Raises
        ------
        DispatchTimeout
            It did not finish in time. It cannot be called back, so the device is lost.
        DeviceLost
            The driver gave the device up; the message names the work that had not finished.
        """
        self._device.wait(self._number, timeout)
        self._device.raise_validation_errors()

    def __repr__(self) -> str:
        return f"<vkgroup Submission {self._number}, {'done' if self.done else 'in flight'}>"


class PendingRun:
    """The result of `Device.submit`, whose work may be in flight."""

    def __init__(
        self,
        device: DeviceBase,
        submission: Submission,
        finish: Callable[[], RunResult],
        release: Callable[[], None] | None = None,
    ) -> None:
        """`finish` may be called several times before `release`, which is called once."""
        self._device, self._submission = device, submission
        self._finish: Callable[[], RunResult] | None = finish
        self._release = release
        self._result: RunResult | None = None
        self._lock = RLock()

    @property
    def done(self) -> bool:
        """Whether the work has finished."""
        return self._submission.done

    def result(self, timeout: float | None = None) -> RunResult:
        """Wait until the work has finished, and return what it wrote; every call returns the same.

        Parameters
        ----------
        timeout : seconds; None waits without limit.

        Raises
        ------
        DispatchTimeout, DeviceLost
            As for `Submission.wait`.
        DriverError
            The device was closed before the first call.
        """
        if self._result is None:
            self._submission.wait(timeout)
            self._device.require_open()
            with self._lock:
                result = self._result if self._finish is None else self._finish()
                # A handler of a signal may have been here since.
                if self._result is None:
                    self._result, self._finish = result, None
                release, self._release = self._release, None
                if release is not None:
                    release()
        assert self._result is not None
        return self._result

    def __repr__(self) -> str:
        return f"<vkgroup PendingRun, {'done' if self.done else 'in flight'}>"
