"""Stable compaction: compress, nonzero, compact by a comparison, partition_by, and their plan."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result, as_array, scalar_of
from vkgroup.kernels.calls import call_again, keep_call
from vkgroup.kernels.pipelines import choose_full, line, parts
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.scan import words_of_bytes
from vkgroup.kernels.scan_look_back import (
    COUNTS,
    OPERATIONS,
    Tiling,
    look_back_defaults,
    look_back_values,
    tile,
)
from vkgroup.kernels.tuning import TABLES
from vkgroup.kernels.types import COMPARISONS, dtype_of, sizes_of

_LOOK_BACK = {name: value for name, value in look_back_defaults().items() if name != "payload"}
"""Tuning values of the look-back; without `payload`, since a count and its status always share one word."""

TABLES["compact"] = {
    "any": {"workgroup": 256, "items": 16, "staged": 1, **_LOOK_BACK},
    # CPU drivers run workgroups almost in sequence, so waiting for a later workgroup does not help. Barriers
    # among several subgroups take long.
    "cpu": {"workgroup": 128, "items": 8, "depth": 1, "group": 1, "spins": 4, "in_turn": 32},
}
TABLES["compact.subgroup"] = {"nvidia": {"workgroup": 128, "items": 32, "depth": 2, "order": 0}}
TABLES["compact.shared"] = {"nvidia": {"workgroup": 384, "items": 24, "staged": 0, "group": 32, "order": 0}}

OUTPUTS = ("values", "indices", "partition", "count")

MOST = 2**COUNTS - 1
_OTHERS = 1024
"""Bytes of shared memory that do not depend on the tile or the group."""

_EACH_OF_GROUP = 16
"""Bytes of shared memory per tile of a group: a status and a count, twice."""

_NUMBERS = {
    "float16": ("half_from", "float", 32),
    "float32": ("uintBitsToFloat", "float", 32),
    "uint32": ("uint", "uint", 32),
    "int32": ("int", "int", 32),
    "float64": ("packDouble2x32", "double", 64),
    "uint64": ("packUint2x32", "uint64_t", 64),
    "int64": ("int64_from", "int64_t", 64),
}
"""For each dtype: the kernel's macro `AS`, the GLSL type of its result, and the bits of that type."""


@dataclass(frozen=True)
class Where:
    """The condition that selects the elements to keep: macros of ``kernels/compact/tile.glsl``.

    `limit` has the bits of the number that elements are compared with; `mask` is true if a mask selects them.
    """

    macros: Mapping[str, Any]
    limit: int = 0
    mask: bool = False


def where_of(where: str, limit: Any, dtype: np.dtype[Any]) -> Where:
    """Return the condition for the argument `where` of `plan_compact`."""
    if where == "mask":
        return Where({"WHERE": "MASK"}, mask=True)
    if where == "nonzero":
        if dtype.kind not in "iuf":
            raise InvalidDispatch(f"'nonzero' takes integers and floats; {dtype} was given.")
        bits = 8 * dtype.itemsize
        return Where({"WHERE": "ANY"}, (1 << bits - int(dtype.kind == "f")) - 1)
    if where not in COMPARISONS:
        raise InvalidDispatch(
            f"where must be 'mask', 'nonzero' or one of {COMPARISONS}; {where!r} was given."
        )
    if dtype.name not in _NUMBERS:
        raise InvalidDispatch(
            f"Kernels can compare {', '.join(_NUMBERS)}; {dtype} was given. Convert it with .astype."
        )
    name, kind, bits = _NUMBERS[dtype.name]
    macros: dict[str, Any] = {"WHERE": "COMPARED", "RELATION": where, "AS": name}
    macros |= {"T": kind, "T_BITS": bits, "T_FLOAT": int(dtype.kind == "f")}
    return Where(macros, _bits(limit, dtype))


