"""Tracing rays through Vulkan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vkgroup.device.memory import barrier
from vkgroup.dispatch.ray_checks import Size
from vkgroup.dispatch.traces import Traces
from vkgroup.dispatch.vulkan.bindings import VulkanBindings

if TYPE_CHECKING:
    from vkgroup.dispatch.vulkan.ray_pipeline import VulkanRayPipeline


class VulkanTraces(VulkanBindings, Traces):
    """Descriptor sets, and commands that are recorded only where the size or push constants change."""

    pipeline: VulkanRayPipeline
    _recorded: tuple[Size, bytes] | None = None

    def _create(self) -> None:
        Traces._create(self)
        super()._create()

    def _trace(self, size: Size, push: bytes, timeout: float | None) -> None:
        if self._recorded != (size, push):
            self._recorded = None
            with self._commands.record() as commands:
                self.record_state(commands, push)
                self._record(commands, size)
                barrier(self.device.functions, commands)
            self._recorded = (size, push)
        self._commands.run(timeout)

    def _timed(self, size: Size, push: bytes, timeout: float | None, repeat: int) -> float | None:
        return self._measure(
            (size, push), push, lambda commands: self._record(commands, size), timeout, repeat
        )

    def _record(self, commands: Any, size: Size) -> None:
        self.device.functions.vkCmdTraceRaysKHR(commands, *self.pipeline.regions, *size)
