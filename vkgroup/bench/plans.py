"""Plans as contenders, recorded once per set of data; all variants share inputs and host memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.bench.definition import Arrays, Data, Recordable
from vkgroup.bench.row import TIMESTAMPS
from vkgroup.closing import Closing
from vkgroup.dispatch import Buffer, Copy, Device, Fill
from vkgroup.errors import InvalidInput

_ALIGNMENT = 256


class Landing(Closing):
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
        rooms = [-(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT for buffer in buffers.values()]
        memory = self._room(sum(rooms))
        starts = np.cumsum([0, *rooms]).tolist()
        places = {
            name: memory.view(buffer.dtype, buffer.shape, start)
            for (name, buffer), start in zip(buffers.items(), starts, strict=False)
        }
        copies = [Copy(buffer, places[name], nbytes=buffer.nbytes) for name, buffer in buffers.items()]
        with self._device.sequence(copies) as work:
            work.run(timeout=_TIMEOUT)
        return {name: np.from_dlpack(place) for name, place in places.items()}

    def _room(self, nbytes: int) -> Buffer:
        if self._memory is None or self._memory.nbytes < nbytes:
            self.close()
            self._memory = self._device.buffer(nbytes, host=True)
        return self._memory

    def close(self) -> None:
        """Release the memory; it remains while arrays still view it."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None


POISON = 0xA5
"""Byte value that fills outputs before a run whose results are verified."""

WALL_CLOCK = "wall clock"

_TIMEOUT = 120.0


class Inputs(Closing):
    """The sets of inputs on the device; all plans share one buffer per array.

    Attributes
    ----------
    landing : host memory for the outputs of all plans.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.landing = Landing(device)
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
        self.landing.close()


class PlanContender:
    """A plan that is timed by the device's timestamps, or by the host's clock if the device has none."""

    def __init__(self, device: Device, plan: Recordable, inputs: Inputs) -> None:
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
        return PreparedPlan(self._device, self._plan, buffers, self.clock, self._inputs.landing)


class PreparedPlan(Closing):
    """A plan recorded on one set of inputs."""

    def __init__(
        self, device: Device, plan: Recordable, buffers: dict[str, Buffer], clock: str, landing: Landing
    ) -> None:
        self._landing = landing
        self._names = tuple(plan.outputs)
        self._stamped = clock == TIMESTAMPS
        with ExitStack() as stack:
            self._work: Any = stack.enter_context(plan.record(**buffers))
            outputs = [self._work.buffers[name] for name in self._names]
            self._fill = stack.enter_context(
                device.sequence([Fill(one, POISON * 0x01010101) for one in outputs if one.nbytes >= 4])
            )
            self._stack = stack.pop_all()

    def poison(self) -> None:
        """Fill the outputs with a byte pattern."""
        self._fill.run()
        for name in self._names:
            buffer = self._work.buffers[name]
            if rest := buffer.nbytes % 4:
                buffer.write(np.full(rest, POISON, np.uint8), buffer.nbytes - rest)

    def time(self) -> float:
        """Run the plan once and return the time in seconds."""
        if self._stamped:
            return float(self._work.timed(timeout=_TIMEOUT))
        start = time.perf_counter()
        self._work.run(timeout=_TIMEOUT)
        return time.perf_counter() - start

    def outputs(self) -> Arrays:
        """Return the outputs of the last run; they are valid until the next run."""
        return self._landing.fetch({name: self._work.buffers[name] for name in self._names})

    def close(self) -> None:
        """Free the recording and its buffers; the inputs remain."""
        self._stack.close()
