"""The table of the subgroup functions of other extensions: rotate, partitioned, quad votes, the older ones.

Rows are as in `vkgroup.reference.operations`. The name of a row is that of the GLSL function.
"""

from __future__ import annotations

from types import MappingProxyType

from vkgroup.reference.operations import (
    ALL_KINDS,
    OPCODE_PREFIXES,
    OPERATIONS,
    Category,
    ExtendedCategory,
    Operand,
    OperandKind,
    Operation,
    reference_of,
    types_of,
)
from vkgroup.reference.types import TYPES

_VALUE = Operand(OperandKind.VALUE)
_PREDICATE = Operand(OperandKind.PREDICATE, TYPES["bool"])
_BALLOT = Operand(OperandKind.BALLOT, TYPES["uvec4"])
_ID = Operand(OperandKind.ID, TYPES["uint"])
_DELTA = Operand(OperandKind.DELTA, TYPES["uint"])
_CLUSTER_SIZE = Operand(OperandKind.CLUSTER_SIZE, TYPES["uint"], constant=True)


def _row(
    name: str,
    category: Category | ExtendedCategory,
    opcode: str,
    operands: tuple[Operand, ...],
    result: str,
    section: str,
    kinds: tuple[str, ...] = ALL_KINDS,
) -> Operation:
    """Return the row of a function of one instruction; `kinds` are those of its VALUE."""
    type_ = operands[0].type
    return Operation(
        name,
        category,
        MappingProxyType(dict.fromkeys((type_.scalar.kind,) if type_ else kinds, opcode)),
        operands,
        types=(type_,) if type_ else types_of(kinds),
        result=result,
        reference=reference_of(name),
        section=f"{section}, {name}()",
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
        reference=reference_of(name),
        section=f"NV_shader_subgroup_partitioned, section 8.18, {name}()",
        operator=operator,
        group_operation=f"Partitioned{group_operation}NV",
    )


_ROTATE = "KHR_shader_subgroup_rotate, section 8.18"
_PARTITIONED = "NV_shader_subgroup_partitioned, section 8.18"
_QUAD = "EXT_shader_quad_control, section 8.18"
_BALLOTS = "ARB_shader_ballot, section 8.18"
_VOTES = "ARB_shader_group_vote, section 8.18"

_ROWS = (
    _row(
        "subgroupRotate",
        Category.ROTATE,
        "OpGroupNonUniformRotateKHR",
        (_VALUE, _DELTA),
        "value",
        _ROTATE,
    ),
    _row(
        "subgroupClusteredRotate",
        Category.ROTATE_CLUSTERED,
        "OpGroupNonUniformRotateKHR",
        (_VALUE, _DELTA, _CLUSTER_SIZE),
        "value",
        _ROTATE,
    ),
    _row(
        "subgroupPartitionNV",
        Category.PARTITIONED,
        "OpGroupNonUniformPartitionNV",
        (_VALUE,),
        "uvec4",
        _PARTITIONED,
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
        _row(name, ExtendedCategory.QUAD_CONTROL, opcode, (_PREDICATE,), "bool", _QUAD)
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
        _BALLOTS,
    ),
    _row(
        "readInvocationARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupReadInvocationKHR",
        (_VALUE, _ID),
        "value",
        _BALLOTS,
        kinds=("float", "int", "uint"),
    ),
    _row(
        "readFirstInvocationARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupFirstInvocationKHR",
        (_VALUE,),
        "value",
        _BALLOTS,
        kinds=("float", "int", "uint"),
    ),
    *(
        _row(name, ExtendedCategory.ARB_VOTE, opcode, (_PREDICATE,), "bool", _VOTES)
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
