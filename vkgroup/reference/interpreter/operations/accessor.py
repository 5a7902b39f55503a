"""Slices (invocations that advance together), sets of lanes, and accessors (lanes of one instruction)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.arrangement import Arranged, ArrangementPart
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.value import HARD, Causes, Data, Value, combine, tainted
from vkgroup.spirv.chains import STORES

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_STORES = STORES | {"OpImageWrite", "OpImageTexelPointer"}


class LaneSet:
    """A set of invocations, each named by its index among `total`.

    Most instructions run in all invocations of a slice. The set of all has no array of indices, so arrays
    are used without a copy. Make sets by `all`, `none` and `of`.

    `total`: invocations to choose from.
    `count`: invocations in the set.
    `is_all`: whether the set has every invocation.
    """

    __slots__ = ("_indices", "count", "is_all", "total")

    def __init__(self, total: int, indices: Indices | None) -> None:
        self.total = total
        self.is_all = indices is None
        self.count = total if indices is None else len(indices)
        self._indices = indices

    @classmethod
    def all(cls, total: int) -> LaneSet:
        """Return the set of all invocations."""
        return cls(total, None)

    @classmethod
    def none(cls, total: int) -> LaneSet:
        """Return the empty set."""
        return cls(total, np.zeros(0, np.int64))

    @classmethod
    def of(cls, indices: Indices, total: int) -> LaneSet:
        """Return the set of the invocations with these indices, which are distinct and ascending."""
        return cls(total, None if len(indices) == total else indices)

    @property
    def indices(self) -> Indices:
        """The indices of the invocations, ascending, (count,)."""
        if self._indices is None:
            self._indices = np.arange(self.total)
        return self._indices

    @property
    def selector(self) -> Any:
        """The index of the invocations on an axis of length `total`: a full slice, or the indices."""
        return slice(None) if self.is_all else self._indices

    def where(self, flags: Flags) -> LaneSet:
        """Return those invocations of this set whose flag, (count,), is true."""
        chosen = np.flatnonzero(flags) if self.is_all else self.indices[flags]
        return LaneSet.of(chosen, self.total)

    def without(self, other: LaneSet) -> LaneSet:
        """Return the invocations of this set that are not in its subset `other`."""
        if other.is_all:
            return LaneSet.none(self.total)
        remaining = np.setdiff1d(self.indices, other.indices, assume_unique=True)
        return LaneSet.of(remaining, self.total)

    @classmethod
    def union(cls, sets: Iterable[LaneSet]) -> LaneSet:
        """Return the union of disjoint sets, at least one."""
        first, *others = sets
        if not others:
            return first
        indices = np.sort(
            np.concatenate([first.indices, *(other.indices for other in others)]), kind="stable"
        )
        return cls.of(indices, first.total)

    def __bool__(self) -> bool:
        return self.count > 0

    def __repr__(self) -> str:
        return f"LaneSet({self.count} of {self.total})"


class Subgroups:
    """Rows of lanes: the subgroups with at least one active invocation.

    `size`: lanes of a subgroup.
    `row`, `lane`: subgroup and lane of each active invocation, (n,), in ascending order; subgroups may be any
    numbers.
    `optional`: (n,), flags of helper invocations, which a device may leave out of group operations; None
    for none.

    Attributes: `active`: (rows, size) bool, the active lanes.
    `optional`: (rows, size) bool, the active lanes that a device may leave out; None for none.
    """

    def __init__(
        self,
        size: int,
        row: npt.NDArray[np.int64],
        lane: npt.NDArray[np.int64],
        optional: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.size = size
        self.count = len(row)
        if self.count == 0:
            changes = np.zeros(0, np.bool_)
        else:
            changes = np.empty(self.count, np.bool_)
            changes[0] = False
            np.not_equal(row[1:], row[:-1], out=changes[1:])
        self._row = np.cumsum(changes)
        self.rows = int(self._row[-1]) + 1 if self.count else 0
        self._position = self._row * size + lane
        self._full = self.rows * size == self.count and bool(
            (lane[:size] == np.arange(min(size, self.count))).all()
        )
        if self._full and self.count:
            self._full = bool((self._position == np.arange(self.count)).all())
        self.active = np.zeros((self.rows, size), np.bool_)
        self.active.reshape(-1)[self._position] = True
        self.optional: npt.NDArray[np.bool_] | None = None
        if optional is not None:
            self.optional = np.zeros((self.rows, size), np.bool_)
            self.optional.reshape(-1)[self._position] = optional

    def part(self, keep: npt.NDArray[np.bool_]) -> Subgroups:
        """Return the subgroups of some of the active invocations, by flags (n,), with no optional lanes."""
        position = self._position[keep]
        return Subgroups(self.size, position // self.size, position % self.size)

    def spread(self, data: Data) -> npt.NDArray[Any]:
        """Return (dims..., n) or (dims..., 1) as (rows, size, components), with zeros in inactive lanes."""
        components = math.prod(data.shape[:-1])
        flat = data.reshape(components, data.shape[-1])
        if data.shape[-1] == 1 and self.count != 1:
            result = np.zeros((self.rows, self.size, components), data.dtype)
            result[self.active] = flat[:, 0]
            return result
        if self._full:
            return flat.reshape(components, self.rows, self.size).transpose(1, 2, 0)
        result = np.zeros((self.rows * self.size, components), data.dtype)
        result[self._position] = flat.T
        return result.reshape(self.rows, self.size, components)

    def collect(self, rows: npt.NDArray[Any], dims: tuple[int, ...]) -> Data:
        """Return the active lanes of (rows, size, components) as (dims..., n)."""
        components = math.prod(dims)
        flat = rows.reshape(self.rows * self.size, components)
        if not self._full:
            flat = flat[self._position]
        return np.ascontiguousarray(flat.T).reshape(*dims, self.count)


class Slice:
    """Invocations of a dispatch, or of a stage of a draw, that advance together.

    `arrangement`: the lanes and subgroups of all invocations.
    `events`: the log for events.
    `first`, `first_workgroup`: numbers in the dispatch of the first invocation and the first workgroup.
    `count`, `lanes`: the number of invocations, and the set of all of them.
    `local_index`: gl_LocalInvocationIndex of each.
    `workgroup`, `row`, `lane`: workgroup, subgroup (both counted in the slice) and lane of each.
    `alive`: invocations of each workgroup that have not ended, (workgroups,).
    `has_hung`: whether a loop did not end. Its invocations were ended, so barriers may miss them.
    `helpers`: of the fragment stage: which invocations are helpers; else None.
    `control`: causes for which the path of each invocation is undefined; None if all paths are defined.
    `soft_control`: soft causes of the paths (the order of atomics), until the paths meet again.
    `split_barriers`: by level, what each invocation did last at split barriers, for their rules.
    `surely_ended`: fragments that were discarded or demoted on a defined path; None if there is none.
    """

    def __init__(
        self, program: ProgramForm, arrangement: Arranged, part: ArrangementPart, events: EventLog
    ) -> None:
        self._helpers_take_part = program.helpers_take_part
        self.arrangement: Arranged = arrangement
        self.events = events
        self.first_workgroup = part.first_workgroup
        self.first = events.first = part.first
        self.local_index: Indices = part.local_index
        self.count = len(part.local_index)
        self.lanes = LaneSet.all(self.count)
        self.workgroups = part.workgroups
        self.workgroup: Indices = part.workgroup
        self.row: Indices = part.row
        self.lane: Indices = part.lane
        self.alive = np.bincount(part.workgroup, minlength=part.workgroups)
        self.has_hung = False
        self.helpers: Flags | None = None
        self.split_barriers: dict[int, npt.NDArray[np.int8]] = {}
        self.surely_ended: Flags | None = None
        self.control: Causes | None = None
        self.soft_control: Causes | None = None
        self._all_subgroups: Subgroups | None = None

    def subgroups_of(self, lanes: LaneSet) -> Subgroups:
        """Return the subgroups that some invocations form.

        A device may leave helpers out of group operations, unless the shader requires otherwise (Vulkan 1.4,
        "Helper Invocations").
        """
        if lanes.is_all and self._all_subgroups is not None:
            return self._all_subgroups
        optional = None if self._helpers_take_part else self.helpers_of(lanes)
        chosen = lanes.selector
        subgroups = Subgroups(self.arrangement.subgroup_size, self.row[chosen], self.lane[chosen], optional)
        if lanes.is_all:
            self._all_subgroups = subgroups
        return subgroups

    def helpers_of(self, lanes: LaneSet) -> Flags | None:
        """Return flags of the helpers among some invocations, (n,); None if there is no helper."""
        if self.helpers is None:
            return None
        helpers: Flags = self.helpers[lanes.selector]
        return helpers if helpers.any() else None

    def demote(self, lanes: LaneSet) -> None:
        """Make invocations helpers, which have no effect on memory, and discard their fragments."""
        if self.helpers is None:
            return
        # A copy, since frames and subgroups hold parts of the array as it was before.
        self.helpers = self.helpers.copy()
        self.helpers[lanes.selector] = True
        self._all_subgroups = None
        self.end_fragments(lanes)

    def end_fragments(self, lanes: LaneSet) -> None:
        """Record which fragments end here whatever the undefined values are."""
        if self.surely_ended is None:
            self.surely_ended = np.zeros(self.count, np.bool_)
        self.surely_ended[lanes.selector] |= (
            True if self.control is None else self.control[lanes.selector] == 0
        )


class Accessor:
    """Invocations of a slice that execute an instruction, or access memory, together.

    `machine`: the slice that they belong to.
    `lanes`: the invocations.
    `count`: the number of them.
    """

    __slots__ = ("_subgroups", "count", "lanes", "machine")

    def __init__(self, machine: Slice, lanes: LaneSet) -> None:
        self.machine = machine
        self.lanes = lanes
        self.count = lanes.count
        self._subgroups: Subgroups | None = None

    @property
    def subgroups(self) -> Subgroups:
        """The active invocations arranged as subgroups."""
        if self._subgroups is None:
            self._subgroups = self.machine.subgroups_of(self.lanes)
        return self._subgroups

    @property
    def helpers(self) -> Flags | None:
        """Which of the invocations are helpers now, (n,); None where none is."""
        return self.machine.helpers_of(self.lanes)

    def demote(self) -> None:
        """Make the invocations helper invocations."""
        self.machine.demote(self.lanes)
        self._subgroups = None

    @property
    def control(self) -> Causes | None:
        """Causes why the set of executing invocations is undefined or depends on atomics: (n,), or None."""
        control = combine(self.machine.control, self.machine.soft_control)
        # A copy, since the machine changes its array in place.
        if control is None:
            return None
        chosen: Causes = control[self.lanes.indices]
        return chosen

    @property
    def control_of_subgroups(self) -> Causes | None:
        """The same causes over the whole subgroup of each invocation, inactive ones included: (n,)."""
        machine = self.machine
        control = combine(machine.control, machine.soft_control)
        if control is None:
            return None
        worst = np.zeros(int(machine.row[-1]) + 1, np.uint16)
        np.maximum.at(worst, machine.row, control)
        rows: Indices = machine.row[self.lanes.selector]
        return worst[rows]

    @property
    def order_of_atomics(self) -> int:
        """A soft cause if the order of atomics decides which invocations execute this; else 0."""
        control = self.machine.soft_control
        return 0 if control is None else int(control[self.lanes.selector].max(initial=0))

    @property
    def invocations(self) -> Indices:
        """The numbers of the invocations in the dispatch, (n,)."""
        return self.machine.first + self.lanes.indices

    def subset(self, where: Flags) -> Self:
        """Return an accessor for the invocations whose flag, (n,), is true."""
        return type(self)(self.machine, self.lanes.where(where))

    def controlled(self, value: Value) -> Value:
        """Return a value with the causes of `control` added."""
        control = self.control
        return value if control is None else tainted(value, control)

    def report(
        self,
        kind: str,
        site: Site,
        where: Flags,
        message: str,
        *,
        memory: str = "",
        offset: Indices | None = None,
        cause: int = 0,
    ) -> None:
        """Report an event for the invocations whose flag, (n,) or (1,), is set.

        Stores and atomics of helper invocations have no effect and are not reported.
        """
        where = np.broadcast_to(where, (self.count,))
        if site.name in _STORES or site.name.startswith("OpAtomic"):
            helpers = self.helpers
            if helpers is not None:
                where = where & ~helpers
                if not where.any():
                    return
        self.machine.events.add(
            kind, site.position, self.lanes.indices, where, message, memory=memory, offset=offset, cause=cause
        )

    def report_undefined(self, site: Site, cause: Causes | None, message: str) -> None:
        """Report that control flow or an address depends on undefined values; `cause` is (n,) or (1,)."""
        if cause is None:
            return
        cause = cause.reshape(-1, cause.shape[-1]).max(axis=0)
        hard = cause >= HARD
        if hard.any():
            self.report("undefined", site, hard, message, cause=int(cause[np.argmax(hard)]))
