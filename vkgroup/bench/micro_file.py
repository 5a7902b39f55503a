"""Shaders of ``bench/shaders`` that are timed from within, as `vkgroup.bench.micro_clock` describes them."""

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
    """Which shader, and how it is run.

    Attributes
    ----------
    file : in ``bench/shaders``.
    workgroup : invocations, of the only workgroup.
    steps : by which the time of one round is divided.
    which, rounds, samples : as in `Run`; software drivers take a fraction of the rounds and samples.
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
    """A contender: a shader that times itself, on the words ``inputs`` of the data or on none.

    Parameters
    ----------
    device : an open device.
    shader : what is run.
    inputs : the words that it reads.
    """

    def __init__(self, device: Device, shader: Shader, inputs: NDArray[np.uint32] | None = None) -> None:
        self._device, self._shader = device, shader
        self._inputs = np.zeros(1, np.uint32) if inputs is None else inputs
        self.clock = clock_name(device)

    def prepare(self, data: Data) -> Prepared:
        """Compile it, and make it ready."""
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
        # There, a step costs so much more than reading the clock that a few will do.
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
