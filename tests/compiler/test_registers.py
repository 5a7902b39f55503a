"""HLSL's registers as bindings: automatic and given shifts, in every compiler, executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import CompileError
from vkgroup.cli.main import main
from vkgroup.compiler import compile_source

COLLIDING = """cbuffer Sizes : register(b0) { uint n; };
StructuredBuffer<uint> source : register(t0);
RWStructuredBuffer<uint> sink : register(u0);
RWStructuredBuffer<uint> copies : register(u1);
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    if (id.x >= n)
        return;
    sink[id.x] = WavePrefixSum(source[id.x]);
    copies[id.x] = source[id.x];
}
"""


def _bindings(source: str, **options: Any) -> dict[str, int]:
    module = compile_source(source, stage="compute", dialect="hlsl", **options)
    return {binding.name: binding.binding for binding in module.reflection.bindings}


def test_classes_follow_each_other_if_they_collide() -> None:
    assert _bindings(COLLIDING) == {"Sizes": 0, "source": 1, "sink": 2, "copies": 3}


def test_bindings_without_a_collision_stay() -> None:
    source = COLLIDING.replace("(t0)", "(t5)").replace("(u0)", "(u7)")
    assert _bindings(source) == {"Sizes": 0, "source": 5, "sink": 7, "copies": 1}
    apart = COLLIDING.replace("(t0)", "(t0, space1)").replace("(u0)", "(u2)")
    assert _bindings(apart) == {"Sizes": 0, "source": 0, "sink": 2, "copies": 1}


def test_explicit_bindings_stay() -> None:
    source = COLLIDING.replace(
        "StructuredBuffer<uint> source", "[[vk::binding(4)]] StructuredBuffer<uint> source"
    )
    assert _bindings(source)["source"] == 4
    assert _bindings(source)["sink"] == 0


@pytest.mark.parametrize("compiler", ["glslang", "slang", "dxc"])
def test_given_shifts(compiler: str) -> None:
    shifts = {"b": 10, "t": 20, "u": 40}
    expected = {"Sizes": 10, "source": 20, "sink": 40, "copies": 41}
    assert _bindings(COLLIDING, compiler=compiler, register_shifts=shifts) == expected


@pytest.mark.parametrize("compiler", ["glslang", "slang", "dxc"])
def test_the_shifted_shader_runs(compiler: str, vulkan_device: vkgroup.Device) -> None:
    module = compile_source(
        COLLIDING,
        stage="compute",
        dialect="hlsl",
        compiler=compiler,
        register_shifts={"b": 0, "t": 1, "u": 2},
    )
    values = np.arange(32, dtype=np.uint32) + 3
    # By number: glslang gives buffers of one type the name of the first one's type too.
    buffers = {0: np.array([32], np.uint32), 1: values}
    buffers |= {number: np.zeros(32, np.uint32) for number in (2, 3)}
    found = vulkan_device.run(module, 1, buffers)
    rows = values.reshape(-1, vulkan_device.capabilities.subgroup.size)
    assert np.array_equal(found[2], (rows.cumsum(1) - rows).reshape(-1))
    assert np.array_equal(found[3], values)


def test_textures_and_samplers_have_their_classes() -> None:
    source = """Texture2D<float4> picture : register(t0);
SamplerState nearest : register(s0);
RWTexture2D<float4> result : register(u0);
[numthreads(1, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    result[id.xy] = picture.SampleLevel(nearest, float2(id.xy), 0);
}
"""
    assert _bindings(source) == {"picture": 0, "nearest": 1, "result": 2}


@pytest.mark.parametrize("shifts", [{"x": 1}, {"b": -1}, {"b": 2**16}, {"b": "1"}, {"b": True}])
def test_wrong_shifts(shifts: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match=r"class of registers|shift of b"):
        _bindings(COLLIDING, register_shifts=shifts)


def test_the_option_of_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.comp.hlsl"
    file.write_text(COLLIDING)
    assert main(["compile", str(file), "--register-shift", "b=0,t=10,u=20", "--disassemble"]) == 0
    text = capsys.readouterr().out
    assert all(f"Binding {number}" in text for number in (0, 10, 20, 21))
    with pytest.raises(SystemExit):
        main(["compile", str(file), "--register-shift", "b=0,x=10"])
    assert "b=N,t=N,s=N,u=N" in capsys.readouterr().err
    words = [
        "check",
        str(file),
        "--device",
        "none",
        "--subgroup-size",
        "8",
        "--register-shift",
        "b=0,t=1,u=2",
    ]
    assert main(words) in (0, 1)


DUPLICATES = """RWStructuredBuffer<uint> data;
uint lanes() { return WaveGetLaneCount() * 100 + WaveGetLaneIndex(); }
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint index : SV_GroupIndex)
{
    uint x = lanes();
    if (index > 3)
        x += 10000 * WaveGetLaneCount();
    else
        x += 10000 * WaveGetLaneIndex();
    data[id.x] = x;
}
"""


def test_built_ins_in_several_functions_and_blocks(vulkan_device: vkgroup.Device) -> None:
    module = compile_source(DUPLICATES, stage="compute", dialect="hlsl")
    ids = np.arange(32)
    with vkgroup.open("reference") as reference:
        for device, size in ((reference, 8), (vulkan_device, vulkan_device.capabilities.subgroup.size)):
            found = device.run(
                module,
                1,
                {"data": np.zeros(32, np.uint32)},
                subgroup_size=size if device is reference else None,
            )
            lanes = ids % size
            expected = size * 100 + lanes + 10000 * np.where(ids > 3, size, lanes)
            assert np.array_equal(found["data"], expected)


def test_a_built_in_whose_first_input_is_not_read() -> None:
    """The product with 0 is removed, and its input with it from the interface, but not from the module."""
    source = """RWStructuredBuffer<uint> data;
uint zero() { return WaveGetLaneCount() * 0; }
[numthreads(32, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { data[id.x] = zero() + WaveGetLaneCount(); }
"""
    module = compile_source(source, stage="compute", dialect="hlsl")
    with vkgroup.open("reference") as device:
        found = device.run(module, 1, {"data": np.zeros(32, np.uint32)}, subgroup_size=8)
    assert (found["data"] == 8).all()


def test_built_ins_of_a_pixel_shader() -> None:
    source = """uint lanes() { return WaveGetLaneCount() + WaveGetLaneIndex(); }
float4 main(float4 at : SV_Position) : SV_Target0 { return float4(lanes(), WaveGetLaneCount(), at.xy); }
"""
    module = compile_source(source, stage="fragment", dialect="hlsl")
    names = [point.variables.input_built_ins for point in module.reflection.entry_points]
    assert {"SubgroupSize", "SubgroupLocalInvocationId"} <= names[0]
