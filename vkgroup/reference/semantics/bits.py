"""Ballots as one bit for each lane: KHR_shader_subgroup, section 3.8, "uvec4 as used in".

Lane 0 is bit 0 of the first component, lane 32 is bit 0 of the second. Bits from gl_SubgroupSize on are
ignored in ballots that are read and zero in ballots that are written.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import Flags, Words

_BYTES = 16  # of a uvec4


def pack(bit: Flags) -> Words:
    """Return the ballots of `bit` (subgroups, size): (subgroups, 4)."""
    octets = np.zeros((len(bit), _BYTES), dtype=np.uint8)
    packed = np.packbits(bit, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u4").astype(np.uint32, copy=False)


def unpack(ballot: Words, size: int) -> Flags:
    """Return the bits of `ballot` (subgroups, size, 4) that stand for lanes: (subgroups, size, size)."""
    octets = np.ascontiguousarray(ballot, dtype="<u4").view(np.uint8)
    return np.unpackbits(octets, axis=2, count=size, bitorder="little").view(np.bool_)
