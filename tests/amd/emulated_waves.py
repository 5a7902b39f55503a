"""Waves that execute instructions given as text, without a driver."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amd.machine import WaveScheduler
from vkgroup.amd.memory import GpuMemory
from vkgroup.amd.program import Compiler, MachineCode
from vkgroup.amd.steps import Step
from vkgroup.amd.text import EXEC
from vkgroup.amd.waves import Waves

MEMORY = 1 << 16
BASE = 0x8000_0000_0000
"""Address of the memory of the tests."""


class TextProgram(MachineCode):
    """A program of the lines of a text, four bytes each; a branch names its distance in instructions."""

    def __init__(self, memory: GpuMemory, compiler: Compiler, lines: list[str]) -> None:
        super().__init__(memory, compiler)
        self._lines = lines

    def at(self, address: int) -> Step:
        """Return the step of the line at an address."""
        step = self.steps[address] = self._compiler.step(self._lines[address // 4])
        return step


def waves_of(count: int = 2, lanes: int = 32, groups: int | None = None, local: int = 1024) -> Waves:
    """Return waves with all lanes active, in `groups` workgroups (each wave in its own if None)."""
    memory = GpuMemory(np.zeros(MEMORY, np.uint8))
    memory.map(BASE, MEMORY, 0)
    group = np.arange(count) if groups is None else np.arange(count) * groups // count
    waves = Waves(count, lanes, 64, group, local, memory)
    waves.set_mask(EXEC, np.ones((1, 1), np.bool_))
    return waves


def execute(waves: Waves, text: str, gpu: str = "gfx1100") -> Waves:
    """Execute one instruction."""
    with np.errstate(all="ignore"):
        Compiler(gpu, waves.lanes).step(text).run(waves)
    return waves


def run(waves: Waves, text: str, gpu: str = "gfx1100", seed: int = 0, seconds: float = 60.0) -> WaveScheduler:
    """Run a program to its end."""
    import time

    lines = [line.strip() for line in text.strip().splitlines()]
    compiler = Compiler(gpu, waves.lanes)
    program = TextProgram(waves.memory, compiler, lines)
    machine = WaveScheduler(program, waves, compiler.generation, seed, time.monotonic() + seconds)
    machine.run(0)
    return machine


def words(values: Any) -> npt.NDArray[np.uint32]:
    """Return an array as words of 32 bits."""
    return np.asarray(values).view(np.uint32)


def set_buffer(waves: Waves, register: int, address: int, nbytes: int, fourth: int = 3 << 28) -> None:
    """Write the descriptor of a buffer without a stride to four scalar registers."""
    waves.s[register], waves.s[register + 1] = address & 0xFFFFFFFF, address >> 32
    waves.s[register + 2], waves.s[register + 3] = nbytes, fourth
