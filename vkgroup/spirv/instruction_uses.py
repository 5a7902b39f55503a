"""Uses of instructions: subgroup operations and ray tracing in a module, with their types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidModule
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.constants import Constant
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.grammar import InstructionSpec, grammar
from vkgroup.spirv.types import ArrayType, MatrixType, ScalarType, StructType, Type, component_of


@dataclass(frozen=True, slots=True)
class SubgroupUse:
    """One kind of subgroup operation in a module."""

    operation: str  # SPIR-V's name, for example ``"OpGroupNonUniformIAdd"``
    # scalar type of its value, or of the result where it has no value operand; None where that is neither
    # scalar nor vector
    type: ScalarType | None
    group_operation: str = ""  # ``"Reduce"``, ``"InclusiveScan"``, …; empty where the operation has none
    # whether the id of an `OpGroupNonUniformBroadcast` or quad broadcast is no constant, which needs
    # ``subgroupBroadcastDynamicId``
    dynamic_id: bool = False


#: The operand that must be constant without ``subgroupBroadcastDynamicId``.
_BROADCAST_ID = {"OpGroupNonUniformBroadcast": "Invocation Id", "OpGroupNonUniformQuadBroadcast": "Index"}


def find_subgroup_uses(module: Binary, declared: Declarations) -> frozenset[SubgroupUse]:
    """Return the OpGroupNonUniform… instructions of a module, each kind once.

    Raises InvalidModule: one of them is too short.
    """
    table = grammar()
    first = module.words[module.instruction_starts].astype(np.int64)
    opcodes = first & 0xFFFF
    present = _codes() & set(np.unique(opcodes).tolist())
    if not present:
        return frozenset()
    type_of = _result_types(module, opcodes)
    constant = np.zeros(module.bound, np.bool_)
    constant[[identifier for identifier in declared.constants if identifier < module.bound]] = True
    uses: set[SubgroupUse] = set()
    for code in present:
        spec = table.instruction(code)
        chosen = opcodes == code
        if spec is None or (first[chosen] >> 16).min() < spec.minimum_words:
            raise InvalidModule(f"an {table.name(code)} has too few words")
        uses |= _uses_of(module, declared, spec, module.instruction_starts[chosen], type_of, constant)
    return frozenset(uses)


@cache
def _codes() -> frozenset[int]:
    """Return the numbers of the group instructions."""
    return frozenset(code for name, code in grammar().opcodes.items() if name.startswith("OpGroupNonUniform"))


def _result_types(module: Binary, opcodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the type id by result id, 0 where there is none; shape (bound,)."""
    table = grammar()
    specs = [table.instruction(code) for code in np.unique(opcodes).tolist()]
    typed = [spec.opcode for spec in specs if spec and spec.has_type and spec.has_result]
    starts = module.instruction_starts[np.isin(opcodes, typed)]
    starts = starts[(module.words[starts] >> 16) > 2]
    results = module.words[starts + 2].astype(np.int64)
    known = results < module.bound
    types = np.zeros(module.bound, np.int64)
    types[results[known]] = module.words[starts + 1][known]
    return types


def _uses_of(
    module: Binary,
    declared: Declarations,
    spec: InstructionSpec,
    starts: npt.NDArray[np.int64],
    type_of: npt.NDArray[np.int64],
    constant: npt.NDArray[np.bool_],
) -> set[SubgroupUse]:
    """Return the kinds of one opcode's instructions, which begin at `starts`."""
    words = module.words
    value, group = spec.operand_index("Value"), spec.operand_index("Operation")
    identifier = spec.operand_index(_BROADCAST_ID.get(spec.name, ""))
    nothing = np.zeros(len(starts), np.int64)
    types = words[starts + 1] if value is None else type_of[_ids(module, starts + value)]
    groups = nothing if group is None else words[starts + group]
    varies = nothing if identifier is None else ~constant[_ids(module, starts + identifier)]
    rows = np.unique(np.stack([types, groups, varies], axis=1).astype(np.int64), axis=0)
    return {
        SubgroupUse(
            operation=spec.name,
            type=component_of(declared.types.get(type_id)),
            group_operation="" if group is None else grammar().enumerant("GroupOperation", operation),
            dynamic_id=bool(is_dynamic),
        )
        for type_id, operation, is_dynamic in rows.tolist()
    }


