"""The fragment stage: execution on batches of quads, coverage, depth tests, and writes to attachments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vkgroup.reference.drawing.attachments import (
    ColorTarget,
    DepthTarget,
    Flags,
    Integers,
    Samples,
    test_depth,
    write_color,
)
from vkgroup.reference.drawing.fragments import Arranger, Fragments, Masks, Positions, samples_of
from vkgroup.reference.drawing.interpolation import Shapes, input_values
from vkgroup.reference.drawing.vertices import Column
from vkgroup.reference.interpreter.execution.execute import Execution
from vkgroup.reference.interpreter.execution.machine import Machine
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.program.interface import Component, Port, StageInputs, read_numbers
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.value import HARD, Causes, Data, Value, combine, tainted
from vkgroup.spec.limits import QUAD_SIZE

_CHANNELS = 4
_DTYPES = {"float": np.dtype(np.float32), "int": np.dtype(np.int32), "uint": np.dtype(np.uint32)}


class Outputs:
    """The attachments of a draw, and the outputs of its fragment shader that are written to them."""

    def __init__(
        self,
        program: ExecutableShader,
        size: tuple[int, int],
        samples: int,
        colors: Sequence[ColorTarget],
        depth: DepthTarget | None,
    ) -> None:
        self._program, self._width, self._samples = program, size[0], samples
        self._colors, self.depth = colors, depth
        ports = program.ports["Output"]
        self._built_ins = {port.built_in: port for port in ports if port.built_in}
        self._ports = [port for port in ports if port.location >= 0 and not port.index]
        site = Site("", None, (), (), (), (), -1, program.causes)
        self._missing = site.cause("uninitialised", "the fragment shader has no such output or component")

    @property
    def images(self) -> list[ImageMemory]:
        """All attachments."""
        images = [target.image for target in self._colors]
        return images if self.depth is None else [*images, self.depth.image]

    def undefine(self, log: EventLog, cause: int) -> None:
        """Make all attachments undefined, since the positions of primitives are undefined."""
        for image in self.images:
            image.causes = np.full(image.granules, cause, np.uint16)
        message = "the position of a primitive depends on an undefined value"
        log.add_one("undefined", -1, -1, message, memory="", offset=-1, cause=cause, count=1)

    def test(
        self,
        fragments: Fragments,
        fragment: Integers,
        sample: Integers,
        depth: Data,
        undefined: Causes | None = None,
    ) -> Flags:
        """Test the depths of samples, (n,), in the order of drawing; return which pass."""
        if self.depth is None:
            return np.ones(len(fragment), np.bool_)
        return test_depth(self.depth, self._index(fragments, fragment, sample), depth, undefined)

    def _index(self, fragments: Fragments, fragment: Integers, sample: Integers) -> Integers:
        pixel = fragments.y[fragment] * self._width + fragments.x[fragment]
        return pixel * self._samples + sample

    def write(self, machine: Machine, fragments: Fragments, positions: Positions, *, tested: bool) -> None:
        """Write shaded fragments to the attachments; `tested` is true if they have passed the depth test."""
        mask, uncertain = self._coverage(machine, fragments)
        fragment, sample = samples_of(mask)
        order = np.argsort(fragments.shape[fragment], kind="stable")
        fragment, sample = fragment[order], sample[order]
        if not tested and self.depth is not None:
            depth, undefined = self._depths(machine, positions, fragment, sample)
            if uncertain is not None:
                undefined = combine(undefined, uncertain[fragment])
            passed = self.test(fragments, fragment, sample, depth, undefined)
            fragment, sample = fragment[passed], sample[passed]
            if undefined is not None:
                worst = np.zeros(len(fragments), np.uint16)
                np.maximum.at(worst, fragment, undefined[passed])
                uncertain = combine(uncertain, worst)
        samples = Samples(self._index(fragments, fragment, sample), fragment)
        for target in self._colors:
            channels, own, position = self._channels(machine, target, len(fragments))
            cause = write_color(target, samples, channels, combine(own, uncertain), self._program.causes)
            _record_stored(target.image, cause, position, machine.first, fragment)

    def _coverage(self, machine: Machine, fragments: Fragments) -> tuple[Masks, Causes | None]:
        """Return the samples that fragments still cover, and the causes of this coverage, (n,)."""
        assert machine.helpers is not None
        ended = machine.helpers if machine.discarded is None else machine.helpers | machine.discarded
        mask: Masks = np.where(ended, np.uint32(0), fragments.mask)
        uncertain: Causes | None = None
        if self._program.can_discard and machine.control is not None:
            # A discard may depend on an undefined value, but not one that came before.
            open_ = fragments.mask != 0
            if machine.surely_ended is not None:
                open_ &= ~machine.surely_ended
            uncertain = np.where(open_, machine.control, np.uint16(0))
            mask = np.where(uncertain >= HARD, fragments.mask, mask)
        port = self._built_ins.get("SampleMask")
        if port is not None:
            # Vulkan 1.4, "Multisample Coverage".
            data, cause = _first_number(machine, port)
            chosen = data.astype(np.int64).astype(np.uint32)
            if cause is not None:
                chosen = np.where(cause >= HARD, ~np.uint32(0), chosen)
                uncertain = combine(uncertain, cause)
            mask = mask & chosen
        return mask, uncertain

    def _depths(
        self, machine: Machine, positions: Positions, fragment: Integers, sample: Integers
    ) -> tuple[Data, Causes | None]:
        port = self._built_ins.get("FragDepth")
        if port is None:
            return positions.depth(fragment, sample), None
        data, cause = _first_number(machine, port)
        return data[fragment], None if cause is None else cause[fragment]

    def _channels(self, machine: Machine, target: ColorTarget, count: int) -> tuple[Data, Causes | None, int]:
        """Return red to alpha of every fragment, their causes, and the position of the output."""
        channels = np.zeros((_CHANNELS, count), _DTYPES[target.image.format.kind])
        causes = np.full((_CHANNELS, count), self._missing, np.uint16)
        position = -1
        for port in self._ports:
            for (location, component), (data, cause) in read_numbers(
                port, machine.cells[port.cell].read(machine.lanes)
            ).items():
                if location == target.location:
                    channels[component] = data
                    causes[component] = 0 if cause is None else cause
                    position = port.position
        return channels, causes if causes.any() else None, position


def _first_number(machine: Machine, port: Port) -> tuple[Data, Causes | None]:
    """Return the first component of a built-in output in every fragment."""
    value = machine.cells[port.cell].read(machine.lanes)
    leaf = port.leaves.start
    data, cause = value.leaves[leaf], value.causes[leaf]
    first = np.broadcast_to(data.reshape(-1, data.shape[-1])[0], (machine.count,))
    if cause is not None:
        cause = np.broadcast_to(cause.reshape(-1, cause.shape[-1])[0], (machine.count,))
    return first, cause


def _record_stored(
    image: ImageMemory, cause: Causes | None, position: int, first: int, fragment: Integers
) -> None:
    """Record an example of the fragments that have written an undefined value."""
    if cause is None or not cause.size:
        return
    worst = cause.max(axis=0)
    for number in np.unique(worst[worst >= HARD]).tolist():
        example = int(np.argmax(worst == number))
        image.stored_causes[number] = position, first + int(fragment[example])


_SAMPLE_BUILT_INS = ("SampleId", "SamplePosition")


class FragmentStage:
    """The fragment stage of one draw; `columns` are the outputs of the vertex stage."""

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
        #: Whether the shader must run once for each sample (Vulkan 1.4, "Sample Shading").
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
            passed = np.repeat(fragments.mask.reshape(-1, QUAD_SIZE).any(axis=1), QUAD_SIZE)
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
