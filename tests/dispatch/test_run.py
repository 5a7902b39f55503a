"""Running shaders: arrays in, arrays out; bindings, groups, constants, subgroup sizes, time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import lacks

from vkgroup.base.errors import (
    CompileError,
    DriverError,
    InvalidDispatch,
    InvalidInput,
    InvalidModule,
    Unsupported,
)
from vkgroup.dispatch import Device
from vkgroup.dispatch.vulkan import VulkanDevice

SCALE = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Source { float x[]; } source;
layout(binding = 1) writeonly buffer Target { float y[]; } target;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < source.x.length()) target.y[i] = 2.0 * source.x[i];
}"""

COUNT = """#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint step = 1u;
layout(constant_id = 2) const bool twice = false;
layout(push_constant) uniform Push { uint offset; uint factor; };
layout(binding = 0) buffer Counts { uint n[]; } counts;
void main() {
    uint value = offset + factor * step * gl_WorkGroupSize.x;
    atomicAdd(counts.n[gl_WorkGroupID.x], twice ? 2u * value : value);
}"""

GRID = """#version 450
layout(local_size_x = 4, local_size_y = 2, local_size_z = 2) in;
layout(binding = 0) buffer Cells { uint cell[]; } cells;
void main() {
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize, at = gl_GlobalInvocationID;
    cells.cell[(at.z * size.y + at.y) * size.x + at.x] = at.x + 100u * at.y + 10000u * at.z;
}"""


