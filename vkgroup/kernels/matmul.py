"""Matrix products: register-blocked with shared memory, with shuffles, and with cooperative matrices.

Tuning values of ``"shared"`` and ``"subgroup"``: `workgroup`; `rows` and `quads`: rows, and groups of four
columns, per invocation; `across`: invocations in a row of a workgroup. ``"shared"`` also has `depth`: the
size of a tile along the inner axis. Tuning values of ``"cooperative"``: `down` and `along`: cooperative
matrices per subgroup in each direction; `parts_down` and `parts_along`: subgroups per workgroup in each
direction; `depth`.

Stacks of small matrices use smaller workgroups, unless a value that determines the workgroup is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.device import CooperativeMatrix
from vkgroup.dispatch import Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.matmul_stacks import Stack, stack_of
from vkgroup.kernels.pipelines import choose, parts, require_full, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.reduce_tuning import power_of_two
from vkgroup.kernels.tuning import TABLES, checked_values, require_multiple, require_power
from vkgroup.kernels.types import GLSL, dtype_of, sizes_of, type_macros, vector_type

TABLES["matmul.shared"] = {
    "any": {"workgroup": 256, "rows": None, "quads": None, "across": None, "depth": 8},
    "cpu": {"workgroup": 32, "rows": 4, "quads": 1, "across": 8},
}
TABLES["matmul.subgroup"] = {
    "any": {"workgroup": 256, "rows": None, "quads": None, "across": 8},
    "cpu": {"workgroup": 128, "rows": 4, "quads": 1},
}
TABLES["matmul.cooperative"] = {
    "any": {"down": 4, "along": 2, "parts_down": 2, "parts_along": 4, "depth": 32},
}

_BUSY = 128
"""Number of workgroups that keep a large GPU busy; a product with fewer large tiles uses small tiles."""

_OF_WORKGROUPS = ("workgroup", "across", "down", "along", "parts_down", "parts_along")
"""Tuning values that determine the workgroup."""

_LEAST_ROWS = 16
"""Rows of the smallest tile."""

_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def plan_matmul(
    device: Device,
    dtype: npt.DTypeLike,
    left: tuple[int, ...],
    right: tuple[int, ...],
    implementation: str = "auto",
    *,
    result: npt.DTypeLike | None = None,
    **tuning: Any,
) -> Plan:
    """Plan the product of the inputs ``a`` and ``b``, with the output ``product``.

    Parameters
    ----------
    dtype : of both inputs: float16, float32, float64, or integers. float16 is summed in float32, integers of
        fewer than 32 bits in 32 bits. Integers wrap around as NumPy's do.
    left, right : shapes (…, rows, inner) and (…, inner, columns), without zeros. Leading axes are broadcast,
        and an array of one axis is a vector, as in `numpy.matmul`.
    implementation : ``"subgroup"``, ``"shared"``, ``"cooperative"`` (float16 only) or ``"auto"``.
    result : dtype of the product; None means `dtype`. float16 inputs may have a float32 product.
    **tuning : see the module.
    """
    kind = dtype_of(dtype)
    to = kind if result is None else dtype_of(result)
    stack = _stack(device, sizes_of(left), sizes_of(right))
    if kind not in GLSL or (to != kind and (kind, to) != (_HALF, _SINGLE)):
        raise InvalidDispatch(
            f"There is no product of {kind} to {to}; use a result of {kind}, or of float32 for float16."
        )
    implementation = _implementation(device, implementation, kind)
    values = checked_values(device, "matmul", implementation, tuning)
    planner = Planner(device, "matmul", implementation)
    names = {"A": planner.input("a", kind, left), "B": planner.input("b", kind, right)}
    names["Product"] = planner.output("product", to, stack.shape)
    add = _add_cooperative if implementation == "cooperative" else _add_blocked
    if stack.axes and all(tuning.get(name) is None for name in _OF_WORKGROUPS):
        values |= _for_small_matrices(device, implementation, stack, values)
    kernel, tile_rows, tile_columns = add(planner, kind, to, stack, values)
    most = int(device.capabilities.limits["maxComputeWorkGroupCount"][2])
    for push in stack.dispatches():
        products = min(push.get("batches", 1), most)
        grid = (parts(stack.columns, tile_columns), parts(stack.rows, tile_rows), products)
        planner.dispatch(kernel, grid, names, push)
    return planner.plan()


def matmul(
    a: Given,
    b: Given,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Multiply two matrices, or stacks of matrices, as `numpy.matmul`.

    Parameters
    ----------
    a, b : arrays or `Buffer`s of one dtype, of shapes (…, rows, inner) and (…, inner, columns). Leading axes
        are broadcast: along each, the sizes are equal, or one is 1, or one array lacks the axis. An array of
        one axis is a row (`a`) or a column (`b`), and the result lacks this axis. Arrays of different dtypes
        are converted to their common dtype.
    dtype : of the result; None means that of the arguments. float16 arguments may have a float32 result,
        since products are summed in float32.
    implementation : ``"subgroup"``, ``"shared"``, ``"cooperative"`` or ``"auto"``.

    Returns
    -------
    The product, of shape (…, rows, columns); a `Buffer` if the arguments are buffers. Floats are not added in
    NumPy's order. Let n be the inner length, and u = 2**-23 for float32. An element differs from the exact
    one by at most (n + 1) u / (1 - (n + 1) u) times the sum of the products' magnitudes.

    Raises
    ------
    InvalidDispatch
        The inner axes differ, the leading axes cannot be broadcast, an array has no axes, or there is no
        product of these dtypes.
    Unsupported
        The device lacks the type, the size or a feature that the version requires.

    Examples
    --------
    >>> kernels.matmul(np.ones((10, 2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (10, 2, 4)
    """
    arguments = KernelArguments(device, a=a, b=b)
    if not arguments.buffers:
        common = _common(arguments["a"].dtype, arguments["b"].dtype)
        matrices = [np.asarray(arguments[name], common) for name in "ab"]
        arguments = KernelArguments(device, a=matrices[0], b=matrices[1])
    left, right = arguments["a"], arguments["b"]
    if left.dtype != right.dtype:
        raise InvalidDispatch(
            f"Both matrices must have the same dtype; they have {left.dtype} and {right.dtype}."
        )
    if 0 in (*left.shape, *right.shape):
        return np.zeros(stack_of(left.shape, right.shape).shape, left.dtype if dtype is None else dtype)
    plan = planned(
        plan_matmul,
        arguments.device,
        left.dtype,
        left.shape,
        right.shape,
        implementation,
        result=dtype,
    )
    return arguments.run(plan, "product")[0]


