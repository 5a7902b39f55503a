"""Rows: what is timed, what is left out, and that a wrong result has no time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bench_fakes import FakeCandidate, FakePeer, ceiling, definition, double

import vkgroup
from vkgroup.base.errors import (
    CompileError,
    DeviceLost,
    DriverError,
    InternalError,
    InvalidDispatch,
    InvalidInput,
    Unsupported,
)
from vkgroup.bench import Data, Definition
from vkgroup.bench.definition import Arrays
from vkgroup.bench.row import BenchmarkRow
from vkgroup.bench.run import BenchmarkOptions, BenchmarkResult, run
from vkgroup.dispatch import Device

OPTIONS = BenchmarkOptions(seed=1, seconds=0.01, sizes=(16,))


@pytest.fixture(scope="module")
def reference() -> Iterator[Device]:
    with vkgroup.open("reference") as opened:
        yield opened


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every set be larger than the cache."""
    monkeypatch.setattr("vkgroup.bench.run.last_level_cache", lambda capabilities: vkgroup_cache(0))


def vkgroup_cache(nbytes: int) -> Any:
    from vkgroup.bench.machine import Cache

    return Cache(nbytes, "none")


def _run(
    device: Device, *definitions: Definition, options: BenchmarkOptions = OPTIONS, **more: Any
) -> BenchmarkResult:
    return run(device, definitions, options, **({"ceilings": (), "peers": {}} | more))


def _row(device: Device, one: Definition, **more: Any) -> BenchmarkRow:
    (row,) = _run(device, one, **more).rows
    return row


pytestmark = pytest.mark.usefixtures("no_cache")


def test_a_row_has_both_times_their_ratio_and_its_interval(reference: Device) -> None:
    row = _row(reference, definition({"subgroup": FakeCandidate([1e-3]), "shared": FakeCandidate([3e-3])}))
    assert row.variants["subgroup"].time.median == 1e-3
    assert row.variants["shared"].time.median == 3e-3
    assert row.ratio is not None
    assert (row.ratio.median, row.ratio.low, row.ratio.high) == pytest.approx((3.0, 3.0, 3.0))
    assert row.ratio.confidence >= 0.95
    assert row.variants["subgroup"].rate == pytest.approx(8 * 16 / 1e-3)
    assert row.right == ("subgroup", "shared")
    assert row.steady


def test_the_share_is_of_the_ceiling_measured_in_the_same_rounds(reference: Device) -> None:
    # 128 bytes in 1 ms, where the ceiling moves 512 in 2 ms: half as fast.
    one = definition({"subgroup": FakeCandidate([1e-3])}, needs={"top": 128})
    row = _row(reference, one, ceilings=[ceiling([2e-3], 512)])
    assert row.shares["subgroup"].ceiling == "top"
    assert row.shares["subgroup"].part.median == pytest.approx(0.5)
    assert row.ceilings["top"].rate == pytest.approx(512 / 2e-3)
    assert len(row.ceilings["top"].samples) == row.rounds


def test_of_several_ceilings_the_nearest_counts(reference: Device) -> None:
    other = ceiling([1e-3], 1, operations=160, rate="operations")
    one = definition({"subgroup": FakeCandidate([1e-3])}, needs={"top": 128, "sum": 16})
    row = _row(reference, one, ceilings=[ceiling([2e-3], 512), replace(other, name="ceiling.sum")])
    assert row.shares["subgroup"].ceiling == "top"
    assert set(row.ceilings) == {"top", "sum"}


def test_the_fastest_variant_of_a_ceiling_is_the_ceiling(reference: Device) -> None:
    several = definition(
        {"slow": FakeCandidate([8e-3]), "fast": FakeCandidate([2e-3])}, name="ceiling.top", bytes=512
    )
    row = _row(
        reference,
        definition({"subgroup": FakeCandidate([1e-3])}, needs={"top": 128}),
        ceilings=[several],
    )
    assert row.shares["subgroup"].part.median == pytest.approx(0.5)


def test_without_its_ceiling_a_row_has_no_share_and_it_is_said_why(reference: Device) -> None:
    result = _run(reference, definition({"subgroup": FakeCandidate([1e-3])}, needs={"top": 128}))
    assert not result.rows[0].shares
    assert any("ceiling.top" in note for note in result.notes)


def test_a_wrong_result_has_no_time(reference: Device) -> None:
    broken = FakeCandidate([1e-3], lambda inputs: {"y": 2 * inputs["x"] + 1})
    result = _run(reference, definition({"subgroup": broken, "shared": FakeCandidate([1e-3])}))
    row = result.rows[0]
    assert result.wrong
    assert "instead of" in row.wrong["subgroup"]
    assert set(row.variants) == set(row.right) == {"shared"}
    assert row.ratio is None
    assert broken.runs == 1


