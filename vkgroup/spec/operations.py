"""The table of operations: one row for each built-in function and variable of KHR_shader_subgroup.

GLSL, conformance cases, the interpreter's dispatch, the documentation and the test of the mapping to SPIR-V
derive from it. `vkgroup.reference.registry` has the function that computes each row's result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from types import MappingProxyType

from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.documents import Sentence
from vkgroup.spec.sentences import SENTENCES
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spec.types import TYPES, GlslType


class MemorySemantics(IntFlag):
    """The bits of SPIR-V's Memory Semantics that the barriers use."""

    ACQUIRE_RELEASE = 0x8
    UNIFORM_MEMORY = 0x40
    WORKGROUP_MEMORY = 0x100
    IMAGE_MEMORY = 0x800


class OperandKind(Enum):
    """What an operand means; the value is its name in the arguments of the reference functions."""

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
    """One operand of a function.

    Attributes
    ----------
    kind : its meaning.
    type : its type; None for a VALUE, which has the type that the function is used with.
    constant : whether GLSL asks for an integral constant expression. From SPIR-V 1.5 on an ID may be
        dynamically uniform where the device has ``subgroupBroadcastDynamicId``.
    uniform : whether all active lanes must agree in it.
    """

    kind: OperandKind
    type: GlslType | None = None
    constant: bool = False
    uniform: bool = False


@dataclass(frozen=True)
class Operation:
    """One built-in function.

    Attributes
    ----------
    name : as in GLSL, ``"subgroupInclusiveAdd"``.
    category : the part of an extension that it belongs to.
    opcodes : the SPIR-V instruction by the kind of the value's scalar; by None for a barrier.
    operands : in the order of the GLSL function.
    types : the types it may be used with: of its VALUE; of its only operand (a predicate, a ballot); of its
        result if it has no operand; none for a barrier.
    result : "value" for the type it is used with, "bool", "uint", "uvec4", or None for void.
    sentence : its definition, with the place in the specification.
    operator : "Add", "Mul", "Min", "Max", "And", "Or" or "Xor" of a reduction or scan.
    group_operation : SPIR-V's "Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce", or partitioned.
    direction : the last operand of OpGroupNonUniformQuadSwap.
    memory_semantics : of a barrier.
    stages : the stages it is limited to; None for all.
    by_instruction : whether GLSL compilers lack the function, so that shaders declare its SPIR-V instruction
        (GL_EXT_spirv_intrinsics).
    """

    name: str
    category: Category | ExtendedCategory
    opcodes: Mapping[str | None, str] = field(hash=False)
    operands: tuple[Operand, ...]
    types: tuple[GlslType, ...]
    result: str | None
    sentence: Sentence
    operator: str | None = None
    group_operation: str | None = None
    direction: int | None = None
    memory_semantics: MemorySemantics | None = None
    stages: tuple[str, ...] | None = None
    by_instruction: bool = False

    @property
    def uniform_operand(self) -> OperandKind | None:
        """The operand in which all active lanes must agree; None if there is none."""
        return next((operand.kind for operand in self.operands if operand.uniform), None)

    def opcode(self, type_: GlslType | None = None) -> str:
        """Return the SPIR-V instruction for use with `type_` (None: a barrier).

        Raises `KeyError` where the function does not take the type.
        """
        return self.opcodes[type_.scalar.kind if type_ else None]

    def result_type(self, type_: GlslType | None = None) -> GlslType | None:
        """Return the type of the result for use with `type_`; None for a barrier."""
        return type_ if self.result == "value" else TYPES[self.result] if self.result else None


@dataclass(frozen=True)
class BuiltinVariable:
    """One built-in variable.

    Attributes
    ----------
    name : as in GLSL, ``"gl_SubgroupSize"``.
    category : the part of the extension that it belongs to.
    builtin : SPIR-V's BuiltIn that decorates it.
    type : its type.
    sentence : its definition, with the place in the specification.
    stages : the stages it is limited to; None for all.
    """

    name: str
    category: Category
    builtin: str
    type: GlslType
    sentence: Sentence
    stages: tuple[str, ...] | None = None


_VALUE = Operand(OperandKind.VALUE)
_PREDICATE = Operand(OperandKind.PREDICATE, TYPES["bool"])
_BALLOT = Operand(OperandKind.BALLOT, TYPES["uvec4"])
_SAME_BALLOT = Operand(OperandKind.BALLOT, TYPES["uvec4"], uniform=True)
ALL_KINDS = ("float", "int", "uint", "bool")


def _uint(kind: OperandKind, *, constant: bool = False, uniform: bool = False) -> Operand:
    return Operand(kind, TYPES["uint"], constant, uniform)


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


def _fixed(
    name: str,
    category: Category,
    opcode: str,
    operands: tuple[Operand, ...],
    result: str,
    group_operation: str | None = None,
) -> Operation:
    """Return the row of a function with one overload."""
    type_ = operands[0].type if operands else TYPES[result]
    assert type_ is not None
    return Operation(
        name,
        category,
        MappingProxyType({type_.scalar.kind: f"OpGroupNonUniform{opcode}"}),
        operands,
        types=(type_,),
        result=result,
        sentence=SENTENCES[name],
        group_operation=group_operation,
    )


