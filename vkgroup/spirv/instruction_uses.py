"""Uses of instructions (subgroup operations, ray tracing) and of variables (read, written) in a module.

The access analysis is static: instructions in branches that are never taken count. A variable whose
pointer is selected at run time or passed to a function counts as read and written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.chains import CHAINS
from vkgroup.spirv.constants import Constant
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.grammar import InstructionSpec, grammar
from vkgroup.spirv.types import ArrayType, MatrixType, ScalarType, StructType, Type, component_of


@dataclass(frozen=True, slots=True)
class SubgroupUse:
    """One kind of subgroup operation in a module."""

    operation: str  # SPIR-V's name, for example ``"OpGroupNonUniformIAdd"``
    # scalar type of its value, or of its result if it has no value operand; None if that is neither
    # scalar nor vector
    type: ScalarType | None
    group_operation: str = ""  # ``"Reduce"``, ``"InclusiveScan"``, …; empty where the operation has none
    # whether the id of an `OpGroupNonUniformBroadcast` or quad broadcast is not constant, which needs
    # ``subgroupBroadcastDynamicId``
    dynamic_id: bool = False


#: The operand that must be constant without ``subgroupBroadcastDynamicId``.
_BROADCAST_ID = {"OpGroupNonUniformBroadcast": "Invocation Id", "OpGroupNonUniformQuadBroadcast": "Index"}


def find_subgroup_uses(module: Binary, declared: Declarations) -> frozenset[SubgroupUse]:
    """Return the kinds of OpGroupNonUniform… instructions in a module.

    Raises InvalidModule: one of them is too short.
    """
    table = grammar()
    present = _codes() & module.present
    if not present:
        return frozenset()
    constant = np.zeros(module.bound, np.bool_)
    constant[[identifier for identifier in declared.constants if identifier < module.bound]] = True
    uses: set[SubgroupUse] = set()
    for code in present:
        spec = table.instruction(code)
        starts = module.instruction_starts[module.opcodes == code]
        if spec is None or (module.words[starts] >> 16).min() < spec.minimum_words:
            raise InvalidModule(f"an {table.name(code)} has too few words")
        uses |= _uses_of(module, declared, spec, starts, constant)
    return frozenset(uses)


@cache
def _codes() -> frozenset[int]:
    """Return the numbers of the group instructions."""
    return frozenset(code for name, code in grammar().opcodes.items() if name.startswith("OpGroupNonUniform"))


def _uses_of(
    module: Binary,
    declared: Declarations,
    spec: InstructionSpec,
    starts: npt.NDArray[np.int64],
    constant: npt.NDArray[np.bool_],
) -> set[SubgroupUse]:
    """Return the kinds of one opcode's instructions, which begin at `starts`."""
    words = module.words
    value, group = spec.operand_index("Value"), spec.operand_index("Operation")
    identifier = spec.operand_index(_BROADCAST_ID.get(spec.name, ""))
    nothing = np.zeros(len(starts), np.int64)
    types = words[starts + 1] if value is None else module.result_types[_ids(module, starts + value)]
    groups = nothing if group is None else words[starts + group]
    varies = nothing if identifier is None else ~constant[_ids(module, starts + identifier)]
    rows = set(zip(types.tolist(), groups.tolist(), varies.tolist(), strict=True))
    return {
        SubgroupUse(
            operation=spec.name,
            type=component_of(declared.types.get(type_id)),
            group_operation="" if group is None else grammar().enumerant("GroupOperation", operation),
            dynamic_id=bool(is_dynamic),
        )
        for type_id, operation, is_dynamic in rows
    }


