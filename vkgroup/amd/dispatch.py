"""One dispatch: the registers of a compute shader, its workgroups, and the first values of their waves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.machine import WaveScheduler
from vkgroup.amd.memory import GpuMemory
from vkgroup.amd.program import Compiler, MachineCode
from vkgroup.amd.text import EXEC
from vkgroup.amd.tracing import WaveRecorder
from vkgroup.amd.waves import Waves

# Offsets of registers from the start of the persistent ones of compute shaders, in words.
START_X, THREADS_X = 0x204, 0x207
PROGRAM_LOW, PROGRAM_HIGH, RESOURCES_1, RESOURCES_2, TEMPORARY_RING, RESOURCES_3 = (
    0x20C, 0x20D, 0x212, 0x213, 0x218, 0x228,
)  # fmt: skip
USER_DATA = 0x240

MOST_WAVES = 256
"""Waves that run together, unless one workgroup has more."""


@dataclass(frozen=True)
class ComputeDispatch:
    """A dispatch as the command processor starts it.

    Attributes
    ----------
    groups : number of workgroups in each direction.
    first : number of the first workgroup in each direction.
    registers : values of the compute registers by their number.
    wave : lanes of a wave.
    partial : threads of the last workgroup in each direction; 0 if it is whole.
    """

    groups: tuple[int, int, int]
    first: tuple[int, int, int]
    registers: Mapping[int, int]
    wave: int
    partial: tuple[int, int, int] = (0, 0, 0)

    @property
    def size(self) -> tuple[int, int, int]:
        """Threads of a workgroup in each direction."""
        return tuple(self.registers.get(THREADS_X + axis, 1) & 0xFFFF for axis in range(3))  # type: ignore[return-value]

    @property
    def address(self) -> int:
        """Address of the machine code."""
        return self.registers[PROGRAM_LOW] << 8 | (self.registers.get(PROGRAM_HIGH, 0) & 0xFF) << 40

    def field(self, register: int, bit: int, count: int) -> int:
        """Return bits of a register."""
        return self.registers.get(register, 0) >> bit & (1 << count) - 1


@dataclass
class Emulator:
    """Executes dispatches of one GPU.

    `compiler_of` makes the compiler for waves of 32 or 64 lanes. `instructions` counts what was
    executed, one for all waves that were together. `recorder` records one wave.
    """

    gpu: str
    memory: GpuMemory
    compiler_of: Callable[[int], Compiler]
    seed: int = 0
    timeout: float = 60.0
    instructions: int = 0
    recorder: WaveRecorder | None = None

    def execute(self, dispatch: ComputeDispatch) -> None:
        """Run all workgroups of a dispatch, in a seeded order."""
        compiler = self.compiler_of(dispatch.wave)
        program = MachineCode(self.memory, compiler)
        deadline = time.monotonic() + self.timeout
        x, y, z = dispatch.size
        waves_each = -(-x * y * z // dispatch.wave)
        together = max(1, MOST_WAVES // waves_each)
        for start, chosen in self._groups(dispatch, together):
            waves = _start(dispatch, chosen, waves_each, compiler.generation, self.memory)
            if self.recorder is not None:
                self.recorder.begin(chosen, waves_each, start == 0)
            machine = WaveScheduler(
                program, waves, compiler.generation, self.seed + start, deadline, self.recorder
            )
            try:
                machine.run(dispatch.address)
            finally:
                self.instructions += machine.executed

    def _groups(self, dispatch: ComputeDispatch, together: int) -> Iterator[tuple[int, Array]]:
        """Yield workgroups in a seeded order: how many came before, and the next numbers, (groups, 3)."""
        count = math.prod(dispatch.groups)
        if not count:
            return
        random = np.random.default_rng(self.seed)
        # Multiples of a number without a common factor reach each workgroup once, and need no memory.
        most = min(count, 1 << 62)
        step = next(n for n in random.integers(1, most + 1, 1000).tolist() if math.gcd(n, count) == 1)
        place = int(random.integers(most))
        x, y, _ = dispatch.groups
        for start in range(0, count, together):
            turns = range(start, min(start + together, count))
            number = np.array([(place + step * turn) % count for turn in turns], np.int64)
            ids = np.stack([number % x, number // x % y, number // (x * y)], axis=1)
            yield start, ids + np.array(dispatch.first)


def _start(
    dispatch: ComputeDispatch, groups: Array, waves_each: int, generation: float, memory: GpuMemory
) -> Waves:
    """Return the waves of some workgroups with the first values of their registers."""
    count, lanes = len(groups) * waves_each, dispatch.wave
    group = np.repeat(np.arange(len(groups)), waves_each)
    number = np.tile(np.arange(waves_each), len(groups))
    local = dispatch.field(RESOURCES_2, 15, 9) * 512
    waves = Waves(count, lanes, 256, group, local, memory)
    if 10 <= generation < 11 and lanes == 64 and dispatch.field(RESOURCES_3, 0, 4):
        waves.shared_from = (dispatch.field(RESOURCES_1, 0, 6) + 1) * 4
    ids = groups[group].astype(np.uint32)
    user = dispatch.field(RESOURCES_2, 1, 5)
    for place in range(user):
        waves.s[place] = dispatch.registers.get(USER_DATA + place, 0)
    at = user
    if generation >= 12:
        waves.s[108 + 9] = ids[:, 0]
        waves.s[108 + 7] = ids[:, 1] & np.uint32(0xFFFF) | ids[:, 2] << np.uint32(16)
        waves.s[108 + 8] = number.astype(np.uint32) << np.uint32(25)
    else:
        for axis in range(3):
            if dispatch.field(RESOURCES_2, 7 + axis, 1):
                waves.s[at] = ids[:, axis]
                at += 1
    if dispatch.field(RESOURCES_2, 10, 1):
        waves.s[at] = _group_word(number, waves_each, generation)
        at += 1
    ring = dispatch.field(TEMPORARY_RING, 12, 15) * (64 if generation >= 11 else 256) * 4  # bytes of a wave
    if dispatch.field(RESOURCES_2, 0, 1) and generation < 11:
        waves.s[at] = np.arange(count, dtype=np.uint32) * np.uint32(ring)
    waves.mode = dispatch.field(RESOURCES_1, 12, 8)
    x, y, z = dispatch.size
    thread = (number[:, None] * lanes + np.arange(lanes)).astype(np.uint32)
    inside = thread < x * y * z
    parts = [thread % x, thread // x % y, thread // (x * y)]
    last = np.array(dispatch.groups) - 1
    for axis, limit in enumerate(dispatch.partial):
        if limit:
            is_last = (ids[:, axis] == dispatch.first[axis] + last[axis])[:, None]
            inside &= ~is_last | (parts[axis] < limit)
    if generation >= 11:
        waves.v[0] = parts[0] | parts[1] << np.uint32(10) | parts[2] << np.uint32(20)
    else:
        for axis in range(dispatch.field(RESOURCES_2, 11, 2) + 1):
            waves.v[axis] = parts[axis]
    waves.set_mask(EXEC, inside)
    if ring and generation >= 9:  # before, it lies in a buffer
        waves.give_scratch(-(-ring // lanes // 16) * 16)
    return waves


def _group_word(number: Array, waves_each: int, generation: float) -> Array:
    """Return the scalar register that tells a wave its number in the workgroup."""
    word = number.astype(np.uint32) << np.uint32(6) | np.uint32(waves_each)
    return word if generation < 10 else word | number.astype(np.uint32) << np.uint32(20)