def test_arrays_come_back_and_inputs_stay(device: Device) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    result = device.run(SCALE, 16, {"source": x, "target": y})
    assert list(result) == ["target"]
    assert np.array_equal(result["target"], 2 * x)
    assert result["target"].dtype == np.float32
    assert np.array_equal(x, np.arange(1000))
    assert not y.any()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("source", "target"),
        ("Source", "Target"),
        (0, 1),
        ((0, 0), (0, 1)),
        (0, "target"),
    ],
)
def test_bindings_go_by_name_block_number_or_place(device: Device, first: Any, second: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    result = device.run(SCALE, 1, {first: x, second: np.zeros_like(x)})
    for key in ("target", "Target", 1, (0, 1)):
        assert np.array_equal(result[key], 2 * x)
    assert "source" not in list(result)
    with pytest.raises(KeyError):
        result["nothing"]


def test_any_strides_and_read_only_arrays_are_taken(device: Device) -> None:
    whole = np.arange(256, dtype=np.float32).reshape(16, 16)
    whole.flags.writeable = False
    for part in (whole[::2, ::-3], whole.T, np.broadcast_to(np.float32(3), (5, 7)), whole[:0:-1, 5]):
        result = device.run(SCALE, 4, {0: part, 1: np.zeros(part.shape, np.float32)})
        assert result[1].shape == part.shape
        assert np.array_equal(result[1], 2 * part)


def test_shapes_are_kept(device: Device) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert np.array_equal(device.run(SCALE, 1, {0: x, 1: np.zeros_like(x)})[1], 2 * x)


def test_buffers_stay_on_the_device(device: Device) -> None:
    x = np.arange(64, dtype=np.float32)
    with device.buffer(x) as source, device.buffer(x.nbytes) as target:
        result = device.run(SCALE, 1, {0: source, 1: target})
        assert len(result) == 0
        assert np.array_equal(target.read(np.float32), 2 * x)
        device.run(SCALE, 1, {0: target, 1: source})
        assert np.array_equal(source.read(), 4 * x)


def test_length_of_a_runtime_array_is_the_arrays(device: Device) -> None:
    source = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer A { uint a[]; } a;
layout(binding = 1) buffer B { uint n; } b;
void main() { b.n = a.a.length(); }"""
    for n in (1, 5, 1023):
        result = device.run(source, 1, {"a": np.zeros(n, np.uint32), "b": np.zeros(1, np.uint32)})
        assert result["b"][0] == n


def test_groups_have_up_to_three_dimensions(device: Device) -> None:
    z, y, x = np.indices((4, 6, 8), np.uint32)
    expected = x + 100 * y + 10000 * z
    result = device.run(GRID, (2, 3, 2), {"cells": np.zeros((4, 6, 8), np.uint32)})
    assert np.array_equal(result["cells"], expected)
    flat = device.run(GRID, (2, 3), {"cells": np.zeros((2, 6, 8), np.uint32)})
    assert np.array_equal(flat["cells"], expected[:2])


@pytest.mark.parametrize("groups", [0, (0, 1, 1), (4, 0), (1, 1, 0)])
def test_zero_groups_do_nothing(device: Device, groups: Any) -> None:
    cells = np.full(16, 7, np.uint32)
    result = device.run(GRID, groups, {"cells": cells}, timed=True)
    assert np.array_equal(result["cells"], cells)
    assert result.seconds == 0.0
    assert device.run(GRID, groups, {"cells": cells}).seconds is None


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), "soon"])
def test_times_that_make_no_sense_are_refused(device: Device, timeout: Any) -> None:
    with pytest.raises(InvalidDispatch, match="timeout must be a positive number"):
        device.run(GRID, 1, {"cells": np.zeros(16, np.uint32)}, timeout=timeout)


@pytest.mark.parametrize("repeat", [0, -1, 10**7, 1.5, "2"])
def test_repetitions_that_make_no_sense_are_refused(device: Device, repeat: Any) -> None:
    with pytest.raises(InvalidDispatch, match="repeat must be"):
        device.run(GRID, 1, {"cells": np.zeros(16, np.uint32)}, repeat=repeat)


@pytest.mark.parametrize("groups", [-1, (1, -1), 1.5, (1, 1, 1, 1), (), "1", None, np.array(1)])
def test_groups_that_make_no_sense_are_refused(device: Device, groups: Any) -> None:
    with pytest.raises(InvalidDispatch, match="groups are"):
        device.run(GRID, groups, {"cells": np.zeros(16, np.uint32)})


def test_groups_over_the_limit_are_refused(device: Device) -> None:
    most = device.capabilities.limits["maxComputeWorkGroupCount"]
    with pytest.raises(InvalidDispatch, match="maxComputeWorkGroupCount"):
        device.run(GRID, (1, most[1] + 1), {"cells": np.zeros(16, np.uint32)})


def test_specialization_and_push_constants_reach_the_shader(device: Device) -> None:
    module = device.compile(COUNT)

    def run(push: Any, **specialization: Any) -> list[int]:
        bindings = {"counts": np.zeros(3, np.uint32)}
        result = device.run(module, 3, bindings, push=push, specialization={0: 4, **specialization})
        return [int(n) for n in result["counts"]]

    assert run({"offset": 1, "factor": 0}) == [4] * 3
    assert run({"offset": 0, "factor": 1}) == [16] * 3
    assert run(np.array([0, 1], np.uint32), step=5) == [80] * 3
    assert run(np.array([0, 1], np.uint32).tobytes(), step=5, twice=True) == [160] * 3


def test_push_constants_change_between_dispatches(device: Device) -> None:
    module = device.compile(COUNT)
    with (
        device.buffer(np.zeros(2, np.uint32)) as counts,
        device.pipeline(module, specialization={0: 1}) as pipeline,
        pipeline.bind({"counts": counts}) as bound,
    ):
        assert pipeline.stages.local_size == (1, 1, 1)
        for value in (1, 10, 10, 100):
            bound.dispatch(2, {"offset": value, "factor": 0})
        bound.dispatch(1, {"offset": 1000, "factor": 0})
        assert counts.read().tolist() == [1121, 121]


def test_repeated_runs_work_on_the_same_memory(device: Device) -> None:
    push = {"offset": 1, "factor": 0}
    result = device.run(COUNT, 2, {0: np.zeros(2, np.uint32)}, push=push, specialization={0: 1}, repeat=25)
    assert result[0].tolist() == [25, 25]


@pytest.mark.parametrize(
    ("bindings", "reason"),
    [
        ({"source": np.zeros(4, np.float32)}, "No array or buffer is given for: target"),
        ({}, "No array or buffer is given for: source, target"),
        (
            {n: np.zeros(4, np.float32) for n in ("source", "target", "tarqet")},
            "no binding 'tarqet'.*Did you mean 'target'",
        ),
        ({n: np.zeros(4, np.float32) for n in (0, 1, 7)}, "no binding 7"),
        ({n: np.zeros(4, np.float32) for n in (0, 1, (1, 0))}, r"no binding \(1, 0\)"),
        ({n: np.zeros(4, np.float32) for n in (0, 1, "target")}, "is given twice"),
        ({0: np.zeros(4), 1: np.zeros(4, np.float32)}, "'source'.*holds float32; the array given is float64"),
        ({0: np.zeros(0, np.float32), 1: np.zeros(4, np.float32)}, "'source'.*is empty"),
        ({0: np.array([None]), 1: np.zeros(4, np.float32)}, "Python objects"),
        ({0: np.zeros(4, ">f4"), 1: np.zeros(4, np.float32)}, "byte order"),
        ({0: "text", 1: np.zeros(4, np.float32)}, "holds float32"),
        ({0: [1, [2]], 1: np.zeros(4, np.float32)}, "'source'.*sequence"),
        ([np.zeros(4, np.float32)] * 2, "bindings are a mapping"),
        (None, "bindings are a mapping"),
    ],
)
def test_wrong_bindings_are_refused(device: Device, bindings: Any, reason: str) -> None:
    with pytest.raises(InvalidDispatch, match=reason):
        device.run(SCALE, 1, bindings)


def test_an_array_over_the_binding_limit_names_it(device: Device) -> None:
    most = device.capabilities.limits["maxStorageBufferRange"]
    array = np.broadcast_to(np.float32(0), (most // 4 + 1,))
    with pytest.raises(Unsupported, match=f"maxStorageBufferRange of {most}. Work in parts"):
        device.run(SCALE, 1, {0: array, 1: np.zeros(4, np.float32)})


def test_a_buffer_of_another_device_or_too_small_is_refused(device: Device) -> None:
    import vkgroup

    fixed = SCALE.replace("float x[]", "float x[100]")
    good = np.zeros(100, np.float32)
    with vkgroup.open(device.info) as other, other.buffer(good) as foreign, device.buffer(8) as small:
        with pytest.raises(InvalidDispatch, match="another device"):
            device.run(SCALE, 1, {0: foreign, 1: good})
        with pytest.raises(InvalidDispatch, match="has 400 bytes; the buffer given has 8"):
            device.run(fixed, 1, {0: small, 1: good})
    with pytest.raises(InvalidDispatch, match="closed buffer"):
        device.run(SCALE, 1, {0: small, 1: good})


def test_uniform_buffers_and_several_sets(device: Device) -> None:
    source = """#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 2) uniform Factors { vec4 a; vec4 b; } factors;
layout(set = 2, binding = 5) buffer Out { float y[]; } result;
void main() { uint i = gl_LocalInvocationID.x; result.y[i] = factors.a[i] * factors.b[i]; }"""
    factors = np.arange(8, dtype=np.float32)
    found = device.run(source, 1, {"factors": factors, (2, 5): np.zeros(4, np.float32)})
    assert np.array_equal(found["result"], factors[:4] * factors[4:])


def test_arrays_of_descriptors_take_lists(device: Device) -> None:
    source = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer B { uint d[]; } b[3];
void main() { uint i = gl_LocalInvocationID.x; b[2].d[i] = b[0].d[i] + b[1].d[i]; b[0].d[i] = 0u; }"""
    x = np.arange(8, dtype=np.uint32)
    found = device.run(source, 1, {"b": [x, 10 * x, x]})["b"]
    assert [array.tolist() for array in found] == [[0] * 8, (10 * x).tolist(), (11 * x).tolist()]
    for wrong in (x, [x, x]):
        with pytest.raises(InvalidDispatch, match="has 3 descriptors"):
            device.run(source, 1, {"b": wrong})


def test_variables_that_share_a_place_share_the_memory(device: Device) -> None:
    source = """#version 450
layout(local_size_x = 4) in;
layout(binding = 0) buffer Words { uint u[]; } words;
layout(binding = 0) buffer Floats { float f[]; } floats;
void main() { uint i = gl_LocalInvocationID.x; floats.f[i] = float(words.u[i]); }"""
    found = device.run(source, 1, {"words": np.arange(4, dtype=np.uint32)})
    assert found["floats"].view(np.float32).tolist() == [0, 1, 2, 3]


def test_kinds_that_cannot_be_bound_are_named(device: Device) -> None:
    source = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) uniform sampler2DMS picture;
