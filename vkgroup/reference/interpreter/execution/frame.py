"""Frames: the invocations that execute a segment together, and the facts that they share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.execution.event_log import EventLog
from vkgroup.reference.interpreter.operations.state import SliceState
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.subgroups import Subgroups
from vkgroup.reference.interpreter.values.value import HARD, Causes, Value, combine, tainted

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_STORES = frozenset({"OpStore", "OpImageWrite", "OpCopyMemory"})


class FrameOwner(SliceState, Protocol):
    """The slice as its frames see it."""

    @property
    def first(self) -> int:
        """Number in the dispatch of the first invocation of the slice."""

    @property
    def row(self) -> Indices:
        """Subgroup of each invocation, counted in the slice."""

    @property
    def subgroup_numbers(self) -> Indices:
        """Subgroup of every invocation of the dispatch, by number there."""

    @property
    def regs(self) -> list[Any]:
        """Value of each slot."""

    @property
    def resources(self) -> list[Any]:
        """Resources by number."""

    @property
    def events(self) -> EventLog:
        """The log of the dispatch."""

    @property
    def control(self) -> Causes | None:
        """What is undefined about who executes this, (n,); None where nothing is."""

    @property
    def soft_control(self) -> Causes | None:
        """What the order of atomics decides about it, (n,); None for nothing."""

    def subgroups_of(self, lanes: LaneSet) -> Subgroups:
        """Return the subgroups that some invocations form."""

    def helpers_of(self, lanes: LaneSet) -> Flags | None:
        """Return which of some invocations are helper invocations now, (n,); None where none is."""

    def demote(self, lanes: LaneSet) -> None:
        """Make some invocations helper invocations."""


class MachineFrame:
    """The invocations that execute a segment together.

    Attributes
    ----------
    machine : the slice that they belong to.
    lanes : the invocations.
    count : the number of them.
    regs : value of each slot.
    """

    __slots__ = ("_subgroups", "count", "lanes", "machine", "regs")

    def __init__(self, machine: FrameOwner, lanes: LaneSet) -> None:
        self.machine = machine
        self.lanes = lanes
        self.count = lanes.count
        self.regs = machine.regs
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
        """What is undefined, or depends on the order of atomics, about who executes this: (n,), or None."""
        control = combine(self.machine.control, self.machine.soft_control)
        # A copy, since the machine changes its array in place.
        if control is None:
            return None
        chosen: Causes = control[self.lanes.indices]
        return chosen

    @property
    def control_of_subgroups(self) -> Causes | None:
        """The same of all invocations of each one's subgroup, those that went elsewhere included: (n,)."""
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
        """A soft cause where the order of atomics decides who executes this; else 0."""
        control = self.machine.soft_control
        return 0 if control is None else int(control[self.lanes.selector].max(initial=0))

    @property
    def invocations(self) -> Indices:
        """The numbers of the invocations in the dispatch, (n,)."""
        return self.machine.first + self.lanes.indices

    @property
    def subgroup_numbers(self) -> Indices:
        """Subgroup of every invocation of the dispatch, by number there."""
        return self.machine.subgroup_numbers

    def subset(self, where: Flags) -> MachineFrame:
        """Return a frame of those invocations whose flag, (n,), is true."""
        return MachineFrame(self.machine, self.lanes.where(where))

    def resource(self, number: int) -> Any:
        """Return the resource of a number that an image or sampler value holds."""
        return self.machine.resources[number]

    def controlled(self, value: Value) -> Value:
        """Return a value with the causes of `control` added."""
        control = self.control
        return value if control is None else tainted(value, control)

    # --- reports --------------------------------------------------------------------------------------

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
        """Report an event in the invocations whose flag, (n,), is true.

        Stores and atomics of helper invocations have no effect, so nothing is reported of them.
        """
        if site.name in _STORES or site.name.startswith("OpAtomic"):
            helpers = self.helpers
            if helpers is not None:
                where = where & ~helpers
                if not where.any():
                    return
        self.machine.events.add(
            kind, site.position, self.lanes.indices, where, message, memory=memory, offset=offset, cause=cause
        )

    def report_race(
        self,
        site: Site,
        invocations: Indices,
        message: str,
        *,
        memory: str,
        offset: Indices,
        other_position: int,
        other: int,
    ) -> None:
        """Report that some invocations of the dispatch race with invocation `other` at an instruction."""
        self.machine.events.add(
            "race",
            site.position,
            invocations - self.machine.first,
            np.ones(len(invocations), np.bool_),
            message,
            memory=memory,
            offset=offset,
            other_position=other_position,
            other=other,
        )

    def report_undefined(self, site: Site, cause: Causes | None, message: str) -> None:
        """Report that control flow or an address depends on undefined values; `cause` is (n,) or (1,)."""
        if cause is None:
            return
        cause = cause.reshape(-1, cause.shape[-1]).max(axis=0)
        hard = np.broadcast_to(cause >= HARD, (self.count,))
        if hard.any():
            number = int(np.broadcast_to(cause, (self.count,))[np.argmax(hard)])
            self.report("undefined", site, hard, message, cause=number)
