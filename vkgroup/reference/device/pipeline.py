"""Compute pipelines of the reference device."""

from __future__ import annotations

from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.reference.device.bound import ReferenceBound
from vkgroup.reference.interpreter import Program


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
