"""Shaders of ``bench/shaders`` that time themselves; see `vkgroup.bench.micro_clock`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.bench.definition import Data, Prepared
from vkgroup.bench.micro_clock import Rounds, Run, clock_name, has_clock, required_size
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import full_subgroups, subgroup_size
from vkgroup.resources import bench

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
