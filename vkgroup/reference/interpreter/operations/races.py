"""Data races: unordered accesses of different invocations to the same memory.

For each granule of memory these accesses are recorded, with invocation and time: the last plain write, the
last plain read, the last plain read by another invocation before that, and the last atomic access. A later
access races with a recorded one if `memory_order` does not order them. In the Vulkan memory model both must
also be non-private, and a write must be made available, and visible to a read. Atomics race if the scope of
one does not contain the invocation of the other.

Two racing plain writes of the same bytes are an event of the kind ``"same_value"`` instead of ``"race"``.
They leave the memory defined. A race of a read or of an atomic is always a ``"race"``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.event_log import LOCKSTEP
from vkgroup.reference.interpreter.values.value import Causes, Data

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_RECORDS = ("write", "read", "read_before", "atomic")


@dataclass(frozen=True)
class Store:
    """A plain store before it takes effect."""

    data: Data  # the values, which broadcast to (dims..., n)
    cause: Causes | None  # their causes; None if all are defined
    # `memory`, `causes`: bytes of the memory before the store, and the causes of its granules
    memory: npt.NDArray[np.uint8]
    causes: Causes | None

    def words(self, shape: tuple[int, ...], skipped: Flags | None, granule: int) -> tuple[Numbers, Flags]:
        """Return the value that each access stores to each granule as a number, and whether it is defined.

        `shape`, `skipped`: accesses, and those among them that are dropped. `granule`: bytes of a granule.
        """
        data = np.broadcast_to(self.data, np.broadcast_shapes(shape, self.data.shape))
        defined = np.broadcast_to(True if self.cause is None else self.cause == 0, data.shape)
        if skipped is not None:
            checked = ~np.broadcast_to(skipped, data.shape)
            data, defined = data[checked], defined[checked]
        steps = data.itemsize // granule
        if not steps or data.dtype.kind not in "uif":
            # A part of a granule says nothing about the rest.
            return np.zeros(data.size, np.int64), np.zeros(data.size, np.bool_)
        words = np.ascontiguousarray(data.reshape(-1)).view(f"u{granule}").astype(np.int64)
        return words, np.repeat(defined.reshape(-1), steps)

    def before(self, granules: Numbers, granule: int) -> tuple[Numbers, Flags]:
        """Return the numbers in the memory before the store, and whether they are defined."""
        whole = self.memory[: self.memory.size // granule * granule].view(f"u{granule}")
        if not len(whole):
            return np.zeros(granules.shape, np.int64), np.zeros(granules.shape, np.bool_)
        defined = granules < len(whole)
        if self.causes is not None:
            defined = defined & (self.causes[granules] == 0)
        return whole[np.minimum(granules, len(whole) - 1)].astype(np.int64), defined


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
        #: `PRIVATE`, or the level that a write made itself available to, or the level of an atomic's scope.
        self._how = {name: np.zeros(granules, np.int8) for name in _RECORDS}
        self._location = order.reserve(granules)
        #: Which granules have held a release; whether an atomic had a scope that may be too narrow.
        self._touched = np.zeros(granules, np.bool_)
        self._is_narrow = False

    @property
    def untouched(self) -> Flags:
        """Which granules have no recorded write, (granules,)."""
        return (self._who["write"] < 0) & (self._who["atomic"] < 0)

    def read(
        self, frame: Accessor, site: Site, offset: Numbers, itemsize: int, skipped: Flags | None
    ) -> Flags | None:
        """Check plain reads and record them; return which of them race, in the shape of `offset`, or None."""
        granule, who = self._flatten(frame, offset, itemsize, skipped)
        now, how = self._order.tick(), read_as(site.memory)
        racing = self._check(frame, site, granule, who, ("write", "atomic"), "reads", how)
        changed = self._who["read"][granule] != who
        at = granule[changed]
        for record in (self._who, self._when, self._position, self._how):
            record["read_before"][at] = record["read"][at]
        # If several invocations read at once, one of them is recorded.
        order = np.argsort(granule, kind="stable")
        repeated = order[1:][granule[order][1:] == granule[order][:-1]]
        self._set("read_before", granule[repeated], who[repeated], now, site.position, how)
        first = np.ones(len(granule), np.bool_)
        first[repeated] = False
        self._set("read", granule[first], who[first], now, site.position, how)
        if racing is None:
            return None
        start, racing_granules = offset // self._granule, granule[racing]
        races: Flags = np.isin(start, racing_granules)
        for step in range(1, itemsize // self._granule):
            races = races | np.isin(start + step, racing_granules)
        return races

    def write(
        self, frame: Accessor, site: Site, offset: Numbers, itemsize: int, skipped: Flags | None, store: Store
    ) -> Numbers:
        """Check plain writes and record them; return the granules of racing writes of different values."""
        granule, who = self._flatten(frame, offset, itemsize, skipped)
        now, how = self._order.tick(), written_as(site.memory)
        equal = self._equal_to_memory(frame, granule, who, offset, skipped, store)
        racing = self._check(frame, site, granule, who, ("write",), "writes", how, equal)
        races = [] if racing is None else [granule[racing]]
        racing = self._check(frame, site, granule, who, ("read", "read_before", "atomic"), "writes", how)
        races += [] if racing is None else [granule[racing]]
        order = np.argsort(granule, kind="stable")
        same = granule[order][1:] == granule[order][:-1]
        other = same & (who[order][1:] != who[order][:-1])
        if other.any():
            words, defined = store.words(_shape(frame, offset), skipped, self._granule)
            first, second = order[:-1], order[1:]
            alike = (words[first] == words[second]) & defined[first] & defined[second]
            for chosen, kind in ((other & ~alike, "race"), (other & alike, "same_value")):
                if chosen.any():
                    self._report(
                        frame, site, granule[second][chosen], who[second][chosen], who[first][chosen],
                        np.full(int(chosen.sum()), site.position), "writes", None, kind=kind,
                    )  # fmt: skip
            races.append(granule[second][other & ~alike])
        self._set("write", granule, who, now, site.position, how)
        return np.concatenate([granule[:0], *races])

    def _equal_to_memory(
        self,
        frame: Accessor,
        granule: Numbers,
        who: Numbers,
        offset: Numbers,
        skipped: Flags | None,
        store: Store,
    ) -> Flags | None:
        """Return which accesses store the value that another one has written; None if no other has written.

        An earlier race of different values has left the memory undefined, which equals nothing.
        """
        before = self._who["write"][granule]
        if not ((before >= 0) & (before != who)).any():
            return None
        words, defined = store.words(_shape(frame, offset), skipped, self._granule)
        old, known = store.before(granule, self._granule)
        return np.asarray(defined & known & (words == old))

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
        """Check and record atomic accesses, and record the releases that they write and read."""
        granule, who = self._flatten(frame, offset, itemsize, skipped)
        now = self._order.tick()
        against = ("write", "read", "read_before") if writes else ("write",)
        semantics = semantics_of(site.scopes[0], site.scopes[1])
        self._check(frame, site, granule, who, against, "accesses", semantics.level)
        self._is_narrow |= semantics.level < (WORKGROUP if self._kind == "workgroup" else DEVICE)
        if self._is_narrow:
            self._check_scopes(frame, site, granule, who, semantics.level, writes)
        releasing = self._order.atomic(
            who, granule + self._location, self._kind, semantics, self._touched[granule],
            reads=reads, writes=writes,
        )  # fmt: skip
        self._touched[granule[releasing]] = True
        if writes:
            self._set("atomic", granule, who, now, site.position, semantics.level)

    def _check_scopes(
        self, frame: Accessor, site: Site, granule: Numbers, who: Numbers, level: int, writes: bool
    ) -> None:
        """Report atomics that are not mutually ordered with others (Vulkan 1.4, "Atomic Operation")."""
        order = np.argsort(granule, kind="stable")
        first, second = order[:-1], order[1:]
        same = (granule[first] == granule[second]) & writes
        # Each with the last one before this instruction, and neighbours within the instruction.
        at, us = (np.concatenate([array, array[second][same]]) for array in (granule, who))
        them = np.concatenate([self._who["atomic"][granule], who[first][same]])
        least = np.minimum(level, self._how["atomic"][at])
        least[len(who) :] = level
        when, positions = self._when["atomic"][at], self._position["atomic"][at]
        when[len(who) :], positions[len(who) :] = self._order.time, site.position
        alone = (them >= 0) & (least < self._order.common_level(them, us))
        alone &= ~self._order.ordered(self._kind, them, when, us)
        if alone.any():
            reason = narrow_atomic(int(least[alone][0]))
            self._report(
                frame, site, at[alone], us[alone], them[alone], positions[alone], "accesses", None, reason
            )

    def _flatten(
        self, frame: Accessor, offset: Numbers, itemsize: int, skipped: Flags | None
    ) -> tuple[Numbers, Numbers]:
        """Return granule and invocation of every access."""
        invocations = frame.invocations
        shape = _shape(frame, offset)
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

    def _set(self, name: str, granule: Numbers, who: Numbers, now: int, position: int, how: int) -> None:
        self._who[name][granule] = who
        self._when[name][granule] = now
        self._position[name][granule] = position
        if self._order.is_explicit or name == "atomic":
            self._how[name][granule] = how

    def _check(
        self,
        frame: Accessor,
        site: Site,
        granule: Numbers,
        who: Numbers,
        against: tuple[str, ...],
        verb: str,
        how: int,
        equal: Flags | None = None,
    ) -> Flags | None:
        """Report accesses that race with earlier ones; return which of them race, or None.

        `how`: `PRIVATE`, or the level of the access.
        `equal`: which accesses store the value that is there; they are reported, but not returned.
        """
        racing: Flags | None = None
        for name in against:
            other = self._who[name][granule]
            present = np.flatnonzero((other >= 0) & (other != who))
            if present.size == 0:
                continue
            at, them, us = granule[present], other[present], who[present]
            when = self._when[name][at]
            ordered = self._order.ordered(self._kind, them, when, us)
            reason = ""
            if self._order.is_explicit:
                ordered, reason = self._explicit(ordered, name, at, us, verb, how)
            if not ordered.all():
                alike = np.zeros(len(at), np.bool_) if equal is None else equal[present]
                for bad, kind in ((~ordered & ~alike, "race"), (~ordered & alike, "same_value")):
                    if not bad.any():
                        continue
                    if kind == "race":
                        racing = np.zeros(len(granule), np.bool_) if racing is None else racing
                        racing[present[bad]] = True
                    positions = self._position[name][at][bad]
                    self._report(
                        frame,
                        site,
                        at[bad],
                        us[bad],
                        them[bad],
                        positions,
                        verb,
                        when[bad],
                        reason,
                        kind=kind,
                    )
        return racing

    def _explicit(
        self, ordered: Flags, name: str, at: Numbers, us: Numbers, verb: str, how: int
    ) -> tuple[Flags, str]:
        """Return which accesses are ordered in the Vulkan memory model, and the reason if one is not.

        `ordered`: which accesses the earlier ones of record `name` happen before.
        Vulkan 1.4, "Location-Ordered".
        """
        them, when, was = self._who[name][at], self._when[name][at], self._how[name][at].astype(np.int64)
        private = ((was | how) & PRIVATE) != 0
        if private.any():
            return ordered & ~private, PRIVATE_ACCESS
        if name not in ("write", "atomic"):
            return ordered, ""
        level, order = self._order.common_level(them, us), self._order.kinds[self._kind]
        available = order.have_reached(order.available, them, when, was, level)
        if (ordered & ~available).any():
            return ordered & available, NOT_AVAILABLE
        if verb == "writes":
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
        frame: Accessor,
        site: Site,
        granule: Numbers,
        who: Numbers,
        other: Numbers,
        position: Numbers,
        verb: str,
        when: Numbers | None,
        reason: str = "",
        *,
        kind: str = "race",
    ) -> None:
        """Report races, one for each pair of instructions.

        `when`: times of the earlier accesses; None if both are of one instruction.
        `reason`: the end of the message, if it is known.
        """
        for there in np.unique(position).tolist():
            chosen = position == there
            us, them = who[chosen], other[chosen]
            message = (
                f"an invocation {verb} memory of {self._memory} that another one accesses unsynchronized"
            )
            if kind == "same_value":
                message = f"invocations write the same value to memory of {self._memory} unsynchronized"
            else:
                message += reason or self._reason(them, None if when is None else when[chosen], us)
            frame.machine.events.add(
                kind,
                site.position,
                us - frame.machine.first,
                np.ones(len(us), np.bool_),
                message,
                memory=self._memory,
                offset=granule[chosen] * self._granule,
                other_position=there,
                other=int(them[0]),
            )


def _shape(frame: Accessor, offset: Numbers) -> tuple[int, ...]:
    """Return the shape of the accesses at some offsets: (dims..., n)."""
    return np.broadcast_shapes(offset.shape, (len(frame.invocations),))
