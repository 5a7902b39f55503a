"""Plans of compactions: kept elements, their indices, or a partition, by ``kernels/compact``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.pipelines import choose_full, line, parts
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.scan_look_back import ALLOWED, COUNTS, OPERATIONS, Tiling, look_back_defaults, tile
from vkgroup.kernels.tuning import TABLES, checked_values
from vkgroup.kernels.types import dtype_of, sizes_of

_LOOK_BACK = {name: value for name, value in look_back_defaults().items() if name != "payload"}
"""Tuning values of the look-back; without `payload`, since a count and its status always share one word."""

TABLES["compact"] = {
    "any": {"workgroup": 256, "items": 16, "staged": 1, **_LOOK_BACK},
    # CPU drivers run workgroups almost in sequence, so waiting for a later workgroup does not help.
    "cpu": {"workgroup": 128, "items": 8, "depth": 1, "group": 1, "spins": 4},
}
TABLES["compact.subgroup"] = {"nvidia": {"workgroup": 128, "items": 24, "depth": 2, "order": 0}}
TABLES["compact.shared"] = {"nvidia": {"workgroup": 384, "items": 24, "staged": 0, "group": 32, "order": 0}}

RELATIONS = ("<", "<=", ">", ">=", "==", "!=")
OUTPUTS = ("values", "indices", "partition", "count")

_MOST = 2**COUNTS - 1
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
    """The condition that selects the elements to keep.

    Attributes
    ----------
    macros : the macros of ``kernels/compact/tile.glsl`` for the condition.
    limit : bits of the number that elements are compared with.
    mask : whether a mask selects the elements.
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
    if where not in RELATIONS:
        raise InvalidDispatch(f"where must be 'mask', 'nonzero' or one of {RELATIONS}; {where!r} was given.")
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
        with np.errstate(over="ignore"):
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
    if not 0 < count <= _MOST:
        raise InvalidDispatch(f"A compaction takes 1 to {_MOST} elements; {count} were given.")
    reads = not condition.mask or output in ("values", "partition")
    if reads and kind.itemsize not in (2, 4, 8):
        raise InvalidDispatch(f"A compaction can move elements of 2, 4 or 8 bytes; {kind} was given.")
    version = choose_full(device, implementation, *OPERATIONS)
    values = checked_values(device, "compact", version, tuning, ALLOWED)
    planner = Planner(device, "compact", version)
    if reads:
        planner.input("x", kind, shape)
    if condition.mask:
        planner.input("mask", np.uint32, parts(count, 4))
    if output != "count":
        planner.output("kept", np.uint32 if output == "indices" else kind, count)
    planner.output("total", np.uint32, ())
    macros: dict[str, Any] = {**condition.macros, "BITS": 8 * kind.itemsize if reads else 32}
    tiling = _fitting(planner, count, values, macros["BITS"])
    bindings = {4: "total"} | ({0: "x"} if reads else {}) | ({3: "mask"} if condition.mask else {})
    push = {"count": count, "limit": condition.limit & 0xFFFFFFFF, "limit_high": condition.limit >> 32}
    if output in ("partition", "count"):
        planner.fill("total", 0)
        # A count of mask bytes does not read the elements.
        counted = {slot: name for slot, name in bindings.items() if slot or not condition.mask}
        _dispatch(planner, tiling, macros | {"OUTPUT": "COUNT"}, {"ITEMS": tiling.items}, counted, push)
    if output != "count":
        bindings |= {1: "kept", 2: tiling.clear(planner)}
        macros |= {name: value for name, value in tiling.macros().items() if name != "PAYLOAD"}
        macros["OUTPUT"] = output.upper()
        _dispatch(planner, tiling, macros, tiling.constants(version), bindings, push)
    return planner.plan()


def _dispatch(
    planner: Planner,
    tiling: Tiling,
    macros: dict[str, Any],
    constants: dict[str, Any],
    bindings: dict[int, str],
    push: dict[str, int],
) -> None:
    """Add a dispatch of the kernel over all tiles."""
    if planner.implementation == "shared":
        macros = macros | {"STAGED": tiling.tuning["staged"]}
    kernel = planner.kernel(
        f"compact/{planner.implementation}.comp",
        macros=macros,
        workgroup=tiling.workgroup,
        specialization=constants,
    )
    planner.dispatch(kernel, line(planner.device, tiling.tiles), bindings, push)


def _fitting(planner: Planner, count: int, values: Mapping[str, Any], bits: int) -> Tiling:
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
    while items > width and tiling.workgroup * (items * staged + 8 * parts(items, 2 * width)) > room:
        items -= width
    return dataclasses.replace(tiling, items=items, tiles=parts(count, tiling.workgroup * items))
