"""The capability model: JSON and back, minimum promises, what real drivers declare."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from vkgroup.device import (
    Capabilities,
    CooperativeMatrix,
    SizeControl,
    SmBuiltins,
    Subgroup,
    Timestamps,
)
from vkgroup.dispatch import Device

GOOD = Capabilities(
    name="a device",
    type="cpu",
    subgroup=Subgroup(32, ("compute",), ("basic",), False),
)


def test_a_real_device_survives_json(device: Device) -> None:
    text = json.dumps(device.capabilities.to_json(), allow_nan=False)
    assert Capabilities.from_json(json.loads(text)) == device.capabilities


def test_every_part_of_the_model_survives_json() -> None:
    full = Capabilities(
        name="ä device",
        type="discrete_gpu",
        driver_name="driver",
        driver_info="info",
        api_version=(1, 4, 312),
        driver_version=7,
        vendor_id=0x10DE,
        device_id=0x2335,
        uuid="00ff",
        conformance_version="1.4.0.0",
        subgroup=Subgroup(32, ("compute", "mesh"), ("basic", "rotate"), True),
        size_control=SizeControl(True, 32, 32, 32, ("compute",), True),
        timestamps=Timestamps(64, 1.5),
        features=frozenset({"shaderInt8", "shaderFloat16"}),
        extensions={"VK_KHR_shader_clock": 1},
        limits={"maxComputeWorkGroupCount": (1, 2, 3), "timestampPeriod": 1.5, "maxBufferSize": 1 << 62},
        float_controls={"denormBehaviorIndependence": 1, "shaderDenormPreserveFloat32": True},
        sm_builtins=SmBuiltins(132, 64),
        cooperative_matrices=(
            CooperativeMatrix(16, 8, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32", False, "SUBGROUP"),
        ),
        cooperative_matrix_stages=("compute",),
        memory_heaps=((1 << 37, ("device_local",)), (1 << 36, ())),
    )
    assert Capabilities.from_json(json.loads(json.dumps(full.to_json()))) == full


def test_a_device_that_keeps_its_promises_breaks_none() -> None:
    assert GOOD.minimum_promises() == []


@pytest.mark.parametrize(
    ("subgroup", "sentence"),
    [
        (Subgroup(0, ("compute",), ("basic",)), "at least 1, and is 0"),
        (Subgroup(24, ("compute",), ("basic",)), "power of two, and is 24"),
        (Subgroup(256, ("compute",), ("basic",)), "at most 128, and is 256"),
        (Subgroup(32, ("fragment",), ("basic",)), "VK_SHADER_STAGE_COMPUTE_BIT"),
        (Subgroup(32, ("compute",), ("vote",)), "VK_SUBGROUP_FEATURE_BASIC_BIT"),
    ],
)
def test_each_broken_promise_is_said(subgroup: Subgroup, sentence: str) -> None:
    broken = replace(GOOD, subgroup=subgroup).minimum_promises()
    assert len(broken) == 1
    assert sentence in broken[0]


def test_every_broken_promise_is_said() -> None:
    assert len(Capabilities("old", "cpu").minimum_promises()) == 3


def test_software_drivers_declare_what_is_known_of_them(device: Device) -> None:
    found = device.capabilities
    assert found.type == "cpu"
    assert not found.is_gpu
    assert found.minimum_promises() == []
    assert found.api_version >= (1, 3)
    swiftshader = "SwiftShader" in found.name
    assert found.subgroup.size == (4 if swiftshader else 8)
    assert {"fragment", "compute"} <= set(found.subgroup.supported_stages)
    assert {"basic", "vote", "arithmetic", "ballot", "shuffle"} <= set(found.subgroup.supported_operations)
    assert ("clustered" in found.subgroup.supported_operations) != swiftshader
    assert found.size_control.min_size == found.size_control.max_size == found.subgroup.size
    assert {"shaderSubgroupExtendedTypes", "subgroupBroadcastDynamicId"} <= found.features
    assert found.limits["maxComputeWorkGroupInvocations"] >= 128
    assert len(found.limits["maxComputeWorkGroupCount"]) == 3
    assert found.timestamps.valid_bits
    assert found.memory_heaps[0][0] > 1 << 29


def test_features_newer_than_the_headers_are_read(device: Device) -> None:
    found = device.capabilities
    rotates = "VK_KHR_shader_subgroup_rotate" in found.extensions
    assert ("shaderSubgroupRotate" in found.features) == rotates
    reconverges = "VK_KHR_shader_maximal_reconvergence" in found.extensions
    assert ("shaderMaximalReconvergence" in found.features) == reconverges


def test_every_supported_feature_of_the_list_is_enabled(device: Device) -> None:
    enabled = device.logical.enabled_features
    assert "robustBufferAccess" in enabled
    assert not {name for name in device.capabilities.features - enabled if "ubgroup" in name}