def test_what_writes_nothing_is_wrong(reference: Device) -> None:
    assert "subgroup" in _row(reference, definition({"subgroup": FakeCandidate([1e-3], lambda x: {})})).wrong


def test_what_becomes_wrong_while_it_is_timed_has_no_time(reference: Device) -> None:
    count = itertools.count()

    def compute(inputs: Mapping[str, Any]) -> Arrays:
        # Right when it is verified before, wrong after many runs.
        return double(inputs) if next(count) < 20 else {"y": inputs["x"]}

    row = _row(reference, definition({"subgroup": FakeCandidate([1e-3], compute)}))
    assert "subgroup" in row.wrong
    assert not row.variants


@pytest.mark.parametrize(
    "error", [InvalidDispatch("it makes no sense"), CompileError("planted"), ZeroDivisionError("planted")]
)
def test_an_error_of_vkgroup_is_no_wrong_result(reference: Device, error: Exception) -> None:
    def make() -> Any:
        raise error

    one = definition({"subgroup": make, "shared": FakeCandidate([1e-3])})
    with pytest.raises(InternalError, match=f"subgroup could not be measured.*{type(error).__name__}"):
        _row(reference, one)


def test_an_error_of_the_driver_is_a_wrong_result(reference: Device) -> None:
    def make() -> Any:
        raise DriverError("the driver rejects it\nand more", "VK_ERROR_UNKNOWN")

    row = _row(reference, definition({"subgroup": make, "shared": FakeCandidate([1e-3])}))
    assert row.wrong == {"subgroup": "DriverError: the driver rejects it"}


def test_a_tuning_value_that_a_kernel_refuses_is_noted(reference: Device) -> None:
    def make() -> Any:
        raise InvalidDispatch("3 is no power of two")

    one = definition({"subgroup": make, "shared": FakeCandidate([1e-3])}, tuning={"items": (3,)})
    result = _run(reference, one, options=replace(OPTIONS, sweep="items"))
    assert not result.wrong
    assert result.rows[0].notes == ("subgroup: 3 is no power of two",)
    assert set(result.rows[0].variants) == {"shared"}


def test_what_the_device_lacks_is_left_out_and_named(reference: Device) -> None:
    def make() -> Any:
        raise Unsupported("There is no shaderFloat64.", ["shaderFloat64"])

    result = _run(reference, definition({"subgroup": make, "shared": FakeCandidate([1e-3])}))
    assert not result.wrong
    assert result.rows[0].notes == ("subgroup: There is no shaderFloat64.",)
    assert set(result.rows[0].variants) == {"shared"}


def test_a_case_that_the_device_cannot_do_is_a_row_with_a_note(reference: Device) -> None:
    def make(*_: Any) -> Any:
        raise Unsupported("No int64 here.")

    row = _row(reference, Definition("fake.none", "nothing", make, sizes=(16,)))
    assert row.notes == ("No int64 here.",)
    assert not row.timed


def test_a_lost_device_ends_the_run(reference: Device) -> None:
    def make() -> Any:
        raise DeviceLost("gone")

    seen: list[BenchmarkResult] = []
    with pytest.raises(DeviceLost):
        _run(
            reference,
            definition({"subgroup": FakeCandidate([1e-3])}, name="fake.first"),
            definition({"subgroup": make}),
            on_row=lambda result, total: seen.append(result),
        )
    assert [row.name for row in seen[-1].rows] == ["fake.first"]


def test_a_peer_runs_in_the_same_rounds_and_is_verified(reference: Device) -> None:
    one = definition(
        {"subgroup": FakeCandidate([1e-3])},
        peers={"other": FakeCandidate([2e-3]), "other wrongly": FakeCandidate([1e-3], lambda x: {})},
    )
    result = _run(reference, one, peers={"other": FakePeer()})
    row = result.rows[0]
    assert row.ratios["other"].median == pytest.approx(2.0)
    assert row.peers["other"].clock == "script of the peer"
    assert len(row.peers["other"].samples) == row.rounds
    assert "other wrongly" in row.wrong
    assert result.peers == {"other": "1.2.3"}


def test_an_absent_peer_is_left_out_with_its_reason(reference: Device) -> None:
    one = definition({"subgroup": FakeCandidate([1e-3])}, peers={"other": FakeCandidate([2e-3])})
    result = _run(reference, one, peers={"other": FakePeer(reason="it is not installed")})
    assert not result.rows[0].peers
    assert result.absent == {"other": "it is not installed"}


def test_a_peer_that_fails_is_noted_and_ours_goes_on(reference: Device) -> None:
    def fail(inputs: Mapping[str, Any]) -> Arrays:
        raise RuntimeError("CUDA error")

    one = definition({"subgroup": FakeCandidate([1e-3])}, peers={"other": FakeCandidate([1e-3], fail)})
    row = _row(reference, one, peers={"other": FakePeer()})
    assert row.notes == ("other: RuntimeError: CUDA error",)
    assert row.variants
    assert not row.wrong


