"""One program run on a device and on what it is compared with, and the verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from vkgroup.compiler import Target, compile_source
from vkgroup.random_programs.compare import Difference, compare
from vkgroup.random_programs.glsl import render
from vkgroup.random_programs.nodes import Program
from vkgroup.random_programs.subjects import Driver, Observation, Reference, assignment
from vkgroup.runner.messages import Failure
from vkgroup.spirv import Module


class Verdict(Enum):
    """What came of a program; the value is its name in results."""

    AGREE = "agree"
    DIFFER = "differ"
    #: The driver's process died, or its device was lost.
    CRASH = "crash"
    TIMEOUT = "timeout"
    #: The driver refused the module.
    ERROR = "error"
    #: The reference raised an error.
    REFERENCE = "reference"
    #: Nothing can be said: the program is not defined, or the lanes contradict each other.
    UNJUDGED = "unjudged"


AGAINST_THE_DEVICE = (Verdict.DIFFER, Verdict.CRASH, Verdict.TIMEOUT, Verdict.ERROR)

_FAILURES = {"crash": Verdict.CRASH, "lost": Verdict.CRASH, "timeout": Verdict.TIMEOUT}


@dataclass(frozen=True)
class Outcome:
    """The verdict on one program.

    Attributes
    ----------
    detail : why, in words; empty where the program agrees.
    defined, undefined : words that were compared, and that nothing defines.
    subgroup_size : at which it ran; 0 where it did not.
    seconds : all of it.
    """

    verdict: Verdict
    detail: str = ""
    defined: int = 0
    undefined: int = 0
    subgroup_size: int = 0
    seconds: float = 0.0
    difference: Difference | None = None

    def same_kind(self, other: Outcome) -> bool:
        """Whether two outcomes tell of the same thing going wrong, as far as can be told."""
        if self.verdict is Verdict.REFERENCE:
            return other.verdict is self.verdict and other.detail.split(":")[0] == self.detail.split(":")[0]
        return other.verdict is self.verdict


class Trial:
    """Runs programs.

    Parameters
    ----------
    driver : the device on trial.
    other : a second device to compare with; None takes the reference.
    """

    def __init__(self, driver: Driver, other: Driver | None = None) -> None:
        self.driver = driver
        self.other = other
        self._reference = Reference()

    def run(self, program: Program) -> Outcome:
        """Judge one program.

        Raises
        ------
        CompileError
            The generator made something that does not compile.
        """
        start = time.perf_counter()
        outcome = self._run(program)
        seconds = round(time.perf_counter() - start, 4)
        return Outcome(**{**vars(outcome), "seconds": seconds})

    def _run(self, program: Program) -> Outcome:
        module = compiled(program)
        got = self.driver.observe(program, module)
        if isinstance(got, Failure):
            return Outcome(_FAILURES.get(got.kind, Verdict.ERROR), got.message)
        size = int(got.words[0, 2])
        expected = self._expected(program, module, got, size)
        if isinstance(expected, Outcome):
            return expected
        found = compare(program, expected, got)
        verdict = Verdict.AGREE if found.difference is None else Verdict.DIFFER
        detail = str(found.difference or "")
        return Outcome(verdict, detail, found.defined, found.undefined, size, difference=found.difference)

    def _expected(
        self, program: Program, module: Module, got: Observation, size: int
    ) -> Observation | Outcome:
        """Return what the other side recorded, or why nothing can be said."""
        if self.other is not None:
            answer = self.other.observe(program, module)
            if isinstance(answer, Failure):
                return Outcome(Verdict.UNJUDGED, f"the other device: {answer.kind}: {answer.message}")
            return answer
        places = assignment(program, got)
        if isinstance(places, str):
            return Outcome(Verdict.UNJUDGED, places, subgroup_size=size)
        try:
            expected = self._reference.observe(program, module, size, places)
        except Exception as error:  # Whatever goes wrong in the reference is a finding about it.
            return Outcome(Verdict.REFERENCE, f"{type(error).__name__}: {error}", subgroup_size=size)
        if expected.complaint:
            return Outcome(Verdict.UNJUDGED, expected.complaint, subgroup_size=size)
        return expected

    def close(self) -> None:
        """End the devices' processes."""
        self.driver.close()
        if self.other is not None:
            self.other.close()


def compiled(program: Program) -> Module:
    """Compile a program; SPIR-V 1.5, since from 1.6 on the subgroup size of a pipeline may vary unasked."""
    return compile_source(render(program), stage="compute", target=Target.VULKAN_1_2, cache=False)
