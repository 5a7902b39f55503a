"""Running the experiments: what errors and missing capabilities come to, on devices that are played."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from vkgroup.base.errors import CompileError, DeviceLost, DispatchTimeout, DriverError, Unsupported, describe
from vkgroup.device import Capabilities, SizeControl, Subgroup
from vkgroup.probe import (
    EXPERIMENTS,
    Failed,
    InternalFailure,
    NotSupported,
    Observed,
    SkippedExperiment,
    probe,
)

ALL_OPERATIONS = ("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad")

PLAYED = Capabilities(
    name="Played",
    type="cpu",
    api_version=(1, 1, 0),
    subgroup=Subgroup(8, ("compute",), ALL_OPERATIONS),
    limits={"maxComputeWorkGroupInvocations": 128, "maxComputeWorkGroupSize": (128, 128, 64)},
)


class PlayedDevice:
    """A device of linear layout whose other shaders write nothing, but may raise."""

    def __init__(self, capabilities: Capabilities, raises: Mapping[str, Exception] | None = None) -> None:
        self.capabilities = capabilities
        self.raises = dict(raises or {})
        self.ran: list[str] = []

    def require_execution(self) -> None:
        """Accept the device."""

    def compile(self, source: Any, *, defines: Mapping[str, int]) -> Any:
        return source.stem, dict(defines)

    def run(
        self,
        module: Any,
        groups: Any,
        bindings: Mapping[str, np.ndarray],
        *,
        specialization: Mapping[int, int],
        subgroup_size: int | None,
    ) -> dict[str, np.ndarray]:
        shader, defines = module
        self.ran.append(shader)
        if shader in self.raises:
            raise self.raises[shader]
        outputs = {name: array.copy() for name, array in bindings.items()}
        if shader == "layout":
            size = subgroup_size or self.capabilities.subgroup.size
            index = np.arange(np.prod(list(specialization.values())))
            words = outputs["Invocation"]
            words[:, 0], words[:, 1], words[:, 2] = size, index // size, index % size
            words[:, 3] = index[-1] // size + 1
            if "BALLOT" in defines:
                words[:, 4] = np.bincount(index // size)[index // size]
                words[:, 5] = index // size * size
        return outputs


def played(capabilities: Capabilities = PLAYED, **raises: Exception):
    """The outcomes on a played device, where the named shaders raise."""
    device = PlayedDevice(capabilities, raises)
    return probe(device), device  # type: ignore[arg-type]


def with_operations(*operations: str) -> Capabilities:
    return dataclasses.replace(PLAYED, subgroup=Subgroup(8, ("compute",), operations))


def test_every_experiment_has_an_outcome_in_order() -> None:
    found, _ = played()
    assert list(found.outcomes) == [experiment.name for experiment in EXPERIMENTS]
    assert not found.lost
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert list(data) == ["device", "capabilities", "gl_limits", "experiments"]
    assert Capabilities.from_json(data["capabilities"]) == PLAYED
    assert all(outcome["sentence"] for outcome in data["experiments"].values())


def test_experiments_name_what_the_device_lacks() -> None:
    found, device = played(with_operations("basic"))
    lacking = {name: each.missing for name, each in found.outcomes.items() if isinstance(each, NotSupported)}
    assert lacking == {
        "inactive_lanes": (
            "VK_SUBGROUP_FEATURE_SHUFFLE_BIT",
            "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT",
            "VK_SUBGROUP_FEATURE_BALLOT_BIT",
            "VK_SUBGROUP_FEATURE_QUAD_BIT",
        ),
        "reconvergence": ("VK_SUBGROUP_FEATURE_BALLOT_BIT",),
        "addition_order": ("VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",),
        "special_values_float32": ("VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",),
        "special_values_float16": (
            "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",
            "shaderFloat16",
            "shaderSubgroupExtendedTypes",
        ),
        "special_values_float64": ("VK_SUBGROUP_FEATURE_ARITHMETIC_BIT", "shaderFloat64"),
    }
    assert set(device.ran) == {"layout"}
    assert found.outcomes["addition_order"].lines() == [
        "not supported: the device lacks VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"
    ]


def test_a_device_without_subgroups_in_compute_runs_nothing() -> None:
    silent = dataclasses.replace(PLAYED, subgroup=Subgroup(8, ("fragment",), ALL_OPERATIONS))
    found, device = played(silent)
    assert device.ran == []
    assert all(
        isinstance(each, NotSupported) and each.missing[0] == "VK_SHADER_STAGE_COMPUTE_BIT"
        for each in found.outcomes.values()
    )


def test_missing_categories_leave_the_others_to_the_inactive_lanes() -> None:
    found, _ = played(with_operations("basic", "ballot"))
    outcome = found.outcomes["inactive_lanes"]
    assert isinstance(outcome, Observed)
    data = outcome.to_json()
    assert {read["operation"] for read in data["reads"]} == {"subgroupBroadcast"}
    assert len(data["missing"]) == 3


@pytest.mark.parametrize("error", [CompileError("no such thing"), KeyError("a bug"), MemoryError()])
def test_an_internal_error_is_no_failure_of_the_device(error: Exception) -> None:
    found, device = played(reconvergence=error)
    outcome = found.outcomes["reconvergence"]
    assert isinstance(outcome, InternalFailure)
    assert outcome.message == describe(error)
    assert isinstance(found.outcomes["addition_order"], Observed)
    assert found.to_json()["experiments"]["reconvergence"]["status"] == "internal_error"
    assert device.ran[-1] == "floats"


def test_one_failure_leaves_the_others_running() -> None:
    error = DriverError("vkCreateComputePipelines failed", "VK_ERROR_UNKNOWN")
    found, device = played(reconvergence=error)
    outcome = found.outcomes["reconvergence"]
    assert isinstance(outcome, Failed)
    assert str(error) in outcome.message
    assert isinstance(found.outcomes["addition_order"], Observed)
    assert isinstance(found.outcomes["special_values_float32"], Observed)
    assert not found.lost
    assert found.to_json()["experiments"]["reconvergence"]["status"] == "failed"
    assert device.ran[-1] == "floats"


def test_what_the_pipeline_refuses_is_not_supported() -> None:
    found, _ = played(addition=Unsupported("cannot", ["maxStorageBufferRange of 1 (it is 0)"]))
    outcome = found.outcomes["addition_order"]
    assert isinstance(outcome, NotSupported)
    assert outcome.missing == ("maxStorageBufferRange of 1 (it is 0)",)


@pytest.mark.parametrize("error", [DeviceLost("gone"), DispatchTimeout("hangs")])
def test_a_lost_device_leaves_what_was_known(error: Exception) -> None:
    found, device = played(reconvergence=error)
    assert found.lost
    assert isinstance(found.outcomes["subgroup_size"], Observed)
    assert found.outcomes["reconvergence"].lines() == [f"failed: the device was lost: {error}"]
    rest = list(found.outcomes.values())[5:]
    assert all(isinstance(each, SkippedExperiment) for each in rest)
    assert "addition" not in device.ran
    assert found.to_json()["device"]["lost"] is True


def test_layouts_that_fail_fail_each_experiment_on_its_own() -> None:
    found, _ = played(layout=DriverError("no pipeline", "VK_ERROR_UNKNOWN"))
    assert {type(each) for each in found.outcomes.values()} <= {Failed, NotSupported}
    assert not found.lost


def test_required_sizes_are_tried_one_by_one() -> None:
    control = SizeControl(True, 4, 32, 16, ("compute",), True)
    found, _ = played(dataclasses.replace(PLAYED, size_control=control))
    data = found.outcomes["subgroup_size"].to_json()
    assert list(data["required"]) == ["4", "8", "16", "32"]
    assert data["sentence"] == "8, as declared; exactly 4, 8, 16 and 32 when required"


def test_sizes_are_not_required_where_they_cannot_be() -> None:
    control = SizeControl(True, 4, 32, 16, ("fragment",), True)
    found, _ = played(dataclasses.replace(PLAYED, size_control=control))
    assert found.outcomes["subgroup_size"].to_json()["required"] == {}


def test_without_a_full_subgroup_nothing_misleading_is_run() -> None:
    class Halves(PlayedDevice):
        """Even and odd lanes of what should be one subgroup are two subgroups."""

        def run(self, module: Any, groups: Any, bindings: Any, **options: Any) -> dict[str, np.ndarray]:
            outputs = super().run(module, groups, bindings, **options)
            if module[0] == "layout":
                words = outputs["Invocation"]
                words[:, 1] = 2 * words[:, 1] + words[:, 2] % 2
                words[:, 3] *= 2
                words[:, 5] += words[:, 2] % 2
            return outputs

    device = Halves(PLAYED)
    found = probe(device)  # type: ignore[arg-type]
    outcome = found.outcomes["addition_order"]
    assert isinstance(outcome, SkippedExperiment)
    assert outcome.reason == "a workgroup of 8 invocations is not one full subgroup on this device"
    assert set(device.ran) == {"layout"}


def test_json_is_strict_whatever_limits_a_driver_gives() -> None:
    limits = {**PLAYED.limits, "maxSamplerLodBias": float("inf"), "pointSizeRange": (1.0, float("nan"))}
    found, _ = played(dataclasses.replace(PLAYED, limits=limits))
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["capabilities"]["limits"]["maxSamplerLodBias"] is None
    assert data["capabilities"]["limits"]["pointSizeRange"] == [1.0, None]
