"""Draw state, and the formats that a graphics pipeline reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from vkgroup.base.choices import COMPARISONS, SAMPLES
from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.formats import TexelFormat
from vkgroup.dispatch.checks import items_of
from vkgroup.dispatch.image import Image, choose_format
from vkgroup.dispatch.slots import Slot, slots_of
from vkgroup.spirv import Module

#: VkFrontFace, in the order of its numbers, by our names.
FRONT_FACES = ("counter_clockwise", "clockwise")

#: VkPrimitiveTopology by our names.
TOPOLOGIES = {
    "points": "VK_PRIMITIVE_TOPOLOGY_POINT_LIST",
    "lines": "VK_PRIMITIVE_TOPOLOGY_LINE_LIST",
    "line_strip": "VK_PRIMITIVE_TOPOLOGY_LINE_STRIP",
    "triangles": "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST",
    "triangle_strip": "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP",
    "triangle_fan": "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN",
    "lines_adjacency": "VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY",
    "line_strip_adjacency": "VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY",
    "triangles_adjacency": "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY",
    "triangle_strip_adjacency": "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY",
    "patches": "VK_PRIMITIVE_TOPOLOGY_PATCH_LIST",
}


@dataclass(frozen=True)
class InputAttachment:
    """One image that a draw reads: its InputAttachmentIndex, format and samples."""

    index: int
    format: TexelFormat
    samples: int = 1


def indices(slot: Slot) -> range:
    """Return the InputAttachmentIndex of each descriptor of a slot: consecutive numbers for an array."""
    first = slot.variables[0].attachment_index or 0
    return range(first, first + slot.count)


def inputs_of(fragment: Module, bindings: Mapping[Any, Any]) -> tuple[InputAttachment, ...]:
    """Return the input attachments of a draw, by what is bound to slots of its fragment shader so far."""
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
    """Return the images bound as input attachments, with and in the order of their indices."""
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
    return (slot for slot in slots if slot.kind == "input_attachment")


@dataclass(frozen=True)
class Attribute:
    """A vertex attribute with its own buffer, of 32-bit ``"float"``, ``"int"`` or ``"uint"`` components.

    The shader reads missing components as 0, 0, 1 (Vulkan 1.4, 22.1).
    """

    location: int
    kind: str
    components: int

    @property
    def vulkan(self) -> str:
        """The VkFormat's name."""
        channels = "".join(f"{letter}32" for letter in "RGBA"[: self.components])
        return f"VK_FORMAT_{channels}_{ {'float': 'SFLOAT', 'int': 'SINT', 'uint': 'UINT'}[self.kind] }"


@dataclass(frozen=True)
class DrawFormats:
    """Formats of everything that a graphics pipeline reads from vertices and attachments, and writes.

    Attributes
    ----------
    attributes : attributes of the vertices.
    colors : format of each color attachment by location.
    depth : format of the depth attachment; None without.
    inputs : the input attachments that the fragment shader reads.
    """

    attributes: tuple[Attribute, ...] = ()
    colors: tuple[tuple[int, TexelFormat], ...] = ()
    depth: TexelFormat | None = None
    inputs: tuple[InputAttachment, ...] = ()


@dataclass(frozen=True)
class DrawState:
    """Fixed-function state of a draw: primitives, depth test, samples.

    The whole image is the viewport; x goes right, y down, depth from 0 to 1. No triangle is culled, and
    colors are not blended.

    Attributes
    ----------
    topology : ``"triangles"``, ``"triangle_strip"``, ``"triangle_fan"``, ``"lines"``, ``"line_strip"`` or
        ``"points"``, and for geometry shaders ``"lines_adjacency"``, ``"line_strip_adjacency"``,
        ``"triangles_adjacency"`` and ``"triangle_strip_adjacency"``. None: triangles, or ``"patches"`` where
        there is tessellation.
    patch_vertices : vertices of a patch.
    depth_compare : one of `vkgroup.base.choices.COMPARISONS`: which fragments pass the depth test.
    depth_write : whether fragments that pass replace the depth.
    samples : samples of each pixel: 1, 2, 4, 8 …
    sample_shading : whether the fragment shader runs once for each sample.
    front_face : ``"counter_clockwise"`` or ``"clockwise"``: which triangles have `gl_FrontFacing`, seen with
        y downwards. OpenGL sees them with y upwards: choose ``"clockwise"`` for its pictures. None:
        counter-clockwise.
    resolve : whether the samples of a color are resolved to one by the device; otherwise results have all
        samples: (height, width, samples[, components]).

    Raises
    ------
    InvalidDispatch
        A value is not one of those above.

    Examples
    --------
    >>> device.draw(shader, (64, 64), state=DrawState(topology="points", samples=4))
    """

    topology: str | None = None
    patch_vertices: int = 3
    depth_compare: str = "less"
    depth_write: bool = True
    samples: int = 1
    sample_shading: bool = False
    front_face: str | None = None
    resolve: bool = True

    def __post_init__(self) -> None:
        choices: dict[str, tuple[tuple[object, ...], Any]] = {
            "topology": ((None, *TOPOLOGIES), str | None),
            "depth_compare": (COMPARISONS, str),
            "samples": (SAMPLES, int | np.integer),
            "front_face": ((None, *FRONT_FACES), str | None),
            "depth_write": ((False, True), bool | np.bool_),
            "sample_shading": ((False, True), bool | np.bool_),
        }
        for name, (known, kind) in choices.items():
            given = getattr(self, name)
            if not isinstance(given, kind) or given not in known:
                words = ", ".join(str(value) for value in known if value is not None)
                raise InvalidDispatch(f"{name} is one of {words}; {given!r} was given.")
        if not isinstance(self.patch_vertices, int | np.integer) or not 0 < self.patch_vertices < 2**32:
            raise InvalidDispatch(f"A patch has at least one vertex; {self.patch_vertices!r} was given.")
        # NumPy's numbers and truth values are equal to Python's, but Vulkan's structs do not take them.
        for name, plain in (
            ("samples", int),
            ("patch_vertices", int),
            ("depth_write", bool),
            ("sample_shading", bool),
        ):
            object.__setattr__(self, name, plain(getattr(self, name)))

    def changes(self) -> dict[str, Any]:
        """Return the attributes that differ from their defaults, by name."""
        return {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if getattr(self, item.name) != item.default
        }

    @property
    def farthest_depth(self) -> float:
        """The depth that depth attachments are cleared to: the one that every fragment passes."""
        return 0.0 if self.depth_compare in ("greater", "greater_or_equal") else 1.0


def size_of(size: object) -> tuple[int, int]:
    """Return a width and a height; `InvalidDispatch` unless they are two positive integers."""
    try:
        width, height = (int(number) for number in size)  # type: ignore[attr-defined]
        sound = width > 0 and height > 0 and (width, height) == tuple(size)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        sound = False
    if not sound:
        raise InvalidDispatch(f"A draw's size is (width, height) in pixels, both at least 1; not {size!r}.")
    return width, height
