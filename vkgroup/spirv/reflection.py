"""What a module asks of whoever runs it: entry points, bindings, constants, capabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vkgroup.errors import InvalidModule
from vkgroup.spec.stages import EXECUTION_MODELS
from vkgroup.spirv.access import find_access
from vkgroup.spirv.annotations import EntryPointDeclaration
from vkgroup.spirv.constants import Constant, SpecializationConstant, Value
from vkgroup.spirv.declarations import Declarations, Variable
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.interface import Interface, interface_of
from vkgroup.spirv.module import Module
from vkgroup.spirv.rays import RayInterface, find_rays
from vkgroup.spirv.subgroup_uses import SubgroupUse, find_subgroup_uses
from vkgroup.spirv.types import (
    ArrayType,
    ImageType,
    Member,
    OpaqueType,
    SampledImageType,
    ScalarType,
    StructType,
    Type,
)


@dataclass(frozen=True, slots=True)
class LocalSize:
    """The number of invocations of a workgroup in three dimensions.

    Attributes
    ----------
    source : where it comes from: ``"LocalSize"`` (literals), ``"LocalSizeId"`` (constants), or
        ``"WorkgroupSize"`` (the built-in constant, which overrides the others).
    constants : the three numbers.
    """

    source: str
    constants: tuple[Constant, Constant, Constant]

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
    """A function that a pipeline can start.

    Attributes
    ----------
    name, stage : for example ``"main"`` and ``"compute"``.
    interface : ids of the variables it names.
    local_size : None for stages without workgroups.
    execution_modes : literals (or ids) of each mode by SPIR-V's name, for example
        ``{"LocalSize": (64, 1, 1), "MaximallyReconvergesKHR": ()}``.
    variables : its inputs and outputs.
    """

    name: str
    stage: str
    interface: tuple[int, ...]
    local_size: LocalSize | None
    execution_modes: Mapping[str, tuple[int, ...]]
    variables: Interface


@dataclass(frozen=True, slots=True)
class Binding:
    """A descriptor that the module uses.

    Attributes
    ----------
    set, binding : its place.
    name : the variable's name, or the block's where the variable has none.
    kind : ``"storage_buffer"``, ``"uniform_buffer"``, ``"storage_image"``, ``"sampled_image"``,
        ``"combined_image_sampler"``, ``"sampler"``, ``"uniform_texel_buffer"``,
        ``"storage_texel_buffer"``, ``"acceleration_structure"`` or ``"input_attachment"``.
    type : what one descriptor holds: a `StructType` for buffers.
    count : number of descriptors; None where the descriptor set decides it.
    readable, writable : what the declaration allows (``writeonly``, ``readonly``, the kind).
    read, written : whether any instruction reads it, or writes to it.
    id : the variable's result id.
    block_name : the name of a buffer's block; empty for what is no buffer.
    layout : of a buffer: ``"std140"``, ``"std430"`` or ``"scalar"``, the strictest that it keeps.
    attachment_index : of an input attachment: its InputAttachmentIndex, of an array the first's.
    """

    set: int
    binding: int
    name: str
    kind: str
    type: Type
    count: int | None
    readable: bool
    writable: bool
    read: bool
    written: bool
    id: int
    block_name: str = ""
    layout: str | None = None
    attachment_index: int | None = None


@dataclass(frozen=True, slots=True)
class PushConstants:
    """The push-constant block.

    Attributes
    ----------
    name : the variable's name, or the block's where the variable has none.
    offset, size : the bytes that it covers, ``offset <= byte < size``.
    type : the block; its members have offsets from the start of all push constants.
    layout : the strictest layout rules that it keeps.
    """

    name: str
    offset: int
    size: int
    type: StructType
    layout: str | None

    @property
    def members(self) -> tuple[Member, ...]:
        """The block's members."""
        return self.type.members


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable in shared memory.

    Attributes
    ----------
    size, alignment : bytes, with specialization constants at their defaults; no size where it has none.
    default_length : elements of it, in all dimensions that specialization can change, at the defaults.
    lengths : of these dimensions.
    """

    size: int | None
    alignment: int
    default_length: int
    lengths: tuple[Constant, ...]


@dataclass(frozen=True)
class Reflection:
    """What a module declares.

    Attributes
    ----------
    entry_points, bindings, push_constants, specialization_constants : see their types; bindings
        are ordered by set and binding, specialization constants by id.
    capabilities, extensions : SPIR-V's names.
    extended_instruction_sets : for example ``"GLSL.std.450"``.
    memory_model : addressing and memory model, for example ``("Logical", "GLSL450")``.
    subgroup_uses : the subgroup operations in it, with their types.
    array_lengths : lengths of arrays that specialization can change.
    interface_lengths : those among them that count descriptors, or outputs of a fragment shader.
    shared_variables : what lies in shared memory, in order.
    rays : what a stage of ray tracing hands on and takes.
    source : the source text carried along, None where there is none.
    """

    entry_points: tuple[EntryPoint, ...]
    bindings: tuple[Binding, ...]
    push_constants: PushConstants | None
    specialization_constants: tuple[SpecializationConstant, ...]
    capabilities: frozenset[str]
    extensions: frozenset[str]
    extended_instruction_sets: frozenset[str]
    memory_model: tuple[str, str]
    subgroup_uses: frozenset[SubgroupUse]
    array_lengths: tuple[Constant, ...]
    interface_lengths: tuple[Constant, ...]
    shared_variables: tuple[SharedVariable, ...]
    rays: RayInterface
    source: str | None

    @property
    def workgroup_memory(self) -> int:
        """Bytes of shared memory with specialization constants at their defaults; as `shared_memory`."""
        return self.shared_memory({})

    def shared_memory(self, specialization: Mapping[int, Value]) -> int:
        """Return the bytes of shared memory under values by specialization id.

        The variables lie one after the other by the rule of Vulkan 1.3 §9.9 (std430 layout); -1 where a type
        has no such size.
        """
        end = 0
        for variable in self.shared_variables:
            if variable.size is None:
                return -1
            size = variable.size
            if variable.lengths:
                size = -(-size // variable.default_length // variable.alignment) * variable.alignment
                size *= math.prod(int(length.evaluate(specialization)) for length in variable.lengths)
            end = -(-end // variable.alignment) * variable.alignment + size
        return end

    def entry_point(self, name: str | None = None) -> EntryPoint:
        """Return the entry point called `name`, or the only one.

        Raises
        ------
        InvalidModule
            There is none of that name, or several to choose from.
        """
        found = [entry for entry in self.entry_points if name in (None, entry.name)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(entry.name for entry in self.entry_points) or "none"
        wanted = "a single entry point" if name is None else f"one entry point {name!r}"
        raise InvalidModule(f"the module does not have {wanted}; it has: {names}")

    def binding(self, key: str | int | tuple[int, int]) -> Binding:
        """Return a binding by name, by number in set 0, or by (set, number); raises KeyError."""
        for binding in self.bindings:
            place = (binding.set, binding.binding)
            if key in (binding.name, place) or (isinstance(key, int) and place == (0, key)):
                return binding
        raise KeyError(key)


def reflect(module: Module) -> Reflection:
    """Read what `module` declares.

    Raises
    ------
    InvalidModule
        The declarations refer to what does not exist, or have too few words.
    """
    declared = Declarations(module)
    return Reflection(
        entry_points=tuple(_entry_point(declared, entry) for entry in declared.entry_points),
        bindings=_bindings(module, declared),
        push_constants=_push_constants(declared),
        specialization_constants=tuple(
            sorted(declared.specialization_constants, key=lambda constant: constant.id)
        ),
        capabilities=frozenset(declared.capabilities),
        extensions=frozenset(declared.extensions),
        extended_instruction_sets=frozenset(declared.extended_instruction_sets),
        memory_model=declared.memory_model,
        subgroup_uses=find_subgroup_uses(module, declared),
        array_lengths=_lengths(declared, declared.types.values()),
        interface_lengths=_lengths(declared, _interface_arrays(declared)),
        shared_variables=_shared_variables(declared),
        rays=find_rays(module, declared),
        source=next((text for text in declared.sources if text), None),
    )


def _entry_point(declared: Declarations, entry: EntryPointDeclaration) -> EntryPoint:
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
    """Find the workgroup's size; the WorkgroupSize built-in goes before the execution modes."""
    if not {"LocalSize", "LocalSizeId"} & entry.modes.keys() and entry.execution_model != "GLCompute":
        return None
    built_in = {name: number for number, name in grammar().enumeration("BuiltIn").items()}["WorkgroupSize"]
    for identifier, decorations in declared.decorations.items():
        if decorations.get("BuiltIn") == (built_in,) and identifier in declared.constants:
            return LocalSize("WorkgroupSize", _three(declared.constants[identifier].operands))
    if "LocalSizeId" in entry.modes:
        ids = entry.modes["LocalSizeId"]
        return LocalSize("LocalSizeId", _three(tuple(declared.constant(number) for number in ids)))
    unsigned = ScalarType("uint", 32)
    if "LocalSize" not in entry.modes:
        return None
    return LocalSize(
        "LocalSize", _three(tuple(Constant(unsigned, number) for number in entry.modes["LocalSize"]))
    )


