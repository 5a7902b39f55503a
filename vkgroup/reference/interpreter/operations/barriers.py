"""Barriers: the invocations that must reach them, and the accesses that they order."""

from __future__ import annotations

from vkgroup.reference.interpreter.operations.state import Frame, Step
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site

_ACQUIRE, _RELEASE = 0x2 | 0x8 | 0x10, 0x4 | 0x8 | 0x10
_KINDS = {"buffer": 0x40, "workgroup": 0x100, "image": 0x800}
_SUBGROUP = 3
_BEYOND_THE_WORKGROUP = (0, 1, 5)
"""Scopes CrossDevice, Device and QueueFamily (SPIR-V 3.27)."""


def kinds_of(semantics: int) -> frozenset[str]:
    """Return the kinds of memory that memory semantics order; none without acquire or release."""
    if not semantics & (_ACQUIRE | _RELEASE):
        return frozenset()
    return frozenset(kind for kind, bit in _KINDS.items() if semantics & bit)


def control_barrier(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of OpControlBarrier."""
    execution, memory, semantics = site.scopes
    kinds = kinds_of(semantics)
    release, acquire = released_and_acquired(semantics)

    def barrier(frame: Frame) -> None:
        machine = frame.machine
        if execution != _SUBGROUP:
            machine.check_barrier(frame, site)
        order = machine.order
        if order is None:
            return
        if execution == _SUBGROUP:
            order.subgroup_barrier(frame, kinds)
        else:
            order.workgroup_barrier(frame, kinds)
        if memory in _BEYOND_THE_WORKGROUP and kinds:
            # It is also a memory barrier (Vulkan Memory Model, "Synchronizes-With").
            order.fence(frame, kinds, acquire=acquire, release=release)

    return barrier


def memory_barrier(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of OpMemoryBarrier."""
    _, semantics = site.scopes
    kinds = kinds_of(semantics)
    release, acquire = released_and_acquired(semantics)

    def barrier(frame: Frame) -> None:
        order = frame.machine.order
        if order is not None:
            order.fence(frame, kinds, acquire=acquire, release=release)

    return barrier


def released_and_acquired(semantics: int) -> tuple[bool, bool]:
    """Return whether the memory semantics of an atomic or a memory barrier release, and acquire."""
    return bool(semantics & _RELEASE), bool(semantics & _ACQUIRE)


BARRIERS = {
    "OpControlBarrier": control_barrier,
    "OpMemoryBarrier": memory_barrier,
}
"""By name: the factory of a step."""
