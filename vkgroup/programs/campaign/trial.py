"""Verdict on one program: a device compared with the reference, or with another device."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.compiler import Target, compile_source
from vkgroup.conformance.glsl_types import from_planes, planes
from vkgroup.programs.campaign.shader import HEAD, render
from vkgroup.programs.campaign.targets import Driver, Observation, assignment, observe_reference
from vkgroup.programs.nodes import Operate, Program, Record, nodes_of, recorded_type
from vkgroup.reference.dtypes import dtype_of
from vkgroup.runner.messages import Failure
from vkgroup.spec.types import TYPES, GlslType
from vkgroup.spirv import Module

Words = NDArray[np.uint32]
Flags = NDArray[np.bool_]


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
    """The verdict on one program."""

    verdict: Verdict
    detail: str = ""  # reason; empty if the program agrees
    defined: int = 0  # number of words that were compared
    undefined: int = 0  # number of words that are undefined
    subgroup_size: int = 0  # subgroup size of the run; 0 if there was none
    seconds: float = 0.0  # total time

    def same_kind(self, other: Outcome) -> bool:
        """Whether two outcomes have the same verdict and, for errors of the reference, the same error."""
        if self.verdict is Verdict.REFERENCE:
            return other.verdict is self.verdict and other.detail.split(":")[0] == self.detail.split(":")[0]
        return other.verdict is self.verdict


class Trial:
    """Comparison of a device with another device, or with the reference if there is none."""

    def __init__(self, driver: Driver, other: Driver | None = None) -> None:
        self.driver, self.other = driver, other

    def run(self, program: Program) -> Outcome:
        """Run one program and return its outcome; CompileError if the generated program does not compile."""
        start = time.perf_counter()
        outcome = self._run(program)
        return replace(outcome, seconds=round(time.perf_counter() - start, 4))

    def _run(self, program: Program) -> Outcome:
        module = compiled(program)
        got = self.driver.observe(program, module)
        if isinstance(got, Failure):
            return Outcome(_FAILURES.get(got.kind, Verdict.ERROR), got.message)
        size = int(got.words[0, 2])
        expected = self._expected(program, module, got, size)
        return expected if isinstance(expected, Outcome) else _compared(program, expected, got, size)

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
            expected = observe_reference(program, module, size, lanes)
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


# Comparison


def _compared(program: Program, expected: Observation, got: Observation, size: int) -> Outcome:
    """Compare every defined word of two observations; the detail has the first record that differs."""
    undefined = expected.undefined
    if undefined is None:
        undefined = np.zeros(expected.words.shape, np.bool_)
    defined = int(((expected.words != 0) & ~undefined).sum())
    recording = [node for node in nodes_of(program) if isinstance(node, Operate | Record)]
    types = {node.step: TYPES[recorded_type(node)] for node in recording}
    differences = []
    for invocation in np.nonzero(((expected.words != got.words) & ~undefined).any(axis=1))[0]:
        want = expected.words[invocation]
        difference = _first_difference(want, got.words[invocation], undefined[invocation], types)
        if difference is not None:
            number, text = difference
            where = f"invocation {invocation} (subgroup {want[0]}, lane {want[1]})"
            differences.append((number, f"record {number} of {where}: {text}"))
    verdict = Verdict.DIFFER if differences else Verdict.AGREE
    _, detail = min(differences, key=lambda difference: difference[0], default=(0, ""))
    return Outcome(verdict, detail, defined, int(undefined.sum()), size)


def _first_difference(
    want: Words, have: Words, unknown: Flags, types: dict[int, GlslType]
) -> tuple[int, str] | None:
    """Return the first differing record's invocation and description; None if only signs of zeros differ."""
    if (want[:HEAD] != have[:HEAD]).any():
        return 0, f"at the end expected subgroup, lane, size {want[:HEAD]}, got {have[:HEAD]}"
    at, number = HEAD, 0
    while at < len(want):
        step = int(want[at])
        if have[at] != step:
            return number, f"at {_step(step)} expected {_step(step)}, got {_step(int(have[at]))}"
        if not step:
            return None
        end = at + 1 + planes(types[step])
        wanted, held = _value(want[at + 1 : end], types[step]), _value(have[at + 1 : end], types[step])
        skip = _components(unknown[at + 1 : end], types[step])
        if ((wanted != held) & ~skip).any():
            return number, f"at {_step(step)} expected {_text(wanted, skip)}, got {_text(held, skip)}"
        at, number = end, number + 1
    return None


def _step(step: int) -> str:
    return f"step {step}" if step else "the end"


def _value(words: Words, type_: GlslType) -> NDArray[Any]:
    values, sound = from_planes(words[:, None], type_)
    # Words that are not a value of the type must not equal one.
    return values[0] if sound.all() else np.full(type_.components, -1)


def _components(unknown: Flags, type_: GlslType) -> Flags:
    """Return whether each component lies in a word that is undefined."""
    first = np.arange(type_.components) * dtype_of(type_.scalar).itemsize // 4
    last = (np.arange(1, type_.components + 1) * dtype_of(type_.scalar).itemsize - 1) // 4
    return np.asarray(unknown[first] | unknown[last])


def _text(values: NDArray[Any], skip: Flags) -> str:
    parts = ["undefined" if unknown else str(value) for value, unknown in zip(values, skip, strict=True)]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
