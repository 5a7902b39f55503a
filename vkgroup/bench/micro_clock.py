"""Timing of rounds inside a shader, with the shader clock or with differences of whole dispatches.

Such a shader has the buffers `Inputs`, `Outputs` and `Clocks` and the push constants `which`, `rounds`,
`samples` and `zero` (see `vkgroup.bench.micro_shader`). It runs with a number of rounds and with twice that
number. The difference of the times is the cost of the additional rounds. It excludes costs per dispatch and
per sample, such as reading the clock. Without a shader clock, both dispatches are measured with timestamps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.bench.definition import Arrays, Data, Prepared
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device, Pipeline
from vkgroup.kernels.pipelines import full_subgroups, subgroup_size
from vkgroup.resources import bench

ALL_BITS = 0xFFFFFFFF

_TIMEOUT = 60.0
"""Timeout in seconds of a first run, since CPU drivers compile a shader when it first runs."""

_LEAST_SECONDS = 100e-6
"""Minimum seconds of a dispatch without a shader clock, to make the cost of submission small."""
_MOST_ROUNDS = 1 << 22
_TURNS = 3
"""Number of runs with each number of rounds for one time, without a shader clock; the minimum is used."""


def has_clock(capabilities: Capabilities) -> bool:
    """Return whether shaders can read a subgroup clock."""
    return "shaderSubgroupClock" in capabilities.features


def unit(device: Device) -> str:
    """Return the unit of `Rounds.time`: ``"cycles"`` with a shader clock, otherwise ``"ns"``."""
    return "cycles" if has_clock(device.capabilities) else "ns"


def clock_name(device: Device) -> str:
    """Return the name of the clock that measures the rounds."""
    if has_clock(device.capabilities):
        return "shader clock"
    stamped = bool(device.capabilities.timestamps.valid_bits)
    return f"differences of {'GPU timestamps' if stamped else 'the wall clock'}"


def required_size(device: Device) -> int | None:
    """Return the required subgroup size of pipelines, or None if the device cannot control it."""
    return subgroup_size(device) if device.capabilities.size_control.supported else None


@dataclass(frozen=True)
class Run:
    """One program to be timed.

    Attributes
    ----------
    pipeline : pipeline with the interface that the module's docstring describes.
    inputs : words of binding 0.
    output_words : number of words of binding 1.
    subgroups : number of subgroups that write their clocks.
    steps : number of steps of one round; the time of a round is divided by it.
    which : the push constant.
    rounds : initial number of rounds; twice this number is also timed.
    samples : number of samples of one dispatch.
    """

    pipeline: Pipeline
    inputs: NDArray[np.uint32]
    output_words: int
    subgroups: int
    steps: float
    which: int = 0
    rounds: int = 16
    samples: int = 8


class Rounds:
    """A program with its buffers on a device, ready to be timed; see `vkgroup.bench.definition.Prepared`.

    Parameters
    ----------
    device : an open device.
    run : the program to time.
    stepped_rounds : number of rounds of an additional run with all bits of `zero` set, whose outputs are part
        of `outputs`; 0: no such run.
    """

    def __init__(self, device: Device, run: Run, stepped_rounds: int = 0) -> None:
        self._run, self._stepped = run, stepped_rounds
        self._clocked = has_clock(device.capabilities)
        self._outputs = device.buffer(np.zeros(max(run.output_words, 1), np.uint32))
        self._clocks = device.buffer(np.zeros((run.samples, run.subgroups, 2), np.uint64))
        self._inputs = device.buffer(np.ascontiguousarray(run.inputs))
        self._bound = run.pipeline.bind(
            {"Inputs": self._inputs, "Outputs": self._outputs, "Clocks": self._clocks}
        )
        self._rounds = run.rounds
        self._overhead = 0.0
        self._ready = False

    def subtract(self, overhead: float) -> None:
        """Subtract a constant time per step from the results of all later calls of `time`."""
        self._overhead = overhead

    def poison(self) -> None:
        """Overwrite the outputs of an earlier run."""
        self._outputs.write(np.full(max(self._run.output_words, 1), 0xDEADBEEF, np.uint32))

    def _push(self, rounds: int, zero: int = 0, samples: int | None = None) -> Mapping[str, Any]:
        return {
            "which": self._run.which,
            "rounds": rounds,
            "samples": self._run.samples if samples is None else samples,
            "zero": np.array([zero, zero], np.uint32),
        }

    def _once(self, rounds: int) -> float:
        """Run and return the time of `rounds`: the minimum in clock ticks, or the time in nanoseconds."""
        push = self._push(rounds)
        if not self._clocked:
            start = time.perf_counter()
            seconds = self._bound.timed(1, push, _TIMEOUT)
            seconds = time.perf_counter() - start if seconds is None else seconds
            return seconds * 1e9 / self._run.samples
        self._bound.dispatch(1, push, _TIMEOUT)
        clocks = self._clocks.read()
        elapsed = clocks[..., 1].max(axis=1) - clocks[..., 0].min(axis=1)
        return float(elapsed.min())

    def _settle(self) -> None:
        """Find a number of rounds that takes long enough to be timed by the host or by timestamps."""
        self._ready = True
        if self._clocked:
            return
        while self._once(self._rounds) * self._run.samples < _LEAST_SECONDS * 1e9:
            if self._rounds >= _MOST_ROUNDS:
                break
            self._rounds *= 2

    def time(self) -> float:
        """Return the time of one step, in the unit of `unit`; at least one tick for all rounds together."""
        if not self._ready:
            self._settle()
        turns = range(1 if self._clocked else _TURNS)
        pairs = [(self._once(self._rounds), self._once(2 * self._rounds)) for _ in turns]
        short, long = (min(taken) for taken in zip(*pairs, strict=True))
        steps = self._rounds * self._run.steps
        return float(max((long - short) / steps - self._overhead, 1.0 / steps))

    def least(self, times: int) -> float:
        """Return the minimum of several times."""
        return min(self.time() for _ in range(times))

    def outputs(self) -> Arrays:
        """Return the words of ``inputs``, of the last run's ``results``, and of the ``stepped`` run."""
        words = {"inputs": self._inputs.read(), "results": self._outputs.read()}
        if self._stepped:
            self.poison()
            self._bound.dispatch(1, self._push(self._stepped, ALL_BITS, 1), _TIMEOUT)
            words["stepped"] = self._outputs.read()
        return words

    def close(self) -> None:
        """Free the buffers."""
        for item in (self._bound, self._inputs, self._outputs, self._clocks):
            item.close()


