"""Records of what one wave executes: each instruction with the values that it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.steps import Step
from vkgroup.amd.text import register_name
from vkgroup.amd.waves import Waves

Values = dict[int, Array]
"""Values by the number of a register: uint32, (lanes,), or one value of a scalar register."""


@dataclass(frozen=True)
class RecordedInstruction:
    """An instruction that the wave executed.

    Attributes
    ----------
    dispatch : number of the dispatch that it belongs to, from 0.
    address, code, text : its place in the memory of the GPU, its bytes, and LLVM's text of it.
    active : the lanes that were switched on before it, (lanes,).
    read, written : the registers that it read, before it, and that it wrote, after it.
    scc : the scalar condition after it.
    """

    dispatch: int
    address: int
    code: bytes
    text: str
    active: Array
    read: Values
    written: Values
    scc: bool

    @property
    def words(self) -> str:
        """The code in hexadecimal, by words of 32 bits."""
        words = (self.code[place : place + 4] for place in range(0, len(self.code), 4))
        return " ".join(f"{int.from_bytes(word, 'little'):08x}" for word in words)

    def lines(self) -> Iterator[str]:
        """Return it as text; lines after the first are indented."""
        yield f"{self.address:#x}  {self.words:<26}  {self.text}"
        if not self.active.all():
            yield f"    active lanes: {mask_text(self.active)}"
        for word, values in (("reads", self.read), ("writes", self.written)):
            for register, value in sorted(values.items()):
                yield f"    {word:<6} {register_name(register):<8} {values_text(value)}"


@dataclass
class WaveRecorder:
    """Records one wave of each dispatch while it is executed.

    `workgroup`, `wave`: which one; `most`: how many instructions are kept, the last ones.
    """

    workgroup: tuple[int, int, int] = (0, 0, 0)
    wave: int = 0
    most: int = 1_000_000
    executed: list[RecordedInstruction] = field(default_factory=list)
    count: int = 0
    dispatches: int = 0
    index: int | None = None

    def begin(self, groups: Array, waves_each: int, is_first: bool) -> None:
        """Find the wave among those of the workgroups, (groups, 3), that run together next."""
        self.dispatches += is_first
        places = np.flatnonzero((groups == np.array(self.workgroup)).all(axis=1))
        here = len(places) and self.wave < waves_each
        self.index = int(places[0]) * waves_each + self.wave if here else None

    def before(self, step: Step, waves: Waves) -> tuple[Array, Values]:
        """Return the active lanes and what a step is about to read."""
        assert self.index is not None
        return waves.active_lanes[self.index].copy(), self._values(step.reads, waves)

    def after(self, step: Step, waves: Waves, address: int, code: bytes, seen: tuple[Array, Values]) -> None:
        """Record a step that was executed."""
        active, read = seen
        written = self._values(step.writes, waves)
        scc = bool(waves.scc[self.index])
        text, dispatch = step.instruction.text, self.dispatches - 1
        self.executed.append(RecordedInstruction(dispatch, address, code, text, active, read, written, scc))
        self.count += 1
        if len(self.executed) > 2 * self.most:
            del self.executed[: -self.most]

    def _values(self, registers: frozenset[int], waves: Waves) -> Values:
        return {
            register: (waves.v[register - 256] if register >= 256 else waves.s[register])[self.index].copy()
            for register in registers
            if register < 256 + len(waves.v) and (register >= 256 or register < len(waves.s))
        }

    def lines(self) -> Iterator[str]:
        """Return the record as text."""
        x, y, z = self.workgroup
        yield f"# wave {self.wave} of workgroup {x},{y},{z}: {self.count} instructions"
        yield "# Values are hexadecimal, those of vector registers in the order of the lanes."
        yield '# "active lanes" is a mask in hexadecimal, and is left out where all lanes are active.'
        if self.count > self.most:
            yield f"# These are the last {self.most} instructions."
        last = -1
        for each in self.executed[-self.most :]:
            if each.dispatch != last:
                last = each.dispatch
                yield f"# dispatch {last}"
            yield from each.lines()


def mask_text(lanes: Array) -> str:
    """Return lanes as a hexadecimal number with one bit for each."""
    return f"{sum(1 << int(lane) for lane in np.flatnonzero(lanes)):#x}"


def values_text(values: Array) -> str:
    """Return values in hexadecimal; one if all lanes have the same."""
    words = np.atleast_1d(values)
    if len(words) > 1 and (words == words[0]).all():
        return f"{int(words[0]):#010x} in all lanes"
    return " ".join(f"{int(word):#010x}" if len(words) == 1 else f"{int(word):x}" for word in words)
