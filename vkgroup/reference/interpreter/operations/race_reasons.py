"""Reasons of races in words: barriers, releases and acquires that are missing or do not reach far enough."""

from __future__ import annotations

from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.memory_semantics import SCOPE_NAMES, WORKGROUP

_MEMORIES = {"buffer": "buffers", "image": "images", "workgroup": "shared memory"}
_FENCES = {
    "buffer": "memoryBarrierBuffer()",
    "image": "memoryBarrierImage()",
    "workgroup": "memoryBarrierShared()",
}

PRIVATE_ACCESS = (
    "; one of them is private, as accesses of the Vulkan memory model are unless the variable is declared"
    " coherent, workgroupcoherent or the like"
)
NOT_AVAILABLE = "; the write is not made available to the scope of the other access"
NOT_VISIBLE = "; the write is available, but not made visible to the other access"


def narrow_atomic(level: int) -> str:
    """Return the reason of a race between atomics of which one has a scope of this level."""
    name = SCOPE_NAMES[level]
    return f"; an atomic of {name} scope is only atomic within its {name}"


def missing_barrier(order: Order, kind: str, earlier: int, when: int, later: int) -> str:
    """Return the reason of a race between accesses with a barrier() between them."""
    of_kind = order.kinds[kind]
    released, acquired = of_kind.offered[WORKGROUP][earlier] > when, of_kind.acquired[WORKGROUP][later] > when
    place = "after it" if released else "before it" if acquired else "before and after it"
    memory = _MEMORIES[kind]
    return f"; the barrier() between them does not order accesses to {memory}: add {_FENCES[kind]} {place}"


def missing_release(order: Order, kind: str, earlier: int, when: int, later: int, level: int) -> str:
    """Return the reason of a race between accesses with a release and an acquire between them, or "".

    `level`: of the narrowest scope that contains both invocations.
    """
    last = {
        "release": {named: int(of_kind.last_release[earlier]) for named, of_kind in order.kinds.items()},
        "acquire": {named: int(of_kind.last_acquire[later]) for named, of_kind in order.kinds.items()},
    }
    operations = {}
    for name, of_kinds in last.items():
        named = [other for other, operation in of_kinds.items() if operation >> 2 >= when]
        if kind in named:
            operations[name] = of_kinds[kind] & 3
        elif named:
            kinds = " and ".join(_MEMORIES[other] for other in named)
            return f"; the {name} names {kinds}, the access is to {_MEMORIES[kind]}"
    for name, reached in operations.items():
        scope = SCOPE_NAMES[reached]
        if reached < level:
            return f"; the {name} has {scope} scope, but the other invocation is in another {scope}"
    if len(operations) == 2:
        return "; the acquire does not read an atomic that the release writes"
    if "release" in operations:
        return "; the other invocation releases it, but this one does not acquire it"
    return "; this invocation acquires, but the other one releases nothing" if operations else ""
