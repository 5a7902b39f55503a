"""A pipeline with its bindings: dispatching it once or many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.memory import DeviceBuffer, barrier
from vkgroup.dispatch.blocks import pack_push
from vkgroup.dispatch.buffer import Buffer, as_bytes
from vkgroup.dispatch.checks import check_value, items_of
from vkgroup.dispatch.image import Image, choose_format
from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot, assign
from vkgroup.dispatch.timer import Timer
from vkgroup.errors import DriverError, InvalidDispatch, Unsupported
from vkgroup.spirv import ImageType

Groups = tuple[int, int, int]
_MOST_REPEATS = 1_000_000


class ArrayBuffer:
    """A pooled buffer that stands for an array of the caller's while it is bound."""

    def __init__(self, memory: DeviceBuffer, array: npt.NDArray[Any]) -> None:
        self.memory = memory
        self.nbytes, self.dtype, self.shape = array.nbytes, array.dtype, array.shape
        memory.write(as_bytes(array))

    def read(self) -> npt.NDArray[Any]:
        """Copy the bytes back into a new array."""
        return self.memory.read(self.nbytes).view(self.dtype).reshape(self.shape)


Resource = Buffer | Image | ArrayBuffer


class Bound:
    """A pipeline with everything bound; `Pipeline.bind` makes it.

    A dispatch with the same groups and push constants as the last one is not recorded again: it costs
    a submit and a wait.
    """

    def __init__(self, pipeline: Pipeline, bindings: Mapping[Any, Any]) -> None:
        device = pipeline.device
        device.require_open()
        if pipeline.handle is None:
            raise DriverError("The pipeline is closed; make a new one.")
        self.pipeline, self.device = pipeline, device
        self.resources: dict[Slot, list[Resource]] = {}
        self._own: list[ArrayBuffer | Image] = []
        self._pool: Any = None
        self._sets: Any = None
        self._recorded: tuple[Groups, bytes] | None = None
        self._limits: Groups = device.capabilities.limits["maxComputeWorkGroupCount"]
        self._push = pipeline.module.reflection.push_constants
        self._timer: Timer | None = None
        self._closings = -1
        assigned = assign(pipeline.slots, bindings)
        for slot, value in assigned.items():
            check_value(slot, value, pipeline.device)
        device.register(self)
        try:
            for slot, value in assigned.items():
                self.resources[slot] = [self._resource(slot, item) for item in items_of(slot, value)]
            self._create_sets()
            self._commands = Commands(device)
        except (DriverError, InvalidDispatch, Unsupported):
            self.close()
            raise
        device.instance.raise_validation_errors()

    def _resource(self, slot: Slot, value: Any) -> Resource:
        if isinstance(value, Buffer | Image):
            return value
        kind, array = slot.variables[0].type, np.asarray(value)
        own: ArrayBuffer | Image
        if isinstance(kind, ImageType):
            own = Image(
                self.device,
                array.shape,
                choose_format(kind, array, slot.label),
                dimension=kind.dimension,
                arrayed=kind.arrayed,
            )
            self._own.append(own)
            own.write(array)
        else:
            own = ArrayBuffer(self.device.take_buffer(array.nbytes), array)
            self._own.append(own)
        return own

    # --- descriptors ----------------------------------------------------------------------------------

    def _create_sets(self) -> None:
        device, functions = self.device, self.device.functions
        layouts = self.pipeline.set_layouts
        if not layouts:
            return
        totals: dict[str, int] = {}
        for slot in self.pipeline.slots:
            totals[slot.kind] = totals.get(slot.kind, 0) + slot.count
        sizes = [
            vk.new("VkDescriptorPoolSize", type=getattr(vk, DESCRIPTOR_TYPES[kind]), descriptorCount=count)
            for kind, count in totals.items()
        ]
        info = vk.new(
            "VkDescriptorPoolCreateInfo", maxSets=len(layouts), poolSizeCount=len(sizes), pPoolSizes=sizes
        )
        pool = vk.ffi.new("VkDescriptorPool *")
        code = functions.vkCreateDescriptorPool(device.handle, info, vk.NULL, pool)
        device.check(code, "creating a descriptor pool")
        self._pool = pool[0]
        info = vk.new(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=self._pool,
            descriptorSetCount=len(layouts),
            pSetLayouts=layouts,
        )
        self._sets = vk.ffi.new("VkDescriptorSet[]", len(layouts))
        code = functions.vkAllocateDescriptorSets(device.handle, info, self._sets)
        device.check(code, "allocating descriptor sets")
        writes = vk.array("VkWriteDescriptorSet", [self._write(slot) for slot in self.pipeline.slots])
        functions.vkUpdateDescriptorSets(device.handle, len(writes), writes, 0, vk.NULL)

    def _write(self, slot: Slot) -> Any:
        """Describe a place's resources to Vulkan."""
        infos: list[Any] = []
        for resource in self.resources[slot]:
            if isinstance(resource, Image):
                general = vk.VK_IMAGE_LAYOUT_GENERAL
                infos.append(vk.new("VkDescriptorImageInfo", imageView=resource.view, imageLayout=general))
            else:
                handle = resource.memory.handle
                infos.append(vk.new("VkDescriptorBufferInfo", buffer=handle, range=resource.nbytes))
        images = slot.kind == "storage_image"
        return vk.new(
            "VkWriteDescriptorSet",
            dstSet=self._sets[slot.set],
            dstBinding=slot.binding,
            descriptorCount=slot.count,
            descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
            pImageInfo=infos if images else vk.NULL,
            pBufferInfo=vk.NULL if images else infos,
        )

    # --- dispatches -----------------------------------------------------------------------------------

    def dispatch(self, groups: int | Sequence[int], push: Any = None, timeout: float | None = 10.0) -> None:
        """Run the pipeline once and wait until it has finished.

        Parameters
        ----------
        groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits for ever.

        Raises
        ------
        InvalidDispatch
            The groups or push constants make no sense on this device.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device is of no more use.
        """
        counts = self._groups(groups)
        data = pack_push(self._push, push) if self._push is not None or push is not None else b""
        if 0 in counts:
            self.device.require_open()
            return
        if self._closings != self.device.closings:
            self.require_open()
        if self._recorded != (counts, data):
            self._record(counts, data)
        self._commands.run(timeout)

    def timed(
        self,
        groups: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        repeat: int = 1,
    ) -> float | None:
        """Run the pipeline and measure it on the GPU.

        Parameters
        ----------
        groups, push, timeout : as for `dispatch`.
        repeat : how many times to run it, one after the other in one submission.

        Returns
        -------
        Seconds of one run, on average; None where the device has no timestamps.
        """
        counts = self._groups(groups)
        if not isinstance(repeat, int | np.integer) or not 1 <= repeat <= _MOST_REPEATS:
            raise InvalidDispatch(f"repeat must be a number from 1 to {_MOST_REPEATS}; {repeat!r} was given.")
        data = pack_push(self._push, push)
        if 0 in counts:
            self.device.require_open()
            return 0.0
        self.require_open()
        if self._timer is None:
            self._timer = Timer(self)
        return self._timer.run(counts, data, timeout, repeat)

    def _groups(self, groups: int | Sequence[int]) -> Groups:
        if type(groups) is tuple and len(groups) == 3:
            counts = groups
        else:
            several = isinstance(groups, Sequence) or (isinstance(groups, np.ndarray) and groups.ndim > 0)
            given: tuple[Any, ...] = tuple(groups) if several else (groups,)  # type: ignore[arg-type]
            if not 1 <= len(given) <= 3:
                raise InvalidDispatch(f"groups are one to three numbers; {groups!r} was given.")
            x, y, z = (*given, 1, 1)[:3]
            counts = (x, y, z)
        for count, most in zip(counts, self._limits, strict=True):
            if not isinstance(count, int | np.integer) or count < 0:
                raise InvalidDispatch(f"groups are whole numbers from 0 on; {groups!r} was given.")
            if count > most:
                raise InvalidDispatch(
                    f"{counts} workgroups are over the device's maxComputeWorkGroupCount,"
                    f" {tuple(self._limits)}. Dispatch in parts, or give each invocation more work."
                )
        return counts

    def _record(self, counts: Groups, push: bytes) -> None:
        self._recorded = None
        with self._commands.record() as commands:
            barrier(self.device.functions, commands)
            self.record_state(commands, push)
            self.device.functions.vkCmdDispatch(commands, *counts)
            barrier(self.device.functions, commands)
        self._recorded = (counts, push)

    def record_state(self, commands: Any, push: bytes) -> None:
        """Record what a dispatch needs set: pipeline, descriptors, push constants."""
        functions, compute = self.device.functions, vk.VK_PIPELINE_BIND_POINT_COMPUTE
        layout = self.pipeline.layout
        functions.vkCmdBindPipeline(commands, compute, self.pipeline.handle)
        if self._sets is not None:
            functions.vkCmdBindDescriptorSets(
                commands, compute, layout, 0, len(self._sets), self._sets, 0, vk.NULL
            )
        if push:
            stage = vk.VK_SHADER_STAGE_COMPUTE_BIT
            functions.vkCmdPushConstants(commands, layout, stage, 0, len(push), vk.ffi.from_buffer(push))

    def require_open(self) -> None:
        """Raise where the device, the pipeline or anything bound is closed."""
        closings = self.device.closings
        self.device.require_open()
        if self.pipeline.handle is None or self._commands.handle is None:
            raise DriverError("The pipeline or its bindings are closed; bind anew.")
        for resources in self.resources.values():
            for resource in resources:
                handle = resource.handle if isinstance(resource, Image) else resource.memory.handle
                if handle is None:
                    raise DriverError("A bound buffer or image is closed; bind anew.")
        self._closings = closings

    # --- results --------------------------------------------------------------------------------------

    def results(self) -> dict[Any, npt.NDArray[Any]]:
        """Read back every array that a shader may have written, by the binding's name.

        Only what was bound as an array is read, with the dtype and shape that it had; buffers and
        images of the caller's are the caller's to read.
        """
        self.require_open()
        found: dict[Any, Any] = {}
        for slot, resources in self.resources.items():
            arrays = [entry.read() for entry in resources if any(entry is own for own in self._own)]
            if slot.writable and arrays:
                found[slot.key] = arrays[0] if slot.count == 1 else arrays
        self.device.instance.raise_validation_errors()
        return found

    def close(self) -> None:
        """Free the descriptors and what was made for arrays; the caller's buffers stay."""
        device = self.device
        device.forget(self)
        commands: Commands | None = getattr(self, "_commands", None)
        if commands is not None:
            commands.close()
        if self._timer is not None:
            self._timer.close()
        if self._pool is not None and device.usable:
            device.functions.vkDestroyDescriptorPool(device.handle, self._pool, vk.NULL)
        self._pool = self._recorded = None
        for own in self._own:
            if isinstance(own, Image):
                own.close()
            else:
                device.give_buffer(own.memory)
        self._own = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pool", None) is not None:
            self.close()
