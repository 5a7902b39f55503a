"""Measuring dispatches with timestamps of the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.memory import barrier

if TYPE_CHECKING:
    from vkgroup.dispatch.bound import Groups
    from vkgroup.dispatch.vulkan.bound import VulkanBound


class Timer:
    """Measures dispatches with two timestamps around them."""

    def __init__(self, bound: VulkanBound) -> None:
        self._bound, self._device = bound, bound.device
        self._commands = Commands(self._device)
        self._queries: Any = None
        self._recorded: tuple[Groups, bytes, int] | None = None
        if self._device.capabilities.timestamps.valid_bits:
            info = vk.new("VkQueryPoolCreateInfo", queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2)
            pool = vk.ffi.new("VkQueryPool *")
            device = self._device
            code = device.functions.vkCreateQueryPool(device.handle, info, vk.NULL, pool)
            device.check(code, "creating a query pool")
            self._queries = pool[0]

    def run(self, groups: Groups, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Run the dispatch `repeat` times; gives seconds of one, None without timestamps."""
        if self._recorded != (groups, push, repeat):
            self._record(groups, push, repeat)
        self._commands.run(timeout)
        if self._queries is None:
            return None
        ticks = vk.ffi.new("uint64_t[2]")
        device = self._device
        flags = vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT
        code = device.functions.vkGetQueryPoolResults(device.handle, self._queries, 0, 2, 16, ticks, 8, flags)
        device.check(code, "reading timestamps")
        stamps = device.capabilities.timestamps
        elapsed = (ticks[1] - ticks[0]) & ((1 << stamps.valid_bits) - 1)
        return float(elapsed * stamps.period_ns * 1e-9 / repeat)

    def _record(self, groups: Groups, push: bytes, repeat: int) -> None:
        functions, queries = self._device.functions, self._queries
        self._recorded = None
        with self._commands.record() as commands:
            if queries is not None:
                functions.vkCmdResetQueryPool(commands, queries, 0, 2)
            barrier(functions, commands)
            self._bound.record_state(commands, push)
            if queries is not None:
                functions.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 0)
            for number in range(repeat):
                if number:
                    barrier(functions, commands)
                functions.vkCmdDispatch(commands, *groups)
            if queries is not None:
                functions.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1)
            barrier(functions, commands)
        self._recorded = (groups, push, repeat)

    def close(self) -> None:
        """Free the queries and the commands."""
        self._commands.close()
        if self._queries is not None and self._device.usable:
            self._device.functions.vkDestroyQueryPool(self._device.handle, self._queries, vk.NULL)
        self._queries = None
