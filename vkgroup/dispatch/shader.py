"""One shader stage of a pipeline: its module, entry point and specialization, and checks of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.compiler import Target, validate
from vkgroup.device import requirements
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.blocks import pack_specialization
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.spirv import EntryPoint, Module, Value


class Shader:
    """One stage of a pipeline.

    Attributes
    ----------
    module, entry_point : the code that runs.
    specialization : the given values by specialization id.
    packed : the bytes of these values.
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
        """Whether the shader has subgroup operations or reads a built-in variable of subgroups."""
        reflection = self.module.reflection
        return bool(reflection.subgroup_uses) or "GroupNonUniform" in reflection.capabilities

    def missing(self, device: DeviceBase, subgroup_size: int | None = None) -> list[str]:
        """List what the stage needs and the device does not declare; `subgroup_size` is a required one."""
        name = self.entry_point.name
        return requirements.missing(self.module, device.capabilities, name, subgroup_size)

    def validate(self, device: DeviceBase) -> None:
        """Validate the module with SPIRV-Tools before a driver sees it, once for each device."""
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


def check_size_choice(size: int | None, varying: bool) -> None:
    """Refuse a size that is required and may vary (VUID-VkPipelineShaderStageCreateInfo-pNext-02754)."""
    if size is not None and varying:
        raise InvalidDispatch(
            f"A subgroup size of {size} is required, and varying_subgroup_size lets it vary: leave one out."
        )


def require(device: DeviceBase, lacking: list[str]) -> None:
    """Raise `Unsupported` where something is lacking."""
    if lacking:
        advice = requirements.advice(lacking)
        raise Unsupported(f"{device.capabilities.name} lacks: {'; '.join(lacking)}.{advice}", lacking)
