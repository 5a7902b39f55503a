"""Input attachments: images that fragment shaders read at their own pixel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.dispatch.checks import items_of
from vkgroup.dispatch.image import Image, choose_format
from vkgroup.dispatch.slots import Slot, slots_of
from vkgroup.errors import InvalidDispatch
from vkgroup.formats import Format
from vkgroup.spirv import Module

KIND = "input_attachment"
"""The kind of their descriptors."""


@dataclass(frozen=True)
class InputAttachment:
    """One image that a draw reads: its InputAttachmentIndex, format and samples."""

    index: int
    format: Format
    samples: int = 1


def indices(slot: Slot) -> range:
    """Return the InputAttachmentIndex of each descriptor of a slot: consecutive numbers for an array."""
    first = slot.variables[0].attachment_index or 0
    return range(first, first + slot.count)


def inputs_of(fragment: Module, bindings: Mapping[Any, Any]) -> tuple[InputAttachment, ...]:
    """Return the input attachments of a draw, by what is bound to their slots of the fragment shader.

    Slots without a value are left to `Pipeline.bind`.
    """
    inputs = []
    for slot in _input_slots(slots_of(fragment.reflection.bindings)):
        given = [value for key, value in bindings.items() if slot.matches(key)]
        if given:
            for index, item in zip(indices(slot), items_of(slot, given[0]), strict=True):
                if isinstance(item, Image):
                    inputs.append(InputAttachment(index, item.format, item.samples))
                else:
                    assert slot.image is not None
                    inputs.append(InputAttachment(index, choose_format(slot.image, item, slot.label)))
    return tuple(sorted(inputs, key=lambda item: item.index))


def check_inputs(slots: Iterable[Slot], inputs: Iterable[InputAttachment]) -> None:
    """Check that a pipeline's formats name every input attachment that its shaders read, and no other."""
    wanted = sorted(index for slot in _input_slots(slots) for index in indices(slot))
    given = sorted(item.index for item in inputs)
    if wanted != given:
        raise InvalidDispatch(
            f"The fragment shader reads the input attachments {wanted}; the state's inputs are {given}."
        )


def bound_inputs(
    resources: Mapping[Slot, Iterable[Any]], inputs: Iterable[InputAttachment], size: tuple[int, int]
) -> list[tuple[int, Image]]:
    """Return the images that are bound as input attachments, each with its index, in the order of these.

    Refuses images of another size than the draw, or of another format than the pipeline's `inputs`.
    """
    known = tuple(inputs)
    images: list[tuple[int, Image]] = []
    for slot in _input_slots(resources):
        for index, image in zip(indices(slot), resources[slot], strict=True):
            assert isinstance(image, Image)
            if InputAttachment(index, image.format, image.samples) not in known:
                raise InvalidDispatch(
                    f"{slot.label} is given {image.format.name}; the pipeline was made for another."
                )
            if image.extent[:2] != size or image.levels != 1 or "attachment" not in image.uses:
                raise InvalidDispatch(
                    f"{slot.label} is an input attachment: it takes images of the draw's size {size}, without"
                    f" levels, that can be drawn to; one of {image.extent[:2]} is given."
                )
            images.append((index, image))
    return sorted(images, key=lambda item: item[0])


def _input_slots(slots: Iterable[Slot]) -> Iterator[Slot]:
    return (slot for slot in slots if slot.kind == KIND)
