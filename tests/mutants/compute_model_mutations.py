"""Errors in barriers, atomics and built-in variables that the compute model cases must catch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mutants.changes import (
    ATOMIC_AND,
    ATOMIC_EXCHANGE,
    ATOMIC_IADD,
    ATOMIC_OR,
    ATOMIC_SMAX,
    ATOMIC_SMIN,
    ATOMIC_UMAX,
    ATOMIC_UMIN,
    ATOMIC_XOR,
    CONTROL_BARRIER,
    GLOBAL_ID,
    IMAGE_WRITE,
    LOAD,
    LOCAL_ID,
    MEMORY_BARRIER,
    NUM_WORKGROUPS,
    STORE,
    WORKGROUP_ID,
    Change,
    another_opcode,
    swapped_builtins,
    without,
)
from mutants.rewriting import Words, assemble, instructions, rewritten

_WRITES = (STORE, IMAGE_WRITE, ATOMIC_EXCHANGE)
_TERMINATORS = (249, 250, 253)
_MERGES = (246, 247)


def _late_first_accesses(data: bytes) -> bytes:
    """Remove the first memory barrier of each block, and move the access before it to the end of the block.

    A missing barrier permits that, and it has an effect even if a whole subgroup advances together.
    """
    out: list[Words] = []
    held: list[Words] = []
    for i in instructions(data):
        if i[0] == MEMORY_BARRIER and not held and out:
            # A store, or a load of whatever kind and the store of its result.
            count = 2 if out[-1][0] == STORE and out[-2][0] == ATOMIC_OR else 1
            held, out = out[-count:], out[:-count]
            assert held[0][0] in (*_WRITES, ATOMIC_OR)
            continue
        if i[0] in _TERMINATORS or i[0] in _MERGES:
            out += held
            held = []
        out.append(i)
    return assemble(data[:20], out)


def _without_barriers_of_the_workgroup_but(kept: int, data: bytes) -> bytes:
    """Remove all barriers of the workgroup except every `kept`-th."""
    seen = 0
    out = []
    for i in instructions(data):
        if i[0] == CONTROL_BARRIER:
            seen += 1
            if seen % kept:
                continue
        out.append(i)
    return assemble(data[:20], out)


def _not_atomic(opcode: int, combine: int, data: bytes) -> bytes:
    """Replace an atomic read-modify-write by a load, an operation and a store."""
    bound = int.from_bytes(data[12:16], "little")

    def rewrite(i: Words) -> list[Words]:
        nonlocal bound
        if i[0] != opcode:
            return [i]
        _, type_, result, pointer, _, _, value = i
        bound += 1
        return [
            [LOAD, type_, result, pointer],
            [combine, type_, bound - 1, result, value],
            [STORE, pointer, bound - 1],
        ]

    changed = rewritten(data, rewrite)
    return changed[:12] + bound.to_bytes(4, "little") + changed[16:]


@dataclass(frozen=True)
class ModelMutation:
    """One planted error, and a glob of cases of which some must catch it."""

    name: str
    cases: str
    mutate: Change


INTEGER_ADD = 128
"""SPIR-V: OpIAdd."""

_ORDERED = (
    "message_passing",
    "store_buffering",
    "load_buffering",
    "store_order",
    "read_order",
    "two_plus_two_writes",
)

_BARRIERS = {
    "shared": "memoryBarrierShared",
    "buffer": "memoryBarrierBuffer",
    "image": "memoryBarrierImage",
    "shared_buffer": "groupMemoryBarrier",
    "image_buffer": "memoryBarrier",
}

MODEL_MUTATIONS = (
    *(
        ModelMutation(
            f"the barrier is dropped and the first access comes late ({test}, {flavour}, {memory})",
            f"compute_model.litmus.{test}.{flavour}.{memory}.{barrier}.*",
            _late_first_accesses,
        )
        for test in _ORDERED
        for memory, barrier in _BARRIERS.items()
        if test == "message_passing" or "_" not in memory
        for flavour in (
            ("atomic", "coherent") if test == "message_passing" and "_" not in memory else ("atomic",)
        )
    ),
    ModelMutation(
        "barrier() does not wait",
        "compute_model.shared.exchange.*.uint.main.*",
        partial(without, CONTROL_BARRIER),
    ),
    ModelMutation(
        "barrier() in functions and branches does not wait",
        "compute_model.shared.exchange.rotate.vec3.*",
        partial(without, CONTROL_BARRIER),
    ),
    ModelMutation(
        "every other barrier() does not wait",
        "compute_model.shared.many_rounds",
        partial(_without_barriers_of_the_workgroup_but, 2),
    ),
    ModelMutation(
        "a tree without barriers", "compute_model.shared.tree.128", partial(without, CONTROL_BARRIER)
    ),
    ModelMutation(
        "barrier() does not wait, buffers coherent or not",
        "compute_model.coherence.exchange.*",
        partial(without, CONTROL_BARRIER),
    ),
    ModelMutation(
        "stores get lost", "compute_model.coherence.own_stores.image.*", partial(without, IMAGE_WRITE)
    ),
    ModelMutation(
        "stores of images get lost between dispatches",
        "compute_model.dispatches.swapped_images",
        partial(without, IMAGE_WRITE),
    ),
    ModelMutation(
        "the workgroup's number is the local one",
        "compute_model.builtins.*.8x8x1.5x7_groups",
        partial(swapped_builtins, WORKGROUP_ID, LOCAL_ID),
    ),
    ModelMutation(
        "the numbers of workgroups are the global id",
        "compute_model.builtins.*.3x5x7.3x4x5_groups",
        partial(swapped_builtins, NUM_WORKGROUPS, GLOBAL_ID),
    ),
    ModelMutation(
        "the local id is the global one",
        "compute_model.builtins.gl_LocalInvocationID.7x1x1.13_groups",
        partial(swapped_builtins, LOCAL_ID, GLOBAL_ID),
    ),
    ModelMutation(
        "adding is setting bits",
        "compute_model.atomics.atomicAdd.*",
        partial(another_opcode, ATOMIC_IADD, ATOMIC_OR),
    ),
    ModelMutation(
        "the unsigned least is the signed one",
        "compute_model.atomics.atomicMin.*.uint.*",
        partial(another_opcode, ATOMIC_UMIN, ATOMIC_SMIN),
    ),
    ModelMutation(
        "the signed greatest is the unsigned one",
        "compute_model.atomics.atomicMax.*.int.*",
        partial(another_opcode, ATOMIC_SMAX, ATOMIC_UMAX),
    ),
    ModelMutation(
        "And is Xor", "compute_model.atomics.atomicAnd.*", partial(another_opcode, ATOMIC_AND, ATOMIC_XOR)
    ),
    ModelMutation(
        "Or is And", "compute_model.atomics.atomicOr.*", partial(another_opcode, ATOMIC_OR, ATOMIC_AND)
    ),
    ModelMutation(
        "Xor is Or, where all bits were clear it is the same",
        "compute_model.atomics.atomicXor.*",
        partial(another_opcode, ATOMIC_XOR, ATOMIC_OR),
    ),
    ModelMutation(
        "Exchange adds",
        "compute_model.atomics.atomicExchange.*",
        partial(another_opcode, ATOMIC_EXCHANGE, ATOMIC_IADD),
    ),
    ModelMutation(
        "additions in shared memory are not atomic",
        "compute_model.atomics.atomicAdd.shared.*",
        partial(_not_atomic, ATOMIC_IADD, INTEGER_ADD),
    ),
)
"""All planted errors."""
