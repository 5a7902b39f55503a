"""What a null device writes in place of the shaders: nothing, zeros, ones, random words or the inputs.

No case may pass with these outputs, except those that check declarations only (`allowed_passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from vkgroup.conformance.null_device import NullDevice, NullWork
from vkgroup.device import Capabilities
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.commands import Command
from vkgroup.dispatch.pipeline import Work
from vkgroup.dispatch.reference.buffer import CopiedArray, ReferenceBuffer, ReferenceImage

Bytes = npt.NDArray[np.uint8]
Fill = Callable[[Bytes, Bytes], Bytes | None]
"""Function of the bytes of an output before the command and of the command's inputs: the bytes after it, or
None to leave the output unchanged."""


def _words(value: int) -> Fill:
    return lambda before, inputs: np.full(before.size // 4 + 1, value, np.uint32).view(np.uint8)[
        : before.size
    ]


def repeated(source: Bytes, size: int) -> Bytes:
    return np.tile(source, -(-size // source.size))[:size]


def _random() -> Fill:
    random = np.random.default_rng(18)
    return lambda before, inputs: random.integers(0, 256, before.size, np.uint8)


FILLS: dict[str, Fill] = {
    "unchanged": lambda before, inputs: None,
    "zeros": _words(0),
    "ones": _words(1),
    "all_bits": _words(0xFFFFFFFF),
    "float_ones": _words(0x3F800000),
    "random": _random(),
    "inputs": lambda before, inputs: repeated(inputs, before.size) if inputs.size else None,
}
"""What a null device writes, by its name."""


def memories(work: Work, *, writable: bool) -> Iterator[Bytes]:
    """Yield the memory of every resource that the shaders of bound work can write, or cannot write."""
    for slot, resources in work.resources.items():
        for resource in resources:
            if slot.writable == writable and not isinstance(resource, AccelerationStructure):
                assert isinstance(resource, ReferenceBuffer | ReferenceImage | CopiedArray)
                assert resource.memory is not None
                yield resource.memory.data


def targets(work: Work) -> Iterator[Bytes]:
    """Yield the memory of everything that bound work can write, attachments included."""
    yield from memories(work, writable=True)
    if work.drawn is not None:
        for image in (*work.drawn.images.values(), *work.drawn.resolved.values()):
            assert isinstance(image, ReferenceImage)
            assert image.memory is not None
            yield image.memory.data


def _filled(fill: Fill, work: NullWork, command: Command) -> None:
    inputs = np.concatenate([np.zeros(0, np.uint8), *memories(work, writable=False)])
    for target in targets(work):
        after = fill(target, inputs)
        if after is not None:
            target[:] = after


class FillingDevice(NullDevice):
    """A null device on which `fill` writes the outputs."""

    def __init__(self, fill: Fill, capabilities: Capabilities) -> None:
        super().__init__(partial(_filled, fill), capabilities)
        self.fill = fill
