"""Slices (invocations that advance together) and accessors (those that execute one instruction)."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.arrangement import Arranged, ArrangementPart
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.lane_set import LaneSet, Subgroups
from vkgroup.reference.interpreter.values.value import HARD, Causes, Value, combine, tainted

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_STORES = frozenset({"OpStore", "OpImageWrite", "OpCopyMemory"})


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

    @property
    def subgroup_numbers(self) -> Indices:
        """Subgroup of every invocation of the dispatch, by number there."""
        return self.machine.arrangement.subgroup_numbers

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
