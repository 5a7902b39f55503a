"""Outputs of the fragment stage: coverage, depth test, and writes to attachments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vkgroup.reference.drawing.attachments import (
    ColorTarget,
    DepthTarget,
    Flags,
    Integers,
    Samples,
    test_depth,
    write_color,
)
from vkgroup.reference.drawing.fragments import Fragments, Masks, Positions, samples_of
from vkgroup.reference.interpreter.execution.machine import Machine
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.program.interface import Port, read_numbers
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.value import HARD, Causes, Data, combine

_CHANNELS = 4
_DTYPES = {"float": np.dtype(np.float32), "int": np.dtype(np.int32), "uint": np.dtype(np.uint32)}


class Outputs:
    """The attachments of a draw, and the outputs of its fragment shader that are written to them.

    Parameters
    ----------
    program : the fragment shader.
    size, samples : of the attachments.
    colors, depth : the attachments.
    """

    def __init__(
        self,
        program: Program,
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
        """Write shaded fragments to the attachments; `tested` says that they have passed the depth test."""
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
            # An undefined value may have decided about a discard.
            uncertain = np.where(fragments.mask != 0, machine.control, np.uint16(0))
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
    """Return the first number of a built-in output in every fragment."""
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
