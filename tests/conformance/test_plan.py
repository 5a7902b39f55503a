"""Batches: every case is in one batch with cases of its family, and no batch is too large."""

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
    """Barriers are judged last; those that have hung a GPU by one worker, when all others are done."""

    CASES = select(("basic.*",))

    def test_barriers_are_judged_last_in_the_order_of_their_risk(self) -> None:
        for device in (DEVICE, LAVAPIPE):
            risks = [{plan.risk(case) for case in batch.cases} for batch in plan.batches(self.CASES, device)]
            assert all(len(its) == 1 for its in risks)
            assert risks == sorted(risks, key=max)
            assert set().union(*risks) == {0, 1, plan.SEEN, plan.SEEN + 1}
        assert {case.operation in BARRIERS for case in self.CASES if plan.risk(case)} == {True}

    def test_what_waits_for_others_comes_after_what_does_not(self) -> None:
        last = [case for batch in plan.batches(self.CASES, DEVICE) if batch.alone for case in batch.cases]
        waits = [BARRIERS[case.operation].kind == "exchange" for case in last]
        assert waits == sorted(waits)
        assert set(waits) == {False, True}

    def test_what_has_hung_a_gpu_is_judged_alone_case_by_case(self) -> None:
        for batch in plan.batches(self.CASES, DEVICE):
            barriers = [case for case in batch.cases if case.operation in BARRIERS]
            known = any((case.stage, case.pattern) in SEEN_TO_HANG for case in barriers)
            assert known == batch.alone
            assert not batch.alone or len(batch) == 1
        assert not any(batch.alone for batch in plan.batches(self.CASES, LAVAPIPE))

    def test_what_hangs_alone_is_split_into_cases_at_once(self) -> None:
        batch = plan.Batch("subgroup", list(self.CASES[:3]), alone=True)
        assert [part.cases for part in batch.parts()] == [[case] for case in batch.cases]
        assert all(part.alone for part in batch.parts())

    def test_who_waits_and_who_does_not_are_apart(self) -> None:
        for batch in plan.batches(self.CASES, LAVAPIPE):
            kinds = {BARRIERS[case.operation].kind for case in batch.cases if case.operation in BARRIERS}
            assert len(kinds) <= 1
