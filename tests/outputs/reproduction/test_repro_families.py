"""Recording of a case of each family, and repetition from its files with the same outcome."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup import Instance, Triangles
from vkgroup.conformance import Status
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import case_named
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction import steps
from vkgroup.outputs.reproduction.cases import expected_by_reference
from vkgroup.outputs.reproduction.jobs import RecordJob, Repeat, answer, record
from vkgroup.outputs.reproduction.recorder import DeviceRecorder
from vkgroup.outputs.reproduction.shaders import StepShaders
from vkgroup.outputs.reproduction.values import Encoder, Files

CASES = {
    "fragment": "fragment.derivative.dFdx.linear.triangle",
    "compute_model": "compute_model.dispatches.indirect_written",
    "descriptor_indexing": "descriptor_indexing.fragment.sampler.read.first",
    "size_control": "size_control.compute.default",
    "thread_group": "thread_group.fragment.gl_ThreadInWarpNV.all.whole",
    "reconvergence": "reconvergence.subgroup_uniform_control_flow_ballot.compute.nesting2.0.0",
}
"""Draws, indirect dispatches, arrays of samplers, sequences of dispatches, random programs."""


@pytest.mark.parametrize("family", CASES)
def test_a_case_is_repeated_from_its_files(family: str, tmp_path: Path) -> None:
    case = case_named(CASES[family])
    assert case is not None
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=3)
        result = record(executor, RecordJob(case, tmp_path))
        data = json.loads((tmp_path / "repro.json").read_text())
        assert result.status is Status.PASS, result.detail
        assert data["steps"]
        assert all("source" in shader for shader in data["shaders"])
        for step in data["steps"]:
            outputs = steps.repeat(device, tmp_path, step, timeout=20.0)
            assert outputs
            assert [one.name for one in outputs if one.differing] == []
        found = answer(executor, Repeat(tmp_path, steps=True, case=case))
        assert found.result.status is Status.PASS
        assert found.taken
        assert not found.compiled


def test_the_reference_gives_expected_values_where_lanes_have_none(tmp_path: Path) -> None:
    case = case_named("descriptor_indexing.compute.storage_buffer.read.first")
    with vkgroup.open("reference", subgroup_size=8) as device:
        record(Executor(device, seed=0), RecordJob(case, tmp_path))
    data = json.loads((tmp_path / "repro.json").read_text())
    assert data["lanes"] is None
    expected = expected_by_reference(tmp_path, data)
    assert expected["why_not"] == ""
    (one,) = expected["outputs"]
    assert one["differing"] == 0
    assert np.load(tmp_path / one["defined"]).all()
    assert (np.load(tmp_path / one["file"]) == np.load(tmp_path / "outputs/step0-Found.npy")).all()


RAYGEN = """#version 460
#extension GL_EXT_ray_tracing : require
// Notes for each ray what it met.
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 1) buffer Found { uint found[]; };
layout(location = 0) rayPayloadEXT uint payload;
void main() {
    payload = 0u;
    vec3 origin = vec3(vec2(gl_LaunchIDEXT.xy) / 4.0, -1.0);
    traceRayEXT(scene, 0u, 0xFFu, 0u, 0u, 0u, origin, 0.0, vec3(0.0, 0.0, 1.0), 9.0, 0);
    found[gl_LaunchIDEXT.y * 8u + gl_LaunchIDEXT.x] = payload;
}"""
HIT = """#version 460
#extension GL_EXT_ray_tracing : require
layout(location = 0) rayPayloadInEXT uint payload;
void main() { payload = 1u + gl_InstanceCustomIndexEXT; }"""
MISS = HIT.replace("1u + gl_InstanceCustomIndexEXT", "100u")


def test_a_trace_is_repeated_with_its_scene(lavapipe: CachedDriver, tmp_path: Path) -> None:
    triangles = np.float32([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    shaders = StepShaders(tmp_path)
    with vkgroup.open(lavapipe.name) as device:
        recorder = DeviceRecorder(device, Encoder(Files(tmp_path), shaders.file), lambda _: None)
        with (
            recorder.acceleration_structure(Triangles(triangles)) as bottom,
            recorder.acceleration_structure([Instance(bottom, custom_index=4)]) as scene,
        ):
            found = recorder.trace(
                device.compile(RAYGEN, stage="raygen"),
                (8, 8),
                {"scene": scene, "Found": np.zeros(64, np.uint32)},
                miss=[device.compile(MISS, stage="miss")],
                hit_groups=vkgroup.HitGroup(closest_hit=device.compile(HIT, stage="closest_hit")),
            )
        assert set(found["Found"]) == {5, 100}
        (step,) = json.loads(json.dumps(recorder.steps))
        (again,) = steps.repeat(device, tmp_path, step, timeout=10.0)
        assert again.differing == 0
        assert (again.now == found["Found"]).all()
        _, scene_record = step["arguments"]["bindings"]["pairs"][0]
        (part,) = scene_record["parts"][0]["bottom"]["parts"]
        np.save(tmp_path / part["vertices"], triangles + 100)
        (missed,) = steps.repeat(device, tmp_path, step, timeout=10.0)
        assert set(missed.now) == {100}
