"""Declarations: types, constants and variables of a module, with their names and decorations.

SPIR-V's logical layout (specification 2.4) puts every declaration before the first function and before its
use, so one pass without recursion reads them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from vkgroup.errors import InvalidModule
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.constants import Constant, SpecializationConstant, Value, combine, literal_value
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.layout import LayoutChecker
from vkgroup.spirv.types import (
    ArrayType,
    CooperativeMatrixType,
    ImageType,
    MatrixType,
    Member,
    OpaqueType,
    PointerType,
    SampledImageType,
    ScalarType,
    StructType,
    Type,
    VectorType,
)


@dataclass(slots=True)
class EntryPointDeclaration:
    """An `OpEntryPoint` with its execution modes by name."""

    id: int
    execution_model: str
    name: str
    interface: tuple[int, ...]
    modes: dict[str, tuple[int, ...]] = field(default_factory=dict)


Decorations = dict[str, tuple[int, ...]]


class Annotations:
    """The declarations before the types, by the id that they refer to.

    Each method named after an instruction takes its words without the first.
    """

    def __init__(self, data: bytes) -> None:
        self.capabilities: set[str] = set()
        self.extensions: set[str] = set()
        self.extended_instruction_sets: set[str] = set()
        self.memory_model: tuple[str, str] = ("", "")
        self.entry_points: list[EntryPointDeclaration] = []
        self.names: dict[int, str] = {}
        self.member_names: dict[tuple[int, int], str] = {}
        self.decorations: dict[int, Decorations] = {}
        self.member_decorations: dict[tuple[int, int], Decorations] = {}
        self.sources: list[str] = []
        self._grammar = grammar()
        self._bytes = data
        self._position = 0

    def string(self, words: list[int], skip: int = 0) -> tuple[str, int]:
        """Return the literal that starts `skip` words in, and the number of words up to its end."""
        first = 4 * (self._position + 1 + skip)
        raw = self._bytes[first : 4 * (self._position + 1 + len(words))]
        end = raw.find(b"\0")
        if end < 0:
            raise InvalidModule(f"a string without end at word {self._position}")
        return raw[:end].decode("utf-8", "replace"), skip + end // 4 + 1

    # Module level ------------------------------------------------------------------------------

    def _capability(self, words: list[int]) -> None:
        self.capabilities.add(self._grammar.enumerant("Capability", words[0]))

    def _extension(self, words: list[int]) -> None:
        self.extensions.add(self.string(words)[0])

    def _extended_instructions(self, words: list[int]) -> None:
        self.extended_instruction_sets.add(self.string(words, 1)[0])

    def _memory_model(self, words: list[int]) -> None:
        self.memory_model = (
            self._grammar.enumerant("AddressingModel", words[0]),
            self._grammar.enumerant("MemoryModel", words[1]),
        )

    def _entry_point(self, words: list[int]) -> None:
        name, end = self.string(words, 2)
        model = self._grammar.enumerant("ExecutionModel", words[0])
        self.entry_points.append(EntryPointDeclaration(words[1], model, name, tuple(words[end:])))

    def _execution_mode(self, words: list[int]) -> None:
        mode = self._grammar.enumerant("ExecutionMode", words[1])
        for entry in self.entry_points:
            if entry.id == words[0]:
                entry.modes[mode] = tuple(words[2:])

    def _source(self, words: list[int]) -> None:
        self.sources.append(self.string(words, 3)[0] if len(words) > 3 else "")

    def _source_continued(self, words: list[int]) -> None:
        if self.sources:
            self.sources[-1] += self.string(words)[0]

    # Names and decorations ---------------------------------------------------------------------

    def _name(self, words: list[int]) -> None:
        self.names[words[0]] = self.string(words, 1)[0]

    def _member_name(self, words: list[int]) -> None:
        self.member_names[words[0], words[1]] = self.string(words, 2)[0]

    def _decorate(self, words: list[int]) -> None:
        decoration = self._grammar.enumerant("Decoration", words[1])
        self.decorations.setdefault(words[0], {})[decoration] = tuple(words[2:])

    def _member_decorate(self, words: list[int]) -> None:
        decoration = self._grammar.enumerant("Decoration", words[2])
        self.member_decorations.setdefault((words[0], words[1]), {})[decoration] = tuple(words[3:])

    def _group_decorate(self, words: list[int]) -> None:
        group = self.decorations.get(words[0], {})
        for target in words[1:]:
            self.decorations.setdefault(target, {}).update(group)

    def _group_member_decorate(self, words: list[int]) -> None:
        group = self.decorations.get(words[0], {})
        for target, member in zip(words[1::2], words[2::2], strict=False):
            self.member_decorations.setdefault((target, member), {}).update(group)

    def decoration(self, identifier: int, name: str) -> int | None:
        """Return the literal of a decoration such as ``"Binding"``; None without it."""
        literals = self.decorations.get(identifier, {}).get(name)
        return literals[0] if literals else None


_OP_FUNCTION = 54


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the module's global scope."""

    id: int
    storage_class: str
    type: Type