layout(binding = 1) buffer B { vec4 d; } b;
void main() { b.d = texelFetch(picture, ivec2(0), 0); }"""
    with lacks("texture2DMS"):
        device.run(source, 1, {"picture": np.zeros((1, 1), np.float32), "b": np.zeros(4, np.float32)})


# --- what a device lacks ------------------------------------------------------------------------------


def test_a_module_that_the_device_cannot_run_says_what_is_missing(device: Device) -> None:
    category = "clustered" not in device.capabilities.subgroup.supported_operations
    source = """#version 450
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_NV_shader_sm_builtins : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer B { uint d[]; };
void main() { d[gl_LocalInvocationID.x] = subgroupClusteredAdd(gl_SMIDNV, 4u); }"""
    with lacks("shaderSMBuiltins") as caught:
        device.pipeline(device.compile(source))
    assert ("VK_SUBGROUP_FEATURE_CLUSTERED_BIT" in caught.value.missing) == category
    assert {"shaderSMBuiltins", "VK_NV_shader_sm_builtins"} <= set(caught.value.missing)


def test_a_local_size_over_the_limit_is_refused_before_the_driver(device: Device) -> None:
    most = device.capabilities.limits["maxComputeWorkGroupInvocations"]
    with lacks(f"maxComputeWorkGroupInvocations of {2 * most}"):
        device.pipeline(device.compile(COUNT), specialization={0: 2 * most})


def test_shared_memory_over_the_limit_is_refused(device: Device) -> None:
    most = device.capabilities.limits["maxComputeSharedMemorySize"]
    source = f"""#version 450
