"""Releases and acquires through atomics, for one kind of memory.

A release is known to an invocation that has acquired it, directly or through others. Sets of releases are
Python integers with a bit for each. Atomics, memory barriers and barriers are recorded, and evaluated only
when an access depends on them.

See Vulkan 1.4, appendix "Memory Model": "Release Sequence", "Synchronizes-With",
"Inter-Thread-Happens-Before".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.memory_semantics import DEVICE, SUBGROUP, WORKGROUP

Numbers = npt.NDArray[np.int64]

MOST_ATOMICS, MOST_RELEASES = 1 << 16, 1 << 13
"""Beyond these numbers, all accesses count as ordered that end with a release and begin with an acquire."""
_BARRIERS = 64
"""Invocations at a barrier that count as one atomic."""

_SCOPES = (SUBGROUP, WORKGROUP, DEVICE)


@dataclass(frozen=True, slots=True)
class AtomicRecord:
    """Atomic accesses of one instruction."""

    location: Numbers
    who: Numbers
    memory: str  # the kind of memory that the atomics access
    level: int  # of their scope
    reads: bool
    writes: bool
    acquired: int  # the level that acquire semantics reach; 0 for none
    # By level: the time of the last access that each write releases; 0 for none.
    released: Numbers
    at_once: bool  # whether the atomics have release semantics, and no memory barrier stands before them
    # By level: the time before which accesses are ordered by barriers before the release.
    met: Numbers


@dataclass(frozen=True, slots=True)
class _Release:
    who: int
    subgroup: int
    time: int
    met: tuple[int, int]  # by level, as in `AtomicRecord`
    bit: int


class Releases:
    """The releases of one kind of memory in a dispatch, and who knows them.

    `per_workgroup`, `subgroup_of`: invocations of a workgroup, and the subgroup of every invocation.

    Attributes: `is_overrun`: whether there were too many atomics to compare them.
    """

    def __init__(self, per_workgroup: int, subgroup_of: Callable[[], Numbers]) -> None:
        self._per_workgroup, self._subgroup_of = per_workgroup, subgroup_of
        self._pending: list[Callable[[], None]] = []
        self._recorded = 0
        self.is_overrun = False
        self._count = 0
        self._by_workgroup: dict[int, list[_Release]] = {}
        #: With what it brings along: each release by invocation and time.
        self._closure: dict[tuple[int, int], int] = {}
        self._known: dict[int, int] = {}
        #: What each invocation knew at its last release barrier, and what groups shared at barriers.
        self._fenced: dict[int, int] = {}
        self._shared: dict[int, int] = {}
        #: By location: the releases that an atomic read acquires, by number of the scope instance.
        self._heads: dict[int, dict[int, int]] = {}
        #: By invocation: releases that relaxed atomics have read, by level and kind of the atomic's memory.
        self._seen: dict[int, dict[tuple[int, str], int]] = {}

    def __bool__(self) -> bool:
        return self._recorded > 0

    # --- records --------------------------------------------------------------------------------------

    def atomics(self, record: AtomicRecord) -> None:
        """Record atomic accesses."""
        self._record(lambda: self._atomics(record), len(record.who))

    def keep(self, invocations: Numbers) -> None:
        """Record a release barrier."""
        if self:
            self._record(lambda: self._keep(set(invocations.tolist())), len(invocations) // _BARRIERS)

    def barrier(self, invocations: Numbers, level: int) -> None:
        """Record a control barrier of some groups of this level."""
        if self:
            self._record(lambda: self._meet(invocations, level), len(invocations) // _BARRIERS)

    def acquire(self, invocations: Numbers, level: int, kinds: frozenset[str]) -> None:
        """Record an acquire barrier, which orders `kinds` of memory."""
        if self:
            self._record(lambda: self._acquire(invocations, level, kinds), len(invocations) // _BARRIERS)

    def _record(self, run: Callable[[], None], size: int) -> None:
        self._recorded += size
        self.is_overrun |= self._recorded > MOST_ATOMICS
        if self.is_overrun:
            self._pending.clear()
        else:
            self._pending.append(run)

    # --- evaluation -----------------------------------------------------------------------------------

    def _groups(self, who: Numbers, level: int) -> dict[int, list[int]]:
        """Return by level the numbers of the scope instances of some invocations; all numbers differ."""
        instances = {
            SUBGROUP: -2 - self._subgroup_of()[who],
            WORKGROUP: who // self._per_workgroup,
            DEVICE: np.full(len(who), -1),
        }
        return {wide: instances[wide].tolist() for wide in _SCOPES[:level]}

    def _atomics(self, record: AtomicRecord) -> None:
        levels = [*self._groups(record.who, record.level).items()]
        released = {level: record.released[level].tolist() for level, _ in levels}
        met = [record.met[level].tolist() for level in (SUBGROUP, WORKGROUP)]
        known = self._known if record.at_once else self._fenced
        for number, (location, who) in enumerate(
            zip(record.location.tolist(), record.who.tolist(), strict=True)
        ):
            heads = self._heads.setdefault(location, {})
            if record.reads and heads:
                for level, groups in levels:
                    read = heads.get(groups[number], 0)
                    if level <= record.acquired:
                        self._known[who] = self._known.get(who, 0) | read
                    elif read:
                        seen = self._seen.setdefault(who, {})
                        seen[level, record.memory] = seen.get((level, record.memory), 0) | read
            if record.writes and not record.reads:
                heads.clear()
            for level, groups in levels if record.writes else ():
                time = released[level][number]
                if time:
                    ordered = met[0][number], met[1][number]
                    release = self._release_of(who, time, ordered, known.get(who, 0))
                    heads[groups[number]] = heads.get(groups[number], 0) | release
            if self.is_overrun:
                return

    def _release_of(self, who: int, time: int, met: tuple[int, int], known: int) -> int:
        """Return a release with all those that it brings along."""
        closure = self._closure.get((who, time))
        if closure is None:
            bit = 1 << self._count
            self._count += 1
            self.is_overrun |= self._count > MOST_RELEASES
            subgroup = int(self._subgroup_of()[who])
            release = _Release(who, subgroup, time, met, bit)
            self._by_workgroup.setdefault(who // self._per_workgroup, []).append(release)
            closure = self._closure[who, time] = known | bit
        return closure

    def _keep(self, members: set[int]) -> None:
        for who in self._known.keys() & members:
            self._fenced[who] = self._known[who]

    def _acquire(self, invocations: Numbers, level: int, kinds: frozenset[str]) -> None:
        members = set(invocations.tolist())
        for who in self._seen.keys() & members:
            seen = self._seen[who]
            for key in [key for key in seen if key[0] <= level and key[1] in kinds]:
                self._known[who] = self._known.get(who, 0) | seen.pop(key)
        if self._shared:
            for groups in self._groups(invocations, min(level, WORKGROUP)).values():
                for who, group in zip(invocations.tolist(), groups, strict=True):
                    shared = self._shared.get(group, 0)
                    if shared:
                        self._known[who] = self._known.get(who, 0) | shared

    def _meet(self, invocations: Numbers, level: int) -> None:
        for groups in self._groups(invocations, level).values():
            for who, group in zip(invocations.tolist(), groups, strict=True):
                if who in self._fenced:
                    self._shared[group] = self._shared.get(group, 0) | self._fenced[who]

    # --- queries --------------------------------------------------------------------------------------

    def ordered(
        self, earlier: Numbers, when: Numbers, later: Numbers, offered: Numbers
    ) -> npt.NDArray[np.bool_]:
        """Return whether `later` know a release after the accesses of `earlier` at these times.

        `offered`: by level and invocation the time before which barriers order its accesses.
        """
        for run in self._pending:
            if not self.is_overrun:
                run()
        self._pending.clear()
        if self.is_overrun:
            for table in (self._closure, self._known, self._fenced, self._shared, self._heads, self._seen):
                table.clear()
            return np.ones(len(later), np.bool_)
        covering: dict[tuple[int, int], int] = {}
        result = np.zeros(len(later), np.bool_)
        for number, who in enumerate(later.tolist()):
            known = self._known.get(who, 0)
            if known:
                access = int(earlier[number]), int(when[number])
                if access not in covering:
                    covering[access] = self._after(*access, offered)
                result[number] = bool(known & covering[access])
        return result

    def _after(self, who: int, when: int, offered: Numbers) -> int:
        """Return the releases that an access happens before."""
        releases, subgroup = 0, int(self._subgroup_of()[who])
        # A barrier with others of the workgroup, or of the subgroup, that the access happens before.
        shared, narrow = when < offered[WORKGROUP][who], when < offered[SUBGROUP][who]
        for release in self._by_workgroup.get(who // self._per_workgroup, ()):
            own = release.who == who and release.time >= when
            through_subgroup = narrow and when < release.met[0] and release.subgroup == subgroup
            if own or through_subgroup or (shared and when < release.met[1]):
                releases |= release.bit
        return releases
