"""Memory order: the order of accesses that barriers, memory barriers and atomics establish in a dispatch.

Time counts accesses and barriers of the dispatch. An access happens before a later access of another
invocation if there is, for this kind of memory,

* a barrier of the workgroup or the subgroup, with a release before it by the earlier invocation and an
  acquire after it by the later one; both may be part of the barrier;
* a release after the access and an acquire before the later one, connected by an atomic (`releases`), also
  through other invocations.

The scopes of both must contain both invocations. See Vulkan 1.4, appendix "Memory Model",
"Synchronizes-With" and "Inter-Thread-Happens-Before". Release barriers are compared with the last barrier
only: a release barrier that an invocation executes too late may hide a race.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.operations.memory_semantics import (
    DEVICE,
    KINDS,
    SUBGROUP,
    WORKGROUP,
    Semantics,
)
from vkgroup.reference.interpreter.operations.releases import AtomicRecord, Releases
from vkgroup.reference.interpreter.values.arrangement import Arrangement

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_TIME = 2
Where = Any
"""The index of some invocations on an axis of all: a slice, or their numbers."""


def _zeros(total: int) -> Numbers:
    """Return times by level and invocation."""
    return np.zeros((DEVICE + 1, total), np.int64)


class KindOrder:
    """The order of the accesses to one kind of memory.

    Attributes, all by level and invocation: `fenced`: the time of the last release barrier.
    `offered`: the same before the last barrier of the group of this level.
    `acquired`: the time of the last barrier before the last acquire barrier.
    `pending`: the time of the last release barrier that later atomics release.
    `met`: `acquired` at the last release barrier.
    `arriving`: by level of a split barrier: what `offered` becomes at its wait.
    `available`, `visible`: the time of the last MakeAvailable, and of the last MakeVisible.
    `last_release`, `last_acquire`, by invocation only: the time of the last operation with this semantics,
    shifted by two bits, plus its level.
    """

    def __init__(self, total: int, per_workgroup: int, releases: Releases) -> None:
        self._per_workgroup = per_workgroup
        self.fenced, self.offered, self.acquired = _zeros(total), _zeros(total), _zeros(total)
        self.pending, self.met = _zeros(total), _zeros(total)
        self.arriving: dict[int, Numbers] = {}
        self.available, self.visible = _zeros(total), _zeros(total)
        self.last_release, self.last_acquire = np.zeros(total, np.int64), np.zeros(total, np.int64)
        self.releases = releases
        self.is_used = False

    def have_reached(
        self, times: Numbers, who: Numbers, when: Numbers, own: Numbers, level: Numbers
    ) -> Flags:
        """Return whether `available` or `visible` of some invocations is enough for scopes of these levels.

        `own`: the level that each access itself makes its value available to, or visible from.

        Vulkan 1.4, "Availability and Visibility": a chain consists of an operation in the workgroup, and one
        of any of its invocations in the device.
        """
        reached: Flags = (own >= level) | (times[level, who] > when)
        inside = (level == DEVICE) & ((own >= WORKGROUP) | (times[WORKGROUP][who] > when))
        if inside.any():
            of_workgroup = times[DEVICE].reshape(-1, self._per_workgroup).max(axis=1)
            reached |= inside & (of_workgroup[who // self._per_workgroup] > when)
        return reached


class Order:
    """The order that barriers, memory barriers and atomics of a dispatch have established so far.

    `is_explicit`: whether the module uses the Vulkan memory model, in which accesses are private unless they
    say otherwise, and have to be made available and visible.

    Attributes: `time`: of the last access or barrier.
    """

    def __init__(self, arrangement: Arrangement, *, is_explicit: bool = False) -> None:
        total, per_workgroup = arrangement.invocations, arrangement.per_workgroup
        self.per_workgroup, self.is_explicit = per_workgroup, is_explicit
        self._arrangement = arrangement
        self.time = self._locations = 0
        #: By level and invocation: when it passed its last barrier.
        self._passed = _zeros(total)
        #: By level of a split barrier: when each invocation arrived at the last one.
        self._arrived: dict[int, Numbers] = {}
        self._has_subgroup_barriers = False
        self.kinds = {
            kind: KindOrder(
                total, per_workgroup, Releases(per_workgroup, lambda: arrangement.subgroup_numbers)
            )
            for kind in KINDS
        }

    def tick(self) -> int:
        """Advance time by one, and return it."""
        self.time += 1
        return self.time

    def reserve(self, locations: int) -> int:
        """Return the number of the first of some new memory locations."""
        self._locations += locations
        return self._locations - locations

    # --- barriers -------------------------------------------------------------------------------------

    def barrier(self, frame: Accessor, level: int, semantics: Semantics) -> None:
        """Record a control barrier of the groups of a level: a release, the barrier, and an acquire.

        Vulkan 1.4, "Synchronizes-With": the release barrier "can equal" the control barrier, and so can the
        acquire barrier.
        """
        now, invocations = self.tick(), self._members(frame, level)
        at = _where(invocations)
        self._has_subgroup_barriers |= level == SUBGROUP
        for name in semantics.kinds if semantics.acquires else ():
            # As one operation, it passes on what atomics before it have read.
            self.kinds[name].releases.acquire(invocations, semantics.level, semantics.kinds)
        if semantics.releases:
            self._release(at, invocations, semantics, now)
        self._passed[: level + 1, at] = now
        for name, kind in self.kinds.items():
            if not kind.is_used:
                continue
            kind.releases.barrier(invocations, level)
            kind.offered[: level + 1, at] = kind.fenced[: level + 1, at]
            if level == WORKGROUP and self._has_subgroup_barriers:
                offered, through = kind.offered[WORKGROUP], self._through_subgroups(kind, invocations)
                offered[invocations] = np.maximum(offered[invocations], through)
            is_complete = semantics.acquires and semantics.releases and name in semantics.kinds
            if is_complete and level == WORKGROUP <= semantics.level:
                # All that atomics of the workgroup could order is ordered now.
                kind.pending[: (DEVICE if name == "workgroup" else WORKGROUP) + 1, at] = 0
        if semantics.acquires:
            self._acquire(at, invocations, semantics, now)
        if semantics.releases:
            # Later atomics also release what the barrier has acquired.
            self._keep(at, invocations, semantics)

    def arrive(self, frame: Accessor, level: int, semantics: Semantics) -> None:
        """Record the arrival of groups of a level at a split barrier, which may be a release."""
        now, invocations = self.tick(), self._members(frame, level)
        at = _where(invocations)
        self._has_subgroup_barriers |= level == SUBGROUP
        if semantics.releases:
            self._release(at, invocations, semantics, now)
        total = self._passed.shape[1]
        self._arrived.setdefault(level, np.zeros(total, np.int64))[at] = now
        for kind in self.kinds.values():
            if kind.is_used:
                arriving = kind.arriving.setdefault(level, _zeros(total))
                arriving[:, at] = kind.fenced[:, at]
                if level == WORKGROUP and self._has_subgroup_barriers:
                    through = self._through_subgroups(kind, invocations)
                    arriving[WORKGROUP, at] = np.maximum(arriving[WORKGROUP, at], through)

    def wait(self, frame: Accessor, level: int, semantics: Semantics) -> None:
        """Record the wait of groups of a level at a split barrier: it orders what was before the arrivals."""
        now, invocations = self.tick(), self._members(frame, level)
        at, levels = _where(invocations), slice(level + 1)
        if level in self._arrived:
            self._passed[levels, at] = np.maximum(self._passed[levels, at], self._arrived[level][at])
        for kind in self.kinds.values():
            if level in kind.arriving:
                kind.releases.barrier(invocations, level)
                arriving = kind.arriving[level][levels, at]
                kind.offered[levels, at] = np.maximum(kind.offered[levels, at], arriving)
        if semantics.acquires:
            self._acquire(at, invocations, semantics, now)

    def _members(self, frame: Accessor, level: int) -> Numbers:
        """Return the invocations at a barrier, ascending.

        Of a workgroup, those that have ended count as well: a barrier that they miss is a finding of its own.
        """
        invocations, size = frame.invocations, self.per_workgroup
        if level != WORKGROUP:
            return invocations
        workgroups = np.unique(invocations // size)
        if len(workgroups) * size == len(invocations):
            return invocations
        everyone: Numbers = (workgroups[:, None] * size + np.arange(size)).reshape(-1)
        return everyone

    def _through_subgroups(self, kind: KindOrder, invocations: Numbers) -> Numbers:
        """Return for each invocation the time of what others of its subgroup acquired and then released."""
        subgroup = self._arrangement.subgroup_numbers[invocations]
        most = np.zeros(int(subgroup.max()) + 1, np.int64)
        np.maximum.at(most, subgroup, kind.met[SUBGROUP][invocations])
        through: Numbers = np.minimum(kind.offered[SUBGROUP][invocations], most[subgroup])
        return through

    def fence(self, frame: Accessor, semantics: Semantics) -> None:
        """Record a memory barrier, which also releases what it acquires."""
        now, invocations = self.tick(), frame.invocations
        at = _where(invocations)
        if semantics.acquires:
            self._acquire(at, invocations, semantics, now)
        if semantics.releases:
            self._release(at, invocations, semantics, now)

    def _release(self, at: Where, invocations: Numbers, semantics: Semantics, now: int) -> None:
        for name in semantics.kinds:
            kind = self.kinds[name]
            kind.is_used = True
            kind.last_release[at] = now << _TIME | semantics.level
            kind.fenced[: semantics.level + 1, at] = kind.pending[: semantics.level + 1, at] = now
            if semantics.available:
                kind.available[: semantics.level + 1, at] = now
        self._keep(at, invocations, semantics)

    def _keep(self, at: Where, invocations: Numbers, semantics: Semantics) -> None:
        """Record what a release barrier releases of the accesses of others."""
        for name in semantics.kinds:
            kind = self.kinds[name]
            kind.met[:, at] = kind.acquired[:, at]
            kind.releases.keep(invocations)

    def _acquire(self, at: Where, invocations: Numbers, semantics: Semantics, now: int) -> None:
        for name in semantics.kinds:
            kind = self.kinds[name]
            kind.last_acquire[at] = now << _TIME | semantics.level
            kind.acquired[: semantics.level + 1, at] = self._passed[: semantics.level + 1, at]
            if semantics.visible:
                kind.visible[: semantics.level + 1, at] = now
            kind.releases.acquire(invocations, semantics.level, semantics.kinds)

    # --- atomics --------------------------------------------------------------------------------------

    def atomic(
        self,
        who: Numbers,
        location: Numbers,
        memory: str,
        semantics: Semantics,
        touched: Flags,
        *,
        reads: bool,
        writes: bool,
    ) -> Flags:
        """Record the releases and acquires of atomics; return which of them write a release.

        `location`, `memory`: what each accesses, and its kind.
        `touched`: which of the locations have held a release.
        """
        now = self.time
        for name in semantics.kinds:
            if semantics.releases:
                self.kinds[name].last_release[who] = now << _TIME | semantics.level
            if semantics.acquires:
                self.kinds[name].last_acquire[who] = now << _TIME | semantics.level
        result, levels = np.zeros(len(who), np.bool_), slice(SUBGROUP, semantics.level + 1)
        for name, kind in self.kinds.items():
            at_once = semantics.releases and name in semantics.kinds
            released = _zeros(len(who))
            if at_once:
                released[levels] = now
            elif kind.is_used:
                fenced = self.kinds[memory].fenced
                released[levels] = np.minimum(kind.pending[levels, who], fenced[levels, who])
            releasing = (released > 0).any(axis=0) if writes else np.zeros(len(who), np.bool_)
            result |= releasing
            chosen = releasing | touched
            if chosen.any():
                kind.is_used = True
                met = kind.acquired if at_once else kind.met
                acquires = semantics.acquires and name in semantics.kinds
                kind.releases.atomics(
                    AtomicRecord(
                        location[chosen], who[chosen], memory, semantics.level, reads, writes,
                        semantics.level if acquires else 0,
                        released[:, chosen], at_once, met[:, who[chosen]],
                    )
                )  # fmt: skip
            if self.is_explicit and name in semantics.kinds:
                if semantics.available:
                    kind.available[levels, who] = now
                if semantics.visible:
                    kind.visible[levels, who] = now
        return result

    # --- queries --------------------------------------------------------------------------------------

    def have_met(self, earlier: Numbers, when: Numbers, later: Numbers) -> Flags:
        """Return whether a barrier of the workgroup, of any kind, lies between two accesses."""
        met: Flags = (earlier // self.per_workgroup == later // self.per_workgroup) & (
            when < self._passed[WORKGROUP][later]
        )
        return met

    def common_level(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the level of the narrowest scope whose instance contains both invocations."""
        subgroup_of = self._arrangement.subgroup_numbers
        level = np.where(first // self.per_workgroup == second // self.per_workgroup, WORKGROUP, DEVICE)
        return np.where(subgroup_of[first] == subgroup_of[second], SUBGROUP, level)

    def ordered(self, kind: str, earlier: Numbers, when: Numbers, later: Numbers) -> Flags:
        """Return whether accesses of `earlier` at `when` happen before accesses of `later` now."""
        order = self.kinds[kind]
        ordered: Flags = earlier == later
        if not order.is_used:
            return ordered
        ordered |= (
            (earlier // self.per_workgroup == later // self.per_workgroup)
            & (when < order.acquired[WORKGROUP][later])
            & (when < order.offered[WORKGROUP][earlier])
        )
        if ordered.all():
            return ordered
        subgroup_of = self._arrangement.subgroup_numbers
        ordered |= (
            (subgroup_of[earlier] == subgroup_of[later])
            & (when < order.acquired[SUBGROUP][later])
            & (when < order.offered[SUBGROUP][earlier])
        )
        if order.releases:
            # Without an own release, or an own acquire, nothing is ordered.
            least = when << _TIME
            possible = (
                (order.last_release[earlier] >= least) & (order.last_acquire[later] >= least) & ~ordered
            )
            rest = np.flatnonzero(possible)
            if rest.size:
                ordered[rest] = order.releases.ordered(earlier[rest], when[rest], later[rest], order.offered)
        return ordered


def _where(invocations: Numbers) -> Where:
    """Return the index of invocations, which are ascending."""
    is_range = int(invocations[-1]) - int(invocations[0]) == len(invocations) - 1
    return slice(int(invocations[0]), int(invocations[-1]) + 1) if is_range else invocations
