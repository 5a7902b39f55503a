"""Pipelines of Vulkan, and their work: descriptor sets, recorded commands, and timing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from vkgroup.base.phases import CodeOwner, phase
from vkgroup.device import vk
from vkgroup.device.barriers import barrier
from vkgroup.device.commands import Commands
from vkgroup.device.core import checked_timeout
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.attachments import DrawData, DrawImages, ImageSource
from vkgroup.dispatch.bindings import ArrayBuffer
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import Command, DispatchCommand, DrawCommand, TraceCommand
from vkgroup.dispatch.dlpack import Borrowed
from vkgroup.dispatch.draw_state import bound_inputs
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.pipeline import Pipeline, Work
from vkgroup.dispatch.ray_stages import RayStages
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot
from vkgroup.dispatch.stages import ComputeStages
from vkgroup.dispatch.statistics import Executable
from vkgroup.dispatch.vulkan.acceleration import (
    BindingTable,
    VulkanAccelerationStructure,
    create_ray_pipeline,
)
from vkgroup.dispatch.vulkan.buffer import BorrowedArray, VulkanBuffer
from vkgroup.dispatch.vulkan.descriptors import DescriptorSets, PooledBuffer
from vkgroup.dispatch.vulkan.executables import capturing, executables_of
from vkgroup.dispatch.vulkan.graphics import (
    VulkanDraw,
    create_graphics_pipeline,
    create_render_pass,
    lacking_targets,
    targets_of,
)
from vkgroup.dispatch.vulkan.image import PooledImages, VulkanImage
from vkgroup.dispatch.vulkan.stage_info import create_compute_pipeline
from vkgroup.dispatch.vulkan.timestamps import seconds_between
from vkgroup.spec.stages import STAGE_BITS

Recorder = Callable[[Any], None]

_BIND_POINTS = {
    "compute": vk.VK_PIPELINE_BIND_POINT_COMPUTE,
    "graphics": vk.VK_PIPELINE_BIND_POINT_GRAPHICS,
    "ray-tracing": vk.VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR,
}


class Timer:
    """Measures work that uses some buffers with two timestamps around it."""

    def __init__(self, device: LogicalDevice, buffers: Iterable[DeviceBuffer]) -> None:
        self._device = device
        self._commands = Commands(device)
        self._commands.use(buffers)
        self._queries: Any = None
        self._recorded: tuple[Hashable, int] | None = None
        # Without execution, no timestamp is ever written.
        if device.capabilities.timestamps.valid_bits and not device.info.is_compile_only:
            info = vk.new("VkQueryPoolCreateInfo", queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2)
            self._queries = device.create("QueryPool", info, "a query pool")

    def run(
        self, key: Hashable, state: Recorder, work: Recorder, timeout: float | None, repeat: int
    ) -> float | None:
        """Run work `repeat` times; returns the seconds of one run, None without timestamps.

        `state` and `work` record what the work needs set, and the work itself, unless `key` is that of the
        last run.
        """
        if self._recorded != (key, repeat):
            self._record(state, work, repeat)
            self._recorded = (key, repeat)
        self._commands.run(timeout)
        return None if self._queries is None else seconds_between(self._device, self._queries) / repeat

    def _record(self, state: Recorder, work: Recorder, repeat: int) -> None:
        functions, queries = self._device.functions, self._queries
        self._recorded = None
        with self._commands.record() as commands:
            if queries is not None:
                functions.vkCmdResetQueryPool(commands, queries, 0, 2)
            barrier(functions, commands)
            state(commands)
            if queries is not None:
                functions.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 0)
            for number in range(repeat):
                if number:
                    barrier(functions, commands)
                work(commands)
            if queries is not None:
                functions.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1)
            barrier(functions, commands)

    def close(self) -> None:
        """Free the queries and the commands."""
        self._commands.close()
        self._device.destroy("QueryPool", self._queries)
        self._queries = None


class VulkanWork(Work):
    """Descriptor sets, and commands that are recorded only where the command or push constants change."""

    _images, _structures = VulkanImage, VulkanAccelerationStructure

    device: LogicalDevice
    pipeline: VulkanPipeline
    _commands: Commands | None = None
    _descriptors: DescriptorSets | None = None
    _draw: VulkanDraw | None = None
    _timer: Timer | None = None
    _recorded: tuple[Command, bytes] | None = None
    _compiled: bool = False

    @property
    def closed(self) -> bool:
        """Whether the descriptors were freed."""
        return self._commands is None or self._commands.handle is None

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return PooledBuffer(self.device, array)

    def _borrow(self, slot: Slot, value: Any) -> Borrowed:
        return BorrowedArray(self.device, slot, value)

    def _image_source(self) -> ImageSource:
        return PooledImages(self.device, VulkanImage)

    def memories(self) -> list[DeviceBuffer]:
        """Return the buffers that are bound."""
        bound = [resource for resources in self.resources.values() for resource in resources]
        return [item.memory for item in bound if isinstance(item, VulkanBuffer | PooledBuffer)]

    @property
    def shader_only(self) -> bool:
        """Whether a barrier between dispatches follows them: they write nothing for the host or for CUDA."""
        memories = self.memories()
        only_buffers = len(memories) == sum(map(len, self.resources.values()))
        shaders = self.pipeline.stages.shaders
        pointers = "PhysicalStorageBufferAddresses"
        return (
            (self._kind == "compute" and only_buffers)
            and all(memory.mapped is None and memory.shared is None for memory in memories)
            and not any(pointers in shader.module.reflection.capabilities for shader in shaders)
        )

    def _prepare(self) -> None:
        self._descriptors = DescriptorSets(self.device, self.slots, self.resources, self.samplers)
        self._descriptors.create(self.pipeline.set_layouts)
        self._commands = Commands(self.device)
        self._commands.use(self.memories())

    def _prepare_draw(self, data: DrawData, stages: GraphicsStages, drawn: DrawImages) -> None:
        self._draw = VulkanDraw(self.device, data, stages.state)
        self._draw.create(drawn, bound_inputs(self.resources, stages.formats.inputs, data.size))

    def _run(self, command: Command, push: bytes, timeout: float | None, wait: bool) -> int:
        assert self._commands is not None
        if isinstance(command, DispatchCommand) and command.indirect is not None:
            # The device reads the counts: the recorded commands are the same for all of them.
            command = command._replace(counts=(0, 0, 0))
        timeout = checked_timeout(timeout)
        if wait and isinstance(command, DispatchCommand):
            self.compile(timeout)
        with self.device.lock:
            if self._recorded != (command, push):
                self._record(self._commands, command, push)
            number = self._commands.submit(now=wait)
        if wait:
            self._commands.finish(number, timeout)
        else:
            self._commands.settle(number)
        return number

    def compile(self, timeout: float | None = None) -> None:
        """Make the driver compile a compute pipeline now; see `Work.compile`.

        llvmpipe compiles when a queue executes a dispatch, for the kinds of the bound resources. A dispatch
        of zero workgroups is valid (Vulkan 1.4, vkCmdDispatch): it compiles without running the shader.
        """
        device = self.device
        if self._compiled or self.pipeline.compiled or self._kind != "compute":
            return
        if device.capabilities.driver_name != "llvmpipe":
            return
        device.wait(device.timeline.submitted, timeout)
        commands = Commands(device, "compilation")
        try:
            with commands.record() as handle:
                self.record_state(handle, bytes(4 * -(-self._push.size // 4)) if self._push else b"")
                self.record_command(handle, DispatchCommand((0, 0, 0)))
            commands.use(self.memories())
            with phase("compiling the shader for the device", CodeOwner.DRIVER):
                commands.run(None)
        finally:
            commands.close()
        self._compiled = True
        # For images and samplers llvmpipe compiles again if their formats or parameters change.
        self.pipeline.compiled = all(slot.kind in ("uniform_buffer", "storage_buffer") for slot in self.slots)

    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> float | None:
        if isinstance(command, DispatchCommand):
            self.compile(checked_timeout(timeout))
        if self._timer is None:
            self._timer = Timer(self.device, self.memories())
        return self._timer.run(
            (command, push),
            lambda commands: self.record_state(commands, push),
            lambda commands: self.record_command(commands, command),
            timeout,
            repeat,
        )

    def _record(self, recorder: Commands, command: Command, push: bytes) -> None:
        self._recorded = None
        recorder.what = describe(command)
        if isinstance(command, DispatchCommand):
            sources = (command.indirect, command.condition)
            read = [memory_of(source.buffer) for source in sources if source is not None]
            recorder.use([*self.memories(), *read])
        functions = self.device.functions
        direct = isinstance(command, DispatchCommand) and not (command.indirect or command.condition)
        shader_only = direct and self.shader_only
        with recorder.record() as commands:
            if isinstance(command, DrawCommand):
                barrier(functions, commands)
            self.record_state(commands, push)
            self.record_command(commands, command)
            recorder.end(shader_only=shader_only, ordered=direct)
        self._recorded = command, push

    def record_state(self, commands: Any, push: bytes) -> None:
        """Record the binding of pipeline, descriptors and vertices, and the push constants."""
        functions, pipeline = self.device.functions, self.pipeline
        functions.vkCmdBindPipeline(commands, pipeline.bind_point, pipeline.handle)
        if self._descriptors is not None:
            self._descriptors.record(commands, pipeline.bind_point, pipeline.layout)
        if push:
            data = vk.ffi.from_buffer(push)
            functions.vkCmdPushConstants(commands, pipeline.layout, pipeline.stage_bits, 0, len(push), data)
        if self._draw is not None:
            self._draw.record_state(commands)

    def record_command(self, commands: Any, command: Command) -> None:
        """Record a dispatch, a draw or a launch of rays, for which `record_state` has set everything."""
        functions = self.device.functions
        if isinstance(command, DispatchCommand):
            _record_dispatch(functions, commands, command)
        elif isinstance(command, TraceCommand):
            assert self.pipeline.table is not None
            functions.vkCmdTraceRaysKHR(commands, *self.pipeline.table.regions, *command.counts)
        else:
            assert self._draw is not None
            self._draw.record(commands)

    def close(self) -> None:
        """Free the descriptors and what was made for arrays and draws; the caller's resources stay."""
        for part in (self._commands, self._timer, self._descriptors, self._draw):
            if part is not None:
                part.close()
        super().close()


