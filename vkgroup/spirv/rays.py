"""Ray interface of a stage: its traces and calls, its payload, callable data and hit attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidModule
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.constants import Constant
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.types import ArrayType, MatrixType, StructType, Type


@dataclass(frozen=True, slots=True)
class Trace:
    """An instruction that traces rays. Operands that are computed at run time are None.

    Attributes
    ----------
    structure : set and binding of the acceleration structure.
    record_offset, record_stride, miss_index : its indices into the shader binding table.
    payload : type of the ray's payload.
    """

    structure: tuple[int, int] | None
    record_offset: Constant | None
    record_stride: Constant | None
    miss_index: Constant | None
    payload: Type | None


@dataclass(frozen=True, slots=True)
class Call:
    """An instruction that executes a callable shader. Operands that are computed at run time are None.

    Attributes
    ----------
    index : of its record in the shader binding table.
    data : type of the callable data.
    """

    index: Constant | None
    data: Type | None


@dataclass(frozen=True, slots=True)
class RayInterface:
    """Ray-tracing instructions and data of a stage.

    Attributes
    ----------
    traces, calls : its instructions, including those in branches never taken.
    payload, callable_data : types of its incoming data (``rayPayloadInEXT``, ``callableDataInEXT``); None
        where it declares none.
    attribute : type of the hit attribute (``hitAttributeEXT``), which intersection shaders write and hit
        shaders read; None without.
    has_record : whether it reads its record of the shader binding table (``shaderRecordEXT``).
    """

    traces: tuple[Trace, ...] = ()
    calls: tuple[Call, ...] = ()
    payload: Type | None = None
    callable_data: Type | None = None
    attribute: Type | None = None
    has_record: bool = False

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

    Raises
    ------
    InvalidModule
        An instruction is too short.
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
