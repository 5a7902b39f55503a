"""Block types of a module that is being lowered: layout, variables, indices and conversions.

Loose uniforms have the std140 layout (GL 4.3, 7.6.2.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vkgroup.compiler.gl.interface import LooseUniform
from vkgroup.spirv.binary import literal
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.layout import round_up
from vkgroup.spirv.types import (
    ArrayType,
    ImageType,
    MatrixType,
    OpaqueType,
    SampledImageType,
    ScalarType,
    StructType,
    Type,
    VectorType,
    innermost,
)

#: A constant: a number, or a sequence of constants; None without an initializer, which means zeros.
Value = float | int | bool | Sequence[Any] | None


def is_opaque(kind: Type) -> bool:
    """Return whether a type is opaque (image or sampler) and cannot be stored in a buffer."""
    return isinstance(kind, ImageType | SampledImageType | OpaqueType)


def holds_opaque(kind: Type) -> bool:
    """Return whether a type is opaque or has an opaque part."""
    kind = innermost(kind)
    if isinstance(kind, StructType):
        return any(holds_opaque(member.type) for member in kind.members)
    return is_opaque(kind)


def holds_data(kind: Type) -> bool:
    """Return whether a type has a part that can be stored in a buffer."""
    kind = innermost(kind)
    if isinstance(kind, StructType):
        return any(holds_data(member.type) for member in kind.members)
    return not is_opaque(kind)


def data_members(kind: StructType) -> list[int]:
    """Return the indices of the members that have a part stored in the buffer."""
    return [index for index, member in enumerate(kind.members) if holds_data(member.type)]


def extent(kind: Type) -> tuple[int, int]:
    """Return size and base alignment of a type in std140, in bytes; opaque members are omitted."""
    if isinstance(kind, ScalarType):
        size = kind.size or 4
        return size, size
    if isinstance(kind, VectorType):
        size = kind.component.size or 4
        return size * kind.count, size * (2 if kind.count == 2 else 4)
    if isinstance(kind, MatrixType):
        stride = matrix_stride(kind)
        return stride * kind.columns, stride
    if isinstance(kind, ArrayType):
        stride = array_stride(kind)
        return stride * (kind.length or 0), round_up(extent(kind.element)[1], 16)
    if isinstance(kind, StructType):
        ends = [(offset, extent(kind.members[index].type)) for index, offset in member_offsets(kind)]
        alignment = round_up(max((extent[1] for _, extent in ends), default=1), 16)
        end = max((offset + extent[0] for offset, extent in ends), default=0)
        return round_up(end, alignment), alignment
    raise TypeError(f"{kind.glsl} cannot be stored in a block")


def array_stride(kind: ArrayType) -> int:
    """Return the bytes from one element of an array to the next."""
    size, alignment = extent(kind.element)
    return round_up(size, round_up(alignment, 16))


def matrix_stride(kind: MatrixType) -> int:
    """Return the bytes from one column of a matrix to the next."""
    return round_up(extent(kind.column)[1], 16)


def member_offsets(kind: StructType) -> list[tuple[int, int]]:
    """Return index and offset of each member that is stored in the buffer."""
    offsets, end = [], 0
    for index in data_members(kind):
        size, alignment = extent(kind.members[index].type)
        offset = round_up(end, alignment)
        offsets.append((index, offset))
        end = offset + size
    return offsets


def leaves(name: str, kind: Type, offset: int, value: Value) -> Iterator[LooseUniform]:
    """Yield the parts of a variable that OpenGL counts as uniforms (GL 4.3, 7.3.1), in the order of offsets.

    `offset` is that of the variable in the block, and `value` the constant of its initializer. Locations are
    0.
    """
    parts = value if isinstance(value, Sequence) else None
    if isinstance(kind, StructType):
        for index, start in member_offsets(kind):
            member = kind.members[index]
            part = parts[index] if parts else None
            yield from leaves(f"{name}.{member.name}", member.type, offset + start, part)
    elif isinstance(kind, ArrayType) and isinstance(kind.element, ArrayType | StructType):
        for number in range(kind.length or 0):
            start, part = offset + number * array_stride(kind), parts[number] if parts else None
            yield from leaves(f"{name}[{number}]", kind.element, start, part)
    else:
        element = kind.element if isinstance(kind, ArrayType) else kind
        length = kind.length if isinstance(kind, ArrayType) else None
        count = _components(element) * (1 if length is None else length)
        yield LooseUniform(
            name=name,
            type=element.glsl,
            length=length,
            location=0,
            offset=offset,
            array_stride=array_stride(kind) if isinstance(kind, ArrayType) else 0,
            matrix_stride=matrix_stride(element) if isinstance(element, MatrixType) else 0,
            initial=(0,) * count if value is None else tuple(_flat(value)),
        )


def same(first: Type, second: Type) -> bool:
    """Return whether OpenGL considers two types equal: structure and member names matter, offsets do not."""
    if isinstance(first, ArrayType) and isinstance(second, ArrayType):
        return first.length == second.length and same(first.element, second.element)
    if isinstance(first, StructType) and isinstance(second, StructType):
        return (first.name, len(first.members)) == (second.name, len(second.members)) and all(
            a.name == b.name and same(a.type, b.type)
            for a, b in zip(first.members, second.members, strict=True)
        )
    return first == second


def _components(kind: Type) -> int:
    if isinstance(kind, MatrixType):
        return kind.columns * kind.column.count
    return kind.count if isinstance(kind, VectorType) else 1


def _flat(value: Value) -> Iterator[float | int | bool]:
    if isinstance(value, Sequence):
        for part in value:
            yield from _flat(part)
    elif value is not None:
        yield value


class BlockTypes:
    """Declarations that the lowering of a stage adds.

    `names`, `decorations`: new instructions for the sections before the types.
    """

    def __init__(self, editor: Editor, declared: Declarations) -> None:
        self._editor, self._declared = editor, declared
        self.names: list[Words] = []
        self.decorations: list[Words] = []
        self._stored: dict[int, int] = {}

    # Declarations ----------------------------------------------------------------------------------

    def name(self, identifier: int, text: str, member: int | None = None) -> None:
        """Add a name for an id or for a member of a structure."""
        words = literal(text.encode())
        if member is None:
            self.names.append(self._editor.instruction("OpName", identifier, *words))
        else:
            self.names.append(self._editor.instruction("OpMemberName", identifier, member, *words))

    def decorate(self, identifier: int, decoration: str, *literals: int) -> None:
        """Add a decoration to an id."""
        number = _decoration(decoration)
        self.decorations.append(self._editor.instruction("OpDecorate", identifier, number, *literals))

    def decorate_member(self, structure: int, member: int, decoration: str, *literals: int) -> None:
        """Add a decoration to a member of a structure."""
        number = _decoration(decoration)
        self.decorations.append(
            self._editor.instruction("OpMemberDecorate", structure, member, number, *literals)
        )

    def put(self, variable: int, slot: tuple[int, int]) -> None:
        """Decorate a variable with set and binding, given as a pair."""
        self.decorate(variable, "DescriptorSet", slot[0])
        self.decorate(variable, "Binding", slot[1])

    def variable(self, storage: str, type_: int) -> int:
        """Declare a global variable and return its id."""
        identifier = self._editor.fresh()
        pointer = self._pointer(storage, type_)
        self._editor.add("OpVariable", pointer, identifier, _storage(storage))
        return identifier

    def _pointer(self, storage: str, type_: int) -> int:
        return self._editor.declare("OpTypePointer", _storage(storage), type_)

    def array_of(self, element: int, length: int) -> int:
        """Return the id of an array type without layout."""
        return self._editor.declare("OpTypeArray", element, self.index(length))

    def counters(self) -> int:
        """Declare a structure with a runtime array of counters; the caller names and decorates it."""
        array, structure = self._editor.fresh(), self._editor.fresh()
        self._editor.add("OpTypeRuntimeArray", array, self._editor.integer())
        self._editor.add("OpTypeStruct", structure, array)
        self.decorate(array, "ArrayStride", 4)
        self.decorate_member(structure, 0, "Offset", 0)
        self.name(structure, "counters", 0)
        return structure

    def structure(self, name: str, members: Sequence[tuple[str, int, int]]) -> int:
        """Declare a structure with layout; members are given as name, id of the type, and offset."""
        types = [self.stored(kind) for _, kind, _ in members]
        identifier = self._editor.fresh()
        self._editor.add("OpTypeStruct", identifier, *types)
        self.name(identifier, name)
        for number, (member, kind, offset) in enumerate(members):
            self.name(identifier, member, number)
            self.decorate_member(identifier, number, "Offset", offset)
            inner = innermost(self._type(kind))
            if isinstance(inner, MatrixType):
                self.decorate_member(identifier, number, "ColMajor")
                self.decorate_member(identifier, number, "MatrixStride", matrix_stride(inner))
        return identifier

    def stored(self, kind: int) -> int:
        """Return the id of the type that represents a type in a block; the same id if no layout is needed.

        Booleans are stored as 32-bit numbers; opaque members are omitted.
        """
        if kind not in self._stored:
            self._stored[kind] = self._store(kind)
        return self._stored[kind]

    def _store(self, kind: int) -> int:
        name, words = self._editor.definition(kind)
        if name == "OpTypeBool":
            return self._editor.integer()
        if name == "OpTypeVector":
            return self._editor.vector(self.stored(words[2]), words[3])
        if name == "OpTypeArray":
            identifier, array = self._editor.fresh(), self._type(kind)
            assert isinstance(array, ArrayType)
            self._editor.add("OpTypeArray", identifier, self.stored(words[2]), words[3])
            self.decorate(identifier, "ArrayStride", array_stride(array))
            return identifier
        if name == "OpTypeStruct":
            structure = self._struct(kind)
            return self.structure(
                structure.name,
                [
                    (structure.members[member].name, words[2 + member], offset)
                    for member, offset in member_offsets(structure)
                ],
            )
        return kind

    def position(self, structure: int, member: int) -> int | None:
        """Return a member's index in the stored structure; None if the member is omitted there."""
        members = data_members(self._struct(structure))
        return members.index(member) if member in members else None

    def _type(self, kind: int) -> Type:
        return self._declared.type(kind)

    def _struct(self, kind: int) -> StructType:
        structure = self._type(kind)
        assert isinstance(structure, StructType)
        return structure

    # Indices ---------------------------------------------------------------------------------------

    def index(self, value: int) -> int:
        """Return the id of an unsigned constant."""
        return self._editor.constant(self._editor.integer(), value)

    def literal(self, identifier: int) -> int | None:
        """Return the value of an integer constant; None for other ids."""
        name, words = self._editor.definition(identifier)
        return words[3] if name == "OpConstant" else None

    def linear(self, sizes: Sequence[int], indices: Sequence[int], base: int = 0) -> tuple[list[Words], int]:
        """Return instructions and id of the linear index into an array of arrays stored as one array.

        `sizes` and `indices` are lengths and ids, outermost first; `base` is the index of the first element.
        """
        made: list[Words] = []
        unsigned, total = self._editor.integer(), self.index(base)
        for number, index in enumerate(indices):
            step = 1
            for size in sizes[number + 1 :]:
                step *= size
            term = self._combined(made, "OpIMul", index, self.index(step), unsigned)
            total = self._combined(made, "OpIAdd", total, term, unsigned)
        return made, total

    def _combined(self, made: list[Words], operation: str, first: int, second: int, type_: int) -> int:
        """Return the id of a sum or product of two ids; add an instruction to `made` unless constant."""
        a, b = self.literal(first), self.literal(second)
        neutral = 1 if operation == "OpIMul" else 0
        if a is not None and b is not None:
            return self.index(a * b if operation == "OpIMul" else a + b)
        if b == neutral:
            return first
        if a == neutral:
            return second
        result = self._editor.fresh()
        made.append(self._editor.instruction(operation, type_, result, first, second))
        return result

    def chain(self, storage: str, type_: int, base: int, indices: Sequence[int]) -> tuple[list[Words], int]:
        """Return the access chain to a part of a variable, and its id."""
        result, pointer = self._editor.fresh(), self._pointer(storage, type_)
        return [self._editor.instruction("OpAccessChain", pointer, result, base, *indices)], result

    # Conversions -----------------------------------------------------------------------------------

    def converted(self, value: int, kind: int, result: int) -> list[Words]:
        """Return instructions that convert a stored value to a type; all arguments are ids."""
        name, words = self._editor.definition(kind)
        if name == "OpTypeBool":
            return [self._editor.instruction("OpINotEqual", kind, result, value, self.index(0))]
        if name == "OpTypeVector":
            zeros = self._editor.composite(self.stored(kind), *[self.index(0)] * words[3])
            return [self._editor.instruction("OpINotEqual", kind, result, value, zeros)]
        if name == "OpTypeArray":
            length = self.literal(words[3]) or 0
            parts = [words[2]] * length
        else:
            parts = words[2:]
        made: list[Words] = []
        built = []
        for number, part in enumerate(parts):
            extracted = self._editor.fresh()
            stored = self.stored(part)
            made.append(self._editor.instruction("OpCompositeExtract", stored, extracted, value, number))
            if stored != part:
                target = self._editor.fresh()
                made += self.converted(extracted, part, target)
                extracted = target
            built.append(extracted)
        return [*made, self._editor.instruction("OpCompositeConstruct", kind, result, *built)]


def _decoration(name: str) -> int:
    return grammar().number("Decoration", name)


def _storage(name: str) -> int:
    return grammar().number("StorageClass", name)
