"""Slang: its language and HLSL, executed and compared with NumPy; includes, errors, and what it refuses."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import diagnostics_of

import vkgroup
from vkgroup.base.errors import CompileError, CompilerUnavailable
from vkgroup.cli.main import main
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source
from vkgroup.compiler.front_ends import compiler_name

SUM = """RWStructuredBuffer<uint> data;
[shader("compute")]
[numthreads(32, 1, 1)]
void sums(uint3 id : SV_DispatchThreadID)
{
    data[id.x] = WaveActiveSum(data[id.x]) + WavePrefixSum(id.x);
}
"""


def _run(module: Any, device: vkgroup.Device, values: Any, size: int | None) -> Any:
    return device.run(module, 1, {"data": values}, subgroup_size=size)["data"]


def _expected(values: Any, size: int) -> Any:
    rows = values.reshape(-1, size)
    ids = np.arange(values.size, dtype=np.uint32).reshape(rows.shape)
    return (rows.sum(1, keepdims=True) + ids.cumsum(1) - ids).astype(np.uint32).reshape(-1)


@pytest.mark.parametrize("suffix", ["slang", "hlsl"])
def test_a_file_runs(suffix: str, tmp_path: Path, vulkan_device: vkgroup.Device) -> None:
    """The stage is that of the attribute, and its function is the entry point."""
    file = tmp_path / f"a.{suffix}"
    file.write_text(SUM)
    module = compile_file(file, compiler="glslang" if suffix == "slang" else "slang")
    assert [(point.name, point.stage) for point in module.reflection.entry_points] == [("main", "compute")]
    values = np.arange(32, dtype=np.uint32) ** 2
    with vkgroup.open("reference") as device:
        for size in (4, 16, 32):
            assert np.array_equal(_run(module, device, values, size), _expected(values, size))
    size = vulkan_device.capabilities.subgroup.size
    assert np.array_equal(_run(module, vulkan_device, values, None), _expected(values, size))


def test_entry_points_by_name() -> None:
    source = SUM + SUM.partition("\n")[2].replace("sums", "other").replace("32", "8")
    for name, threads in (("sums", 32), ("other", 8)):
        module = compile_source(source, stage="compute", dialect="slang", entry_point=name)
        point = module.reflection.entry_points[0]
        assert point.name == name
        assert point.local_size is not None
        assert point.local_size.resolve() == (threads, 1, 1)
    with pytest.raises(CompileError, match="main"):
        compile_source(source, stage="compute", dialect="slang")
    # The only function with [numthreads(…)] needs no name; a name that does not exist is an error.
    module = compile_source(SUM, stage="compute", dialect="slang")
    assert [point.stage for point in module.reflection.entry_points] == ["compute"]
    with pytest.raises(CompileError):
        compile_source(SUM, stage="compute", dialect="slang", entry_point="zz")


MODEL_6_5 = """RWStructuredBuffer<uint> data;
[shader("compute")] [numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    uint4 same = WaveMatch(id.x % 3);
    data[id.x] = WaveMultiPrefixSum(id.x, same);
}
"""


def test_match_and_multi_prefix_of_shader_model_6_5() -> None:
    module = compile_source(
        MODEL_6_5, stage="compute", dialect="hlsl", compiler="slang", target=TargetEnvironment.VULKAN_1_3
    )
    ids = np.arange(32)
    with vkgroup.open("reference") as device:
        found = _run(module, device, np.zeros(32, np.uint32), 32)
    expected = [sum(other for other in ids[:lane] if other % 3 == lane % 3) for lane in ids]
    assert np.array_equal(found, expected)


def test_integers_of_16_and_64_bits() -> None:
    source = """RWStructuredBuffer<uint64_t> data;
