"""Cases of the memory model: tests, kinds of synchronisation, scopes and memories; their names.

The cases cover what the groups `message_passing`, `write_after_read` and `transitive` of Khronos'
``dEQP-VK.memory_model`` combine; `vkgroup.conformance.khronos_groups` maps the names.
"""

from __future__ import annotations

from typing import NamedTuple

from vkgroup.conformance.family import TableCase, table
from vkgroup.conformance.recording import STAGES

TESTS = {
    "message_passing": "an invocation that sees the guard of another one sees its payload",
    "write_after_read": "an invocation that sees the guard of another one no longer changes what was read",
    "transitive": "an invocation that sees the guard of another workgroup sees all its payloads",
}
"""Tests, and what they require."""

MODELS = {"vulkan": "the Vulkan memory model", "glsl450": "the memory model GLSL450"}
COHERENCES = {
    "coherent": "coherent variables",
    "noncoherent": "nonprivate variables, made available and visible by semantics",
}
CONTROL = {
    "control_barrier": "a control barrier that releases and acquires",
    "control_and_memory_barrier": "a control barrier between two memory barriers",
}
"""Synchronisation in which all invocations wait; there is no guard."""

GUARDED = {
    "fence_fence": "memory barriers before the guard's store and after its load",
    "fence_atomic": "a memory barrier before the guard's store, and an acquiring load",
    "atomic_fence": "a releasing store of the guard, and a memory barrier after its load",
    "atomic_atomic": "a releasing store and an acquiring load of the guard",
}
"""Synchronisation by an atomic guard: on the side of the store, and on that of the load."""

WRITES = {"store": "atomicStore and atomicLoad", "exchange": "atomicExchange"}
SCOPES = {
    "subgroup": "lanes of one subgroup",
    "workgroup": "invocations of one workgroup",
    "queue_family": "invocations of one dispatch or draw, at the scope of the queue family",
    "device": "invocations of one dispatch or draw, at the scope of the device",
}
"""Scopes, and the two invocations that synchronise."""

WITHIN = ("subgroup", "workgroup")
"""Scopes whose invocations share a workgroup's memory and barriers."""

MEMORIES = {
    "buffer": "a buffer",
    "image": "an image",
    "shared": "shared memory",
    "address": "a buffer that is accessed by its address",
}
TYPES = ("uint", "uint64_t", "float", "double")

ACQUIRED = {
    "every": "every invocation loads the guard",
    "first": "one invocation loads the guard, and a barrier of the workgroup follows",
}
"""Who acquires in the test `transitive`."""


class SynchronisationAxes(NamedTuple):
    """Axes of a case, each a key of a table of this module."""

    stage: str
    test: str
    type: str  # of payload and guard; in images, uint for integers and float for floats
    model: str
    coherence: str  # of the payload
    sync: str
    write: str  # how the guard is accessed; "" without a guard, and in `transitive`
    scope: str
    payload: str
    guard: str  # memory of the guard; "" without a guard
    acquired: str  # key of `ACQUIRED`; "" except in `transitive`

    @property
    def is_vulkan(self) -> bool:
        """Whether the shader declares the Vulkan memory model."""
        return self.model == "vulkan"

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories of payload and guard."""
        return tuple(filter(None, (self.payload, self.guard)))

    @property
    def within(self) -> bool:
        """Whether the two invocations belong to one workgroup."""
        return self.scope in WITHIN or "shared" in self.memories


SynchronisationCase = TableCase[SynchronisationAxes]


def is_combined(axes: SynchronisationAxes) -> bool:
    """Return whether there is a case with these axes."""
    stage, test, type_, model, coherence, sync, write, scope, _, guard, acquired = axes
    memories = axes.memories
    control = sync in CONTROL
    if bool(guard) is control or bool(acquired) is not (test == "transitive"):
        return False
    if test == "transitive":
        plain = (stage, type_, model, write, scope) == ("compute", "uint", "vulkan", "", "device")
        return plain and not control and "shared" not in memories
    return (
        bool(write) is not control
        # Variables of GLSL450 are coherent; there atomics release and acquire nothing, and there is no scope
        # of the queue family. Addresses have no coherent memory there.
        and (
            axes.is_vulkan
            or (
                coherence == "coherent"
                and (control or sync == "fence_fence")
                and type_ in ("uint", "float")
                and scope != "queue_family"
                and "address" not in memories
            )
        )
        and (stage == "compute" or (scope != "workgroup" and "shared" not in memories and not control))
        and (scope in WITHIN or not control)
        # Types other than uint test their atomics.
        and (sync == "atomic_atomic" or (type_ == "uint" and write != "exchange"))
        and not (type_ == "uint64_t" and memories == ("image", "image"))
        and not (type_ == "double" and "image" in memories)
    )


def _sentence(axes: SynchronisationAxes) -> str:
    how = (CONTROL | GUARDED)[axes.sync]
    by = f" ({WRITES[axes.write]})" if axes.write else ""
    guard = f", guard in {MEMORIES[axes.guard]}" if axes.guard else ""
    who = f"; {ACQUIRED[axes.acquired]}" if axes.acquired else ""
    return (
        f"In {axes.stage} shaders, between {SCOPES[axes.scope]}, {TESTS[axes.test]}: {how}{by}, "
        f"{MODELS[axes.model]}, {COHERENCES[axes.coherence]}, {axes.type} in {MEMORIES[axes.payload]}{guard}"
        f"{who}."
    )


cases = table(
    "memory_model",
    SynchronisationAxes,
    _sentence,
    is_combined,
    stage=STAGES,
    test=TESTS,
    type=TYPES,
    model=MODELS,
    coherence=COHERENCES,
    sync=GUARDED | CONTROL,
    write=lambda *axes: ("",) if axes[1] == "transitive" or axes[-1] in CONTROL else WRITES,
    scope=SCOPES,
    payload=MEMORIES,
    guard=lambda *axes: ("",) if axes[5] in CONTROL else MEMORIES,
    acquired=lambda *axes: ACQUIRED if axes[1] == "transitive" else ("",),
)
