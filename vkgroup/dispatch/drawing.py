"""How a draw is done, apart from shaders and resources: the fixed functions of a graphics pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.choices import COMPARISONS, SAMPLES
from vkgroup.dispatch.input_attachments import InputAttachment
from vkgroup.errors import InvalidDispatch
from vkgroup.formats import Format

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

#: VkFrontFace, in the order of its numbers, by our names.
FRONT_FACES = ("counter_clockwise", "clockwise")


@dataclass(frozen=True)
class Attribute:
    """A vertex attribute, in a buffer of its own.

    Attributes
    ----------
    location : the vertex shader's.
    kind : ``"float"``, ``"int"`` or ``"uint"``, of 32 bits.
    components : 1 to 4; those that the shader has more of are 0, 0, 1 (Vulkan 1.4, 22.1).
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
class DrawState:
    """What a graphics pipeline is made for, beside its shaders.

    Attributes
    ----------
    attributes : of the vertices.
    colors : format of each color attachment by location.
    depth : format of the depth attachment; None without.
    topology : a key of `TOPOLOGIES`; ``"patches"`` for tessellation.
    patch_vertices : vertices of a patch.
    depth_compare : one of `COMPARISONS`: which fragments pass against what is there.
    depth_write : whether these replace what is there.
    samples : of each pixel.
    sample_shading : whether the fragment shader runs for each sample, and not for each pixel.
    front_face : one of `FRONT_FACES`: which triangles face the viewer, as seen with y downwards.
    inputs : the input attachments that the fragment shader reads.
    """

    attributes: tuple[Attribute, ...] = ()
    colors: tuple[tuple[int, Format], ...] = ()
    depth: Format | None = None
    topology: str = "triangles"
    patch_vertices: int = 3
    depth_compare: str = "less"
    depth_write: bool = True
    samples: int = 1
    sample_shading: bool = False
    front_face: str = "counter_clockwise"
    inputs: tuple[InputAttachment, ...] = ()

    def __post_init__(self) -> None:
        _one_of("topology", self.topology, tuple(TOPOLOGIES), str)
        _one_of("depth_compare", self.depth_compare, COMPARISONS, str)
        if not isinstance(self.patch_vertices, int | np.integer) or not 0 < self.patch_vertices < 2**32:
            raise InvalidDispatch(f"A patch has at least one vertex; {self.patch_vertices!r} was given.")
        _one_of("samples", self.samples, SAMPLES, int | np.integer)
        _one_of("front_face", self.front_face, FRONT_FACES, str)
        _one_of("depth_write", self.depth_write, (False, True), bool | np.bool_)
        _one_of("sample_shading", self.sample_shading, (False, True), bool | np.bool_)
        # NumPy's numbers and truth values are equal to Python's, but not everything that is made of them is.
        object.__setattr__(self, "samples", int(self.samples))
        object.__setattr__(self, "patch_vertices", int(self.patch_vertices))
        object.__setattr__(self, "depth_write", bool(self.depth_write))
        object.__setattr__(self, "sample_shading", bool(self.sample_shading))


def _one_of(what: str, given: object, known: tuple[object, ...], kind: Any) -> None:
    if not isinstance(given, kind) or given not in known:
        raise InvalidDispatch(f"{what} is one of {', '.join(map(str, known))}; {given!r} was given.")


def size_of(size: object) -> tuple[int, int]:
    """Return a width and a height.

    Raises
    ------
    InvalidDispatch
        `size` is no such pair of positive integers.
    """
    try:
        width, height = (int(number) for number in size)  # type: ignore[attr-defined]
        sound = width > 0 and height > 0 and (width, height) == tuple(size)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        sound = False
    if not sound:
        raise InvalidDispatch(f"A draw's size is (width, height) in pixels, both at least 1; not {size!r}.")
    return width, height