layout(local_size_x = 1) in;
shared uint s[{most // 4 + 1}];
void main() {{ s[gl_LocalInvocationIndex] = 1u; }}"""
    with lacks("maxComputeSharedMemorySize"):
        device.pipeline(device.compile(source))


def test_a_module_that_is_not_valid_never_reaches_the_driver(device: Device) -> None:
    from vkgroup.spirv import Module

    module = device.compile(SCALE)
    words = module.words.copy()
    start = next(i.position for i in module.instructions if i.name == "OpReturn")
    words[start] = 1 << 16 | 0  # OpNop: the last block does not end
    with pytest.raises(InvalidModule):
        device.pipeline(Module.from_bytes(words.tobytes()))


def test_only_compute_shaders_are_run(device: Device) -> None:
    module = device.compile("#version 450\nvoid main() {}", stage="vertex")
    with pytest.raises(InvalidDispatch, match="is a vertex shader"):
        device.pipeline(module)


# --- subgroup sizes -----------------------------------------------------------------------------------

SIZES = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint size[]; } sizes;
void main() { sizes.size[gl_GlobalInvocationID.x] = gl_SubgroupSize; }"""


@pytest.mark.parametrize("full", [False, True])
def test_a_required_subgroup_size_is_met(device: Device, full: bool) -> None:
    size = device.capabilities.size_control.min_size
    bindings = {"sizes": np.zeros(64, np.uint32)}
    found = device.run(SIZES, 1, bindings, subgroup_size=size, full_subgroups=full)
    assert (found["sizes"] == size).all()


@pytest.mark.parametrize("size", [3, 256, 0, -4])
def test_a_subgroup_size_that_the_device_lacks_is_refused(device: Device, size: int) -> None:
    with lacks(f"subgroup size of {size}"):
        device.run(SIZES, 1, {0: np.zeros(64, np.uint32)}, subgroup_size=size)


@pytest.mark.parametrize("size", ["4", 4.0, True, [4]])
def test_a_subgroup_size_of_another_type_is_refused(device: Device, size: Any) -> None:
    with pytest.raises(InvalidDispatch, match="A subgroup size is an integer"):
        device.run(SIZES, 1, {0: np.zeros(64, np.uint32)}, subgroup_size=size)


@pytest.mark.parametrize("size", [1, 128])
def test_a_subgroup_size_that_only_others_have_is_refused(vulkan_device: Device, size: int) -> None:
    with lacks(f"subgroup size of {size}"):
        vulkan_device.run(SIZES, 1, {0: np.zeros(64, np.uint32)}, subgroup_size=size)


def test_full_subgroups_need_a_local_size_that_fits(device: Device) -> None:
    source = SIZES.replace("local_size_x = 64", "local_size_x = 6")
    with lacks("full subgroups"):
        device.run(source, 1, {0: np.zeros(64, np.uint32)}, full_subgroups=True)


# --- time, repetition, closing ------------------------------------------------------------------------


def test_seconds_are_the_gpus(vulkan_device: Device) -> None:
    device = vulkan_device
    x = np.zeros(1 << 16, np.float32)
    with device.pipeline(device.compile(SCALE)) as pipeline, pipeline.bind({0: x, 1: x}) as bound:
        bound.dispatch(1024)
        seconds = bound.timed(1024, repeat=5)
        assert seconds is not None
        assert 0 < seconds < 1


def test_without_timestamps_there_are_no_seconds(vulkan_device: VulkanDevice) -> None:
    device = vulkan_device
    from dataclasses import replace

    from vkgroup.device import Timestamps

    declared = device.logical.capabilities
    try:
        device.logical.capabilities = replace(declared, timestamps=Timestamps(0, 1.0))
        x = np.ones(64, np.float32)
        result = device.run(SCALE, 1, {0: x, 1: x}, timed=True)
    finally:
        device.logical.capabilities = declared
    assert result.seconds is None
    assert np.array_equal(result[1], 2 * x)


@pytest.mark.parametrize("repeat", [0, -1, 10**7])
def test_repeats_that_make_no_sense_are_refused(device: Device, repeat: int) -> None:
    with pytest.raises(InvalidDispatch):
        device.run(GRID, 1, {0: np.zeros(16, np.uint32)}, repeat=repeat)


def test_pipelines_of_run_are_kept_and_their_number_bounded(device: Device) -> None:
    module = device.compile(COUNT)
    for step in range(40):
        result = device.run(
            module, 1, {0: np.zeros(1, np.uint32)}, push=[0, 1], specialization={0: 1, 1: step}
        )
        assert result[0][0] == step
    assert len(device._pipelines) <= 32
    kept = list(device._pipelines.values())[-1]
    device.run(module, 1, {0: np.zeros(1, np.uint32)}, push=[0, 1], specialization={0: 1, 1: 39})
    assert list(device._pipelines.values())[-1] is kept


def test_what_is_closed_says_so(device: Device) -> None:
    x = np.zeros(64, np.float32)
    pipeline = device.pipeline(device.compile(SCALE))
    buffer = device.buffer(x)
    bound = pipeline.bind({0: buffer, 1: x})
    bound.dispatch(1)
    bound.timed(1)
    buffer.close()
    with pytest.raises(DriverError, match="closed"):
        bound.dispatch(1)
    with pytest.raises(DriverError, match="closed"):
        bound.timed(1)
    bound.close()
    bound.close()
    with pytest.raises(DriverError, match="closed"):
        bound.dispatch(1)
    pipeline.close()
    pipeline.close()
    with pytest.raises(DriverError, match="closed"):
        pipeline.bind({0: x, 1: x})


def test_files_and_text_compile_for_the_device(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "scale.comp"
    path.write_text(SCALE)
    assert device.compile(path) == device.compile(str(path)) == device.compile(SCALE)
    with pytest.raises(CompileError):
        device.compile("void main() { nonsense }")
    with pytest.raises(InvalidInput, match="cannot be read"):
        device.compile(str(tmp_path / "absent.comp"))


def test_buffers_of_one_type_in_hlsl_have_their_own_names(device: Device) -> None:
    """Their blocks have one name."""
    source = """RWStructuredBuffer<uint> first : register(u0);
RWStructuredBuffer<uint> second : register(u1);
[numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) { first[i] = i; second[i] = 10u * i; }
"""
    module = device.compile(source, stage="compute", dialect="hlsl")
    zeros = np.zeros(8, np.uint32)
    result = device.run(module, 1, {"first": zeros, "second": zeros.copy()})
    assert result["first"].tolist() == list(range(8))
    assert result["second"].tolist() == list(range(0, 80, 10))
    with pytest.raises(InvalidDispatch):
        device.run(module, 1, {"first": zeros, "third": zeros.copy()})