def _ids(module: Binary, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the ids at some words; 0 (no id) for words out of bounds."""
    ids = module.words[positions].astype(np.int64)
    return np.where(ids < module.bound, ids, 0)


@dataclass(frozen=True, slots=True)
class TraceInstruction:
    """An instruction that traces rays. Operands that are computed at run time are None."""

    structure: tuple[int, int] | None  # set and binding of the acceleration structure
    # `record_offset`, `record_stride`, `miss_index`: its indices into the shader binding table
    record_offset: Constant | None
    record_stride: Constant | None
    miss_index: Constant | None
    payload: Type | None  # type of the ray's payload


@dataclass(frozen=True, slots=True)
class CallableExecution:
    """An instruction that executes a callable shader. Operands that are computed at run time are None."""

    index: Constant | None  # of its record in the shader binding table
    data: Type | None  # type of the callable data


@dataclass(frozen=True, slots=True)
class RayInterface:
    """Ray-tracing instructions and data of a stage."""

    # `traces`, `calls`: its instructions, including those in branches never taken
    traces: tuple[TraceInstruction, ...] = ()
    calls: tuple[CallableExecution, ...] = ()
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
            CallableExecution(declared.constants.get(words[1]), types.get(words[2]))
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


def _trace(
    declared: Declarations, words: list[int], types: dict[int, Type], module: Binary
) -> TraceInstruction:
    """Read an OpTraceRayKHR: structure, flags, mask, three indices, the ray in four words, the payload."""
    _, structure, _, _, offset, stride, miss, _, _, _, _, payload = words[:12]
    binding = declared.decoration(variable := _loaded(module, structure), "Binding")
    structure_binding = (
        None if binding is None else (declared.decoration(variable, "DescriptorSet") or 0, binding)
    )
    return TraceInstruction(
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


class VariableAccess(NamedTuple):
    """Ids of the variables that a module reads, and of those that it writes."""

    read: frozenset[int]
    written: frozenset[int]


class _Roles(NamedTuple):
    """By opcode: the word with the pointer that the instruction derives from, reads, or writes.

    0 means none. Every array has shape (65536,).
    """

    base: npt.NDArray[np.uint8]
    read: npt.NDArray[np.uint8]
    written: npt.NDArray[np.uint8]


#: Instructions whose result points into the object of the operand with this name.
_FOLLOWED = {
    **dict.fromkeys(sorted(CHAINS), "Base"),
    "OpRawAccessChainNV": "Base",
    "OpCopyObject": "Operand",
    "OpBitcast": "Operand",
    "OpImageTexelPointer": "Image",
    "OpLoad": "Pointer",
    "OpSampledImage": "Image",
    "OpImage": "Sampled Image",
}

#: Instructions that read or write through an operand that is not called "Pointer".
_OTHER_READS = {
    "OpCopyMemory": "Source",
    "OpCopyMemorySized": "Source",
    "OpImageRead": "Image",
    "OpImageFetch": "Image",
    "OpImageSparseRead": "Image",
    "OpImageSparseFetch": "Image",
}
_OTHER_WRITES = {"OpCopyMemory": "Target", "OpCopyMemorySized": "Target", "OpImageWrite": "Image"}

_LOADS_ONLY = ("OpLoad", "OpAtomicLoad", "OpCooperativeMatrixLoad", "OpCooperativeVectorLoad")
_STORES_ONLY = ("OpStore", "OpAtomicStore", "OpCooperativeMatrixStore", "OpCooperativeVectorStore")
_HANDLES = ("OpTypeImage", "OpTypeSampledImage", "OpTypeSampler", "OpTypePointer", "OpTypeUntypedPointerKHR")
_NO_ACCESS = ("OpLifetimeStart", "OpLifetimeStop", "OpSizeOf", "OpConvertPtrToU", "OpUntypedArrayLengthKHR")


@cache
def _roles() -> _Roles:
    """Return the tables, derived from the grammar: an access uses the operand named "Pointer"."""
    table = grammar()
    base, read, written = (np.zeros(1 << 16, np.uint8) for _ in range(3))

    def mark(array: npt.NDArray[np.uint8], name: str, operand: str) -> None:
        spec = table.instruction(table.opcodes[name]) if name in table.opcodes else None
        index = spec.operand_index(operand) if spec else None
        if spec and index:
            array[spec.opcode] = index

    for name in table.opcodes:
        if name.startswith(_NO_ACCESS):
            continue
        if not name.startswith(_STORES_ONLY):
            mark(read, name, "Pointer")
        if not name.startswith(_LOADS_ONLY):
            mark(written, name, "Pointer")
    for names, array in ((_FOLLOWED, base), (_OTHER_READS, read), (_OTHER_WRITES, written)):
        for name, operand in names.items():
            mark(array, name, operand)
    return _Roles(base, read, written)


class _Body(NamedTuple):
    """A module's instructions as arrays, shape (instructions,)."""

    words: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    opcodes: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    bound: int

    def operand(self, index: npt.NDArray[np.int64], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return word `index` of each instruction; 0 (no id) if not `wanted`, absent, or not an id."""
        present = wanted & (index > 0) & (index < self.lengths)
        values = np.zeros(len(self.starts), np.int64)
        values[present] = self.words[self.starts[present] + index[present]]
        values[values >= self.bound] = 0
        return values


def find_access(module: Binary, variables: frozenset[int]) -> VariableAccess:
    """Return which of `variables` (result ids) the module's functions read and write."""
    starts = module.instruction_starts
    lengths = (module.words[starts] >> 16).astype(np.int64)
    body = _Body(module.words, starts, module.opcodes, lengths, module.bound)
    roles = _roles()
    handles, storage_images = _handle_loads(body)
    root = _roots(body, roles, handles)
    unfollowed = _unfollowed(body, root)

    def through(role: npt.NDArray[np.uint8], wanted: npt.NDArray[np.bool_]) -> frozenset[int]:
        pointers = body.operand(role[body.opcodes].astype(np.int64), wanted)
        return frozenset(np.unique(root[pointers]).tolist()) | unfollowed

    return VariableAccess(
        # A load of a storage image's handle does not read the image.
        read=variables & through(roles.read, ~storage_images),
        written=variables & through(roles.written, np.ones(len(starts), np.bool_)),
    )


def _handle_loads(body: _Body) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which instructions load an image, sampler or pointer, and which load a storage image."""
    names = grammar().opcodes
    everywhere = np.ones(len(body.starts), np.bool_)
    declared = body.operand(np.full(len(body.starts), 1), everywhere)
    kinds = [names[name] for name in _HANDLES]
    is_image = body.opcodes == names["OpTypeImage"]
    is_storage = is_image & (body.operand(np.full(len(body.starts), 7), is_image) == 2)
    load = body.opcodes == names["OpLoad"]
    handles = load & np.isin(declared, declared[np.isin(body.opcodes, kinds)])
    return handles, load & np.isin(declared, declared[is_storage])


def _roots(body: _Body, roles: _Roles, handles: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return for each id the id at the start of its access chains and loads; shape (bound,)."""
    followed = (body.opcodes != grammar().opcodes["OpLoad"]) | handles
    bases = body.operand(roles.base[body.opcodes].astype(np.int64), followed)
    results = body.operand(np.full(len(body.starts), 2), bases > 0)
    root = np.arange(body.bound, dtype=np.int64)
    root[results[results > 0]] = bases[results > 0]
    # Each step halves every chain, so log2(longest chain) steps are enough. The number of steps is
    # fixed because a damaged module may contain a cycle.
    for _ in range(24):
        further = root[root]
        if np.array_equal(further, root):
            break
        root = further
    return root


_PER_ELEMENT = "OpCooperativeMatrixPerElementOpEXT"
"""It calls a function; its further operands may be pointers."""


def _unfollowed(body: _Body, root: npt.NDArray[np.int64]) -> frozenset[int]:
    """Return the roots of pointers in calls, selections, phis and stores, so that any access is possible."""
    names = grammar().opcodes
    stores = body.opcodes == names["OpStore"]
    roots = set(root[body.operand(np.full(len(body.starts), 2), stores)].tolist())
    pointers = ("OpFunctionCall", _PER_ELEMENT, "OpSelect", "OpPhi", "OpReturnValue")
    indirect = [names[name] for name in pointers]
    for position in np.flatnonzero(np.isin(body.opcodes, indirect)).tolist():
        start = int(body.starts[position])
        operands = body.words[start + 1 : start + int(body.lengths[position])].astype(np.int64)
        roots.update(root[operands[operands < body.bound]].tolist())
    return frozenset(roots)