_FEWER = 4


@dataclass(frozen=True)
class Shader:
    """A shader file and the parameters of its runs.

    Attributes
    ----------
    file : name in ``bench/shaders``.
    workgroup : invocations of the single workgroup.
    steps : divisor of the time of one round.
    which, rounds, samples : as in `Run`; CPU drivers use a fraction of the rounds and samples.
    defines : macros by name.
    stepped_rounds : as for `Rounds`.
    """

    file: str
    workgroup: int
    steps: float
    which: int = 0
    rounds: int = 16
    samples: int = 8
    defines: Mapping[str, str] = field(default_factory=dict)
    stepped_rounds: int = 2


class Shaded:
    """Contender: a shader that times itself, with or without the words ``inputs`` of the data.

    Parameters
    ----------
    device : an open device.
    shader : the shader and its parameters.
    inputs : the words that it reads.
    """

    def __init__(self, device: Device, shader: Shader, inputs: NDArray[np.uint32] | None = None) -> None:
        self._device, self._shader = device, shader
        self._inputs = np.zeros(1, np.uint32) if inputs is None else inputs
        self.clock = clock_name(device)

    def prepare(self, data: Data) -> Prepared:
        """Compile the shader and prepare its run."""
        device, shader = self._device, self._shader
        defines: dict[str, Any] = dict(shader.defines)
        if has_clock(device.capabilities):
            defines["CLOCK"] = "1"
        full = full_subgroups(device) and shader.workgroup % subgroup_size(device) == 0
        pipeline = device.pipeline(
            device.compile(bench("shaders") / shader.file, defines=defines),
            specialization={0: shader.workgroup},
            subgroup_size=required_size(device),
            full_subgroups=full,
        )
        # On a CPU a step costs much more than reading the clock, so few rounds are sufficient.
        fewer = 1 if device.capabilities.is_gpu else _FEWER
        run = Run(
            pipeline,
            self._inputs,
            shader.workgroup,
            -(-shader.workgroup // subgroup_size(device)),
            shader.steps,
            shader.which,
            max(shader.rounds // fewer, 1),
            max(shader.samples // fewer, 1),
        )
        return Rounds(device, run, shader.stepped_rounds)