def test_peers_are_chosen_by_name(reference: Device) -> None:
    one = definition({"subgroup": FakeCandidate([1e-3])}, peers={"other": FakeCandidate([2e-3])})
    peers = {"other": FakePeer()}
    assert not _row(reference, one, peers=peers, options=replace(OPTIONS, peers=())).peers
    with pytest.raises(InvalidInput, match="no peer 'nonesuch'"):
        _run(reference, one, peers=peers, options=replace(OPTIONS, peers=("nonesuch",)))


def test_another_unit_has_ratios_and_no_rates(reference: Device) -> None:
    variants = {"subgroup": FakeCandidate([30.0]), "shared": FakeCandidate([60.0])}
    row = _row(reference, definition(variants, unit="cycles", needs={"top": 1}), ceilings=[ceiling([1.0], 1)])
    assert row.ratio is not None
    assert row.ratio.median == pytest.approx(2.0)
    assert row.variants["subgroup"].rate == 0
    assert not row.shares


def test_the_seed_makes_the_data(reference: Device) -> None:
    def inputs(seed: int) -> list[Any]:
        candidate = FakeCandidate([1e-3])
        _run(reference, definition({"subgroup": candidate}), options=replace(OPTIONS, seed=seed))
        return [prepared._data.inputs["x"].tolist() for prepared in candidate.prepared]

    assert inputs(1) == inputs(1) != inputs(2)


@pytest.mark.parametrize(("cache", "sets", "evicted"), [(16 * 4, 5, False), (1 << 20, 3, True)])
def test_data_is_larger_than_the_cache_or_the_cache_is_emptied(
    reference: Device, monkeypatch: pytest.MonkeyPatch, cache: int, sets: int, evicted: bool
) -> None:
    monkeypatch.setattr("vkgroup.bench.run.last_level_cache", lambda capabilities: vkgroup_cache(cache))
    candidates = {"subgroup": FakeCandidate([1e-3]), "shared": FakeCandidate([1e-3])}
    row = _row(reference, definition(candidates))
    assert (row.sets, row.evicted) == (sets, evicted)
    assert all(len(candidate.prepared) == sets for candidate in candidates.values())


def test_smoke_verifies_at_its_sizes_and_times_nothing(reference: Device) -> None:
    one = definition({"subgroup": FakeCandidate([1e-3]), "shared": FakeCandidate([1e-3], lambda x: {})})
    result = _run(reference, one, options=BenchmarkOptions(seed=1, smoke=True))
    (row,) = result.rows
    assert row.size == 3
    assert row.right == ("subgroup",)
    assert set(row.wrong) == {"shared"}
    assert not row.timed


def test_a_sweep_over_size_has_a_row_for_each_up_to_the_largest(reference: Device) -> None:
    one = definition({"subgroup": FakeCandidate([1e-3])})
    result = _run(reference, one, options=replace(OPTIONS, sweep="size", sizes=(32,)))
    assert [row.size for row in result.rows] == [16, 32]


def test_a_sweep_over_a_parameter_hands_it_on(reference: Device) -> None:
    seen: list[Mapping[str, Any]] = []
    plain = definition({"subgroup": FakeCandidate([1e-3])}, tuning={"items": (1, 4)})

    def make(device: Device, size: int, tuning: Mapping[str, Any]) -> Any:
        seen.append(dict(tuning))
        return plain.make(device, size, tuning)

    other = definition({"subgroup": FakeCandidate([1e-3])}, name="fake.rigid")
    result = _run(reference, replace(plain, make=make), other, options=replace(OPTIONS, sweep="items"))
    assert [row.tuning for row in result.rows] == seen == [{"items": 1}, {"items": 4}]
    assert [row.label for row in result.rows] == ["fake.double/16/items:1", "fake.double/16/items:4"]
    assert any("fake.rigid" in note for note in result.notes)


def test_a_sweep_over_what_nobody_has_is_refused(reference: Device) -> None:
    one = definition({"subgroup": FakeCandidate([1e-3])}, tuning={"items": (1,)})
    with pytest.raises(InvalidInput, match="size, items"):
        _run(reference, one, options=replace(OPTIONS, sweep="colour"))


def test_everything_is_closed_at_the_end(reference: Device) -> None:
    candidate = FakeCandidate([1e-3])
    _run(reference, definition({"subgroup": candidate}))
    assert all(prepared.closed for prepared in candidate.prepared)


def test_a_function_of_the_data_judges_its_results(reference: Device) -> None:
    one = definition({"subgroup": FakeCandidate([1e-3])})

    def make(device: Device, size: int, tuning: Mapping[str, Any]) -> Any:
        case = one.make(device, size, tuning)
        return replace(
            case, data=lambda rng: Data({"x": np.ones(4, np.uint32)}, verify=lambda found: "never")
        )

    assert _row(reference, replace(one, make=make)).wrong == {"subgroup": "never"}
