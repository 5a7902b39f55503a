"""A batch of cases as one compute shader: each case in each shape is a separate block with separate memory.

Every subgroup works on different data; there are `UNITS` of them. A block reads from and writes to
*regions*: a number of elements for each unit, in the buffer of inputs or of outputs of their type, or in
shared memory. A matrix lies in a region by rows or columns, with a stride and an offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix.case import (
    COMPONENTS,
    USES,
    Array,
    Component,
    MatrixCase,
    MatrixShape,
    matrices_of,
    need_of_matrix,
)
from vkgroup.device import Capabilities

Bytes = NDArray[np.uint8]

WORKGROUPS, SUBGROUPS = 2, 2
UNITS = WORKGROUPS * SUBGROUPS
"""Subgroups of a dispatch."""

POISON = 0xA5
"""Value of each byte of the outputs before the dispatch."""

VECTOR = "vec4"
"""The view of memory as uvec4, for elements of any type."""

ALIGNMENT = 16
"""Largest alignment of a pointer and a stride in bytes (Vulkan, RuntimeSpirv-…-08986)."""

LAYOUTS = {"row": "RowMajor", "column": "ColumnMajor"}
"""Layouts, with the suffix of their names in GLSL."""

PLACES = {
    "tight": "one behind the other",
    "padded": "with room between them",
    "offset": "with room between them, behind other elements",
    "repeated": "all in one place (stride 0)",
}
"""Arrangements of the rows or columns of a matrix."""


@dataclass(frozen=True, slots=True)
class MatrixPlacement:
    """Positions of the elements of one matrix in memory."""

    shape: MatrixShape  # of the matrix
    layout: str  # a key of `LAYOUTS`
    #: `offset`, `stride`: in elements.
    offset: int
    stride: int
    size: int  # bytes of an element

    @property
    def elements(self) -> NDArray[np.int64]:
        """The index of each element, (rows, columns)."""
        row, column = np.indices((self.shape.rows, self.shape.columns))
        major, minor = (column, row) if self.layout == "column" else (row, column)
        return np.asarray(self.offset + major * self.stride + minor)

    @property
    def extent(self) -> int:
        """Number of elements in memory: up to the last row or column, and some after it."""
        return int(self.elements.max()) + 1 + ALIGNMENT // self.size


def placed(
    shape: MatrixShape, size: int, layout: str = "row", place: str = "tight", *, unit: int = 1
) -> MatrixPlacement:
    """Return a placement of elements of `size` bytes whose stride is a multiple of `unit` bytes."""
    minor = (shape.rows if layout == "column" else shape.columns) * size
    step = max(min(ALIGNMENT, minor), unit)
    stride = -(-minor // step) * step
    room = -(-ALIGNMENT // step) * step
    if place in ("padded", "offset"):
        stride += room
    if place == "repeated":
        stride = 0
    offset = 3 * room if place == "offset" else 0
    return MatrixPlacement(shape, layout, offset // size, stride // size, size)


@dataclass(frozen=True)
class Region:
    """Memory of a block."""

    view: str  # a component's name, or `VECTOR`
    array: str  # its name in GLSL
    first: int  # the element at which unit 0 begins, in elements of the view
    count: int  # elements of the view for each unit
    shared: bool = False  # whether it is shared memory, in which each subgroup of the workgroup has a part
    skipped: str = "0u"  # GLSL of the number of elements to skip before it

    @property
    def start(self) -> str:
        """The index of the first element of the unit's part, in GLSL."""
        part = "gl_SubgroupID" if self.shared else "unit"
        return f"{self.first}u + {self.skipped} + {part} * {self.count}u"


Outputs = dict[str, Bytes]
"""The bytes that the shader wrote, (bytes,), by view."""

OutputComparison = Callable[[Outputs], Verdict]


def view_glsl(view: str) -> str:
    """Return the GLSL type of a view's elements."""
    return "uvec4" if view == VECTOR else COMPONENTS[view].glsl


def view_size(view: str) -> int:
    """Return the bytes of a view's elements."""
    return 16 if view == VECTOR else COMPONENTS[view].size


