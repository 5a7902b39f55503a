"""Compute pipelines of the reference device."""

from __future__ import annotations

from vkgroup.dispatch.events import Event
from vkgroup.dispatch.pipeline import Bound, Groups, Pipeline
from vkgroup.dispatch.sources import Condition, Indirect
from vkgroup.reference.device.bindings import ReferenceBindings
from vkgroup.reference.interpreter import Program, execute


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


class ReferencePipeline(Pipeline):
    """A module that is ready to be executed.

    Attributes
    ----------
    program : the module as the interpreter prepared it; None when closed.
    """

    _kind_of_bound = ReferenceBound

    program: Program | None = None

    def _create(self) -> None:
        values = self.shader.specialization
        self.program = Program(self.module, self.entry_point.name, specialization=values)

    @property
    def closed(self) -> bool:
        """Whether the pipeline was closed."""
        return self.program is None

    def close(self) -> None:
        """Free what was prepared."""
        if self.program is not None:
            self.program = None
            self.device.forget(self)
