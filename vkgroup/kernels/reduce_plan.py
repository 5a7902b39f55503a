"""Plans of reductions: which of the kernels in ``kernels/reduce`` run, and in how many parts.

An array is seen as (slices, n, inner), of which the middle axis is reduced. Where the inner one is 1 a row
is one piece of memory, and teams of invocations read rows, or parts of them; otherwise each invocation goes
down a column. Either way each element is read once.
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
class Sight:
    """An array as (slices, n, inner), reduced along n.

    Attributes
    ----------
    result : the shape of what is left.
    kept : the same with the axes that went, as ones.
    """

    slices: int
    n: int
    inner: int
    result: tuple[int, ...]
    kept: tuple[int, ...]


def sight_of(shape: tuple[int, ...], axis: Axis) -> Sight:
    """Return how a reduction along an axis, or axes next to each other, sees an array.

    Raises
    ------
    InvalidDispatch
        There is no such axis; axes are named twice, or are not next to each other.
    """
    rank = len(shape)
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    found = []
    for one in axes:
        if not isinstance(one, int | np.integer) or not -rank <= one < rank:
            raise InvalidDispatch(f"axis {one!r} is none of an array of {rank} axes.")
        found.append(int(one) % rank)
    first, last = (min(found), max(found)) if found else (rank, rank - 1)
    if sorted(found) != list(range(first, last + 1)):
        raise InvalidDispatch(
            f"The axes {axes} are not next to each other, or some are the same; reduce them one by one."
        )
    return Sight(
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
    """Plan a reduction: the input ``x``, the output ``result``.

    Parameters
    ----------
    shape, dtype : of `x`, in C order, at least one element.
    operation : ``"add"``, ``"mul"``, ``"min"``, ``"max"``, ``"and"``, ``"or"``, ``"xor"``, ``"argmin"`` or
        ``"argmax"``.
    axis : an axis, axes next to each other, or None for all.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``. Along another axis than the last both are the
        same kernel, which needs neither.
    keepdims : whether the axes that went stay, with length 1.
    **tuning : defaults are in `vkgroup.kernels.reduce_tuning`.

        - `workgroup`, `items`: invocations of a workgroup; vectors of four elements (rows of a column) that
          each loads before it uses the first.
        - `groups`: about how many workgroups share the work; without it, `groups_each` for each
          multiprocessor where the device tells how many it has.
        - `finish`: how parts of a row become its result: ``"second"``, by a second dispatch, of workgroups of
          `finish_workgroup`; ``"ticket"``, by the workgroup that comes last in the same dispatch.
        - `contiguous`: whether a part is one piece of the row, instead of every so many-th tile.
        - `team`: invocations that share a row (a power of two; of a subgroup at most all), 0 for a whole
          workgroup. Without it, rows of up to `team_columns` elements get a small team.
        - `radix`: states that become one in each round of the shared version's tree.

    Raises
    ------
    InvalidDispatch
        There is nothing to reduce, no such operation, dtype or axis, or a tuning value makes no sense.
    Unsupported
        The device lacks the subgroup operations, or the type.
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    checked_dtype(operation, kind)
    sight = sight_of(sizes, axis)
    if math.prod(sizes) == 0:
        raise InvalidDispatch("There are no elements to reduce; kernels.sum and the like handle that.")
    chosen = chosen_version(device, implementation, operation, kind)
    values = chosen_tuning(device, "reduce", chosen, tuning)
    planner = Planner(device, "reduce", chosen)
    planner.input("x", kind, sizes)
    planner.output("result", checked_dtype(operation, kind), sight.kept if keepdims else sight.result)
    job = _Job(planner, operation, kind, values)
    if sight.inner == 1:
        job.rows(sight.slices, sight.n)
    else:
        job.columns(sight.slices, sight.n, sight.inner)
    return planner.plan()


def chosen_version(device: Device, implementation: str, operation: str, dtype: np.dtype[Any]) -> str:
    """Choose a version: where subgroups cannot combine 64-bit integers, the shared one for those."""
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
        """Reduce rows that are one piece of memory each."""
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
        """Return how many workgroups do so many jobs; the kernels go on where these are too few."""
        lanes = min(team, subgroup_size(self.device)) if self.planner.implementation == "subgroup" else team
        each = max(1, workgroup // lanes) if team else 1
        return max(1, min(-(-jobs // each), self.most_groups))

    def _main(self, finish: str, rows: int, length: int, parts: int, team: int, more: dict[str, str]) -> None:
        items = self.tuning["items"]
        if team:
            items = min(2 * items, power_of_two(-(-length // (VECTOR * team))))
        workgroup = self.tuning["workgroup"]
        push = {"length": length, "rows": rows} | ({"parts": parts} if finish != "DIRECT" else {})
        self.planner.dispatch(
            self._kernel("", {"FINISH": finish}, team, workgroup, items),
            self._grid(rows * parts, team, workgroup),
            {"values": "x", **more},
            push,
        )

    def _direct(self, rows: int, length: int, team: int) -> None:
        self._main("DIRECT", rows, length, 1, team, {"results": "result"})

    def _states(self, states: int) -> dict[str, str]:
        """Declare memory for the states of parts."""
        nbytes = state_bytes(self.operation, self.dtype)
        found = {"partials": self.planner.scratch("partials", states * nbytes)}
        if self.arg:
            found["places"] = self.planner.scratch("places", states * 4)
        return found

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
        """Reduce columns, in parts where there are few of them."""
        workgroup, items = self.tuning["workgroup"], self.tuning["items"]
        # So many rows lie side by side that even few columns occupy a workgroup. States are worth their
        # memory only if there are far fewer of them than of elements.
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