def _three(constants: tuple[Constant, ...]) -> tuple[Constant, Constant, Constant]:
    if len(constants) != 3 or any(
        constant.type is None or constant.type.kind not in ("int", "uint") for constant in constants
    ):
        raise InvalidModule("the size of the workgroup is not three integers")
    return constants[0], constants[1], constants[2]


def _lengths(declared: Declarations, types: Iterable[Type]) -> tuple[Constant, ...]:
    """Collect the lengths that specialization can change."""
    arrays = (kind for kind in types if isinstance(kind, ArrayType))
    return tuple(
        declared.constant(kind.length_constant) for kind in arrays if kind.length_constant is not None
    )


def _interface_arrays(declared: Declarations) -> Iterator[ArrayType]:
    """Go over the arrays whose elements are descriptors, or outputs of a fragment shader."""
    drawn = any(entry.execution_model == "Fragment" for entry in declared.entry_points)
    for variable in declared.variables:
        output = drawn and variable.storage_class == "Output"
        kind = variable.type
        while isinstance(kind, ArrayType):
            if output or declared.decoration(variable.id, "Binding") is not None:
                yield kind
            kind = kind.element


def _bindings(module: Module, declared: Declarations) -> tuple[Binding, ...]:
    described = [
        (variable, number)
        for variable in declared.variables
        if (number := declared.decoration(variable.id, "Binding")) is not None
    ]
    access = find_access(module, frozenset(variable.id for variable, _ in described))
    found = []
    for variable, number in described:
        count, element = _descriptors(variable.type)
        kind = _kind(variable, element, declared)
        if kind is None:
            continue
        readable, writable = _allowed(declared, variable, element, kind)
        block = element if isinstance(element, StructType) else None
        found.append(
            Binding(
                set=declared.decoration(variable.id, "DescriptorSet") or 0,
                binding=number,
                name=_variable_name(declared, variable, element),
                kind=kind,
                type=element,
                count=count,
                readable=readable,
                writable=writable,
                read=variable.id in access.read,
                written=writable and variable.id in access.written,
                id=variable.id,
                block_name=block.name if block else "",
                layout=declared.layouts.rules(block) if block else None,
                attachment_index=declared.decoration(variable.id, "InputAttachmentIndex"),
            )
        )
    return tuple(sorted(found, key=lambda binding: (binding.set, binding.binding, binding.id)))


