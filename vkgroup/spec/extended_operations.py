"""The table of subgroup functions of other extensions: rotate, partitioned, quad votes, legacy ballots.

Rows are as in `vkgroup.spec.operations`. The name of a row is that of the GLSL function.
"""

from __future__ import annotations

from typing import Any

from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.operations import (
    BALLOT,
    CLUSTER_SIZE,
    OPERATIONS,
    PREDICATE,
    VALUE,
    Operand,
    OperandKind,
    Operation,
    combining,
    row,
)
from vkgroup.spec.types import TYPES

_ID = Operand(OperandKind.ID, TYPES["uint"], uniform=True)
_DELTA = Operand(OperandKind.DELTA, TYPES["uint"], uniform=True)
_NUMBERS = ("float", "int", "uint")


def _later(
    name: str, category: Category | ExtendedCategory, opcode: str, *operands: Operand, **columns: Any
) -> Operation:
    """Return the row of a function that glslang 13 lacks, or has with other types."""
    return row(name, category, opcode, operands, by_instruction=True, **columns)


def _vote(name: str, category: ExtendedCategory, opcode: str) -> Operation:
    return _later(name, category, opcode, PREDICATE, result="bool")


_ROWS = (
    _later("subgroupRotate", Category.ROTATE, "RotateKHR", VALUE, _DELTA),
    _later("subgroupClusteredRotate", Category.ROTATE_CLUSTERED, "RotateKHR", VALUE, _DELTA, CLUSTER_SIZE),
    row("subgroupPartitionNV", Category.PARTITIONED, "PartitionNV", result="uvec4"),
    *(
        operation
        for group, infix in {"Reduce": "", "InclusiveScan": "Inclusive", "ExclusiveScan": "Exclusive"}.items()
        for operation in combining(
            f"subgroupPartitioned{infix}{{}}NV",
            Category.PARTITIONED,
            f"Partitioned{group}NV",
            (VALUE, BALLOT),
        )
    ),
    _vote("subgroupQuadAll", ExtendedCategory.QUAD_CONTROL, "QuadAllKHR"),
    _vote("subgroupQuadAny", ExtendedCategory.QUAD_CONTROL, "QuadAnyKHR"),
    _later("ballotARB", ExtendedCategory.ARB_BALLOT, "OpSubgroupBallotKHR", PREDICATE, result="uvec4"),
    _later(
        "readInvocationARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupReadInvocationKHR",
        VALUE,
        _ID,
        kinds=_NUMBERS,
    ),
    _later(
        "readFirstInvocationARB",
        ExtendedCategory.ARB_BALLOT,
        "OpSubgroupFirstInvocationKHR",
        VALUE,
        kinds=_NUMBERS,
    ),
    _vote("anyInvocationARB", ExtendedCategory.ARB_VOTE, "OpSubgroupAnyKHR"),
    _vote("allInvocationsARB", ExtendedCategory.ARB_VOTE, "OpSubgroupAllKHR"),
    _vote("allInvocationsEqualARB", ExtendedCategory.ARB_VOTE, "OpSubgroupAllEqualKHR"),
)

EXTENDED_OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _ROWS}
"""Every function of these extensions by its GLSL name."""

SUBGROUP_OPERATIONS: dict[str, Operation] = OPERATIONS | {
    operation.name: operation for operation in _ROWS if isinstance(operation.category, Category)
}
"""Every function with a bit of VkSubgroupFeatureFlagBits, by its GLSL name."""
