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


def _has_its_parts(axes: SynchronisationAxes) -> bool:
    """A guard, and how it is accessed, belong to synchronisation without a control barrier."""
    is_transitive, has_guard = axes.test == "transitive", axes.sync not in CONTROL
    is_written = has_guard and not is_transitive
    return (bool(axes.guard), bool(axes.write), bool(axes.acquired)) == (has_guard, is_written, is_transitive)


def _fits_transitivity(axes: SynchronisationAxes) -> bool:
    """Chains of scopes are tested with one type, in one stage, in memory that both workgroups access."""
    if axes.test != "transitive":
        return True
    plain = (axes.stage, axes.type, axes.model, axes.scope) == ("compute", "uint", "vulkan", "device")
    return plain and axes.sync not in CONTROL and "shared" not in axes.memories


def _fits_model(axes: SynchronisationAxes) -> bool:
    """In GLSL450, variables are coherent, atomics release and acquire nothing, and scopes are fewer."""
    return axes.is_vulkan or (
        axes.coherence == "coherent"
        and axes.sync in {*CONTROL, "fence_fence"}
        and axes.type in ("uint", "float")
        and axes.scope != "queue_family"
        # Buffers by their address have no coherent memory there.
        and "address" not in axes.memories
    )


def _fits_stage(axes: SynchronisationAxes) -> bool:
    """Only compute shaders have workgroups, shared memory and control barriers."""
    of_workgroups = axes.scope == "workgroup" or "shared" in axes.memories or axes.sync in CONTROL
    return axes.stage == "compute" or not of_workgroups


def _fits_scope(axes: SynchronisationAxes) -> bool:
    """A control barrier waits for invocations of one workgroup."""
    return axes.scope in WITHIN or axes.sync not in CONTROL


def _fits_type(axes: SynchronisationAxes) -> bool:
    """Types other than uint, and exchanges, test atomics; images lack some types."""
    is_plain = axes.type == "uint" and axes.write != "exchange"
    lacks_images = (axes.type == "double" and "image" in axes.memories) or (
        axes.type == "uint64_t" and axes.memories == ("image", "image")
    )
    return not lacks_images and (is_plain or axes.sync == "atomic_atomic")


_RULES = (_has_its_parts, _fits_transitivity, _fits_model, _fits_stage, _fits_scope, _fits_type)


def is_combined(axes: SynchronisationAxes) -> bool:
    """Return whether there is a case with these axes."""
    return all(rule(axes) for rule in _RULES)


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
    write=lambda stage, test, type_, model, coherence, sync: (
        ("",) if test == "transitive" or sync in CONTROL else WRITES
    ),
    scope=SCOPES,
    payload=MEMORIES,
    guard=lambda stage, test, type_, model, coherence, sync, *others: ("",) if sync in CONTROL else MEMORIES,
    acquired=lambda stage, test, *others: ACQUIRED if test == "transitive" else ("",),
)