def _variable_name(declared: Declarations, variable: Variable, kind: Type) -> str:
    return declared.names.get(variable.id) or (kind.name if isinstance(kind, StructType) else "")


def _descriptors(kind: Type) -> tuple[int | None, Type]:
    """Split an array of descriptors into how many there are and what each is."""
    count: int | None = 1
    while isinstance(kind, ArrayType):
        count = None if count is None or kind.length is None else count * kind.length
        kind = kind.element
    return count, kind


def _kind(variable: Variable, kind: Type, declared: Declarations) -> str | None:
    """Descriptor kind by Vulkan 1.3 §15.5.3, table "Shader Resource and Descriptor Type Correspondence"."""
    if variable.storage_class == "StorageBuffer":
        return "storage_buffer"
    if variable.storage_class == "Uniform":
        is_old_style = any(
            "BufferBlock" in decorations and declared.types.get(identifier) is kind
            for identifier, decorations in declared.decorations.items()
        )
        return "storage_buffer" if is_old_style else "uniform_buffer"
    if variable.storage_class != "UniformConstant":
        return None
    if isinstance(kind, SampledImageType):
        return "uniform_texel_buffer" if kind.image.dimension == "Buffer" else "combined_image_sampler"
    if isinstance(kind, ImageType):
        return _image_kind(kind)
    if isinstance(kind, OpaqueType):
        return {"sampler": "sampler", "accelerationStructureEXT": "acceleration_structure"}.get(kind.name)
    return None


def _image_kind(image: ImageType) -> str:
    if image.dimension == "SubpassData":
        return "input_attachment"
    if image.dimension == "Buffer":
        return "storage_texel_buffer" if image.storage else "uniform_texel_buffer"
    return "storage_image" if image.storage else "sampled_image"


def _allowed(declared: Declarations, variable: Variable, kind: Type, descriptor: str) -> tuple[bool, bool]:
    """Whether the declaration allows reading and writing, by decorations of variable and members."""
    decorations = declared.decorations.get(variable.id, {})
    readable, writable = "NonReadable" not in decorations, "NonWritable" not in decorations
    if isinstance(kind, StructType) and kind.members:
        readable = readable and any(member.readable for member in kind.members)
        writable = writable and any(member.writable for member in kind.members)
    return readable, writable and descriptor.startswith("storage_")


def _push_constants(declared: Declarations) -> PushConstants | None:
    for variable in declared.variables:
        if variable.storage_class == "PushConstant" and isinstance(variable.type, StructType):
            block = variable.type
            return PushConstants(
                name=_variable_name(declared, variable, block),
                offset=min((member.offset or 0 for member in block.members), default=0),
                size=block.fixed_size,
                type=block,
                layout=declared.layouts.rules(block),
            )
    return None


def _shared_variables(declared: Declarations) -> tuple[SharedVariable, ...]:
    """The variables in shared memory, with those of their lengths that specialization can change."""
    found = []
    for variable in declared.variables:
        if variable.storage_class != "Workgroup":
            continue
        size, alignment = declared.layouts.shared_size(variable.type)
        default, lengths, kind = 1, [], variable.type
        while isinstance(kind, ArrayType):
            if kind.length_constant is not None and kind.length:
                default *= kind.length
                lengths.append(declared.constant(kind.length_constant))
            kind = kind.element
        found.append(SharedVariable(size, alignment, default, tuple(lengths)))
    return tuple(found)
