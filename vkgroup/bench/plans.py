"""Plans as candidates, recorded once per set of data; all variants share inputs and host memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidInput
from vkgroup.base.lifetime import Closeable
from vkgroup.bench.definition import Arrays, Data, Recordable
from vkgroup.bench.row import TIMESTAMPS
from vkgroup.dispatch import Buffer, Copy, Device, Fill

FILL_BYTE = 0xA5
"""Byte value that fills outputs before a run whose results are verified."""

WALL_CLOCK = "wall clock"

_ALIGNMENT = 256
_TIMEOUT = 120.0


class Readback(Closeable):
    """Host memory that a GPU copies outputs into; all variants of a row use it, one after the other."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memory: Buffer | None = None

    def fetch(self, buffers: Mapping[str, Buffer]) -> Arrays:
        """Return the contents of buffers; they are valid until a buffer is written or the next fetch."""
        kind = self._device.capabilities.type
        if kind == "cpu":
            return {name: np.from_dlpack(buffer) for name, buffer in buffers.items()}
        if kind != "discrete_gpu":
            return {name: buffer.read() for name, buffer in buffers.items()}
        # `Buffer.read` copies through a small buffer into a new array. For each GiB this takes hundreds of
        # transfers, copies on one core, and first accesses to new memory pages.
        sizes = [-(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT for buffer in buffers.values()]
        if self._memory is None or self._memory.nbytes < sum(sizes):
            self.close()
            self._memory = self._device.buffer(sum(sizes), host=True)
        views, offset = {}, 0
        for (name, buffer), size in zip(buffers.items(), sizes, strict=True):
            views[name] = self._memory.view(buffer.dtype, buffer.shape, offset)
            offset += size
        copies = [Copy(buffer, views[name], nbytes=buffer.nbytes) for name, buffer in buffers.items()]
        with self._device.sequence(copies) as work:
            work.run(timeout=_TIMEOUT)
        return {name: np.from_dlpack(view) for name, view in views.items()}

    def close(self) -> None:
        """Release the memory; it remains while arrays still view it."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None


class BenchmarkInputs(Closeable):
    """The sets of inputs on the device, with one buffer per array, and the readback of all plans."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.readback = Readback(device)
        # Each set is kept with its buffers, since a freed set's id could be reused.
        self._buffers: dict[tuple[int, str], tuple[Data, Buffer]] = {}

    def buffer(self, data: Data, name: str) -> Buffer:
        """Return the buffer of one input of a set, and create it if necessary."""
        key = (id(data), name)
        if key not in self._buffers:
            if name not in data.inputs:
                raise InvalidInput(
                    f"The plan reads {name}, but the definition's data has no such input; add it in its"
                    " function data."
                )
            self._buffers[key] = (data, self._device.buffer(data.inputs[name]))
        return self._buffers[key][1]

    def close(self) -> None:
        """Free all buffers."""
        for _, buffer in self._buffers.values():
            buffer.close()
        self._buffers.clear()
        self.readback.close()


class PlanCandidate:
    """A plan that is timed by the device's timestamps, or by the host's clock if the device has none."""

    def __init__(self, device: Device, plan: Recordable, inputs: BenchmarkInputs) -> None:
        self._device, self._plan, self._inputs = device, plan, inputs
        stamped = bool(device.capabilities.timestamps.valid_bits)
        self.clock = TIMESTAMPS if stamped else WALL_CLOCK

    def prepare(self, data: Data) -> PreparedPlan:
        """Record the plan on one set of inputs."""
        in_place = sorted(self._plan.inputs.keys() & self._plan.outputs.keys())
        if in_place:
            raise InvalidInput(
                f"The plan changes {', '.join(in_place)} in place, so its second run would read other"
                " data; benchmark a plan with separate outputs."
            )
        buffers = {name: self._inputs.buffer(data, name) for name in self._plan.inputs}
        return PreparedPlan(self._device, self._plan, buffers, self.clock, self._inputs.readback)


class PreparedPlan(Closeable):
    """A plan recorded on one set of inputs."""

    def __init__(
        self, device: Device, plan: Recordable, buffers: dict[str, Buffer], clock: str, readback: Readback
    ) -> None:
        self._readback = readback
        self._names = tuple(plan.outputs)
        self._stamped = clock == TIMESTAMPS
        with ExitStack() as stack:
            self._work: Any = stack.enter_context(plan.record(**buffers))
            outputs = [self._work.buffers[name] for name in self._names]
            fills = [Fill(buffer, FILL_BYTE * 0x01010101) for buffer in outputs if buffer.nbytes >= 4]
            self._fill = stack.enter_context(device.sequence(fills))
            self._stack = stack.pop_all()

    def overwrite_outputs(self) -> None:
        """Fill the outputs with a byte pattern."""
        self._fill.run()
        for name in self._names:
            buffer = self._work.buffers[name]
            if rest := buffer.nbytes % 4:
                buffer.write(np.full(rest, FILL_BYTE, np.uint8), buffer.nbytes - rest)

    def time(self) -> float:
        """Run the plan once and return the time in seconds."""
        if self._stamped:
            return float(self._work.timed(timeout=_TIMEOUT))
        start = time.perf_counter()
        self._work.run(timeout=_TIMEOUT)
        return time.perf_counter() - start

    def outputs(self) -> Arrays:
        """Return the outputs of the last run; they are valid until the next run."""
        return self._readback.fetch({name: self._work.buffers[name] for name in self._names})

    def close(self) -> None:
        """Free the recording and its buffers; the inputs remain."""
        self._stack.close()