class Declarations(Annotations):
    """Everything that a module declares, by result id.

    Raises InvalidModule where a declaration refers to an id that does not exist, or has too few words.
    """

    def __init__(self, module: Binary) -> None:
        super().__init__(module.to_bytes())
        self.types: dict[int, Type] = {}
        self.constants: dict[int, Constant] = {}
        self.specialization_constants: list[SpecializationConstant] = []
        self.variables: list[Variable] = []
        self.layouts = LayoutChecker()
        self._read(module)

    def _read(self, module: Binary) -> None:
        starts = module.instruction_starts
        functions = np.flatnonzero(module.words[starts] & 0xFFFF == _OP_FUNCTION)
        if functions.size:
            starts = starts[: functions[0] + 1]
        bounds = starts.tolist() if functions.size else [*starts.tolist(), len(module.words)]
        words = module.words[: bounds[-1]].tolist()
        handlers = _handlers()
        instruction = self._grammar.instruction
        for start, end in pairwise(bounds):
            opcode = words[start] & 0xFFFF
            handler = handlers.get(opcode)
            if handler is None:
                continue
            spec = instruction(opcode)
            if spec is not None and end - start < spec.minimum_words:
                raise InvalidModule(f"{spec.name} at word {start} has {end - start} words, too few")
            self._position = start
            handler(self, words[start + 1 : end])

    # Looking things up -------------------------------------------------------------------------

    def type(self, identifier: int) -> Type:
        """Return the type with this result id."""
        kind = self.types.get(identifier)
        if kind is None:
            raise InvalidModule(f"%{identifier} is used as a type at word {self._position}, and is none")
        return kind

    def _scalar(self, identifier: int) -> ScalarType:
        kind = self.type(identifier)
        if not isinstance(kind, ScalarType):
            raise InvalidModule(f"%{identifier} is used as a scalar at word {self._position}, and is none")
        return kind

    def constant(self, identifier: int) -> Constant:
        """Return the constant with this result id."""
        constant = self.constants.get(identifier)
        if constant is None:
            raise InvalidModule(f"%{identifier} is used as a constant at word {self._position}, and is none")
        return constant

    # Types -------------------------------------------------------------------------------------

    def _void(self, words: list[int]) -> None:
        self.types[words[0]] = OpaqueType("void")

    def _bool(self, words: list[int]) -> None:
        self.types[words[0]] = ScalarType("bool", 1)

    def _int(self, words: list[int]) -> None:
        self.types[words[0]] = ScalarType("int" if words[2] else "uint", self._width(words[1]))

    def _float(self, words: list[int]) -> None:
        kind = "float" if len(words) < 3 else self._grammar.enumerant("FPEncoding", words[2])
        self.types[words[0]] = ScalarType(kind, self._width(words[1]))

    def _width(self, bits: int) -> int:
        if bits not in (8, 16, 32, 64):
            raise InvalidModule(f"a number of {bits} bits at word {self._position}; 8, 16, 32 and 64 exist")
        return bits

    def _vector(self, words: list[int]) -> None:
        self.types[words[0]] = VectorType(self._scalar(words[1]), words[2])

    def _matrix(self, words: list[int]) -> None:
        column = self.type(words[1])
        if not isinstance(column, VectorType):
            raise InvalidModule(f"the column of a matrix at word {self._position} is no vector")
        self.types[words[0]] = MatrixType(column, words[2])

    def _cooperative_matrix(self, words: list[int]) -> None:
        scope, rows, columns, use = (int(self.constant(word).evaluate()) for word in words[2:6])
        self.types[words[0]] = CooperativeMatrixType(self._scalar(words[1]), scope, rows, columns, use)

    def _array(self, words: list[int]) -> None:
        length = self.constant(words[2])
        count = length.evaluate()
        if not isinstance(count, int) or count < 0:
            raise InvalidModule(f"the length of an array at word {self._position} is {count}")
        self.types[words[0]] = ArrayType(
            self.type(words[1]),
            count,
            self.decoration(words[0], "ArrayStride"),
            words[2] if length.is_specializable else None,
        )

    def _runtime_array(self, words: list[int]) -> None:
        self.types[words[0]] = ArrayType(self.type(words[1]), None, self.decoration(words[0], "ArrayStride"))

    def _struct(self, words: list[int]) -> None:
        identifier = words[0]
        members = tuple(
            self._member(identifier, index, self.type(member)) for index, member in enumerate(words[1:])
        )
        structure = StructType(self.names.get(identifier, ""), members)
        self.types[identifier] = structure
        # Inner structures are looked at before those that hold them, so neither of these recurses.
        self.layouts.remember(structure)
        _ = structure.size

    def _member(self, structure: int, index: int, kind: Type) -> Member:
        decorations = self.member_decorations.get((structure, index), {})
        element = kind
        while isinstance(element, ArrayType):
            element = element.element
        is_matrix = isinstance(element, MatrixType)
        offset, stride = decorations.get("Offset"), decorations.get("MatrixStride")
        return Member(
            name=self.member_names.get((structure, index), ""),
            type=kind,
            offset=offset[0] if offset else None,
            matrix_stride=stride[0] if stride and is_matrix else None,
            row_major="RowMajor" in decorations and is_matrix,
            readable="NonReadable" not in decorations,
            writable="NonWritable" not in decorations,
        )

    def _pointer(self, words: list[int]) -> None:
        storage = self._grammar.enumerant("StorageClass", words[1])
        self.types[words[0]] = PointerType(storage, self.types.get(words[2]))

    def _forward_pointer(self, words: list[int]) -> None:
        storage = self._grammar.enumerant("StorageClass", words[1])
        self.types[words[0]] = PointerType(storage, None)

    def _image(self, words: list[int]) -> None:
        sampled = self.type(words[1])
        self.types[words[0]] = ImageType(
            sampled_type=sampled if isinstance(sampled, ScalarType) else None,
            dimension=self._grammar.enumerant("Dim", words[2]),
            depth=words[3] == 1,
            arrayed=words[4] == 1,
            multisampled=words[5] == 1,
            storage=words[6] == 2,
            format=self._grammar.enumerant("ImageFormat", words[7]),
        )

    def _sampled_image(self, words: list[int]) -> None:
        image = self.type(words[1])
        if not isinstance(image, ImageType):
            raise InvalidModule(f"OpTypeSampledImage at word {self._position} is not of an image")
        self.types[words[0]] = SampledImageType(image)

    def _opaque(self, words: list[int], name: str) -> None:
        self.types[words[0]] = OpaqueType(name)

    # Constants and variables -------------------------------------------------------------------

    def _constant(self, words: list[int]) -> None:
        kind = self.type(words[0])
        if isinstance(kind, ScalarType):
            # Most constants are of the first two types.
            value: Value
            if kind.bits == 32 and kind.kind == "uint":
                value = words[2]
            elif kind.bits == 32 and kind.kind == "int":
                value = words[2] - (words[2] >> 31 << 32)
            else:
                value = literal_value(words[2:], kind)
            self.constants[words[1]] = Constant(kind, value)

    def _boolean(self, words: list[int], value: bool) -> None:
        self.constants[words[1]] = Constant(self._scalar(words[0]), value)

    def _null(self, words: list[int]) -> None:
        kind = self.types.get(words[0])
        if isinstance(kind, ScalarType):
            self.constants[words[1]] = Constant(kind, False if kind.kind == "bool" else 0)

    def _composite(self, words: list[int]) -> None:
        # A composite of other things than numbers (a null structure, say) is no size and is left out.
        if all(part in self.constants for part in words[2:]):
            self.constants[words[1]] = combine(None, None, tuple(self.constants[part] for part in words[2:]))

    def _specialization(self, words: list[int], value: bool | None = None) -> None:
        kind, identifier = self._scalar(words[0]), words[1]
        default = literal_value(words[2:], kind) if value is None else value
        number = self.decoration(identifier, "SpecId")
        if number is None:
            self.constants[identifier] = Constant(kind, default)
            return
        constant = SpecializationConstant(number, self.names.get(identifier, ""), kind, default)
        self.specialization_constants.append(constant)
        self.constants[identifier] = Constant(kind, default, constant, is_specializable=True)

    def _specialization_operation(self, words: list[int]) -> None:
        kind = self.type(words[0])
        name = self._grammar.name(words[2])
        operands = words[3:]
        if name == "OpCompositeExtract":
            self._extraction(words[1], operands)
        elif isinstance(kind, ScalarType) and all(operand in self.constants for operand in operands):
            self.constants[words[1]] = combine(
                kind, name, tuple(self.constants[operand] for operand in operands)
            )

    def _extraction(self, result: int, operands: list[int]) -> None:
        part = self.constants.get(operands[0]) if operands else None
        for index in operands[1:]:
            part = part.operands[index] if part is not None and index < len(part.operands) else None
        if part is not None:
            self.constants[result] = part

    def _variable(self, words: list[int]) -> None:
        pointer = self.type(words[0])
        if not isinstance(pointer, PointerType) or pointer.pointee is None:
            raise InvalidModule(f"the type of variable %{words[1]} is no pointer to a known type")
        storage = self._grammar.enumerant("StorageClass", words[2])
        self.variables.append(Variable(words[1], storage, pointer.pointee))


