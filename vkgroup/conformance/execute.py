"""Running batches on one device in this process: program → module → dispatch → verdicts.

A batch in which something goes wrong as a whole is split, down to the case that is to blame.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.compiler import Target, compile_source
from vkgroup.conformance import support
from vkgroup.conformance.cases import Case
from vkgroup.conformance.instances import read
from vkgroup.conformance.program import LANE_PLANES, SLOT_PLANES, Program, build
from vkgroup.conformance.results import Result, Status
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.conformance.verdict import judge
from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.spirv import Module

Transform = Callable[[bytes], bytes]
"""Rewrites a module before it reaches the device, to plant errors that the suite must catch."""

POISON = 0xA5A5A5A5
"""What the outputs hold before each dispatch: a result that is not written shows."""

IMAGE_EXTENT = (2 * WORKGROUPS, 256)
"""Rows and columns of a barrier case's image: cells of each workgroup, then flags of each."""


class Executor:
    """Judges cases on one open device.

    Parameters
    ----------
    device : an open device; the executor does not close it.
    seed : seed of all data.
    timeout : seconds that one dispatch may take.
    transform : see `Transform`.
    """

    def __init__(
        self, device: Device, *, seed: int, timeout: float = 20.0, transform: Transform | None = None
    ) -> None:
        self.device = device
        self.capabilities = device.capabilities
        self.seed = seed
        self.timeout = timeout
        self.transform = transform
        self.ballot = support.has_ballot(self.capabilities)
        self.denormals = support.preserved_denormals(self.capabilities)
        self.target = Target.VULKAN_1_1 if self.capabilities.api_version < (1, 2) else Target.VULKAN_1_2
        self._buffers: dict[str, Buffer] = {}

    def run(self, cases: list[Case]) -> list[Result]:
        """Judge the cases of a batch, in their order.

        Raises
        ------
        DeviceLost, DispatchTimeout
            The device is unusable; none of the cases has a result.
        """
        start = time.perf_counter()
        try:
            verdicts = self._judge(cases)
        except (DeviceLost, DispatchTimeout):
            raise
        except VkgroupError as error:
            if len(cases) > 1:
                middle = len(cases) // 2
                return self.run(cases[:middle]) + self.run(cases[middle:])
            seconds = time.perf_counter() - start
            return [Result(cases[0].name, Status.FAIL, seconds, detail=f"{type(error).__name__}: {error}")]
        share = (time.perf_counter() - start) / len(cases)
        return [
            Result(case.name, verdict.status, share, verdict.defined, verdict.undefined, verdict.detail)
            for case, verdict in zip(cases, verdicts, strict=True)
        ]

    def _judge(self, cases: list[Case]) -> list[Any]:
        program = self.program(cases)
        outputs = self._dispatch(program, self.module(program), cases[0].subgroup_size)
        instances = read(program, outputs, self.ballot)
        return [judge(entry, program, instances, outputs) for entry in program.entries]

    def program(self, cases: list[Case]) -> Program:
        """Build the program of a batch for this device."""
        return build(
            cases,
            size=support.subgroup_size(cases[0], self.capabilities),
            seed=self.seed,
            ballot=self.ballot,
            denormals=self.denormals,
        )

    def module(self, program: Program) -> Module:
        """Compile a program, and let `transform` rewrite it.

        The target stays at SPIR-V 1.5: from 1.6 on the subgroup size of a pipeline may vary unasked.
        """
        module = compile_source(program.source, stage="compute", target=self.target, name="<conformance>")
        if self.transform is not None:
            module = Module.from_bytes(self.transform(module.to_bytes()))
        return module

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        """Return a buffer that is large enough, the same as last time if it was."""
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < nbytes:
            if buffer is not None:
                buffer.close()
            buffer = self._buffers[name] = self.device.buffer(max(nbytes, 1 << 20))
        return buffer

    def _dispatch(self, program: Program, module: Module, subgroup_size: int) -> NDArray[np.uint32]:
        inputs = self._buffer("inputs", program.inputs.nbytes)
        inputs.write(program.inputs)
        outputs = self._buffer("outputs", program.output_words * 4)
        outputs.write(_blank(program))
        bindings: dict[Any, Any] = {0: inputs, 1: outputs}
        for binding, memory in program.memories.items():
            bindings[binding] = (
                np.zeros(IMAGE_EXTENT, np.uint32)
                if memory == "image"
                else np.zeros(IMAGE_EXTENT[0] * IMAGE_EXTENT[1], np.uint32)
            )
        with self.device.pipeline(module, subgroup_size=subgroup_size or None) as pipeline:
            with pipeline.bind(bindings) as bound:
                bound.dispatch((WORKGROUPS, 1, 1), timeout=self.timeout)
            return outputs.read(np.uint32, program.output_words)

    def close(self) -> None:
        """Free the executor's buffers."""
        for buffer in self._buffers.values():
            buffer.close()
        self._buffers.clear()


def _blank(program: Program) -> NDArray[np.uint32]:
    """Return the outputs before the dispatch: poison, and no slot executed."""
    n = program.invocations
    words = np.full(program.output_words, POISON, np.uint32)
    first = LANE_PLANES * n
    words[first : first + SLOT_PLANES * program.pattern.slots * n] = 0
    return words
