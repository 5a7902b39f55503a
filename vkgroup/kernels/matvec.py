"""Matrix-vector products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.pipelines import parts
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.reduce_plan import RowReduction, chosen_version, result_dtype
from vkgroup.kernels.reduce_tuning import VECTOR, check_team, power_of_two, reduction_values
from vkgroup.kernels.types import dtype_of, sizes_of

_MOST_ROWS = 4


def matvec(
    matrix: Given, vector: Given, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Multiply a matrix by a vector, as `numpy.matvec` or ``matrix @ vector``.

    Parameters
    ----------
    matrix : array or buffer of the shape (rows, columns), in C order; float32, float64, float16, or integers
        of 32 or 64 bits.
    vector : of the shape (columns,) and the same dtype.

    Returns
    -------
    An array, or a buffer if the arguments are buffers, of the shape (rows,) and the same dtype. Integers wrap
    around. float16 is multiplied and added in float32. No atomic operations are used, so on one device the
    same call always returns the same bits.
    """
    arguments = KernelArguments(device, matrix=matrix, vector=vector)
    a, x = arguments["matrix"], arguments["vector"]
    if len(a.shape) != 2 or tuple(x.shape) != tuple(a.shape[1:]) or a.dtype != x.dtype:
        raise InvalidDispatch(
            "A matrix of shape (rows, columns) needs a vector of shape (columns,) and the same dtype;"
            f" {a.dtype} of {tuple(a.shape)} and {x.dtype} of {tuple(x.shape)} were given."
        )
    rows, columns = a.shape
    dtype = result_dtype("add", a.dtype)
    if rows == 0 or columns == 0:
        return np.zeros(rows, dtype)
    plan = planned(plan_matvec, arguments.device, (rows, columns), dtype, implementation=implementation)
    return arguments.run(plan, "result")[0]


def plan_matvec(
    device: Device,
    shape: tuple[int, int],
    dtype: npt.DTypeLike,
    *,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a matrix-vector product with the inputs ``matrix`` and ``vector`` and the output ``result``.

    Parameters
    ----------
    shape : rows and columns of the matrix, at least one each.
    dtype : of the inputs and the output.
    **tuning : see `vkgroup.kernels.reduce_tuning`.
    """
    kind = result_dtype("add", dtype_of(dtype))
    sizes = sizes_of(shape)
    if len(sizes) != 2 or 0 in sizes:
        raise InvalidDispatch(f"A matrix of the shape {shape} has no elements; kernels.matvec handles that.")
    rows, length = sizes
    version = chosen_version(device, implementation, "add", kind)
    values = reduction_values(device, "matvec", version, tuning)
    planner = Planner(device, "matvec", version)
    planner.input("matrix", kind, (rows, length))
    planner.input("vector", kind, length)
    planner.output("result", kind, rows)
    _add_dispatches(RowReduction(planner, "add", kind, values), rows, length)
    return planner.plan()


def _add_dispatches(reduction: RowReduction, rows: int, length: int) -> None:
    """Add one dispatch, or two if long rows are divided into parts."""
    values, planner = reduction.tuning, reduction.planner
    workgroup, items, team = values["workgroup"], values["items"], values["team"]
    together = min(values["rows"] or _MOST_ROWS, rows, _MOST_ROWS)
    vectors = parts(length, VECTOR)
    if team is None:
        short = length <= values["team_columns"]
        team = min(power_of_two(parts(vectors, items)), reduction.most_team(workgroup)) if short else 0
    check_team(planner.implementation, team, workgroup)
    jobs, row_parts = parts(rows, together), 1
    if not team:
        tiles = parts(vectors, workgroup * items)
        row_parts = max(1, min(tiles, values["groups"] // jobs))
    constants = {"ITEMS": items, "TEAM": team, "ALIGNED": length % VECTOR == 0, "ROWS": together}
    push = {"length": length, "rows": rows}
    states: dict[str, str] = {}
    if row_parts > 1:
        push["parts"] = row_parts
        states = reduction.states(rows * row_parts)
    planner.dispatch(
        reduction.kernel("matvec/", {"FINISH": "SECOND" if states else "DIRECT"}, workgroup, constants),
        reduction.groups(jobs * row_parts, team, workgroup),
        {"matrix": "matrix", "factors": "vector", 2: states.get("partials", "result")},
        push,
    )
    if states:
        finish_workgroup = values["finish_workgroup"]
        most = reduction.most_team(finish_workgroup)
        in_team = row_parts <= most or rows >= finish_workgroup
        finish_team = min(power_of_two(row_parts), most) if in_team else 0
        reduction.finish(rows, row_parts, 1, finish_team, states)
