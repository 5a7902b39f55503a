"""Execution of the waves that run together: which go on, where they branch, what they wait for."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from vkgroup.amd.arrays import Mask
from vkgroup.amd.control import counter_of
from vkgroup.amd.errors import EmulationError, HardwareRule, MissingPart
from vkgroup.amd.hazards import Hazards, HazardState
from vkgroup.amd.program import MachineCode
from vkgroup.amd.steps import Step
from vkgroup.amd.text import register_name
from vkgroup.amd.tracing import WaveRecorder
from vkgroup.amd.waves import Waves

MOST_OUTSTANDING = 64
"""Operations that a wait counter can count; a further one waits for the oldest."""


PREFERENCE = 0.9
"""How often the waves that are farthest back go on, and not any waves."""


class OutOfTime(EmulationError):
    """The time limit passed before a dispatch ended."""


@dataclass
class MemoryOperation:
    """A memory operation that has not been waited for: the registers that it writes, and in which lanes.

    `lanes`: (waves, lanes), among them those of all waves of a front; None for scalar registers.
    """

    registers: frozenset[int]
    lanes: Mask | None = field(compare=False)

    @property
    def is_scalar(self) -> bool:
        """Whether it writes scalar registers."""
        return self.lanes is None


Outstanding = dict[str, list[MemoryOperation]]


@dataclass
class Front:
    """Waves at the same instruction.

    `outstanding`: for each wait counter, its operations, oldest first.
    `hazards`: what the rules on neighbouring instructions remember.
    """

    address: int
    members: Mask
    hazards: HazardState
    outstanding: Outstanding = field(default_factory=dict)
    mode: int = 0

    def merges_with(self, other: Front) -> bool:
        """Return whether another front's waves are in the same state."""
        return (
            self.address == other.address
            and self.outstanding == other.outstanding
            and self.mode == other.mode
        )

    def take(self, other: Front, hazards: Hazards) -> None:
        """Add the waves of a front in the same state."""
        self.members = self.members | other.members
        self.hazards = hazards.join(self.hazards, other.hazards)
        for counter, pending in self.outstanding.items():
            for mine, its in zip(pending, other.outstanding[counter], strict=True):
                if mine.lanes is not None and its.lanes is not None:
                    mine.lanes = mine.lanes | its.lanes

    def part(self, members: Mask, address: int, mode: int) -> Front:
        """Return a front of some of the waves."""
        copied = {
            counter: [MemoryOperation(each.registers, each.lanes) for each in pending]
            for counter, pending in self.outstanding.items()
        }
        return Front(address, members, self.hazards, copied, mode)


