"""Plans of reductions: which of the kernels in ``kernels/reduce`` run, and in how many parts.

An array is seen as (slices, n, inner), of which the middle axis is reduced. Where the inner one is 1 a row is
one piece of memory, and teams of invocations read rows, or parts of them; otherwise each invocation goes down a
column. Either way each element is read once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.pipelines import choose, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.reduce_elements import ARG_OPERATIONS, checked_dtype, macros_of, state_bytes
from vkgroup.kernels.tuning import TABLES, tuned

Axis = int | tuple[int, ...] | None

TABLES["reduce"] = {
    "any": {
        "workgroup": 256,
        "items": 4,
        "groups": 1024,
        "finish": "second",
        "contiguous": False,
        "finish_workgroup": 256,
        "radix": 4,
        "team_columns": 1024,
    },
    "cpu": {"workgroup": 128, "groups": 16, "finish_workgroup": 64},
}

FINISHES = ("second", "ticket")
_FEW_ROWS = 8
_VECTOR = 4
_MOST_TEAM = 32


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
    operation: str,
    dtype: npt.DTypeLike,
    shape: int | tuple[int, ...],
    axis: Axis = None,
    *,
    implementation: str = "auto",
    keepdims: bool = False,
    workgroup: int | None = None,
    items: int | None = None,
    groups: int | None = None,
    finish: str | None = None,
    contiguous: bool | None = None,
    finish_workgroup: int | None = None,
    team: int | None = None,
    team_columns: int | None = None,
    radix: int | None = None,
) -> Plan:
    """Plan a reduction: the input ``x``, the output ``result``.

    Parameters
    ----------
    operation : ``"add"``, ``"mul"``, ``"min"``, ``"max"``, ``"and"``, ``"or"``, ``"xor"``, ``"argmin"`` or
        ``"argmax"``.
    dtype, shape : of `x`, in C order, at least one element.
    axis : an axis, axes next to each other, or None for all.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``. Along another axis than the last both are the
        same kernel, which needs neither.
    keepdims : whether the axes that went stay, with length 1.
    workgroup, items : invocations of a workgroup; vectors of four elements (in columns: rows) that each loads
        before it uses the first.
    groups : about how many workgroups share the work of all rows.
    finish : how parts of a row become its result: ``"second"``, by a second dispatch; ``"ticket"``, by the
        workgroup that comes last in the same dispatch.
    contiguous : whether a part is one piece of the row, instead of every so many-th tile.
    finish_workgroup : invocations of a workgroup in the second dispatch.
    team : invocations that share a row (a power of two, at most a subgroup's); 0: the whole workgroup.
    team_columns : rows longer than that get a whole workgroup, unless `team` says otherwise.
    radix : of the shared version's tree.

    Raises
    ------
    InvalidDispatch
        There is nothing to reduce, no such operation, dtype or axis, or a tuning value makes no sense.
    Unsupported
        The device lacks the subgroup operations, or the type.
    """
    given = locals()
    names = ("workgroup", "items", "groups", "finish", "contiguous", "finish_workgroup", "team_columns", "radix")
    kind, sizes = np.dtype(dtype), (shape,) if isinstance(shape, int) else tuple(shape)
    checked_dtype(operation, kind)
    sight = sight_of(sizes, axis)
    if math.prod(sizes) == 0:
        raise InvalidDispatch("There are no elements to reduce; kernels.sum and the like handle that.")
    chosen = choose(device, implementation, "basic", "arithmetic", "shuffle")
    tuning = tuned(device, "reduce", chosen, **{name: given[name] for name in names})
    if tuning["finish"] not in FINISHES:
        raise InvalidDispatch(f"finish is 'second' or 'ticket'; {tuning['finish']!r} was given.")
    planner = Planner(device, "reduce", chosen)
    planner.input("x", kind, sizes)
    planner.output("result", checked_dtype(operation, kind), sight.kept if keepdims else sight.result)
    job = _Job(planner, operation, kind, tuning)
    if sight.inner == 1:
        job.rows(sight.slices, sight.n, team)
    else:
        job.columns(sight.slices, sight.n, sight.inner)
    return planner.plan()


def _power_of_two(n: int) -> int:
    """Return the least power of two that is not below n."""
    return 1 << max(0, n - 1).bit_length()


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

    def rows(self, rows: int, length: int, team: int | None) -> None:
        """Reduce rows that are one piece of memory each."""
        vectors = -(-length // _VECTOR)
        if team is None:
            short = length <= self.tuning["team_columns"] and rows >= _FEW_ROWS
            team = min(_power_of_two(vectors), self._most_team()) if short else 0
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

    def _most_team(self) -> int:
        if self.planner.implementation == "subgroup":
            return subgroup_size(self.device)
        return min(_MOST_TEAM, self.tuning["workgroup"] & -self.tuning["workgroup"])

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
            items = min(2 * items, _power_of_two(-(-length // (_VECTOR * team))))
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
        workgroup = self.tuning["finish_workgroup"]
        team = 0 if rows < _FEW_ROWS else min(_power_of_two(parts), self._most_team(), workgroup)
        self.planner.dispatch(
            self._kernel("finish_", {}, team, workgroup, self.tuning["items"]),
            self._grid(rows, team, workgroup),
            {**states, "results": "result"},
            {"rows": rows, "parts": parts},
        )

    def _ticket(self, rows: int, length: int, parts: int) -> None:
        states = self._states(rows * parts)
        tickets = self.planner.scratch("tickets", 4 * rows)
        self.planner.fill(tickets, 0)
        self._main("TICKET", rows, length, parts, 0, {**states, "results": "result", "tickets": tickets})

    # --- along another axis ---------------------------------------------------------------------------

    def columns(self, slices: int, n: int, inner: int) -> None:
        """Reduce columns, several times where there are so few that they are reduced in parts."""
        source, macros, step = "x", self.macros, 0
        while True:
            # So many rows lie side by side that even few columns occupy a workgroup; then a part has every
            # so many-th of these, and the next step reduces parts.
            most = 1 if self.arg else max(1, n // (4 * self.tuning["items"]))
            side = min(most, -(-self.tuning["workgroup"] // inner))
            wanted = self.tuning["groups"] * self.tuning["workgroup"]
            parts = max(1, min(most // side, wanted // (slices * side * inner)))
            last = side * parts == 1
            target = "result" if last else self._scratch(step, slices * side * parts * inner)
            self._columns(source, target, macros, (slices, n, inner, side, parts), last)
            if last:
                return
            source, n, step = target, side * parts, step + 1
            macros = self._of_states()

    def _of_states(self) -> dict[str, Any]:
        """Return the macros for elements that are states: only halves are stored as something else."""
        if self.dtype == np.float16 and self.operation in ("add", "mul"):
            # T_BITS stays, since the results are halves all the same.
            return self.macros | {"T": "float", "T4": "vec4"}
        return self.macros

    def _scratch(self, step: int, states: int) -> str:
        return self.planner.scratch(f"states{step}", states * state_bytes(self.operation, self.dtype))

    def _columns(
        self,
        source: str,
        target: str,
        macros: dict[str, Any],
        sizes: tuple[int, int, int, int, int],
        last: bool,
    ) -> None:
        slices, n, inner, side, parts = sizes
        columns, length = side * inner, n * inner
        wide = columns % _VECTOR == 0 and length % _VECTOR == 0
        if not last:
            macros = macros | {"R": self._of_states()["T"]}
        workgroup, items = self.tuning["workgroup"], self.tuning["items"]
        jobs = slices * parts * columns // (_VECTOR if wide else 1)
        self.planner.dispatch(
            self.planner.kernel(
                "reduce/columns.comp",
                macros=macros,
                workgroup=workgroup,
                specialization={"ITEMS": items, "WIDE": wide},
            ),
            max(1, min(-(-jobs // workgroup), self.most_groups)),
            {"values": source, "results": target},
            {"columns": columns, "length": length, "slices": slices, "parts": parts},
        )