def written(outputs: Outputs, region: Region) -> Bytes:
    """Return the contents of a region of outputs, (UNITS, bytes)."""
    size = view_size(region.view)
    part = outputs[region.view][region.first * size : (region.first + UNITS * region.count) * size]
    return part.reshape(UNITS, -1)


@dataclass(frozen=True)
class Matrix:
    """A matrix of each unit in memory."""

    component: Component
    placement: MatrixPlacement
    region: Region

    def words(self, outputs: Outputs) -> Array:
        """Return the words of the region in the outputs, (UNITS, elements) unsigned."""
        return np.ascontiguousarray(written(outputs, self.region)).view(f"u{self.component.size}")

    def numbers(self, outputs: Outputs) -> Array:
        """Return the elements of the matrix in the outputs, (UNITS, rows, columns)."""
        words = self.words(outputs)[:, self.placement.elements]
        return self.component.read(np.ascontiguousarray(words).view(np.uint8))


def in_place(
    component: Component, placement: MatrixPlacement, numbers: Array, around: Array | None = None
) -> Array:
    """Return memory that contains a matrix, (UNITS, rows, columns); other elements are zero by default."""
    memory = component.stored(np.zeros((UNITS, placement.extent)) if around is None else around)
    memory[:, placement.elements] = component.stored(numbers)
    return memory


class Builder:
    """Collects the blocks of a program."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.inputs: dict[str, list[Bytes]] = {}
        self.output_sizes: dict[str, int] = {}
        self.tiles: dict[str, int] = {}
        self.code: list[str] = []
        self.declarations: list[str] = []
        self.calls: dict[str, Any] = {}  # `ReplacedCall` by the name of a function
        self.specialization: dict[int | str, int] = {}

    def random(self, key: str) -> np.random.Generator:
        """Return the generator of a block's data, determined by key and seed."""
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
        """Return a region of shared memory; all blocks use the same memory, one after the other."""
        count = self._rounded(view, count)
        self.tiles[view] = max(self.tiles.get(view, 0), SUBGROUPS * count)
        return Region(view, f"tile_{view}", 0, count, shared=True)

    def input(
        self, component: Component, placement: MatrixPlacement, numbers: Array, around: Array | None = None
    ) -> Matrix:
        """Return a matrix of inputs with these numbers; see `in_place`."""
        memory = in_place(component, placement, numbers, around)
        return Matrix(component, placement, self.read(component.name, memory))

    def output(self, component: Component, placement: MatrixPlacement) -> Matrix:
        """Return a matrix of outputs."""
        return Matrix(component, placement, self.write(component.name, placement.extent))

    # --- code -----------------------------------------------------------------------------------------

    def block(self, *lines: str) -> None:
        """Add a block of code; the lines may use `unit`, the subgroup's number of `UNITS`."""
        body = "\n        ".join(line for lines_ in lines for line in lines_.splitlines())
        self.code.append(f"{{\n        {body}\n    }}")

    def constant(self, value: int) -> str:
        """Return the name of a new specialization constant with this value."""
        number = len(self.specialization)
        self.specialization[number] = value
        self.declarations.append(f"layout(constant_id = {number}) const uint special_{number} = 1u;")
        return f"special_{number}"

    def source(self, title: str) -> str:
        """Return the GLSL of all blocks."""
        buffers = []
        for number, view in enumerate(self._views()):
            glsl, name = view_glsl(view), view.upper()
            if view in self.inputs:
                binding = f"layout(std430, binding = {2 * number}) readonly"
                buffers.append(f"{binding} buffer In{name} {{ {glsl} in_{view}[]; }};")
            if view in self.output_sizes:
                binding = f"layout(std430, binding = {2 * number + 1})"
                buffers.append(f"{binding} buffer Out{name} {{ {glsl} out_{view}[]; }};")
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

    def _views(self) -> list[str]:
        return sorted({*self.inputs, *self.output_sizes})

    def bindings(self) -> tuple[dict[int, Bytes], dict[str, int]]:
        """Return the initial contents of every binding, and the binding of each view's outputs."""
        contents, outputs = {}, {}
        for number, view in enumerate(self._views()):
            if view in self.inputs:
                contents[2 * number] = np.concatenate(self.inputs[view])
            if view in self.output_sizes:
                size = self.output_sizes[view] * view_size(view)
                contents[2 * number + 1] = np.full(size, POISON, np.uint8)
                outputs[view] = 2 * number + 1
        return contents, outputs