_Handler = Callable[[Declarations, list[int]], None]
_TABLE: dict[int, _Handler] = {}


def _handlers() -> dict[int, _Handler]:
    """Return the handler by opcode; opcodes are looked up in the grammar once."""
    if not _TABLE:
        by_name = _named_handlers()
        codes = grammar().opcodes
        _TABLE.update({codes[name]: handler for name, handler in by_name.items()})
        for name, code in codes.items():
            if name.startswith("OpType") and code not in _TABLE and name not in _TYPELESS:
                _TABLE[code] = _opaque_handler(name.removeprefix("OpType"))
    return _TABLE


#: Instructions named OpType… that declare no type of a variable.
_TYPELESS = ("OpTypeFunction",)

_OPAQUE_NAMES = {
    "Sampler": "sampler",
    "AccelerationStructureKHR": "accelerationStructureEXT",
    "AccelerationStructureNV": "accelerationStructureEXT",
    "RayQueryKHR": "rayQueryEXT",
}


def _opaque_handler(name: str) -> _Handler:
    glsl = _OPAQUE_NAMES.get(name, name)
    return lambda declarations, words: declarations._opaque(words, glsl)


def _named_handlers() -> dict[str, _Handler]:
    own = Declarations
    return {
        "OpCapability": own._capability,
        "OpExtension": own._extension,
        "OpExtInstImport": own._extended_instructions,
        "OpMemoryModel": own._memory_model,
        "OpEntryPoint": own._entry_point,
        "OpExecutionMode": own._execution_mode,
        "OpExecutionModeId": own._execution_mode,
        "OpSource": own._source,
        "OpSourceContinued": own._source_continued,
        "OpName": own._name,
        "OpMemberName": own._member_name,
        "OpDecorate": own._decorate,
        "OpDecorateId": own._decorate,
        "OpMemberDecorate": own._member_decorate,
        "OpGroupDecorate": own._group_decorate,
        "OpGroupMemberDecorate": own._group_member_decorate,
        "OpTypeVoid": own._void,
        "OpTypeBool": own._bool,
        "OpTypeInt": own._int,
        "OpTypeFloat": own._float,
        "OpTypeVector": own._vector,
        "OpTypeMatrix": own._matrix,
        "OpTypeCooperativeMatrixKHR": own._cooperative_matrix,
        "OpTypeArray": own._array,
        "OpTypeRuntimeArray": own._runtime_array,
        "OpTypeStruct": own._struct,
        "OpTypePointer": own._pointer,
        "OpTypeForwardPointer": own._forward_pointer,
        "OpTypeImage": own._image,
        "OpTypeSampledImage": own._sampled_image,
        "OpConstant": own._constant,
        "OpConstantTrue": lambda declarations, words: declarations._boolean(words, True),
        "OpConstantFalse": lambda declarations, words: declarations._boolean(words, False),
        "OpConstantNull": own._null,
        "OpConstantComposite": own._composite,
        "OpSpecConstant": own._specialization,
        "OpSpecConstantTrue": lambda declarations, words: declarations._specialization(words, True),
        "OpSpecConstantFalse": lambda declarations, words: declarations._specialization(words, False),
        "OpSpecConstantComposite": own._composite,
        "OpSpecConstantOp": own._specialization_operation,
        "OpVariable": own._variable,
    }
