"""Data races: unordered accesses of different invocations to the same memory.

For each granule of memory these accesses are recorded, with invocation and time: the last plain write, the
last plain read, the last plain read by another invocation before that, and the last atomic access. A later
access races with a recorded one if `memory_order` does not order them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.event_log import LOCKSTEP

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Accesses:
    """The last accesses to the granules of one memory.

    `order`: of the dispatch.
    `granules`, `granule`: number of granules of the memory, and bytes of each.
    `memory`, `kind`: name of the memory, and its kind.
    """

    def __init__(self, order: Order, granules: int, granule: int, memory: str, kind: str) -> None:
        self._order, self._granule, self._memory, self._kind = order, granule, memory, kind
        self._who = {name: np.full(granules, -1, np.int64) for name in _RECORDS}
        self._when = {name: np.zeros(granules, np.int64) for name in _RECORDS}
        self._position = {name: np.full(granules, -1, np.int64) for name in _RECORDS}
        self._released = np.zeros(granules, np.int64)

    @property
    def untouched(self) -> Flags:
        """Which granules have no recorded write, (granules,)."""
        return (self._who["write"] < 0) & (self._who["atomic"] < 0)

    def read(
        self, frame: Accessor, site: Site, offset: Numbers, itemsize: int, skipped: Flags | None
    ) -> Flags | None:
        """Check plain reads and record them; return which of them race, in the shape of `offset`, or None."""
        granule, who = self._flatten(frame, offset, itemsize, skipped)
        now = self._order.tick()
        racing = self._check(frame, site, granule, who, ("write", "atomic"), "reads")
        changed = self._who["read"][granule] != who
        at = granule[changed]
        for record in (self._who, self._when, self._position):
            record["read_before"][at] = record["read"][at]
        # If several invocations read at once, one of them is recorded.
        order = np.argsort(granule, kind="stable")
        repeated = order[1:][granule[order][1:] == granule[order][:-1]]
        self._set("read_before", granule[repeated], who[repeated], now, site.position)
        first = np.ones(len(granule), np.bool_)
        first[repeated] = False
        self._set("read", granule[first], who[first], now, site.position)
        if racing is None:
            return None
        start, racing_granules = offset // self._granule, granule[racing]
        races: Flags = np.isin(start, racing_granules)
        for step in range(1, itemsize // self._granule):
            races = races | np.isin(start + step, racing_granules)
        return races

    def write(
        self, frame: Accessor, site: Site, offset: Numbers, itemsize: int, skipped: Flags | None
    ) -> Numbers:
        """Check plain writes and record them; return the granules of racing writes."""
        granule, who = self._flatten(frame, offset, itemsize, skipped)
        now = self._order.tick()
        against = ("write", "read", "read_before", "atomic")
        racing = self._check(frame, site, granule, who, against, "writes")
        races = granule[:0] if racing is None else granule[racing]
        order = np.argsort(granule, kind="stable")
        same = granule[order][1:] == granule[order][:-1]
        other = same & (who[order][1:] != who[order][:-1])
        if other.any():
            self._report(
                frame, site, granule[order][1:][other], who[order][1:][other],
                who[order][:-1][other], np.full(int(other.sum()), site.position), "writes",
            )  # fmt: skip
            races = np.concatenate([races, granule[order][1:][other]])
        self._set("write", granule, who, now, site.position)
        return races

    def atomic(
        self,
        frame: Accessor,
        site: Site,
        offset: Numbers,
        itemsize: int,
        skipped: Flags | None,
        *,
        writes: bool,
        reads: bool,
    ) -> None:
        """Check and record atomic accesses, and record the releases that they make or see."""
        granule, who = self._flatten(frame, offset, itemsize, skipped)
        now = self._order.tick()
        against = ("write", "read", "read_before") if writes else ("write",)
        self._check(frame, site, granule, who, against, "accesses")
        semantics = site.scopes[1] if len(site.scopes) > 1 else 0
        if reads:
            self._order.see(who, self._released[granule], semantics)
        if writes:
            released = self._order.atomic(who, semantics, frame.subgroup_numbers)
            np.maximum.at(self._released, granule, released)
            if reads:
                # Within one instruction, later invocations see the writes of earlier ones.
                self._order.see(who, self._released[granule], semantics)
            self._set("atomic", granule, who, now, site.position)

    def _flatten(
        self, frame: Accessor, offset: Numbers, itemsize: int, skipped: Flags | None
    ) -> tuple[Numbers, Numbers]:
        """Return granule and invocation of every access."""
        invocations = frame.invocations
        shape = np.broadcast_shapes(offset.shape, (len(invocations),))
        granule = np.broadcast_to(offset // self._granule, shape)
        who = np.broadcast_to(invocations, shape)
        if skipped is not None:
            checked = ~np.broadcast_to(skipped, shape)
            granule, who = granule[checked], who[checked]
        granule, who = granule.reshape(-1), who.reshape(-1)
        steps = max(1, itemsize // self._granule)
        if steps > 1:
            granule = (granule[:, None] + np.arange(steps)).reshape(-1)
            who = np.repeat(who, steps)
        return granule, who

    def _set(self, name: str, granule: Numbers, who: Numbers, now: int, position: int) -> None:
        self._who[name][granule] = who
        self._when[name][granule] = now
        self._position[name][granule] = position

    def _check(
        self,
        frame: Accessor,
        site: Site,
        granule: Numbers,
        who: Numbers,
        against: tuple[str, ...],
        verb: str,
    ) -> Flags | None:
        """Report accesses that race with earlier ones; return which of them race, or None."""
        racing: Flags | None = None
        for name in against:
            other = self._who[name][granule]
            present = np.flatnonzero((other >= 0) & (other != who))
            if present.size == 0:
                continue
            at, them, us = granule[present], other[present], who[present]
            when = self._when[name][at]
            ordered = self._order.ordered(self._kind, them, when, us, frame.subgroup_numbers)
            if not ordered.all():
                bad = ~ordered
                if racing is None:
                    racing = np.zeros(len(granule), np.bool_)
                racing[present[bad]] = True
                positions = self._position[name][at][bad]
                met = self._order.have_met(them, when, us)[bad]
                self._report(frame, site, at[bad], us[bad], them[bad], positions, verb, met)
        return racing

    def _report(
        self,
        frame: Accessor,
        site: Site,
        granule: Numbers,
        who: Numbers,
        other: Numbers,
        position: Numbers,
        verb: str,
        met: Flags | None = None,
    ) -> None:
        """Report races, one for each pair of instructions; `met` marks those with a barrier() in between."""
        subgroup_of = frame.subgroup_numbers
        for there in np.unique(position).tolist():
            chosen = position == there
            us, them = who[chosen], other[chosen]
            message = (
                f"an invocation {verb} memory of {self._memory} that another one accesses unsynchronized"
            )
            if met is not None and met[chosen].all():
                message += f"; the barrier() between them does not order {_MEMORIES[self._kind]}"
            elif (subgroup_of[us] == subgroup_of[them]).all():
                message += LOCKSTEP
            frame.machine.events.add(
                "race",
                site.position,
                us - frame.machine.first,
                np.ones(len(us), np.bool_),
                message,
                memory=self._memory,
                offset=granule[chosen] * self._granule,
                other_position=there,
                other=int(them[0]),
            )


_RECORDS = ("write", "read", "read_before", "atomic")
_MEMORIES = {
    "buffer": "accesses to buffers: add memoryBarrierBuffer()",
    "image": "accesses to images: add memoryBarrierImage()",
    "workgroup": "accesses to shared memory: add memoryBarrierShared()",
}