class WaveScheduler:
    """Runs waves of one program to their end.

    Parameters
    ----------
    seed : of the order of the waves where several may go on.
    deadline : value of `time.monotonic` at which `OutOfTime` is raised.
    recorder : records one of the waves.
    """

    def __init__(
        self,
        program: MachineCode,
        waves: Waves,
        generation: float,
        seed: int,
        deadline: float,
        recorder: WaveRecorder | None = None,
    ) -> None:
        self._program, self._waves, self._generation = program, waves, generation
        self._random, self._deadline = Random(seed), deadline
        self._recorder = recorder if recorder is not None and recorder.index is not None else None
        self._fronts: list[Front] = []
        self._at_barrier: list[Front] = []
        self._ended = np.zeros(waves.count, np.bool_)
        self.executed = 0  # instructions, one for all waves of a front

    def run(self, address: int) -> None:
        """Run all waves from an address to the end of the program."""
        everything = np.ones(self._waves.count, np.bool_)
        self._fronts = [Front(address, everything, self._program.hazards.start, {}, self._waves.mode)]
        with np.errstate(all="ignore"):
            while self._fronts:
                self._advance(self._take())
                self._release()
        if self._at_barrier:
            raise HardwareRule(
                "barrier", "waves wait at a barrier that no other wave of their workgroup reaches"
            )

    def _take(self) -> Front:
        """Remove a front and those that stand at the same place in the same state.

        Mostly it is the one that is farthest back, so that waves meet again where their paths join.
        """
        place = 0
        if len(self._fronts) > 1:
            place = self._random.randrange(len(self._fronts))
            if self._random.random() < PREFERENCE:
                place = min(range(len(self._fronts)), key=lambda number: self._fronts[number].address)
        front = self._fronts.pop(place)
        same = [other for other in self._fronts if other.merges_with(front)]
        if same:
            self._fronts = [other for other in self._fronts if not any(other is one for one in same)]
            for other in same:
                front.take(other, self._program.hazards)
        return front

    def _advance(self, front: Front) -> None:
        """Run a front until it divides, waits at a barrier or ends."""
        waves, at = self._waves, self._program.steps
        waves.mode = front.mode
        waves.select(None if front.members.all() else front.members)
        address = front.address
        meeting = {other.address for other in self._fronts}
        advance = self._program.hazards.advance
        recorder = self._recorder
        if recorder is not None and not front.members[recorder.index]:
            recorder = None
        for turn in range(1 << 62):
            step = at.get(address) or self._program.at(address)
            waves.next = following = address + step.instruction.length
            if front.outstanding:
                self._check(front, step, address)
            front.hazards, hazard, register = advance(front.hazards, step)
            if hazard:
                raise _hazard(hazard, register).at(f"{step.instruction.text} at {address:#x}")
            try:
                taken = step.run(waves) if recorder is None else self._record(recorder, step, address)
            except EmulationError as error:
                raise error.at(f"{step.instruction.text} at {address:#x}") from None
            self.executed += 1
            waves.executed += 1
            if step.counter:
                counter = counter_of(step.counter, self._generation)
                if counter != "vs":  # stores write no register
                    pending = front.outstanding.setdefault(counter, [])
                    lanes = None if step.counter == "scalar" else waves.active_lanes
                    pending.append(MemoryOperation(step.writes, lanes))
                    del pending[:-MOST_OUTSTANDING]
            if step.target is not None:
                address = self._branch(front, taken, following, following + step.target)
                if address < 0:
                    return
            elif step.indirect:
                targets = np.unique(np.broadcast_to(taken, front.members.shape)[front.members])
                if len(targets) > 1:
                    raise MissingPart(f"{step.instruction.name} to different places")
                address = int(targets[0])
            elif step.ends:
                self._ended |= front.members
                return
            elif step.barrier:
                front.address, front.mode = following, waves.mode
                self._at_barrier.append(front)
                return
            else:
                address = following
                if step.waits:
                    _wait(front, step.waits)
            if turn & 0xFF == 0xFF and time.monotonic() > self._deadline:
                raise OutOfTime("the time limit passed")
            if address in meeting or (turn >= 4096 and self._fronts):
                # Waves that meet go on together; a loop that waits for other waves lets them go on.
                front.address, front.mode = address, waves.mode
                self._fronts.append(front)
                return

    def _record(self, recorder: WaveRecorder, step: Step, address: int) -> Any:
        seen = recorder.before(step, self._waves)
        taken = step.run(self._waves)
        code = self._program.code_at(address, step.instruction.length)
        recorder.after(step, self._waves, address, code, seen)
        return taken

    def _branch(self, front: Front, taken: Any, following: int, target: int) -> int:
        """Return where a front goes on; -1 if it divided."""
        here = taken & front.members
        if not here.any():
            return following
        if (here == front.members).all():
            return target
        for members, address in ((here, target), (front.members & ~here, following)):
            self._fronts.append(front.part(members, address, self._waves.mode))
        return -1

    def _check(self, front: Front, step: Step, address: int) -> None:
        """Raise HardwareRule if a step uses a register whose load has not been waited for."""
        own = counter_of(step.counter, self._generation) if step.counter else ""
        for counter, pending in front.outstanding.items():
            # Loads of one counter write in their order.
            used = step.reads if counter == own else step.reads | step.writes
            for operation in pending:
                both = operation.registers & used
                if both and self._meets(operation):
                    text = f"{register_name(min(both))} is used before the wait for its load"
                    raise HardwareRule("wait counter", f"{text} (counter {counter})").at(
                        f"{step.instruction.text} at {address:#x}"
                    )

    def _meets(self, operation: MemoryOperation) -> bool:
        """Return whether an operation writes lanes that the current instruction is executed for."""
        return operation.lanes is None or bool((operation.lanes & self._waves.active_lanes).any())

    def _release(self) -> None:
        """Let workgroups go on whose waves all wait at a barrier or have ended."""
        if not self._at_barrier:
            return
        waiting = np.zeros(self._waves.count, np.bool_)
        for front in self._at_barrier:
            waiting |= front.members
        group = self._waves.group
        busy = np.zeros(int(group.max()) + 1, np.bool_)
        busy[group[~(waiting | self._ended)]] = True
        free = ~busy[group]
        if not (free & waiting).any():
            return
        left = []
        for front in self._at_barrier:
            going = front.members & free
            if not going.any():
                left.append(front)
                continue
            staying = front.members & ~free
            if staying.any():
                left.append(front.part(staying, front.address, front.mode))
            front.members = going
            self._fronts.append(front)
        self._at_barrier = left


def _hazard(name: str, register: int) -> HardwareRule:
    """Return the error of a hazard, and of the register that is used too soon, if it is one."""
    return HardwareRule(name, f"{name}{f' with {register_name(register)}' if register >= 0 else ''}")


def _wait(front: Front, waits: dict[str, int]) -> None:
    """Remove the operations that have ended after a wait."""
    for counter, most in waits.items():
        pending = front.outstanding.get(counter)
        if not pending or len(pending) <= most:
            continue
        # Scalar loads end in any order: only a wait for all tells that they ended. Others end in their order.
        scalar = [operation for operation in pending if operation.is_scalar] if most else []
        ordered = [operation for operation in pending if not operation.is_scalar]
        pending[:] = scalar + ordered[max(0, len(ordered) - most) :]
        if not pending:
            del front.outstanding[counter]
