"""Messages of data races: what is missing between two accesses."""

from __future__ import annotations

from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.memory_semantics import KINDS, SCOPE_NAMES

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
    released, acquired = order.gap(kind, earlier, when, later)
    place = "after it" if released else "before it" if acquired else "before and after it"
    memory = _MEMORIES[kind]
    return f"; the barrier() between them does not order accesses to {memory}: add {_FENCES[kind]} {place}"


def missing_release(order: Order, kind: str, earlier: int, when: int, later: int, level: int) -> str:
    """Return the reason of a race between accesses with a release and an acquire between them, or "".

    `level`: of the narrowest scope that contains both invocations.
    """
    others = int(order.last_release[earlier]), int(order.last_acquire[later])
    operations = {}
    for name, own, other in zip(
        ("release", "acquire"), order.last(kind, earlier, later), others, strict=True
    ):
        if own >> 5 >= when:
            operations[name] = own & 3
        elif other >> 5 >= when:
            kinds = [_MEMORIES[named] for number, named in enumerate(KINDS) if other >> 2 >> number & 1]
            return (
                f"; the {name} names {' and '.join(kinds) or 'no memory'}, the access is to {_MEMORIES[kind]}"
            )
    for name, reached in operations.items():
        scope = SCOPE_NAMES[reached]
        if reached < level:
            return f"; the {name} has {scope} scope, but the other invocation is in another {scope}"
    if len(operations) == 2:
        return "; the acquire does not read an atomic that the release writes"
    if operations:
        (name,) = operations
        lacking = "the other invocation acquires" if name == "release" else "the other invocation releases"
        return f"; there is {'a' if name == 'release' else 'an'} {name}, but nothing that {lacking}"
    return ""
