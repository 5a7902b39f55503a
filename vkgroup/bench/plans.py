"""Plans as contenders: inputs and the way back are shared by all variants, and recorded once for each set."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.bench.definition import Arrays, Data, Recordable
from vkgroup.bench.landing import Landing
from vkgroup.bench.row import TIMESTAMPS
from vkgroup.closing import Closing
from vkgroup.dispatch import Buffer, Device, Fill
from vkgroup.errors import InvalidInput

POISON = 0xA5
"""The byte that outputs are filled with before a run whose results are looked at."""

WALL_CLOCK = "wall clock"

_TIMEOUT = 120.0


class Inputs(Closing):
    """The sets of inputs on the device, each array once for all plans.

    Attributes
    ----------
    landing : where the outputs of all plans come to the host.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.landing = Landing(device)
        # The sets are kept with their buffers: the id of one that is gone could be another's.
        self._buffers: dict[tuple[int, str], tuple[Data, Buffer]] = {}

    def buffer(self, data: Data, name: str) -> Buffer:
        """Return the buffer of one input of a set, made where it is not yet there."""
        key = (id(data), name)
        if key not in self._buffers:
            if name not in data.inputs:
                raise InvalidInput(
                    f"The plan reads {name}, and the data of the definition has no such input."
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
    """A plan that is timed by the device's timestamps, or by the host's clock where it has none."""

    def __init__(self, device: Device, plan: Recordable, inputs: Inputs) -> None:
        self._device, self._plan, self._inputs = device, plan, inputs
        stamped = bool(device.capabilities.timestamps.valid_bits)
        self.clock = TIMESTAMPS if stamped else WALL_CLOCK

    def prepare(self, data: Data) -> PreparedPlan:
        """Record the plan on one set of inputs."""
        in_place = sorted(self._plan.inputs.keys() & self._plan.outputs.keys())
        if in_place:
            raise InvalidInput(
                f"The plan changes {', '.join(in_place)} in place, and its second run would meet other data:"
                " benchmark one that writes elsewhere."
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
        """Fill the outputs with bytes that no run writes."""
        self._fill.run()
        for name in self._names:
            buffer = self._work.buffers[name]
            if rest := buffer.nbytes % 4:
                buffer.write(np.full(rest, POISON, np.uint8), buffer.nbytes - rest)

    def time(self) -> float:
        """Run it once; seconds."""
        if self._stamped:
            return float(self._work.timed(timeout=_TIMEOUT))
        start = time.perf_counter()
        self._work.run(timeout=_TIMEOUT)
        return time.perf_counter() - start

    def outputs(self) -> Arrays:
        """Return what the last run wrote, until the next run."""
        return self._landing.fetch({name: self._work.buffers[name] for name in self._names})

    def close(self) -> None:
        """Free what was recorded and what it made; the inputs stay."""
        self._stack.close()
