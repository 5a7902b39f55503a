"""Interface of a stage: its inputs and outputs with locations, and the built-in variables that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vkgroup.spirv.annotations import Decorations, EntryPointDeclaration
from vkgroup.spirv.declarations import Declarations, Variable
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.types import ArrayType, MatrixType, ScalarType, StructType, Type, VectorType


@dataclass(frozen=True, slots=True)
class StageVariable:
    """An input or an output with a location.

    Attributes
    ----------
    name : of the variable, or of the block's member.
    location, component : the first location that it takes, and the first component in it.
    index : 1 for the second source of dual-source blending, else 0.
    type : its type; a block has one entry for each member. Where a stage has an element for each vertex of a
        patch or primitive, the type for one vertex.
    interpolation : ``"smooth"``, ``"flat"`` or ``"noperspective"``.
    auxiliary : ``"centroid"``, ``"sample"``, ``"patch"``, ``"primitive"`` (one for each primitive of a mesh),
        or empty.
    """

    name: str
    location: int
    component: int
    index: int
    type: Type
    interpolation: str
    auxiliary: str

    @property
    def scalar(self) -> ScalarType | None:
        """The type of its components; None for a type without numbers of one type."""
        kind = self.type
        while isinstance(kind, ArrayType):
            kind = kind.element
        if isinstance(kind, MatrixType):
            kind = kind.column
        if isinstance(kind, VectorType):
            return kind.component
        return kind if isinstance(kind, ScalarType) else None

    @property
    def locations(self) -> range:
        """The locations that it takes."""
        return range(self.location, self.location + _locations(self.type))

    @property
    def components(self) -> int:
        """Components of one of its locations."""
        kind = self.type
        while isinstance(kind, ArrayType):
            kind = kind.element
        if isinstance(kind, MatrixType):
            kind = kind.column
        return kind.count if isinstance(kind, VectorType) else 1


@dataclass(frozen=True, slots=True)
class Interface:
    """Inputs and outputs of a stage.

    Attributes
    ----------
    inputs, outputs : by location and component.
    input_built_ins, output_built_ins : SPIR-V's names, for example ``"FragCoord"``, ``"FragDepth"``.
    """

    inputs: tuple[StageVariable, ...]
    outputs: tuple[StageVariable, ...]
    input_built_ins: frozenset[str]
    output_built_ins: frozenset[str]


_BY_VERTEX = frozenset(
    {
        ("TessellationControl", "Input"),
        ("TessellationControl", "Output"),
        ("TessellationEvaluation", "Input"),
        ("Geometry", "Input"),
        ("MeshEXT", "Output"),
    }
)
"""Stages and storage classes whose variables have an element for each vertex (Vulkan 1.4, 15.1.2)."""


def interface_of(declared: Declarations, entry: EntryPointDeclaration) -> Interface:
    """Return the inputs and outputs that an entry point names."""
    named = frozenset(entry.interface)
    variables: dict[str, list[StageVariable]] = {"Input": [], "Output": []}
    built_ins: dict[str, set[str]] = {"Input": set(), "Output": set()}
    for variable in declared.variables:
        if variable.storage_class in variables and variable.id in named:
            by_vertex = (entry.execution_model, variable.storage_class) in _BY_VERTEX
            variables[variable.storage_class] += _located(declared, variable, by_vertex)
            built_ins[variable.storage_class] |= _built_ins(declared, variable)
    inputs, outputs = (
        tuple(sorted(located, key=lambda item: (item.location, item.component, item.index)))
        for located in variables.values()
    )
    return Interface(inputs, outputs, frozenset(built_ins["Input"]), frozenset(built_ins["Output"]))


def _located(declared: Declarations, variable: Variable, by_vertex: bool) -> Iterator[StageVariable]:
    decorations = declared.decorations.get(variable.id, {})
    block = variable.type
    while isinstance(block, ArrayType):
        block = block.element
    if not isinstance(block, StructType):
        if "Location" in decorations:
            name, kind = declared.names.get(variable.id, ""), variable.type
            if by_vertex and "Patch" not in decorations and isinstance(kind, ArrayType):
                kind = kind.element
            yield _variable(name, decorations["Location"][0], kind, decorations)
        return
    identifier = next((number for number, kind in declared.types.items() if kind is block), 0)
    following = decorations["Location"][0] if "Location" in decorations else None
    for number, member in enumerate(block.members):
        own = declared.member_decorations.get((identifier, number), {})
        location = own["Location"][0] if "Location" in own else following
        if location is None or "BuiltIn" in own:
            continue
        following = location + _locations(member.type)
        yield _variable(member.name, location, member.type, {**decorations, **own})


def _variable(name: str, location: int, kind: Type, decorations: Decorations) -> StageVariable:
    interpolation = {"Flat": "flat", "NoPerspective": "noperspective"}
    auxiliary = {"Centroid": "centroid", "Sample": "sample", "Patch": "patch"}
    auxiliary |= dict.fromkeys(("PerPrimitiveEXT", "PerPrimitiveNV"), "primitive")
    return StageVariable(
        name=name,
        location=location,
        component=decorations.get("Component", (0,))[0],
        index=decorations.get("Index", (0,))[0],
        type=kind,
        interpolation=next((word for key, word in interpolation.items() if key in decorations), "smooth"),
        auxiliary=next((word for key, word in auxiliary.items() if key in decorations), ""),
    )


def _locations(kind: Type) -> int:
    """Return how many locations a type takes (Vulkan 1.4, 15.1.5)."""
    if isinstance(kind, ArrayType):
        return (kind.length or 1) * _locations(kind.element)
    if isinstance(kind, MatrixType):
        return kind.columns * _locations(kind.column)
    if isinstance(kind, StructType):
        return sum(_locations(member.type) for member in kind.members)
    if isinstance(kind, VectorType):
        return 2 if kind.component.bits == 64 and kind.count > 2 else 1
    return 1


def _built_ins(declared: Declarations, variable: Variable) -> set[str]:
    decorations = declared.decorations.get(variable.id, {})
    numbers = [decorations["BuiltIn"][0]] if "BuiltIn" in decorations else []
    block = variable.type
    while isinstance(block, ArrayType):
        block = block.element
    if isinstance(block, StructType):
        identifier = next((number for number, kind in declared.types.items() if kind is block), 0)
        for number in range(len(block.members)):
            own = declared.member_decorations.get((identifier, number), {})
            numbers += [own["BuiltIn"][0]] if "BuiltIn" in own else []
    return {grammar().enumerant("BuiltIn", number) for number in numbers}
