"""One stage of a GL program as SPIR-V for OpenGL: its variables, classified by kind of GL resource."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from vkgroup.compiler.gl.layout import Value
from vkgroup.spirv.access import find_access
from vkgroup.spirv.declarations import Declarations, Variable
from vkgroup.spirv.editor import Editor
from vkgroup.spirv.interface import built_ins_of
from vkgroup.spirv.reflection import Module
from vkgroup.spirv.types import (
    ImageType,
    OpaqueType,
    PointerType,
    SampledImageType,
    StructType,
    Type,
    dimensions,
    innermost,
)

_FUNCTION_PARAMETER = 55


@dataclass(frozen=True)
class GlVariable:
    """A global variable that is visible to the host or to another stage."""

    id: int  # its result id
    # ``"loose"`` (a uniform of the default block, opaque parts included), ``"counter"``, ``"image"``,
    # ``"sampler"``, ``"uniform_block"``, ``"storage_block"``, ``"input"`` or ``"output"``
    kind: str
    name: str  # its OpenGL name; for a block the block's name
    type: Type  # its type, arrays included
    # `binding`, `location`, `offset`: explicit values of the source; None without one
    binding: int | None
    location: int | None
    offset: int | None
    used: bool  # whether an instruction accesses it


class GlStage:
    """A stage before lowering.

    Attributes
    ----------
    name : for example ``"compute"``.
    module, declared, editor : the module, its declarations, and the editor that rewrites it.
    variables : in the order of declaration.
    bound : names with an explicit binding; None if all bindings in the module are explicit.
    """

    def __init__(self, name: str, module: Module, bound: frozenset[str] | None = None) -> None:
        self.name = name
        self.bound = bound
        self.module = module
        self.declared = Declarations(module)
        self.editor = Editor(module)
        described = frozenset(variable.id for variable in self.declared.variables)
        access = find_access(module, described)
        self._used = access.read | access.written
        self.variables = tuple(self._variables())

    def _variables(self) -> Iterator[GlVariable]:
        for variable in self.declared.variables:
            kind = self._kind(variable)
            if kind is not None:
                block = innermost(variable.type)
                of_block = kind.endswith("_block") or (
                    kind in ("input", "output")
                    and isinstance(block, StructType)
                    and "Block" in self.decorations_of_struct(variable.id)
                )
                name = block.glsl if of_block else self.declared.names.get(variable.id, "")
                is_bound = kind == "counter" or self.bound is None or name in self.bound
                yield GlVariable(
                    variable.id,
                    kind,
                    name,
                    variable.type,
                    self.declared.decoration(variable.id, "Binding") if is_bound else None,
                    self.declared.decoration(variable.id, "Location"),
                    self.declared.decoration(variable.id, "Offset"),
                    variable.id in self._used,
                )

    def _kind(self, variable: Variable) -> str | None:
        storage, inner = variable.storage_class, innermost(variable.type)
        if storage == "AtomicCounter":
            return "counter"
        if storage == "UniformConstant":
            if isinstance(inner, ImageType):
                return "image" if inner.storage else "sampler"
            if isinstance(inner, SampledImageType):
                return "sampler"
            return None if isinstance(inner, OpaqueType) else "loose"
        if storage == "StorageBuffer":
            return "storage_block"
        if storage == "Uniform":
            old = "BufferBlock" in self.decorations_of_struct(variable.id)
            return "storage_block" if old else "uniform_block"
        if storage in ("Input", "Output") and not built_ins_of(self.declared, variable):
            return storage.lower()
        return None

    def struct_of(self, variable: int) -> int:
        """Return the id of the structure type of a variable, or of its array elements; 0 for other types."""
        kind = self.pointee(variable)
        while True:
            name, words = self.editor.definition(kind)
            if name not in ("OpTypeArray", "OpTypeRuntimeArray"):
                return kind if name == "OpTypeStruct" else 0
            kind = words[2]

    @property
    def hands_moved_pointers(self) -> bool:
        """Whether a function parameter points to a counter, a uniform structure or an array of arrays."""
        for words in self.editor.instructions:
            if words[0] & 0xFFFF != _FUNCTION_PARAMETER:
                continue
            kind = self.declared.type(words[1])
            if not isinstance(kind, PointerType) or kind.pointee is None:
                continue
            if kind.storage_class == "AtomicCounter":
                return True
            inner = innermost(kind.pointee)
            is_structure = isinstance(inner, StructType) or len(dimensions(kind.pointee)) > 1
            if kind.storage_class == "UniformConstant" and is_structure:
                return True
        return False

    def pointee(self, variable: int) -> int:
        """Return the id of a variable's type, without the pointer."""
        _, words = self.editor.definition(variable)
        _, words = self.editor.definition(words[1])
        return words[3]

    def opaque_type(self, variable: int, members: tuple[int, ...]) -> int:
        """Return the id of the opaque type of nested members, without arrays."""
        kind, steps = self.pointee(variable), list(members)
        while True:
            name, words = self.editor.definition(kind)
            if name == "OpTypeArray":
                kind = words[2]
            elif name == "OpTypeStruct" and steps:
                kind = words[2 + steps.pop(0)]
            else:
                return kind

    def decorations_of_struct(self, variable: int) -> dict[str, tuple[int, ...]]:
        """Return the decorations of a variable's structure type."""
        return self.declared.decorations.get(self.struct_of(variable), {})

    def initial(self, variable: int) -> Value:
        """Return the constant of a variable's initializer; None without an initializer."""
        _, words = self.editor.definition(variable)
        return self._value(words[4]) if len(words) > 4 else None

    def _value(self, identifier: int) -> Value:
        name, words = self.editor.definition(identifier)
        if name in ("OpConstantComposite", "OpSpecConstantComposite"):
            return [self._value(part) for part in words[3:]]
        constant = self.declared.constants.get(identifier)
        return None if name == "OpConstantNull" or constant is None else constant.evaluate()


def uniform_locations(kind: Type) -> int:
    """Return the number of locations of a loose uniform: one for each scalar, vector, matrix or sampler."""
    inner = innermost(kind)
    members = inner.members if isinstance(inner, StructType) else ()
    locations = sum(uniform_locations(member.type) for member in members) if members else 1
    return locations * math.prod(length or 1 for length in dimensions(kind))
