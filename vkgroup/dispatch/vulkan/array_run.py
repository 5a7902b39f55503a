"""`Device.run` on arrays of the same sizes again: one submission copies, executes and copies back."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

import numpy.typing as npt

from vkgroup.base.errors import DriverError
from vkgroup.base.lifetime import Closeable
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.bindings import keys_of
from vkgroup.dispatch.commands import PendingRun, Submission
from vkgroup.dispatch.launcher import Launcher, LauncherStep, Move, Pass
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.vulkan.launcher import MOST_RECORDINGS, VulkanLauncher
from vkgroup.dispatch.vulkan.memory_sets import BufferPlacement, close_all, copied, fill
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline

Array = npt.NDArray[Any]

LARGEST = 1 << 20
"""Bytes of all arrays of a run; larger ones are copied in pieces, through `vkgroup.device.transfers`."""


class ArrayRun(Closeable):
    """A dispatch on arrays of given sizes, by slot.

    On a discrete GPU the shader uses the GPU's memory. If the host can write to that, it copies the arrays
    there; otherwise the command buffer copies them from the host's memory. The same command buffer copies
    what the shader may have written to the host's memory.
    """

    def __init__(
        self,
        device: LogicalDevice,
        pipeline: VulkanPipeline,
        groups: tuple[int, int, int],
        push: bytes,
        arrays: Mapping[Slot, Array],
        fallback: Launcher,
    ) -> None:
        self._device, self._pipeline = device, pipeline
        self._keys = keys_of(pipeline.slots)
        names = [str(number) for number in range(len(arrays))]
        bindings = {(slot.set, slot.binding): name for slot, name in zip(arrays, names, strict=True)}
        steps: list[LauncherStep] = [Pass(pipeline, groups, bindings, push or None)]
        written = [(slot.key, name) for slot, name in zip(arrays, names, strict=True) if slot.writable]
        sizes = {name: array.nbytes for name, array in zip(names, arrays.values(), strict=True)}
        places: dict[str, BufferPlacement] = {
            name: BufferPlacement(nbytes, host=False) for name, nbytes in sizes.items()
        }
        scratch: dict[str, int] = {}
        results = {name: name for _, name in written}
        if device.capabilities.type == "discrete_gpu":
            results = {name: f"host {name}" for _, name in written}
            if device.window_type is None:
                scratch = sizes
                places = {
                    f"host {name}": BufferPlacement(nbytes, host=True) for name, nbytes in sizes.items()
                }
                steps = [*(Move(f"host {name}", name) for name in names), *steps]
            else:
                places |= {results[name]: BufferPlacement(sizes[name], host=True) for _, name in written}
            steps += [Move(name, results[name]) for _, name in written]
        self._launcher = VulkanLauncher(device, tuple(steps), scratch, "Device.run", fallback)
        # The launcher has the places in the order in which its steps use them.
        order = self._launcher.given
        self._sets = self._launcher.memory_sets("arrays", [places[name] for name in order])
        inputs = [f"host {name}" if scratch else name for name in names]
        self._inputs = [order.index(name) for name in inputs]
        self._pending: deque[ref[PendingRun]] = deque()
        self._results = [(key, names.index(name), order.index(results[name])) for key, name in written]

    @property
    def outdated(self) -> bool:
        """Whether the pipeline was closed, because many others were used since."""
        return self._pipeline.closed

    @property
    def usable(self) -> bool:
        """Whether the pipeline binds nothing but single buffers."""
        return self._launcher.bindable

    def run(self, arrays: Sequence[Array], timeout: float | None) -> RunResult:
        """Run on arrays of the given sizes, in the order of the slots; errors as those of `Device.run`."""
        memories, number = self._start(arrays, now=True)
        try:
            self._device.wait(number, timeout)
            self._device.raise_validation_errors()
            result = self._copied(memories, [(array.shape, array.dtype) for array in arrays])
        except BaseException:
            close_all(memories)
            raise
        self._sets.give(memories)
        return result

    def submit(self, arrays: Sequence[Array]) -> PendingRun:
        """Submit the work on arrays as `run`, after copying them.

        There is a recording for each of `MOST_RECORDINGS` runs in flight; more wait for the oldest.
        """
        if len(self._pending) >= MOST_RECORDINGS:
            self._complete_oldest()
        memories, number = self._start(arrays)
        described = [(array.shape, array.dtype) for array in arrays]
        submission = Submission(self._device, number)
        run = PendingRun(
            self._device,
            submission,
            lambda: self._copied(memories, described),
            lambda: self._sets.give(memories),
        )
        self._pending.append(ref(run))
        return run

    def _complete_oldest(self) -> None:
        """Copy the results of the run that was submitted first, so that its buffers are free."""
        try:
            oldest = self._pending.popleft()()
        except IndexError:  # another thread was faster
            return
        if oldest is not None:
            with suppress(DriverError):  # which the result raises again
                oldest.result()

    def _start(self, arrays: Sequence[Array], *, now: bool = False) -> tuple[list[DeviceBuffer], int]:
        """Copy arrays to a set of buffers and submit the work; returns the set and the number."""
        memories = self._sets.take()
        try:
            for index, array in zip(self._inputs, arrays, strict=True):
                fill(memories[index], array)
            return memories, self._launcher.submit(memories, self._sets.views, now=now).number
        except BaseException:
            close_all(memories)
            raise

    def _copied(self, memories: list[DeviceBuffer], described: list[tuple[Any, Any]]) -> RunResult:
        """Return copies of what the work has written, which has finished."""
        results = {key: copied(memories[index], *described[place]) for key, place, index in self._results}
        return RunResult(results, self._keys, None)

    def close(self) -> None:
        """Free what is kept for the next run."""
        self._launcher.close()
