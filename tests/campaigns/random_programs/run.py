"""Campaign: verdicts on many programs, failing programs as GLSL, and a summary.

The output folder contains ``results.jsonl``, with a line for each program, and ``summary.json``. For each
program that does not agree it contains ``SEED.comp`` and, on request, a smaller one, ``SEED-small.comp``.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.random_programs.shader import HEAD, recorded_type, render
from campaigns.random_programs.targets import Driver, Observation, assignment, observe_reference
from campaigns.random_programs.vocabularies import of_device, promise_of
from vkgroup.base.files import require_regular_if_exists
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.programs.generator import generate
from vkgroup.programs.glsl_types import from_planes, planes
from vkgroup.programs.nodes import Operate, Promise, RandomProgram, RecordStatement
from vkgroup.programs.rules import value_faults
from vkgroup.programs.shrinker import shrink
from vkgroup.programs.traversal import count_statements, nodes_of
from vkgroup.programs.values import LOCAL_SIZES, Values
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import TYPES, GlslType
from vkgroup.spirv import Module
from vkgroup.workers.messages import Failure
from vkgroup.workers.scheduler import read_capabilities

Words = NDArray[np.uint32]
Flags = NDArray[np.bool_]


class Verdict(Enum):
    """Verdict on a program; the value is its name in results."""

    AGREE = "agree"
    #: A compile-only device compiled the program; nothing was executed.
    COMPILED = "compiled"
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

UNREMARKABLE = (Verdict.AGREE, Verdict.COMPILED)
"""Verdicts of programs that are not listed."""

_FAILURES = {"crash": Verdict.CRASH, "lost": Verdict.CRASH, "timeout": Verdict.TIMEOUT}


@dataclass(frozen=True)
class Outcome:
    """The result of one program: verdict and counts."""

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

    def run(self, program: RandomProgram) -> Outcome:
        """Run one program and return its outcome; CompileError if the generated program does not compile."""
        start = time.perf_counter()
        outcome = self._run(program)
        return replace(outcome, seconds=round(time.perf_counter() - start, 4))

    def _run(self, program: RandomProgram) -> Outcome:
        module = compiled(program)
        got = self.driver.observe(program, module)
        if isinstance(got, Failure):
            return Outcome(_FAILURES.get(got.kind, Verdict.ERROR), got.message)
        if self.driver.device.is_compile_only:
            return Outcome(Verdict.COMPILED)
        size = int(got.words[0, 2])
        expected = self._expected(program, module, got, size)
        return expected if isinstance(expected, Outcome) else _compared(program, expected, got, size)

    def _expected(
        self, program: RandomProgram, module: Module, got: Observation, size: int
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


def compiled(program: RandomProgram) -> Module:
    """Compile a program to SPIR-V 1.5; from 1.6 on, the subgroup size of a pipeline may vary by default."""
    return compile_source(render(program), stage="compute", target=TargetEnvironment.VULKAN_1_2, cache=False)


# Comparison


def _compared(program: RandomProgram, expected: Observation, got: Observation, size: int) -> Outcome:
    """Compare every defined word of two observations; the detail has the first record that differs."""
    undefined = expected.undefined
    if undefined is None:
        undefined = np.zeros(expected.words.shape, np.bool_)
    defined = int(((expected.words != 0) & ~undefined).sum())
    recording = [node for node in nodes_of(program) if isinstance(node, Operate | RecordStatement)]
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
    # Words that do not encode a value of the type must not compare equal to one.
    return values[0] if sound.all() else np.full(type_.components, -1)


def _components(unknown: Flags, type_: GlslType) -> Flags:
    """Return whether each component lies in a word that is undefined."""
    first = np.arange(type_.components) * dtype_of(type_.scalar).itemsize // 4
    last = (np.arange(1, type_.components + 1) * dtype_of(type_.scalar).itemsize - 1) // 4
    return np.asarray(unknown[first] | unknown[last])


def _text(values: NDArray[Any], skip: Flags) -> str:
    parts = ["undefined" if unknown else str(value) for value, unknown in zip(values, skip, strict=True)]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


SHRINK_SECONDS = 300.0
"""Seconds that the search for a smaller program may take."""

SHRINK_ATTEMPTS = 2000
"""Programs that this search runs at most."""


@dataclass(frozen=True)
class Settings:
    """Settings of a campaign: the options of the command, described in its help."""

    device: DeviceInfo
    against: DeviceInfo | None = None  # second device to compare with; None: the reference
    count: int = 100
    seed: int = 0
    statements: int = 24
    #: Reconvergence guarantee that programs rely on; None: the strongest of the device.
    promise: Promise | None = None
    subgroup_size: int = 0  # required subgroup size; 0 leaves it to the device
    avoid: Sequence[str] = ()
    one_dimension: bool = False
    shrink: bool = False
    timeout: float = 60.0


@dataclass
class Tally:
    """Results of all programs so far."""

    capabilities: Capabilities
    promise: Promise
    settings: Settings
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    defined: int = 0
    undefined: int = 0
    seconds: float = 0.0
    against: list[dict[str, Any]] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Add the outcome of one program."""
        self.verdicts[outcome.verdict] += 1
        self.defined += outcome.defined
        self.undefined += outcome.undefined
        if outcome.verdict not in UNREMARKABLE:
            self.against.append({"seed": seed, "verdict": outcome.verdict.value, "detail": outcome.detail})

    def summary(self) -> dict[str, Any]:
        """Return the summary as JSON data."""
        return {
            "device": self.capabilities.name,
            "driver": self.capabilities.driver_info,
            "promise": self.promise.value,
            "first_seed": self.settings.seed,
            "statements": self.settings.statements,
            "avoided": list(self.settings.avoid),
            "one_dimension": self.settings.one_dimension,
            "programs": sum(self.verdicts.values()),
            "verdicts": {verdict.value: self.verdicts[verdict] for verdict in Verdict},
            "words_compared": self.defined,
            "words_undefined": self.undefined,
            "seconds": round(self.seconds, 1),
            "not_agreed": self.against,
        }


