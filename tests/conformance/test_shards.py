"""Shards are disjoint, whole, deterministic, and fill their batches; another order is one of its seed."""

from __future__ import annotations

from itertools import chain

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import plan, select
from vkgroup.conformance.plan import Shard, parse_shard
from vkgroup.device import Capabilities

DEVICE = Capabilities(name="a device", type="cpu")
GLOBS = ("shuffle.compute.*", "legacy_ballot.*", "vote.*.bool.*", "basic.*", "reconvergence.*")


@pytest.fixture(scope="module")
def cases():
    return select(GLOBS)


@pytest.mark.parametrize("count", [1, 2, 7, 8])
def test_shards_are_disjoint_and_whole(cases, count) -> None:
    parts = [Shard(index, count).of(cases) for index in range(1, count + 1)]
    assert sorted(case.name for part in parts for case in part) == sorted(case.name for case in cases)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) < 0.2 * len(cases) / count
    assert Shard(1, count).of(cases) == parts[0]


def test_a_shard_keeps_the_order_of_the_suite(cases) -> None:
    places = {case: place for place, case in enumerate(cases)}
    part = [places[case] for case in Shard(2, 3).of(cases)]
    assert part == sorted(part)


def test_few_cases_are_spread_too() -> None:
    cases = select(("vote.compute.*.bool.all.exact",))
    assert len(cases) > 2
    assert sorted(len(Shard(i + 1, len(cases)).of(cases)) for i in range(len(cases))) == [1] * len(cases)
    assert Shard(len(cases) + 1, len(cases) + 1).of(cases) == ()


def test_shards_need_hardly_more_batches_than_the_whole(cases) -> None:
    def batches(part):
        return sum(1 for _ in plan.batches(part, DEVICE))

    assert sum(batches(Shard(i, 4).of(cases)) for i in range(1, 5)) < 1.05 * batches(cases)


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "1", "/", "a/b", "-1/4", "1/4/5", "1.0/4", "1/²", ""])
def test_what_names_no_shard_is_an_error(text) -> None:
    with pytest.raises(InvalidInput, match="shard"):
        parse_shard(text)


def test_a_shard_has_a_name() -> None:
    assert str(parse_shard("2/8")) == "2/8"


class TestShuffle:
    """`plan.batches` in another order."""

    @staticmethod
    def names(cases, seed):
        return [[case.name for case in batch.cases] for batch in plan.batches(cases, DEVICE, shuffle=seed)]

    def test_an_order_is_that_of_its_seed_and_has_every_case_once(self) -> None:
        cases = select(("shuffle.compute.*.int.*", "vote.*.bool.*"))
        first = self.names(cases, 1)
        assert self.names(cases, 1) == first
        assert self.names(tuple(reversed(cases)), 1) == first
        assert self.names(cases, 2) != first != self.names(cases, None)
        assert sorted(chain(*first)) == sorted(case.name for case in cases)

    @pytest.mark.parametrize("seed", [None, 5])
    def test_whole_batches_planned_again_are_the_same(self, cases, seed) -> None:
        batches = list(plan.batches(cases, DEVICE, shuffle=seed))[::3]
        again = list(plan.batches([c for batch in batches for c in batch.cases], DEVICE, shuffle=seed))
        assert [batch.cases for batch in again] == [batch.cases for batch in batches]

    def test_what_may_hang_stays_last(self) -> None:
        gpu = Capabilities(name="a GPU", type="discrete_gpu")
        cases = select(("basic.task.*",))
        risks = [plan.risk(batch.cases[0]) for batch in plan.batches(cases, gpu, shuffle=3)]
        assert set(risks) == {0, 1, plan.SEEN, plan.SEEN + 1}
        assert risks == sorted(risks)
