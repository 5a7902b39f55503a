"""Changes of SPIR-V modules that make them wrong: what a compiler or a GPU that goes wrong would do."""

from __future__ import annotations

from collections.abc import Callable

from mutants.rewriting import Words, boolean_constant, editor_of, rewritten

Change = Callable[[bytes], bytes]
"""Module → the module with an error in it, both as bytes."""

# Opcodes (SPIR-V, "Instructions").
ELECT, ALL, ANY, ALL_EQUAL, BROADCAST, BROADCAST_FIRST, BALLOT, INVERSE, EXTRACT, COUNT, LSB, MSB = range(
    333, 345
)
SHUFFLE, SHUFFLE_XOR, SHUFFLE_UP, SHUFFLE_DOWN, IADD, FADD, IMUL, FMUL = range(345, 353)
SMIN, UMIN, FMIN, SMAX, UMAX, FMAX, AND, OR, XOR, LAND, LOR, LXOR, QUAD_BROADCAST, QUAD_SWAP = range(353, 367)
PARTITION, ROTATE = 5296, 4431
CAPABILITY, TYPE_INT, TYPE_VECTOR, CONSTANT, COMPOSITE, SPEC_CONSTANT = 17, 21, 23, 43, 44, 50
LOAD, STORE, DECORATE, COMPOSITE_EXTRACT, COPY_OBJECT, IMAGE_WRITE = 61, 62, 71, 81, 83, 99
CONTROL_BARRIER, MEMORY_BARRIER = 224, 225
ATOMIC_EXCHANGE, ATOMIC_COMPARE_EXCHANGE, ATOMIC_IADD = 229, 230, 234
ATOMIC_SMIN, ATOMIC_UMIN, ATOMIC_SMAX, ATOMIC_UMAX, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR = range(236, 243)

# Group operations (SPIR-V, "Group Operation"), and the instructions that have one.
REDUCE, INCLUSIVE, EXCLUSIVE, CLUSTERED = range(4)
PARTITIONED_REDUCE, PARTITIONED_INCLUSIVE, PARTITIONED_EXCLUSIVE = range(6, 9)
ARITHMETIC = range(IADD, LXOR + 1)
GROUP_OPERATIONS = {COUNT, *ARITHMETIC}

# Built-in variables (SPIR-V, "BuiltIn") and the decoration that names one.
BUILT_IN = 11
NUM_WORKGROUPS, WORKGROUP_ID, LOCAL_ID, GLOBAL_ID, LOCAL_INDEX = 24, 26, 27, 28, 29
SUBGROUP_SIZE, NUM_SUBGROUPS, SUBGROUP_ID, LANE = 36, 38, 40, 41
EQ, GE, GT, LE, LT = range(4416, 4421)

# Index of an operand in `Words` of an instruction that has a result: opcode, type, result, and then these.
SCOPE, VALUE, THIRD, FOURTH = 3, 4, 5, 6


def another_opcode(old: int, new: int, data: bytes) -> bytes:
    """Replace an instruction by another with the same operands."""
    return rewritten(data, lambda i: [[new, *i[1:]]] if i[0] == old else [i])


def without(opcode: int, data: bytes) -> bytes:
    """Remove every instruction of an opcode."""
    return rewritten(data, lambda i: [] if i[0] == opcode else [i])


def another_group_operation(old: int, new: int, data: bytes) -> bytes:
    """Replace a group operation by another with the same operands, such as a reduction by a scan."""

    def rewrite(i: Words) -> list[Words]:
        return [[*i[:VALUE], new, *i[THIRD:]]] if i[0] in GROUP_OPERATIONS and i[VALUE] == old else [i]

    return rewritten(data, rewrite)


def another_constant(opcode: int, operand: int, change: Callable[[int], int], data: bytes) -> bytes:
    """Replace an operand that is a uint constant by another constant.

    Parameters
    ----------
    operand : index in `Words`.
    change : old value → new value.
    """
    editor = editor_of(data)
    uint = editor.integer()
    body = []
    for words in editor.instructions:
        if words[0] & 0xFFFF == opcode and len(words) > operand:
            name, definition = editor.definition(words[operand])
            if name == "OpConstant" and definition[1] == uint:
                constant = editor.constant(uint, change(definition[3]))
                words = [*words[:operand], constant, *words[operand + 1 :]]
        body.append(words)
    return editor.joined(body).to_bytes()


def own_value(opcode: int, data: bytes) -> bytes:
    """Replace an operation by a copy of the lane's own value."""
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], i[VALUE]]] if i[0] == opcode else [i])


def always(opcode: int, value: bool, data: bytes) -> bytes:
    """Replace an operation that returns a Boolean by a constant."""
    data, constant = boolean_constant(data, value)
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], constant]] if i[0] == opcode else [i])


def ballot_of(value: bool, data: bytes) -> bytes:
    """Replace the predicate of every ballot by a constant."""
    data, constant = boolean_constant(data, value)
    return rewritten(data, lambda i: [[*i[:VALUE], constant]] if i[0] == BALLOT else [i])


def swapped_builtins(one: int, other: int, data: bytes) -> bytes:
    """Exchange two built-in variables."""
    swapped = {one: other, other: one}

    def rewrite(i: Words) -> list[Words]:
        return [[*i[:3], swapped.get(i[3], i[3])]] if i[0] == DECORATE and i[2] == BUILT_IN else [i]

    return rewritten(data, rewrite)
