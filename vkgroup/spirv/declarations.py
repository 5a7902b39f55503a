"""Declarations of a module: preamble, types, constants, variables.

SPIR-V's logical layout (specification 2.4) puts every declaration before the first function and before its
use, so one pass without recursion reads them all. A second pass follows if specialization constants with the
same id have different defaults (`shared_defaults`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.chains import VARIABLES
from vkgroup.spirv.constants import (
    Constant,
    SpecializationConstant,
    Value,
    combine,
    literal_value,
    shared_defaults,
    wrap,
)
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.layout import LayoutChecker
from vkgroup.spirv.preamble import PREAMBLE, ModulePreamble
from vkgroup.spirv.types import (
    ArrayType,
    CooperativeMatrixType,
    ImageType,
    MatrixType,
    OpaqueType,
    PointerType,
    SampledImageType,
    ScalarType,
    StructMember,
    StructType,
    Type,
    VectorType,
    innermost,
)

_OP_FUNCTION = 54


@dataclass(frozen=True, slots=True)
class ModuleVariable:
    """A variable of the module's global scope."""

    id: int
    storage_class: str
    type: Type


class Declarations(ModulePreamble):
    """All declarations of a module, by result id.

    Raises InvalidModule if a declaration refers to an id that does not exist, or has too few words.
    """

    def __init__(self, module: Binary) -> None:
        super().__init__(module)
        self._shared_defaults: dict[int, Value] = {}
        self._read(module)
        self._shared_defaults = shared_defaults(self.specialization_constants, self._local_size_constants())
        if self._shared_defaults:
            # Lengths of arrays and sizes of types depend on the defaults.
            self._read(module)

    def _clear(self) -> None:
        super()._clear()
        self.types: dict[int, Type] = {}
        self.constants: dict[int, Constant] = {}
        self.specialization_constants: list[SpecializationConstant] = []
        self.variables: list[ModuleVariable] = []
        self.layouts = LayoutChecker()

    def _read(self, module: Binary) -> None:
        self._clear()
        starts = module.instruction_starts
        functions = np.flatnonzero(module.words[starts] & 0xFFFF == _OP_FUNCTION)
        if functions.size:
            starts = starts[: functions[0] + 1]
        bounds = starts.tolist() if functions.size else [*starts.tolist(), len(module.words)]
        words = module.words[: bounds[-1]].tolist()
        readers = _readers()
        for start, end in pairwise(bounds):
            known = readers.get(words[start] & 0xFFFF)
            if known is None:
                continue
            name, minimum_words, reader = known
            if end - start < minimum_words:
                raise InvalidModule(f"{name} at word {start} has {end - start} words, too few")
            self._position = start
            reader(self, name, words[start + 1 : end])

    def _misused(self, identifier: int, use: str) -> InvalidModule:
        return InvalidModule(f"%{identifier} at word {self._position} is used as {use}")

    def type(self, identifier: int) -> Type:
        """Return the type with this result id."""
        kind = self.types.get(identifier)
        if kind is None:
            raise self._misused(identifier, "a type, but is another id")
        return kind

    def constant(self, identifier: int) -> Constant:
        """Return the constant with this result id."""
        constant = self.constants.get(identifier)
        if constant is None:
            raise self._misused(identifier, "a constant, but is another id")
        return constant

    def workgroup_size(self) -> int:
        """Return the result id of the built-in constant WorkgroupSize; 0 without one."""
        built_in = (grammar().number("BuiltIn", "WorkgroupSize"),)
        for identifier, decorations in self.decorations.items():
            if decorations.get("BuiltIn") == built_in and identifier in self.constants:
                return identifier
        return 0

    def _local_size_constants(self) -> list[Constant]:
        """Return the constants that the local sizes of all entry points consist of."""
        identifiers = [number for entry in self.entry_points for number in entry.modes.get("LocalSizeId", ())]
        built_in = self.constants.get(self.workgroup_size())
        parts = [self.constants[number] for number in identifiers if number in self.constants]
        return parts + list(built_in.operands if built_in is not None else ())

    def id_of(self, kind: Type) -> int:
        """Return the result id of a structure from `types`; 0 for other types."""
        return next((identifier for identifier, known in self.types.items() if known is kind), 0)

    def _scalar(self, identifier: int) -> ScalarType:
        kind = self.type(identifier)
        if not isinstance(kind, ScalarType):
            raise self._misused(identifier, "a scalar type, but is another")
        return kind

    def _read_type(self, name: str, words: list[int]) -> None:
        self.types[words[0]] = self._type_of(name, words)

    def _type_of(self, name: str, words: list[int]) -> Type:
        match name:
            case "OpTypePointer":
                return PointerType(self._enumerant("StorageClass", words[1]), self.types.get(words[2]))
            case "OpTypeUntypedPointerKHR":
                return PointerType(self._enumerant("StorageClass", words[1]), None, is_untyped=True)
            case "OpTypeForwardPointer":
                return PointerType(self._enumerant("StorageClass", words[1]), None)
            case "OpTypeStruct":
                return self._structure(words)
            case "OpTypeArray":
                return self._array(words)
            case "OpTypeRuntimeArray":
                return ArrayType(self.type(words[1]), None, self.decoration(words[0], "ArrayStride"))
            case "OpTypeVector":
                return VectorType(self._scalar(words[1]), words[2])
            case "OpTypeBool":
                return ScalarType("bool", 1)
            case "OpTypeInt":
                return ScalarType("int" if words[2] else "uint", self._width(words[1]))
            case "OpTypeFloat":
                kind = "float" if len(words) < 3 else self._enumerant("FPEncoding", words[2])
                if len(words) >= 3 and words[1] < 8:
                    raise Unsupported(f"vkgroup does not support floats of {words[1]} bits.", [kind])
                return ScalarType(kind, self._width(words[1]))
            case "OpTypeMatrix":
                column = self.type(words[1])
                if not isinstance(column, VectorType):
                    raise InvalidModule(f"the column of a matrix at word {self._position} is not a vector")
                return MatrixType(column, words[2])
            case "OpTypeCooperativeMatrixKHR":
                scope, rows, columns, use = (int(self.constant(word).evaluate()) for word in words[2:6])
                return CooperativeMatrixType(self._scalar(words[1]), scope, rows, columns, use)
            case "OpTypeImage":
                return self._image(words)
            case "OpTypeSampledImage":
                image = self.type(words[1])
                if not isinstance(image, ImageType):
                    raise InvalidModule(f"OpTypeSampledImage at word {self._position} is not of an image")
                return SampledImageType(image)
        name = name.removeprefix("OpType")
        return OpaqueType(_OPAQUE_NAMES.get(name, name))

    def _width(self, bits: int) -> int:
        if bits not in (8, 16, 32, 64):
            raise InvalidModule(f"a number of {bits} bits at word {self._position}, not of 8, 16, 32 or 64")
        return bits

    def _array(self, words: list[int]) -> ArrayType:
        length = self.constant(words[2])
        count = length.evaluate()
        if not isinstance(count, int) or count < 0:
            raise InvalidModule(f"the length of an array at word {self._position} is {count}")
        stride = self.decoration(words[0], "ArrayStride")
        return ArrayType(self.type(words[1]), count, stride, words[2] if length.is_specializable else None)

    def _structure(self, words: list[int]) -> StructType:
        members = tuple(
            self._member(words[0], index, self.type(member)) for index, member in enumerate(words[1:])
        )
        structure = StructType(self.names.get(words[0], ""), members)
        # Inner structures are measured before those that contain them, so neither of these recurses.
        self.layouts.remember(structure)
        _ = structure.size
        return structure

    def _member(self, structure: int, index: int, kind: Type) -> StructMember:
        decorations = self.member_decorations.get((structure, index), {})
        is_matrix = isinstance(innermost(kind), MatrixType)
        offset, stride = decorations.get("Offset"), decorations.get("MatrixStride")
        return StructMember(
            name=self.member_names.get((structure, index), ""),
            type=kind,
            offset=offset[0] if offset else None,
            matrix_stride=stride[0] if stride and is_matrix else None,
            row_major="RowMajor" in decorations and is_matrix,
            readable="NonReadable" not in decorations,
            writable="NonWritable" not in decorations,
        )

    def _image(self, words: list[int]) -> ImageType:
        sampled = self.type(words[1])
        return ImageType(
            sampled_type=sampled if isinstance(sampled, ScalarType) else None,
            dimension=self._enumerant("Dim", words[2]),
            depth=words[3] == 1,
            arrayed=words[4] == 1,
            multisampled=words[5] == 1,
            storage=words[6] == 2,
            format=self._enumerant("ImageFormat", words[7]),
        )

    # Constants and variables.

    def _read_constant(self, name: str, words: list[int]) -> None:
        constant: Constant | None = None
        match name:
            case "OpConstant":
                kind = self.type(words[0])
                if isinstance(kind, ScalarType):
                    constant = Constant(kind, literal_value(words[2:], kind))
            case "OpConstantTrue" | "OpConstantFalse":
                constant = Constant(self._scalar(words[0]), name == "OpConstantTrue")
            case "OpConstantNull":
                kind = self.types.get(words[0], OpaqueType(""))
                if isinstance(kind, ScalarType):
                    constant = Constant(kind, False if kind.kind == "bool" else 0)
            case "OpConstantComposite" | "OpSpecConstantComposite":
                # A composite without numbers (such as a null structure) cannot be a size and is omitted.
                if all(part in self.constants for part in words[2:]):
                    constant = combine(None, None, tuple(self.constants[part] for part in words[2:]))
            case "OpSpecConstantOp":
                constant = self._specialization_operation(words)
            case _:
                constant = self._specialization(name, words)
        if constant is not None:
            self.constants[words[1]] = constant

    def _specialization(self, name: str, words: list[int]) -> Constant:
        kind, identifier = self._scalar(words[0]), words[1]
        default = literal_value(words[2:], kind) if name == "OpSpecConstant" else name == "OpSpecConstantTrue"
        number = self.decoration(identifier, "SpecId")
        if number is None:
            return Constant(kind, default)
        name, own = self.names.get(identifier, ""), default
        default = wrap(self._shared_defaults.get(number, own), kind)
        overridden = own if own != default else None
        constant = SpecializationConstant(number, name, kind, default, overridden)
        self.specialization_constants.append(constant)
        return Constant(kind, default, constant, is_specializable=True)

    def _specialization_operation(self, words: list[int]) -> Constant | None:
        kind, name, operands = self.type(words[0]), grammar().name(words[2]), words[3:]
        if name == "OpCompositeExtract":
            part = self.constants.get(operands[0]) if operands else None
            for index in operands[1:]:
                part = part.operands[index] if part is not None and index < len(part.operands) else None
            return part
        if isinstance(kind, ScalarType) and all(operand in self.constants for operand in operands):
            return combine(kind, name, tuple(self.constants[operand] for operand in operands))
        return None

    def _read_variable(self, name: str, words: list[int]) -> None:
        pointer = self.type(words[0])
        kind = pointer.pointee if isinstance(pointer, PointerType) else None
        if name == "OpUntypedVariableKHR" and len(words) > 3:
            kind = self.type(words[3])
        if kind is None:
            raise InvalidModule(f"the type of variable %{words[1]} is not a pointer to a declared type")
        storage = self._enumerant("StorageClass", words[2])
        self.variables.append(ModuleVariable(words[1], storage, kind))


