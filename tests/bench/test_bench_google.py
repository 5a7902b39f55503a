"""The JSON: every field that Google Benchmark's readers use, and no time where there is none."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from bench_fakes import FakeCandidate, FakePeer, ceiling, definition

import vkgroup
from vkgroup.bench import google, machine
from vkgroup.bench.machine import last_level_cache
from vkgroup.bench.run import BenchmarkOptions, run
from vkgroup.dispatch import Device

# What src/json_reporter.cc of Google Benchmark writes of every run that has a time.
FIELDS = {
    "name": str,
    "family_index": int,
    "per_family_instance_index": int,
    "run_name": str,
    "run_type": str,
    "repetitions": int,
    "threads": int,
    "iterations": int,
    "real_time": float,
    "cpu_time": float,
    "time_unit": str,
}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with vkgroup.open("reference") as opened:
        yield opened


@pytest.fixture(scope="module")
def written(device: Device) -> dict[str, Any]:
    """The JSON of a run with everything in it, as a reader gets it."""
    jitter = (1e-3 * (1 + 0.1 * np.random.default_rng(1).random(200))).tolist()
    everything = definition(
        {"subgroup": FakeCandidate(jitter), "shared": FakeCandidate([2e-3])},
        needs={"top": 128},
        peers={"other": FakeCandidate([4e-3])},
    )
    wrong = definition({"subgroup": FakeCandidate([1.0], lambda x: {})}, name="fake.wrong")
    cycles = definition({"subgroup": FakeCandidate([31.0])}, name="fake.cycles", unit="cycles")

    def unable(*_: Any) -> Any:
        raise vkgroup.errors.Unsupported("No int64 here.")

    none = vkgroup.bench.Definition("fake.none", "", unable)
    options = BenchmarkOptions(seed=7, seconds=0.01, sizes=(16,))
    result = run(
        device,
        [everything, wrong, cycles, none],
        options,
        ceilings=[ceiling([2e-3], 512)],
        peers={"other": FakePeer()},
    )
    context = machine.context(device, last_level_cache(device.capabilities), 7)
    text = json.dumps(google.to_json(result, context), allow_nan=False)
    found: dict[str, Any] = json.loads(text)
    return found


def _with(data: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    return [
        entry for entry in data["benchmarks"] if all(entry.get(key) == value for key, value in fields.items())
    ]


def test_the_context_has_googles_fields_and_ours(written: dict[str, Any]) -> None:
    context = written["context"]
    kinds = {
        "date": str,
        "host_name": str,
        "executable": str,
        "num_cpus": int,
        "mhz_per_cpu": int,
        "cpu_scaling_enabled": bool,
        "caches": list,
        "load_avg": list,
        "library_version": str,
        "library_build_type": str,
        "json_schema_version": int,
    }
    assert {key: type(context[key]) for key in kinds} == kinds
    assert context["json_schema_version"] == 1
    ours = ("device", "driver_name", "driver_info", "driver_version", "api_version", "subgroup_size", "clock")
    versions = ("vkgroup_version", "python_version", "compiler", "numpy_version", "peer_other_version")
    assert all(isinstance(context[key], str) for key in (*ours, *versions, "seed", "last_level_cache"))
    assert context["seed"] == "7"
    assert context["clock"].startswith("wall clock")
    for cache in context["caches"]:
        assert cache.keys() == {"type", "level", "size", "num_sharing"}


def test_every_repetition_has_every_field(written: dict[str, Any]) -> None:
    repetitions = _with(written, run_type="iteration")
    assert {entry["run_name"] for entry in repetitions} == {
        "fake.double/16/subgroup",
        "fake.double/16/shared",
        "fake.double/16/other",
        "fake.cycles/16/subgroup",
        "ceiling.top",
    }
    for entry in repetitions:
        assert {key: type(entry[key]) for key in FIELDS} == FIELDS
        assert entry["name"] == entry["run_name"]
        assert entry["time_unit"] in ("ns", "us", "ms", "s")
        assert 0 <= entry["repetition_index"] < entry["repetitions"]
        assert isinstance(entry["label"], str)


def test_repetitions_are_enough_for_the_u_test_and_counted(written: dict[str, Any]) -> None:
    by_name = defaultdict(list)
    for entry in _with(written, run_type="iteration"):
        by_name[entry["name"]].append(entry)
    for entries in by_name.values():
        # tools/gbench/report.py: UTEST_OPTIMAL_REPETITIONS.
        assert len(entries) >= 9
        assert [entry["repetition_index"] for entry in entries] == list(range(len(entries)))
        assert {entry["repetitions"] for entry in entries} == {len(entries)}


def test_aggregates_are_named_for_what_they_are(written: dict[str, Any]) -> None:
    aggregates = _with(written, run_type="aggregate", run_name="fake.double/16/subgroup")
    assert [entry["aggregate_name"] for entry in aggregates] == ["mean", "median", "stddev", "cv"]
    assert [entry["aggregate_unit"] for entry in aggregates] == ["time", "time", "time", "percentage"]
    repetitions = _with(written, run_type="iteration", run_name="fake.double/16/subgroup")
    times = [entry["real_time"] for entry in repetitions]
    for entry in aggregates:
        assert entry["name"] == f"{entry['run_name']}_{entry['aggregate_name']}"
        assert {key: type(entry[key]) for key in FIELDS} == FIELDS
    found = {entry["aggregate_name"]: entry["real_time"] for entry in aggregates}
    assert found["mean"] == pytest.approx(statistics.mean(times))
    assert found["stddev"] == pytest.approx(statistics.stdev(times))
    assert found["cv"] == pytest.approx(found["stddev"] / found["mean"])
    assert min(times) <= found["median"] <= max(times)


def test_the_median_has_what_a_row_states(written: dict[str, Any]) -> None:
    (entry,) = _with(written, name="fake.double/16/subgroup_median")
    assert entry["time_low"] <= entry["real_time"] <= entry["time_high"]
    assert entry["confidence"] >= 0.95
    assert entry["shared_ratio_low"] <= entry["shared_ratio"] <= entry["shared_ratio_high"]
    assert entry["ceiling"] == "top"
    assert 0 < entry["ceiling_share_low"] <= entry["ceiling_share"] <= entry["ceiling_share_high"]
    assert entry["bytes_per_second"] == pytest.approx(8 * 16 / entry["real_time"] * 1e9)
    assert entry["items_per_second"] == pytest.approx(16 / entry["real_time"] * 1e9)
    (peer,) = _with(written, name="fake.double/16/other_median")
    assert 3 < peer["ratio_to_subgroup"] < 5


def test_a_ceiling_is_a_row_over_all_that_raced_against_it(written: dict[str, Any]) -> None:
    (entry,) = _with(written, name="ceiling.top_median")
    assert entry["real_time"] == pytest.approx(2e6)
    assert entry["bytes_per_second"] == pytest.approx(512 / 2e-3)


def test_a_wrong_result_is_an_error_without_any_time(written: dict[str, Any]) -> None:
    (entry,) = _with(written, run_name="fake.wrong/16/subgroup")
    assert entry["error_occurred"] is True
    assert "instead of" in entry["error_message"]
    # No reader takes it for a repetition, nor compares it with one.
    assert entry["run_type"] == "aggregate"
    assert entry["name"] != entry["run_name"]
    assert not {"real_time", "cpu_time", "time_unit"} & entry.keys()


def test_what_was_not_run_is_skipped_with_its_reason(written: dict[str, Any]) -> None:
    (entry,) = _with(written, run_name="fake.none/16")
    assert entry["skipped"] is True
    assert entry["skip_message"] == "No int64 here."
    assert "real_time" not in entry


def test_cycles_say_that_they_are(written: dict[str, Any]) -> None:
    (entry,) = _with(written, name="fake.cycles/16/subgroup_median")
    assert entry["real_time"] == 31.0
    assert entry["unit"] == "cycles"
    assert entry["label"].startswith("cycles, not ns")
    assert "bytes_per_second" not in entry
