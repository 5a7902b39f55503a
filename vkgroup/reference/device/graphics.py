"""Graphics pipelines of the reference device."""

from __future__ import annotations

from vkgroup.dispatch.graphics_pipeline import GraphicsPipeline
from vkgroup.reference.device.draws import ReferenceDraws
from vkgroup.reference.drawing.samples import COUNTS
from vkgroup.reference.interpreter import Program

_LEAST_SIZE = 4
"""Lanes of a quad, which is in one subgroup (Vulkan 1.4, "Quad")."""


class ReferenceGraphicsPipeline(GraphicsPipeline):
    """Two modules that are ready to draw with.

    Attributes
    ----------
    programs : the vertex and the fragment shader as the interpreter prepared them; None when closed.
    """

    _kind_of_draws = ReferenceDraws

    programs: tuple[Program, Program] | None = None

    def size_of(self, stage: str) -> int:
        """Return the lanes of the subgroups of a stage: as required, where it has subgroup operations."""
        found = [shader for shader in self.shaders if shader.entry_point.stage == stage]
        required = self.required_size(found[0]) if found else None
        return required or self.device.capabilities.subgroup.size

    def _lacking(self) -> list[str]:
        lacking = super()._lacking()
        if self.state.samples not in COUNTS:
            lacking.append(f"framebufferColorSampleCounts with {self.state.samples}")
        others = [shader.entry_point.stage for shader in self.shaders[1:-1]]
        if others:
            lacking.append(f"a stage that it does not execute: {', '.join(others)}")
        if (size := self.size_of("fragment")) < _LEAST_SIZE:
            lacking.append(f"quads of fragments in subgroups of {size} (from {_LEAST_SIZE} lanes on)")
        return lacking

    def _create(self) -> None:
        vertex, fragment = (
            Program(shader.module, shader.entry_point.name, specialization=shader.specialization)
            for shader in self.shaders
        )
        self.programs = vertex, fragment

    @property
    def closed(self) -> bool:
        """Whether the pipeline was closed."""
        return self.programs is None

    def close(self) -> None:
        """Free what was prepared."""
        if self.programs is not None:
            self.programs = None
            self.device.forget(self)
