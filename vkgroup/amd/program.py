"""Programs: machine code that is read and compiled to steps when it is reached."""

from __future__ import annotations

import re

from vkgroup.amd.access import compile_buffer, compile_flat
from vkgroup.amd.control import compile_control
from vkgroup.amd.crossing import compile_crossing
from vkgroup.amd.disassembly import LONGEST, Disassembler
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.hazards import Hazards
from vkgroup.amd.images import compile_image
from vkgroup.amd.local import compile_local
from vkgroup.amd.memory import GpuMemory
from vkgroup.amd.mixed import compile_mixed
from vkgroup.amd.sampling import compile_sample
from vkgroup.amd.scalar import compile_scalar, relative_moves
from vkgroup.amd.scalar import row_of as scalar_row_of
from vkgroup.amd.scalar_memory import compile_scalar_memory
from vkgroup.amd.steps import Step
from vkgroup.amd.text import MachineInstruction, parse
from vkgroup.amd.typed import compile_typed
from vkgroup.amd.vector import compile_vector, row_of
from vkgroup.amd.waves import Waves

MOST_STEPS = 20_000
"""Instructions that are kept for later programs, so that memory stays bounded."""


def generation_of(gpu: str) -> float:
    """Return the generation of LLVM's name of a GPU: 9 of gfx900, 10.3 of gfx1030, 11.5 of gfx1150."""
    match = re.fullmatch(r"gfx(\d+)([0-9a-f])([0-9a-f])", gpu)
    if match is None:
        raise MissingPart(gpu)
    return int(match[1]) + int(match[2], 16) / 10


class Compiler:
    """Makes steps of one GPU, for waves of 32 or 64 lanes."""

    def __init__(self, gpu: str, wave: int, disassembler: Disassembler | None = None) -> None:
        self.gpu, self.wave = gpu, wave
        self.generation = generation_of(gpu)
        self._disassembler = disassembler
        self.hazards = Hazards(self.generation, wave)
        self._steps: dict[tuple[str, int], Step] = {}

    def begin(self) -> None:
        """Begin with a program: forget the instructions of earlier ones if they are too many."""
        if len(self._steps) > MOST_STEPS:
            self._steps.clear()
            self.hazards = Hazards(self.generation, self.wave)
            if self._disassembler is not None:
                self._disassembler.forget()

    def step_at(self, code: bytes) -> Step:
        """Return the step of the first instruction of some code."""
        assert self._disassembler is not None
        length, text = self._disassembler.read(code)
        return self.step(text, length)

    def step(self, text: str, length: int = 4) -> Step:
        """Return the step of an instruction's text."""
        step = self._steps.get((text, length))
        if step is None:
            step = self._steps[text, length] = self._compile(text, length)
        return step

    def _compile(self, text: str, length: int) -> Step:
        if " :: " in text:
            return self._dual(text, length)
        instruction = parse(text, length)
        name, generation = instruction.name, self.generation
        step: Step | None
        if name.startswith("v_") and not name.startswith("v_s_"):
            row = row_of(instruction, generation)
            moves = "dpp" in instruction.form
            if (row is None and (moves or instruction.form == "sdwa")) or (
                moves and name.startswith("v_cmpx_")
            ):
                raise MissingPart(name, text)
            if row is not None:
                return compile_vector(instruction, row, generation, self.wave)
            step = (
                compile_crossing(instruction, generation)
                or compile_mixed(instruction, generation)
                or compile_control(instruction, generation)
            )
        elif name.startswith(("s_", "v_s_")):
            scalar = scalar_row_of(name)
            if scalar is not None:
                return compile_scalar(instruction, scalar, self.wave)
            step = (
                compile_control(instruction, generation)
                or compile_scalar_memory(instruction, generation)
                or relative_moves(instruction)
            )
        elif name.startswith("ds_"):
            step = (
                compile_crossing(instruction, generation)
                or compile_control(instruction, generation)
                or compile_local(instruction)
            )
        else:
            step = (
                compile_control(instruction, generation)
                or compile_buffer(instruction, generation)
                or compile_typed(instruction, generation)
                or compile_flat(instruction, generation)
                or compile_image(instruction, generation)
                or compile_sample(instruction, generation)
            )
        if step is None:
            raise MissingPart(name, text)
        return step

    def _dual(self, text: str, length: int) -> Step:
        """Return the step of two instructions that read their sources before either writes."""
        steps = [self._half(part) for part in text.split(" :: ")]

        def run(waves: Waves) -> None:
            kept = {r: waves.v[r - 256].copy() for r in steps[0].writes & steps[1].reads if r >= 256}
            steps[0].run(waves)
            after = {r: waves.v[r - 256].copy() for r in kept}
            for register, value in kept.items():
                waves.v[register - 256] = value
            steps[1].run(waves)
            for register, value in after.items():
                if register not in steps[1].writes:
                    waves.v[register - 256] = value

        reads = steps[0].reads | steps[1].reads
        return Step(
            MachineInstruction(text, "v_dual", "", (), {}, length),
            run,
            reads,
            steps[0].writes | steps[1].writes,
        )

    def _half(self, text: str) -> Step:
        mnemonic, _, rest = text.partition(" ")
        return self.step(f"{mnemonic.replace('v_dual_', 'v_')} {rest}".replace("v_dot2acc", "v_dot2c"))


class MachineCode:
    """Machine code from an address on.

    `steps`: what was read already, by address.
    """

    def __init__(self, memory: GpuMemory, compiler: Compiler) -> None:
        compiler.begin()
        self._memory, self._compiler = memory, compiler
        self.hazards = compiler.hazards
        self.steps: dict[int, Step] = {}

    def at(self, address: int) -> Step:
        """Return the step at an address."""
        step = self.steps.get(address)
        if step is None:
            code = self._memory.bytes(address, LONGEST).tobytes()
            step = self.steps[address] = self._compiler.step_at(code)
        return step

    def code_at(self, address: int, length: int) -> bytes:
        """Return the bytes of an instruction."""
        return self._memory.bytes(address, length).tobytes()
