"""Data races: accesses of different invocations to the same memory that nothing orders.

Each granule of memory has a record of the last plain write, of two plain reads (the last one, and the last
one by another invocation before it) and of the last atomic access, with invocation and time. Time counts
accesses and barriers of the dispatch. An earlier access is ordered before a later one of another invocation
by

* a barrier of the workgroup, or of the subgroup, that both have passed and that orders this kind of memory
  (of a subgroup: each has passed some barrier after the earlier access);
* a barrier of the workgroup together with a memory barrier, either of the whole workgroup before it or of the
  later invocation after it (code often has one of them; Vulkan's memory model requires both);
* a release after the access (a memory barrier or release semantics, then an atomic write) that the later
  invocation has acquired (an atomic read of that write or a later one, then a memory barrier or acquire
  semantics).

A release includes the accesses of the invocation's workgroup and subgroup before their last barrier. See
Vulkan 1.4, appendix "Memory Model", "Synchronizes-With" and "Inter-Thread-Happens-Before". Releases are
compared by time alone, as Lamport's clocks do. So ordered accesses are never reported as a race, but a race
with an unrelated release between the accesses is missed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.execution.arrangement import Arrangement
from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.operations.barriers import released_and_acquired
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

KINDS = ("buffer", "workgroup", "image")


class Order:
    """The order between invocations of a dispatch that barriers, fences and atomics have made so far.

    Attributes
    ----------
    time : of the last access or barrier.
    """

    def __init__(self, arrangement: Arrangement) -> None:
        total = arrangement.workgroups * arrangement.per_workgroup
        self.per_workgroup = arrangement.per_workgroup
        self.time = 0
        #: By kind: accesses of the workgroup before this time are ordered before all later ones.
        self._workgroup = {kind: np.zeros(arrangement.workgroups, np.int64) for kind in KINDS}
        #: The same by invocation, for memory barriers after the barrier.
        self._own = {kind: np.zeros(total, np.int64) for kind in KINDS}
        #: By kind: when each invocation passed its last barrier of the subgroup.
        self._subgroup = {kind: np.zeros(total, np.int64) for kind in KINDS}
        self._fenced = {kind: np.zeros(total, np.int64) for kind in KINDS}
        self._met = np.zeros(arrangement.workgroups, np.int64)
        #: By invocation: the times up to which it has released, seen releases, and acquired.
        self._release_fence = np.zeros(total, np.int64)
        self.released = np.zeros(total, np.int64)
        self._released_of_workgroup = np.zeros(arrangement.workgroups, np.int64)
        self._released_of_subgroup = np.zeros(arrangement.workgroups * arrangement.subgroups, np.int64)
        self._seen = np.zeros(total, np.int64)
        self._acquired = np.zeros(total, np.int64)

    def tick(self) -> int:
        """Advance time by one, and return it."""
        self.time += 1
        return self.time

    # --- barriers -------------------------------------------------------------------------------------

    def workgroup_barrier(self, frame: Frame, kinds: frozenset[str]) -> None:
        """Record that some workgroups have met; the barrier itself orders `kinds` of memory."""
        now = self.tick()
        invocations = frame.invocations
        owners = invocations // self.per_workgroup
        workgroups = np.unique(owners)
        for kind in KINDS:
            if kind in kinds:
                self._workgroup[kind][workgroups] = now
            else:
                # Memory barriers of all invocations before the barrier order the accesses before them.
                fenced = np.full(len(self._met), now)
                np.minimum.at(fenced, owners, self._fenced[kind][invocations])
                before = self._workgroup[kind][workgroups]
                self._workgroup[kind][workgroups] = np.maximum(before, fenced[workgroups])
        self._met[workgroups] = now
        self._share(invocations, owners, len(self._met))

    def subgroup_barrier(self, frame: Frame, kinds: frozenset[str]) -> None:
        """Record that the active invocations of some subgroups have met."""
        now = self.tick()
        invocations = frame.invocations
        for kind in kinds:
            self._subgroup[kind][invocations] = now
        if kinds:
            owners = frame.subgroup_numbers[invocations]
            self._share(invocations, owners, len(self._released_of_subgroup))

    def _share(self, invocations: Numbers, owners: Numbers, count: int) -> None:
        """Share seen and acquired times between invocations that have met, those with equal `owners`.

        Owners are numbers below `count`.
        """
        for known in (self._seen, self._acquired):
            most = np.zeros(count, np.int64)
            np.maximum.at(most, owners, known[invocations])
            known[invocations] = most[owners]

    def fence(self, frame: Frame, kinds: frozenset[str], *, acquire: bool, release: bool) -> None:
        """Record a memory barrier."""
        now = self.tick()
        invocations = frame.invocations
        workgroups = invocations // self.per_workgroup
        for kind in kinds:
            self._fenced[kind][invocations] = now
            own = self._own[kind]
            own[invocations] = np.maximum(own[invocations], self._met[workgroups])
        if release:
            self._release_fence[invocations] = now
        if acquire:
            self._acquired[invocations] = np.maximum(self._acquired[invocations], self._seen[invocations])

    def atomic(self, invocations: Numbers, semantics: int, subgroup_of: Numbers) -> Numbers:
        """Return the time up to which each of some atomic writes releases; 0 where it releases nothing."""
        releases, _ = released_and_acquired(semantics)
        upto = self._release_fence[invocations]
        if releases:
            upto = np.full(len(invocations), self.time)
        workgroups = invocations // self.per_workgroup
        self.released[invocations] = np.maximum(self.released[invocations], upto)
        # Accesses of the workgroup before its last barrier are released with it.
        shared = np.minimum(upto, np.maximum.reduce([self._workgroup[kind][workgroups] for kind in KINDS]))
        np.maximum.at(self._released_of_workgroup, workgroups, shared)
        # So are accesses of the subgroup before its last barrier.
        shared = np.minimum(upto, np.maximum.reduce([self._subgroup[kind][invocations] for kind in KINDS]))
        np.maximum.at(self._released_of_subgroup, subgroup_of[invocations], shared)
        return np.where(upto > 0, self.time, 0)

    def see(self, invocations: Numbers, released: Numbers, semantics: int) -> None:
        """Record that some atomic reads saw releases of these times."""
        self._seen[invocations] = np.maximum(self._seen[invocations], released)
        if released_and_acquired(semantics)[1]:
            self._acquired[invocations] = np.maximum(self._acquired[invocations], self._seen[invocations])

    def have_met(self, earlier: Numbers, when: Numbers, later: Numbers) -> Flags:
        """Return whether a barrier of the workgroup, of any kind, lies between two accesses."""
        theirs, ours = earlier // self.per_workgroup, later // self.per_workgroup
        met: Flags = (theirs == ours) & (when < self._met[ours])
        return met

    # --- queries --------------------------------------------------------------------------------------

    def ordered(
        self, kind: str, earlier: Numbers, when: Numbers, later: Numbers, subgroup_of: Numbers
    ) -> Flags:
        """Return whether accesses of `earlier` at `when` are ordered before accesses of `later` now.

        `subgroup_of` has the number of each invocation's subgroup in the dispatch.
        """
        theirs, ours = earlier // self.per_workgroup, later // self.per_workgroup
        same_workgroup = theirs == ours
        by_workgroup = same_workgroup & (
            (when < self._workgroup[kind][ours]) | (when < self._own[kind][later])
        )
        met = self._subgroup[kind]
        by_subgroup = (
            same_workgroup
            & (subgroup_of[earlier] == subgroup_of[later])
            & (when < met[later])
            & (when < met[earlier])
        )
        released = (
            (self.released[earlier] >= when)
            | (self._released_of_workgroup[theirs] > when)
            | ((self._released_of_subgroup[subgroup_of[earlier]] > when) & (when < met[earlier]))
        )
        acquired: Flags = released & (when < self._acquired[later])
        ordered: Flags = (earlier == later) | by_workgroup | by_subgroup | acquired
        return ordered


class Accesses:
    """The last accesses to the granules of one memory.

    Parameters
    ----------
    order : of the dispatch.
    granules : of the memory.
    """

    def __init__(self, order: Order, granules: int) -> None:
        self._order = order
        self._who = {name: np.full(granules, -1, np.int64) for name in _RECORDS}
        self._when = {name: np.zeros(granules, np.int64) for name in _RECORDS}
        self._position = {name: np.full(granules, -1, np.int64) for name in _RECORDS}
        self._released = np.zeros(granules, np.int64)

    @property
    def untouched(self) -> Flags:
        """Which granules have no recorded write, (granules,)."""
        return (self._who["write"] < 0) & (self._who["atomic"] < 0)

    def read(
        self,
        frame: Accessor,
        site: Site,
        memory: Memory,
        offset: Numbers,
        itemsize: int,
        skipped: Flags | None,
    ) -> Flags | None:
        """Check plain reads, and record them.

        Returns
        -------
        Which of the reads race, in the shape of `offset`; None where none does.
        """
        granule, who = self._flatten(frame, memory, offset, itemsize, skipped)
        now = self._order.tick()
        racing = self._check(frame, site, memory, granule, who, ("write", "atomic"), "reads")
        changed = self._who["read"][granule] != who
        at = granule[changed]
        for record in (self._who, self._when, self._position):
            record["read_before"][at] = record["read"][at]
        # Where several invocations read at once, one represents the others.
        order = np.argsort(granule, kind="stable")
        repeated = order[1:][granule[order][1:] == granule[order][:-1]]
        self._set("read_before", granule[repeated], who[repeated], now, site.position)
        first = np.ones(len(granule), np.bool_)
        first[repeated] = False
        self._set("read", granule[first], who[first], now, site.position)
        if racing is None:
            return None
        start, racing_granules = offset // memory.granule, granule[racing]
        races: Flags = np.isin(start, racing_granules)
        for step in range(1, itemsize // memory.granule):
            races = races | np.isin(start + step, racing_granules)
        return races

    def write(
        self,
        frame: Accessor,
        site: Site,
        memory: Memory,
        offset: Numbers,
        itemsize: int,
        skipped: Flags | None,
    ) -> Numbers:
        """Check plain writes, and record them; return the granules that are written in a race."""
        granule, who = self._flatten(frame, memory, offset, itemsize, skipped)
        now = self._order.tick()
        against = ("write", "read", "read_before", "atomic")
        racing = self._check(frame, site, memory, granule, who, against, "writes")
        races = granule[:0] if racing is None else granule[racing]
        order = np.argsort(granule, kind="stable")
        same = granule[order][1:] == granule[order][:-1]
        other = same & (who[order][1:] != who[order][:-1])
        if other.any():
            self._report(
                frame, site, memory, granule[order][1:][other], who[order][1:][other],
                who[order][:-1][other], np.full(int(other.sum()), site.position), "writes",
            )  # fmt: skip
            races = np.concatenate([races, granule[order][1:][other]])
        self._set("write", granule, who, now, site.position)
        return races

    def atomic(
        self,
        frame: Accessor,
        site: Site,
        memory: Memory,
        offset: Numbers,
        itemsize: int,
        skipped: Flags | None,
        *,
        writes: bool,
        reads: bool,
    ) -> None:
        """Check atomic accesses, record them, and pass on their releases."""
        granule, who = self._flatten(frame, memory, offset, itemsize, skipped)
        now = self._order.tick()
        against = ("write", "read", "read_before") if writes else ("write",)
        self._check(frame, site, memory, granule, who, against, "accesses")
        semantics = site.scopes[1] if len(site.scopes) > 1 else 0
        if reads:
            self._order.see(who, self._released[granule], semantics)
        if writes:
            released = self._order.atomic(who, semantics, frame.subgroup_numbers)
            np.maximum.at(self._released, granule, released)
            if reads:
                # Within one instruction later invocations see the earlier ones.
                self._order.see(who, self._released[granule], semantics)
            self._set("atomic", granule, who, now, site.position)

    def _flatten(
        self, frame: Accessor, memory: Memory, offset: Numbers, itemsize: int, skipped: Flags | None
    ) -> tuple[Numbers, Numbers]:
        """Return granule and invocation of every access."""
        invocations = frame.invocations
        shape = np.broadcast_shapes(offset.shape, (len(invocations),))
        granule = np.broadcast_to(offset // memory.granule, shape)
        who = np.broadcast_to(invocations, shape)
        if skipped is not None:
            checked = ~np.broadcast_to(skipped, shape)
            granule, who = granule[checked], who[checked]
        granule, who = granule.reshape(-1), who.reshape(-1)
        steps = max(1, itemsize // memory.granule)
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
        memory: Memory,
        granule: Numbers,
        who: Numbers,
        against: tuple[str, ...],
        verb: str,
    ) -> Flags | None:
        """Report accesses that race with earlier ones; return which of them do, None for none."""
        racing: Flags | None = None
        for name in against:
            other = self._who[name][granule]
            present = np.flatnonzero((other >= 0) & (other != who))
            if present.size == 0:
                continue
            at, them, us = granule[present], other[present], who[present]
            when = self._when[name][at]
            ordered = self._order.ordered(memory.kind, them, when, us, frame.subgroup_numbers)
            if not ordered.all():
                bad = ~ordered
                if racing is None:
                    racing = np.zeros(len(granule), np.bool_)
                racing[present[bad]] = True
                positions = self._position[name][at][bad]
                met = self._order.have_met(them, when, us)[bad]
                self._report(frame, site, memory, at[bad], us[bad], them[bad], positions, verb, met)
        return racing

    def _report(
        self,
        frame: Accessor,
        site: Site,
        memory: Memory,
        granule: Numbers,
        who: Numbers,
        other: Numbers,
        position: Numbers,
        verb: str,
        met: Flags | None = None,
    ) -> None:
        """Report races, one for each pair of instructions; `met` says where a barrier() lies between."""
        subgroup_of = frame.subgroup_numbers
        for there in np.unique(position).tolist():
            chosen = position == there
            us, them = who[chosen], other[chosen]
            message = f"one invocation {verb} a place of {memory.name} that another accesses, in no order"
            if met is not None and met[chosen].all():
                message += f"; the barrier() between does not order {_MEMORIES[memory.kind]}"
            elif (subgroup_of[us] == subgroup_of[them]).all():
                message += "; it works only where a subgroup happens to run in step"
            frame.report_race(
                site,
                us,
                message,
                memory=memory.name,
                offset=granule[chosen] * memory.granule,
                other_position=there,
                other=int(them[0]),
            )


_RECORDS = ("write", "read", "read_before", "atomic")
_MEMORIES = {
    "buffer": "buffers: memoryBarrierBuffer() must stand with it",
    "image": "images: memoryBarrierImage() must stand with it",
    "workgroup": "shared memory: memoryBarrierShared() must stand with it",
}
