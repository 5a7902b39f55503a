"""Unique elements: unique and its plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result, scalar_of
from vkgroup.kernels.compact import MOST, add_tiles, fitting
from vkgroup.kernels.histogram_keys import macros as key_macros
from vkgroup.kernels.pipelines import choose_full
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.radix_sort import KEY_DTYPES, add_sort, full_version
from vkgroup.kernels.scan_look_back import OPERATIONS, look_back_values
from vkgroup.kernels.sort import widened
from vkgroup.kernels.types import dtype_of, sizes_of

_INDEX, _INVERSE, _COUNTS = "index", "inverse", "counts"

_SLOTS = {_INDEX: (6, "FIRSTS"), _INVERSE: (7, "INVERSE"), _COUNTS: (8, "LENGTHS")}
"""Binding and macro in ``kernels/compact/tile.glsl`` of each result that is not the elements."""

_ORIGINS = 5


def unique(
    x: Given,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result | tuple[Result, ...]:
    """Return the unique elements in ascending order, as `numpy.unique`.

    -0 equals 0, and all NaNs are equal and last. Of equal elements, the first one in `x` is returned.

    Parameters
    ----------
    x : array or buffer of any shape, which is flattened, of fewer than 2**30 elements: an array of real
        numbers, or a buffer of float32, float64, or integers of 32 or 64 bits.
    return_index : also return the index of the first element of each unique value.
    return_inverse : also return, for each element of `x`, the index of its unique value.
    return_counts : also return how often each unique value occurs.

    Returns
    -------
    The unique elements, or a tuple of these and of the other results in the order of the arguments. The
    inverse has the shape of `x`, as in NumPy 2; all others have one dimension. Indices and counts are arrays
    of NumPy's index type (intp). For buffers they are buffers of uint32; all except the inverse are views of
    larger buffers.

    Examples
    --------
    >>> vkgroup.kernels.unique(np.array([3, 1, 3], np.uint32), return_counts=True)
    (array([1, 3], dtype=uint32), array([1, 2]))
    """
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    wanted = {_INDEX: return_index, _INVERSE: return_inverse, _COUNTS: return_counts}
    names = tuple(name for name, flag in wanted.items() if flag)
    if not isinstance(given, Buffer):
        arguments.given = {"x": widened(given)}
    size = math.prod(given.shape)
    if size == 0:
        shapes = [given.shape if name == _INVERSE else 0 for name in names]
        empty = (np.empty(0, given.dtype), *(np.empty(shape, np.intp) for shape in shapes))
        return empty if names else empty[0]
    plan = planned(
        plan_unique,
        arguments.device,
        size,
        arguments["x"].dtype,
        **{name: name in names for name in _SLOTS},
        implementation=implementation,
    )
    *results, total = arguments.run(plan, "values", *names, "total", read="total")
    count = int(scalar_of(total))
    values = _first(results[0], count)
    if not isinstance(values, Buffer):
        values = values.astype(given.dtype, copy=False)
    others = zip(names, results[1:], strict=True)
    found = (values, *(_indices(result, name, count, given.shape) for name, result in others))
    return found if names else values


def _first(result: Result, count: int) -> Result:
    """Return the first elements of a result: a copy, or a view of a buffer."""
    return result.view(shape=count) if isinstance(result, Buffer) else result[:count].copy()


def _indices(result: Result, name: str, count: int, shape: tuple[int, ...]) -> Result:
    """Return a result other than the elements in its type and shape."""
    if name != _INVERSE:
        result = _first(result, count)
        return result if isinstance(result, Buffer) else result.astype(np.intp)
    if isinstance(result, Buffer):
        return result.view(shape=tuple(shape))
    return result.astype(np.intp).reshape(shape)


def plan_unique(
    device: Device,
    size: int,
    dtype: npt.DTypeLike,
    *,
    index: bool = False,
    inverse: bool = False,
    counts: bool = False,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a search for the unique elements: a radix sort and a compaction.

    The input is ``x``. The outputs are ``values``, ``total`` (uint32, the number of unique elements), and
    those of the following that are wanted, uint32. Only the first ``total`` elements of ``values``, ``index``
    and ``counts`` are defined.

    Parameters
    ----------
    size, dtype : of `x`: 1 to 2**30 - 1 elements of float32, float64, or integers of 32 or 64 bits.
    index : output ``index``, the indices of the first elements.
    inverse : output ``inverse``, for each element of `x` the index of its unique value.
    counts : output ``counts``, the numbers of equal elements.
    implementation : ``"subgroup"``, ``"shared"``, or ``"auto"``: the subgroup version if the device has its
        operations and guarantees full subgroups.
    **tuning : those of `vkgroup.kernels.compact.plan_compact`.
    """
    kind, count = dtype_of(dtype), math.prod(sizes_of(size))
    if kind not in KEY_DTYPES:
        known = ", ".join(map(str, KEY_DTYPES))
        raise InvalidDispatch(f"Unique elements must be {known}; {kind} was given. Convert with .astype.")
    if not 0 < count <= MOST:
        raise InvalidDispatch(f"A plan of unique elements takes 1 to {MOST}; {count} were given.")
    version = choose_full(device, full_version(device, implementation), *OPERATIONS)
    values = look_back_values(device, "compact", version, tuning)
    planner = Planner(device, "unique", version)
    names = [name for name, flag in ((_INDEX, index), (_INVERSE, inverse), (_COUNTS, counts)) if flag]
    permuted = index or inverse
    add_sort(planner, count, kind, planner.input("x", kind, count), indices=permuted)
    bindings = {0: "sorted_keys", 1: planner.output("values", kind, count)}
    bindings[4] = planner.output("total", np.uint32, ())
    macros: dict[str, Any] = {**key_macros(kind), "WHERE": "RUN_HEADS", "OUTPUT": "VALUES"}
    if names:
        macros["OUTPUT"] = "RUNS"
        values = values | {"staged": 0}
    if permuted:
        bindings[_ORIGINS] = "order"
    for name in names:
        slot, macro = _SLOTS[name]
        bindings[slot], macros[macro] = planner.output(name, np.uint32, count), 1
    if counts:
        planner.fill(_COUNTS, 0)
    tiling = fitting(planner, count, values, macros["BITS"])
    bindings |= tiling.clear(planner)
    macros |= {name: value for name, value in tiling.macros().items() if name != "PAYLOAD"}
    push = {"count": count, "limit": 0, "limit_high": 0}
    add_tiles(planner, tiling, macros, tiling.constants(version), bindings, push)
    return planner.plan()
