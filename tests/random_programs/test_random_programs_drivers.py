"""Random programs on real drivers: agreement with the reference, detection of planted errors."""

from __future__ import annotations

from functools import partial

import pytest
from campaigns.random_programs.run import Trial, Verdict
from campaigns.random_programs.targets import Driver
from campaigns.random_programs.vocabularies import of_device, promise_of
from mutants.changes import LSB, MSB, SHUFFLE, SHUFFLE_XOR, another_opcode
from planted_errors import TailDuplicating, another_scan

from vkgroup.device import Capabilities
from vkgroup.programs.generator import generate
from vkgroup.programs.rules import value_faults
from vkgroup.programs.shrinker import shrink
from vkgroup.programs.traversal import count_statements
from vkgroup.programs.values import Values
from vkgroup.workers.opening import open_device, select

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")

# Known driver bugs, see docs/results/index.md.
KNOWN = {"swiftshader": ("subgroupAllEqual.*vec*",), "lavapipe": ()}


def _capabilities(name: str) -> Capabilities:
    with open_device(name) as opened:
        return opened.capabilities


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("swiftshader", 40), ("lavapipe", 20)])
def test_drivers_agree_with_the_reference(name, count) -> None:
    capabilities = _capabilities(name)
    vocabulary = of_device(capabilities, avoid=KNOWN[name])
    trial = Trial(Driver(select(name)))
    defined = 0
    for seed in range(count):
        outcome = trial.run(generate(seed, Values(vocabulary, promise_of(capabilities))))
        assert outcome.verdict is Verdict.AGREE, f"seed {seed}: {outcome.detail}"
        defined += outcome.defined
    trial.close()
    assert defined > 1000 * count


PLANTED = {
    "inclusive scans are exclusive": (Driver, another_scan),
    "FindLSB is FindMSB": (Driver, partial(another_opcode, LSB, MSB)),
    "ShuffleXor is Shuffle": (Driver, partial(another_opcode, SHUFFLE_XOR, SHUFFLE)),
    "branches are not brought together": (TailDuplicating, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors_are_detected_and_shrunk(name) -> None:
    kind, transform = PLANTED[name]
    capabilities = _capabilities("swiftshader")
    vocabulary = of_device(capabilities, avoid=KNOWN["swiftshader"])
    trial = Trial(kind(select("swiftshader"), transform=transform))
    promise = promise_of(capabilities)
    programs = (generate(seed, Values(vocabulary, promise, statements=12)) for seed in range(200))
    failing = next(p for p in programs if trial.run(p).verdict is Verdict.DIFFER)
    small = shrink(
        failing,
        lambda p: trial.run(p).verdict is Verdict.DIFFER,
        lambda p: not value_faults(p, vocabulary.subgroup_size),
        seconds=300.0,
    ).program
    outcome = trial.run(small)
    trial.close()
    assert outcome.verdict is Verdict.DIFFER
    assert count_statements(small) <= 4
    assert small.groups == 1


def test_a_crash_of_a_driver_affects_one_program() -> None:
    """A worker that is killed is started again."""
    driver = Driver(select("swiftshader"))
    trial = Trial(driver)
    vocabulary = of_device(_capabilities("swiftshader"), avoid=KNOWN["swiftshader"])
    program = generate(3, Values(vocabulary, promise_of(_capabilities("swiftshader"))))
    assert trial.run(program).verdict is Verdict.AGREE
    driver._worker._process.kill()
    assert trial.run(program).verdict is Verdict.CRASH
    assert trial.run(program).verdict is Verdict.AGREE
    trial.close()
