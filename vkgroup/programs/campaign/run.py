"""Run of a campaign: many programs, their results, failing programs as GLSL, and a summary.

The output folder contains ``results.jsonl``, with a line for each program, and ``summary.json``. For each
program that does not agree it contains ``SEED.comp`` and, on request, a smaller one, ``SEED-small.comp``.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.opening import open_device
from vkgroup.programs.campaign.shader import render
from vkgroup.programs.campaign.targets import Driver
from vkgroup.programs.campaign.trial import Outcome, Trial, Verdict
from vkgroup.programs.expressions import of_device, promise_of
from vkgroup.programs.generator import generate
from vkgroup.programs.nodes import Program, Promise, count_statements
from vkgroup.programs.rules import value_faults
from vkgroup.programs.shrinker import shrink
from vkgroup.programs.values import LOCAL_SIZES, Values

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
        if outcome.verdict is not Verdict.AGREE:
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


def _capabilities(device: DeviceInfo) -> Capabilities:
    with open_device(device) as opened:
        return opened.capabilities


def _shrunk(trial: Trial, program: Program, outcome: Outcome, subgroup_size: int) -> Program:
    """Return a smaller program that fails in the same way."""
    return shrink(
        program,
        lambda candidate: outcome.same_kind(trial.run(candidate)),
        lambda candidate: not value_faults(candidate, subgroup_size),
        seconds=SHRINK_SECONDS,
        attempts=SHRINK_ATTEMPTS,
    ).program


def _write(path: Path, program: Program, outcome: Outcome) -> None:
    title = f"Random program {program.seed}: {outcome.verdict.value}.\n{outcome.detail}"
    path.write_text(render(program, title=title))


def run(settings: Settings, out: Path, on_outcome: Callable[[int, Outcome], None]) -> Tally:
    """Run a campaign and write its results to a folder, which is created or appended to.

    Raise NoDevice or Unsupported if a device cannot be opened.
    """
    start = time.perf_counter()
    capabilities = [_capabilities(settings.device)]
    other = None
    if settings.against is not None:
        capabilities.append(_capabilities(settings.against))
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
                if outcome.verdict is not Verdict.AGREE:
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