[shader("compute")] [numthreads(8, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    int16_t narrow = int16_t(id.x) - int16_t(4);
    data[id.x] = uint64_t(WaveActiveMax(narrow)) + (uint64_t(id.x) << 40);
}
"""
    for dialect, compiler in (("slang", "glslang"), ("hlsl", "slang")):
        module = compile_source(source, stage="compute", dialect=dialect, compiler=compiler)
        with vkgroup.open("reference") as device:
            found = _run(module, device, np.zeros(8, np.uint64), 8)
        assert np.array_equal(found, 3 + (np.arange(8, dtype=np.uint64) << np.uint64(40)))


def test_includes_imports_and_macros(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "twice.slang").write_text(
        "module twice;\npublic uint twice(uint x) { return 2 * x; }\n"
    )
    (tmp_path / "size.h").write_text("#define SIZE 8\n")
    file = tmp_path / "a.slang"
    file.write_text(
        'import twice;\n#include "size.h"\nRWStructuredBuffer<uint> data;\n[shader("compute")]\n'
        "[numthreads(SIZE, 1, 1)]\n"
        "void main(uint3 id : SV_DispatchThreadID) { data[id.x] = twice(id.x) + MORE; }\n"
    )
    for more in (1, 5):
        module = compile_file(file, include_paths=[tmp_path / "more"], defines={"MORE": more})
        with vkgroup.open("reference") as device:
            assert np.array_equal(_run(module, device, np.zeros(8, np.uint32), 4), 2 * np.arange(8) + more)
    (tmp_path / "size.h").write_text("#define SIZE 4\n")
    point = compile_file(
        file, include_paths=[tmp_path / "more"], defines={"MORE": 5}
    ).reflection.entry_points[0]
    assert point.local_size is not None
    assert point.local_size.resolve() == (4, 1, 1)  # the cache noticed the changed file


def test_errors_have_lines_and_columns(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text("\nuint f() { return unknown; }\n")
    file = tmp_path / "a.slang"
    file.write_text('#include "part.h"\n' + SUM.replace("id.x);", "id.x) + missing();"))
    errors = [entry for entry in diagnostics_of(lambda: compile_file(file)) if entry.severity == "error"]
    places = [(entry.file, entry.line) for entry in errors]
    assert places == [(str(tmp_path / "part.h"), 2), (str(file), 7)]
    lines = [(tmp_path / "part.h").read_text().splitlines()[1], file.read_text().splitlines()[6]]
    for entry, line, word in zip(errors, lines, ("unknown", "missing"), strict=True):
        assert line[entry.column - 1 :].startswith(word)
        assert word in entry.message


def test_a_shader_that_the_library_cannot_find(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CompilerUnavailable, match=r"pip install 'vkgroup\[slang\]'"):
        compile_source(SUM, stage="compute", dialect="slang", cache=False)
    file = tmp_path / "a.slang"
    file.write_text(SUM)
    assert main(["compile", str(file)]) == 3


def test_compilers_and_languages_that_do_not_fit() -> None:
    with pytest.raises(CompileError, match="dialect vulkan"):
        compile_source("void main() {}", stage="compute", compiler="slang")
    with pytest.raises(CompileError, match="dialect slang"):
        compile_source(SUM, stage="compute", dialect="slang", compiler="shaderc")
    assert compiler_name("slang", "hlsl") == compiler_name("glslang", "slang")
    assert compiler_name("slang", "hlsl").startswith("Slang 20")


@pytest.mark.parametrize(("suffix", "advice"), [("cl", "clspv"), ("cu", "CUDA"), ("metal", "Metal")])
def test_files_in_other_languages(
    suffix: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"a.{suffix}"
    file.write_text("@compute @workgroup_size(1) fn main() {}")
    for command in (["compile"], ["check"], ["run", "--groups", "1"]):
        assert main([command[0], str(file), *command[1:]]) == 2
        assert advice in capsys.readouterr().err


def test_wgsl_in_a_file_of_glsl_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.comp"
    file.write_text("// computes nothing\n@compute @workgroup_size(1)\nfn main() {}\n")
    assert main(["compile", str(file)]) == 2
    assert "this is WGSL" in capsys.readouterr().err
    file.write_text("#version 450\n/*\n@compute\n*/\nvoid main() {}\n")
    assert main(["compile", str(file)]) == 0
    file.write_text("#version 450\nvoid main() { fn(); }\n")
    assert main(["compile", str(file)]) == 2
    assert "WGSL" not in capsys.readouterr().err


def test_check_and_run_take_slang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.slang"
    file.write_text(SUM.replace("WaveActiveSum(data[id.x]) + WavePrefixSum(id.x)", "2 * id.x"))
    words = [str(file), "--device", "reference", "--groups", "1"]
    assert main(["check", *words, "--subgroup-size", "8"]) == 0
    assert main(["run", *words, "--out", "data=uint[32]"]) == 0
    assert "62" in capsys.readouterr().out
