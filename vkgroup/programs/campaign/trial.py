"""Verdict on one program: a device compared with the reference, or with another device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from vkgroup.compiler import Target, compile_source
from vkgroup.programs.campaign.compare import Difference, compare
from vkgroup.programs.campaign.shader import render
from vkgroup.programs.campaign.targets import Driver, Observation, Reference, assignment
from vkgroup.programs.nodes import Program
from vkgroup.runner.messages import Failure
from vkgroup.spirv import Module


class Verdict(Enum):
    """Verdict on a program; the value is its name in results."""

    AGREE = "agree"
    DIFFER = "differ"
    #: The driver's process died, or the device was lost.
    CRASH = "crash"
    TIMEOUT = "timeout"
    #: The driver rejected the module.
    ERROR = "error"
    #: The reference raised an error.
    REFERENCE = "reference"
    #: No verdict is possible: the program is undefined, or the recorded lanes are inconsistent.
    UNJUDGED = "unjudged"


AGAINST_THE_DEVICE = (Verdict.DIFFER, Verdict.CRASH, Verdict.TIMEOUT, Verdict.ERROR)

_FAILURES = {"crash": Verdict.CRASH, "lost": Verdict.CRASH, "timeout": Verdict.TIMEOUT}


@dataclass(frozen=True)
class Outcome:
    """The verdict on one program.

    Attributes
    ----------
    detail : reason; empty if the program agrees.
    defined : number of words that were compared.
    undefined : number of words that are undefined.
    subgroup_size : subgroup size of the run; 0 if there was none.
    seconds : total time.
    """

    verdict: Verdict
    detail: str = ""
    defined: int = 0
    undefined: int = 0
    subgroup_size: int = 0
    seconds: float = 0.0
    difference: Difference | None = None

    def same_kind(self, other: Outcome) -> bool:
        """Whether two outcomes have the same verdict and, for errors of the reference, the same error."""
        if self.verdict is Verdict.REFERENCE:
            return other.verdict is self.verdict and other.detail.split(":")[0] == self.detail.split(":")[0]
        return other.verdict is self.verdict


class Trial:
    """Comparison of a device with the reference, or with another device.

    Parameters
    ----------
    driver : device under test.
    other : second device to compare with; None: the reference.
    """

    def __init__(self, driver: Driver, other: Driver | None = None) -> None:
        self.driver = driver
        self.other = other
        self._reference = Reference()

    def run(self, program: Program) -> Outcome:
        """Run one program and return its outcome.

        Raises
        ------
        CompileError
            The generated program does not compile.
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
        comparison = compare(program, expected, got)
        verdict = Verdict.AGREE if comparison.difference is None else Verdict.DIFFER
        detail = str(comparison.difference or "")
        return Outcome(
            verdict, detail, comparison.defined, comparison.undefined, size, difference=comparison.difference
        )

    def _expected(
        self, program: Program, module: Module, got: Observation, size: int
    ) -> Observation | Outcome:
        """Return the observation to compare with, or the outcome if there is none."""
        if self.other is not None:
            answer = self.other.observe(program, module)
            if isinstance(answer, Failure):
                return Outcome(Verdict.UNJUDGED, f"the other device: {answer.kind}: {answer.message}")
            return answer
        lanes = assignment(program, got)
        if isinstance(lanes, str):
            return Outcome(Verdict.UNJUDGED, lanes, subgroup_size=size)
        try:
            expected = self._reference.observe(program, module, size, lanes)
        except Exception as error:  # Any error in the reference is a bug of the reference.
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
    """Compile a program to SPIR-V 1.5; from 1.6 on, the subgroup size of a pipeline may vary by default."""
    return compile_source(render(program), stage="compute", target=Target.VULKAN_1_2, cache=False)
