"""Matrix transposition: blocks in registers, exchanged by shuffles or through shared memory.

Tuning values of both versions: `workgroup`; `words`: maximum number of 32-bit words that are loaded at once.
Tuning values of ``"subgroup"``: `items`: blocks per invocation; `width`: blocks in a row of a workgroup;
`registers`: maximum number of words per invocation, which determines the default of `items`. Tuning value of
``"shared"``: `tile`: blocks in a row and in a column of a tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.pipelines import choose_full, line, parts, require_full, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.tuning import TABLES, checked_values, require_power
from vkgroup.kernels.types import dtype_of, sizes_of

TABLES["transpose.subgroup"] = {
    "any": {"workgroup": 256, "items": None, "width": None, "words": 4, "registers": 64},
    "cpu": {"workgroup": 128, "registers": 16},
}
TABLES["transpose.shared"] = {
    "any": {"workgroup": 256, "tile": None, "words": 4},
    "cpu": {"workgroup": 128},
}

_LINE = 128
"""Contiguous bytes that neighboring lanes load and store together, if registers allow."""

_SHARED = 16384
"""Minimum size of shared memory in bytes that Vulkan guarantees."""

_MOST_TILE = 32
_MOST_WORDS = {1: 2, 2: 4, 4: 4, 8: 4}
"""Maximum words of a packet, by bytes of an element; blocks of 16 × 16 bytes would need 64 registers."""

_CPU_WORDS = {1: 1, 2: 1, 4: 4, 8: 4}
"""The same for CPU drivers, whose compilers need minutes for blocks of many small elements."""


@dataclass(frozen=True)
class Blocks:
    """Division of a matrix into square blocks; see ``kernels/transpose/block.glsl``.

    Attributes
    ----------
    element : size of an element in bytes.
    words : 32-bit words of a packet; 0: a packet is one element of fewer than 32 bits.
    """

    element: int
    words: int

    @property
    def side(self) -> int:
        """Number of elements in a row and in a column of a block."""
        return max(1, self.words * 4 // self.element)

    @property
    def nbytes(self) -> int:
        """Size of a packet in memory, in bytes."""
        return self.words * 4 or self.element

    @property
    def registers(self) -> int:
        """Number of 32-bit words of a block in registers and in shared memory."""
        return self.side * max(1, self.words)


def blocks_of(shape: tuple[int, int], element: int, most_words: int) -> Blocks:
    """Return the largest blocks that divide a matrix whose elements have `element` bytes."""
    for words in (4, 2, 1):
        blocks = Blocks(element, words)
        fits = words <= most_words and words * 4 >= element
        if fits and all(size % blocks.side == 0 for size in shape):
            return blocks
    return Blocks(element, element // 4)


def plan_transpose(
    device: Device,
    dtype: npt.DTypeLike,
    shape: tuple[int, int],
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan the transposition of the input ``x`` into the output ``transposed``.

    Parameters
    ----------
    dtype : any of 1, 2, 4 or 8 bytes.
    shape : rows and columns of ``x``, not zero.
    **tuning : see the module.

    Raises
    ------
    InvalidDispatch
        dtype, shape or a tuning value is invalid.
    Unsupported
        The device lacks shuffles (``"subgroup"``), or `storageBuffer8BitAccess` or `storageBuffer16BitAccess`
        for a matrix of small elements whose rows or columns are not a multiple of 32 bits.
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    if len(sizes) != 2 or min(sizes) < 1:
        raise InvalidDispatch(f"A matrix must have rows and columns; the shape {sizes} was given.")
    rows, columns = sizes
    if kind.itemsize not in (1, 2, 4, 8) or kind.hasobject:
        raise InvalidDispatch(f"Elements of 1, 2, 4 or 8 bytes can be transposed; {kind} was given.")
    implementation = choose_full(device, implementation, "shuffle")
    values = checked_values(device, "transpose", implementation, tuning)
    require_full(device, implementation, values["workgroup"])
    most = _CPU_WORDS if device.capabilities.type == "cpu" else _MOST_WORDS
    words = values["words"] if tuning.get("words") else min(values["words"], most[kind.itemsize])
    blocks = blocks_of((rows, columns), kind.itemsize, words)
    planner = Planner(device, "transpose", implementation)
    source = planner.input("x", kind, sizes)
    target = planner.output("transposed", kind, (columns, rows))
    arrange = _arrange_subgroup if implementation == "subgroup" else _arrange_shared
    specialization, down, across = arrange(device, blocks, values)
    kernel = planner.kernel(
        f"transpose/{implementation}.comp",
        macros={"ELEMENT": kind.itemsize, "WORDS": blocks.words},
        workgroup=values["workgroup"],
        specialization=specialization,
    )
    count = parts(rows // blocks.side, down) * parts(columns // blocks.side, across)
    planner.dispatch(
        kernel,
        line(device, count),
        {"Matrix": source, "Transposed": target},
        {"rows": rows, "columns": columns},
    )
    return planner.plan()


def transpose(x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Transpose a matrix with elements of 1, 2, 4 or 8 bytes, as `numpy.transpose`.

    The result is a new array, or a new `Buffer` if `x` is one, of shape (columns, rows) and the same dtype.
    """
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    if len(given.shape) == 2 and 0 in given.shape:
        return np.empty(given.shape[::-1], given.dtype)
    plan = planned(plan_transpose, arguments.device, given.dtype, given.shape, implementation)
    return arguments.run(plan, "transposed")[0]


def _arrange_subgroup(
    device: Device, blocks: Blocks, values: dict[str, Any]
) -> tuple[dict[str, Any], int, int]:
    """Return the constants of the kernel, and the number of rows and columns of blocks per workgroup."""
    workgroup = values["workgroup"]
    width = values["width"] or min(workgroup, max(1, _LINE // max(4, blocks.nbytes)))
    items = values["items"]
    if items is None:
        # Enough items that a column of lanes stores a whole line, if registers allow.
        height = max(1, subgroup_size(device) // width)
        items = 2
        while items * height * blocks.nbytes < _LINE and 2 * items * blocks.registers <= values["registers"]:
            items *= 2
    require_power(workgroup=workgroup, width=width, items=items)
    if width > workgroup:
        raise InvalidDispatch(f"width must be at most workgroup; they are {width} and {workgroup}.")
    return {"ITEMS": items, "WIDTH": width}, workgroup // width * items, width


def _arrange_shared(
    device: Device, blocks: Blocks, values: dict[str, Any]
) -> tuple[dict[str, Any], int, int]:
    tile = values["tile"]
    if tile is None:
        tile = _MOST_TILE
        while tile * tile * blocks.registers * 4 > _SHARED:
            tile //= 2
    require_power(tile=tile)
    return {"TILE": tile}, tile, tile
