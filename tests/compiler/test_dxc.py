"""DXC: HLSL up to shader model 6.8, executed and compared with NumPy; includes, errors, and where it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sources import diagnostics_of

import vkgroup
from vkgroup.base.errors import CompileError, CompilerUnavailable
from vkgroup.cli.main import main
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source
from vkgroup.compiler.dxc import PATH_VARIABLE, dxc_library
from vkgroup.compiler.front_ends import compiler_name

SUM = """RWStructuredBuffer<uint> data : register(u0);
[shader("compute")]
[numthreads(32, 1, 1)]
void sums(uint3 id : SV_DispatchThreadID)
{
    data[id.x] = WaveActiveSum(data[id.x]) + WavePrefixSum(id.x);
}
"""


def test_a_file_runs(tmp_path: Path, vulkan_device: vkgroup.Device) -> None:
    file = tmp_path / "a.hlsl"
    file.write_text(SUM)
    module = compile_file(file, compiler="dxc")
    assert [(point.name, point.stage) for point in module.reflection.entry_points] == [("main", "compute")]
    values = np.arange(32, dtype=np.uint32) ** 2
    size = vulkan_device.capabilities.subgroup.size
    ids = np.arange(32, dtype=np.uint32).reshape(-1, size)
    expected = values.reshape(ids.shape).sum(1, keepdims=True) + ids.cumsum(1) - ids
    found = vulkan_device.run(module, 1, {"data": values})["data"]
    assert np.array_equal(found, expected.reshape(-1))


def test_match_and_wide_and_narrow_integers() -> None:
    """WaveMatch of shader model 6.5, int16_t and uint64_t of 6.2."""
    source = """RWStructuredBuffer<uint64_t> data : register(u1);
cbuffer Sizes : register(b0) { uint n; };
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    uint64_t same = WaveMatch(id.x % 3).x;
    if (id.x < n)
        data[id.x] = (same << 16) + uint64_t(uint16_t(WaveActiveMax(int16_t(id.x))));
}
"""
    module = compile_source(
        source, stage="compute", dialect="hlsl", compiler="dxc", target=TargetEnvironment.VULKAN_1_3
    )
    with vkgroup.open("reference") as device:
        buffers = {"Sizes": np.array([30], np.uint32), "data": np.zeros(32, np.uint64)}
        found = device.run(module, 1, buffers, subgroup_size=32)["data"]
    lanes = range(32)
    same = [sum(1 << other for other in lanes if other % 3 == lane % 3) for lane in lanes]
    assert found[:30].tolist() == [(mask << 16) + 29 for mask in same[:30]]


def test_includes_macros_and_the_cache(tmp_path: Path) -> None:
    (tmp_path / "size.h").write_text("#define SIZE 8\n")
    file = tmp_path / "a.comp.hlsl"
    file.write_text('#include "size.h"\n[numthreads(SIZE, MORE, 1)] void main() {}\n')
    for size in (8, 4):
        (tmp_path / "size.h").write_text(f"#define SIZE {size}\n")
        for more in (1, 2):
            module = compile_file(file, compiler="dxc", defines={"MORE": more})
            local_size = module.reflection.entry_points[0].local_size
            assert local_size is not None
            assert local_size.resolve() == (size, more, 1)


def test_errors_have_lines_and_columns(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text("\nuint f() { return unknown; }\n")
    file = tmp_path / "a.hlsl"
    file.write_text('#include "part.h"\n' + SUM.replace("id.x);", "id.x) + missing();"))
    errors = diagnostics_of(lambda: compile_file(file, compiler="dxc"))
    assert [(Path(entry.file).name, entry.line, entry.column) for entry in errors] == [
        ("part.h", 2, len("uint f() { return ") + 1),
        ("a.hlsl", 7, file.read_text().splitlines()[6].index("missing") + 1),
    ]
    assert "undeclared identifier 'unknown'" in errors[0].message


def test_what_dxc_does_not_compile() -> None:
    with pytest.raises(CompileError, match="dxc does not compile the dialect vulkan"):
        compile_source("void main() {}", stage="compute", compiler="dxc")
    with pytest.raises(CompileError, match="use Slang"):
        compile_source("void main() {}", stage="raygen", dialect="hlsl", compiler="dxc")


def test_where_the_library_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compiler_name("dxc", "hlsl").startswith("DXC 1.")
    file = tmp_path / "a.hlsl"
    file.write_text(SUM)
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "none.so"))
    with pytest.raises(CompilerUnavailable, match="is no file"):
        dxc_library()
    assert main(["compile", str(file), "--compiler", "dxc"]) == 3
    assert "VKGROUP_DXC" in capsys.readouterr().err
