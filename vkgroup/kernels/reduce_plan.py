"""Plans of reductions: choice of the kernels in ``kernels/reduce``, and of the number of parts.

An array is treated as an array of shape (slices, n, inner), and its middle axis is reduced. If inner is 1,
rows are contiguous in memory, and teams of invocations read rows, or parts of rows. Otherwise each invocation
reads a column. In both cases each element is read once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.grid import choose_full
from vkgroup.kernels.pipelines import subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.reduce_elements import ARG_OPERATIONS, checked_dtype, macros_of, state_bytes
from vkgroup.kernels.reduce_tuning import VECTOR, check_team, chosen_tuning, most_team, power_of_two
from vkgroup.kernels.types import dtype_of, sizes_of

Axis = int | tuple[int, ...] | None

_FEW_ROWS = 8


@dataclass(frozen=True)
class ReductionView:
    """An array as an array of shape (slices, n, inner), reduced along n.

    Attributes
    ----------
    result : shape of the result.
    kept : shape of the result with the reduced axes as ones.
    """

    slices: int
    n: int
    inner: int
    result: tuple[int, ...]
    kept: tuple[int, ...]


def reduction_view(shape: tuple[int, ...], axis: Axis) -> ReductionView:
    """Return the three-axis form of an array for a reduction along an axis, or along adjacent axes.

    Raises
    ------
    InvalidDispatch
        An axis does not exist or is repeated, or the axes are not adjacent.
    """
    rank = len(shape)
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    positions = []
    for number in axes:
        if not isinstance(number, int | np.integer) or not -rank <= number < rank:
            raise InvalidDispatch(f"axis {number!r} does not exist in an array of {rank} axes.")
        positions.append(int(number) % rank)
    first, last = (min(positions), max(positions)) if positions else (rank, rank - 1)
    if sorted(positions) != list(range(first, last + 1)):
        raise InvalidDispatch(
            f"The axes {axes} are not next to each other, or some are repeated; reduce them one by one."
        )
    return ReductionView(
        math.prod(shape[:first]),
        math.prod(shape[first : last + 1]),
        math.prod(shape[last + 1 :]),
        shape[:first] + shape[last + 1 :],
        tuple(1 if first <= i <= last else size for i, size in enumerate(shape)),
    )


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
    **tuning : defaults are in `vkgroup.kernels.reduce_tuning`.

        - `workgroup`: invocations per workgroup.
        - `items`: vectors of four elements (or rows of a column) that an invocation loads before it uses the
          first one.
        - `groups`: the approximate number of workgroups. Default: `groups_each` times the number of
          multiprocessors.
        - `groups_each`: workgroups per multiprocessor; if the device does not report the number of
          multiprocessors, a fixed one is assumed.
        - `finish`: how the parts of a row are combined. ``"second"``: by a second dispatch, with workgroups
          of `finish_workgroup`. ``"ticket"``: in the same dispatch, by the last workgroup that finishes.
        - `contiguous`: whether a part is contiguous in its row; otherwise the tiles of the parts are
          interleaved.
        - `team`: invocations that share a row (a power of two, at most the subgroup size in the subgroup
          version); 0: a whole workgroup. By default, rows of at most `team_columns` elements use small teams.
        - `radix`: states that the shared version combines into one in each round of its tree.

    Raises
    ------
    InvalidDispatch
        There are no elements, or the operation, the dtype, an axis or a tuning value is invalid.
    Unsupported
        The device lacks the subgroup operations, or the type.
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    checked_dtype(operation, kind)
    view = reduction_view(sizes, axis)
    if math.prod(sizes) == 0:
        raise InvalidDispatch(
            "There are no elements to reduce; kernels.sum and the other functions handle empty arrays."
        )
    version = chosen_version(device, implementation, operation, kind)
    values = chosen_tuning(device, "reduce", version, tuning)
    planner = Planner(device, "reduce", version)
    planner.input("x", kind, sizes)
    planner.output("result", checked_dtype(operation, kind), view.kept if keepdims else view.result)
    job = _Job(planner, operation, kind, values)
    if view.inner == 1:
        job.rows(view.slices, view.n)
    else:
        job.columns(view.slices, view.n, view.inner)
    return planner.plan()


def chosen_version(device: Device, implementation: str, operation: str, dtype: np.dtype[Any]) -> str:
    """Choose a version; 64-bit integers use the shared one if subgroup operations do not support them."""
    combined = str(macros_of(operation, dtype)["A"])
    extended = "shaderSubgroupExtendedTypes" in device.capabilities.features
    if implementation == "auto" and combined.endswith("int64_t") and not extended:
        return "shared"
    return choose_full(device, implementation, "basic", "arithmetic", "shuffle")


class _Job:
    """Adds the dispatches of a reduction to a plan."""

    def __init__(
        self, planner: Planner, operation: str, dtype: np.dtype[Any], tuning: dict[str, Any]
    ) -> None:
        self.planner, self.device, self.tuning = planner, planner.device, tuning
        self.operation, self.dtype = operation, dtype
        self.macros = macros_of(operation, dtype)
        self.arg = operation in ARG_OPERATIONS
        self.most_groups = int(self.device.capabilities.limits["maxComputeWorkGroupCount"][0])

    # --- along the last axis --------------------------------------------------------------------------

    def rows(self, rows: int, length: int) -> None:
        """Reduce rows that are contiguous in memory."""
        team = self.tuning["team"]
        vectors = -(-length // VECTOR)
        if team is None:
            short = length <= self.tuning["team_columns"] and rows >= _FEW_ROWS
            team = min(power_of_two(vectors), self._most_team(self.tuning["workgroup"])) if short else 0
        check_team(self.planner.implementation, team, self.tuning["workgroup"])
        if team:
            self._direct(rows, length, team)
            return
        tiles = -(-vectors // (self.tuning["workgroup"] * self.tuning["items"]))
        parts = max(1, min(tiles, -(-self.tuning["groups"] // rows)))
        if parts == 1:
            self._direct(rows, length, 0)
        elif self.tuning["finish"] == "ticket":
            self._ticket(rows, length, parts)
        else:
            self._second(rows, length, parts)

    def _most_team(self, workgroup: int) -> int:
        return most_team(self.device, self.planner.implementation, workgroup)

    def _kernel(self, path: str, macros: dict[str, Any], team: int, workgroup: int, items: int) -> Any:
        constants: dict[int | str, Any] = {"ITEMS": items, "TEAM": team}
        if not path:
            constants["CONTIGUOUS"] = self.tuning["contiguous"]
        if self.planner.implementation == "shared":
            constants["RADIX"] = self.tuning["radix"]
        return self.planner.kernel(
            f"reduce/{path}{self.planner.implementation}.comp",
            macros=self.macros | macros,
            workgroup=workgroup,
            specialization=constants,
        )

    def _grid(self, jobs: int, team: int, workgroup: int) -> int:
        """Return the number of workgroups for the jobs, limited by the device; kernels loop over the rest."""
        lanes = min(team, subgroup_size(self.device)) if self.planner.implementation == "subgroup" else team
        each = max(1, workgroup // lanes) if team else 1
        return max(1, min(-(-jobs // each), self.most_groups))

    def _main(
        self, finish: str, rows: int, length: int, parts: int, team: int, bindings: dict[str, str]
    ) -> None:
        items = self.tuning["items"]
        if team:
            items = min(2 * items, power_of_two(-(-length // (VECTOR * team))))
        workgroup = self.tuning["workgroup"]
        push = {"length": length, "rows": rows} | ({"parts": parts} if finish != "DIRECT" else {})
        self.planner.dispatch(
            self._kernel("", {"FINISH": finish}, team, workgroup, items),
            self._grid(rows * parts, team, workgroup),
            {"values": "x", **bindings},
            push,
        )

    def _direct(self, rows: int, length: int, team: int) -> None:
        self._main("DIRECT", rows, length, 1, team, {"results": "result"})

    def _states(self, states: int) -> dict[str, str]:
        """Declare scratch memory for the states of parts."""
        nbytes = state_bytes(self.operation, self.dtype)
        bindings = {"partials": self.planner.scratch("partials", states * nbytes)}
        if self.arg:
            bindings["places"] = self.planner.scratch("places", states * 4)
        return bindings

    def _second(self, rows: int, length: int, parts: int) -> None:
        states = self._states(rows * parts)
        self._main("SECOND", rows, length, parts, 0, states)
        self._finish(rows, parts, 1, states)

    def _finish(self, rows: int, parts: int, inner: int, states: dict[str, str]) -> None:
        workgroup = self.tuning["finish_workgroup"]
        team = 0 if rows < _FEW_ROWS else min(power_of_two(parts), self._most_team(workgroup))
        self.planner.dispatch(
            self._kernel("finish_", {}, team, workgroup, self.tuning["items"]),
            self._grid(rows, team, workgroup),
            {**states, "results": "result"},
            {"rows": rows, "parts": parts, "inner": inner},
        )

    def _ticket(self, rows: int, length: int, parts: int) -> None:
        states = self._states(rows * parts)
        tickets = self.planner.scratch("tickets", 4 * rows)
        self.planner.fill(tickets, 0)
        self._main("TICKET", rows, length, parts, 0, {**states, "results": "result", "tickets": tickets})

    # --- along another axis ---------------------------------------------------------------------------

    def columns(self, slices: int, n: int, inner: int) -> None:
        """Reduce columns; a few columns are divided into parts."""
        workgroup, items = self.tuning["workgroup"], self.tuning["items"]
        # `side` rows are read side by side, so that even a few columns occupy a workgroup. States must be far
        # fewer than elements; otherwise they take too much memory.
        most = max(1, n // (4 * items))
        side = min(most, -(-workgroup // inner))
        parts = max(1, min(most // side, self.tuning["groups"] * workgroup // (slices * side * inner)))
        columns, length = side * inner, n * inner
        wide = columns % VECTOR == 0 and length % VECTOR == 0
        push = {"columns": columns, "length": length, "slices": slices}
        states = {"results": "result"}
        if side * parts > 1:
            push |= {"inner": inner, "parts": parts}
            states = self._states(slices * side * parts * inner)
        jobs = slices * parts * columns // (VECTOR if wide else 1)
        self.planner.dispatch(
            self.planner.kernel(
                "reduce/columns.comp",
                macros=self.macros | {"FINISH": "SECOND" if side * parts > 1 else "DIRECT"},
                workgroup=workgroup,
                specialization={"ITEMS": items, "WIDE": wide},
            ),
            max(1, min(-(-jobs // workgroup), self.most_groups)),
            {"values": "x", **states},
            push,
        )
        if side * parts > 1:
            self._finish(slices * inner, side * parts, inner, states)
