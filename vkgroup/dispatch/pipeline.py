"""Compute pipelines: a module made ready to run on a device."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vkgroup.compiler import Target, validate
from vkgroup.device import limits, requirements, vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.blocks import pack_specialization
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot, slots_of
from vkgroup.errors import DriverError, InvalidDispatch, InvalidModule, Unsupported
from vkgroup.spirv import EntryPoint, Module

if TYPE_CHECKING:
    from vkgroup.dispatch.bound import Bound

_FULL_SUBGROUPS = 0x2  # VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT


class Pipeline:
    """A compute pipeline; `Device.pipeline` makes it.

    Attributes
    ----------
    module, entry_point : what it runs.
    local_size : invocations of a workgroup in x, y, z.
    slots : the places that `bind` wants filled.
    subgroup_size : the required subgroup size, None where none was required.
    """

    def __init__(
        self,
        device: LogicalDevice,
        module: Module,
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
    ) -> None:
        self.device, self.module, self.subgroup_size = device, module, subgroup_size
        self.handle: Any = None
        self.layout: Any = None
        self.set_layouts: list[Any] = []
        device.require_open()
        reflection = module.reflection
        self.entry_point = _compute_entry(module, entry_point)
        values, packed = pack_specialization(reflection.specialization_constants, specialization or {})
        self.local_size = _local_size(self.entry_point, values)
        over = limits.exceeded(reflection, self.entry_point, values, device.capabilities)
        size_problems = limits.subgroup_size_problems(
            subgroup_size, full_subgroups, self.local_size, device.capabilities
        )
        missing = requirements.missing(module, device.capabilities, self.entry_point.name)
        if missing or over or size_problems:
            lacking = missing + over + size_problems
            raise Unsupported(f"{device.capabilities.name} lacks: {'; '.join(lacking)}.", lacking)
        self.slots = slots_of(reflection)
        _validate(device, module)
        device.register(self)
        try:
            self._create_layout()
            self._create(packed, full_subgroups)
        except DriverError:
            self.close()
            raise
        device.instance.raise_validation_errors()

    def _create_layout(self) -> None:
        device, functions = self.device, self.device.functions
        for number in range(max((slot.set + 1 for slot in self.slots), default=0)):
            slots = [slot for slot in self.slots if slot.set == number]
            bindings = [_layout_binding(slot) for slot in slots]
            info = vk.new("VkDescriptorSetLayoutCreateInfo", bindingCount=len(bindings), pBindings=bindings)
            layout = vk.ffi.new("VkDescriptorSetLayout *")
            code = functions.vkCreateDescriptorSetLayout(device.handle, info, vk.NULL, layout)
            device.check(code, "creating a descriptor set layout")
            self.set_layouts.append(layout[0])
        push = self.module.reflection.push_constants
        ranges = []
        if push is not None:
            size = -(-push.size // 4) * 4
            stage = vk.VK_SHADER_STAGE_COMPUTE_BIT
            ranges = [vk.new("VkPushConstantRange", stageFlags=stage, offset=0, size=size)]
        info = vk.new(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=len(self.set_layouts),
            pSetLayouts=self.set_layouts,
            pushConstantRangeCount=len(ranges),
            pPushConstantRanges=ranges,
        )
        layout = vk.ffi.new("VkPipelineLayout *")
        code = functions.vkCreatePipelineLayout(device.handle, info, vk.NULL, layout)
        device.check(code, "creating a pipeline layout")
        self.layout = layout[0]

    def _create(self, specialization: Mapping[int, bytes], full_subgroups: bool) -> None:
        device, functions = self.device, self.device.functions
        words = self.module.to_bytes()
        # An array of words is aligned as Vulkan wants the code to be; bytes alone need not be.
        code_words = vk.ffi.new("uint32_t[]", len(words) // 4)
        vk.ffi.memmove(code_words, words, len(words))
        info = vk.new("VkShaderModuleCreateInfo", codeSize=len(words), pCode=code_words)
        shader = vk.ffi.new("VkShaderModule *")
        code = functions.vkCreateShaderModule(device.handle, info, vk.NULL, shader)
        device.check(code, "creating a shader module")
        try:
            stage = vk.new(
                "VkPipelineShaderStageCreateInfo",
                pNext=self._required_size(),
                flags=_FULL_SUBGROUPS if full_subgroups else 0,
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
                module=shader[0],
                pName=self.entry_point.name,
                pSpecializationInfo=_specialization_info(specialization),
            )
            pipeline_info = vk.new("VkComputePipelineCreateInfo", stage=stage, layout=self.layout)
            handle = vk.ffi.new("VkPipeline *")
            code = functions.vkCreateComputePipelines(
                device.handle, vk.NULL, 1, pipeline_info, vk.NULL, handle
            )
            device.check(code, "creating a compute pipeline")
            self.handle = handle[0]
        finally:
            functions.vkDestroyShaderModule(device.handle, shader[0], vk.NULL)

    def _required_size(self) -> Any:
        if self.subgroup_size is None:
            return vk.NULL
        return vk.new(
            "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo", requiredSubgroupSize=self.subgroup_size
        )

    def bind(self, bindings: Mapping[Any, Any]) -> Bound:
        """Bind arrays, buffers and images, ready for any number of dispatches.

        Parameters
        ----------
        bindings : by name, by number in set 0, or by (set, number): NumPy arrays, which are copied to
            the device, `Buffer`s and `Image`s, which are used as they are; a list of them where the
            shader has an array of descriptors.

        Raises
        ------
        InvalidDispatch
            A binding is missing, surplus, or of a wrong type, shape or size.
        Unsupported
            An array is larger than the device can bind.
        """
        from vkgroup.dispatch.bound import Bound

        return Bound(self, bindings)

    def close(self) -> None:
        """Free the pipeline and its layouts."""
        device = self.device
        device.forget(self)
        if device.usable:
            functions = device.functions
            if self.handle is not None:
                functions.vkDestroyPipeline(device.handle, self.handle, vk.NULL)
            if self.layout is not None:
                functions.vkDestroyPipelineLayout(device.handle, self.layout, vk.NULL)
            for layout in self.set_layouts:
                functions.vkDestroyDescriptorSetLayout(device.handle, layout, vk.NULL)
        self.handle = self.layout = None
        self.set_layouts = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "layout", None) is not None:
            self.close()


def _compute_entry(module: Module, name: str | None) -> EntryPoint:
    entry = module.reflection.entry_point(name)
    if entry.stage != "compute":
        raise InvalidDispatch(f"The entry point {entry.name!r} is a {entry.stage} shader; compute is needed.")
    return entry


def _local_size(entry: EntryPoint, values: Mapping[int, Any]) -> tuple[int, int, int]:
    if entry.local_size is None:
        raise InvalidModule(f"The entry point {entry.name!r} declares no local size.")
    return entry.local_size.resolve(values)


def _validate(device: LogicalDevice, module: Module) -> None:
    """Have SPIRV-Tools check a module before a driver sees it, once for each device."""
    if hash(module) in device.validated:
        return
    target = Target.for_api_version(device.capabilities.api_version)
    if target is Target.VULKAN_1_1 and module.version == (1, 4):
        target = Target.VULKAN_1_1_SPIRV_1_4
    validate(module, target)
    device.validated.add(hash(module))


def _layout_binding(slot: Slot) -> Any:
    return vk.new(
        "VkDescriptorSetLayoutBinding",
        binding=slot.binding,
        descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
        descriptorCount=slot.count,
        stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
    )


def _specialization_info(values: Mapping[int, bytes]) -> Any:
    if not values:
        return vk.NULL
    entries, data = [], b""
    for number, item in values.items():
        entries.append(
            vk.new("VkSpecializationMapEntry", constantID=number, offset=len(data), size=len(item))
        )
        data += item
    return vk.new(
        "VkSpecializationInfo",
        mapEntryCount=len(entries),
        pMapEntries=entries,
        dataSize=len(data),
        pData=vk.ffi.new("char[]", data),
    )
