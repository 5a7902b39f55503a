"""Features that the atomic instructions of a module need, by type and kind of memory.

A capability such as AtomicFloat32AddEXT is allowed if the device has the feature for any kind of memory. Each
instruction needs the feature for its own kind (Vulkan 1.4, appendix A, "Runtime SPIR-V Validation").
"""

from __future__ import annotations

from functools import cache

import numpy as np

from vkgroup.spirv.binary import Instruction
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.reflection import Module

_MEMORIES = {
    **dict.fromkeys(("StorageBuffer", "PhysicalStorageBuffer", "Uniform"), "Buffer"),
    "Workgroup": "Shared",
    "Image": "Image",
}
"""Words in the names of features, by storage class."""

_OPERATIONS = {
    "OpAtomicFAddEXT": "AtomicAdd",
    "OpAtomicFMinEXT": "AtomicMinMax",
    "OpAtomicFMaxEXT": "AtomicMinMax",
}
"""Words in the names of features of floats; ``"Atomics"`` for loads, stores and exchanges."""


def features_of_atomics(module: Module) -> list[str]:
    """Return the features that the atomic instructions of a module need, sorted.

    32-bit integers need none.
    """
    opcodes = module.words[module.instruction_starts] & 0xFFFF
    if _codes().isdisjoint(np.unique(opcodes).tolist()):
        return []
    types = {entry.result_id: entry.result_type for entry in module.instructions if entry.result_type}
    declared = {entry.result_id: entry for entry in module.instructions if entry.name.startswith("OpType")}
    found = set()
    for entry in module.instructions:
        if entry.opcode in _codes():
            pointer = declared.get(types.get(entry.operands[0], 0))
            if pointer is not None and pointer.name == "OpTypePointer":
                storage = grammar().enumerant("StorageClass", pointer.operands[0])
                found.add(_feature(entry, _MEMORIES.get(storage, ""), declared.get(pointer.operands[1])))
    return sorted(found - {""})


@cache
def _codes() -> frozenset[int]:
    return frozenset(code for name, code in grammar().opcodes.items() if name.startswith("OpAtomic"))


def _feature(entry: Instruction, memory: str, kind: Instruction | None) -> str:
    """Return the feature of an instruction on a type in a kind of memory; "" if it needs none."""
    if not memory or kind is None:
        return ""
    if kind.name == "OpTypeFloat":
        return f"shader{memory}Float{kind.operands[0]}{_OPERATIONS.get(entry.name, 'Atomics')}"
    if kind.name == "OpTypeInt" and kind.operands[0] == 64:
        return f"shader{memory}Int64Atomics"
    return ""
