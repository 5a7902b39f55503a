"""The tables of operations: one row for each built-in function and variable of a subgroup.

`OPERATIONS` and `BUILTIN_VARIABLES` have those of KHR_shader_subgroup, `EXTENDED_OPERATIONS` the functions of
other extensions: rotate, partitioned, quad votes, legacy ballots and votes. GLSL, conformance cases, the
interpreter's dispatch, the documentation and the test of the mapping to SPIR-V are derived from the tables.
`vkgroup.reference.registry` returns the function that computes a row's result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from types import MappingProxyType
from typing import Any

from vkgroup.spec import registry
from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.sentences import SENTENCES, Sentence
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spec.types import TYPES, GlslType


class MemorySemantics(IntFlag):
    """The bits of SPIR-V's Memory Semantics that the barriers use."""

    ACQUIRE_RELEASE = registry.MEMORY_SEMANTICS["AcquireRelease"]
    UNIFORM_MEMORY = registry.MEMORY_SEMANTICS["UniformMemory"]
    WORKGROUP_MEMORY = registry.MEMORY_SEMANTICS["WorkgroupMemory"]
    IMAGE_MEMORY = registry.MEMORY_SEMANTICS["ImageMemory"]


class OperandKind(Enum):
    """Meaning of an operand; the value is its argument name in the reference functions."""

    VALUE = "value"
    PREDICATE = "predicate"
    BALLOT = "ballot"
    ID = "id"
    INDEX = "index"
    MASK = "mask"
    DELTA = "delta"
    CLUSTER_SIZE = "cluster_size"


@dataclass(frozen=True)
class Operand:
    """One operand of a function."""

    kind: OperandKind
    #: None for a VALUE, whose type is that of the call.
    type: GlslType | None = None
    #: Whether GLSL requires an integral constant expression. From SPIR-V 1.5 on an ID may be dynamically
    #: uniform if the device has ``subgroupBroadcastDynamicId``.
    constant: bool = False
    uniform: bool = False  # whether it must be equal in all active lanes


@dataclass(frozen=True)
class Operation:
    """One built-in function."""

    name: str  # as in GLSL, ``"subgroupInclusiveAdd"``
    category: Category | ExtendedCategory  # the part of an extension that has it
    #: The SPIR-V instruction by the kind of the value's scalar; the key of a barrier is None.
    opcodes: Mapping[str | None, str] = field(hash=False)
    operands: tuple[Operand, ...]  # in the order of the GLSL function
    #: The types of its VALUE, or of its only operand (a predicate, a ballot), or of its result if it has no
    #: operand; none for a barrier.
    types: tuple[GlslType, ...]
    result: str | None  # "value" for the value's type, "bool", "uint", "uvec4", or None for void
    sentence: Sentence  # its definition
    operator: str | None = None  # "Add", "Mul", "Min", "Max", "And", "Or" or "Xor" of a reduction or scan
    #: SPIR-V's "Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce", or partitioned.
    group_operation: str | None = None
    direction: int | None = None  # the last operand of OpGroupNonUniformQuadSwap
    memory_semantics: MemorySemantics | None = None  # only of a barrier
    stages: tuple[str, ...] | None = None  # the only stages with it; None for all
    #: Whether GLSL compilers lack the function, so that shaders declare its SPIR-V instruction
    #: (GL_EXT_spirv_intrinsics).
    by_instruction: bool = False

    @property
    def uniform_operand(self) -> OperandKind | None:
        """The operand that must be equal in all active lanes; None if there is none."""
        return next((operand.kind for operand in self.operands if operand.uniform), None)

    def opcode(self, type_: GlslType | None = None) -> str:
        """Return the SPIR-V instruction for values of `type_` (None: a barrier).

        Raises `KeyError` if the function does not accept the type.
        """
        return self.opcodes[type_.scalar.kind if type_ else None]

    def result_type(self, type_: GlslType | None = None) -> GlslType | None:
        """Return the type of the result for values of `type_`; None for a barrier."""
        return type_ if self.result == "value" else TYPES[self.result] if self.result else None


@dataclass(frozen=True)
class BuiltinVariable:
    """One built-in variable."""

    name: str  # as in GLSL, ``"gl_SubgroupSize"``
    category: Category  # the part of the extension that it belongs to
    builtin: str  # SPIR-V's BuiltIn that decorates it
    type: GlslType
    sentence: Sentence  # its definition
    stages: tuple[str, ...] | None = None  # the stages it is limited to; None for all


VALUE = Operand(OperandKind.VALUE)
PREDICATE = Operand(OperandKind.PREDICATE, TYPES["bool"])
BALLOT = Operand(OperandKind.BALLOT, TYPES["uvec4"])
CLUSTER_SIZE = Operand(OperandKind.CLUSTER_SIZE, TYPES["uint"], constant=True)
ALL_KINDS = ("float", "int", "uint", "bool")


