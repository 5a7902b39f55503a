"""Positions of values in a sorted array: searchsorted and its plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.histogram_keys import macros
from vkgroup.kernels.pipelines import choose_full, parts, possible_groups, possible_workgroup, require_full
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.tuning import TABLES, checked_values
from vkgroup.kernels.types import NUMBERS, dtype_of, sizes_of

TABLES["searchsorted"] = {
    "any": {"workgroup": 256, "items": 4, "groups": 1056},
    "cpu": {"workgroup": 128, "groups": 16},
}
TABLES["searchsorted.subgroup"] = {"any": {"registers": 4}}
TABLES["searchsorted.shared"] = {"any": {"splitters": 1024}}

MOST = (1 << 31) - 1
"""Maximum number of sorted elements, and of values: indices are 32-bit integers that must not overflow."""

_ALLOWED = {"registers": range(1, 33), "splitters": range(1, 2049)}
_SIDES = ("left", "right")


def searchsorted(
    a: Given, v: Given, side: str = "left", *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the positions in a sorted array at which values keep the order, as `numpy.searchsorted`.

    Parameters
    ----------
    a : one-dimensional array or buffer of at most 2**31 - 1 elements in ascending order, NaNs last: float32,
        float64, float16, or integers of 32 or 64 bits. Other orders are not detected; they give wrong
        positions.
    v : values of any shape. Arrays are converted to the common dtype of `a` and `v`, as in NumPy, and
        integers of 8 and 16 bits to 32 bits; buffers must have the same dtype.
    side : ``"left"``: the number of elements less than a value; ``"right"``: the number of those less than or
        equal to it. -0 equals 0, and NaNs are equal to each other and greater than all numbers.

    Returns
    -------
    Positions in the shape of `v`: an int64 array, or a uint32 buffer if the arguments are buffers.

    Examples
    --------
    >>> vkgroup.kernels.searchsorted(np.array([1, 3, 5], np.uint32), np.array([0, 3, 9], np.uint32))
    array([0, 1, 3])
    """
    _check_side(side)
    arguments = KernelArguments(device, a=a, v=v)
    given, values = arguments["a"], arguments["v"]
    if len(given.shape) != 1:
        raise InvalidDispatch(f"a must have one dimension; its shape is {tuple(given.shape)}.")
    if not isinstance(given, Buffer) and not isinstance(values, Buffer):
        dtype = _common_dtype(given, values)
        arguments.given = {"a": given.astype(dtype, copy=False), "v": values.astype(dtype, copy=False)}
    elif given.dtype != values.dtype:
        raise InvalidDispatch(
            f"Buffers must have the same dtype; a has {given.dtype} and v has {values.dtype}."
        )
    dtype, shape = arguments["a"].dtype, tuple(values.shape)
    if dtype not in NUMBERS:
        raise InvalidDispatch(_unknown(dtype))
    if not given.shape[0] or not math.prod(shape):
        return np.zeros(shape, np.int64)
    plan = planned(
        plan_searchsorted,
        arguments.device,
        given.shape[0],
        shape,
        dtype,
        side,
        implementation=implementation,
    )
    (positions,) = arguments.run(plan, "positions")
    return positions if isinstance(positions, Buffer) else positions.astype(np.int64)


def plan_searchsorted(
    device: Device,
    size: int,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    side: str = "left",
    *,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a search with the inputs ``a`` and ``v`` and the output ``positions``, uint32.

    Parameters
    ----------
    size : number of elements of `a`, 1 to `MOST`.
    shape : of `v`, 1 to `MOST` values.
    dtype : of both: float32, float64, float16, or integers of 32 or 64 bits.
    side : ``"left"`` or ``"right"``, as for `searchsorted`.
    implementation : ``"subgroup"``, ``"shared"``, or ``"auto"``: the subgroup version if the device has
        shuffles and guarantees full subgroups.
    **tuning : ``workgroup`` (a multiple of the subgroup size in the subgroup version), ``items`` (values that
        an invocation searches together), ``groups`` (the maximum number of workgroups); ``registers``
        (splitters per lane, subgroup version); ``splitters`` (in shared memory, shared version).
    """
    _check_side(side)
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    if kind not in NUMBERS:
        raise InvalidDispatch(_unknown(kind))
    count, value_count = math.prod(sizes_of(size)), math.prod(sizes)
    for name, number in (("sorted elements", count), ("values", value_count)):
        if number < 1:
            raise InvalidDispatch(f"A plan takes at least one of the {name}; {number} were given.")
        if number > MOST:
            raise Unsupported(
                f"A search takes at most {MOST} {name}; {number} were given. Search parts instead.",
                [f"a search with {number} {name}"],
            )
    version = choose_full(device, implementation, "basic", "shuffle")
    values = checked_values(device, "searchsorted", version, tuning, _ALLOWED)
    workgroup = possible_workgroup(device, values["workgroup"])
    require_full(device, version, workgroup)
    planner = Planner(device, "searchsorted", version)
    bindings = {
        0: planner.input("a", kind, count),
        1: planner.input("v", kind, sizes),
        2: planner.output("positions", np.uint32, sizes),
    }
    own = "registers" if version == "subgroup" else "splitters"
    kernel = planner.kernel(
        f"searchsorted/{version}.comp",
        macros={**macros(kind), "SIDE": side.upper()},
        workgroup=workgroup,
        specialization={"ITEMS": values["items"], own.upper(): values[own]},
    )
    groups = possible_groups(device, parts(value_count, workgroup * values["items"]), values["groups"])
    planner.dispatch(kernel, groups, bindings, {"count": count, "value_count": value_count})
    return planner.plan()


def _check_side(side: str) -> None:
    if side not in _SIDES:
        raise InvalidDispatch(f"side must be 'left' or 'right'; {side!r} was given.")


def _common_dtype(a: npt.NDArray[Any], v: npt.NDArray[Any]) -> np.dtype[Any]:
    """Return the dtype in which NumPy compares, with integers of at least 32 bits."""
    try:
        dtype = np.result_type(a.dtype, v.dtype)
    except TypeError as error:
        raise InvalidDispatch(f"Values of {v.dtype} cannot be compared with {a.dtype}.") from error
    return np.promote_types(dtype, f"{'i' if dtype.kind == 'i' else 'u'}4") if dtype.kind in "biu" else dtype


def _unknown(dtype: np.dtype[Any]) -> str:
    return f"A search works on {', '.join(map(str, NUMBERS))}; {dtype} was given. Convert it with .astype."
