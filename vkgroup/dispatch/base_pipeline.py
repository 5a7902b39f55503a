"""What every pipeline is: modules made ready to run on a device, with the places that they want filled."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from vkgroup.closing import Closing
from vkgroup.compiler import Target, validate
from vkgroup.device import requirements
from vkgroup.device.owner import Owner
from vkgroup.dispatch.blocks import pack_specialization
from vkgroup.dispatch.slots import Slot
from vkgroup.errors import DriverError, InvalidDispatch, Unsupported
from vkgroup.spirv import EntryPoint, Module, PushConstants, Value


class BasePipeline(Closing):
    """A pipeline of any kind.

    Attributes
    ----------
    device : what it was made from.
    slots : the places that `bind` wants filled.
    push_constants : the block of push constants, None where no shader has one.
    subgroup_size : the required subgroup size, None where none was required.
    full_subgroups : whether full subgroups are demanded, of the stages with workgroups.
    varying_subgroup_size : whether the subgroup size may vary, from `minSubgroupSize` to `maxSubgroupSize`;
        that of modules of SPIR-V 1.6 may in any case (Vulkan 1.4, 9.26.1).
    """

    device: Owner
    slots: tuple[Slot, ...]
    push_constants: PushConstants | None
    subgroup_size: int | None
    full_subgroups: bool
    varying_subgroup_size: bool

    def _make(self) -> None:
        """Make what the kind of device needs, once everything has been checked."""
        self.device.register(self)
        self._holding = True
        try:
            self._create()
        except (DriverError, Unsupported):
            self.close()
            raise
        self.device.raise_validation_errors()

    def required_size(self, shader: Shader) -> int | None:
        """Return the subgroup size to require of one stage of several: of those with subgroup operations."""
        return self.subgroup_size if shader.uses_subgroups else None

    @abstractmethod
    def _create(self) -> None:
        """Make it."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the pipeline was closed."""


class Shader:
    """One stage of a pipeline.

    Attributes
    ----------
    module, entry_point : what runs.
    specialization : the values given, by specialization id.
    packed : their bytes.
    """

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
        """Whether it knows of subgroups: it has operations on them, or reads one of their variables."""
        reflection = self.module.reflection
        return bool(reflection.subgroup_uses) or "GroupNonUniform" in reflection.capabilities

    def missing(self, device: Owner, subgroup_size: int | None = None) -> list[str]:
        """List what the stage needs and the device does not declare; `subgroup_size` is a required one."""
        name = self.entry_point.name
        return requirements.missing(self.module, device.capabilities, name, subgroup_size)

    def validate(self, device: Owner) -> None:
        """Have SPIRV-Tools check the module before a driver sees it, once for each device."""
        if hash(self.module) in device.validated:
            return
        target = Target.for_api_version(device.capabilities.api_version)
        if target is Target.VULKAN_1_1 and self.module.version == (1, 4):
            target = Target.VULKAN_1_1_SPIRV_1_4
        validate(self.module, target)
        device.validated.add(hash(self.module))


def _check_lengths(module: Module, values: Mapping[int, Value]) -> None:
    """Refuse lengths of arrays that drivers crash on, or that would need other bindings and attachments."""
    for length in module.reflection.array_lengths:
        found = int(length.evaluate(values))
        if found < 1:
            raise InvalidDispatch(
                f"With these specialization constants an array of the shader has the length {found};"
                " arrays have at least one element."
            )
    for length in module.reflection.interface_lengths:
        if length.evaluate(values) != length.evaluate():
            raise Unsupported(
                f"An array of descriptors or outputs has the length {length.evaluate()}, which"
                f" specialization would make {length.evaluate(values)}; write that into the shader.",
                ["specialization of the length of an interface"],
            )


def check_size_choice(size: int | None, varying: bool) -> None:
    """Refuse a size that is required and may vary (VUID-VkPipelineShaderStageCreateInfo-pNext-02754)."""
    if size is not None and varying:
        raise InvalidDispatch(
            f"A subgroup size of {size} is required, and varying_subgroup_size lets it vary: leave one out."
        )


def require(device: Owner, lacking: list[str]) -> None:
    """Raise `Unsupported` where something is lacking."""
    if lacking:
        advice = requirements.advice(lacking)
        raise Unsupported(f"{device.capabilities.name} lacks: {'; '.join(lacking)}.{advice}", lacking)
