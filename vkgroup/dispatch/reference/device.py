"""Reference device, and its sequences of steps."""

from __future__ import annotations

import time

import numpy as np

from vkgroup.device.core import checked_timeout
from vkgroup.dispatch.commands import DispatchCommand
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.reference.buffer import Host, ReferenceBuffer, ReferenceImage
from vkgroup.dispatch.reference.capabilities import DEFAULT_SIZE, capabilities_of, info_of
from vkgroup.dispatch.reference.pipeline import ReferencePipeline
from vkgroup.dispatch.sequence import Copy, Fill, Sequence, Step
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.models import FULL, ExecutionModel
from vkgroup.reference.interpreter.execution.observers import Observer


class ReferenceSequence(Sequence):
    """Steps that are executed one after the other."""

    device: Host
    _closed = False
    events: tuple[Event, ...] = ()  # errors of the last run

    @property
    def closed(self) -> bool:
        """Whether the sequence was closed."""
        return self._closed

    def _create(self) -> None:
        return

    def _run(self, timeout: float | None, wait: bool) -> int:
        seconds = checked_timeout(timeout)
        end = None if seconds is None else time.monotonic() + seconds
        events: list[Event] = []
        with self.device.lock:
            for step in (step for stage in self.stages for step in stage):
                left = None if end is None else max(end - time.monotonic(), 1e-3)
                events += _execute(step, left)
        self.events = tuple(events)
        return 0

    def _timed(self, timeout: float | None, repeat: int) -> float | None:
        for _ in range(repeat):
            self._run(timeout, wait=True)
        return None

    def close(self) -> None:
        """Close the sequence; buffers and bindings stay."""
        self._closed = True
        self._holding = False
        self.device.forget(self)


def _execute(step: Step, timeout: float | None) -> tuple[Event, ...]:
    if isinstance(step, Fill):
        assert step.nbytes is not None
        step.buffer.write(np.full(step.nbytes // 4, step.value, np.uint32), step.offset)
        return ()
    if isinstance(step, Copy):
        data = step.source.read(np.uint8, step.nbytes, step.source_offset)
        step.target.write(data, step.target_offset)
        return ()
    step.work.execute(DispatchCommand(step.groups), step.push, timeout)
    return step.work.events


class ReferenceDevice(Device):
    """A device that executes SPIR-V in NumPy, as the specifications define it.

    It needs no Vulkan. Accesses outside of a buffer read undefined values and write nothing.
    `RunResult.defined` marks the elements that the specifications define. `RunResult.events` lists the errors
    of the run: accesses out of bounds, data races and others.

    `subgroup_size`: a power of two from 1 to 128.
    `model`: its choices where Vulkan permits several executions.
    Raises Unsupported: there is no such subgroup size.
    """

    _buffers, _images, _kind_of_pipelines = ReferenceBuffer, ReferenceImage, ReferencePipeline
    _kind_of_sequences = ReferenceSequence

    def __init__(self, subgroup_size: int = DEFAULT_SIZE, model: ExecutionModel = FULL) -> None:
        info = info_of(subgroup_size, tuple(model.words()))
        self._host = Host(info, capabilities_of(subgroup_size), model)
        super().__init__(self._host)

    def observe(self, observer: Observer | None) -> None:
        """Show the instructions of all later dispatches to an observer, and search for races.

        None ends both.
        """
        self._host.observer = observer
