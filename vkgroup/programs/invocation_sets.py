"""Sets of invocations as whole numbers, a bit for each, and what is asked of all subgroups at once.

The invocations of a dispatch are bits of one number, those of a subgroup side by side (a *field*). Python
computes with such numbers of a few hundred bits in less time than NumPy needs to begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Fields:
    """Fields of equal width in a set.

    Attributes
    ----------
    width, count : bits of a field, and how many there are.
    """

    width: int
    count: int

    @cached_property
    def ones(self) -> int:
        """The lowest bit of each field."""
        return sum(1 << self.width * number for number in range(self.count))

    @cached_property
    def _tops(self) -> int:
        return self.ones << (self.width - 1)

    @cached_property
    def _rests(self) -> int:
        return self.ones * ((1 << self.width - 1) - 1)

    def inhabited(self, members: int) -> int:
        """Return the lowest bit of each field that has a member."""
        # A carry into the top bit says that one of the others is set.
        return (((members & self._rests) + self._rests | members) & self._tops) >> (self.width - 1)

    def whole(self, lowest: int) -> int:
        """Return all bits of the fields whose lowest bits are given."""
        return (lowest << self.width) - lowest

    def lowest(self, members: int) -> int:
        """Return the lowest member of each field."""
        return members & ~(members - self.inhabited(members))

    def with_any(self, members: int) -> int:
        """Return all bits of the fields that have a member."""
        return self.whole(self.inhabited(members))

    def repeat(self, pattern: int) -> int:
        """Return a pattern of one field in every field."""
        return (pattern & ((1 << self.width) - 1)) * self.ones


def to_set(flags: Flags) -> int:
    """Return the set of the bits that are True, (bits,)."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def to_flags(sets: list[int], bits: int) -> Flags:
    """Return sets as (len(sets), bits) flags."""
    stride = -(-bits // 8)
    data = b"".join(members.to_bytes(stride, "little") for members in sets)
    flags = np.unpackbits(np.frombuffer(data, np.uint8).reshape(len(sets), stride), axis=1, bitorder="little")
    return np.asarray(flags[:, :bits], np.bool_)


@dataclass(frozen=True)
class Layout:
    """Which invocation is which lane of which subgroup.

    Attributes
    ----------
    size : subgroup size.
    local : invocations of a workgroup.
    subgroup, lane : (invocations,) gl_SubgroupID and gl_SubgroupInvocationID, by the invocation's index in
        the dispatch.
    data : (invocations,) uint32, each invocation's word.
    """

    size: int
    local: int
    subgroup: Indices
    lane: Indices
    data: Words

    @cached_property
    def per_workgroup(self) -> int:
        """Fields that a workgroup has."""
        return int(self.subgroup.max()) + 1

    @cached_property
    def field(self) -> Indices:
        """The field of each invocation."""
        index = np.arange(len(self.lane))
        return np.asarray(index // self.local * self.per_workgroup + self.subgroup)

    @cached_property
    def position(self) -> Indices:
        """The bit of each invocation."""
        return np.asarray(self.field * self.size + self.lane)

    @property
    def workgroups(self) -> int:
        """Workgroups of the dispatch."""
        return len(self.lane) // self.local

    @cached_property
    def subgroups(self) -> Fields:
        """One field for each subgroup."""
        return Fields(self.size, self.workgroups * self.per_workgroup)

    @cached_property
    def whole_workgroups(self) -> Fields:
        """One field for each workgroup."""
        return Fields(self.size * self.per_workgroup, self.workgroups)

    @property
    def bits(self) -> int:
        """Bits of a set."""
        return self.subgroups.width * self.subgroups.count

    def having(self, flags: Flags) -> int:
        """Return the set of the invocations for which something is true, (invocations,)."""
        found = np.zeros(self.bits, np.bool_)
        found[self.position[flags]] = True
        return to_set(found)

    @cached_property
    def everybody(self) -> int:
        """All invocations that exist."""
        return self.having(np.ones(len(self.lane), np.bool_))


def linear(size: int, local: int, data: Words) -> Layout:
    """Return the layout that most devices have: subgroups of consecutive invocations."""
    index = np.arange(len(data)) % local
    return Layout(size, local, index // size, index % size, data)
