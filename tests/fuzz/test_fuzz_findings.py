"""Findings of fuzzing, one test each: a clear error instead of a traceback or a dead process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fuzz_corpora import gl_sources

from vkgroup.base.errors import CompileError, InvalidInput, InvalidModule
from vkgroup.cli.main import main
from vkgroup.compiler import compile_source, interface_of, isolated
from vkgroup.device.manifests import read_manifest
from vkgroup.drivers import cache as driver_cache
from vkgroup.record.journal import RESULTS, RUN, Journal
from vkgroup.record.record import parse_result
from vkgroup.spirv import Module

DEEP = "[" * 100_000
RESULT = {"case": "a", "status": "Pass", "seconds": 1, "defined": 2, "undefined": 0, "detail": ""}


def test_hlsl_that_crashes_glslang_does_not_compile() -> None:
    source = "StructuredBuffer<uint>ound main(uint3 D) {"
    for _ in range(2):
        with pytest.raises(CompileError, match="glslang crashed"):
            compile_source(source, stage="compute", dialect="hlsl", name="a.hlsl")
    good = "[numthreads(1, 1, 1)] void main() {}"
    assert compile_source(good, stage="compute", dialect="hlsl", cache=False).reflection.entry_points


def test_hlsl_that_glslang_takes_too_long_for_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "_server", isolated._Server())
    monkeypatch.setattr(isolated, "SECONDS", 0.01)
    with pytest.raises(CompileError, match="took longer than"):
        compile_source("void main() {}", stage="compute", dialect="hlsl", cache=False)


@pytest.mark.parametrize("place", [0.5, 0.9])
def test_a_damaged_record_of_uniforms_is_refused(
    place: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = compile_source(gl_sources()[0].decode(), stage="compute", dialect="gl").to_bytes()
    assert interface_of(Module.from_bytes(data)) is not None
    start = data.index(b"vkgroup.gl ")
    at = start + int(place * (data.index(b"\0", start) - start))
    damaged = data[:at] + b"?" + data[at + 1 :]
    with pytest.raises(InvalidModule, match="record of its uniforms"):
        interface_of(Module.from_bytes(damaged))
    (tmp_path / "a.spv").write_bytes(damaged)
    assert main(["compile", str(tmp_path / "a.spv")]) == 2
    assert "compile the source again" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"case": {}}, {"case": None}, {"seconds": []}, {"defined": float("inf")}, {"status": []}]
)
def test_a_line_of_other_types_is_no_result(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"Expected `\w+`|Invalid enum value|JSON is malformed"):
        parse_result(json.dumps(RESULT | change).encode())
    with pytest.raises(ValueError, match="Expected `object`, got `array`"):
        parse_result(b"[]")


def test_json_that_is_too_deep_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "icd.json").write_text(DEEP)
    assert "names no library" in read_manifest(tmp_path / "icd.json").problem
    (tmp_path / driver_cache.METADATA).write_text(DEEP)
    assert driver_cache.load(tmp_path) is None
    (tmp_path / RESULTS).write_text(json.dumps(RESULT) + "\n" + DEEP)
    (tmp_path / RUN).write_text("{}")
    with Journal(tmp_path, {}, resume=True) as store:
        assert list(store.done) == ["a"]
    (tmp_path / RUN).write_text(DEEP)
    with pytest.raises(InvalidInput, match="cannot be read"):
        Journal(tmp_path, {}, resume=True)
