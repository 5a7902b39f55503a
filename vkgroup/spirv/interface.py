"""Entry points: stage, execution modes, workgroup size, inputs and outputs, built-in variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vkgroup.base.errors import InvalidModule
from vkgroup.spec.stages import EXECUTION_MODELS
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.constants import Constant, Value
from vkgroup.spirv.declarations import Declarations, ModuleVariable
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.preamble import Decorations, EntryPointDeclaration
from vkgroup.spirv.types import (
    ArrayType,
    MatrixType,
    ScalarType,
    StructType,
    Type,
    VectorType,
    component_of,
    innermost,
)


@dataclass(frozen=True, slots=True)
class StageVariable:
    """An input or an output with a location."""

    name: str  # of the variable, or of the block's member
    # `location`, `component`: the first location that it takes, and the first component in it
    location: int
    component: int
    index: int  # 1 for the second source of dual-source blending, else 0
    # its type; a block has one entry for each member. Where a stage has an element for each vertex of a patch
    # or primitive, the type for one vertex
    type: Type
    interpolation: str  # ``"smooth"``, ``"flat"`` or ``"noperspective"``
    # ``"centroid"``, ``"sample"``, ``"patch"``, ``"primitive"`` (one for each primitive of a mesh), or empty
    auxiliary: str

    @property
    def scalar(self) -> ScalarType | None:
        """The type of its components; None for a type without numbers of one type."""
        return component_of(innermost(self.type))

    @property
    def locations(self) -> range:
        """The locations that it takes."""
        return range(self.location, self.location + location_count(self.type))

    @property
    def components(self) -> int:
        """Components of one of its locations."""
        kind = innermost(self.type)
        if isinstance(kind, MatrixType):
            kind = kind.column
        return kind.count if isinstance(kind, VectorType) else 1


@dataclass(frozen=True, slots=True)
class ModuleInterface:
    """Inputs and outputs of a stage."""

    # `inputs`, `outputs`: by location and component
    inputs: tuple[StageVariable, ...]
    outputs: tuple[StageVariable, ...]
    # `input_built_ins`, `output_built_ins`: SPIR-V's names, for example ``"FragCoord"``, ``"FragDepth"``
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


def interface_of(declared: Declarations, entry: EntryPointDeclaration) -> ModuleInterface:
    """Return the inputs and outputs that an entry point names."""
    named = frozenset(entry.interface)
    variables: dict[str, list[StageVariable]] = {"Input": [], "Output": []}
    built_ins: dict[str, set[str]] = {"Input": set(), "Output": set()}
    for variable in declared.variables:
        if variable.storage_class in variables and variable.id in named:
            by_vertex = (entry.execution_model, variable.storage_class) in _BY_VERTEX
            variables[variable.storage_class] += _located(declared, variable, by_vertex)
            built_ins[variable.storage_class].update(built_ins_of(declared, variable).values())
    inputs, outputs = (
        tuple(sorted(located, key=lambda item: (item.location, item.component, item.index)))
        for located in variables.values()
    )
    return ModuleInterface(inputs, outputs, frozenset(built_ins["Input"]), frozenset(built_ins["Output"]))


def _located(declared: Declarations, variable: ModuleVariable, by_vertex: bool) -> Iterator[StageVariable]:
    decorations = declared.decorations.get(variable.id, {})
    block = innermost(variable.type)
    if not isinstance(block, StructType):
        if "Location" in decorations:
            name, kind = declared.names.get(variable.id, ""), variable.type
            if by_vertex and "Patch" not in decorations and isinstance(kind, ArrayType):
                kind = kind.element
            yield _variable(name, decorations["Location"][0], kind, decorations)
        return
    identifier = declared.id_of(block)
    following = decorations["Location"][0] if "Location" in decorations else None
    for number, member in enumerate(block.members):
        own = declared.member_decorations.get((identifier, number), {})
        location = own["Location"][0] if "Location" in own else following
        if location is None or "BuiltIn" in own:
            continue
        following = location + location_count(member.type)
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


def location_count(kind: Type) -> int:
    """Return the number of locations of an input or output (Vulkan 1.4, 15.1.5)."""
    if isinstance(kind, ArrayType):
        return (kind.length or 1) * location_count(kind.element)
    if isinstance(kind, MatrixType):
        return kind.columns * location_count(kind.column)
    if isinstance(kind, StructType):
        return sum(location_count(member.type) for member in kind.members)
    if isinstance(kind, VectorType):
        return 2 if kind.component.bits == 64 and kind.count > 2 else 1
    return 1


def built_ins_of(declared: Declarations, variable: ModuleVariable) -> dict[int | None, str]:
    """Return the built-in of a variable (key None), and of the members of its block by index."""
    decorations: dict[int | None, Decorations] = {None: declared.decorations.get(variable.id, {})}
    block = innermost(variable.type)
    if isinstance(block, StructType):
        identifier = declared.id_of(block)
        for number in range(len(block.members)):
            decorations[number] = declared.member_decorations.get((identifier, number), {})
    return {
        number: grammar().enumerant("BuiltIn", own["BuiltIn"][0])
        for number, own in decorations.items()
        if "BuiltIn" in own
    }


def writes_built_in(module: Binary, name: str) -> bool:
    """Return whether a module stores to a built-in output, by SPIR-V's name (``"PointSize"``).

    Built-ins that are only declared in ``gl_PerVertex`` do not count. Instructions in
    branches that are never taken count, and so do pointers to the output.
    """
    declared = Declarations(module)
    whole: set[int] = set()
    members: set[tuple[int, int]] = set()
    for variable in declared.variables:
        if variable.storage_class == "Output":
            for number, built_in in built_ins_of(declared, variable).items():
                if built_in == name and number is None:
                    whole.add(variable.id)
                elif built_in == name and number is not None and isinstance(variable.type, StructType):
                    members.add((variable.id, number))
    blocks = {variable for variable, _ in members}
    if not whole | blocks:
        return False
    names = ("OpStore", "OpAccessChain", "OpInBoundsAccessChain")
    for instruction in module.instructions_of(grammar().opcodes[name] for name in names):
        operands = instruction.operands
        if instruction.name == "OpStore" and operands[0] in whole | blocks:
            return True
        if instruction.name != "OpStore" and len(operands) > 1:
            chosen = declared.constants.get(operands[1])
            if chosen is not None and (operands[0], chosen.value) in members:
                return True
    return False


@dataclass(frozen=True, slots=True)
class LocalSize:
    """The number of invocations of a workgroup in three dimensions."""

    # its declaration: ``"LocalSize"`` (literals), ``"LocalSizeId"`` (constants), or ``"WorkgroupSize"`` (the
    # built-in constant, which overrides the others)
    source: str
    constants: tuple[Constant, Constant, Constant]  # the three numbers

    @property
    def is_specializable(self) -> bool:
        """Whether specialization constants change it."""
        return any(constant.is_specializable for constant in self.constants)

    def resolve(self, specialization: Mapping[int, Value] | None = None) -> tuple[int, int, int]:
        """Return the size under values by specialization id; the others keep their defaults."""
        x, y, z = (int(constant.evaluate(specialization)) for constant in self.constants)
        return x, y, z


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A function that a pipeline can start."""

    # `name`, `stage`: for example ``"main"`` and ``"compute"``
    name: str
    stage: str
    interface: tuple[int, ...]  # ids of the variables that it names
    local_size: LocalSize | None  # None for stages without workgroups
    # literals (or ids) of each mode by SPIR-V's name, for example ``{"LocalSize": (64, 1, 1),
    # "MaximallyReconvergesKHR": ()}``
    execution_modes: Mapping[str, tuple[int, ...]]
    variables: ModuleInterface  # its inputs and outputs


