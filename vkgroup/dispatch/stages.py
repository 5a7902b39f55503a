"""Shader stages of a pipeline: specialization, push constants, required subgroup sizes; compute pipelines."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from vkgroup.base.errors import InvalidDispatch, InvalidModule, Unsupported
from vkgroup.base.masks import refuse_mask
from vkgroup.base.numbers import as_numbers, exact_numbers
from vkgroup.base.suggestions import suggestion
from vkgroup.compiler import TargetEnvironment, validate
from vkgroup.device import limits, requirements
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.blocks import checked_mapping
from vkgroup.dispatch.slots import Slot, slots_of
from vkgroup.spirv import EntryPoint, Module, PushConstants, StructMember, Value
from vkgroup.spirv.constants import SpecializationConstant
from vkgroup.spirv.layout_text import scalar_dtype

_LARGEST_ID = (1 << 32) - 1
"""The largest id of a specialization constant (VkSpecializationMapEntry::constantID)."""


def pack_specialization(
    constants: tuple[SpecializationConstant, ...], values: Mapping[int | str, Any]
) -> tuple[dict[int, bool | int | float], dict[int, bytes]]:
    """Return the values of specialization constants, given by id or name, and their bytes, both by id.

    If several constants have an id and different defaults in the module, the result has a value for that id
    even if none is given: `SpecializationConstant.default`. A device would use each constant's own default.
    As in Vulkan (VkSpecializationMapEntry), an id that the module does not have has no effect.

    Raises InvalidDispatch: the module has no constant of a given name, a constant is given by its id and by
    its name, or a value does not fit its type.
    """
    plain: dict[int, bool | int | float] = {}
    packed: dict[int, bytes] = {}
    shared = {entry.id for entry in constants if entry.overridden_default is not None}
    wanted: dict[int | str, Any] = {
        entry.id: entry.default for entry in reversed(constants) if entry.id in shared
    }
    keys: dict[int, int | str] = {}
    for key, value in (wanted | dict(values)).items():
        constant = constant_of(key, constants)
        if constant is None:
            continue
        if key in values and keys.setdefault(constant.id, key) != key:
            raise InvalidDispatch(
                f"The specialization constant {constant.id} is given twice: as {keys[constant.id]!r} and as "
                f"{key!r}."
            )
        what = f"The specialization constant {constant.name or constant.id!r}"
        array = exact_numbers(value, scalar_dtype(constant.type), what)
        if array.shape != ():
            raise InvalidDispatch(f"{what} is a scalar; {value!r} was given.")
        if constant.type.kind == "bool":
            array = array.astype(bool).astype(np.uint32)
        item = array.item()
        plain[constant.id] = bool(item) if constant.type.kind == "bool" else item
        packed[constant.id] = array.tobytes()
    return plain, packed


def constant_of(
    key: int | str, constants: Sequence[SpecializationConstant], subject: str = "The module has no"
) -> SpecializationConstant | None:
    """Return the constant with an id or a name; None for an id that no constant has.

    Raises InvalidDispatch: no constant has that name; the message begins with `subject`.
    """
    for entry in constants:
        if key in (entry.id, entry.name) and key != "":
            return entry
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key <= _LARGEST_ID:
        return None
    named = {entry.id for entry in constants if entry.name}
    names = dict.fromkeys(
        entry.name or str(entry.id) for entry in constants if entry.name or entry.id not in named
    )
    raise InvalidDispatch(f"{subject} specialization constant {key!r}.{suggestion(key, names)}")


def notes_of(modules: Sequence[Module], given: Iterable[int | str]) -> Iterator[str]:
    """Yield a sentence for each given id that no module has, and for each default chosen among several.

    `given`: ids and names that have a value.
    """
    keys = list(given)
    constants = [entry for module in modules for entry in module.reflection.specialization_constants]
    known = {entry.id for entry in constants}
    for key in keys:
        if not isinstance(key, str) and key not in known:
            there = ", ".join(map(str, sorted(known))) or "none"
            yield f"specialization id {key} is ignored: the shader does not have it. It has: {there}."
    for module in modules:
        yield from _chosen_defaults(module, keys)


def _chosen_defaults(module: Module, given: list[int | str]) -> Iterator[str]:
    """Yield a sentence for each id without a given value whose constants have different defaults."""
    constants = module.reflection.specialization_constants
    for number in sorted({entry.id for entry in constants if entry.overridden_default is not None}):
        sharing = sorted(
            (entry for entry in constants if entry.id == number),
            key=lambda entry: entry.overridden_default is not None,
        )
        if {number, *(entry.name for entry in sharing)} & set(given):
            continue
        defaults = {
            _name(entry, module): entry.default
            if entry.overridden_default is None
            else entry.overridden_default
            for entry in sharing
        }
        listed = ", ".join(f"{name} {value}" for name, value in defaults.items())
        yield (
            f"specialization id {number} has several defaults ({listed}): all constants with this id get"
            f" {sharing[0].default}. --spec {number}=V sets another value."
        )


def _name(constant: SpecializationConstant, module: Module) -> str:
    """Return a constant's name in messages; without a name, its role."""
    sizes = [entry.local_size for entry in module.reflection.entry_points if entry.local_size is not None]
    if constant.name:
        return constant.name
    if any(part.specialization == constant for size in sizes for part in size.constants):
        return "local size"
    return "unnamed constant"


