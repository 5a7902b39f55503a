"""Data races: unordered accesses of different invocations to the same memory.

For each granule of memory these accesses are recorded, with invocation and time: the last plain write, the
last plain read, the last plain read by another invocation before that, and the last atomic access. A later
access races with a recorded one if `memory_order` does not order them. In the Vulkan memory model both must
also be non-private, and a write must be made available, and visible to a read. Atomics race if the scope of
one does not contain the invocation of the other.

Two racing plain writes of the same bytes are an event of the kind ``"same_value"`` instead of ``"race"``.
They leave the memory defined. A race of a read or of an atomic is always a ``"race"``. So are two atomics in
no order of which one overwrites what the other accumulates, if nothing uses what they return.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.memory_semantics import (
    DEVICE,
    PRIVATE,
    SUBGROUP,
    WORKGROUP,
    read_as,
    semantics_of,
    written_as,
)
from vkgroup.reference.interpreter.operations.race_reasons import (
    NOT_AVAILABLE,
    NOT_VISIBLE,
    PRIVATE_ACCESS,
    missing_barrier,
    missing_release,
    narrow_atomic,
)
from vkgroup.reference.interpreter.operations.records import Flags, Numbers, Record, Store, Target
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.event_log import LOCKSTEP

_RECORDS = ("write", "read", "read_before", "atomic")

STORE = 1
"""The number of atomics that overwrite, as `operation` of `Accesses.atomic`."""

ROUNDED = 2
"""The number of atomic additions of floats: their order decides the rounding."""

IGNORED = 64
"""Added to the number of an atomic whose result nothing uses."""

_WHOLE_VECTOR = "; in WGSL, a write of one component may access the whole vector"
_OVERWRITTEN = "; one of these atomics overwrites the number, and no order decides what is lost"


@dataclass(frozen=True)
class _Access:
    """Accesses of one instruction; `granule` and `who` have an entry for each granule of each access."""

    frame: Accessor
    site: Site
    verb: str
    how: int  # as in `Record`
    granule: Numbers
    who: Numbers

    def neighbours(self) -> tuple[Numbers, Numbers]:
        """Return the indices of accesses to one granule, each with the next one to the same granule."""
        order = np.argsort(self.granule, kind="stable")
        same = self.granule[order][1:] == self.granule[order][:-1]
        return order[:-1][same], order[1:][same]


class Accesses:
    """The last accesses to the granules of one memory.

    `order`: of the dispatch.
    `granules`, `granule`: number of granules of the memory, and bytes of each.
    `memory`, `kind`: name of the memory, and its kind.
    """

    def __init__(self, order: Order, granules: int, granule: int, memory: str, kind: str) -> None:
        self._order, self._granule, self._memory, self._kind = order, granule, memory, kind
        self._records = {name: Record(granules) for name in _RECORDS}
        self._location = order.reserve(granules)
        #: Which granules have held a release; whether an atomic had a scope that may be too narrow.
        self._touched = np.zeros(granules, np.bool_)
        self._is_narrow = False
        #: The name of the record of `write_rest`, if there is one.
        self._rest: tuple[str, ...] = ()
        #: The operation of the last atomic on each granule, and all operations.
        self._operations, self._used = np.zeros(granules, np.int8), set[int]()
        #: The granules of the last atomic on each granule; None while all atomics have one size.
        self._steps: Numbers | None = None
        self._first_steps = 0

    @property
    def untouched(self) -> Flags:
        """Which granules have no recorded write, (granules,)."""
        return self._records["write"].untouched & self._records["atomic"].untouched

    def read(self, frame: Accessor, site: Site, target: Target) -> Flags | None:
        """Check plain reads and record them; return which of them race, in the shape of `offset`, or None."""
        access = self._access(frame, site, "reads", read_as(site.memory), target)
        granule, last, before = access.granule, self._records["read"], self._records["read_before"]
        racing = self._check(access, ("write", "atomic"))
        at = granule[last.who(granule) != access.who]
        before.set_who(at, last.who(at))
        for name in ("when", "position", "how"):
            getattr(before, name)[at] = getattr(last, name)[at]
        # If several invocations read at once, one of them is recorded.
        _, repeated = access.neighbours()
        self._set("read_before", access, repeated)
        self._set("read", access, np.delete(np.arange(len(granule)), repeated))
        if not racing.size:
            return None
        start = target.offset // self._granule
        races: Flags = np.isin(start, racing)
        for step in range(1, target.itemsize // self._granule):
            races = races | np.isin(start + step, racing)
        return races

    def write(self, frame: Accessor, site: Site, target: Target, store: Store) -> Numbers:
        """Check plain writes and record them; return the granules of racing writes of different values.

        A write of the value that another one has written is an event of another kind. An earlier race of
        different values has left the memory undefined, which equals nothing.
        """
        access = self._access(frame, site, "writes", written_as(site.memory), target)
        before, equal = self._records["write"].who(access.granule), None
        first, second = access.neighbours()
        other = access.who[first] != access.who[second]
        first, second = first[other], second[other]
        rewrites = ((before >= 0) & (before != access.who)).any()
        if rewrites or first.size:
            words, defined = store.words(frame, target, self._granule)
        if rewrites:
            old, known = store.before(access.granule, self._granule)
            equal = np.asarray(defined & known & (words == old))
        races = [self._check(access, _RECORDS, equal)]
        if first.size:
            alike = (words[first] == words[second]) & defined[first] & defined[second]
            self._report(
                access, second, access.who[first], np.full(len(second), site.position), None, "", alike
            )
            races.append(access.granule[second[~alike]])
        self._set("write", access)
        return np.concatenate(races)

    def write_rest(self, frame: Accessor, site: Site, target: Target) -> None:
        """Check and record writes to the rest of a vector of which a component is stored."""
        access = self._access(frame, site, "writes", written_as(site.memory), target)
        first, second = access.neighbours()
        other = access.who[first] != access.who[second]
        first, second = first[other], second[other]
        if first.size:
            position = np.full(len(second), site.position)
            self._report(access, second, access.who[first], position, None, _WHOLE_VECTOR)
        self._check(access, _RECORDS, is_rest=True)
        if not self._rest:
            self._rest = ("rest",)
            self._records["rest"] = Record(len(self._touched))
        self._set("rest", access)

    def atomic(
        self, frame: Accessor, site: Site, target: Target, operation: int, *, writes: bool, reads: bool
    ) -> Numbers:
        """Check and record atomic accesses, and record the releases that they write and read.

        `operation`: the number of the instruction: the same for two that give one result in either order. It
        is larger by `IGNORED` if nothing uses what the instruction returns.

        Return for each access that is not dropped the operation of the last atomic that changes the same
        granule, if it is of another invocation and not ordered before; else 0.
        """
        semantics = semantics_of(site.scopes[0], site.scopes[1])
        access = self._access(frame, site, "accesses", semantics.level, target)
        self._check(access, ("write", "read", "read_before") if writes else ("write",))
        self._check_sizes(access, max(1, target.itemsize // self._granule))
        self._is_narrow |= semantics.level < (WORKGROUP if self._kind == "workgroup" else DEVICE)
        if self._is_narrow:
            self._check_scopes(access, writes)
        releasing = self._order.atomic(
            access.who, access.granule + self._location, self._kind, semantics, self._touched[access.granule],
            reads=reads, writes=writes,
        )  # fmt: skip
        self._touched[access.granule[releasing]] = True
        unordered = np.zeros(len(access.who), np.int64)
        if writes:
            self._used.add(operation % IGNORED)
            if len(self._used) > 1 or operation % IGNORED in (STORE, ROUNDED):
                unordered = self._unordered(access, operation)
            self._set("atomic", access)
            self._operations[access.granule] = operation
        return unordered[:: max(1, target.itemsize // self._granule)]

    def _unordered(self, access: _Access, operation: int) -> Numbers:
        """Return the operations of the last atomics that are in no order with those of an access.

        One that only overwrites, among some that only accumulate, is an error: what it discards is chance.
        """
        record, at = self._records["atomic"], access.granule
        them, when = record.who(at), record.when[at]
        present = np.flatnonzero((them >= 0) & (them != access.who))
        found = np.zeros(len(at), np.int64)
        if present.size:
            earlier, times, us = them[present], when[present], access.who[present]
            ordered = self._order.ordered(self._kind, earlier, times, us)
            present = present[~(ordered | self._order.have_met(earlier, times, us))]
            found[present] = self._operations[at[present]]
        if operation > IGNORED and present.size:
            known = found[present]
            lost = present[(known > IGNORED) & ((known % IGNORED == STORE) != (operation % IGNORED == STORE))]
            if lost.size:
                self._report(access, lost, them[lost], record.position[at[lost]], when[lost], _OVERWRITTEN)
        return found % IGNORED

    def _check_sizes(self, access: _Access, steps: int) -> None:
        """Report atomics that access a part of what another atomic accesses.

        They "access the same set of memory locations", or "must be synchronized against the other as if they
        were non-atomic operations" (Vulkan 1.4, "Atomic Operation").
        """
        self._first_steps = self._first_steps or steps
        if self._steps is None and steps != self._first_steps:
            self._steps = np.full(len(self._touched), self._first_steps, np.int64)
        if self._steps is None:
            return
        other = np.flatnonzero(self._steps[access.granule] != steps)
        if other.size:
            self._check(replace(access, granule=access.granule[other], who=access.who[other]), ("atomic",))
        self._steps[access.granule] = steps

    def _check_scopes(self, access: _Access, writes: bool) -> None:
        """Report atomics that are not mutually ordered with others (Vulkan 1.4, "Atomic Operation")."""
        first, second = (index[: None if writes else 0] for index in access.neighbours())
        # Each with the last one before this instruction, and neighbours within the instruction.
        index = np.concatenate([np.arange(len(access.who)), second])
        record, at, us, inside = (
            self._records["atomic"],
            access.granule[index],
            access.who[index],
            len(access.who),
        )
        them, when, positions = record.who(at), record.when[at], record.position[at]
        least = np.minimum(access.how, record.how[at])
        them[inside:], least[inside:] = access.who[first], access.how
        when[inside:], positions[inside:] = self._order.time, access.site.position
        alone = (them >= 0) & (least < self._order.common_level(them, us))
        alone &= ~self._order.ordered(self._kind, them, when, us)
        if alone.any():
            reason = narrow_atomic(int(least[alone][0]))
            self._report(access, index[alone], them[alone], positions[alone], None, reason)

    def _access(self, frame: Accessor, site: Site, verb: str, how: int, target: Target) -> _Access:
        """Advance time, and return the accesses by granule."""
        self._order.tick()
        granule = target.flat(frame, target.offset // self._granule)
        who = target.flat(frame, frame.invocations)
        steps = max(1, target.itemsize // self._granule)
        if steps > 1:
            granule = (granule[:, None] + np.arange(steps)).reshape(-1)
            who = np.repeat(who, steps)
        return _Access(frame, site, verb, how, granule, who)

    def _set(self, name: str, access: _Access, index: Numbers | slice = slice(None)) -> None:
        record, granule = self._records[name], access.granule[index]
        record.set_who(granule, access.who[index])
        record.when[granule] = self._order.time
        record.position[granule] = access.site.position
        if self._order.is_explicit or name == "atomic":
            record.how[granule] = access.how

    def _check(
        self, access: _Access, against: tuple[str, ...], equal: Flags | None = None, *, is_rest: bool = False
    ) -> Numbers:
        """Report accesses that race with earlier ones; return the granules of the races.

        `equal`: which accesses store the value that was written before; they are reported, but not returned.
        `is_rest`: whether they are those of `write_rest`.
        """
        racing = [access.granule[:0]]
        for name in (*against, *self._rest):
            other = self._records[name].who(access.granule)
            present = np.flatnonzero((other >= 0) & (other != access.who))
            if present.size == 0:
                continue
            at, them, us = access.granule[present], other[present], access.who[present]
            when = self._records[name].when[at]
            ordered, reason = self._order.ordered(self._kind, them, when, us), ""
            if self._order.is_explicit:
                ordered, reason = self._explicit(ordered, name, at, us, access)
            bad = ~ordered
            if is_rest or name in self._rest:
                reason = _WHOLE_VECTOR
            if bad.any():
                index, positions = present[bad], self._records[name].position[at][bad]
                alike = None if equal is None or name != "write" else equal[index]
                self._report(access, index, them[bad], positions, when[bad], reason, alike)
                racing.append(access.granule[index if alike is None else index[~alike]])
        return np.concatenate(racing)

    def _explicit(
        self, ordered: Flags, name: str, at: Numbers, us: Numbers, access: _Access
    ) -> tuple[Flags, str]:
        """Return which accesses are ordered in the Vulkan memory model, and the reason if one is not.

        `ordered`: which accesses the earlier ones of record `name` happen before.
        Vulkan 1.4, "Location-Ordered".
        """
        record, how = self._records[name], access.how
        them, when, was = record.who(at), record.when[at], record.how[at].astype(np.int64)
        private = ((was | how) & PRIVATE) != 0
        if private.any():
            return ordered & ~private, PRIVATE_ACCESS
        if name not in ("write", "atomic"):
            return ordered, ""
        level, order = self._order.common_level(them, us), self._order.kinds[self._kind]
        available = order.have_reached(order.available, them, when, was, level)
        if (ordered & ~available).any():
            return ordered & available, NOT_AVAILABLE
        if access.verb == "writes":
            return ordered, ""
        visible = order.have_reached(order.visible, us, when, np.full(len(us), how), level)
        return ordered & visible, NOT_VISIBLE if (ordered & ~visible).any() else ""

    def _reason(self, them: Numbers, when: Numbers | None, us: Numbers) -> str:
        """Return what is missing between accesses that race: the same for all, or for the first."""
        levels = self._order.common_level(them, us)
        if when is not None and self._order.have_met(them, when, us).all():
            return missing_barrier(self._order, self._kind, int(them[0]), int(when[0]), int(us[0]))
        if when is None or (levels == SUBGROUP).all():
            return LOCKSTEP if (levels == SUBGROUP).all() else ""
        example = self._kind, int(them[0]), int(when[0]), int(us[0])
        return missing_release(self._order, *example, int(levels[0]))

    def _report(
        self,
        access: _Access,
        index: Numbers,
        other: Numbers,
        position: Numbers,
        when: Numbers | None,
        reason: str = "",
        alike: Flags | None = None,
    ) -> None:
        """Report races, one for each pair of instructions.

        `index`: of the accesses. `other`, `position`, `when`: invocations, instructions and times of the
        earlier accesses; no times if both are of one instruction.
        `reason`: the end of the message, if it is known.
        `alike`: which accesses store the same value as the earlier ones.
        """
        alike = np.zeros(len(index), np.bool_) if alike is None else alike
        for kind, of_kind in (("race", ~alike), ("same_value", alike)):
            for there in np.unique(position[of_kind]).tolist():
                chosen = of_kind & (position == there)
                us, them = access.who[index[chosen]], other[chosen]
                message = f"invocations write the same value to memory of {self._memory} unsynchronized"
                if kind == "race":
                    message = (
                        f"an invocation {access.verb} memory of {self._memory} that another one accesses"
                        " unsynchronized"
                    )
                    message += reason or self._reason(them, None if when is None else when[chosen], us)
                machine = access.frame.machine
                machine.events.add(
                    kind,
                    access.site.position,
                    us - machine.first,
                    np.ones(len(us), np.bool_),
                    message,
                    memory=self._memory,
                    offset=access.granule[index[chosen]] * self._granule,
                    other_position=there,
                    other=int(them[0]),
                )