def types_of(kinds: tuple[str, ...]) -> tuple[GlslType, ...]:
    """Return the types whose scalars are of these kinds, in the order of `TYPES`."""
    return tuple(type_ for type_ in TYPES.values() if type_.scalar.kind in kinds)


def _barrier(
    name: str, opcode: str, memory: MemorySemantics, stages: tuple[str, ...] | None = None
) -> Operation:
    return Operation(
        name,
        Category.BASIC,
        MappingProxyType({None: opcode}),
        operands=(),
        types=(),
        result=None,
        sentence=SENTENCES[name],
        memory_semantics=MemorySemantics.ACQUIRE_RELEASE | memory,
        stages=stages,
    )


def row(
    name: str,
    category: Category | ExtendedCategory,
    opcode: str,
    operands: tuple[Operand, ...] = (VALUE,),
    result: str = "value",
    kinds: tuple[str, ...] = ALL_KINDS,
    **columns: Any,
) -> Operation:
    """Return the row of a function with one instruction.

    Parameters
    ----------
    opcode : the instruction's name, without "OpGroupNonUniform" if it starts with that.
    kinds : those of its VALUE; without effect on a function that has none.
    **columns : further columns of `Operation`.
    """
    type_ = operands[0].type if operands else TYPES[result]
    opcode = opcode if opcode.startswith("Op") else f"OpGroupNonUniform{opcode}"
    return Operation(
        name,
        category,
        MappingProxyType(dict.fromkeys((type_.scalar.kind,) if type_ else kinds, opcode)),
        operands,
        types=(type_,) if type_ else types_of(kinds),
        result=result,
        sentence=SENTENCES[name],
        **columns,
    )


# The prefixes of SPIR-V's instructions by operator and kind: FAdd, SMin, BitwiseAnd, LogicalAnd.
_SUMS = {"float": "F", "int": "I", "uint": "I"}
_LIMITS = {"float": "F", "int": "S", "uint": "U"}
_LOGIC = {"int": "Bitwise", "uint": "Bitwise", "bool": "Logical"}
OPCODE_PREFIXES = {
    "Add": _SUMS,
    "Mul": _SUMS,
    "Min": _LIMITS,
    "Max": _LIMITS,
    "And": _LOGIC,
    "Or": _LOGIC,
    "Xor": _LOGIC,
}


def combining(
    name: str, category: Category, group_operation: str, operands: tuple[Operand, ...] = (VALUE,)
) -> tuple[Operation, ...]:
    """Return the rows of a reduction or scan with each operator, whose place in the name is ``{}``."""
    return tuple(
        Operation(
            name.format(operator),
            category,
            MappingProxyType({k: f"OpGroupNonUniform{prefix}{operator}" for k, prefix in prefixes.items()}),
            operands,
            types=types_of(tuple(prefixes)),
            result="value",
            sentence=SENTENCES[name.format(operator)],
            operator=operator,
            group_operation=group_operation,
        )
        for operator, prefixes in OPCODE_PREFIXES.items()
    )


_ALL_MEMORY = MemorySemantics.UNIFORM_MEMORY | MemorySemantics.WORKGROUP_MEMORY | MemorySemantics.IMAGE_MEMORY
_SAME_BALLOT = Operand(OperandKind.BALLOT, TYPES["uvec4"], uniform=True)
_ID = Operand(OperandKind.ID, TYPES["uint"])
_CONSTANT_ID = Operand(OperandKind.ID, TYPES["uint"], constant=True, uniform=True)
_INDEX = Operand(OperandKind.INDEX, TYPES["uint"])
_MASK = Operand(OperandKind.MASK, TYPES["uint"])
_DELTA = Operand(OperandKind.DELTA, TYPES["uint"])
_UNIFORM_ID = Operand(OperandKind.ID, TYPES["uint"], uniform=True)
_UNIFORM_DELTA = Operand(OperandKind.DELTA, TYPES["uint"], uniform=True)
_NUMBERS = ("float", "int", "uint")
_SCANS = {"Reduce": "", "InclusiveScan": "Inclusive", "ExclusiveScan": "Exclusive"}

