"""A driver's process in which an absent GPU executes: requests, command processor and emulator together."""

from __future__ import annotations

import time
from pathlib import Path

from vkgroup.amd.commands import CommandProcessor
from vkgroup.amd.disassembly import Disassembler
from vkgroup.amd.dispatch import Emulator
from vkgroup.amd.errors import EmulationError, MissingPart, UnknownLayout
from vkgroup.amd.machine import OutOfTime
from vkgroup.amd.memory import GpuMemory
from vkgroup.amd.program import Compiler, generation_of
from vkgroup.amd.requests import DriverRequests
from vkgroup.amd.tracing import WaveRecorder
from vkgroup.base import errors


class Emulation:
    """Executes the work of the driver that this process has loaded.

    Parameters
    ----------
    gpu : LLVM's name of the GPU, such as ``gfx1100``.
    libraries : folder of the driver's libraries, of which LLVM's is used to read machine code.
    seed : of the order of workgroups and waves.
    recorder : records one wave of each dispatch from then on.
    driver : name and version of the driver, for messages.
    timeout : seconds that one dispatch may take.

    Raises EmulationError: the process has no driver under Mesa's no-op shim, or there is no LLVM library.
    """

    def __init__(self, gpu: str, libraries: Path, seed: int = 0, timeout: float = 3600.0) -> None:
        self.gpu, self.driver = gpu, "this driver"
        generation_of(gpu)
        found = sorted(libraries.glob("libLLVM*.so*"))
        if not found:
            raise EmulationError(f"{libraries} has no library of LLVM, which reads the machine code")
        self._llvm = str(found[-1])
        self._compilers: dict[int, Compiler] = {}
        self._seed = seed
        self.timeout = timeout
        self._emulator: Emulator | None = None
        self._commands: CommandProcessor | None = None
        self.recorder: WaveRecorder | None = None
        self._requests = DriverRequests(self._execute)

    def raise_problem(self) -> None:
        """Raise what ended the execution of submissions since the last call; nothing if all ended well.

        Raises
        ------
        NotEmulated
            An instruction, a packet or a mode is missing here, or the driver talks to the kernel otherwise
            than the known versions of Mesa; `missing` says which.
        DriverError
            The machine code or the commands break a rule of the hardware.
        DispatchTimeout
            A dispatch took longer than `timeout`.
        """
        problem, self._requests.problem = self._requests.problem, None
        if problem is None:
            return
        if isinstance(problem, MissingPart):
            raise errors.NotEmulated(str(problem), [problem.name]) from problem
        if isinstance(problem, UnknownLayout):
            text = f"not supported: {self.driver}"
            raise errors.NotEmulated(f"{text}: {problem}", [text]) from problem
        if isinstance(problem, OutOfTime):
            raise errors.DispatchTimeout(f"by emulation: {problem}", "VK_TIMEOUT") from problem
        if isinstance(problem, EmulationError):
            raise errors.DriverError(f"by emulation: {problem}", "VK_ERROR_DEVICE_LOST") from problem
        raise problem

    @property
    def instructions(self) -> int:
        """Number of instructions executed so far, one for all waves that executed it together."""
        return self._emulator.instructions if self._emulator else 0

    def _compiler(self, wave: int) -> Compiler:
        if wave not in self._compilers:
            self._compilers[wave] = Compiler(self.gpu, wave, Disassembler(self._llvm, self.gpu, wave))
        return self._compilers[wave]

    def _execute(self, memory: GpuMemory, commands: list[tuple[int, int]]) -> None:
        if self._commands is None or self._emulator is None:
            self._emulator = Emulator(self.gpu, memory, self._compiler, self._seed)
            self._commands = CommandProcessor(
                memory, generation_of(self.gpu), self._emulator.execute, time.monotonic_ns
            )
        self._emulator.timeout, self._emulator.recorder = self.timeout, self.recorder
        for address, count in commands:
            self._commands.execute(address, count)