def _generic(
    name: str,
    category: Category,
    opcode: str,
    *operands: Operand,
    result: str = "value",
    direction: int | None = None,
) -> Operation:
    """Return the row of a function that takes a value of any type."""
    return Operation(
        name,
        category,
        MappingProxyType(dict.fromkeys(ALL_KINDS, f"OpGroupNonUniform{opcode}")),
        (_VALUE, *operands),
        types=types_of(ALL_KINDS),
        result=result,
        sentence=SENTENCES[name],
        direction=direction,
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


def _group(group_operation: str, infix: str, operator: str) -> Operation:
    """Return the row of a reduction or scan, ``subgroup<infix><operator>``."""
    name = f"subgroup{infix}{operator}"
    clustered = group_operation == "ClusteredReduce"
    opcodes: dict[str | None, str] = {
        kind: f"OpGroupNonUniform{prefix}{operator}" for kind, prefix in OPCODE_PREFIXES[operator].items()
    }
    return Operation(
        name,
        Category.CLUSTERED if clustered else Category.ARITHMETIC,
        MappingProxyType(opcodes),
        (_VALUE, _uint(OperandKind.CLUSTER_SIZE, constant=True)) if clustered else (_VALUE,),
        types=types_of(tuple(OPCODE_PREFIXES[operator])),
        result="value",
        sentence=SENTENCES[name],
        operator=operator,
        group_operation=group_operation,
    )


_ALL_MEMORY = MemorySemantics.UNIFORM_MEMORY | MemorySemantics.WORKGROUP_MEMORY | MemorySemantics.IMAGE_MEMORY
_ID = _uint(OperandKind.ID)
_CONSTANT_ID = _uint(OperandKind.ID, constant=True, uniform=True)
_INDEX = _uint(OperandKind.INDEX)

_ROWS = (
    _barrier("subgroupBarrier", "OpControlBarrier", _ALL_MEMORY),
    _barrier("subgroupMemoryBarrier", "OpMemoryBarrier", _ALL_MEMORY),
    _barrier("subgroupMemoryBarrierBuffer", "OpMemoryBarrier", MemorySemantics.UNIFORM_MEMORY),
    _barrier(
        "subgroupMemoryBarrierShared", "OpMemoryBarrier", MemorySemantics.WORKGROUP_MEMORY, WORKGROUP_STAGES
    ),
    _barrier("subgroupMemoryBarrierImage", "OpMemoryBarrier", MemorySemantics.IMAGE_MEMORY),
    _fixed("subgroupElect", Category.BASIC, "Elect", (), "bool"),
    _fixed("subgroupAll", Category.VOTE, "All", (_PREDICATE,), "bool"),
    _fixed("subgroupAny", Category.VOTE, "Any", (_PREDICATE,), "bool"),
    _generic("subgroupAllEqual", Category.VOTE, "AllEqual", result="bool"),
    *(
        _group(group_operation, infix, operator)
        for group_operation, infix in (
            ("Reduce", ""),
            ("InclusiveScan", "Inclusive"),
            ("ExclusiveScan", "Exclusive"),
        )
        for operator in OPCODE_PREFIXES
    ),
    _generic("subgroupBroadcast", Category.BALLOT, "Broadcast", _CONSTANT_ID),
    _generic("subgroupBroadcastFirst", Category.BALLOT, "BroadcastFirst"),
    _fixed("subgroupBallot", Category.BALLOT, "Ballot", (_PREDICATE,), "uvec4"),
    _fixed("subgroupInverseBallot", Category.BALLOT, "InverseBallot", (_SAME_BALLOT,), "bool"),
    _fixed("subgroupBallotBitExtract", Category.BALLOT, "BallotBitExtract", (_BALLOT, _INDEX), "bool"),
    *(
        _fixed(f"subgroupBallot{infix}BitCount", Category.BALLOT, "BallotBitCount", (_BALLOT,), "uint", group)
        for group, infix in (
            ("Reduce", ""),
            ("InclusiveScan", "Inclusive"),
            ("ExclusiveScan", "Exclusive"),
        )
    ),
    _fixed("subgroupBallotFindLSB", Category.BALLOT, "BallotFindLSB", (_BALLOT,), "uint"),
    _fixed("subgroupBallotFindMSB", Category.BALLOT, "BallotFindMSB", (_BALLOT,), "uint"),
    _generic("subgroupShuffle", Category.SHUFFLE, "Shuffle", _ID),
    _generic("subgroupShuffleXor", Category.SHUFFLE, "ShuffleXor", _uint(OperandKind.MASK)),
    _generic("subgroupShuffleUp", Category.SHUFFLE_RELATIVE, "ShuffleUp", _uint(OperandKind.DELTA)),
    _generic("subgroupShuffleDown", Category.SHUFFLE_RELATIVE, "ShuffleDown", _uint(OperandKind.DELTA)),
    *(_group("ClusteredReduce", "Clustered", operator) for operator in OPCODE_PREFIXES),
    _generic("subgroupQuadBroadcast", Category.QUAD, "QuadBroadcast", _CONSTANT_ID),
    _generic("subgroupQuadSwapHorizontal", Category.QUAD, "QuadSwap", direction=0),
    _generic("subgroupQuadSwapVertical", Category.QUAD, "QuadSwap", direction=1),
    _generic("subgroupQuadSwapDiagonal", Category.QUAD, "QuadSwap", direction=2),
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
        _variable(f"gl_Subgroup{relation}Mask", Category.BALLOT, "uvec4")
        for relation in ("Eq", "Ge", "Gt", "Le", "Lt")
    ),
)

BUILTIN_VARIABLES: dict[str, BuiltinVariable] = {variable.name: variable for variable in _VARIABLES}
"""Every built-in variable by its GLSL name."""