def key_of_values(specialization: Mapping[int | str, Any] | None) -> tuple[Any, ...]:
    """Return the values of specialization constants as part of a key; `InvalidDispatch` for other types.

    The dtype is part of it: the bytes of np.float32(1) are those of np.uint32(0x3F800000) too.
    """
    if specialization is None:
        return ()
    given = checked_mapping(specialization, "specialization")
    for name, value in given.items():
        refuse_mask(value, f"The specialization constant {name!r}")
    arrays = [(name, as_numbers(value)) for name, value in given.items()]
    return tuple((name, array.dtype, array.tobytes()) for name, array in arrays)


class PipelineOptions(NamedTuple):
    """Options with which shaders become a pipeline; `vkgroup.dispatch.Device.pipeline` describes them.

    Only compute pipelines have an entry point, and pipelines of ray tracing have no full subgroups.
    """

    entry_point: str | None = None
    specialization: Mapping[int | str, Any] | None = None
    subgroup_size: int | None = None
    full_subgroups: bool = False
    varying_subgroup_size: bool = False

    def key(self) -> tuple[Any, ...]:
        """Return a hashable value that is the same for all options that make the same pipeline.

        Raises InvalidDispatch: the subgroup size is no integer, or a constant has no value.
        """
        # 4.0 and True equal sizes, and a list has no hash.
        check_whole(self.subgroup_size)
        return (self.entry_point, key_of_values(self.specialization), *self[2:])


DEFAULT_OPTIONS = PipelineOptions()


class Shader:
    """One stage of a pipeline: a module's entry point, and the values and bytes of its constants by id."""

    def __init__(
        self, module: Module, entry_point: EntryPoint, specialization: Mapping[int | str, Any] | None
    ) -> None:
        self.module, self.entry_point = module, entry_point
        constants = module.reflection.specialization_constants
        values, self.packed = pack_specialization(constants, specialization or {})
        self.specialization: Mapping[int, Value] = values
        _check_lengths(module, values)

    @property
    def uses_subgroups(self) -> bool:
        """Whether the shader has subgroup operations or reads a built-in variable of subgroups."""
        reflection = self.module.reflection
        return bool(reflection.subgroup_uses) or "GroupNonUniform" in reflection.capabilities

    def validate(self, device: DeviceBase) -> None:
        """Validate the module with SPIRV-Tools before a driver sees it, once for each device."""
        if hash(self.module) in device.validated:
            return
        own = TargetEnvironment.for_spirv(self.module.version)
        newest = TargetEnvironment.for_api_version(device.capabilities.api_version)
        validate(self.module, own if own.vulkan_version <= newest.vulkan_version else newest)
        device.validated.add(hash(self.module))


def _check_lengths(module: Module, values: Mapping[int, Value]) -> None:
    """Refuse lengths of arrays that drivers crash on, or that would need other bindings and attachments."""
    for length in module.reflection.array_lengths:
        elements = int(length.evaluate(values))
        if elements < 1:
            raise InvalidDispatch(
                f"With these specialization constants an array of the shader has the length {elements};"
                " arrays have at least one element."
            )
    for length in module.reflection.interface_lengths:
        if length.evaluate(values) != length.evaluate():
            raise Unsupported(
                f"An array of descriptors or outputs has the length {length.evaluate()}, which"
                f" specialization would make {length.evaluate(values)}; write that into the shader.",
                ["specialization of the length of an interface"],
            )


