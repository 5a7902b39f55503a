"""Batches: every case in one batch of its own family, none too large."""

from __future__ import annotations

from vkgroup.conformance import all_cases, family_of, plan, select
from vkgroup.conformance.families import family_named
from vkgroup.device import Capabilities

DEVICE = Capabilities(name="a device", type="discrete_gpu")
LAVAPIPE = Capabilities(name="another", type="cpu", driver_name="llvmpipe")


def test_every_case_is_in_one_batch_with_its_like() -> None:
    planned = []
    for batch in plan.batches(all_cases(), DEVICE):
        family = family_named(batch.family)
        assert {family_of(case).name for case in batch.cases} == {family.name}
        assert len({family.batch_key(case) for case in batch.cases}) == 1
        assert len(batch) <= family.batch_size(batch.cases[0], DEVICE)
        planned += [case.name for case in batch.cases]
    assert sorted(planned) == sorted(case.name for case in all_cases())


def test_batches_of_one_type_share_their_data() -> None:
    first = next(plan.batches(select(("shuffle.compute.*.all.exact.*",)), DEVICE))
    assert len({case.type for case in first.cases}) <= 4


def test_batches_are_smaller_for_a_slow_compiler_and_on_request() -> None:
    cases = select(("arithmetic.compute.*.all.exact",))
    assert max(len(batch) for batch in plan.batches(cases, DEVICE)) == 32
    assert max(len(batch) for batch in plan.batches(cases, LAVAPIPE)) == 16
    assert {len(batch) for batch in plan.batches(cases, DEVICE, 1)} == {1}


def test_halves_are_the_whole() -> None:
    batch = next(plan.batches(select(("vote.compute.*",)), DEVICE))
    first, second = batch.halves()
    assert first.cases + second.cases == batch.cases
    assert first.family == second.family == batch.family
