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

from vkgroup.base.files import bench
from vkgroup.bench.definition import Arrays, Data, PreparedCandidate
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device, Pipeline
from vkgroup.kernels.pipelines import full_subgroups, required_size, subgroup_size

_ALL_BITS = 0xFFFFFFFF
_SAMPLES = 8

_TIMEOUT = 60.0
"""Timeout in seconds of a first run, since CPU drivers compile a shader when it first runs."""

_LEAST_SECONDS = 100e-6
"""Minimum seconds of a dispatch without a shader clock, to make the cost of submission small."""
_MOST_ROUNDS = 1 << 22
_REPETITIONS = 3
"""Number of runs with each number of rounds for one time, without a shader clock; the minimum is used."""


def has_clock(capabilities: Capabilities) -> bool:
    """Return whether shaders can read a subgroup clock."""
    return "shaderSubgroupClock" in capabilities.features


def unit(device: Device) -> str:
    """Return the unit of `PreparedProgram.time`: ``"cycles"`` with a shader clock, otherwise ``"ns"``."""
    return "cycles" if has_clock(device.capabilities) else "ns"


def clock_name(device: Device) -> str:
    """Return the name of the clock that measures the rounds."""
    if has_clock(device.capabilities):
        return "shader clock"
    stamped = bool(device.capabilities.timestamps.valid_bits)
    return f"differences of {'GPU timestamps' if stamped else 'the wall clock'}"


@dataclass(frozen=True)
class TimedProgram:
    """One program to be timed."""

    pipeline: Pipeline  # pipeline with the interface that the module's docstring describes
    inputs: NDArray[np.uint32]  # words of binding 0
    output_words: int  # number of words of binding 1
    subgroups: int  # number of subgroups that write their clocks
    steps: float  # number of steps of one round; the time of a round is divided by it
    which: int = 0  # the push constant
    rounds: int = 16  # initial number of rounds; twice this number is also timed
    samples: int = _SAMPLES  # number of samples of one dispatch


class PreparedProgram:
    """A program with its buffers on a device, ready to be timed: a `PreparedCandidate`.

    `stepped_rounds` is the number of rounds of an additional run with all bits of `zero` set, whose outputs
    are part of `outputs`; 0: no such run.
    """

    def __init__(self, device: Device, program: TimedProgram, stepped_rounds: int = 0) -> None:
        self._program, self._stepped = program, stepped_rounds
        self._clocked = has_clock(device.capabilities)
        self._outputs = device.buffer(np.zeros(max(program.output_words, 1), np.uint32))
        self._clocks = device.buffer(np.zeros((program.samples, program.subgroups, 2), np.uint64))
        self._inputs = device.buffer(np.ascontiguousarray(program.inputs))
        self._bound = program.pipeline.bind(
            {"Inputs": self._inputs, "Outputs": self._outputs, "Clocks": self._clocks}
        )
        self._rounds = program.rounds
        self._overhead = 0.0
        self._long_enough = False

    def subtract(self, overhead: float) -> None:
        """Subtract a constant time per step from the results of all later calls of `time`."""
        self._overhead = overhead

    def overwrite_outputs(self) -> None:
        """Overwrite the outputs of an earlier run."""
        self._outputs.write(np.full(max(self._program.output_words, 1), 0xDEADBEEF, np.uint32))

    def _push(self, rounds: int, zero: int = 0, samples: int | None = None) -> Mapping[str, Any]:
        return {
            "which": self._program.which,
            "rounds": rounds,
            "samples": self._program.samples if samples is None else samples,
            "zero": np.array([zero, zero], np.uint32),
        }

    def _run(self, rounds: int) -> float:
        """Run and return the time of `rounds`: the minimum in clock ticks, or the time in nanoseconds."""
        push = self._push(rounds)
        if not self._clocked:
            start = time.perf_counter()
            seconds = self._bound.timed(1, push, _TIMEOUT)
            seconds = time.perf_counter() - start if seconds is None else seconds
            return seconds * 1e9 / self._program.samples
        self._bound.dispatch(1, push, _TIMEOUT)
        clocks = self._clocks.read()
        elapsed = clocks[..., 1].max(axis=1) - clocks[..., 0].min(axis=1)
        return float(elapsed.min())

    def time(self) -> float:
        """Return the time of one step, in the unit of `unit`; at least one tick for all rounds together."""
        if not self._clocked and not self._long_enough:
            # Find a number of rounds that takes long enough to be timed by the host or by timestamps.
            least = _LEAST_SECONDS * 1e9 / self._program.samples
            while self._run(self._rounds) < least and self._rounds < _MOST_ROUNDS:
                self._rounds *= 2
            self._long_enough = True
        repetitions = range(1 if self._clocked else _REPETITIONS)
        pairs = [(self._run(self._rounds), self._run(2 * self._rounds)) for _ in repetitions]
        short, long = (min(times) for times in zip(*pairs, strict=True))
        steps = self._rounds * self._program.steps
        return float(max((long - short) / steps - self._overhead, 1.0 / steps))

    def outputs(self) -> Arrays:
        """Return the words of ``inputs``, of the last run's ``results``, and of the ``stepped`` run."""
        words = {"inputs": self._inputs.read(), "results": self._outputs.read()}
        if self._stepped:
            self.overwrite_outputs()
            self._bound.dispatch(1, self._push(self._stepped, _ALL_BITS, 1), _TIMEOUT)
            words["stepped"] = self._outputs.read()
        return words

    def close(self) -> None:
        """Free the buffers."""
        for item in (self._bound, self._inputs, self._outputs, self._clocks):
            item.close()


@dataclass(frozen=True)
class TimedShader:
    """A shader file of ``bench/shaders`` and the parameters of its runs in a single workgroup.

    `steps`, `which`, `rounds` and `stepped_rounds` are those of `TimedProgram` and `PreparedProgram`; CPU
    drivers use a fraction of the rounds and samples.
    """

    file: str
    workgroup: int
    steps: float
    which: int = 0
    rounds: int = 16
    defines: Mapping[str, str] = field(default_factory=dict)
    stepped_rounds: int = 2


class ShaderCandidate:
    """A shader that times itself, with the words that it reads."""

    def __init__(self, device: Device, shader: TimedShader, inputs: NDArray[np.uint32] | None = None) -> None:
        self._device, self._shader = device, shader
        self._inputs = np.zeros(1, np.uint32) if inputs is None else inputs
        self.clock = clock_name(device)

    def prepare(self, data: Data) -> PreparedCandidate:
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
        divisor = 1 if device.capabilities.is_gpu else 4
        program = TimedProgram(
            pipeline,
            self._inputs,
            shader.workgroup,
            -(-shader.workgroup // subgroup_size(device)),
            shader.steps,
            shader.which,
            max(shader.rounds // divisor, 1),
            _SAMPLES // divisor,
        )
        return PreparedProgram(device, program, shader.stepped_rounds)
