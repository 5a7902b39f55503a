"""Block types with layout, variables, indices and conversions for a module that is being lowered."""

from __future__ import annotations

from collections.abc import Sequence

from vkgroup.compiler.gl.layout import array_stride, data_members, matrix_stride, member_offsets
from vkgroup.spirv.binary import literal
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.types import ArrayType, MatrixType, StructType, Type, innermost


class BlockTypes:
    """Declarations that the lowering of a stage adds.

    Attributes
    ----------
    names, decorations : new instructions for the sections before the types.
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
