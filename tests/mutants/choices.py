"""Errors that can be planted into a case's program: rules over the table of operations.

A rule omits errors that by the specification compute the same result for all data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutants.mutant import Mutant
from mutants.site import opcode_of
from vkgroup.conformance.barriers import BARRIERS, ROUNDS
from vkgroup.conformance.subgroup import family, operands
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.conformance.subgroup.shader import result_type
from vkgroup.device import Capabilities
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPCODE_PREFIXES, SUBGROUP_OPERATIONS, Operation

Choice = tuple[str, str]
"""An operator and its choice, see `mutants.mutant.Mutant`."""

# Pairs of operations that differ only in lanes where one of them is undefined.
_SAME = (
    {"subgroupBroadcast", "subgroupShuffle"},
    {"subgroupRotate", "subgroupShuffleDown"},
)

ALONE = ("c1", "alone")
"""Operands with which the reduction is each lane's own value, for every operator."""

_MOVES = ("subgroupShuffleXor", "subgroupShuffleUp", "subgroupShuffleDown", "subgroupRotate")

_GROUPS = ("Reduce", "InclusiveScan", "ExclusiveScan")

# Results that are the same in all active lanes.
_UNIFORM_OPERANDS = ("last", "dynamic", "leader", "specialized")


def mutants_of(case: Case, capabilities: Capabilities) -> list[Mutant]:
    """Return every mutant of a case on a device."""
    return [Mutant(case, operator, choice) for operator, choice in _choices(case, capabilities)]


def _choices(case: Case, capabilities: Capabilities) -> Iterator[Choice]:
    size = family.subgroup_size(case, capabilities)
    if case.operation in BARRIERS:
        yield from _of_barrier(case)
        return
    if case.data == "exact":
        yield from _of_result(case)
    if case.operation in BUILTIN_VARIABLES:
        yield from _of_variable(case, capabilities)
        return
    operation = SUBGROUP_OPERATIONS[case.operation]
    yield from _opcodes(case, operation, capabilities, size)
    yield from _groups(case, operation, capabilities, size)
    yield from _of_operand(case, operation, size)
    if operation.result == "value" and case.operand not in ALONE:
        yield "own", ""
    if case.data == "exact":
        yield from _of_value(case, operation)
        if _varies(case, operation, size):
            yield "uniform", ""
        if _depends_on_all_lanes(operation) and case.operand not in (*ALONE, "strided"):
            yield "mask", "odd"


def _of_barrier(case: Case) -> Iterator[Choice]:
    for number in range(ROUNDS):
        yield "late", str(number)
        yield "early", str(number)
    if case.stage == "compute" and case.pattern == "all":
        yield "dropped", "1"


def _of_result(case: Case) -> Iterator[Choice]:
    """Yield the errors of the result."""
    type_ = result_type(case)
    yield "constant", "zero"
    if type_.name == "bool":
        yield "constant", "true"
    elif type_.name == "uvec4":
        yield "constant", "ones"
    for where in ("first", "middle", "last"):
        yield "lane", where
    moved = case.operation in BUILTIN_VARIABLES or SUBGROUP_OPERATIONS[case.operation].result == "value"
    if type_.components > 1 and moved and not case.operation.startswith("gl_"):
        yield "component", "turned"
        yield "component", "last"


def _of_variable(case: Case, capabilities: Capabilities) -> Iterator[Choice]:
    mine = BUILTIN_VARIABLES[case.operation]
    for other in BUILTIN_VARIABLES.values():
        in_stage = other.stages is None or case.stage in other.stages
        if other is not mine and other.type == mine.type and in_stage:
            yield "built_in", other.builtin
    if case.operation.endswith("Mask") or case.operation == "gl_SubgroupInvocationID":
        yield "uniform", ""


def _signature(operation: Operation) -> tuple[object, ...]:
    """Return a key that is equal for operations whose instructions have the same operands."""
    kinds = tuple(operand.type.name if operand.type else "value" for operand in operation.operands)
    return operation.result, kinds, operation.group_operation, operation.direction is None


def _opcodes(case: Case, operation: Operation, capabilities: Capabilities, size: int) -> Iterator[Choice]:
    if case.operand in ALONE and operation.group_operation != "PartitionedExclusiveScanNV":
        return
    kind = case.glsl_type.scalar.kind
    mine = opcode_of(case)
    names: dict[str, None] = {}
    for other in SUBGROUP_OPERATIONS.values():
        fits = _signature(other) == _signature(operation) and case.glsl_type in other.types
        if not fits or {operation.name, other.name} in _SAME or _same_here(case, other, size):
            continue
        if family.missing(_in_place(case, other), capabilities):
            continue
        names[other.opcodes[kind]] = None
        if other.operator in ("Min", "Max") and kind in ("int", "uint"):
            # An unsigned instruction must not have a signed result.
            names[f"OpGroupNonUniform{OPCODE_PREFIXES[other.operator]['int']}{other.operator}"] = None
    yield from (("opcode", name) for name in names if name != mine)


