"""Compute pipelines of the reference device with everything bound: dispatching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vkgroup.dispatch.bound import Bound, Groups
from vkgroup.dispatch.events import Event
from vkgroup.dispatch.sources import Condition, Indirect
from vkgroup.reference.device.bindings import ReferenceBindings
from vkgroup.reference.interpreter import execute

if TYPE_CHECKING:
    from vkgroup.reference.device.pipeline import ReferencePipeline


class ReferenceBound(ReferenceBindings, Bound):
    """A module with its memories, ready to be executed."""

    pipeline: ReferencePipeline

    def _dispatch(
        self,
        counts: Groups,
        push: bytes,
        timeout: float | None,
        indirect: Indirect | None = None,
        condition: Condition | None = None,
    ) -> None:
        self._repeated(lambda left: self._run(counts, push, left), timeout)

    def _timed(self, counts: Groups, push: bytes, timeout: float | None, repeat: int) -> float | None:
        self._repeated(lambda left: self._run(counts, push, left), timeout, repeat)
        return None

    def _run(self, counts: Groups, push: bytes, timeout: float | None) -> tuple[Event, ...]:
        assert self.pipeline.program is not None
        assert self._places is not None
        size = self.pipeline.subgroup_size or self.device.capabilities.subgroup.size
        outcome = execute(
            self.pipeline.program,
            counts,
            self._places,
            push=push,
            subgroup_size=size,
            deadline=timeout,
            addressable=self.device.addressable(),
        )
        return outcome.events
