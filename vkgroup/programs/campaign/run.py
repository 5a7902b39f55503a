"""Many programs, one after the other: results as they come, failing programs as GLSL, a summary.

In the folder of results lie ``results.jsonl``, a line for each program, and ``summary.json``; of each program
that does not agree ``SEED.comp``, and on request ``SEED-small.comp``, which shows the same in less.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.opening import open_device
from vkgroup.programs.campaign.shader import render
from vkgroup.programs.campaign.targets import Driver
from vkgroup.programs.campaign.trial import Outcome, Trial, Verdict
from vkgroup.programs.generator import generate
from vkgroup.programs.nodes import Program, Promise, count_statements
from vkgroup.programs.rules import value_faults
from vkgroup.programs.shrinker import shrink
from vkgroup.programs.values import LOCAL_SIZES, Values
from vkgroup.programs.vocabulary import Vocabulary, of_device, promise_of

SHRINK_SECONDS = 300.0
"""Seconds that the search for a smaller program may take."""

SHRINK_ATTEMPTS = 2000
"""Programs that this search runs at most."""


@dataclass(frozen=True)
class Settings:
    """What to run.

    Attributes
    ----------
    device : the one on trial.
    against : a second one to compare with; None takes the reference.
    count, seed : how many programs, and the seed of the first.
    statements : about how many a program has.
    promise : what programs count on; None takes the most that the device promises.
    subgroup_size : a required size; 0 leaves it to the device.
    avoid : globs over ``operation.type`` to leave out.
    one_dimension : whether all workgroups have one dimension.
    shrink : whether to make failing programs small.
    timeout : seconds of one dispatch; drivers may compile in it.
    """

    device: DeviceInfo
    against: DeviceInfo | None = None
    count: int = 100
    seed: int = 0
    statements: int = 24
    promise: Promise | None = None
    subgroup_size: int = 0
    avoid: tuple[str, ...] = ()
    one_dimension: bool = False
    shrink: bool = False
    timeout: float = 60.0


@dataclass
class Tally:
    """What came of all programs so far."""

    capabilities: Capabilities
    promise: Promise
    settings: Settings
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    defined: int = 0
    undefined: int = 0
    seconds: float = 0.0
    against: list[dict[str, Any]] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count one program."""
        self.verdicts[outcome.verdict] += 1
        self.defined += outcome.defined
        self.undefined += outcome.undefined
        if outcome.verdict is not Verdict.AGREE:
            self.against.append({"seed": seed, "verdict": outcome.verdict.value, "detail": outcome.detail})

    def summary(self) -> dict[str, Any]:
        """Return plain data for `json.dump`."""
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


def _shrunk(trial: Trial, program: Program, outcome: Outcome, vocabulary: Vocabulary) -> Program:
    """Make a failing program small: one that goes wrong in the same way."""

    def fails(candidate: Program) -> bool:
        return outcome.same_kind(trial.run(candidate))

    def allowed(candidate: Program) -> bool:
        return not value_faults(candidate, vocabulary.subgroup_size)

    return shrink(program, fails, allowed, seconds=SHRINK_SECONDS, attempts=SHRINK_ATTEMPTS).program


def _write(path: Path, program: Program, outcome: Outcome) -> None:
    title = f"Random program {program.seed}: {outcome.verdict.value}.\n{outcome.detail}"
    path.write_text(render(program, title=title))


def _record(program: Program, outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": program.seed,
        "promise": program.promise.value,
        "verdict": outcome.verdict.value,
        "detail": outcome.detail,
        "statements": count_statements(program),
        "defined": outcome.defined,
        "undefined": outcome.undefined,
        "subgroup_size": outcome.subgroup_size,
        "seconds": outcome.seconds,
    }


def run(settings: Settings, out: Path, on_outcome: Callable[[int, Outcome], None]) -> Tally:
    """Run programs and write what comes of them.

    Parameters
    ----------
    out : folder of the results; made if it is not there, appended to if it is.
    on_outcome : called with each seed and its outcome.

    Raises
    ------
    NoDevice, Unsupported
        A device cannot be opened.
    """
    start = time.perf_counter()
    found = [_capabilities(settings.device)]
    other = None
    if settings.against is not None:
        found.append(_capabilities(settings.against))
        other = Driver(settings.against, timeout=settings.timeout)
    promise = settings.promise or promise_of(found[0])
    # Two devices may differ where nothing is defined; the reference knows where that is.
    undefined = other is None
    vocabulary = of_device(
        *found, subgroup_size=settings.subgroup_size, undefined=undefined, avoid=settings.avoid
    )
    shapes = tuple(shape for shape in LOCAL_SIZES if shape[1] == 1 or not settings.one_dimension)
    driver = Driver(settings.device, timeout=settings.timeout, subgroup_size=settings.subgroup_size)
    profile = Values(vocabulary, promise, settings.statements, shapes)
    trial = Trial(driver, other)
    tally = Tally(found[0], promise, settings)
    out.mkdir(parents=True, exist_ok=True)
    try:
        with (out / "results.jsonl").open("a") as results:
            for seed in range(settings.seed, settings.seed + settings.count):
                program = generate(seed, profile)
                outcome = trial.run(program)
                tally.add(seed, outcome)
                record = _record(program, outcome)
                if outcome.verdict is not Verdict.AGREE:
                    _write(out / f"{seed}.comp", program, outcome)
                    if settings.shrink and outcome.verdict is not Verdict.UNJUDGED:
                        small = _shrunk(trial, program, outcome, vocabulary)
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
