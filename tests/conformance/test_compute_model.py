"""The compute model on devices: nothing wrong is found, and every planted error is."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from mutants.compute_model_mutations import MODEL_MUTATIONS

import vkgroup
import vkgroup.conformance as conformance
from vkgroup.conformance import Status, all_families, family_of
from vkgroup.conformance.execute import Executor
from vkgroup.workers.opening import select as select_device

FAMILIES = [family for family in all_families() if family.name.startswith("compute_model.")]
CASES = [case for family in FAMILIES for case in family.cases()]
STRIDES = {"swiftshader": 2, "lavapipe": 9, "reference:8": 7}

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")


def judged(device, cases, transform=None):
    """Return the verdicts by the case's name; cases that the device lacks something for are left out."""
    executor = Executor(device, seed=5, transform=transform)
    batches: dict = {}
    for case in cases:
        family = family_of(case)
        if not family.missing(case, device.capabilities):
            batches.setdefault((family, family.batch_key(case)), []).append(case)
    found = {}
    for (family, _), batch in batches.items():
        for case, verdict in zip(batch, family.verdicts_on(executor, batch), strict=True):
            found[case.name] = verdict
    executor.close()
    return found


@pytest.mark.mostly_slow(every=3, start=2)
@pytest.mark.parametrize("name", STRIDES)
def test_a_sample_of_every_topic_is_right(name) -> None:
    with vkgroup.open(name) as device:
        found = judged(device, CASES[:: STRIDES[name]])
    assert {name: verdict.detail for name, verdict in found.items() if verdict.status == Status.FAIL} == {}
    assert {name.split(".")[1] for name in found} == {family.name.split(".")[1] for family in FAMILIES}
    passed = [verdict for verdict in found.values() if verdict.status == Status.PASS]
    assert len(passed) > 0.8 * len(found)
    assert all(verdict.defined > 0 for verdict in passed)


def test_it_is_a_family_of_the_suite() -> None:
    globs = ("compute_model.dispatches.*", "compute_model.litmus.store_order.*.groupMemoryBarrier.*")
    found = conformance.run(select_device("swiftshader"), filters=globs, jobs=2, seed=3)
    assert len(found.results) == len(conformance.select(globs)) > 20
    assert found.failures == []


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("driver", ["swiftshader", "lavapipe"])
@pytest.mark.parametrize("mutation", MODEL_MUTATIONS, ids=lambda mutation: mutation.name)
def test_planted_errors_are_caught(mutation, driver) -> None:
    cases = [case for case in CASES if fnmatchcase(case.name, mutation.cases)]
    cases = cases[:: max(1, len(cases) // 12)]
    with vkgroup.open(driver) as device:
        found = judged(device, cases, mutation.mutate)
    wrong = [name for name, verdict in found.items() if verdict.status == Status.FAIL]
    assert wrong, {name: verdict.detail for name, verdict in found.items()}