_ROWS = (
    _barrier("subgroupBarrier", "OpControlBarrier", _ALL_MEMORY),
    _barrier("subgroupMemoryBarrier", "OpMemoryBarrier", _ALL_MEMORY),
    _barrier("subgroupMemoryBarrierBuffer", "OpMemoryBarrier", MemorySemantics.UNIFORM_MEMORY),
    _barrier(
        "subgroupMemoryBarrierShared", "OpMemoryBarrier", MemorySemantics.WORKGROUP_MEMORY, WORKGROUP_STAGES
    ),
    _barrier("subgroupMemoryBarrierImage", "OpMemoryBarrier", MemorySemantics.IMAGE_MEMORY),
    row("subgroupElect", Category.BASIC, "Elect", (), "bool"),
    row("subgroupAll", Category.VOTE, "All", (PREDICATE,), "bool"),
    row("subgroupAny", Category.VOTE, "Any", (PREDICATE,), "bool"),
    row("subgroupAllEqual", Category.VOTE, "AllEqual", result="bool"),
    *(
        operation
        for group_operation, infix in _SCANS.items()
        for operation in combining(f"subgroup{infix}{{}}", Category.ARITHMETIC, group_operation)
    ),
    row("subgroupBroadcast", Category.BALLOT, "Broadcast", (VALUE, _CONSTANT_ID)),
    row("subgroupBroadcastFirst", Category.BALLOT, "BroadcastFirst"),
    row("subgroupBallot", Category.BALLOT, "Ballot", (PREDICATE,), "uvec4"),
    row("subgroupInverseBallot", Category.BALLOT, "InverseBallot", (_SAME_BALLOT,), "bool"),
    row("subgroupBallotBitExtract", Category.BALLOT, "BallotBitExtract", (BALLOT, _INDEX), "bool"),
    *(
        row(
            f"subgroupBallot{infix}BitCount",
            Category.BALLOT,
            "BallotBitCount",
            (BALLOT,),
            "uint",
            group_operation=group_operation,
        )
        for group_operation, infix in _SCANS.items()
    ),
    row("subgroupBallotFindLSB", Category.BALLOT, "BallotFindLSB", (BALLOT,), "uint"),
    row("subgroupBallotFindMSB", Category.BALLOT, "BallotFindMSB", (BALLOT,), "uint"),
    row("subgroupShuffle", Category.SHUFFLE, "Shuffle", (VALUE, _ID)),
    row("subgroupShuffleXor", Category.SHUFFLE, "ShuffleXor", (VALUE, _MASK)),
    row("subgroupShuffleUp", Category.SHUFFLE_RELATIVE, "ShuffleUp", (VALUE, _DELTA)),
    row("subgroupShuffleDown", Category.SHUFFLE_RELATIVE, "ShuffleDown", (VALUE, _DELTA)),
    *combining("subgroupClustered{}", Category.CLUSTERED, "ClusteredReduce", (VALUE, CLUSTER_SIZE)),
    row("subgroupQuadBroadcast", Category.QUAD, "QuadBroadcast", (VALUE, _CONSTANT_ID)),
    row("subgroupQuadSwapHorizontal", Category.QUAD, "QuadSwap", direction=0),
    row("subgroupQuadSwapVertical", Category.QUAD, "QuadSwap", direction=1),
    row("subgroupQuadSwapDiagonal", Category.QUAD, "QuadSwap", direction=2),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _ROWS}
"""Every built-in function by its GLSL name, in the order of the categories."""


def _variable(
    name: str, category: Category, type_: str, stages: tuple[str, ...] | None = None
) -> BuiltinVariable:
    stem = name.removeprefix("gl_")
    renamed = {"SubgroupID": "SubgroupId", "SubgroupInvocationID": "SubgroupLocalInvocationId"}
    return BuiltinVariable(name, category, renamed.get(stem, stem), TYPES[type_], SENTENCES[name], stages)


_VARIABLES = (
    _variable("gl_NumSubgroups", Category.BASIC, "uint", WORKGROUP_STAGES),
    _variable("gl_SubgroupID", Category.BASIC, "uint", WORKGROUP_STAGES),
    _variable("gl_SubgroupSize", Category.BASIC, "uint"),
    _variable("gl_SubgroupInvocationID", Category.BASIC, "uint"),
    *(
        _variable(f"gl_Subgroup{name}Mask", Category.BALLOT, "uvec4")
        for name in ("Eq", "Ge", "Gt", "Le", "Lt")
    ),
)

BUILTIN_VARIABLES: dict[str, BuiltinVariable] = {variable.name: variable for variable in _VARIABLES}
"""Every built-in variable by its GLSL name."""


def _later(
    name: str, category: Category | ExtendedCategory, opcode: str, *operands: Operand, **columns: Any
) -> Operation:
    """Return the row of a function that glslang 13 lacks, or has with other types."""
    return row(name, category, opcode, operands, by_instruction=True, **columns)


def _vote(name: str, category: ExtendedCategory, opcode: str) -> Operation:
    return _later(name, category, opcode, PREDICATE, result="bool")


_EXTENDED_ROWS = (
    _later("subgroupRotate", Category.ROTATE, "RotateKHR", VALUE, _UNIFORM_DELTA),
    _later(
        "subgroupClusteredRotate", Category.ROTATE_CLUSTERED, "RotateKHR", VALUE, _UNIFORM_DELTA, CLUSTER_SIZE
    ),
    row("subgroupPartitionNV", Category.PARTITIONED, "PartitionNV", result="uvec4"),
    *(
        operation
        for group, infix in _SCANS.items()
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
        _UNIFORM_ID,
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

EXTENDED_OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _EXTENDED_ROWS}
"""Every function of the other extensions by its GLSL name."""

SUBGROUP_OPERATIONS: dict[str, Operation] = OPERATIONS | {
    operation.name: operation for operation in _EXTENDED_ROWS if isinstance(operation.category, Category)
}
"""Every function with a bit of VkSubgroupFeatureFlagBits, by its GLSL name."""
