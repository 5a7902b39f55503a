"""A batch of cases as one compute shader: each case in each shape is a separate block with separate memory.

Every subgroup works on different data; there are `UNITS` of them. A block reads from and writes to
*regions*: so many elements for each unit, in the buffer of inputs or of outputs of their type, or in shared
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.cooperative_matrix.case import USES, Shape
from vkgroup.conformance.cooperative_matrix.component import COMPONENTS, Array, Component
from vkgroup.conformance.cooperative_matrix.place import ALIGNMENT, LAYOUTS, Placement

Bytes = NDArray[np.uint8]

WORKGROUPS, SUBGROUPS = 2, 2
UNITS = WORKGROUPS * SUBGROUPS
"""Subgroups of a dispatch."""

POISON = 0xA5
"""What each byte of the outputs holds before."""

VECTOR = "vec4"
"""The view of memory as uvec4, whatever its elements are."""

_WORD = "u32"


@dataclass(frozen=True)
class Finding:
    """What was found of one case in one shape.

    Attributes
    ----------
    defined, undefined : elements that were judged, and that the specification leaves open.
    wrong : description of the first wrong elements; empty if there are none.
    note : what else there is to say.
    evidence : a row of the matrix with what is wrong; see `vkgroup.conformance.evidence`.
    """

    defined: int
    undefined: int = 0
    wrong: str = ""
    note: str = ""
    evidence: dict[str, Any] | None = None


@dataclass(frozen=True)
class Region:
    """Memory of a block.

    Attributes
    ----------
    view : a component's name, or `VECTOR`.
    array : in GLSL.
    first : the element at which unit 0 begins, in elements of the view.
    count : elements of the view for each unit.
    shared : whether it is shared memory, in which a subgroup has the part of its number.
    behind : GLSL of how many elements farther on it begins.
    """

    view: str
    array: str
    first: int
    count: int
    shared: bool = False
    behind: str = "0u"

    @property
    def start(self) -> str:
        """Where the unit's part begins, in GLSL."""
        part = "gl_SubgroupID" if self.shared else "unit"
        return f"{self.first}u + {self.behind} + {part} * {self.count}u"


Outputs = dict[str, Bytes]
"""By view: what the shader wrote, (bytes,)."""

Judge = Callable[[Outputs], Finding]


def view_glsl(view: str) -> str:
    """Return the GLSL type of a view's elements."""
    return "uvec4" if view == VECTOR else COMPONENTS[view].glsl


def view_size(view: str) -> int:
    """Return the bytes of a view's elements."""
    return 16 if view == VECTOR else COMPONENTS[view].size


