"""Timing of work with timestamps of the GPU."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer, barrier

Recorder = Callable[[Any], None]


class Timer:
    """Measures work with two timestamps around it.

    Parameters
    ----------
    buffers : what the work uses.
    """

    def __init__(self, device: LogicalDevice, buffers: Iterable[DeviceBuffer]) -> None:
        self._device = device
        self._commands = Commands(self._device)
        self._commands.share(buffers)
        self._queries: Any = None
        self._recorded: tuple[Hashable, int] | None = None
        if self._device.capabilities.timestamps.valid_bits:
            info = vk.new("VkQueryPoolCreateInfo", queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2)
            pool = vk.ffi.new("VkQueryPool *")
            device = self._device
            code = device.functions.vkCreateQueryPool(device.handle, info, vk.NULL, pool)
            device.check(code, "creating a query pool")
            self._queries = pool[0]

    def run(
        self, key: Hashable, state: Recorder, work: Recorder, timeout: float | None, repeat: int
    ) -> float | None:
        """Run work `repeat` times; returns the seconds of one run, None without timestamps.

        Parameters
        ----------
        key : the same where the same was recorded last time.
        state, work : record what the work needs set, and the work itself, into a command buffer.
        """
        if self._recorded != (key, repeat):
            self._record(state, work, repeat)
            self._recorded = (key, repeat)
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
        if self._queries is not None and self._device.usable:
            self._device.functions.vkDestroyQueryPool(self._device.handle, self._queries, vk.NULL)
        self._queries = None
