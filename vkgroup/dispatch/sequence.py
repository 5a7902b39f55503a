"""Sequences of dispatches, fills and copies, recorded once and run many times."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.base.lifetime import Closeable
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import Submission, checked_repeat
from vkgroup.dispatch.pipeline import Work


@dataclass(frozen=True)
class Dispatch:
    """One dispatch of a sequence.

    Attributes
    ----------
    work : a compute pipeline with its bindings.
    groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
    push : push constants, as for `Work.dispatch`.
    """

    work: Work
    groups: Any
    push: Any = None


@dataclass(frozen=True)
class Fill:
    """Fills a buffer, or a part of it, with a number of 32 bits (vkCmdFillBuffer).

    Attributes
    ----------
    buffer : the buffer to fill.
    value : uint32.
    offset, nbytes : first byte and number of bytes, multiples of 4; None: all up to the end. A buffer whose
        size is no multiple of 4 keeps its last one to three bytes.
    """

    buffer: Buffer
    value: int = 0
    offset: int = 0
    nbytes: int | None = None


@dataclass(frozen=True)
class Copy:
    """Copies bytes from one buffer to another (vkCmdCopyBuffer).

    Attributes
    ----------
    source, target : different buffers, or parts of one that do not overlap.
    source_offset, target_offset : first bytes.
    nbytes : how many; None: as many as both have left.
    """

    source: Buffer
    target: Buffer
    source_offset: int = 0
    target_offset: int = 0
    nbytes: int | None = None


Step = Dispatch | Fill | Copy


Stage = tuple[Step, ...]


class Sequence(Closeable):
    """Work recorded once; `Device.sequence` makes it.

    Each step sees what the steps before it wrote; the steps of a tuple run side by side, in any order.

    Attributes
    ----------
    device : the device that it was made from.
    name : what errors call it.
    stages : the steps that do something, checked and with all defaults filled in; those that run side by side
        together.
    """

    def __init__(
        self, device: DeviceBase, steps: Iterable[Step | tuple[Step, ...]], name: str = "a sequence"
    ) -> None:
        device.require_open()
        self.device, self.name = device, name
        together = [step if isinstance(step, tuple) else (step,) for step in steps]
        stages = [[_checked(step, device) for step in stage] for stage in together]
        working = (
            tuple(step for step in stage if not (isinstance(step, Dispatch) and 0 in step.groups))
            for stage in stages
        )
        self.stages: tuple[Stage, ...] = tuple(stage for stage in working if stage)
        self._closings = -1
        with device.making(self):
            self._create()

    @abstractmethod
    def _create(self) -> None:
        """Record the stages."""

    @abstractmethod
    def _run(self, timeout: float | None, wait: bool) -> int:
        """Submit the recorded commands and wait if requested; returns the number of the submission."""

    @abstractmethod
    def _timed(self, timeout: float | None, repeat: int) -> float | None:
        """Run it `repeat` times; returns the seconds of one run, None where they cannot be measured."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the sequence was closed."""

    def run(self, timeout: float | None = 10.0, *, wait: bool = True) -> Submission:
        """Run all steps once.

        Parameters
        ----------
        timeout, wait : as for `Work.dispatch`, with the same errors.
        """
        if self._closings != self.device.closings:
            self._require_open()
        return Submission(self.device, self._run(timeout, wait))

    def timed(self, *, repeat: int = 1, timeout: float | None = 10.0) -> float | None:
        """Run all steps and measure them on the GPU.

        Parameters
        ----------
        repeat : how many times to run them, one after the other in one submission.
        timeout : seconds for all of it; None waits without limit.

        Returns
        -------
        Seconds of one run, on average; None where the device has no timestamps.
        """
        repeat = checked_repeat(repeat)
        self._require_open()
        return self._timed(timeout, repeat)

    def _require_open(self) -> None:
        closings = self.device.closings
        self.device.require_open()
        if self.closed:
            raise DriverError("The sequence is closed; make a new one.")
        for step in (step for stage in self.stages for step in stage):
            if isinstance(step, Dispatch):
                step.work.require_open()
            elif any(buffer.closed for buffer in buffers_of(step)):
                raise DriverError("A buffer of the sequence is closed; make the sequence anew.")
        self._closings = closings


def buffers_of(step: Fill | Copy) -> tuple[Buffer, ...]:
    """Return the buffers that a step uses."""
    return (step.buffer,) if isinstance(step, Fill) else (step.source, step.target)


def _checked(step: Step, device: DeviceBase) -> Step:
    """Check a step before anything is recorded."""
    if isinstance(step, Dispatch):
        if step.work.device is not device:
            raise InvalidDispatch("A dispatch of the sequence belongs to another device.")
        step.work.require_open()
        return Dispatch(step.work, step.work.counts(step.groups), step.work.packed(step.push))
    if isinstance(step, Fill):
        return _checked_fill(step, device)
    if isinstance(step, Copy):
        return _checked_copy(step, device)
    raise InvalidDispatch(f"The steps of a sequence are Dispatch, Fill and Copy; {step!r} was given.")


def _checked_fill(step: Fill, device: DeviceBase) -> Fill:
    _check_buffer(step.buffer, device)
    size = step.buffer.nbytes
    nbytes = (size - step.offset) // 4 * 4 if step.nbytes is None else step.nbytes
    if step.offset % 4 or nbytes % 4 or step.offset < 0 or nbytes <= 0 or step.offset + nbytes > size:
        raise InvalidDispatch(
            f"A fill of {nbytes} bytes from byte {step.offset} on is not within the buffer's {size} bytes, or"
            " no multiple of 4."
        )
    if not isinstance(step.value, int | np.integer) or not 0 <= step.value < 1 << 32:
        raise InvalidDispatch(f"A buffer is filled with a number of 32 bits; {step.value!r} was given.")
    return replace(step, value=int(step.value), nbytes=nbytes)


def _checked_copy(step: Copy, device: DeviceBase) -> Copy:
    sides = ((step.source, step.source_offset), (step.target, step.target_offset))
    for buffer, _ in sides:
        _check_buffer(buffer, device)
    nbytes = min(buffer.nbytes - offset for buffer, offset in sides) if step.nbytes is None else step.nbytes
    for buffer, offset in sides:
        if offset < 0 or nbytes <= 0 or offset + nbytes > buffer.nbytes:
            raise InvalidDispatch(
                f"A copy of {nbytes} bytes at byte {offset} does not fit into a buffer of"
                f" {buffer.nbytes} bytes."
            )
    return replace(step, nbytes=nbytes)


def _check_buffer(buffer: Buffer, device: DeviceBase) -> None:
    if not isinstance(buffer, Buffer):
        raise InvalidDispatch(f"Fills and copies take what Device.buffer makes; {buffer!r} was given.")
    if buffer.device is not device:
        raise InvalidDispatch("A buffer of the sequence belongs to another device.")
    if buffer.closed:
        raise DriverError("A buffer of the sequence is closed; make a new one.")
    if buffer.nbytes == 0:
        raise InvalidDispatch("A buffer of the sequence is empty; leave the step out.")
