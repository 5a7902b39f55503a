"""Plans of reductions: choice of the kernels in ``kernels/reduce``, and of the number of parts.

An array is treated as an array of shape (slices, n, inner), and its middle axis is reduced. If inner is 1,
rows are contiguous in memory, and teams of invocations read rows, or parts of rows. Otherwise each invocation
reads a column. In both cases each element is read once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device, Pipeline
from vkgroup.kernels.pipelines import choose_full, parts, possible_groups, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.reduce_tuning import (
    VECTOR,
    check_team,
    most_team,
    power_of_two,
    reduction_values,
    team_lanes,
)
from vkgroup.kernels.tuning import kinds
from vkgroup.kernels.types import (
    GLSL,
    OPERATIONS,
    check_axis,
    check_operation,
    dtype_of,
    sizes_of,
    vector_type,
)

ARG_OPERATIONS = ("argmin", "argmax")
"""Operations whose result is an index."""

Axis = int | tuple[int, ...] | None

_FEW_ROWS = 8

_TEAM_ON_CPU = 16

_MOST_OF_ONE_DISPATCH = 4096
"""Elements that one dispatch reduces without tuning values: it does not divide rows into parts."""


def result_dtype(operation: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of an operation's result; raise `InvalidDispatch` if no kernel supports the operation.

    Indices are int64, as in NumPy.
    """
    check_operation("reduction", operation, dtype, (*OPERATIONS, *ARG_OPERATIONS))
    return np.dtype(np.int64) if operation in ARG_OPERATIONS else dtype