class VulkanPipeline(Pipeline):
    """A VkPipeline and its layouts, which are None when closed; a `table` of groups if it traces rays."""

    _kind_of_work = VulkanWork

    device: LogicalDevice
    handle: Any = None
    layout: Any = None
    compiled: bool = False  # whether the driver has compiled it for all resources that may be bound
    table: BindingTable | None = None
    _render_pass: Any = None
    set_layouts: Sequence[Any] = ()  # layouts of the descriptor sets, by set

    @property
    def closed(self) -> bool:
        """Whether the pipeline was closed."""
        return self.handle is None

    def _lacking(self) -> list[str]:
        stages = self.stages
        return lacking_targets(self.device, stages) if isinstance(stages, GraphicsStages) else []

    def _create(self) -> None:
        self.bind_point = _BIND_POINTS[self.stages.kind]
        self.stage_bits = sum({STAGE_BITS[shader.entry_point.stage] for shader in self.stages.shaders})
        self._create_layout()
        device, stages = self.device, self.stages
        if isinstance(stages, GraphicsStages):
            self._render_pass = create_render_pass(device, targets_of(stages))
        make = self._maker()
        if make is not None:
            self.handle = capturing(device, make)
        elif isinstance(stages, RayStages):
            self.handle = create_ray_pipeline(device, stages, self.layout)
            self.table = BindingTable(device, stages, self.handle)

    def _executables(self, representations: bool) -> tuple[Executable, ...]:
        make = self._maker()
        return () if make is None else executables_of(self.device, make, representations=representations)

    def _maker(self) -> Callable[[int], Any] | None:
        """Return a function that creates the VkPipeline with flags; None if it traces rays."""
        if isinstance(self.stages, ComputeStages):
            return partial(create_compute_pipeline, self.device, self.stages, self.layout)
        if isinstance(self.stages, GraphicsStages):
            return partial(create_graphics_pipeline, self.device, self.stages, self.layout, self._render_pass)
        return None

    def _create_layout(self) -> None:
        device = self.device
        layouts: list[Any] = []
        self.set_layouts = layouts
        for number in range(max((slot.set + 1 for slot in self.slots), default=0)):
            bindings = [self._layout_binding(slot) for slot in self.slots if slot.set == number]
            info = vk.new("VkDescriptorSetLayoutCreateInfo", bindingCount=len(bindings), pBindings=bindings)
            layouts.append(device.create("DescriptorSetLayout", info, "a descriptor set layout"))
        ranges = []
        if self.push_constants is not None:
            size = -(-self.push_constants.size // 4) * 4
            ranges = [vk.new("VkPushConstantRange", stageFlags=self.stage_bits, offset=0, size=size)]
        info = vk.new(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=len(layouts),
            pSetLayouts=layouts,
            pushConstantRangeCount=len(ranges),
            pPushConstantRanges=ranges,
        )
        self.layout = device.create("PipelineLayout", info, "a pipeline layout")

    def _layout_binding(self, slot: Slot) -> Any:
        # VUID-VkDescriptorSetLayoutBinding-descriptorType-01510
        fragment = slot.kind == "input_attachment"
        return vk.new(
            "VkDescriptorSetLayoutBinding",
            binding=slot.binding,
            descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
            descriptorCount=slot.count,
            stageFlags=STAGE_BITS["fragment"] if fragment else self.stage_bits,
        )

    def close(self) -> None:
        """Free the pipeline, its layouts, its render pass and its binding table."""
        device = self.device
        if self.table is not None:
            self.table.close()
        device.forget(self)
        device.destroy("RenderPass", self._render_pass)
        device.destroy("Pipeline", self.handle)
        device.destroy("PipelineLayout", self.layout)
        for layout in self.set_layouts:
            device.destroy("DescriptorSetLayout", layout)
        self.handle = self.layout = self._render_pass = None
        self.set_layouts = ()
        self._holding = False


def describe(command: Command) -> str:
    """Return what a command does, for errors."""
    if isinstance(command, DispatchCommand):
        return "an indirect dispatch" if command.indirect else f"a dispatch of {command.counts} workgroups"
    return f"a launch of {command.counts} rays" if isinstance(command, TraceCommand) else "a draw"


def _record_dispatch(functions: vk.Functions, commands: Any, command: DispatchCommand) -> None:
    if command.condition is not None:
        condition = command.condition
        begin = vk.new(
            "VkConditionalRenderingBeginInfoEXT",
            buffer=memory_of(condition.buffer).handle,
            offset=condition.buffer.offset + condition.offset,
            flags=vk.VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT if condition.inverted else 0,
        )
        functions.vkCmdBeginConditionalRenderingEXT(commands, begin)
    if command.indirect is not None:
        buffer, offset = command.indirect.buffer, command.indirect.offset
        functions.vkCmdDispatchIndirect(commands, memory_of(buffer).handle, buffer.offset + offset)
    else:
        functions.vkCmdDispatch(commands, *command.counts)
    if command.condition is not None:
        functions.vkCmdEndConditionalRenderingEXT(commands)


def memory_of(buffer: Buffer) -> DeviceBuffer:
    """Return the memory of a buffer of this kind of device."""
    assert isinstance(buffer, VulkanBuffer)
    return buffer.memory