def read_entry_point(declared: Declarations, entry: EntryPointDeclaration) -> EntryPoint:
    """Return an entry point of a module."""
    stage = EXECUTION_MODELS.get(entry.execution_model)
    return EntryPoint(
        name=entry.name,
        stage=stage.name if stage else entry.execution_model,
        interface=entry.interface,
        local_size=_local_size(declared, entry),
        execution_modes=dict(entry.modes),
        variables=interface_of(declared, entry),
    )


def _local_size(declared: Declarations, entry: EntryPointDeclaration) -> LocalSize | None:
    """Return the workgroup's size; the WorkgroupSize built-in overrides the execution modes."""
    if not {"LocalSize", "LocalSizeId"} & entry.modes.keys() and entry.execution_model != "GLCompute":
        return None
    built_in = declared.constants.get(declared.workgroup_size())
    if built_in is not None:
        return LocalSize("WorkgroupSize", _three(built_in.operands))
    if "LocalSizeId" in entry.modes:
        constants = tuple(declared.constant(number) for number in entry.modes["LocalSizeId"])
        return LocalSize("LocalSizeId", _three(constants))
    if "LocalSize" not in entry.modes:
        return None
    constants = tuple(Constant(ScalarType("uint", 32), number) for number in entry.modes["LocalSize"])
    return LocalSize("LocalSize", _three(constants))


def _three(constants: tuple[Constant, ...]) -> tuple[Constant, Constant, Constant]:
    if len(constants) != 3 or any(
        constant.type is None or constant.type.kind not in ("int", "uint") for constant in constants
    ):
        raise InvalidModule("the size of the workgroup is not three integers")
    return constants[0], constants[1], constants[2]
