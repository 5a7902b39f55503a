"""``vkgroup conform --compiler``: the front end of all shaders, on the reference device."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.cli.main import main
from vkgroup.compiler import compile_file, compile_source
from vkgroup.conformance import select
from vkgroup.conformance.languages import expressible, language_of

_ROOT = Path(__file__).parents[2]
_FINDINGS = _ROOT / "vkgroup" / "findings" / "compilers"
_SOURCES = _ROOT / "shaders" / "findings" / "compilers"


def _conform(out: Path, compiler: str, pattern: str) -> dict[str, Any]:
    """Return summary and results of a run on the reference device."""
    words = ["conform", "--device", "reference:32", "--filter", pattern]
    words += ["--compiler", compiler] * bool(compiler)
    code = main([*words, "--out", str(out), "--jobs", "1", "--no-repro"])
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return {**summary, "code": code}


def test_the_compiler_reaches_the_workers_and_the_summary(tmp_path: Path) -> None:
    run = _conform(tmp_path, "dxc", "hlsl.compute.WaveActiveSum.uint*.all.exact")
    assert run["code"] == 0
    assert run["versions"]["compiler"].startswith("DXC ")
    assert run["totals"]["Pass"] == run["cases"] > 0


def test_an_error_of_a_front_end_is_found(tmp_path: Path) -> None:
    """DXC's wave operations include helper lanes (dxc-helper-lanes.toml); glslang's are corrected."""
    pattern = "hlsl.fragment.WaveActiveSum.int.partial.exact"
    assert _conform(tmp_path / "dxc", "dxc", pattern)["totals"]["Fail"] == 1
    assert _conform(tmp_path / "glslang", "glslang", pattern)["totals"]["Pass"] == 1


def test_a_shader_that_is_not_compiled_is_not_supported(tmp_path: Path) -> None:
    run = _conform(tmp_path, "slang", "hlsl.fragment.WaveGetLaneIndex.uint.all.exact")
    assert (run["code"], run["totals"]["NotSupported"]) == (3, 1)
    text = (tmp_path / "results.jsonl").read_text()
    assert "slang does not compile it" in text
    assert "VUID-StandaloneSpirv-Flat-04744" in text


@pytest.mark.parametrize("family", ["hlsl_later", "hlsl_fragment", "hlsl_reconvergence"])
def test_families_that_glslang_lacks_have_a_compiler_of_their_own(tmp_path: Path, family: str) -> None:
    pattern = {
        "hlsl_later": "hlsl_later.*.QuadAny.*.all.*",
        "hlsl_fragment": "hlsl_fragment.wave.*",
        "hlsl_reconvergence": "hlsl_reconvergence.*.waterfall.by_value",
    }[family]
    run = _conform(tmp_path / "run", "", pattern)
    assert run["totals"]["Pass"] == run["cases"] > 0
    words = ["conform", "--device", "reference", "--filter", pattern, "--out", str(tmp_path / "other")]
    assert main([*words, "--compiler", "glslang"]) == 2


def test_a_language_with_one_compiler_takes_no_other(tmp_path: Path) -> None:
    cases = select(("slang.*.WaveGetWaveIndex.*", "wgsl.*.subgroupElect.*.all.*"))
    assert {case.category for case in expressible(cases, "slang")} == {"slang"}
    assert {case.category for case in expressible(cases, "tint")} == {"wgsl"}
    assert expressible(cases, "glslang") == ()


def test_a_known_error_of_a_compiler_is_no_unexpected_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["conform", "--device", "reference:4", "--known", "--jobs", "1", "--no-repro"]
    words += [
        "--filter",
        "slang.*.WaveMaskPrefixBitXor.uint*.all.*",
        "--filter",
        "slang.*.WaveMaskA*True.*.all.*",
    ]
    assert main([*words, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    totals = json.loads((tmp_path / "summary.json").read_text())["totals"]
    assert (totals["Fail"], totals["NotSupported"]) == (6, 2)
    assert "Known errors of a compiler: 1" in shown
    assert "0 need features that the device lacks; 2 were not compiled" in shown


def test_only_cases_in_a_language_of_the_compiler_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = select(("hlsl.compute.WaveIsFirstLane.*", "basic.compute.subgroupElect.*"))
    chosen = expressible(cases, "dxc")
    assert 0 < len(chosen) < len(cases)
    assert {language_of(case) for case in chosen} == {"hlsl"}
    assert expressible(cases, "glslang-13") == expressible(cases, "") == tuple(cases)
    words = ["conform", "--device", "reference", "--compiler", "dxc", "--filter", "basic.*"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 2
    assert "compiles none of the selected cases" in capsys.readouterr().err


def test_a_compiler_that_is_not_installed_is_named_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_DXC", str(tmp_path / "none.so"))
    assert (
        main(["conform", "--device", "reference", "--compiler", "dxc", "--out", str(tmp_path / "run")]) == 3
    )
    assert "none.so" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_is_continued_with_its_compiler_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = "hlsl.compute.WaveIsFirstLane.*"
    _conform(tmp_path, "dxc", pattern)
    words = ["conform", "--device", "reference:32", "--compiler", "slang", "--filter", pattern, "--resume"]
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "compiler" in capsys.readouterr().err


@pytest.mark.parametrize("file", sorted(_FINDINGS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_finding_is_complete(file: Path) -> None:
    finding = tomllib.loads(file.read_text())
    assert {"title", "compiler", "seen", "source", "document", "rule", "description"} <= finding.keys()
    assert (_SOURCES / finding["source"]).is_file()


def test_the_sources_of_slang_show_its_errors() -> None:
    with pytest.raises(CompileError, match="Flat-04744"):
        compile_file(_SOURCES / "slang_flat.slang")
    with pytest.raises(CompileError, match="'y' is not a member of 'bool'"):
        compile_file(_SOURCES / "slang_all_equal_vector.hlsl", stage="compute", compiler="slang")
    compile_file(_SOURCES / "slang_all_equal_vector.hlsl", stage="compute", compiler="dxc")
    with pytest.raises(CompileError, match="exits the selection"):
        compile_file(_SOURCES / "slang_return_in_loop.hlsl", stage="compute", compiler="slang")
    with pytest.raises(CompileError, match="GroupNonUniformVote"):
        compile_file(_SOURCES / "slang_mask_vote.slang")
    module = compile_file(_SOURCES / "slang_mask_prefix_xor.slang")
    names = {entry.name for entry in module.instructions}
    assert "OpGroupNonUniformBitwiseOr" in names
    assert "OpGroupNonUniformBitwiseXor" not in names
    for compiler in ("dxc", "glslang"):
        compile_file(_SOURCES / "slang_return_in_loop.hlsl", stage="compute", compiler=compiler)


@pytest.mark.parametrize("compiler", ["dxc", "slang"])
def test_wave_ops_include_helper_lanes_does_not_change_the_module(compiler: str) -> None:
    source = (_SOURCES / "wave_ops_include_helper_lanes.hlsl").read_text()
    attribute = "[WaveOpsIncludeHelperLanes]\n"
    assert attribute in source
    with_it, without = (
        compile_source(text, stage="fragment", dialect="hlsl", compiler=compiler)
        for text in (source, source.replace(attribute, "\n"))
    )
    assert list(map(str, with_it.instructions)) == list(map(str, without.instructions))


@pytest.mark.parametrize("name", ["glslang_prefix_sum", "glslang_lane_twice"])
def test_errors_of_glslang_are_corrected(name: str) -> None:
    module = compile_file(_SOURCES / f"{name}.hlsl", stage="compute", compiler="glslang-13")
    inputs = [entry for entry in module.instructions if entry.name == "OpGroupNonUniformIAdd"]
    assert all(entry.operands[1] != _INCLUSIVE for entry in inputs)


_INCLUSIVE = 1
"""GroupOperation InclusiveScan (SPIR-V 3.28)."""
