"""Vulkan devices, recorded sequences, and reading images of several samples with a compute shader."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import vk
from vkgroup.device.barriers import SHADER, TRANSFER, barrier_between
from vkgroup.device.capabilities import Capabilities
from vkgroup.device.commands import Commands
from vkgroup.device.core import checked_timeout
from vkgroup.device.limits import subgroup_size_problems
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.device.sharing import MemoryReference
from vkgroup.device.transfers import TRANSFER_TIMEOUT
from vkgroup.dispatch.blocks import pack_push
from vkgroup.dispatch.buffer import Buffer, as_bytes
from vkgroup.dispatch.commands import DispatchCommand, PendingRun, checked_counts
from vkgroup.dispatch.device import Choice, Device
from vkgroup.dispatch.dlpack import array_at
from vkgroup.dispatch.launcher import Launcher, LauncherStep
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.sequence import Copy, Dispatch, Fill, Sequence, Step, buffers_of
from vkgroup.dispatch.slots import assign
from vkgroup.dispatch.stages import ComputeStages
from vkgroup.dispatch.vulkan.acceleration import VulkanAccelerationStructure
from vkgroup.dispatch.vulkan.array_run import LARGEST, ArrayRun
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer, adopt
from vkgroup.dispatch.vulkan.execution import require_execution
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.launcher import VulkanLauncher
from vkgroup.dispatch.vulkan.pipeline import Timer, VulkanPipeline, VulkanWork, memory_of


class VulkanSequence(Sequence):
    """Steps in a command buffer, with a barrier between two that are not side by side."""

    device: LogicalDevice
    _commands: Commands | None = None
    _timer: Timer | None = None
    _compiled: bool = False

    @property
    def closed(self) -> bool:
        """Whether the commands were freed."""
        return self._commands is None or self._commands.handle is None

    def _create(self) -> None:
        self._commands = Commands(self.device, self.name)
        self._commands.use(self._memories())
        works = [getattr(step, "work", None) for stage in self.stages for step in stage]
        shader_only = all(isinstance(work, VulkanWork) and work.shader_only for work in works)
        with self._commands.record() as commands:
            self._record(commands)
            ordered = all(isinstance(step, Dispatch) for step in self.stages[0])
            self._commands.end(shader_only=shader_only, ordered=ordered)

    def _run(self, timeout: float | None, wait: bool) -> int:
        assert self._commands is not None
        timeout = checked_timeout(timeout)
        if wait and not self._compiled:
            self._compile(timeout)
        number = self._commands.submit(now=wait)
        if wait:
            self._commands.finish(number, timeout)
        else:
            self._commands.settle(number)
        return number

    def _compile(self, timeout: float | None) -> None:
        """Make the driver compile all pipelines now, which does not count for the time limit."""
        for step in (step for stage in self.stages for step in stage):
            if isinstance(step, Dispatch):
                assert isinstance(step.work, VulkanWork)
                step.work.compile(timeout)
        self._compiled = True

    def _timed(self, timeout: float | None, repeat: int) -> float | None:
        if not self._compiled:
            self._compile(checked_timeout(timeout))
        if self._timer is None:
            self._timer = Timer(self.device, self._memories())
        return self._timer.run("sequence", lambda commands: None, self._record, timeout, repeat)

    def _memories(self) -> list[DeviceBuffer]:
        """Return the buffers that the steps use."""
        memories: list[DeviceBuffer] = []
        for step in (step for stage in self.stages for step in stage):
            if isinstance(step, Dispatch):
                assert isinstance(step.work, VulkanWork)
                memories += step.work.memories()
            else:
                memories += [memory_of(buffer) for buffer in buffers_of(step)]
        return memories

    def _record(self, commands: Any) -> None:
        functions = self.device.functions
        for number, stage in enumerate(self.stages):
            if number:
                before, after = map(_stages_of, self.stages[number - 1 : number + 1])
                barrier_between(functions, commands, before, after)
            for step in stage:
                _record_step(functions, commands, step)

    def close(self) -> None:
        """Free the commands; buffers and bindings stay."""
        self.device.forget(self)
        if self._commands is not None:
            self._commands.close()
        if self._timer is not None:
            self._timer.close()
            self._timer = None
        self._holding = False


def _stages_of(steps: Iterable[Step]) -> int:
    """Return where steps that run side by side are executed."""
    kinds = {SHADER if isinstance(step, Dispatch) else TRANSFER for step in steps}
    return sum(kinds)


def _record_step(functions: vk.Functions, commands: Any, step: Step) -> None:
    if isinstance(step, Fill):
        start = step.buffer.offset + step.offset
        functions.vkCmdFillBuffer(commands, memory_of(step.buffer).handle, start, step.nbytes, step.value)
    elif isinstance(step, Copy):
        region = vk.new(
            "VkBufferCopy",
            srcOffset=step.source.offset + step.source_offset,
            dstOffset=step.target.offset + step.target_offset,
            size=step.nbytes,
        )
        source, target = memory_of(step.source).handle, memory_of(step.target).handle
        functions.vkCmdCopyBuffer(commands, source, target, 1, region)
    else:
        assert isinstance(step.work, VulkanWork)
        step.work.record_state(commands, step.push)
        step.work.record_command(commands, DispatchCommand(step.groups))


_SOURCE = """#version 450
#extension GL_EXT_samplerless_texture_functions : require

layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) uniform PREFIXtexture2DMS image;
layout(set = 0, binding = 1) writeonly buffer Words { uvec4 words[]; };
layout(push_constant) uniform Size { uvec2 size; uint samples; };

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy;
    if (any(greaterThanEqual(pixel, size)))
        return;
    for (uint s = 0; s < samples; ++s)
        words[(pixel.y * size.x + pixel.x) * samples + s] =
            BITS(texelFetch(image, ivec2(pixel), int(s)));
}
"""

#: Prefix of the texture's type, and the function that converts texels to words, by the kind of texels.
_KINDS = {"float": ("", "floatBitsToUint"), "int": ("i", "uvec4"), "uint": ("u", "uvec4")}


def read_samples(image: VulkanImage) -> npt.NDArray[np.uint8]:
    """Return the bytes of all samples of an image, (height, width, samples, components)."""
    format_, device = image.format, image.device
    if "sampled" not in image.uses or format_.packed:
        raise Unsupported(
            f"The samples of an image of {format_.vulkan} cannot be read on {device.capabilities.name};"
            " let the device resolve them (resolve=True).",
            [format_.vulkan],
        )
    prefix, bits = _KINDS[format_.kind]
    source = _SOURCE.replace("PREFIX", prefix).replace("BITS", bits)
    target = TargetEnvironment.for_api_version(device.capabilities.api_version)
    module = compile_source(source, stage="compute", target=target)
    width, height, samples = image.extent[0], image.extent[1], image.samples
    count = width * height * samples
    words = VulkanBuffer(device, count * 16)
    try:
        with (
            VulkanPipeline(device, ComputeStages(module)) as pipeline,
            pipeline.bind({0: image, 1: words}) as work,
        ):
            groups = (-(-width // 8), -(-height // 8), 1)
            work.dispatch(groups, {"size": (width, height), "samples": samples}, TRANSFER_TIMEOUT)
        texels = words.read(np.uint32, count * 4).reshape(count, 4)[:, : format_.components]
    finally:
        words.close()
    # The words are converted to the type of the image; no format loses information.
    kinds = {"uint": np.uint32, "int": np.int32}
    values: npt.NDArray[Any] = np.ascontiguousarray(texels).view(kinds.get(format_.numeric, np.float32))
    if format_.numeric not in ("uint", "int", "float"):
        values = np.rint(values.astype(np.float64) * np.iinfo(format_.dtype).max)
    return as_bytes(values.astype(format_.dtype))


MOST_RUNS = 256
"""Maximum number of plans that a device keeps, those of kernels included."""


class _SeenOnce:
    """Marks a run that is kept if it comes again."""

    def close(self) -> None:
        """Do nothing."""


class VulkanDevice(Device):
    """An open Vulkan device over a `logical` device, which is closed with this.

    The subgroup size is required of pipelines that require no other; None leaves it to the device. Raises
    `Unsupported`, and closes the device, where it does not run at that size.
    """

    _buffers, _images, _kind_of_pipelines = VulkanBuffer, VulkanImage, VulkanPipeline
    _structures, _kind_of_sequences = VulkanAccelerationStructure, VulkanSequence

    def __init__(self, logical: LogicalDevice, subgroup_size: int | None = None) -> None:
        try:
            super().__init__(logical, _required(subgroup_size, logical.capabilities))
        except Unsupported:
            logical.close()
            raise
        self.logical = logical
        logical.read_samples = read_samples

    def require_execution(self, *, again: bool = False) -> None:
        """Raise NoDevice if the device executes nothing; see `vkgroup.dispatch.vulkan.execution`."""
        if not self.logical.info.is_compile_only:
            require_execution(self.logical, again=again)

    def launcher(
        self, steps: Iterable[LauncherStep], scratch: Mapping[str, int], name: str = "a launcher"
    ) -> Launcher:
        """Prepare steps that run on other buffers at each call; see `Device.launcher`."""
        steps = tuple(steps)
        return VulkanLauncher(self.logical, steps, scratch, name, super().launcher(steps, scratch, name))

    def _run_again(
        self, choice: Choice, groups: Any, bindings: Mapping[Any, Any], push: Any, timeout: float | None
    ) -> RunResult | None:
        timeout = checked_timeout(timeout)
        kept = self._kept_run(choice, groups, bindings, push, at_once=False)
        return None if kept is None else kept.run(list(bindings.values()), timeout)

    def _submit_again(
        self, choice: Choice, groups: Any, bindings: Mapping[Any, Any], push: Any
    ) -> PendingRun | None:
        kept = self._kept_run(choice, groups, bindings, push, at_once=True)
        return None if kept is None else kept.submit(list(bindings.values()))

    def _kept_run(
        self, choice: Choice, groups: Any, bindings: Mapping[Any, Any], push: Any, *, at_once: bool
    ) -> ArrayRun | None:
        """Return what is kept for runs on arrays of these sizes.

        None if the bindings are no small arrays. Unless `at_once`, also at the first run: only what is run
        twice is kept.
        """
        if not isinstance(bindings, Mapping):
            return None
        described: list[Any] = []
        for name, array in bindings.items():
            if type(array) is not np.ndarray:
                return None
            described += name, array.dtype, array.shape
        # A run that is known has no push constants if it was given none.
        packed = None if push is None else pack_push(self._kept_pipeline(choice).push_constants, push)
        # A number that has come before was checked.
        limit = self.capabilities.limits["maxComputeWorkGroupCount"]
        counts = (groups, 1, 1) if type(groups) is int else checked_counts(groups, limit)
        key = (ArrayRun, counts, packed, choice.key, *described)
        run: ArrayRun | _SeenOnce | None = self.plans.find(key)
        if not isinstance(run, ArrayRun) or run.outdated:
            run = self._new_run(key, run is not None or at_once, choice, counts, push, bindings)
        return run if run is not None and run.usable else None

    def _new_run(
        self,
        key: Any,
        wanted: bool,
        choice: Choice,
        counts: tuple[int, int, int],
        push: Any,
        bindings: Mapping[Any, Any],
    ) -> ArrayRun | None:
        """Make what `_kept_run` keeps if it is `wanted` and possible; otherwise note that it came once."""
        pipeline = self._kept_pipeline(choice)
        assert isinstance(pipeline, VulkanPipeline)
        if pipeline.push_conflict:
            return None
        packed = pack_push(pipeline.push_constants, push)
        checked_counts(counts, self.capabilities.limits["maxComputeWorkGroupCount"])
        arrays = assign(pipeline.slots, bindings)
        if 0 in counts or sum(array.nbytes for array in arrays.values()) > LARGEST:
            return None
        if not wanted:
            self.plans.add(key, _SeenOnce(), MOST_RUNS)
            return None
        # An earlier run otherwise checks the arrays.
        pipeline.bind(bindings).close()
        run = ArrayRun(self.logical, pipeline, counts, packed, arrays, super().launcher((), {}))
        self.plans.add(key, run, MOST_RUNS)
        return run

    def _host_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        if self.capabilities.type != "discrete_gpu":
            return super()._host_array(shape, dtype)
        memory = DeviceBuffer(self.logical, math.prod(shape) * dtype.itemsize, host=True)
        return array_at(memory.serve_arrays(), dtype, shape, MemoryReference(memory))

    def _from_cuda(self, array: Any, copy: bool | None) -> Buffer:
        return adopt(self.logical, array, copy)


def _required(size: int | None, capabilities: Capabilities) -> int | None:
    """Return the size to require; none where the device has no other anyway."""
    declared, control = capabilities.subgroup.size, capabilities.size_control
    if size is None or (size == declared and not control.supported):
        return None
    problems = subgroup_size_problems(size, False, (1, 1, 1), capabilities)
    if problems:
        raise Unsupported(
            f"{capabilities.name} has subgroups of {declared} and cannot be made to use {size}; it lacks:"
            f" {'; '.join(problems)}. The reference device has every size (--device reference:{size}).",
            problems,
        )
    return size
