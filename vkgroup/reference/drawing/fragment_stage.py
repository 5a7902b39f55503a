"""Execution of the fragment stage on batches of quads, with early depth tests where declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vkgroup.reference.drawing.fragments import QUAD, Arranger, Fragments, Masks, Positions, samples_of
from vkgroup.reference.drawing.interpolation import Shapes, input_values
from vkgroup.reference.drawing.outputs import Outputs
from vkgroup.reference.drawing.vertices import Column
from vkgroup.reference.interpreter.execution.execute import Execution
from vkgroup.reference.interpreter.program.interface import Component, StageInputs
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value, tainted

_SAMPLE_BUILT_INS = ("SampleId", "SamplePosition")


class FragmentStage:
    """The fragment stage of one draw.

    Parameters
    ----------
    execution : of the fragment shader.
    shapes : the primitives.
    columns : the outputs of the vertex stage.
    locations : of the samples in a pixel.
    quads : arranges quads in subgroups.
    outputs : writes fragments to the attachments.

    Attributes
    ----------
    needs_samples : whether the shader must run once for each sample (Vulkan 1.4, "Sample Shading").
    """

    def __init__(
        self,
        execution: Execution,
        shapes: Shapes,
        columns: Mapping[Component, Column],
        locations: npt.NDArray[np.float64],
        quads: Arranger,
        outputs: Outputs,
    ) -> None:
        self._execution, self._shapes, self._columns = execution, shapes, columns
        self._locations, self._quads, self._outputs = locations, quads, outputs
        program = self._program = execution.program
        modes = program.entry.execution_modes
        self._early = "EarlyFragmentTests" in modes and outputs.depth is not None
        self._mask_after_depth = "PostDepthCoverage" in modes
        self.needs_samples = any(name in program.built_ins for name in _SAMPLE_BUILT_INS) or any(
            "Sample" in port.decorations for port in program.ports["Input"]
        )
        site = Site("", None, (), (), (), (), -1, program.causes)
        self._no_sample = site.cause("bounds", "a value is interpolated at a sample that does not exist")
        self._missing = site.cause("uninitialised", "the vertex shader has no such output")

    def run(self, batch: Fragments) -> None:
        """Shade some fragments, and write them to the attachments."""
        fragments = self._quads.ordered(batch)
        coverage = fragments.mask
        if self._early:
            fragments = replace(fragments, mask=self._tested(fragments))
            passed = np.repeat(fragments.mask.reshape(-1, QUAD).any(axis=1), QUAD)
            fragments, coverage = fragments.chosen(passed), coverage[passed]
            if not len(fragments):
                return
        program = self._program
        positions = Positions(self._shapes, fragments, self._locations)
        placement = self._quads.place(fragments, self._shapes.number)
        inputs = StageInputs(
            positions.built_ins(fragments.mask if self._mask_after_depth else coverage),
            input_values(
                program.ports["Input"],
                program.cell_types,
                self._columns,
                positions.interpolation,
                self._missing,
            ),
            fragments.mask == 0,
            lambda cell, point, operand, lanes: self._interpolated(positions, cell, point, operand, lanes),
        )
        machine = self._execution.run(placement, placement.part, inputs)
        self._outputs.write(machine, fragments, positions, tested=self._early)

    def _interpolated(
        self, positions: Positions, cell: int, point: str, operand: Value | None, lanes: npt.NDArray[np.int64]
    ) -> Value:
        """Return an input of some fragments at another point of their pixels."""
        program = self._program
        interpolation, cause = positions.interpolation_at(point, operand, lanes, self._no_sample)
        ports = [
            replace(port, decorations=port.decorations - {"Centroid", "Sample"})
            for port in program.ports["Input"]
            if port.cell == cell
        ]
        value = input_values(ports, program.cell_types, self._columns, interpolation, self._missing)[cell]
        return value if cause is None else tainted(value, cause)

    def _tested(self, fragments: Fragments) -> Masks:
        """Return the samples that pass the depth test (Vulkan 1.4, "Early Fragment Tests")."""
        positions = Positions(self._shapes, fragments, self._locations)
        fragment, sample = samples_of(fragments.mask)
        order = np.argsort(fragments.shape[fragment], kind="stable")
        fragment, sample = fragment[order], sample[order]
        passed = self._outputs.test(fragments, fragment, sample, positions.depth(fragment, sample))
        masks = np.zeros_like(fragments.mask)
        np.bitwise_or.at(masks, fragment[passed], np.uint32(1) << sample[passed].astype(np.uint32))
        return masks
