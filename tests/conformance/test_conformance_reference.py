"""The suite on the reference device: right at every subgroup size, and wrong where an error is planted."""

from __future__ import annotations

import pytest
from mutants.subgroup_mutations import MUTATIONS
from suite_runs import results_of
from test_mutations import cases_of

import vkgroup.conformance as conformance
from vkgroup.conformance import Status
from vkgroup.conformance.subgroup import family
from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SAMPLE = 60


@pytest.mark.mostly_slow(every=5, start=2)
@pytest.mark.parametrize("size", SIZES)
def test_a_sample_is_right_at_every_size(size: int) -> None:
    device = select_device(f"reference:{size}")
    with open_device(device) as opened:
        capabilities = opened.capabilities
    supported = [case for case in subgroup_cases() if not family.missing(case, capabilities)]
    # Another part of the suite for each size.
    sample = supported[size :: len(supported) // SAMPLE]
    found = conformance.run(device, cases=sample, isolate=False, seed=size)
    assert found.failures == []
    assert found.counts[Status.PASS] > 0.8 * len(sample)


def test_workers_open_it_with_its_size(tmp_path) -> None:
    device = select_device("reference:8")
    globs = ("vote.compute.*.uint.all.*", "arithmetic.compute.subgroupAdd.int.odd.*")
    found = conformance.run(device, filters=globs, jobs=2, out=tmp_path)
    assert found.capabilities.subgroup.size == 8
    assert found.failures == []
    # Every required size is there too.
    assert {result.case.rpartition(".")[2] for result in found.results} >= {f"size{n}" for n in SIZES}
    assert found.counts[Status.NOT_SUPPORTED] == len(
        [result for result in found.results if ".odd." in result.case and result.case.endswith(".size1")]
    )


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_planted_errors_are_caught(mutation) -> None:
    results = results_of("reference:8", cases_of(mutation)[::4], seed=11, transform=mutation.mutate)
    assert any(result.status == Status.FAIL for result in results)
    assert not any("InvalidModule" in result.detail for result in results)
