"""Stages of a GL program as SPIR-V for OpenGL: variables by kind of GL resource, and locations.

Outputs match the next stage's inputs by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vkgroup.compiler.gl.blocks import Value
from vkgroup.spirv.declarations import Declarations, ModuleVariable
from vkgroup.spirv.editor import Editor
from vkgroup.spirv.instruction_uses import find_access
from vkgroup.spirv.interface import built_ins_of, location_count
from vkgroup.spirv.reflection import Module
from vkgroup.spirv.types import (
    ArrayType,
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

    `name`: for example ``"compute"``.
    `module`, `declared`, `editor`: the module, its declarations, and the editor that rewrites it.
    `variables`: in the order of declaration.
    `bound`: names with an explicit binding; None if all bindings in the module are explicit.
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

    def _kind(self, variable: ModuleVariable) -> str | None:
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


#: Stages whose inputs or outputs are arrays with one element per vertex of a primitive.
_ARRAYED_INPUTS = ("tessellation_control", "tessellation_evaluation", "geometry")
_ARRAYED_OUTPUTS = ("tessellation_control",)

Locations = dict[tuple[str, int], int]
"""Location by stage and variable, for variables without an explicit location."""


class PlanError(Exception):
    """A conflict between stages of a program; each argument is one message."""


def locate(stages: Sequence[GlStage]) -> Locations:
    """Return locations for inputs and outputs without an explicit location; stages are in pipeline order.

    Raises PlanError if a stage reads an input that the stage before it does not declare as output.
    """
    locations: Locations = {}
    for number in range(len(stages) + 1):
        sides = [
            (stage, direction)
            for stage, direction in (
                (stages[number - 1] if number else None, "output"),
                (stages[number] if number < len(stages) else None, "input"),
            )
            if stage is not None
        ]
        variables = [
            (stage, variable, _per_vertex(stage, variable))
            for stage, direction in sides
            for variable in stage.variables
            if variable.kind == direction and not _members_located(stage, variable)
        ]
        _check_inputs(sides)
        by_name = {
            variable.name: variable.location for _, variable, _ in variables if variable.location is not None
        }
        taken = NumberAllocator()
        for _, variable, kind in variables:
            if variable.location is not None:
                taken.take(variable.location, location_count(kind))
        for stage, variable, kind in variables:
            if variable.location is None:
                if variable.name not in by_name:
                    by_name[variable.name] = taken.free(location_count(kind))
                locations[stage.name, variable.id] = by_name[variable.name]
    return locations


def _check_inputs(sides: Sequence[tuple[GlStage, str]]) -> None:
    """Raise PlanError for a used input that the stage before does not declare (GL 4.3, 7.4.1)."""
    if len(sides) < 2:
        return
    (before, _), (after, _) = sides
    outputs = [variable for variable in before.variables if variable.kind == "output"]
    names = {variable.name for variable in outputs}
    locations = {variable.location for variable in outputs} - {None}
    for variable in after.variables:
        if variable.kind == "input" and variable.used and not _members_located(after, variable):
            known = variable.name in names or variable.location in locations
            if not known:
                raise PlanError(
                    f"the {after.name} stage reads {variable.name}, which the {before.name} stage does not "
                    f"declare: add out {variable.type.glsl} {variable.name}; there"
                )


def _members_located(stage: GlStage, variable: GlVariable) -> bool:
    """Return whether members of a block have explicit locations."""
    structure = stage.struct_of(variable.id)
    return any(
        identifier == structure and "Location" in decorations
        for (identifier, _), decorations in stage.declared.member_decorations.items()
    )


def _per_vertex(stage: GlStage, variable: GlVariable) -> Type:
    """Return the type of an input or output for one vertex."""
    arrayed = _ARRAYED_INPUTS if variable.kind == "input" else _ARRAYED_OUTPUTS
    patch = "Patch" in stage.declared.decorations.get(variable.id, {})
    if stage.name in arrayed and not patch and isinstance(variable.type, ArrayType):
        return variable.type.element
    return variable.type


def located(locations: Locations, stage: GlStage, kind: str) -> tuple[tuple[str, int], ...]:
    """Return names and locations of the inputs or outputs of a stage."""
    pairs = []
    for variable in stage.variables:
        if variable.kind == kind:
            location = locations.get((stage.name, variable.id), variable.location)
            if location is not None:
                pairs.append((variable.name, location))
    return tuple(pairs)


class NumberAllocator:
    """Allocator of consecutive numbers."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self, first: int, count: int) -> None:
        """Mark `count` consecutive numbers as taken."""
        self._taken.update(range(first, first + count))

    def free(self, count: int, first: int = 0) -> int:
        """Take the first `count` consecutive free numbers that are not below `first`; return the lowest."""
        while any(number in self._taken for number in range(first, first + count)):
            first += 1
        self.take(first, count)
        return first
