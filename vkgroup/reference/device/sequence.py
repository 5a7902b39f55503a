"""Sequences of the reference device: one step after the other."""

from __future__ import annotations

import time

import numpy as np

from vkgroup.device.commands import checked_timeout
from vkgroup.dispatch.commands import DispatchCommand
from vkgroup.dispatch.results import Event
from vkgroup.dispatch.sequence import Copy, Fill, Sequence, Step


class ReferenceSequence(Sequence):
    """Steps that are executed one after the other.

    Attributes
    ----------
    events : what went wrong in the last run.
    """

    _closed = False
    events: tuple[Event, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether the sequence was closed."""
        return self._closed

    def _create(self) -> None:
        return

    def _run(self, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + checked_timeout(timeout)
        events: list[Event] = []
        for stage in self.stages:
            for step in stage:
                left = None if end is None else max(end - time.monotonic(), 1e-3)
                events += _execute(step, left)
        self.events = tuple(events)

    def _timed(self, timeout: float | None, repeat: int) -> float | None:
        for _ in range(repeat):
            self._run(timeout)
        return None

    def close(self) -> None:
        """Give it up; buffers and bindings stay."""
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