_TEMPLATE = """#version 460
// {title}
// A buffer of inputs and one of outputs for each element type; every subgroup has a separate part.
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
uint lane, lanes, unit; // lane in the unit, lanes of the unit, number of the unit
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


def matrix_of(component: Component, use: str, shape: MatrixShape) -> str:
    """Return the GLSL type of a matrix of a shape."""
    return matrix_type(component, use, shape.rows, shape.columns)


def load(name: str, matrix: Matrix) -> str:
    """Return the GLSL that loads a matrix."""
    return f"coopMatLoad({name}, {_memory(matrix)});"


def store(name: str, matrix: Matrix) -> str:
    """Return the GLSL that stores a matrix."""
    return f"coopMatStore({name}, {_memory(matrix)});"


def _memory(matrix: Matrix) -> str:
    region, placement = matrix.region, matrix.placement
    per = view_size(region.view) // placement.size
    return (
        f"{region.array}, {region.start} + {placement.offset // per}u, {placement.stride // per}u, "
        f"gl_CooperativeMatrixLayout{LAYOUTS[placement.layout]}"
    )


def copy(target: Region, source: Region) -> str:
    """Return the GLSL by which a subgroup copies a region to another of the same view."""
    count = min(target.count, source.count)
    return (
        f"for (uint e = lane; e < {count}u; e += lanes) "
        f"{target.array}[{target.start} + e] = {source.array}[{source.start} + e];"
    )


# --- data -----------------------------------------------------------------------------------------------


def any_bits(random: np.random.Generator, component: Component, *shape: int) -> Array:
    """Return numbers that use all bits of a type, none NaN, infinite or subnormal: (UNITS, …)."""
    whole = (UNITS, *shape)
    if not component.is_float:
        limits = np.iinfo(component.dtype)
        return random.integers(limits.min, limits.max, whole, component.dtype, endpoint=True)
    narrow = {"f16": (-12, 12), "e4m3": (-6, 8), "e5m2": (-14, 15)}  # without the highest exponent
    exponents = narrow.get(component.name, (-60, 60))
    numbers = np.ldexp(random.uniform(1, 2, whole), random.integers(*exponents, whole))
    numbers *= random.choice([-1.0, 1.0], whole)
    return component.rounded(numbers.astype(np.float64))


def small_integers(
    random: np.random.Generator, component: Component, limit: int, *shape: int, least: int | None = None
) -> Array:
    """Return integers up to a limit, also negative ones for signed types: (UNITS, …)."""
    low = -limit if component.dtype.kind != "u" else 0
    numbers = random.integers(low if least is None else least, limit, (UNITS, *shape), endpoint=True)
    return numbers.astype(component.dtype)


# --- topics ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Topic:
    """A group of cases with the functions that write and compare them."""

    name: str  # the second part of the case names
    cases: Callable[[], Iterable[MatrixCase]]  # yields every case; needs no device
    #: Adds a case in one shape to a program; returns the function that compares its results.
    add: Callable[[Builder, MatrixCase, MatrixShape], OutputComparison]
    code: str  # text in the shader lines that execute the tested operation
    #: Names of the types that a case's shader uses.
    components: Callable[[MatrixCase], tuple[str, ...]] = lambda case: case.axes.types
    #: Function that returns the shapes that a device lists for the case, without duplicates.
    shapes: Callable[[MatrixCase, Capabilities], tuple[MatrixShape, ...]] = matrices_of
    needs: Callable[[MatrixCase], str] = need_of_matrix  # returns a phrase for the missing entry
    feature: str = ""  # of VK_NV_cooperative_matrix2 that it needs, or the same of EXT
