"""Sets of invocations as integers, and the subgroup and lane of each invocation.

A set of invocations is an integer with a bit for each. The bits of a subgroup are adjacent; they form a
*field*. Python computes with integers of a few hundred bits faster than a NumPy call returns.
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
    """Fields of equal width in a set."""

    width: int  # bits of a field
    count: int  # number of fields

    @cached_property
    def ones(self) -> int:
        """The lowest bit of each field."""
        return sum(1 << self.width * number for number in range(self.count))

    @cached_property
    def _top_bits(self) -> int:
        return self.ones << (self.width - 1)

    @cached_property
    def _other_bits(self) -> int:
        return self.ones * ((1 << self.width - 1) - 1)

    def nonempty(self, members: int) -> int:
        """Return the lowest bit of each field that has a member, as a set."""
        # The sum carries into the top bit if another bit is set.
        sums = (members & self._other_bits) + self._other_bits
        return ((sums | members) & self._top_bits) >> (self.width - 1)

    def whole(self, lowest: int) -> int:
        """Return all bits of the fields with these lowest bits."""
        return (lowest << self.width) - lowest

    def lowest(self, members: int) -> int:
        """Return the lowest member of each field."""
        return members & ~(members - self.nonempty(members))

    def with_any(self, members: int) -> int:
        """Return all bits of the fields that have a member."""
        return self.whole(self.nonempty(members))

    def repeat(self, pattern: int) -> int:
        """Return a pattern of one field in every field."""
        return (pattern & ((1 << self.width) - 1)) * self.ones


def to_set(flags: Flags) -> int:
    """Return the set of the indices of the flags that are True, (bits,)."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def to_flags(sets: list[int], bits: int) -> Flags:
    """Return sets as flags, (sets, bits)."""
    stride = -(-bits // 8)
    data = b"".join(members.to_bytes(stride, "little") for members in sets)
    flags = np.unpackbits(np.frombuffer(data, np.uint8).reshape(len(sets), stride), axis=1, bitorder="little")
    return np.asarray(flags[:, :bits], np.bool_)


@dataclass(frozen=True)
class LaneLayout:
    """Subgroup and lane of each invocation."""

    size: int  # subgroup size
    local: int  # invocations of a workgroup
    #: `subgroup`, `lane`: (invocations,) gl_SubgroupID and gl_SubgroupInvocationID, by the invocation's index
    #: in the dispatch.
    subgroup: Indices
    lane: Indices
    data: Words  # (invocations,) uint32, data word of each invocation

    @cached_property
    def per_workgroup(self) -> int:
        """Number of fields of a workgroup."""
        return int(self.subgroup.max()) + 1

    @cached_property
    def field(self) -> Indices:
        """Number of the field of each invocation."""
        index = np.arange(len(self.lane))
        return np.asarray(index // self.local * self.per_workgroup + self.subgroup)

    @cached_property
    def position(self) -> Indices:
        """Index of each invocation's bit."""
        return np.asarray(self.field * self.size + self.lane)

    @property
    def workgroups(self) -> int:
        """Number of workgroups of the dispatch."""
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
        """Number of bits of a set."""
        return self.subgroups.width * self.subgroups.count

    def set_of(self, flags: Flags) -> int:
        """Return the set of the invocations whose flag is True, (invocations,)."""
        members = np.zeros(self.bits, np.bool_)
        members[self.position[flags]] = True
        return to_set(members)

    @cached_property
    def all_invocations(self) -> int:
        """Set of all invocations of the dispatch."""
        return self.set_of(np.ones(len(self.lane), np.bool_))


def linear(size: int, local: int, data: Words) -> LaneLayout:
    """Return the layout of most devices: subgroups of consecutive invocations."""
    index = np.arange(len(data)) % local
    return LaneLayout(size, local, index // size, index % size, data)
