"""One execution of a segment: which invocations take part, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.cells import Index
from vkgroup.reference.interpreter.memory import Memory
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.subgroups import Subgroups
from vkgroup.reference.interpreter.values import HARD, Causes, combine

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.machine import Machine


_STORES = frozenset({"OpStore", "OpImageWrite", "OpCopyMemory"})


class Frame:
    """The invocations that execute a segment together.

    Attributes
    ----------
    machine : the slice that they belong to.
    index : their places in it, ascending; None for all.
    count : how many there are.
    regs : what each slot holds now.
    """

    __slots__ = ("_lanes", "_subgroups", "count", "index", "machine", "regs")

    def __init__(self, machine: Machine, index: Index) -> None:
        self.machine = machine
        self.index = index
        self.count = machine.count if index is None else len(index)
        self.regs = machine.regs
        self._subgroups: Subgroups | None = None
        self._lanes: npt.NDArray[np.int64] | None = None

    @property
    def lanes(self) -> npt.NDArray[np.int64]:
        """The active invocations' places in the slice, (n,)."""
        if self._lanes is None:
            self._lanes = np.arange(self.machine.count) if self.index is None else self.index
        return self._lanes

    @property
    def subgroups(self) -> Subgroups:
        """The active invocations arranged as subgroups."""
        if self._subgroups is None:
            self._subgroups = self.machine.subgroups_of(self.index)
        return self._subgroups

    @property
    def helpers(self) -> npt.NDArray[np.bool_] | None:
        """Which of the invocations are helpers now, (n,); None where nobody is."""
        return self.machine.helpers_of(self.index)

    def demote(self) -> None:
        """Make helpers of the invocations."""
        self.machine.demote(self.index)
        self._subgroups = None

    @property
    def control(self) -> Causes | None:
        """What is undefined, or left to the order of atomics, about who got here: (n,); None for nothing."""
        control = combine(self.machine.control, self.machine.soft_control)
        return None if control is None else control[self.lanes]

    @property
    def control_of_subgroups(self) -> Causes | None:
        """The same of anybody in each active invocation's subgroup, also of who went elsewhere: (n,)."""
        machine = self.machine
        control = combine(machine.control, machine.soft_control)
        if control is None:
            return None
        worst = np.zeros(int(machine.row[-1]) + 1, np.uint16)
        np.maximum.at(worst, machine.row, control)
        return worst[machine.row[self.lanes]]

    @property
    def order_of_atomics(self) -> int:
        """A soft cause where the order of atomics decides who of the active invocations got here; else 0."""
        control = self.machine.soft_control
        return 0 if control is None else int(control[self.lanes].max(initial=0))

    def subset(self, where: npt.NDArray[np.bool_]) -> Frame:
        """Return a frame of some of the invocations."""
        return Frame(self.machine, self.lanes[where])

    def resource(self, number: int) -> Any:
        """Return what was bound under a number that an image or sampler value holds."""
        return self.machine.resources[number]

    # --- what goes wrong ------------------------------------------------------------------------------

    def report(
        self,
        kind: str,
        site: Site,
        where: npt.NDArray[np.bool_],
        message: str,
        *,
        memory: str = "",
        offset: npt.NDArray[np.int64] | None = None,
        cause: int = 0,
    ) -> None:
        """Note that something happened in the invocations that `where`, (n,), names.

        What goes wrong in a store or an atomic of a helper invocation does not happen.
        """
        if site.name in _STORES or site.name.startswith("OpAtomic"):
            helpers = self.helpers
            if helpers is not None:
                where = where & ~helpers
                if not where.any():
                    return
        self.machine.events.add(
            kind, site.position, self.lanes, where, message, memory=memory, offset=offset, cause=cause
        )

    def report_bounds(
        self, site: Site, memory: Memory, outside: npt.NDArray[np.bool_], offset: npt.NDArray[np.int64]
    ) -> None:
        """Note accesses outside of a memory; `outside` is (dims..., n) or (dims..., 1)."""
        lanes = outside.reshape(-1, outside.shape[-1]).any(axis=0)
        if not lanes.any():
            return
        memory.reached = max(memory.reached, int(np.where(outside, offset, 0).max()) + 1)
        first = np.broadcast_to(offset, outside.shape).reshape(-1, outside.shape[-1])[0]
        self.report(
            "bounds",
            site,
            np.broadcast_to(lanes, (self.count,)),
            f"an access outside of {memory.name}, which has {memory.nbytes} bytes",
            memory=memory.name,
            offset=np.broadcast_to(first, (self.count,)),
        )

    def remember_stored(self, site: Site, memory: Memory, cause: Causes) -> None:
        """Keep an example of a store of an undefined value, for the end of the dispatch."""
        numbers = np.unique(cause[cause >= HARD]) if cause.size > 1 else cause.reshape(-1)
        for number in numbers[:8].tolist():
            place = 0
            if cause.shape and cause.shape[-1] == self.count:
                per_lane = (cause == number).reshape(-1, self.count).any(axis=0)
                place = int(np.argmax(per_lane))
            memory.stored_causes[number] = (site.position, self.machine.first + int(self.lanes[place]))

    def report_undefined(self, site: Site, cause: Causes | None, message: str) -> None:
        """Note that control flow or an address depends on undefined values; `cause` is (n,) or (1,)."""
        if cause is None:
            return
        cause = cause.reshape(-1, cause.shape[-1]).max(axis=0)
        hard = np.broadcast_to(cause >= HARD, (self.count,))
        if hard.any():
            number = int(np.broadcast_to(cause, (self.count,))[np.argmax(hard)])
            self.report("undefined", site, hard, message, cause=number)