def macros_of(operation: str, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the macros of ``kernels/reduce/operation.glsl``.

    Floats are compared by integer keys made of their bits. NaNs, denormal numbers and zeros are then handled
    as in NumPy, independently of the device's float instructions.
    """
    bits = dtype.itemsize * 8
    index = operation in ARG_OPERATIONS
    by_keys = dtype.kind == "f" and (index or operation in ("min", "max"))
    element = GLSL[np.dtype(f"i{dtype.itemsize}")] if by_keys else GLSL[dtype]
    if by_keys:
        signed, computed = ("int64_t", "uint64_t") if bits == 64 else ("int", "uint")
    else:
        # float16 is added and multiplied in float32, and rounded once at the end.
        computed = "float" if dtype == np.float16 else element
    macros = {
        "T": element,
        "T4": vector_type(element),
        "T_BITS": bits,
        "T_FLOAT": int(dtype.kind == "f" and not by_keys),
        "A": computed,
        "A4": vector_type(computed),
        "A_BITS": 32 if dtype.kind == "f" and not (by_keys and bits == 64) else bits,
        "R": element,
        "OPERATION": "MAX" if index or by_keys else operation.upper(),
        "REVERSE": int(operation == "argmin" or (by_keys and operation == "min")),
        "ARG": int(index),
    }
    return macros | {"S": signed, "S4": vector_type(signed), "KEY_BITS": bits} if by_keys else macros


def reduction_view(
    shape: tuple[int, ...], axis: Axis, keepdims: bool
) -> tuple[int, int, int, tuple[int, ...]]:
    """Return an array's form (slices, n, inner), reduced along n, and the shape of the result.

    Raise `InvalidDispatch` unless the reduced axes exist and are adjacent.
    """
    rank = len(shape)
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for number in axes:
        check_axis(number, rank)
    positions = [int(number) % rank for number in axes]
    first, last = (min(positions), max(positions)) if positions else (rank, rank - 1)
    if sorted(positions) != list(range(first, last + 1)):
        raise InvalidDispatch(
            f"The axes {axes} are not next to each other, or some are repeated; reduce them one by one."
        )
    before, reduced, after = shape[:first], shape[first : last + 1], shape[last + 1 :]
    kept = (1,) * len(reduced) if keepdims else ()
    return math.prod(before), math.prod(reduced), math.prod(after), (*before, *kept, *after)


def plan_reduce(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    operation: str,
    axis: Axis = None,
    *,
    implementation: str = "auto",
    keepdims: bool = False,
    **tuning: Any,
) -> Plan:
    """Plan a reduction with the input ``x`` and the output ``result``.

    Parameters
    ----------
    shape, dtype : of `x`, in C order, at least one element.
    operation : ``"add"``, ``"mul"``, ``"min"``, ``"max"``, ``"and"``, ``"or"``, ``"xor"``, ``"argmin"`` or
        ``"argmax"``.
    axis : an axis, adjacent axes, or None for all.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``. For an axis other than the last, both
        versions are the same kernel, which uses neither subgroup operations nor shared memory.
    keepdims : whether the result keeps the reduced axes with length 1.
    **tuning : see `vkgroup.kernels.reduce_tuning`.
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    result = result_dtype(operation, kind)
    slices, n, inner, result_shape = reduction_view(sizes, axis, keepdims)
    if math.prod(sizes) == 0:
        raise InvalidDispatch(
            "There are no elements to reduce; kernels.sum and the other functions handle empty arrays."
        )
    version = chosen_version(device, implementation, operation, kind)
    values = reduction_values(device, "reduce", version, tuning)
    planner = Planner(device, "reduce", version)
    planner.input("x", kind, sizes)
    planner.output("result", result, result_shape)
    alone = math.prod(sizes) <= _MOST_OF_ONE_DISPATCH and all(value is None for value in tuning.values())
    if alone:
        values["groups"] = 1
        if "cpu" in kinds(device):
            # One subgroup, because barriers are slow on CPU drivers.
            team = subgroup_size(device) if version == "subgroup" else _TEAM_ON_CPU
            values |= {"workgroup": team, "team": team, "items": 16}
    reduction = _Reduction(planner, operation, kind, values)
    if inner == 1:
        reduction.rows(slices, n)
    else:
        reduction.columns(slices, n, inner)
    return planner.plan()


def chosen_version(device: Device, implementation: str, operation: str, dtype: np.dtype[Any]) -> str:
    """Choose a version; 64-bit integers use the shared one if subgroup operations do not support them."""
    combined = str(macros_of(operation, dtype)["A"])
    extended = "shaderSubgroupExtendedTypes" in device.capabilities.features
    if implementation == "auto" and combined.endswith("int64_t") and not extended:
        return "shared"
    return choose_full(device, implementation, "basic", "arithmetic", "shuffle")


class RowReduction:
    """Adds dispatches to a plan whose teams of invocations reduce rows, or parts of rows."""

    def __init__(
        self, planner: Planner, operation: str, dtype: np.dtype[Any], tuning: dict[str, Any]
    ) -> None:
        self.planner, self.device, self.tuning = planner, planner.device, tuning
        self.macros = macros_of(operation, dtype)
        self.with_indices = operation in ARG_OPERATIONS
        self.state_bytes = 8 if dtype.itemsize == 8 else 4

    def most_team(self, workgroup: int) -> int:
        """Return the maximum size of a team for a workgroup."""
        return most_team(self.device, self.planner.implementation, workgroup)

    def groups(self, jobs: int, team: int, workgroup: int) -> int:
        """Return the number of workgroups in which each job has a team; 0: a whole workgroup."""
        lanes = team_lanes(self.device, self.planner.implementation, team)
        return possible_groups(self.device, parts(jobs, max(1, workgroup // lanes)) if team else jobs)

    def kernel(
        self, path: str, macros: dict[str, Any], workgroup: int, constants: dict[str, Any]
    ) -> Pipeline:
        """Return the kernel of this version whose path begins with `path`."""
        if self.planner.implementation == "shared":
            constants = constants | {"RADIX": self.tuning["radix"]}
        return self.planner.kernel(
            f"{path}{self.planner.implementation}.comp",
            macros=self.macros | macros,
            workgroup=workgroup,
            specialization=constants,
        )

    def states(self, count: int) -> dict[str, str]:
        """Declare scratch memory for the states of parts, and return its bindings."""
        bindings = {"partials": self.planner.scratch("partials", count * self.state_bytes)}
        if self.with_indices:
            bindings["places"] = self.planner.scratch("places", count * 4)
        return bindings

    def finish(self, rows: int, row_parts: int, inner: int, team: int, states: dict[str, str]) -> None:
        """Add the dispatch that combines the parts of rows."""
        workgroup = self.tuning["finish_workgroup"]
        self.planner.dispatch(
            self.kernel("reduce/finish_", {}, workgroup, {"ITEMS": self.tuning["items"], "TEAM": team}),
            self.groups(rows, team, workgroup),
            {**states, "results": "result"},
            {"rows": rows, "parts": row_parts, "inner": inner},
        )


class _Reduction(RowReduction):
    """Adds the dispatches of a reduction to a plan."""

    def rows(self, rows: int, length: int) -> None:
        """Reduce rows that are contiguous in memory."""
        workgroup, team = self.tuning["workgroup"], self.tuning["team"]
        vectors = parts(length, VECTOR)
        if team is None:
            short = length <= self.tuning["team_columns"] and rows >= _FEW_ROWS
            team = min(power_of_two(vectors), self.most_team(workgroup)) if short else 0
        check_team(self.planner.implementation, team, workgroup)
        tiles = parts(vectors, workgroup * self.tuning["items"])
        row_parts = 1 if team else max(1, min(tiles, parts(self.tuning["groups"], rows)))
        if row_parts == 1:
            self._main("DIRECT", rows, length, 1, team, {"results": "result"})
            return
        states = self.states(rows * row_parts)
        if self.tuning["finish"] == "ticket":
            tickets = self.planner.scratch("tickets", 4 * rows)
            self.planner.fill(tickets, 0)
            bindings = {**states, "results": "result", "tickets": tickets}
            self._main("TICKET", rows, length, row_parts, 0, bindings)
        else:
            self._main("SECOND", rows, length, row_parts, 0, states)
            self._finish(rows, row_parts, 1, states)

    def _main(
        self, finish: str, rows: int, length: int, row_parts: int, team: int, bindings: dict[str, str]
    ) -> None:
        """Add the dispatch that reads the rows."""
        workgroup, items = self.tuning["workgroup"], self.tuning["items"]
        if team:
            items = min(2 * items, power_of_two(parts(length, VECTOR * team)))
        constants = {"ITEMS": items, "TEAM": team, "CONTIGUOUS": self.tuning["contiguous"]}
        push = {"length": length, "rows": rows} | ({"parts": row_parts} if finish != "DIRECT" else {})
        self.planner.dispatch(
            self.kernel("reduce/", {"FINISH": finish}, workgroup, constants),
            self.groups(rows * row_parts, team, workgroup),
            {"values": "x", **bindings},
            push,
        )

    def _finish(self, rows: int, row_parts: int, inner: int, states: dict[str, str]) -> None:
        most = self.most_team(self.tuning["finish_workgroup"])
        team = 0 if rows < _FEW_ROWS else min(power_of_two(row_parts), most)
        self.finish(rows, row_parts, inner, team, states)

    def columns(self, slices: int, n: int, inner: int) -> None:
        """Reduce columns; a few columns are divided into parts."""
        workgroup, items = self.tuning["workgroup"], self.tuning["items"]
        # `side` rows are read side by side, so that even a few columns occupy a workgroup. States must be far
        # fewer than elements; otherwise they take too much memory.
        most = max(1, n // (4 * items))
        side = min(most, parts(workgroup, inner))
        column_parts = max(1, min(most // side, self.tuning["groups"] * workgroup // (slices * side * inner)))
        columns, length = side * inner, n * inner
        wide = columns % VECTOR == 0 and length % VECTOR == 0
        divided = side * column_parts > 1
        push = {"columns": columns, "length": length, "slices": slices}
        states = {"results": "result"}
        if divided:
            push |= {"inner": inner, "parts": column_parts}
            states = self.states(slices * side * column_parts * inner)
        jobs = slices * column_parts * columns // (VECTOR if wide else 1)
        self.planner.dispatch(
            self.planner.kernel(
                "reduce/columns.comp",
                macros=self.macros | {"FINISH": "SECOND" if divided else "DIRECT"},
                workgroup=workgroup,
                specialization={"ITEMS": items, "WIDE": wide},
            ),
            possible_groups(self.device, parts(jobs, workgroup)),
            {"values": "x", **states},
            push,
        )
        if divided:
            self._finish(slices * inner, side * column_parts, inner, states)
