"""Launchers of Vulkan: recorded command buffers by the buffers that they use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from vkgroup.base.errors import DriverError
from vkgroup.device import vk
from vkgroup.device.barriers import SHADER, TRANSFER, barrier_between
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.checks import check_value
from vkgroup.dispatch.commands import Submission
from vkgroup.dispatch.launcher import Array, Clear, Launcher, LauncherStep, Move, Output, Pass
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.counted import TOTAL, CountedBuffer
from vkgroup.dispatch.vulkan.memory_sets import BufferPlacement, MemorySets, close_all, copied, fill
from vkgroup.dispatch.vulkan.recording import Parts, RecordedCommands, RecordedPass

MOST_RECORDINGS = 32
"""Recordings of one launcher. If all are in flight, a further call waits for the oldest."""

_KEPT_ON_HOST, _KEPT_ON_GPU = 64 << 20, 4 << 30
"""Bytes of scratch memory that a launcher keeps; larger scratch memory is allocated for each call.

`Device.trim` and failed allocations free it. Software drivers take it from the memory of the whole computer.
"""


class VulkanLauncher(Launcher):
    """Steps in command buffers; one that was recorded for the same buffers is submitted again.

    The `fallback` runs the steps on memory that CUDA shares, and steps that bind more than single buffers.
    The recordings do not keep buffers alive: their keys are serial numbers, which no two buffers share.
    """

    device: LogicalDevice

    def __init__(
        self,
        device: LogicalDevice,
        steps: tuple[LauncherStep, ...],
        scratch: Mapping[str, int],
        name: str,
        fallback: Launcher,
    ) -> None:
        # First what `close` needs, if this fails.
        self._recordings: OrderedDict[tuple[Any, ...], RecordedCommands] = OrderedDict()
        self._calls: dict[tuple[int, ...], RecordedCommands] = {}  # of `call`, by its memory
        self._sets: dict[str, MemorySets] = {}
        self._scratch: list[DeviceBuffer] = []
        super().__init__(device, steps, scratch, name)
        self._fallback = fallback
        device.trimmable.add(self)
        names = dict.fromkeys(scratch)
        for step in steps:
            used = step.bindings.values() if isinstance(step, Pass) else _names_of(step)
            names.update(dict.fromkeys(used))
        self.given = [name for name in names if name not in scratch]
        numbers = {name: number for number, name in enumerate([*scratch, *self.given])}
        self._steps = [RecordedPass(step, numbers) if isinstance(step, Pass) else step for step in steps]
        self._numbers = numbers
        self._dispatches = [step for step in self._steps if isinstance(step, RecordedPass)]
        self.bindable = all(dispatch.bindable for dispatch in self._dispatches)
        self._scratch_serial: tuple[int, ...] = ()
        most = _KEPT_ON_GPU if device.capabilities.type == "discrete_gpu" else _KEPT_ON_HOST
        self._keeps_scratch = sum(scratch.values()) <= most

    @property
    def recordings(self) -> int:
        """Number of recordings that are kept."""
        return len(self._recordings)

    def run(self, buffers: Mapping[str, Buffer], *, wait: bool = False) -> Submission:
        """Submit the steps on buffers; see `Launcher.run`."""
        device = self.device
        if device.lost or device.handle is None:
            device.require_open()
        memories: list[DeviceBuffer] = []
        views: list[tuple[int, int]] = []
        usable = self.bindable
        for name in self.given:
            buffer: VulkanBuffer = buffers[name]  # type: ignore[assignment]
            memory = buffer.memory
            if memory.handle is None or buffer._released:
                raise DriverError("The buffer is closed; make a new one.")
            usable = usable and memory.shared is None
            memories.append(memory)
            views.append((buffer.offset, buffer.nbytes))
        if not usable:
            return self._fallback.run(buffers, wait=wait)
        # Other libraries do not wait for vkgroup.
        wait = wait or any(memory.references for memory in memories)
        number = self.submit(memories, views, buffers, now=wait).number
        if wait:
            device.wait(number, None)
        if device.instance.messages is not None:
            device.raise_validation_errors()
        return Submission(device, number)

    def submit(
        self,
        memories: list[DeviceBuffer],
        views: Sequence[tuple[int, int]],
        buffers: Mapping[str, Buffer] | None = None,
        *,
        now: bool = False,
    ) -> RecordedCommands:
        """Submit the steps on memories, each with the offset and size of what is used of it.

        `now`: as for `Timeline.submit`. `buffers` are checked if there is no recording for the memories.
        Returns the recording.
        """
        with self.device.lock:
            scratch = self._scratch
            if self.scratch and not scratch:
                scratch = self._take_scratch()
            key = (*[memory.serial for memory in memories], *views, self._scratch_serial)
            recording = self._recordings.get(key)
            if recording is None:
                if buffers is not None:
                    self._check(buffers)
                parts = [(memory, 0, memory.nbytes) for memory in scratch]
                parts += [(memory, *view) for memory, view in zip(memories, views, strict=True)]
                recording = self._record(key, parts)
            else:
                self._recordings.move_to_end(key)
            recording.commands.submit([*memories, *scratch] if scratch else memories, now=now)
            if not self._keeps_scratch:
                self._free_scratch()
        return recording

    def call(self, buffer: Buffer, source: str, target: str, output: Output) -> Buffer:
        """Submit the steps on one buffer; see `Launcher.call`.

        This is `run` with the fewest steps, for calls on memory that was used before.
        """
        device, memory = self.device, buffer.memory  # type: ignore[attr-defined]
        usable = self.bindable and memory.shared is None and not memory.references and not device.lost
        if not usable or memory.handle is None or buffer._released or len(self.given) != 2:
            result = VulkanBuffer.undefined(device, *output, False, buffer.shared)
            self.run({source: buffer, target: result})
            return result
        result = VulkanBuffer.undefined(device, *output, False, False)
        new = result.memory
        view = memory.serial, buffer.offset, buffer.nbytes, new.serial
        with device.lock:
            recording = self._calls.get(view)
            if recording is None or not (self._scratch or not self.scratch):
                named: dict[str, Any] = {source: buffer, target: result}
                used = [named[name] for name in self.given]
                memories = [item.memory for item in used]
                views = [(item.offset, item.nbytes) for item in used]
                self._calls[view] = self.submit(memories, views, named)
            else:
                recording.in_use = True
                recording.commands.submit((memory, new, *self._scratch))
                if not self._keeps_scratch:
                    self._free_scratch()
        if device.instance.messages is not None:
            device.raise_validation_errors()
        return result

    def call_counted(self, buffers: Mapping[str, Buffer], target: str, output: Output, total: str) -> Buffer:
        """Submit the steps on buffers; see `Launcher.call_counted`."""
        device = self.device
        others: dict[str, VulkanBuffer] = dict(buffers)  # type: ignore[arg-type]
        for buffer in others.values():
            if not self.bindable or buffer.shared or buffer.memory.references or buffer.closed:
                return self._fallback.call_counted(buffers, target, output, total)
        sets = self._sets.get("total") or self.memory_sets(
            "total", [BufferPlacement(TOTAL.itemsize, host=True)]
        )
        result = others[target] = CountedBuffer.undefined(device, *output, False, False)
        memories, views = [], []
        number_of_elements = sets.take()
        try:
            for name in self.given:
                if name == total:
                    memories.append(number_of_elements[0])
                    views.append((0, TOTAL.itemsize))
                else:
                    buffer = others[name]
                    memories.append(buffer.memory)
                    views.append((buffer.offset, buffer.nbytes))
            number = self.submit(memories, views, others).number
        except BaseException:
            close_all(number_of_elements)
            raise
        result.await_count(number, sets, number_of_elements)
        if device.instance.messages is not None:
            device.raise_validation_errors()
        return result

    def memory_sets(self, purpose: str, places: Sequence[BufferPlacement]) -> MemorySets:
        """Return the sets of buffers for a purpose, which `trim` and `close` free."""
        with self.device.lock:
            if purpose not in self._sets:
                self._sets[purpose] = MemorySets(self.device, places)
            return self._sets[purpose]

    def run_on_arrays(
        self, inputs: Mapping[str, Array], outputs: Mapping[str, Output], results: Sequence[str]
    ) -> list[Array]:
        """Run the steps on small arrays; see `Launcher.run_on_arrays`.

        On a discrete GPU results lie in the host's memory, so that no copies are submitted. So do arrays if
        the host cannot write to the GPU's memory.
        """
        if not self.bindable:
            return self._fallback.run_on_arrays(inputs, outputs, results)
        device = self.device
        sets = self._sets.get("arrays") or self._sets_for_arrays(inputs, outputs)
        memories = sets.take()
        try:
            for name, array in inputs.items():
                fill(memories[self._places[name]], array)
            device.wait(self.submit(memories, sets.views, now=True).number, None)
            found = []
            for name in results:
                shape, dtype, _ = outputs[name]
                found.append(copied(memories[self._places[name]], shape, dtype))
            device.raise_validation_errors()
        except BaseException:
            close_all(memories)
            raise
        sets.give(memories)
        return found

    def _sets_for_arrays(self, inputs: Mapping[str, Array], outputs: Mapping[str, Output]) -> MemorySets:
        """Make the sets for arrays, which have the same sizes in every call."""
        sizes = {name: output[2] for name, output in outputs.items()}
        sizes |= {name: array.nbytes for name, array in inputs.items()}
        windowless = self.device.window_type is None
        self._places = {name: place for place, name in enumerate(self.given)}
        return self.memory_sets(
            "arrays",
            [BufferPlacement(sizes[name], host=name in outputs or windowless) for name in self.given],
        )

    def _take_scratch(self) -> list[DeviceBuffer]:
        self._scratch = [DeviceBuffer(self.device, nbytes) for nbytes in self.scratch.values()]
        self._scratch_serial = tuple(memory.serial for memory in self._scratch)
        self._calls.clear()
        return self._scratch

    def _free_scratch(self) -> None:
        scratch, self._scratch = self._scratch, []
        for memory in scratch:
            memory.close()

    def _record(self, key: tuple[Any, ...], parts: Parts) -> RecordedCommands:
        # A launcher that another thread has closed meanwhile is open again.
        self.device.register(self)
        self._holding = True
        if len(self._recordings) < MOST_RECORDINGS:
            recording = RecordedCommands(self.device, self._dispatches, self.name)
        else:
            self._calls.clear()
            recording = self._oldest()
            self.device.wait(recording.number, None)
        try:
            recording.update(parts)
            # The host does not read memory that is not mapped.
            alone = len(self._dispatches) == len(self._steps)
            shader_only = alone and all(memory.mapped is None for memory, _, _ in parts)
            with recording.commands.record() as commands:
                self._record_steps(commands, parts, recording)
                ordered = isinstance(self._steps[0], RecordedPass)
                recording.commands.end(shader_only=shader_only, ordered=ordered)
        except BaseException:
            recording.close()
            raise
        self._recordings[key] = recording
        return recording

    def _oldest(self) -> RecordedCommands:
        """Remove and return a recording that was not used lately; `call` only marks those that it uses."""
        while True:
            key, recording = self._recordings.popitem(last=False)
            if not recording.in_use:
                return recording
            recording.in_use = False
            self._recordings[key] = recording

    def _check(self, buffers: Mapping[str, Buffer]) -> None:
        """Check the buffers against the limits of the device and the blocks of the shaders."""
        given = {number: buffers[name] for name, number in self._numbers.items() if name in buffers}
        for dispatch in self._dispatches:
            for slot, number in dispatch.slots:
                if number in given:
                    check_value(slot, given[number], self.device)

    def _record_steps(self, commands: Any, parts: Parts, recording: RecordedCommands) -> None:
        functions, dispatched = self.device.functions, 0
        for number, step in enumerate(self._steps):
            if number:
                before, after = map(_stage_of, self._steps[number - 1 : number + 1])
                barrier_between(functions, commands, before, after)
            if isinstance(step, RecordedPass):
                step.record(functions, commands, recording.sets[dispatched])
                dispatched += 1
            elif isinstance(step, Clear):
                memory, offset, nbytes = parts[self._numbers[step.name]]
                functions.vkCmdFillBuffer(commands, memory.handle, offset, nbytes // 4 * 4, step.value)
            else:
                source, target = parts[self._numbers[step.source]], parts[self._numbers[step.target]]
                size = min(source[2], target[2]) if step.nbytes is None else step.nbytes
                region = vk.new("VkBufferCopy", srcOffset=source[1], dstOffset=target[1], size=size)
                functions.vkCmdCopyBuffer(commands, source[0].handle, target[0].handle, 1, region)

    def trim(self) -> None:
        """Free the scratch memory; the next call allocates it again."""
        with self.device.lock:
            self._free_scratch()
        for sets in list(self._sets.values()):
            sets.trim()

    def close(self) -> None:
        """Free the recordings and the scratch memory once nothing of them is in flight."""
        self.device.forget(self)
        with self.device.lock:
            self._calls.clear()
            while self._recordings:
                self._recordings.popitem()[1].close()
            self._free_scratch()
            self._holding = False
        for sets in list(self._sets.values()):
            sets.trim()


def _stage_of(step: RecordedPass | Clear | Move) -> int:
    return SHADER if isinstance(step, RecordedPass) else TRANSFER


def _names_of(step: Clear | Move) -> tuple[str, ...]:
    return (step.name,) if isinstance(step, Clear) else (step.source, step.target)
