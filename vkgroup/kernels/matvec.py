"""Matrix-vector products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result
from vkgroup.kernels.pipelines import subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.reduce_elements import checked_dtype, macros_of, state_bytes
from vkgroup.kernels.reduce_plan import chosen_version
from vkgroup.kernels.reduce_tuning import VECTOR, check_team, chosen_tuning, most_team, power_of_two
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
    device : None selects the buffers' device, or the best one.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.

    Returns
    -------
    An array, or a buffer if the arguments are buffers, of the shape (rows,) and the same dtype. Integers wrap
    around. float16 is multiplied and added in float32. No atomic operations are used, so on one device the
    same call always returns the same bits.

    Raises
    ------
    InvalidDispatch
        The shapes or dtypes do not match, or the dtype is not supported.
    Unsupported
        The device lacks the type, or a feature that the implementation requires.
    """
    arguments = Arguments(device, matrix=matrix, vector=vector)
    a, x = arguments["matrix"], arguments["vector"]
    if len(a.shape) != 2 or tuple(x.shape) != tuple(a.shape[1:]) or a.dtype != x.dtype:
        raise InvalidDispatch(
            "A matrix of shape (rows, columns) needs a vector of shape (columns,) and the same dtype;"
            f" {a.dtype} of {tuple(a.shape)} and {x.dtype} of {tuple(x.shape)} were given."
        )
    rows, columns = a.shape
    dtype = checked_dtype("add", a.dtype)
    if rows == 0 or columns == 0:
        return np.zeros(rows, dtype)
    plan = plan_matvec(arguments.device, (rows, columns), dtype, implementation=implementation)
    result: Result = arguments.run(plan, "result")[0]
    return result


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
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.
    **tuning : defaults are in `vkgroup.kernels.reduce_tuning`.

        - `workgroup`: invocations per workgroup.
        - `items`: vectors of four elements of each row that an invocation loads before it uses the first one.
        - `rows`: rows of the matrix that a team reads together, 1 to 4.
        - `groups`: the approximate number of workgroups. If there are few rows, long rows are divided into
          parts to reach this number. Default: `groups_each` times the number of multiprocessors.
        - `groups_each`: workgroups per multiprocessor; if the device does not report the number of
          multiprocessors, a fixed one is assumed.
        - `finish_workgroup`: invocations per workgroup of the dispatch that adds the parts.
        - `team`: invocations that share rows (a power of two, at most the subgroup size in the subgroup
          version); 0: a whole workgroup. By default, rows of at most `team_columns` elements use small teams.
        - `radix`: states that the shared version combines into one in each round of its tree.

    Raises
    ------
    InvalidDispatch
        There are no elements, or the dtype or a tuning value is invalid.
    Unsupported
        The device lacks the subgroup operations, or the type.
    """
    kind = checked_dtype("add", dtype_of(dtype))
    sizes = sizes_of(shape)
    if len(sizes) != 2 or 0 in sizes:
        raise InvalidDispatch(f"A matrix of the shape {shape} has no elements; kernels.matvec handles that.")
    rows, length = sizes
    version = chosen_version(device, implementation, "add", kind)
    values = chosen_tuning(device, "matvec", version, tuning)
    planner = Planner(device, "matvec", version)
    planner.input("matrix", kind, (rows, length))
    planner.input("vector", kind, length)
    planner.output("result", kind, rows)
    _Job(planner, kind, values).add(rows, length)
    return planner.plan()


class _Job:
    """Adds the dispatches of a matrix-vector product to a plan."""

    def __init__(self, planner: Planner, dtype: np.dtype[Any], values: dict[str, Any]) -> None:
        self.planner, self.dtype, self.values = planner, dtype, values
        self.macros = macros_of("add", dtype)

    def add(self, rows: int, length: int) -> None:
        """Add one dispatch, or two if long rows are divided into parts."""
        workgroup, items = self.values["workgroup"], self.values["items"]
        together = min(self.values["rows"] or _MOST_ROWS, rows, _MOST_ROWS)
        team, vectors = self.values["team"], -(-length // VECTOR)
        if team is None:
            short = length <= self.values["team_columns"]
            team = min(power_of_two(-(-vectors // items)), self._most_team(workgroup)) if short else 0
        check_team(self.planner.implementation, team, workgroup)
        lanes = team or workgroup
        if team and self.planner.implementation == "subgroup":
            lanes = min(team, subgroup_size(self.planner.device))
        jobs, parts = -(-rows // together), 1
        if not team:
            tiles = -(-vectors // (lanes * items))
            parts = max(1, min(tiles, self.values["groups"] // jobs))
        constants = {"ITEMS": items, "TEAM": team, "ALIGNED": length % VECTOR == 0, "ROWS": together}
        push = {"length": length, "rows": rows}
        if parts == 1:
            self._dispatch("matvec/", "DIRECT", workgroup, constants, jobs * lanes, "result", push)
            return
        states = self.planner.scratch("partials", rows * parts * state_bytes("add", self.dtype))
        push["parts"] = parts
        self._dispatch("matvec/", "SECOND", workgroup, constants, jobs * parts * lanes, states, push)
        self._finish(rows, parts, states)

    def _most_team(self, workgroup: int) -> int:
        return most_team(self.planner.device, self.planner.implementation, workgroup)

    def _dispatch(
        self,
        path: str,
        finish: str,
        workgroup: int,
        constants: dict[str, Any],
        invocations: int,
        target: str,
        push: dict[str, Any],
    ) -> None:
        kernel = self._kernel(path, {"FINISH": finish}, workgroup, constants)
        bindings = {"matrix": "matrix", "factors": "vector", 2: target}
        self.planner.dispatch(kernel, self._groups(invocations, workgroup), bindings, push)

    def _kernel(self, path: str, macros: dict[str, Any], workgroup: int, constants: dict[str, Any]) -> Any:
        if self.planner.implementation == "shared":
            constants = constants | {"RADIX": self.values["radix"]}
        return self.planner.kernel(
            f"{path}{self.planner.implementation}.comp",
            macros=self.macros | macros,
            workgroup=workgroup,
            specialization=dict(constants.items()),
        )

    def _finish(self, rows: int, parts: int, states: str) -> None:
        workgroup = self.values["finish_workgroup"]
        most = self._most_team(workgroup)
        team = min(power_of_two(parts), most) if parts <= most or rows >= workgroup else 0
        kernel = self._kernel("reduce/finish_", {}, workgroup, {"ITEMS": self.values["items"], "TEAM": team})
        self.planner.dispatch(
            kernel,
            self._groups(rows * (team or workgroup), workgroup),
            {"partials": states, "results": "result"},
            {"rows": rows, "parts": parts, "inner": 1},
        )

    def _groups(self, invocations: int, workgroup: int) -> int:
        """Return the number of workgroups, limited by the device; kernels loop over the remaining work."""
        limit = int(self.planner.device.capabilities.limits["maxComputeWorkGroupCount"][0])
        return max(1, min(math.ceil(invocations / workgroup), limit))
