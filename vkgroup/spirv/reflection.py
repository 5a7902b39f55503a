"""Modules and their reflection: entry points, bindings, push and specialization constants, capabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.constants import Constant, SpecializationConstant, Value
from vkgroup.spirv.declarations import Declarations, ModuleVariable
from vkgroup.spirv.instruction_uses import (
    RayInterface,
    SubgroupUse,
    find_access,
    find_rays,
    find_subgroup_uses,
)
from vkgroup.spirv.interface import EntryPoint, read_entry_point
from vkgroup.spirv.layout import round_up
from vkgroup.spirv.types import (
    ArrayType,
    ImageType,
    OpaqueType,
    SampledImageType,
    StructMember,
    StructType,
    Type,
    dimensions,
    innermost,
)


@dataclass(frozen=True, slots=True)
class Binding:
    """A descriptor that the module uses."""

    # `set`, `binding`: its descriptor set, and its number in the set
    set: int
    binding: int
    name: str  # the variable's name, or the block's where the variable has none
    # ``"storage_buffer"``, ``"uniform_buffer"``, ``"storage_image"``, ``"sampled_image"``,
    # ``"combined_image_sampler"``, ``"sampler"``, ``"uniform_texel_buffer"``, ``"storage_texel_buffer"``,
    # ``"acceleration_structure"`` or ``"input_attachment"``
    kind: str
    type: Type  # of one descriptor: a `StructType` for buffers
    count: int | None  # number of descriptors; None if the descriptor set determines it
    # `readable`, `writable`: whether the declaration allows it (``writeonly``, ``readonly``, the kind)
    readable: bool
    writable: bool
    # `read`, `written`: whether any instruction reads it, or writes to it
    read: bool
    written: bool
    id: int  # the variable's result id
    block_name: str = ""  # the name of a buffer's block; empty for other resources
    # of a buffer: ``"std140"``, ``"std430"`` or ``"scalar"``, the strictest that it satisfies
    layout: str | None = None
    # of an input attachment: its InputAttachmentIndex, of an array the first's
    attachment_index: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Set and binding."""
        return self.set, self.binding


@dataclass(frozen=True, slots=True)
class PushConstants:
    """The push-constant block."""

    name: str  # the variable's name, or the block's where the variable has none
    # `offset`, `size`: the bytes that it covers, ``offset <= byte < size``
    offset: int
    size: int
    type: StructType  # the block; its members have offsets from the start of all push constants
    layout: str | None  # the strictest layout rules that it satisfies

    @property
    def members(self) -> tuple[StructMember, ...]:
        """The block's members."""
        return self.type.members


