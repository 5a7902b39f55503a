"""Shader stages of a pipeline: specialization, push constants, required subgroup sizes; compute pipelines."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from vkgroup.base.errors import InvalidDispatch, InvalidModule, Unsupported
from vkgroup.compiler import TargetEnvironment, validate
from vkgroup.device import limits, requirements
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.slots import Slot, slots_of
from vkgroup.dispatch.specialization import constant_of, key_of_values, pack_specialization
from vkgroup.spirv import EntryPoint, Module, PushConstants, StructMember, Value


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
