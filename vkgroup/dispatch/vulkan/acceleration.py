"""Ray tracing with Vulkan: acceleration structures, pipelines, and shader binding tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.barriers import barrier
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.acceleration import AccelerationStructure, Geometry, Instance, Triangles
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.ray_stages import RayStages, ShaderGroup
from vkgroup.dispatch.vulkan.stage_info import stage_info

_BUILD_TIMEOUT = 60.0
"""Seconds that a build may take."""

_INSTANCE = np.dtype(
    [
        ("transform", np.float32, (3, 4)),
        ("index_and_mask", np.uint32),
        ("offset_and_flags", np.uint32),
        ("bottom", np.uint64),
    ]
)
"""VkAccelerationStructureInstanceKHR, whose numbers of 24 and 8 bits share words."""

_UNUSED = 0xFFFFFFFF  # VK_SHADER_UNUSED_KHR


class VulkanAccelerationStructure(AccelerationStructure):
    """A VkAccelerationStructureKHR and its memory; `handle` is None when closed."""

    device: LogicalDevice
    handle: Any = None
    _memory: DeviceBuffer | None = None

    @property
    def _freed(self) -> bool:
        return self.handle is None

    @property
    def address(self) -> int:
        """Where it lies on the device, for instances of it."""
        device = self.device
        info = vk.new("VkAccelerationStructureDeviceAddressInfoKHR", accelerationStructure=self.handle)
        return int(device.functions.vkGetAccelerationStructureDeviceAddressKHR(device.handle, info))

    def _create(self, geometries: tuple[Geometry, ...], instances: tuple[Instance, ...]) -> None:
        inputs: list[DeviceBuffer] = []
        try:
            if geometries:
                described = [_geometry(self.device, part, inputs) for part in geometries]
                self._build(described, [len(part) for part in geometries])
            else:
                described = [_instances(self.device, instances, inputs)]
                self._build(described, [len(instances)])
        finally:
            for buffer in inputs:
                buffer.close()

    def _build(self, geometries: Sequence[Any], counts: Sequence[int]) -> None:
        device, functions = self.device, self.device.functions
        kind = getattr(vk, f"VK_ACCELERATION_STRUCTURE_TYPE_{self.level.upper()}_LEVEL_KHR")
        info = vk.new(
            "VkAccelerationStructureBuildGeometryInfoKHR",
            type=kind,
            flags=vk.VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR,
            mode=vk.VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
            geometryCount=len(geometries),
            pGeometries=geometries,
        )
        sizes = vk.new("VkAccelerationStructureBuildSizesInfoKHR")
        functions.vkGetAccelerationStructureBuildSizesKHR(
            device.handle,
            vk.VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR,
            info,
            vk.ffi.new("uint32_t[]", counts),
            sizes,
        )
        self._make(kind, sizes.accelerationStructureSize)
        info.dstAccelerationStructure = self.handle
        step = int(device.capabilities.limits["minAccelerationStructureScratchOffsetAlignment"])
        with_scratch = DeviceBuffer(device, max(1, sizes.buildScratchSize) + step, addressable=True)
        try:
            info.scratchData.deviceAddress = -(-with_scratch.address // step) * step
            self._run(info, counts)
        finally:
            with_scratch.close()

    def _make(self, kind: int, size: int) -> None:
        device = self.device
        usage = vk.VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR
        self._memory = DeviceBuffer(device, size, addressable=True, usage=usage)
        # It is freed after what lies in it, which `close` sees to: not by the device, in any order.
        device.forget(self._memory)
        info = vk.new(
            "VkAccelerationStructureCreateInfoKHR", buffer=self._memory.handle, size=size, type=kind
        )
        self.handle = device.create(
            "AccelerationStructureKHR", info, f"an acceleration structure of {size} bytes"
        )

    def _run(self, info: Any, counts: Sequence[int]) -> None:
        functions = self.device.functions
        ranges = vk.array(
            "VkAccelerationStructureBuildRangeInfoKHR",
            [vk.new("VkAccelerationStructureBuildRangeInfoKHR", primitiveCount=count) for count in counts],
        )
        pointers = vk.ffi.new("VkAccelerationStructureBuildRangeInfoKHR *[]", [ranges])
        commands = Commands(self.device)
        try:
            with commands.record() as handle:
                functions.vkCmdBuildAccelerationStructuresKHR(handle, 1, info, pointers)
                barrier(functions, handle)
            commands.run(_BUILD_TIMEOUT)
        finally:
            commands.close()

    def close(self) -> None:
        """Free it; further calls do nothing. Instances of it can be traced no more."""
        device = self.device
        device.forget(self)
        handle, self.handle = self.handle, None
        device.destroy("AccelerationStructureKHR", handle)
        if self._memory is not None:
            self._memory.close()
        self._holding = False


def _input(device: LogicalDevice, array: npt.NDArray[Any], inputs: list[DeviceBuffer]) -> Any:
    """Copy an array into a buffer for a build; returns its address."""
    usage = vk.VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR
    buffer = DeviceBuffer(device, max(16, array.nbytes), addressable=True, usage=usage)
    inputs.append(buffer)
    if array.nbytes:
        buffer.write(as_bytes(array))
    return vk.new("VkDeviceOrHostAddressConstKHR", deviceAddress=buffer.address)


def _geometry(device: LogicalDevice, part: Geometry, inputs: list[DeviceBuffer]) -> Any:
    flags = vk.VK_GEOMETRY_OPAQUE_BIT_KHR if part.opaque else 0
    if part.no_duplicate_any_hit:
        flags |= vk.VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR
    if isinstance(part, Triangles):
        kind, data = vk.VK_GEOMETRY_TYPE_TRIANGLES_KHR, {"triangles": _triangles(device, part, inputs)}
    else:
        bounds = _input(device, part.bounds, inputs)
        boxes = vk.new("VkAccelerationStructureGeometryAabbsDataKHR", data=bounds, stride=24)
        kind, data = vk.VK_GEOMETRY_TYPE_AABBS_KHR, {"aabbs": boxes}
    return vk.new(
        "VkAccelerationStructureGeometryKHR",
        geometryType=kind,
        geometry=vk.new("VkAccelerationStructureGeometryDataKHR", **data),
        flags=flags,
    )


def _triangles(device: LogicalDevice, part: Triangles, inputs: list[DeviceBuffer]) -> Any:
    indexed = {}
    if part.indices is not None:
        indexed["indexData"] = _input(device, part.indices, inputs)
    return vk.new(
        "VkAccelerationStructureGeometryTrianglesDataKHR",
        vertexFormat=vk.VK_FORMAT_R32G32B32_SFLOAT,
        vertexData=_input(device, part.vertices, inputs),
        vertexStride=12,
        maxVertex=part.vertices.size // 3 - 1,
        indexType=vk.VK_INDEX_TYPE_UINT32 if indexed else vk.VK_INDEX_TYPE_NONE_KHR,
        **indexed,
    )


def _instances(device: LogicalDevice, instances: Sequence[Instance], inputs: list[DeviceBuffer]) -> Any:
    rows = np.zeros(len(instances), _INSTANCE)
    addresses: dict[AccelerationStructure, int] = {}
    for row, instance in zip(rows, instances, strict=True):
        bottom = instance.bottom
        assert isinstance(bottom, VulkanAccelerationStructure)
        if bottom not in addresses:
            addresses[bottom] = bottom.address
        row["transform"] = instance.transform
        row["index_and_mask"] = int(instance.custom_index) | int(instance.mask) << 24
        row["offset_and_flags"] = instance.sbt_offset
        row["bottom"] = addresses[bottom]
    data = vk.new("VkAccelerationStructureGeometryInstancesDataKHR", data=_input(device, rows, inputs))
    return vk.new(
        "VkAccelerationStructureGeometryKHR",
        geometryType=vk.VK_GEOMETRY_TYPE_INSTANCES_KHR,
        geometry=vk.new("VkAccelerationStructureGeometryDataKHR", instances=data),
    )


def create_ray_pipeline(device: LogicalDevice, stages: RayStages, layout: Any) -> Any:
    """Create a VkPipeline for rays; the caller destroys it."""
    with ExitStack() as stack:
        infos = [stack.enter_context(stage_info(device, stages, shader)) for shader in stages.shaders]
        groups = [_group_info(group) for group in stages.groups]
        info = vk.new(
            "VkRayTracingPipelineCreateInfoKHR",
            stageCount=len(infos),
            pStages=infos,
            groupCount=len(groups),
            pGroups=groups,
            maxPipelineRayRecursionDepth=stages.max_recursion,
            layout=layout,
        )
        handle = vk.ffi.new("VkPipeline *")
        code = device.functions.vkCreateRayTracingPipelinesKHR(
            device.handle, vk.NULL, vk.NULL, 1, info, vk.NULL, handle
        )
        device.check(code, "creating a ray-tracing pipeline")
        return handle[0]


class BindingTable:
    """The shader binding table of a VkPipeline for rays: the handles of its groups in a buffer, by kind.

    A kind without groups has one record of zeros, which runs no shader. The `regions` are the ray-generation,
    miss, hit and callable records (VkStridedDeviceAddressRegionKHR).
    """

    def __init__(self, device: LogicalDevice, stages: RayStages, pipeline: Any) -> None:
        limits = device.capabilities.limits
        size = int(limits["shaderGroupHandleSize"])
        stride, base = (
            -(-size // step) * step
            for step in (int(limits["shaderGroupHandleAlignment"]), int(limits["shaderGroupBaseAlignment"]))
        )
        count = len(stages.groups)
        data = vk.ffi.new("uint8_t[]", count * size)
        code = device.functions.vkGetRayTracingShaderGroupHandlesKHR(
            device.handle, pipeline, 0, count, count * size, data
        )
        device.check(code, "reading the handles of shader groups")
        handles = np.frombuffer(vk.ffi.buffer(data), np.uint8).reshape(count, size)
        kinds = ((stages.raygen,), stages.miss, stages.hit_groups, stages.callables)
        offsets, end = [], 0
        for kind in kinds:
            offsets.append(end)
            end += -(-max(1, len(kind)) * stride // base) * base
        self._buffer = DeviceBuffer(
            device, end + base, addressable=True, usage=vk.VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR
        )
        start = -self._buffer.address % base
        table = np.zeros(end + base, np.uint8)
        self.regions = []
        written = 0
        for kind, offset in zip(kinds, offsets, strict=True):
            first = start + offset
            for number in range(len(kind)):
                table[first + number * stride :][:size] = handles[written + number]
            written += len(kind)
            region = vk.new(
                "VkStridedDeviceAddressRegionKHR",
                deviceAddress=self._buffer.address + first,
                stride=stride,
                size=stride * max(1, len(kind)),
            )
            self.regions.append(region)
        self._buffer.write(table)

    def close(self) -> None:
        """Free the table."""
        self._buffer.close()


def _group_info(group: ShaderGroup) -> Any:
    if group.general is not None:
        kind = vk.VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR
    elif group.intersection is not None:
        kind = vk.VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR
    else:
        kind = vk.VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR
    shaders = {
        "generalShader": group.general,
        "closestHitShader": group.closest_hit,
        "anyHitShader": group.any_hit,
        "intersectionShader": group.intersection,
    }
    return vk.new(
        "VkRayTracingShaderGroupCreateInfoKHR",
        type=kind,
        **{name: _UNUSED if index is None else index for name, index in shaders.items()},
    )