def find_bindings(module: Binary, declared: Declarations) -> tuple[Binding, ...]:
    """Return the bindings of a module, in the order of set and binding."""
    described = [
        (variable, number)
        for variable in declared.variables
        if (number := declared.decoration(variable.id, "Binding")) is not None
    ]
    access = find_access(module, frozenset(variable.id for variable, _ in described))
    bindings = []
    for variable, number in described:
        lengths, element = dimensions(variable.type), innermost(variable.type)
        kind = _kind(variable, element, declared)
        if kind is None:
            continue
        readable, writable = _allowed(declared, variable, element, kind)
        block = element if isinstance(element, StructType) else None
        bindings.append(
            Binding(
                set=declared.decoration(variable.id, "DescriptorSet") or 0,
                binding=number,
                name=_variable_name(declared, variable, element),
                kind=kind,
                type=element,
                count=math.prod(lengths) if all(lengths) else None,
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
    return tuple(sorted(bindings, key=lambda binding: (binding.set, binding.binding, binding.id)))


def _variable_name(declared: Declarations, variable: ModuleVariable, kind: Type) -> str:
    return declared.names.get(variable.id) or (kind.name if isinstance(kind, StructType) else "")


def _kind(variable: ModuleVariable, kind: Type, declared: Declarations) -> str | None:
    """Return the kind of a descriptor (Vulkan 1.3 §15.5.3, table of shader resources)."""
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
        if kind.dimension == "SubpassData":
            return "input_attachment"
        if kind.dimension == "Buffer":
            return "storage_texel_buffer" if kind.storage else "uniform_texel_buffer"
        return "storage_image" if kind.storage else "sampled_image"
    if isinstance(kind, OpaqueType):
        return {"sampler": "sampler", "accelerationStructureEXT": "acceleration_structure"}.get(kind.name)
    return None


def _allowed(
    declared: Declarations, variable: ModuleVariable, kind: Type, descriptor: str
) -> tuple[bool, bool]:
    """Return whether the decorations of variable and members allow reading, and writing."""
    decorations = declared.decorations.get(variable.id, {})
    readable, writable = "NonReadable" not in decorations, "NonWritable" not in decorations
    if isinstance(kind, StructType) and kind.members:
        readable = readable and any(member.readable for member in kind.members)
        writable = writable and any(member.writable for member in kind.members)
    return readable, writable and descriptor.startswith("storage_")


def find_push_constants(declared: Declarations) -> PushConstants | None:
    """Return the push-constant block of a module; None without one."""
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


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable in shared memory."""

    # `size`, `alignment`: bytes, with specialization constants at their defaults; no size where it has none
    size: int | None
    alignment: int
    # number of elements in the dimensions that specialization can change, at the defaults
    default_length: int
    lengths: tuple[Constant, ...]  # of these dimensions


def find_shared_variables(declared: Declarations) -> tuple[SharedVariable, ...]:
    """Return the variables in shared memory, with those of their lengths that specialization can change."""
    variables = []
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
        variables.append(SharedVariable(size, alignment, default, tuple(lengths)))
    return tuple(variables)


def shared_size(variables: Iterable[SharedVariable], specialization: Mapping[int, Value]) -> int:
    """Return the bytes of shared variables under values by specialization id.

    The variables are laid out in sequence as in Vulkan 1.3 §9.9 (std430); -1 if a type has no size in this
    layout.
    """
    end = 0
    for variable in variables:
        if variable.size is None:
            return -1
        size = variable.size
        if variable.lengths:
            size = round_up(-(-size // variable.default_length), variable.alignment)
            size *= math.prod(int(length.evaluate(specialization)) for length in variable.lengths)
        end = round_up(end, variable.alignment) + size
    return end


@dataclass(frozen=True)
class Reflection:
    """What a module declares."""

    # `entry_points`, `bindings`, `push_constants`, `specialization_constants`: see their types; bindings are
    # ordered by set and binding, specialization constants by id
    entry_points: tuple[EntryPoint, ...]
    bindings: tuple[Binding, ...]
    push_constants: PushConstants | None
    specialization_constants: tuple[SpecializationConstant, ...]
    # `capabilities`, `extensions`: SPIR-V's names
    capabilities: frozenset[str]
    extensions: frozenset[str]
    extended_instruction_sets: frozenset[str]  # for example ``"GLSL.std.450"``
    memory_model: tuple[str, str]  # addressing and memory model, for example ``("Logical", "GLSL450")``
    subgroup_uses: frozenset[SubgroupUse]  # the subgroup operations, with their types
    array_lengths: tuple[Constant, ...]  # lengths of arrays that specialization can change
    # the ones that count descriptors, or outputs of a fragment shader
    interface_lengths: tuple[Constant, ...]
    shared_variables: tuple[SharedVariable, ...]  # the variables in shared memory, in order
    rays: RayInterface  # the traces, calls and ray data of a stage of ray tracing
    source: str | None  # the source text in the module; None where it has none

    @property
    def workgroup_memory(self) -> int:
        """Bytes of shared memory with specialization constants at their defaults, as in `shared_memory`."""
        return self.shared_memory({})

    def shared_memory(self, specialization: Mapping[int, Value]) -> int:
        """Return the bytes of shared memory under values by specialization id; -1 where a type has none."""
        return shared_size(self.shared_variables, specialization)

    def entry_point(self, name: str | None = None) -> EntryPoint:
        """Return the entry point called `name`, or the only one.

        Raises InvalidModule: no entry point has that name, or several do; without a name, the module does not
        have exactly one.
        """
        matching = [entry for entry in self.entry_points if name in (None, entry.name)]
        if len(matching) == 1:
            return matching[0]
        names = ", ".join(entry.name for entry in self.entry_points) or "none"
        wanted = "a single entry point" if name is None else f"one entry point {name!r}"
        raise InvalidModule(f"the module does not have {wanted}; it has: {names}")

    def binding(self, key: str | int | tuple[int, int]) -> Binding:
        """Return a binding by name, by number in set 0, or by (set, number); raises KeyError."""
        for binding in self.bindings:
            number = (binding.set, binding.binding)
            if key in (binding.name, number) or (isinstance(key, int) and number == (0, key)):
                return binding
        raise KeyError(key)


def _lengths(declared: Declarations, types: Iterable[Type]) -> tuple[Constant, ...]:
    """Return the lengths of arrays that specialization can change."""
    identifiers = (kind.length_constant for kind in types if isinstance(kind, ArrayType))
    return tuple(declared.constant(identifier) for identifier in identifiers if identifier is not None)


def _interface_arrays(declared: Declarations) -> Iterator[ArrayType]:
    """Yield the arrays whose elements are descriptors, or outputs of a fragment shader."""
    drawn = any(entry.execution_model == "Fragment" for entry in declared.entry_points)
    for variable in declared.variables:
        output = drawn and variable.storage_class == "Output"
        kind = variable.type
        while isinstance(kind, ArrayType):
            if output or declared.decoration(variable.id, "Binding") is not None:
                yield kind
            kind = kind.element


class Module(Binary):
    """An immutable SPIR-V module, equal to another of the same words.

    It is made by `from_bytes`, which checks the header and that the instructions fill the words exactly.
    `vkgroup.compiler.validate` checks the rest.
    """

    @cached_property
    def declarations(self) -> Declarations:
        """The declarations by result id; nobody may change them."""
        return Declarations(self)

    @cached_property
    def reflection(self) -> Reflection:
        """The declarations: entry points, bindings, constants, capabilities.

        Raises
        ------
        InvalidModule : the declarations refer to ids that do not exist, or have too few words.
        Unsupported : the module uses descriptor heaps (VK_EXT_descriptor_heap).
        """
        declared = self.declarations
        return Reflection(
            entry_points=tuple(read_entry_point(declared, entry) for entry in declared.entry_points),
            bindings=find_bindings(self, declared),
            push_constants=find_push_constants(declared),
            specialization_constants=tuple(
                sorted(declared.specialization_constants, key=lambda constant: constant.id)
            ),
            capabilities=frozenset(declared.capabilities),
            extensions=frozenset(declared.extensions),
            extended_instruction_sets=frozenset(declared.extended_sets.values()),
            memory_model=declared.memory_model,
            subgroup_uses=find_subgroup_uses(self, declared),
            array_lengths=_lengths(declared, declared.types.values()),
            interface_lengths=_lengths(declared, _interface_arrays(declared)),
            shared_variables=find_shared_variables(declared),
            rays=find_rays(self, declared),
            source=next((text for text in declared.sources if text), None),
        )

    @property
    def debug_source(self) -> str | None:
        """The source text in the module (`OpSource`); None where it has none."""
        return self.reflection.source
