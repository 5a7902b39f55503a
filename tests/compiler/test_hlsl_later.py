"""Later shader models: which compiler has an intrinsic, entry points of other names, declared sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import CompileError
from vkgroup.compiler import compile_file, compile_source
from vkgroup.compiler.hlsl_front_ends import functions_of, wave_sizes
from vkgroup.spirv import Module

COMPILERS = ("glslang", "dxc", "slang")


def _source(statement: str) -> str:
    return f"""RWStructuredBuffer<uint> a : register(u0);
RWStructuredBuffer<uint> b : register(u1);
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{{
    uint x = a[id.x];
    {statement}
}}
"""


def _compiled(statement: str, compiler: str) -> Module:
    return compile_source(
        _source(statement), stage="compute", dialect="hlsl", compiler=compiler, target="1.3"
    )


INTRINSICS = {
    "WaveMatch": ("b[id.x] = WaveMatch(x).x;", ("dxc", "slang")),
    "WaveMultiPrefixSum": ("b[id.x] = WaveMultiPrefixSum(x, uint4(15, 0, 0, 0));", ("slang",)),
    "WaveMultiPrefixProduct": ("b[id.x] = WaveMultiPrefixProduct(x, uint4(15, 0, 0, 0));", ("slang",)),
    "WaveMultiPrefixBitAnd": ("b[id.x] = WaveMultiPrefixBitAnd(x, uint4(15, 0, 0, 0));", ("slang",)),
    "WaveMultiPrefixBitOr": ("b[id.x] = WaveMultiPrefixBitOr(x, uint4(15, 0, 0, 0));", ("slang",)),
    "WaveMultiPrefixBitXor": ("b[id.x] = WaveMultiPrefixBitXor(x, uint4(15, 0, 0, 0));", ("slang",)),
    "WaveMultiPrefixCountBits": ("b[id.x] = WaveMultiPrefixCountBits(x > 3, uint4(15, 0, 0, 0));", ()),
    "QuadAny": ("b[id.x] = QuadAny(x > 3);", ("slang",)),
    "QuadAll": ("b[id.x] = QuadAll(x > 3);", ("slang",)),
    "GetGroupWaveIndex": ("b[id.x] = GetGroupWaveIndex();", ()),
    "GetGroupWaveCount": ("b[id.x] = GetGroupWaveCount();", ()),
    "WaveGetWaveIndex": ("b[id.x] = WaveGetWaveIndex();", ("slang",)),
    "WaveGetNumWaves": ("b[id.x] = WaveGetNumWaves();", ("slang",)),
    "WaveRotate": ("b[id.x] = WaveRotate(x, 1);", ("slang",)),
    "WaveShuffle": ("b[id.x] = WaveShuffle(x, 3);", ("slang",)),
}
"""A statement with each intrinsic, and the compilers that have it."""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", INTRINSICS)
def test_an_error_names_the_compiler_that_has_the_intrinsic(name: str, compiler: str) -> None:
    statement, having = INTRINSICS[name]
    if compiler in having:
        assert _compiled(statement, compiler).reflection.entry_points
        return
    with pytest.raises(CompileError) as error:
        _compiled(statement, compiler)
    messages = " ".join(entry.message for entry in error.value.diagnostics)
    wanted = f"--compiler {' or '.join(having)} has {name}" if having else f"no compiler here has {name}"
    assert wanted in messages


def test_helper_lanes_of_dxc_and_slang() -> None:
    source = """uint main(float4 at : SV_Position) : SV_Target
{
    if (at.x > 3) discard;
    return IsHelperLane() ? 1 : 0;
}
"""
    for compiler in ("dxc", "slang"):
        module = compile_source(source, stage="fragment", dialect="hlsl", compiler=compiler, target="1.3")
        assert "DemoteToHelperInvocation" in module.reflection.capabilities
    with pytest.raises(CompileError) as error:
        compile_source(source, stage="fragment", dialect="hlsl", target="1.3")
    assert "--compiler dxc or slang has IsHelperLane" in str(error.value)


def test_slangs_wave_index_and_count() -> None:
    module = _compiled("b[id.x] = x + WaveGetWaveIndex() * 100 + WaveGetNumWaves();", "slang")
    with vkgroup.open("reference") as device:
        result = device.run(
            module, 2, {"a": np.zeros(128, np.uint32), "b": np.zeros(128, np.uint32)}, subgroup_size=16
        )
    assert np.array_equal(result["b"], np.arange(128) % 64 // 16 * 100 + 4)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("name", "source", "stage"),
    [
        ("Reduce.hlsl", _source("b[id.x] = x;").replace("void main", "void Reduce"), "compute"),
        (
            "shade.frag.hlsl",
            "// main() is elsewhere\ncbuffer C { float4 k; };\n"
            "struct S { float x; float twice() { return 2 * x; } };\n"
            "float4 Shade(float4 at : SV_Position) : SV_Target\n{\n    S s = { at.x };\n"
            "    return k * s.twice();\n}\n",
            "fragment",
        ),
    ],
)
def test_the_only_function_is_the_entry_point(
    name: str, source: str, stage: str, compiler: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(source)
    (entry,) = compile_file(file, compiler=compiler).reflection.entry_points
    assert (entry.name, entry.stage) == ("main", stage)


def test_several_functions_need_a_name(tmp_path: Path) -> None:
    file = tmp_path / "two.comp.hlsl"
    body = _source("b[id.x] = x;")
    file.write_text(
        body.replace("void main", "void One")
        + body.partition("\n[")[2].join(["\n[", ""]).replace("main", "Two")
    )
    with pytest.raises(CompileError):
        compile_file(file)
    assert compile_file(file, entry_point="Two").reflection.entry_points[0].name == "Two"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("void f() {}", ["f"]),
        ("float4 f(float x : A) : SV_Target { if (x) { g(); } }", ["f"]),
        ("struct S { void m() {} }; cbuffer C { int a; } void f(int a, int b)\n{}\nvoid g();", ["f"]),
        (
            "// void c() {}\n/* void d() {} */\n#define E(x) { }\nvoid f() {} int h() { return 1; }",
            ["f", "h"],
        ),
    ],
)
def test_functions(source: str, names: list[str]) -> None:
    assert functions_of(source) == names


@pytest.mark.parametrize(
    ("attribute", "sizes"),
    [
        ("[WaveSize(32)]", (32, 32)),
        ("[WaveSize(8, 64)]", (8, 64)),
        ("[ WaveSize ( 4u,16U , 8 ) ]", (4, 16)),
        ("[WaveSize(GIVEN)]", (16, 16)),
        ("#define SIZE 64\n[WaveSize(SIZE)]", (64, 64)),
        ("[WaveSize(1 + 3)]", "1 + 3"),
        ("// [WaveSize(32)]", None),
        ("", None),
    ],
)
def test_wave_sizes(attribute: str, sizes: tuple[int, int] | str | None) -> None:
    source = _source("b[id.x] = x;").replace("[numthreads", f"{attribute}\n[numthreads")
    assert wave_sizes(source, "main", {"GIVEN": "16"}) == sizes


def test_wave_sizes_of_the_chosen_entry_point() -> None:
    one, two = (
        _source("b[id.x] = x;")
        .replace("[numthreads", f"[WaveSize({size})]\n[numthreads")
        .replace("main", name)
        for name, size in (("one", 16), ("two", 64))
    )
    assert wave_sizes(one + two, "one", {}) == (16, 16)
    assert wave_sizes(one + two, "two", {}) == (64, 64)
    assert wave_sizes(one + two, "three", {}) is None


def test_a_function_of_the_source_gets_no_hint() -> None:
    source = _source("b[id.x] = WaveRotate(x, zzz);").replace(
        "[numthreads", "uint WaveRotate(uint a, uint b) { return a + b; }\n[numthreads"
    )
    with pytest.raises(CompileError) as error:
        compile_source(source, stage="compute", dialect="hlsl", target="1.3")
    assert "--compiler" not in str(error.value)