def _shrunk(trial: Trial, program: RandomProgram, outcome: Outcome, subgroup_size: int) -> RandomProgram:
    """Return a smaller program that fails in the same way."""
    return shrink(
        program,
        lambda candidate: outcome.same_kind(trial.run(candidate)),
        lambda candidate: not value_faults(candidate, subgroup_size),
        seconds=SHRINK_SECONDS,
        attempts=SHRINK_ATTEMPTS,
    ).program


def _write(path: Path, program: RandomProgram, outcome: Outcome) -> None:
    title = f"Random program {program.seed}: {outcome.verdict.value}.\n{outcome.detail}"
    path.write_text(render(program, title=title))


def run(settings: Settings, out: Path, on_outcome: Callable[[int, Outcome], None]) -> Tally:
    """Run a campaign and write its results to a folder, which is created or appended to.

    Raise NoDevice or Unsupported if a device cannot be opened.
    """
    start = time.perf_counter()
    capabilities = [read_capabilities(settings.device)]
    other = None
    if settings.against is not None:
        capabilities.append(read_capabilities(settings.against))
        other = Driver(settings.against, timeout=settings.timeout)
    promise = settings.promise or promise_of(capabilities[0])
    # Two devices may differ where a result is undefined; only the reference knows where it is.
    undefined = other is None
    vocabulary = of_device(
        *capabilities, subgroup_size=settings.subgroup_size, undefined=undefined, avoid=tuple(settings.avoid)
    )
    shapes = tuple(shape for shape in LOCAL_SIZES if shape[1] == 1 or not settings.one_dimension)
    driver = Driver(settings.device, timeout=settings.timeout, subgroup_size=settings.subgroup_size)
    profile = Values(vocabulary, promise, settings.statements, shapes)
    trial = Trial(driver, other)
    tally = Tally(capabilities[0], promise, settings)
    out.mkdir(parents=True, exist_ok=True)
    try:
        for name in ("results.jsonl", "summary.json"):
            require_regular_if_exists(out / name)
        with (out / "results.jsonl").open("a") as results:
            for seed in range(settings.seed, settings.seed + settings.count):
                program = generate(seed, profile)
                outcome = trial.run(program)
                tally.add(seed, outcome)
                record = {
                    "seed": seed,
                    "promise": promise.value,
                    "statements": count_statements(program),
                    **vars(outcome),
                    "verdict": outcome.verdict.value,
                }
                if outcome.verdict not in UNREMARKABLE:
                    _write(out / f"{seed}.comp", program, outcome)
                    if settings.shrink and outcome.verdict is not Verdict.UNJUDGED:
                        small = _shrunk(trial, program, outcome, vocabulary.subgroup_size)
                        _write(out / f"{seed}-small.comp", small, trial.run(small))
                        record["small_statements"] = count_statements(small)
                results.write(json.dumps(record) + "\n")
                results.flush()
                on_outcome(seed, outcome)
    finally:
        trial.close()
    tally.seconds = time.perf_counter() - start
    (out / "summary.json").write_text(json.dumps(tally.summary(), indent=2) + "\n")
    return tally