def _in_place(case: Case, other: Operation) -> Case:
    """Return a case like this one, of another operation."""
    return replace(case, category=other.category.value, operation=other.name, operand="")


def _same_here(case: Case, other: Operation, size: int) -> bool:
    """Return whether another operation moves the same values with a case's operand wherever both are defined.

    Half a subgroup is as far in any way; over the greatest distance one lane alone has a partner; and a
    subgroup may be one quad. Ids that quads do not have count as well.
    """
    both = {case.operation, other.name}
    if size <= QUAD_SIZE and both & {"subgroupQuadBroadcast"}:
        return bool(both & {"subgroupBroadcast", "subgroupShuffle"})
    literal = operands.choices(case.operation)[case.operand].literal if case.operand else None
    if other.name == "subgroupQuadBroadcast" and case.category != "quad":
        # An index beyond the quad leaves everything undefined.
        return literal is None or literal(size) >= QUAD_SIZE
    if other.name == "subgroupShuffleDown" and literal is not None and literal(size) == size - 1:
        return case.operation != "subgroupShuffleUp"
    if case.operation not in _MOVES or other.name not in _MOVES:
        return False
    return literal is not None and literal(size) in (size // 2, size - 1)


def _groups(case: Case, operation: Operation, capabilities: Capabilities, size: int) -> Iterator[Choice]:
    mine = operation.group_operation
    if mine is None:
        return
    arithmetic, clustered = (
        category.declared in capabilities.subgroup.supported_operations
        for category in (Category.ARITHMETIC, Category.CLUSTERED)
    )
    whole = {"c" + str(size): "Reduce", "active": _unpartitioned(mine), "ones": _unpartitioned(mine)}
    for other in _GROUPS:
        if other not in (mine, whole.get(case.operand)) and (arithmetic or operation.operator is None):
            yield "group", other
    if mine in _GROUPS and operation.operator is not None and clustered and size > 1:
        yield "group", f"ClusteredReduce:{size // 2}"
    if operation.category is Category.PARTITIONED:
        for other in _GROUPS:
            # Alone a lane is its reduction and its inclusive scan.
            alike = case.operand == "alone" and "ExclusiveScan" not in (other, _unpartitioned(mine))
            if other != _unpartitioned(mine) and not alike:
                yield "group", f"Partitioned{other}NV"


def _unpartitioned(group_operation: str) -> str:
    """Return the group operation on the whole subgroup that corresponds to a partitioned one."""
    return group_operation.removeprefix("Partitioned").removesuffix("NV")


def _of_operand(case: Case, operation: Operation, size: int) -> Iterator[Choice]:
    if operation.direction is not None:
        yield from (("direction", str(other)) for other in range(3) if other != operation.direction)
    if not case.operand:
        return
    operand = operands.choices(case.operation)[case.operand]
    if operand.cluster:
        for other in (operand.cluster // 2, operand.cluster * 2):
            if 1 <= other <= size:
                yield "cluster", str(other)
    if operand.labels is not None:
        if case.operand not in ("active", "ones"):
            yield "partition", "ones"
        if case.operand != "alone":
            yield "partition", "alone"
    elif case.category != Category.CLUSTERED.value and operand.cluster != 1 and size > 1:
        yield "operand", "next"
        yield "operand", "previous"


def _of_value(case: Case, operation: Operation) -> Iterator[Choice]:
    """Yield the errors of the operand value."""
    if not operation.operands:
        return
    # Whether values are equal, and what is even about their number, is the same for all of them changed.
    even = operation.operator == "Xor" and case.glsl_type.scalar.kind == "bool"
    if operation.name not in ("subgroupAllEqual", "subgroupPartitionNV") and not even:
        yield "value", "all"
    if operation.operator in ("Add", "Mul", "Xor") or operation.name == "subgroupBallot":
        yield "value", "middle"


def _varies(case: Case, operation: Operation, size: int) -> bool:
    """True if the result differs between lanes."""
    if operation.group_operation is not None:
        whole = case.operand in (f"c{size}", "active", "ones")
        scan = operation.group_operation not in ("Reduce", "ClusteredReduce", "PartitionedReduceNV")
        return scan or (operation.group_operation != "Reduce" and not whole)
    if operation.name == "subgroupShuffle":
        return case.operand not in _UNIFORM_OPERANDS
    if case.operand == "furthest" or (operation.name == "subgroupQuadBroadcast" and size <= QUAD_SIZE):
        return False
    if operation.name == "subgroupBallotBitExtract":
        return True
    moves = ("subgroupShuffle", "subgroupQuad", "subgroupRotate", "subgroupClusteredRotate")
    return operation.name.startswith((*moves, "subgroupPartitionNV", "subgroupElect"))


def _depends_on_all_lanes(operation: Operation) -> bool:
    """True if the result depends on all active lanes."""
    if operation.group_operation is not None:
        return operation.operator is not None
    names = ("subgroupAll", "subgroupAny", "subgroupAllEqual", "subgroupElect", "subgroupBallot")
    return operation.name in (*names, "subgroupBroadcastFirst", "subgroupPartitionNV")
