"""Vectors of eight components (SPV_EXT_long_vector), written around a compiler without them.

GL_EXT_spirv_intrinsics names SPIR-V's types and instructions in GLSL: a vector type of eight components, the
instructions that make one and take it apart, and each group operation on it, from the operation's own row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vkgroup.reference.operations import OperandKind, Operation
from vkgroup.reference.types import GlslType
from vkgroup.spirv import grammar

EXTENSION = "SPV_EXT_long_vector"
CAPABILITY = 5425
"""LongVectorEXT."""

_TYPE_VECTOR, _CONSTRUCT, _EXTRACT = 23, 80, 81
_SUBGROUP = 3

_CAPABILITIES = {
    "vote": "GroupNonUniformVote",
    "arithmetic": "GroupNonUniformArithmetic",
    "ballot": "GroupNonUniformBallot",
    "shuffle": "GroupNonUniformShuffle",
    "shuffle_relative": "GroupNonUniformShuffleRelative",
    "clustered": "GroupNonUniformClustered",
    "quad": "GroupNonUniformQuad",
    "partitioned": "GroupNonUniformPartitionedNV",
    "rotate": "GroupNonUniformRotateKHR",
    "rotate_clustered": "GroupNonUniformRotateKHR",
}
"""By category: the capability of its instructions."""

_EXTENSIONS = {
    "partitioned": "SPV_NV_shader_subgroup_partitioned",
    "rotate": "SPV_KHR_subgroup_rotate",
    "rotate_clustered": "SPV_KHR_subgroup_rotate",
}
"""By category: the extension of those that SPIR-V itself has not."""

_MOST = 4


def is_long(type_: GlslType) -> bool:
    """Whether a type has more components than GLSL's own vectors."""
    return type_.components > _MOST


def constructor(type_: GlslType) -> str:
    """Return what makes a value of its components, in GLSL."""
    return f"make_{type_.name}" if is_long(type_) else type_.name


def component(type_: GlslType, value: str, index: int) -> str:
    """Return a component of a value, in GLSL."""
    if type_.components == 1:
        return value
    return f"get_{type_.name}_at({value}, {index}u)" if is_long(type_) else f"{value}.{'xyzw'[index]}"


def putter(type_: GlslType) -> str:
    """Return what records a value, in GLSL: the compiler takes all long vectors for one type."""
    return f"put_{type_.name}" if is_long(type_) else "put"


def function(operation: Operation, type_: GlslType) -> str:
    """Return the name of an operation's function on a long vector."""
    return f"{operation.name}_{type_.name}" if is_long(type_) else operation.name


def takes(operation: Operation) -> bool:
    """Whether an operation takes a value of any type."""
    return bool(operation.operands) and operation.operands[0].kind is OperandKind.VALUE


def declarations(uses: Iterable[tuple[Operation, GlslType]]) -> list[str]:
    """Return the declarations of long vectors' types, their parts, and operations on them."""
    uses = list(dict.fromkeys(uses))
    types = dict.fromkeys(type_ for _, type_ in uses)
    lines = [line for type_ in types for line in _type(type_)]
    return lines + [line for operation, type_ in uses for line in _operation(operation, type_)]


def _type(type_: GlslType) -> list[str]:
    scalar, name = type_.scalar.name, type_.name
    parts = ", ".join(f"{scalar} c{index}" for index in range(type_.components))
    return [
        f'#define {name} spirv_type(extensions = ["{EXTENSION}"], capabilities = [{CAPABILITY}], '
        f"id = {_TYPE_VECTOR}, {scalar}, {type_.components})",
        f"spirv_instruction(id = {_CONSTRUCT}) {name} make_{name}({parts});",
        f"spirv_instruction(id = {_EXTRACT}) {scalar} get_{name}_at({name} v, spirv_literal uint index);",
    ]


def _operation(operation: Operation, type_: GlslType) -> list[str]:
    """Return an operation's instruction, and the function that gives it the scope."""
    category = operation.category.value
    capability = grammar().number("Capability", _CAPABILITIES[category])
    extension = f'extensions = ["{_EXTENSIONS[category]}"], ' if category in _EXTENSIONS else ""
    opcode = grammar().opcodes[operation.opcode(type_)]
    result = type_.name if operation.result == "value" else str(operation.result)
    spec = grammar().instruction(opcode)
    parameters, arguments = [], []
    if spec is not None and spec.operands[0].kind == "IdScope":
        parameters.append("uint scope")
        arguments.append(f"{_SUBGROUP}u")
    if operation.group_operation is not None:
        parameters.append("spirv_literal uint kind")
        arguments.append(f"{grammar().number('GroupOperation', operation.group_operation)}u")
    parameters.append(f"{type_.name} value")
    arguments.append("value")
    given = ["value"]
    if operation.direction is not None:
        parameters.append("uint direction")
        arguments.append(f"{operation.direction}u")
    for place, operand in enumerate(operation.operands[1:]):
        kind = operand.type.name if operand.type is not None else type_.name
        parameters.append(f"{kind} other_{place}")
        arguments.append(f"other_{place}")
        given.append(f"other_{place}")
    name = function(operation, type_)
    instruction = f"instruction_{name}"
    return [
        f"spirv_instruction({extension}capabilities = [{capability}], id = {opcode}) "
        f"{result} {instruction}({', '.join(parameters)});",
        # A macro, so that constants stay constants.
        f"#define {name}({', '.join(given)}) {instruction}({', '.join(arguments)})",
    ]


def called(operation: Operation, type_: GlslType, arguments: Sequence[str]) -> str:
    """Return the call of an operation on a value of a type."""
    return f"{function(operation, type_)}({', '.join(arguments)})"
