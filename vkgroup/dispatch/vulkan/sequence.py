"""Sequences of Vulkan: one command buffer for all steps."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer, barrier, inner_barrier
from vkgroup.dispatch.commands import DispatchCommand
from vkgroup.dispatch.sequence import Copy, Dispatch, Fill, Sequence, Step, buffers_of
from vkgroup.dispatch.vulkan.pipeline import Timer, VulkanWork, memory_of


class VulkanSequence(Sequence):
    """Steps in a command buffer, with a barrier between two that are not side by side."""

    device: LogicalDevice
    _commands: Commands | None = None
    _timer: Timer | None = None

    @property
    def closed(self) -> bool:
        """Whether the commands were freed."""
        return self._commands is None or self._commands.handle is None

    def _create(self) -> None:
        functions = self.device.functions
        self._commands = Commands(self.device)
        self._commands.share(self._memories())
        with self._commands.record() as commands:
            self._record(commands)
            barrier(functions, commands)

    def _run(self, timeout: float | None) -> None:
        assert self._commands is not None
        self._commands.run(timeout)

    def _timed(self, timeout: float | None, repeat: int) -> float | None:
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
                inner_barrier(functions, commands)
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
