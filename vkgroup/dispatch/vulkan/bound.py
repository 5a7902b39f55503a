"""Dispatches of Vulkan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vkgroup.device.memory import barrier
from vkgroup.dispatch.bound import Bound, Groups
from vkgroup.dispatch.vulkan.bindings import VulkanBindings

if TYPE_CHECKING:
    from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline


class VulkanBound(VulkanBindings, Bound):
    """Descriptor sets, and commands that are recorded only where groups or push constants change."""

    pipeline: VulkanPipeline
    _recorded: tuple[Groups, bytes] | None = None

    def _dispatch(self, counts: Groups, push: bytes, timeout: float | None) -> None:
        if self._recorded != (counts, push):
            self._record(counts, push)
        self._commands.run(timeout)

    def _timed(self, counts: Groups, push: bytes, timeout: float | None, repeat: int) -> float | None:
        def record(commands: Any) -> None:
            self.device.functions.vkCmdDispatch(commands, *counts)

        return self._measure((counts, push), push, record, timeout, repeat)

    def _record(self, counts: Groups, push: bytes) -> None:
        self._recorded = None
        with self._commands.record() as commands:
            barrier(self.device.functions, commands)
            self.record_state(commands, push)
            self.device.functions.vkCmdDispatch(commands, *counts)
            barrier(self.device.functions, commands)
        self._recorded = (counts, push)
