"""Scopes and memory semantics of barriers, atomics and accesses (SPIR-V 3.26 to 3.28, "Memory Operands")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from vkgroup.reference.interpreter.program.site import MemoryOperands

INVOCATION, SUBGROUP, WORKGROUP, DEVICE = range(4)
"""Levels of scopes, from narrow to wide. CrossDevice, QueueFamily and ShaderCall are as wide as Device."""
SCOPE_NAMES = ("invocation", "subgroup", "workgroup", "device")

_LEVELS = {2: WORKGROUP, 3: SUBGROUP, 4: INVOCATION}
_ACQUIRE, _RELEASE = 0x2 | 0x8 | 0x10, 0x4 | 0x8 | 0x10
_MAKE_AVAILABLE, _MAKE_VISIBLE = 0x2000, 0x4000
_POINTER_AVAILABLE, _POINTER_VISIBLE, _NON_PRIVATE = 0x8, 0x10, 0x20
KINDS = {"buffer": 0x40, "workgroup": 0x100, "image": 0x800}
"""Kinds of memory, as `Memory.kind` names them, with their bits in memory semantics."""


def level_of(scope: int) -> int:
    """Return the level of a scope, by its number in SPIR-V."""
    return _LEVELS.get(scope, DEVICE)


@dataclass(frozen=True, slots=True)
class Semantics:
    """Memory semantics of a barrier or an atomic, with its memory scope."""

    level: int  # of the memory scope
    releases: bool
    acquires: bool
    kinds: frozenset[str]  # of memory that it orders; none without release or acquire
    available: bool  # whether it has MakeAvailable
    visible: bool  # whether it has MakeVisible


@cache
def semantics_of(scope: int, mask: int) -> Semantics:
    """Return the meaning of a memory scope and of memory semantics, by their numbers in SPIR-V."""
    releases, acquires = bool(mask & _RELEASE), bool(mask & _ACQUIRE)
    kinds = (kind for kind, bit in KINDS.items() if mask & bit and (releases or acquires))
    available, visible = bool(mask & _MAKE_AVAILABLE), bool(mask & _MAKE_VISIBLE)
    return Semantics(level_of(scope), releases, acquires, frozenset(kinds), available, visible)


PRIVATE = 4
"""Flag of a private access; the lower bits are the level that a write makes it available to."""


def written_as(operands: MemoryOperands) -> int:
    """Return `PRIVATE`, or the level that a write of the Vulkan memory model makes itself available to."""
    if not operands.mask & _NON_PRIVATE:
        return PRIVATE
    return level_of(operands.available) if operands.mask & _POINTER_AVAILABLE else INVOCATION


def read_as(operands: MemoryOperands) -> int:
    """Return `PRIVATE`, or the level from which a read of the Vulkan memory model makes writes visible."""
    if not operands.mask & _NON_PRIVATE:
        return PRIVATE
    return level_of(operands.visible) if operands.mask & _POINTER_VISIBLE else INVOCATION