def cooperative_shape(device: Device) -> CooperativeMatrix | None:
    """Return the device's largest cooperative matrices of float16 with float32 accumulation, or None."""
    shapes = [
        shape
        for shape in device.capabilities.cooperative_matrices
        if (shape.a_type, shape.b_type, shape.c_type, shape.result_type)
        == ("FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
        and shape.scope == "SUBGROUP"
        and shape.k % 8 == 0
        and shape.n % 8 == 0
    ]
    return max(shapes, key=lambda shape: shape.m * shape.n * shape.k, default=None)


def _common(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    try:
        return np.result_type(left, right)
    except TypeError as error:
        raise InvalidDispatch(
            f"{left} and {right} cannot be multiplied: they have no common dtype. Convert one with .astype."
        ) from error


def _stack(device: Device, left: tuple[int, ...], right: tuple[int, ...]) -> Stack:
    # The rows of a grid are limited; more matrices than that times one matrix are separate products.
    most = int(device.capabilities.limits["maxComputeWorkGroupCount"][1])
    stack = stack_of(left, right, most * _LEAST_ROWS)
    if 0 in (*left, *right):
        raise InvalidDispatch("A plan needs nonempty matrices; kernels.matmul handles empty ones.")
    return stack


def _implementation(device: Device, implementation: str, kind: np.dtype[Any]) -> str:
    if implementation == "cooperative" and kind != _HALF:
        raise InvalidDispatch(f"Cooperative matrices multiply float16; {kind} was given. Use 'shared'.")
    if implementation == "auto":
        return "cooperative" if kind == _HALF and cooperative_shape(device) else "shared"
    return choose(device, implementation, "shuffle", kinds=("cooperative",))


def _for_small_matrices(
    device: Device, implementation: str, stack: Stack, values: dict[str, Any]
) -> dict[str, Any]:
    """Return the tuning values of a smaller workgroup, if a matrix is smaller than the usual tile."""
    if implementation == "cooperative":
        shape = cooperative_shape(device)
        least_rows, least_columns = (shape.m, shape.n) if shape else (1, 1)
        return _halved(values, "parts_down", "down", parts(stack.rows, least_rows)) | _halved(
            values, "parts_along", "along", parts(stack.columns, least_columns)
        )
    across = values["across"] or 16
    if implementation == "shared" and stack.columns <= 32:
        across = min(across, 8)
    down = min(values["workgroup"] // across, power_of_two(parts(stack.rows, values["rows"] or 4)))
    least = 4 * across if implementation == "shared" else subgroup_size(device)
    return {"across": across, "workgroup": max(least, across * down)}


def _halved(values: dict[str, Any], outer: str, inner: str, needed: int) -> dict[str, Any]:
    """Halve two factors of a number of cooperative matrices as long as `needed` ones remain."""
    first, second = values[outer], values[inner]
    while first % 2 == 0 and first // 2 * second >= needed:
        first //= 2
    while second % 2 == 0 and first * (second // 2) >= needed:
        second //= 2
    return {outer: first, inner: second}


def _add_blocked(
    planner: Planner,
    kind: np.dtype[Any],
    to: np.dtype[Any],
    stack: Stack,
    values: dict[str, Any],
) -> tuple[Any, int, int]:
    """Return the shared or subgroup kernel, and the numbers of rows and columns of its tiles."""
    # Small types are summed in 32 bits.
    sums = GLSL[kind if kind.itemsize >= 4 else np.dtype(f"{kind.kind}4")]
    across, workgroup = values["across"] or 16, values["workgroup"]
    per_row, quads = values["rows"], values["quads"]
    tiles = parts(stack.rows, 128) * parts(stack.columns, 128) * stack.count
    wide = kind.itemsize < 8 and tiles >= _BUSY and (not stack.axes or min(stack.rows, stack.columns) > 64)
    per_row = per_row or (8 if wide else 4)
    quads = quads or (2 if wide else 1)
    constants = {"ACROSS": across}
    require_multiple("workgroup", workgroup, across)
    if planner.implementation == "shared":
        require_multiple("rows", per_row, 4)
        require_multiple("across", across, 8)
        require_multiple("workgroup / across", workgroup // across, 4)
        require_multiple("depth", values["depth"], 4)
        constants["DEPTH"] = values["depth"]
    else:
        require_power(across=across, workgroup=workgroup)
        require_full(planner.device, "subgroup", workgroup)
    kernel = planner.kernel(
        f"matmul/{planner.implementation}.comp",
        macros={
            **type_macros(kind),
            "T4": vector_type(GLSL[kind]),
            "SUM": sums,
            "SUM4": vector_type(sums),
            "RESULT": GLSL[to],
            "RESULT4": vector_type(GLSL[to]),
            "VECTOR": int(stack.inner % 4 == 0 and stack.columns % 4 == 0),
            "BATCHED": int(bool(stack.axes)),
            "ROWS": per_row,
            "QUADS": quads,
        },
        workgroup=workgroup,
        specialization=constants,
    )
    return kernel, workgroup // across * per_row, across * quads * 4


def _add_cooperative(
    planner: Planner,
    kind: np.dtype[Any],
    to: np.dtype[Any],
    stack: Stack,
    values: dict[str, Any],
) -> tuple[Any, int, int]:
    """Return the kernel with cooperative matrices, and the numbers of rows and columns of its tiles."""
    shape = cooperative_shape(planner.device)
    if shape is None:
        raise Unsupported(
            f"{planner.device.name} has no cooperative matrices of float16 with float32 accumulation; use"
            " implementation='shared'.",
            ["cooperativeMatrix (FLOAT16 × FLOAT16 + FLOAT32)"],
        )
    down, along = values["down"], values["along"]
    parts_down, parts_along, depth = values["parts_down"], values["parts_along"], values["depth"]
    require_multiple("depth", depth, int(np.lcm(8, shape.k)))
    kernel = planner.kernel(
        "matmul/cooperative.comp",
        macros={
            **type_macros(kind),
            "RESULT": GLSL[to],
            "RESULT_BITS": to.itemsize * 8,
            "VECTOR": int(stack.inner % 8 == 0 and stack.columns % 8 == 0),
            "BATCHED": int(bool(stack.axes)),
            "DOWN": down,
            "ALONG": along,
        },
        workgroup=subgroup_size(planner.device) * parts_down * parts_along,
        specialization={
            "MATRIX_ROWS": shape.m,
            "MATRIX_COLUMNS": shape.n,
            "MATRIX_DEPTH": shape.k,
            "PARTS_DOWN": parts_down,
            "PARTS_ALONG": parts_along,
            "DEPTH": depth,
        },
    )
    return kernel, shape.m * down * parts_down, shape.n * along * parts_along
