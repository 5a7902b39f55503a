"""Chains of subgroup functions on every kind of device: right results have a time, wrong ones are seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from refusals import lacks

import vkgroup
from vkgroup import drivers
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.bench.definition import Arrays, Data, PreparedCandidate
from vkgroup.bench.host import first_error
from vkgroup.bench.micro_cases import all_cases
from vkgroup.bench.micro_chain import ChainOptions, make_case, workgroup_of
from vkgroup.dispatch import Device

CASES = {case.name: case for case in all_cases()}

#: One of each way that operands, results and alternatives are written.
SAMPLE = (
    "subgroupElect.bool",
    "subgroupAny.bool",
    "subgroupAllEqual.float",
    "subgroupBallot.bool",
    "subgroupInverseBallot.uvec4",
    "subgroupBallotBitExtract.uvec4",
    "subgroupBallotExclusiveBitCount.uvec4",
    "subgroupBroadcast.uint",
    "subgroupBroadcastFirst.float",
    "subgroupShuffle.int",
    "subgroupShuffleXor.float.1",
    "subgroupShuffleUp.uint",
    "subgroupQuadBroadcast.float",
    "subgroupQuadSwapDiagonal.int",
    "subgroupAdd.float",
    "subgroupXor.bool",
    "subgroupInclusiveMax.int",
    "subgroupExclusiveMin.float",
    "subgroupExclusiveAnd.uint",
)
#: What software drivers lack: extended types, partitions, rotation, the older functions.
MORE = (
    "subgroupMul.float16_t",
    "subgroupExclusiveMax.double",
    "subgroupInclusiveOr.int8_t",
    "subgroupMin.uint16_t",
    "subgroupAdd.int64_t",
    "subgroupShuffleXor.uint64_t.half",
    "subgroupClusteredAdd.float.4",
    "subgroupClusteredXor.bool.4",
    "subgroupRotate.float",
    "subgroupClusteredRotate.int.4",
    "subgroupPartitionNV.uint",
    "subgroupPartitionedAddNV.float",
    "subgroupPartitionedExclusiveMinNV.int",
    "subgroupQuadAll.bool",
    "subgroupQuadAny.bool",
    "ballotARB.bool",
    "readInvocationARB.uint",
    "allInvocationsEqualARB.bool",
)


@pytest.fixture(scope="module")
def references() -> Iterator[dict[int, Device]]:
    sizes = (1, 4, 8, 128)
    devices = {size: vkgroup.open("reference", subgroup_size=size) for size in sizes}
    yield devices
    for device in devices.values():
        device.close()


def _problems(device: Device, name: str, many: bool, **tuning: Any) -> dict[str, str | None]:
    """Time each variant once, and return what is wrong with it."""
    case = make_case(device, CASES[name], many, 4, tuning)
    found = {}
    for variant, make in case.variants.items():
        data = case.data(np.random.default_rng(0))
        prepared: PreparedCandidate = make().prepare(data)  # type: ignore[union-attr]
        try:
            prepared.overwrite_outputs()
            assert prepared.time() > 0
            found[variant] = first_error(data, prepared.outputs())
        finally:
            prepared.close()
    return found


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("many", [False, True], ids=["latency", "throughput"])
@pytest.mark.parametrize("name", SAMPLE)
def test_chains_are_right_on_a_driver(vulkan_device: Device, name: str, many: bool) -> None:
    assert set(_problems(vulkan_device, name, many).values()) == {None}


@pytest.mark.parametrize("name", ["subgroupAdd.float", "subgroupShuffle.int", "subgroupBallot.bool"])
def test_chains_are_right_on_an_older_lavapipe(name: str) -> None:
    oldest = [driver.name for driver in drivers.installed() if driver.family == "lavapipe"][-1]
    with vkgroup.open(oldest) as device:
        assert set(_problems(device, name, True).values()) == {None}


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("name", SAMPLE + MORE)
def test_chains_are_right_on_the_reference_device(references: dict[int, Device], name: str) -> None:
    assert set(_problems(references[8], name, False).values()) == {None}


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("size", [1, 4, 128])
@pytest.mark.parametrize("name", ["subgroupAdd.uint", "subgroupBroadcast.uint", "subgroupBallot.bool"])
def test_chains_are_right_at_other_sizes(references: dict[int, Device], size: int, name: str) -> None:
    assert set(_problems(references[size], name, True, subgroups=2).values()) == {None}


@pytest.mark.parametrize("components", [2, 3, 4])
def test_chains_of_vectors(references: dict[int, Device], components: int) -> None:
    for name in ("subgroupExclusiveAdd.float16_t", "subgroupAnd.bool", "subgroupAllEqual.double"):
        assert set(_problems(references[4], name, False, components=components).values()) == {None}


def test_functions_that_share_a_shader(
    references: dict[int, Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU: much unrolled, seven operators and their alternatives in one shader."""
    device = references[4]
    monkeypatch.setattr(
        ChainOptions, "of", classmethod(lambda cls, device, tuning: cls(samples=1, subgroups=2))
    )
    assert set(_problems(device, "subgroupOr.uint", True).values()) == {None}


def test_what_a_device_lacks_is_named(swiftshader: drivers.CachedDriver) -> None:
    with vkgroup.open(swiftshader.name) as device:
        with pytest.raises(Unsupported) as caught:
            _problems(device, "subgroupClusteredAdd.float.4", False)
        assert caught.value.missing == ("VK_SUBGROUP_FEATURE_CLUSTERED_BIT",)
        with lacks("a subgroup size of at least 16"):
            _problems(device, "subgroupClusteredAdd.float.16", False)


def test_an_odd_number_of_steps_is_refused(references: dict[int, Device]) -> None:
    with pytest.raises(InvalidDispatch, match="even"):
        make_case(references[4], CASES["subgroupAdd.uint"], False, 4, {"unroll": 3})


def test_the_workgroup_fits_into_shared_memory(references: dict[int, Device]) -> None:
    device = references[128]
    most = int(device.capabilities.limits["maxComputeSharedMemorySize"])
    for name in ("subgroupAdd.float", "subgroupAdd.double"):
        case = CASES[name].with_components(4)
        workgroup = workgroup_of(device, case, 1000)
        assert workgroup % 128 == 0
        assert 2 * 4 * case.type.scalar.bits // 8 * workgroup <= most


@pytest.fixture
def outputs(references: dict[int, Device]) -> tuple[Data, dict[str, Any]]:
    """A chain's data, and outputs that are right."""
    case = make_case(references[8], CASES["subgroupInclusiveAdd.uint"], True, 4, {"subgroups": 2})
    data = case.data(np.random.default_rng(0))
    prepared = case.variants["subgroup"]().prepare(data)  # type: ignore[union-attr]
    prepared.time()
    found: Arrays = prepared.outputs()
    prepared.close()
    assert first_error(data, found) is None
    return data, {name: np.array(array) for name, array in found.items()}


@pytest.mark.parametrize("output", ["results", "stepped"])
def test_one_wrong_word_is_seen(outputs: tuple[Data, dict[str, Any]], output: str) -> None:
    data, found = outputs
    found[output][-1] ^= 1
    message = first_error(data, found)
    assert message is not None
    assert "subgroup 1, chain 1, lane 7" in message
    assert ("steps of other operands" in message) == (output == "stepped")
