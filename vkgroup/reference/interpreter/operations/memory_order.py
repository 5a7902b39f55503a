"""Memory order: the order of accesses that barriers, memory barriers and atomics establish in a dispatch.

Time counts accesses and barriers of the dispatch. An access is ordered before a later access of another
invocation by

* a barrier of the workgroup or the subgroup that both have passed and that orders this kind of memory (in a
  subgroup: each has passed some barrier after the earlier access);
* a barrier of the workgroup together with a memory barrier, either of the whole workgroup before it or of the
  later invocation after it (code often has one of them; Vulkan's memory model requires both);
* a release after the access (a memory barrier or release semantics, then an atomic write) that the later
  invocation has acquired (an atomic read of that write or a later one, then a memory barrier or acquire
  semantics).

A release includes the accesses of the invocation's workgroup and subgroup before their last barrier. See
Vulkan 1.4, appendix "Memory Model", "Synchronizes-With" and "Inter-Thread-Happens-Before". Releases are
compared only by time (Lamport clocks). So ordered accesses are never reported as a race, but a race with an
unrelated release between the accesses is missed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.values.arrangement import Arrangement

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_ACQUIRE, _RELEASE = 0x2 | 0x8 | 0x10, 0x4 | 0x8 | 0x10
KINDS = {"buffer": 0x40, "workgroup": 0x100, "image": 0x800}
"""Kinds of memory, as `Memory.kind` names them, with their bits in memory semantics."""


def released_and_acquired(semantics: int) -> tuple[bool, bool]:
    """Return whether memory semantics release, and whether they acquire."""
    return bool(semantics & _RELEASE), bool(semantics & _ACQUIRE)


def ordered_kinds(semantics: int) -> frozenset[str]:
    """Return the kinds of memory that memory semantics order; none without acquire or release."""
    if not semantics & (_ACQUIRE | _RELEASE):
        return frozenset()
    return frozenset(kind for kind, bit in KINDS.items() if semantics & bit)


class Order:
    """The order that barriers, fences and atomics of a dispatch have established so far.

    `time`: of the last access or barrier.
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
        #: By invocation: the latest times that it has released, has seen released, and has acquired.
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

    def workgroup_barrier(self, frame: Accessor, kinds: frozenset[str]) -> None:
        """Record a barrier of some workgroups, which orders `kinds` of memory."""
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

    def subgroup_barrier(self, frame: Accessor, kinds: frozenset[str]) -> None:
        """Record a barrier of the active invocations of some subgroups."""
        now = self.tick()
        invocations = frame.invocations
        for kind in kinds:
            self._subgroup[kind][invocations] = now
        if kinds:
            owners = frame.subgroup_numbers[invocations]
            self._share(invocations, owners, len(self._released_of_subgroup))

    def _share(self, invocations: Numbers, owners: Numbers, count: int) -> None:
        """Share seen and acquired times between invocations with equal `owners`, which met at a barrier.

        Owners are numbers below `count`.
        """
        for known in (self._seen, self._acquired):
            most = np.zeros(count, np.int64)
            np.maximum.at(most, owners, known[invocations])
            known[invocations] = most[owners]

    def fence(self, frame: Accessor, kinds: frozenset[str], *, acquire: bool, release: bool) -> None:
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
        """Return the time up to which each atomic write releases; 0 if it releases nothing."""
        releases, _ = released_and_acquired(semantics)
        upto = self._release_fence[invocations]
        if releases:
            upto = np.full(len(invocations), self.time)
        workgroups = invocations // self.per_workgroup
        self.released[invocations] = np.maximum(self.released[invocations], upto)
        # Accesses of the workgroup before its last barrier are released with it.
        shared = np.minimum(upto, np.maximum.reduce([self._workgroup[kind][workgroups] for kind in KINDS]))
        np.maximum.at(self._released_of_workgroup, workgroups, shared)
        # The same holds for accesses of the subgroup before its last barrier.
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
