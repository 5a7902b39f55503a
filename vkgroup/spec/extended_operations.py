"""The table of the subgroup functions of other extensions: rotate, partitioned, quad votes, the older ones.

Rows are as in `vkgroup.spec.operations`. The name of a row is that of the GLSL function.
"""

from __future__ import annotations

from types import MappingProxyType

from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.operations import (
    ALL_KINDS,
    OPCODE_PREFIXES,
    OPERATIONS,
    Operand,
    OperandKind,
    Operation,
    types_of,
)
from vkgroup.spec.sentences import SENTENCES
from vkgroup.spec.types import TYPES

_VALUE = Operand(OperandKind.VALUE)
_PREDICATE = Operand(OperandKind.PREDICATE, TYPES["bool"])
_BALLOT = Operand(OperandKind.BALLOT, TYPES["uvec4"])
_ID = Operand(OperandKind.ID, TYPES["uint"], uniform=True)
_DELTA = Operand(OperandKind.DELTA, TYPES["uint"], uniform=True)
_CLUSTER_SIZE = Operand(OperandKind.CLUSTER_SIZE, TYPES["uint"], constant=True)


def _row(
    name: str,
    category: Category | ExtendedCategory,
    opcode: str,
    operands: tuple[Operand, ...],
    result: str,
    kinds: tuple[str, ...] = ALL_KINDS,
) -> Operation:
    """Return the row of a function of one instruction; `kinds` are those of its VALUE.

    glslang 13 has those of NV_shader_subgroup_partitioned; it lacks the others, or has them with other types.
    """
    type_ = operands[0].type
    return Operation(
        name,
        category,
        MappingProxyType(dict.fromkeys((type_.scalar.kind,) if type_ else kinds, opcode)),
        operands,
        types=(type_,) if type_ else types_of(kinds),
        result=result,
        sentence=SENTENCES[name],
        by_instruction=category is not Category.PARTITIONED,
    )


def _partitioned(group_operation: str, infix: str, operator: str) -> Operation:
    """Return the row of ``subgroupPartitioned<infix><operator>NV``."""
    name = f"subgroupPartitioned{infix}{operator}NV"
    prefixes = OPCODE_PREFIXES[operator]
    return Operation(
        name,
        Category.PARTITIONED,
        MappingProxyType({k: f"OpGroupNonUniform{prefix}{operator}" for k, prefix in prefixes.items()}),
        (_VALUE, _BALLOT),
        types=types_of(tuple(prefixes)),
        result="value",
        sentence=SENTENCES[name],
        operator=operator,
        group_operation=f"Partitioned{group_operation}NV",
    )


_ROWS = (
    _row(
        "subgroupRotate",
        Category.ROTATE,
        "OpGroupNonUniformRotateKHR",
        (_VALUE, _DELTA),
        "value",
    ),
    _row(
        "subgroupClusteredRotate",
        Category.ROTATE_CLUSTERED,
        "OpGroupNonUniformRotateKHR",
        (_VALUE, _DELTA, _CLUSTER_SIZE),
        "value",
    ),
    _row(
        "subgroupPartitionNV",
        Category.PARTITIONED,
        "OpGroupNonUniformPartitionNV",
        (_VALUE,),
        "uvec4",
    ),
    *(
        _partitioned(group_operation, infix, operator)
        for group_operation, infix in (
            ("Reduce", ""),
            ("InclusiveScan", "Inclusive"),
            ("ExclusiveScan", "Exclusive"),
        )
        for operator in OPCODE_PREFIXES
    ),
    *(
        _row(name, ExtendedCategory.QUAD_CONTROL, opcode, (_PREDICATE,), "bool")
        for name, opcode in (
            ("subgroupQuadAll", "OpGroupNonUniformQuadAllKHR"),
            ("subgroupQuadAny", "OpGroupNonUniformQuadAnyKHR"),
        )
    ),
    _row(
        "ballotARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupBallotKHR",
        (_PREDICATE,),
        "uvec4",
    ),
    _row(
        "readInvocationARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupReadInvocationKHR",
        (_VALUE, _ID),
        "value",
        kinds=("float", "int", "uint"),
    ),
    _row(
        "readFirstInvocationARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupFirstInvocationKHR",
        (_VALUE,),
        "value",
        kinds=("float", "int", "uint"),
    ),
    *(
        _row(name, ExtendedCategory.ARB_VOTE, opcode, (_PREDICATE,), "bool")
        for name, opcode in (
            ("anyInvocationARB", "OpSubgroupAnyKHR"),
            ("allInvocationsARB", "OpSubgroupAllKHR"),
            ("allInvocationsEqualARB", "OpSubgroupAllEqualKHR"),
        )
    ),
)

EXTENDED_OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _ROWS}
"""Every such function by its GLSL name."""

SUBGROUP_OPERATIONS: dict[str, Operation] = OPERATIONS | {
    operation.name: operation for operation in _ROWS if isinstance(operation.category, Category)
}
"""Every function that a bit of VkSubgroupFeatureFlagBits promises, by its GLSL name."""