_CONSTANTS = (
    *("OpConstant", "OpConstantTrue", "OpConstantFalse", "OpConstantNull", "OpConstantComposite"),
    *("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse", "OpSpecConstantComposite"),
    "OpSpecConstantOp",
)

_OPAQUE_NAMES = {
    "Void": "void",
    "Sampler": "sampler",
    "AccelerationStructureKHR": "accelerationStructureEXT",
    "AccelerationStructureNV": "accelerationStructureEXT",
    "RayQueryKHR": "rayQueryEXT",
}
"""GLSL's names of opaque types."""

_Reader = Callable[[Declarations, str, list[int]], None]


@cache
def _readers() -> dict[int, tuple[str, int, _Reader]]:
    """Return name, minimum length and reader of each declaring instruction by opcode."""
    table = grammar()
    readers: dict[int, tuple[str, int, _Reader]] = {}
    for name, code in table.opcodes.items():
        spec = table.instruction(code)
        if name in PREAMBLE:
            reader: _Reader = Declarations._read_preamble
        elif name.startswith("OpType") and name != "OpTypeFunction":
            reader = Declarations._read_type
        elif name in _CONSTANTS:
            reader = Declarations._read_constant
        elif name in VARIABLES:
            reader = Declarations._read_variable
        else:
            continue
        if spec is not None:
            readers.setdefault(code, (spec.name, spec.minimum_words, reader))
    return readers