class Stages(ABC):
    """Shaders that work together in a pipeline, checked against each other.

    A subclass is a kind of pipeline, whose constructor checks the shaders.

    `kind`: ``"compute"``, ``"graphics"`` or ``"ray-tracing"``.
    `shaders`: the stages with their specialization, in the order of the pipeline.
    `subgroup_size`: the required subgroup size, None where none was required.
    `full_subgroups`: whether full subgroups are required of the stages with workgroups.
    `varying_subgroup_size`: whether the subgroup size may vary, from `minSubgroupSize` to `maxSubgroupSize`;
    that of modules of SPIR-V 1.6 may vary in any case (Vulkan 1.4, 9.26.1).
    """

    kind: ClassVar[str]
    shaders: tuple[Shader, ...]

    def __init__(self, options: PipelineOptions) -> None:
        self.subgroup_size, self.full_subgroups = options.subgroup_size, options.full_subgroups
        self.varying_subgroup_size = options.varying_subgroup_size
        # VUID-VkPipelineShaderStageCreateInfo-pNext-02754
        if self.subgroup_size is not None and self.varying_subgroup_size:
            raise InvalidDispatch(
                f"A subgroup size of {self.subgroup_size} is required, and varying_subgroup_size lets it"
                " vary: leave one out."
            )

    def controls_size(self, shader: Shader) -> bool:
        """Whether the required subgroup size, full and varying subgroups are asked of a stage."""
        return shader.uses_subgroups

    def required_size(self, shader: Shader) -> int | None:
        """Return the subgroup size to require of a stage; None where none is required."""
        return self.subgroup_size if self.controls_size(shader) else None

    def lacking(self, device: DeviceBase) -> list[str]:
        """List what the shaders need and the device does not have, by Vulkan's names."""
        capabilities = device.capabilities
        lacking: list[str] = []
        for shader in self.shaders:
            reflection, entry, size = shader.module.reflection, shader.entry_point, self.required_size(shader)
            lacking += requirements.missing(shader.module, capabilities, entry.name, size)
            lacking += limits.exceeded(reflection, entry, shader.specialization, capabilities)
            controls = self.controls_size(shader)
            lacking += limits.subgroup_size_problems(
                size,
                self.full_subgroups and controls,
                None if entry.local_size is None else entry.local_size.resolve(shader.specialization),
                capabilities,
                varying=self.varying_subgroup_size and controls,
                stage=entry.stage,
            )
        return list(dict.fromkeys(lacking))

    def check_links(self) -> None:
        """Check what the shaders start or hand to each other, where the device has what they need."""
        return

    def slots(self) -> tuple[Slot, ...]:
        """Return the slots of all descriptors that the shaders use."""
        return slots_of([binding for shader in self.shaders for binding in shader.module.reflection.bindings])

    def push_constants(self) -> tuple[PushConstants | None, str]:
        """Return a block with the members of all stages' blocks, None without any, and contradictions."""
        declared = [shader.module.reflection.push_constants for shader in self.shaders]
        blocks = [block for block in declared if block is not None]
        if len(blocks) < 2:
            return (blocks[0] if blocks else None), ""
        largest = max(blocks, key=lambda block: block.size)
        members: list[StructMember] = []
        conflict = ""
        for member in (member for block in blocks for member in block.members):
            other = next((entry for entry in members if _meet(entry, member)), None)
            if other is None:
                members.append(member)
            elif other != member:
                conflict = f"{other.name!r} of one stage and {member.name!r} of the other"
        offset = min(block.offset for block in blocks)
        return replace(largest, offset=offset, type=replace(largest.type, members=tuple(members))), conflict


def check_subgroup_size(size: Any) -> None:
    """Refuse a subgroup size that is not a power of two, even where no stage requires it."""
    if size is not None and not (_is_whole(size) and size > 0 and not size & (size - 1)):
        raise InvalidDispatch(f"A subgroup size is a power of two; {size!r} was given.")


def check_whole(size: Any) -> None:
    """Refuse a subgroup size that is no integer."""
    if size is not None and not _is_whole(size):
        raise InvalidDispatch(f"A subgroup size is an integer; {size!r} was given.")


def _is_whole(size: Any) -> bool:
    return isinstance(size, int | np.integer) and not isinstance(size, bool)


def stage_shader(module: Module, stage: str, specialization: Mapping[int | str, Any] | None) -> Shader:
    """Return a module as a stage, with those of the specialization values that it has constants for."""
    entry: EntryPoint = module.reflection.entry_point(None)
    if entry.stage != stage:
        raise InvalidDispatch(f"The entry point {entry.name!r} is a {entry.stage} shader; {stage} is needed.")
    constants = module.reflection.specialization_constants
    known = {constant.id for constant in constants} | {constant.name for constant in constants}
    values = {key: value for key, value in (specialization or {}).items() if key in known}
    return Shader(module, entry, values)


def check_specialization(modules: tuple[Module, ...], specialization: Mapping[int | str, Any] | None) -> None:
    """Refuse a name that no stage has for a specialization constant; such an id has no effect."""
    constants = [entry for module in modules for entry in module.reflection.specialization_constants]
    for key in specialization or {}:
        constant_of(key, constants, "No stage has a")


def _meet(first_member: StructMember, other: StructMember) -> bool:
    """Whether two members have a name or bytes in common."""
    if first_member.name and first_member.name == other.name:
        return True
    first, second = sorted((first_member, other), key=lambda member: member.offset or 0)
    return (second.offset or 0) < (first.offset or 0) + (first.size or 1)


class ComputeStages(Stages):
    """A compute shader; `local_size` has the invocations of a workgroup in x, y and z."""

    kind = "compute"

    def __init__(self, module: Module, options: PipelineOptions = DEFAULT_OPTIONS) -> None:
        check_whole(options.subgroup_size)
        super().__init__(options)
        entry = module.reflection.entry_point(options.entry_point)
        if entry.stage != "compute":
            how = " Draw it: Device.draw, or `vkgroup run … --size W,H`." if entry.stage == "fragment" else ""
            raise InvalidDispatch(
                f"The entry point {entry.name!r} is a {entry.stage} shader; compute is needed.{how}"
            )
        self.shader = Shader(module, entry, options.specialization)
        self.shaders = (self.shader,)
        if entry.local_size is None:
            raise InvalidModule(f"The entry point {entry.name!r} declares no local size.")
        self.local_size = entry.local_size.resolve(self.shader.specialization)

    def controls_size(self, shader: Shader) -> bool:
        """Whether the required subgroup size applies: always, also without subgroup operations."""
        return True
