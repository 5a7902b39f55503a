"""Batches: every case in one batch of its own family, none too large."""

from __future__ import annotations

from vkgroup.conformance import all_cases, family_of, plan, select
from vkgroup.conformance.barriers import BARRIERS, SEEN_TO_HANG
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
    cases = select(("arithmetic.fragment.*.all.exact",))
    assert max(len(batch) for batch in plan.batches(cases, DEVICE)) == 32
    assert max(len(batch) for batch in plan.batches(cases, LAVAPIPE)) == 16
    assert {len(batch) for batch in plan.batches(cases, DEVICE, 1)} == {1}


def test_parts_are_the_whole() -> None:
    batch = next(plan.batches(select(("vote.compute.*",)), DEVICE))
    first, second = batch.parts()
    assert first.cases + second.cases == batch.cases
    assert first.family == second.family == batch.family


class TestWhatMayHangAGpu:
    """Barriers are judged by one worker, when all others are done; those that have hung a GPU come last."""

    CASES = select(("basic.*",))

    def test_barriers_are_judged_alone(self) -> None:
        batches = list(plan.batches(self.CASES, DEVICE))
        alone = [batch.alone for batch in batches]
        assert alone == sorted(alone)
        for batch in batches:
            assert all((case.operation in BARRIERS) == batch.alone for case in batch.cases)
        assert not any(batch.alone for batch in plan.batches(self.CASES, LAVAPIPE))

    def test_what_has_hung_a_gpu_comes_last_case_by_case(self) -> None:
        batches = list(plan.batches(self.CASES, DEVICE))
        known = [(batch.cases[0].stage, batch.cases[0].pattern) in SEEN_TO_HANG for batch in batches]
        known = [seen and batch.alone for seen, batch in zip(known, batches, strict=True)]
        assert any(known)
        assert known == sorted(known)
        assert {len(batch) for batch, seen in zip(batches, known, strict=True) if seen} == {1}

    def test_what_hangs_is_split_into_cases_at_once(self) -> None:
        batch = next(batch for batch in plan.batches(self.CASES, DEVICE) if batch.alone and len(batch) > 2)
        assert [part.cases for part in batch.parts()] == [[case] for case in batch.cases]
        assert all(part.alone for part in batch.parts())

    def test_who_waits_and_who_does_not_are_apart(self) -> None:
        for batch in plan.batches(self.CASES, LAVAPIPE):
            kinds = {BARRIERS[case.operation].kind for case in batch.cases if case.operation in BARRIERS}
            assert len(kinds) <= 1