def _bits(limit: Any, dtype: np.dtype[Any]) -> int:
    """Return the bits of a number of a dtype."""
    try:
        array = np.asarray(limit)
        exact = array.shape == () and array.dtype.kind in "biuf"
        with np.errstate(over="ignore", invalid="ignore"):
            number = array.astype(dtype) if exact else np.zeros((), dtype)
        exact = exact and bool(dtype.kind == "f" or number == limit)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise InvalidDispatch(
            f"Elements of {dtype} are compared with a number of that type; {limit!r} was given."
        )
    return int(number.view(f"u{dtype.itemsize}"))


def plan_compact(
    device: Device,
    dtype: npt.DTypeLike,
    shape: int | tuple[int, ...],
    where: str = "mask",
    limit: Any = None,
    *,
    output: str = "values",
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a stable compaction.

    The inputs are ``x``, unless the result depends only on the mask, and ``mask`` if `where` is ``"mask"``:
    one byte for each element, four to a word. The outputs are ``kept`` and ``total``, uint32. Only the first
    ``total`` elements of ``kept`` are written, except for a partition.

    Parameters
    ----------
    dtype, shape : of `x`: fewer than 2**30 elements of 2, 4 or 8 bytes. If only the mask is read, the dtype
        does not matter.
    where : the elements to keep. ``"mask"``: those with a nonzero byte in the mask; ``"nonzero"``: those that
        are not 0; ``"<"``, ``"<="``, ``">"``, ``">="``, ``"=="``, ``"!="``: those for which this comparison
        with `limit` is true.
    limit : a number of that dtype.
    output : ``"values"``, the kept elements; ``"indices"``, their indices in C order, uint32;
        ``"partition"``, the kept elements and then all others, both in their order; ``"count"``, only
        ``total``.
    **tuning : ``workgroup`` (a multiple of the subgroup size in the subgroup version), ``items`` per
        invocation (a multiple of 4, at most 32; the shared version reduces them if shared memory is short),
        ``staged`` (1: the shared version gathers the kept elements in shared memory before it writes them),
        and those of `look_back_defaults` except ``payload``.
    """
    kind, count = dtype_of(dtype), math.prod(sizes_of(shape))
    condition = where_of(where, limit, kind)
    if output not in OUTPUTS:
        raise InvalidDispatch(f"output must be one of {OUTPUTS}; {output!r} was given.")
    if not 0 < count <= MOST:
        raise InvalidDispatch(f"A compaction takes 1 to {MOST} elements; {count} were given.")
    reads = not condition.mask or output in ("values", "partition")
    if reads and kind.itemsize not in (2, 4, 8):
        raise InvalidDispatch(f"A compaction can move elements of 2, 4 or 8 bytes; {kind} was given.")
    version = choose_full(device, implementation, *OPERATIONS)
    values = look_back_values(device, "compact", version, tuning)
    planner = Planner(device, "compact", version)
    if reads:
        planner.input("x", kind, shape)
    if condition.mask:
        planner.input("mask", np.uint32, parts(count, 4))
    if output != "count":
        planner.output("kept", np.uint32 if output == "indices" else kind, count)
    planner.output("total", np.uint32, ())
    macros: dict[str, Any] = {**condition.macros, "BITS": 8 * kind.itemsize if reads else 32}
    # The place of the others depends on all elements.
    turns = {"in_turn": 0} if output == "partition" else {}
    tiling = fitting(planner, count, values | turns, macros["BITS"])
    bindings = {4: "total"} | ({0: "x"} if reads else {}) | ({3: "mask"} if condition.mask else {})
    push = {"count": count, "limit": condition.limit & 0xFFFFFFFF, "limit_high": condition.limit >> 32}
    if output == "count" or (output == "partition" and not tiling.alone):
        planner.fill("total", 0)
        # A count of mask bytes does not read the elements.
        counted = {slot: name for slot, name in bindings.items() if slot or not condition.mask}
        add_tiles(planner, tiling, macros | {"OUTPUT": "COUNT"}, {"ITEMS": tiling.items}, counted, push)
    if output != "count":
        bindings |= {1: "kept"} | tiling.clear(planner)
        macros |= {name: value for name, value in tiling.macros().items() if name != "PAYLOAD"}
        macros["OUTPUT"] = output.upper()
        add_tiles(planner, tiling, macros, tiling.constants(version), bindings, push)
    return planner.plan()


def add_tiles(
    planner: Planner,
    tiling: Tiling,
    macros: dict[str, Any],
    constants: dict[str, Any],
    bindings: dict[int, str],
    push: dict[str, int],
) -> None:
    """Add a dispatch of the kernel over all tiles; only its macros say whether one workgroup handles them."""
    if planner.implementation == "shared":
        macros = macros | {"STAGED": tiling.tuning["staged"]}
    kernel = planner.kernel(
        f"compact/{planner.implementation}.comp",
        macros=macros,
        workgroup=tiling.workgroup,
        specialization=constants,
    )
    groups = tiling.groups if "ONE_GROUP" in macros else tiling.tiles
    planner.dispatch(kernel, line(planner.device, groups), bindings, push)


def fitting(planner: Planner, count: int, values: Mapping[str, Any], bits: int) -> Tiling:
    """Divide the elements into tiles that fit into shared memory."""
    device = planner.device
    width, each = (2, 8) if bits == 64 else (4, 4)
    tiling = tile(device, planner.implementation, count, values, bits=32, width=width, payload=COUNTS)
    if planner.implementation == "subgroup":
        return tiling
    room = int(device.capabilities.limits["maxComputeSharedMemorySize"]) - _OTHERS
    room -= _EACH_OF_GROUP * int(values["group"])
    staged, items = each * int(values["staged"]), tiling.items
    # In addition to staged elements: two counts in each word, twice.
    if tiling.alone and tiling.workgroup * (items * staged + 8 * parts(items, 2 * width)) > room:
        return fitting(planner, count, {**values, "one_group": 0}, bits)
    while items > width and tiling.workgroup * (items * staged + 8 * parts(items, 2 * width)) > room:
        items -= width
    return dataclasses.replace(tiling, items=items, tiles=parts(count, tiling.workgroup * items))


def compress(mask: Given, x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Return the elements selected by a mask, in their order, as `numpy.compress` without an axis.

    Parameters
    ----------
    mask : one bool or byte for each element of `x`; a nonzero byte selects its element. The size of a mask
        buffer must be a multiple of four bytes.
    x : array or buffer of elements of 2, 4 or 8 bytes, in C order.

    Returns
    -------
    A one-dimensional array. For buffers a one-dimensional buffer; its memory has room for all elements.
    The call does not wait for the device. The first use of the buffer's `shape` or `nbytes` does. Kernels
    take an empty buffer like an empty array.

    Examples
    --------
    >>> vkgroup.kernels.compress(np.array([1, 0, 1], bool), np.array([4, 5, 6], np.uint32))
    array([4, 6], dtype=uint32)
    """
    arguments = _masked(device, x, mask)
    return _selected(arguments, arguments["x"], implementation)


def compact(
    x: Given, relation: str, limit: Any, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the elements that satisfy a comparison, in their order, as ``x[x < 0.5]``.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    relation : ``"<"``, ``"<="``, ``">"``, ``">="``, ``"=="`` or ``"!="``.
    limit : a number of the dtype of `x`. The device compares floats, and may treat denormal numbers as zeros.

    Returns
    -------
    As `compress`.

    Examples
    --------
    >>> vkgroup.kernels.compact(np.array([3, 1, 2], np.uint32), "<", 3)
    array([1, 2], dtype=uint32)
    """
    key = ("compact", relation, limit, type(limit), implementation)
    if (again := call_again(x, device, key)) is not None:
        return again
    arguments = KernelArguments(device, x=x)
    array = arguments["x"]
    if relation in ("mask", "nonzero"):
        raise InvalidDispatch(f"relation must be a comparison such as '<'; {relation!r} was given.")
    if math.prod(array.shape) == 0:
        where_of(relation, limit, array.dtype)
        return np.empty(0, array.dtype)
    plan = _plan_of(arguments, array, implementation, relation, limit)
    keep_call(x, device, key, plan, "x", "kept", "total")
    return _part(arguments, plan)


def flatnonzero(x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Return the indices, in C order, of the nonzero elements, as `numpy.flatnonzero`.

    Parameters
    ----------
    x : array or buffer of bools, integers or floats, of 1, 2, 4 or 8 bytes. The size of a buffer of 1-byte
        elements must be a multiple of four.

    Returns
    -------
    An int64 array, as NumPy's; for a buffer a uint32 buffer, as `compress` returns.
    """
    arguments = KernelArguments(device, x=x)
    array = arguments["x"]
    where = "mask" if array.dtype.itemsize == 1 else "nonzero"
    if where == "nonzero":
        where_of("nonzero", None, array.dtype)
    else:
        arguments.given = {"mask": words_of_bytes(array, math.prod(array.shape), "x")}
    indices = _selected(arguments, array, implementation, where, output="indices")
    return indices if isinstance(indices, Buffer) else indices.astype(np.int64)


def nonzero(x: Given, *, device: Device | None = None, implementation: str = "auto") -> tuple[Result, ...]:
    """Return the indices of the nonzero elements, one array per axis, as `numpy.nonzero`.

    Parameters, results and errors are those of `flatnonzero`. Buffers must have one dimension.
    """
    shape = x.shape if isinstance(x, Buffer) else as_array(x, "x").shape
    if shape == () or (isinstance(x, Buffer) and len(shape) != 1):
        raise InvalidDispatch(
            f"nonzero takes arrays of at least one axis and buffers of one axis; the shape {shape} was"
            " given. Use flatnonzero, which returns indices in C order for every shape."
        )
    indices = flatnonzero(x, device=device, implementation=implementation)
    if isinstance(indices, Buffer):
        return (indices,)
    return tuple(np.unravel_index(indices, shape))


def partition_by(
    mask: Given, x: Given, *, device: Device | None = None, implementation: str = "auto"
) -> tuple[Result, int]:
    """Return the elements selected by a mask, followed by all other elements, both in their order.

    Parameters and errors are those of `compress`. The mask is read twice, since the other elements begin at
    an index that depends on the whole mask. The elements are read once.

    Returns
    -------
    All elements in one dimension, as an array or a buffer, and the number of elements that the mask selects.

    Examples
    --------
    >>> vkgroup.kernels.partition_by(np.array([0, 1, 1], bool), np.array([4, 5, 6], np.uint32))
    (array([5, 6, 4], dtype=uint32), 2)
    """
    arguments = _masked(device, x, mask)
    array = arguments["x"]
    if math.prod(array.shape) == 0:
        return np.empty(0, array.dtype), 0
    plan = _plan_of(arguments, array, implementation, "mask", output="partition")
    parted, total = arguments.run(plan, "kept", "total", read="total")
    return parted, int(scalar_of(total))


def _masked(device: Device | None, x: Given, mask: Given) -> KernelArguments:
    """Return elements and their mask as arguments; the mask has four bytes in each word."""
    arguments = KernelArguments(device, x=x, mask=mask)
    count = math.prod(arguments["x"].shape)
    arguments.given["mask"] = words_of_bytes(arguments["mask"], count, "mask")
    return arguments


def _selected(
    arguments: KernelArguments,
    array: Result,
    implementation: str,
    where: str = "mask",
    output: str = "values",
) -> Result:
    """Return the part of a compaction's result that holds the selected elements, or their indices."""
    if math.prod(array.shape) == 0:
        return np.empty(0, np.int64 if output == "indices" else array.dtype)
    return _part(arguments, _plan_of(arguments, array, implementation, where, output=output))


def _plan_of(
    arguments: KernelArguments,
    array: Result,
    implementation: str,
    where: str,
    limit: Any = None,
    output: str = "values",
) -> Plan:
    return planned(
        plan_compact,
        arguments.device,
        array.dtype,
        array.shape,
        where,
        limit,
        output=output,
        implementation=implementation,
    )


def _part(arguments: KernelArguments, plan: Plan) -> Result:
    """Run a plan, and return the part of the output `kept` that it has filled."""
    if arguments.buffers:
        return arguments.run_counted(plan, "kept", "total")
    elements, total = map(np.asarray, arguments.run(plan, "kept", "total"))
    return elements[: int(total)].copy()