def _ids(module: Binary, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the ids at some words; 0, which is no id, where a number is out of bounds."""
    ids = module.words[positions].astype(np.int64)
    return np.where(ids < module.bound, ids, 0)


@dataclass(frozen=True, slots=True)
class Trace:
    """An instruction that traces rays. Operands that are computed at run time are None."""

    structure: tuple[int, int] | None  # set and binding of the acceleration structure
    # `record_offset`, `record_stride`, `miss_index`: its indices into the shader binding table
    record_offset: Constant | None
    record_stride: Constant | None
    miss_index: Constant | None
    payload: Type | None  # type of the ray's payload


@dataclass(frozen=True, slots=True)
class Call:
    """An instruction that executes a callable shader. Operands that are computed at run time are None."""

    index: Constant | None  # of its record in the shader binding table
    data: Type | None  # type of the callable data


@dataclass(frozen=True, slots=True)
class RayInterface:
    """Ray-tracing instructions and data of a stage."""

    # `traces`, `calls`: its instructions, including those in branches never taken
    traces: tuple[Trace, ...] = ()
    calls: tuple[Call, ...] = ()
    # `payload`, `callable_data`: types of its incoming data (``rayPayloadInEXT``, ``callableDataInEXT``);
    # None where it declares none
    payload: Type | None = None
    callable_data: Type | None = None
    # type of the hit attribute (``hitAttributeEXT``), which intersection shaders write and hit shaders read;
    # None without
    attribute: Type | None = None
    has_record: bool = False  # whether it reads its record of the shader binding table (``shaderRecordEXT``)

    @property
    def attribute_size(self) -> int:
        """Bytes of the attribute, without padding; 0 where there is none."""
        return 0 if self.attribute is None else _packed_size(self.attribute)


def _packed_size(kind: Type) -> int:
    if isinstance(kind, StructType):
        return sum(_packed_size(member.type) for member in kind.members)
    if isinstance(kind, ArrayType):
        return (kind.length or 0) * _packed_size(kind.element)
    if isinstance(kind, MatrixType):
        return kind.columns * _packed_size(kind.column)
    return kind.size or 4


_NOTHING = RayInterface()


def find_rays(module: Binary, declared: Declarations) -> RayInterface:
    """Return the ray-tracing instructions and data of a module.

    Raises InvalidModule: an instruction is too short.
    """
    if "RayTracingKHR" not in declared.capabilities:
        return _NOTHING
    types = {variable.id: variable.type for variable in declared.variables}
    by_storage = {variable.storage_class: variable.type for variable in declared.variables}
    return RayInterface(
        tuple(_trace(declared, words, types, module) for words in _instructions(module, "OpTraceRayKHR")),
        tuple(
            Call(declared.constants.get(words[1]), types.get(words[2]))
            for words in _instructions(module, "OpExecuteCallableKHR")
        ),
        by_storage.get("IncomingRayPayloadKHR"),
        by_storage.get("IncomingCallableDataKHR"),
        by_storage.get("HitAttributeKHR"),
        "ShaderRecordBufferKHR" in by_storage,
    )


def _starts(module: Binary, name: str) -> npt.NDArray[np.int64]:
    """Return the first word of each instruction of a name."""
    starts = module.instruction_starts
    named: npt.NDArray[np.int64] = starts[module.words[starts] & 0xFFFF == grammar().opcodes[name]]
    return named


def _instructions(module: Binary, name: str) -> list[list[int]]:
    """Return the words of each instruction of a name."""
    spec = grammar().instruction(grammar().opcodes[name])
    instructions = []
    for start in _starts(module, name).tolist():
        length = int(module.words[start]) >> 16
        if spec is None or length < spec.minimum_words:
            raise InvalidModule(f"{name} at word {start} has {length} words, too few")
        instructions.append(module.words[start : start + length].tolist())
    return instructions


def _trace(declared: Declarations, words: list[int], types: dict[int, Type], module: Binary) -> Trace:
    """Read an OpTraceRayKHR: structure, flags, mask, three indices, the ray in four words, the payload."""
    _, structure, _, _, offset, stride, miss, _, _, _, _, payload = words[:12]
    binding = declared.decoration(variable := _loaded(module, structure), "Binding")
    structure_binding = (
        None if binding is None else (declared.decoration(variable, "DescriptorSet") or 0, binding)
    )
    return Trace(
        structure_binding,
        declared.constants.get(offset),
        declared.constants.get(stride),
        declared.constants.get(miss),
        types.get(payload),
    )


def _loaded(module: Binary, value: int) -> int:
    """Return the id of the pointer that a value was loaded from; 0 where it was not loaded."""
    loads = _starts(module, "OpLoad")
    loads = loads[(module.words[loads] >> 16) > 3]
    matching = loads[module.words[loads + 2] == value]
    return int(module.words[matching[0] + 3]) if matching.size else 0
