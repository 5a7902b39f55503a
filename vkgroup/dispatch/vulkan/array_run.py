"""`Device.run` on arrays of the same sizes again: one submission copies, executes and copies back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.closing import Closing
from vkgroup.device.core import checked_timeout
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.bindings import keys_of
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.launcher import Launcher, LauncherStep, Move, Pass
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.vulkan.launcher import VulkanLauncher
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline

Array = npt.NDArray[Any]

LARGEST = 1 << 20
"""Bytes of all arrays of a run; larger ones are copied in pieces, through `vkgroup.device.transfers`."""


class ArrayRun(Closing):
    """A dispatch on arrays of given sizes, by slot.

    On a discrete GPU the arrays go through memory of the host: the same command buffer copies them to the
    GPU's memory and back.
    """

    def __init__(
        self,
        device: LogicalDevice,
        pipeline: VulkanPipeline,
        groups: tuple[int, int, int],
        push: bytes,
        sizes: Mapping[Slot, int],
        fallback: Launcher,
    ) -> None:
        self._device, self._pipeline, self._slots = device, pipeline, list(sizes)
        self._keys = keys_of(pipeline.slots)
        bindings = {(slot.set, slot.binding): str(number) for number, slot in enumerate(sizes)}
        steps: list[LauncherStep] = [Pass(pipeline, groups, bindings, push or None)]
        scratch: dict[str, int] = {}
        # Copies are needed unless the device uses the host's memory itself.
        self._copies = device.capabilities.type == "discrete_gpu"
        if self._copies:
            names = list(bindings.values())
            scratch = dict(zip(names, sizes.values(), strict=True))
            before = [Move(f"host {name}", name) for name in names]
            written = [name for slot, name in zip(sizes, names, strict=True) if slot.writable]
            steps = [*before, *steps, *(Move(name, f"host {name}") for name in written)]
        self._launcher = VulkanLauncher(device, tuple(steps), scratch, "Device.run", fallback, timed=True)

    @property
    def usable(self) -> bool:
        """Whether the pipeline is open and binds nothing but single buffers."""
        return not self._pipeline.closed and self._launcher.bindable

    def run(self, arrays: Mapping[Slot, Array], timeout: float | None) -> RunResult:
        """Run on arrays of the given sizes; the errors are those of `Device.run`."""
        device, limit = self._device, checked_timeout(timeout)
        device.require_open()
        memories: list[DeviceBuffer] = []
        try:
            for slot in self._slots:
                array = arrays[slot]
                memories.append(DeviceBuffer(device, array.nbytes, host=self._copies))
                memories[-1].write(as_bytes(array))
            recording = self._launcher.submit(memories, [(0, memory.nbytes) for memory in memories])
            device.wait(recording.number, limit)
            results: dict[Any, Array] = {}
            for slot, memory in zip(self._slots, memories, strict=True):
                if slot.writable:
                    result = np.empty(arrays[slot].shape, arrays[slot].dtype)
                    memory.read(result.reshape(-1).view(np.uint8))
                    results[slot.key] = result
            device.raise_validation_errors()
            return RunResult(results, self._keys, recording.seconds())
        finally:
            # In this order the next run finds them again, each for the same array.
            for memory in reversed(memories):
                memory.close()

    def close(self) -> None:
        """Free what is kept for the next run."""
        self._launcher.close()