class Builder:
    """Collects the blocks of a program.

    Parameters
    ----------
    size : the subgroup size.
    seed : seed of all data.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.inputs: dict[str, list[Bytes]] = {}
        self.output_sizes: dict[str, int] = {}
        self.tiles: dict[str, int] = {}
        self.code: list[str] = []
        self.declarations: list[str] = []
        self.specialization: dict[int | str, int] = {}
        self.blocks = 0

    def random(self, key: str) -> np.random.Generator:
        """Return the source of a block's data; the same for the same key and seed."""
        return np.random.default_rng([self.seed, crc32(key.encode())])

    # --- memory ---------------------------------------------------------------------------------------

    def _rounded(self, view: str, count: int) -> int:
        per = max(1, ALIGNMENT // view_size(view))
        return -(-count // per) * per

    def read(self, view: str, data: Array) -> Region:
        """Return a region of inputs that holds `data`: (UNITS, elements) of the view's size, or bytes."""
        raw = np.ascontiguousarray(data).reshape(UNITS, -1).view(np.uint8)
        count = self._rounded(view, -(-raw.shape[1] // view_size(view)))
        padded = np.full((UNITS, count * view_size(view)), POISON, np.uint8)
        padded[:, : raw.shape[1]] = raw
        parts = self.inputs.setdefault(view, [])
        first = sum(part.size for part in parts) // view_size(view)
        parts.append(padded.reshape(-1))
        return Region(view, f"in_{view}", first, count)

    def write(self, view: str, count: int) -> Region:
        """Return a region of outputs with this many elements of the view for each unit."""
        count = self._rounded(view, count)
        first = self.output_sizes.get(view, 0)
        self.output_sizes[view] = first + UNITS * count
        return Region(view, f"out_{view}", first, count)

    def tile(self, view: str, count: int) -> Region:
        """Return a region of shared memory; blocks use the same one after the other."""
        count = self._rounded(view, count)
        self.tiles[view] = max(self.tiles.get(view, 0), SUBGROUPS * count)
        return Region(view, f"tile_{view}", 0, count, shared=True)

    def written(self, outputs: Outputs, region: Region) -> Bytes:
        """Return what is in a region of outputs, (UNITS, bytes)."""
        size = view_size(region.view)
        part = outputs[region.view][region.first * size : (region.first + UNITS * region.count) * size]
        return part.reshape(UNITS, -1)

    # --- code -----------------------------------------------------------------------------------------

    def block(self, *lines: str) -> None:
        """Add a block of code; the lines may use `unit`, the subgroup's number of `UNITS`."""
        body = "\n        ".join(line for lines_ in lines for line in lines_.splitlines())
        self.code.append(f"{{\n        {body}\n    }}")
        self.blocks += 1

    def define(self, declaration: str) -> None:
        """Add a declaration outside of `main`."""
        self.declarations.append(declaration)

    def constant(self, value: int) -> str:
        """Return the name of a specialization constant that is given this value."""
        number = len(self.specialization)
        self.specialization[number] = value
        self.declarations.append(f"layout(constant_id = {number}) const uint special_{number} = 1u;")
        return f"special_{number}"

    def source(self, title: str) -> str:
        """Return the GLSL of all blocks."""
        views = sorted({*self.inputs, *self.output_sizes})
        buffers = []
        for number, view in enumerate(views):
            kind, name = view_glsl(view), view.upper()
            if view in self.inputs:
                binding = f"layout(std430, binding = {2 * number}) readonly"
                buffers.append(f"{binding} buffer In{name} {{ {kind} in_{view}[]; }};")
            if view in self.output_sizes:
                binding = f"layout(std430, binding = {2 * number + 1})"
                buffers.append(f"{binding} buffer Out{name} {{ {kind} out_{view}[]; }};")
        tiles = [
            f"shared {view_glsl(view)} tile_{view}[{count}];" for view, count in sorted(self.tiles.items())
        ]
        return _TEMPLATE.format(
            title=title,
            local_size=SUBGROUPS * self.size,
            subgroups=SUBGROUPS,
            buffers="\n".join(buffers),
            tiles="\n".join(tiles),
            declarations="\n".join(self.declarations),
            code="\n    ".join(self.code),
        )

    def bindings(self) -> tuple[dict[int, Bytes], dict[str, int]]:
        """Return what is in every binding before the dispatch, and the binding of each view's outputs."""
        contents, outputs = {}, {}
        for number, view in enumerate(sorted({*self.inputs, *self.output_sizes})):
            if view in self.inputs:
                contents[2 * number] = np.concatenate(self.inputs[view])
            if view in self.output_sizes:
                size = self.output_sizes[view] * view_size(view)
                contents[2 * number + 1] = np.full(size, POISON, np.uint8)
                outputs[view] = 2 * number + 1
        return contents, outputs


_TEMPLATE = """#version 460
// {title}
// Of each type of elements a buffer of inputs and one of outputs; every subgroup has its own part of them.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#pragma use_vulkan_memory_model
layout(local_size_x = {local_size}) in;
{buffers}
{tiles}
uint lane, lanes, unit; // of the unit's lanes this one, how many they are; which unit it is
{declarations}

void main() {{
    lane = gl_SubgroupInvocationID;
    lanes = gl_SubgroupSize;
    unit = gl_WorkGroupID.x * {subgroups}u + gl_SubgroupID;
    {code}
}}
"""


# --- GLSL of a matrix -----------------------------------------------------------------------------------


def matrix_type(component: Component, use: str, rows: int | str, columns: int | str) -> str:
    """Return the GLSL type of a matrix; rows and columns may be names of constants."""
    return f"coopmat<{component.glsl}, gl_ScopeSubgroup, {rows}, {columns}, gl_MatrixUse{USES[use]}>"


def matrix_of(component: Component, use: str, shape: Shape) -> str:
    """Return the GLSL type of a matrix of a shape."""
    return matrix_type(component, use, shape.rows, shape.columns)


def load(name: str, region: Region, placement: Placement) -> str:
    """Return the GLSL that loads a matrix."""
    return f"coopMatLoad({name}, {_memory(region, placement)});"


def store(name: str, region: Region, placement: Placement) -> str:
    """Return the GLSL that stores a matrix."""
    return f"coopMatStore({name}, {_memory(region, placement)});"


def _memory(region: Region, placement: Placement) -> str:
    per = view_size(region.view) // placement.size
    return (
        f"{region.array}, {region.start} + {placement.offset // per}u, {placement.stride // per}u, "
        f"gl_CooperativeMatrixLayout{LAYOUTS[placement.layout]}"
    )


def copy(target: Region, source: Region) -> str:
    """Return the GLSL by which a subgroup copies a region to one of the same view."""
    count = min(target.count, source.count)
    return (
        f"for (uint e = lane; e < {count}u; e += lanes) "
        f"{target.array}[{target.start} + e] = {source.array}[{source.start} + e];"
    )
