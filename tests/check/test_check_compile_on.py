"""``vkgroup check --compile-on``: compilation of the checked shader for absent GPUs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from vkgroup.cli.main import main
from vkgroup.cost import CompileJob, CompileStatus, Cost, measuring
from vkgroup.device import DeviceInfo
from vkgroup.drivers import CachedDriver
from vkgroup.workers.multi_device import choose

_SHADER = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x; }
"""


@pytest.fixture
def shader(tmp_path: Path, turnip: CachedDriver) -> Path:
    path = tmp_path / "shader.comp"
    path.write_text(_SHADER)
    return path


def check(shader: Path, gpus: str) -> int:
    options = ["--device", "none", "--subgroup-size", "32", "--compile-on", gpus]
    return main(["check", str(shader), *options, "--json", str(shader.with_suffix(".json"))])


def test_the_gpus_that_compile_are_counted(shader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(shader, "turnip:702,turnip:740") == 0
    out = capsys.readouterr().out
    assert "compiles on 1 of 2 GPUs" in out
    assert "turnip:702: NotSupported: " in out
    report = json.loads(shader.with_suffix(".json").read_text())
    assert report["compilations"][0] == "compiles on 1 of 2 GPUs"


def test_a_star_means_all_gpus(shader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpus = choose("*:*")
    assert check(shader, "*") == 0
    assert f" of {len(gpus)} GPUs" in capsys.readouterr().out


@pytest.mark.parametrize("status", [CompileStatus.REJECTED, CompileStatus.CRASH, CompileStatus.TIMEOUT])
def test_a_driver_that_fails_is_a_finding(
    shader: Path, status: CompileStatus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = [Cost("turnip-26.1.6:740", "GPU", 64, status, "Assertion `x' failed.")]
    monkeypatch.setattr(measuring, "costs_of_jobs", lambda device, jobs, timeout: [failed])
    assert check(shader, "turnip:740") == 1
    out = capsys.readouterr().out
    assert f"compile: turnip:740, subgroups of 64: {status}: Assertion `x' failed." in out
    assert "compiles on 0 of 1 GPU" in out
    (finding,) = json.loads(shader.with_suffix(".json").read_text())["findings"]
    assert finding["kind"] == "compile"
    assert not finding["weak"]


def test_spills_are_reported(
    shader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = [
        Cost("turnip-26.1.6:740", "GPU", size, CompileStatus.COMPILED, quantities={"spills": spills})
        for size, spills in ((64, 0.0), (128, 12.0))
    ]
    monkeypatch.setattr(measuring, "costs_of_jobs", lambda device, jobs, timeout: [costs])
    assert check(shader, "turnip:740") == 0
    out = capsys.readouterr().out
    assert "turnip:740, subgroups of 128: 12 spills" in out
    assert "subgroups of 64:" not in out


def test_devices_that_execute_are_refused(
    shader: Path, swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(shader, swiftshader.name) == 2
    assert "no compile-only device; use --device" in capsys.readouterr().err


def test_without_the_option_nothing_is_compiled(shader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(shader), "--device", "none", "--subgroup-size", "32"]) == 0
    assert "compiles on" not in capsys.readouterr().out


def test_a_fragment_shader_is_compiled(shader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fragment = shader.with_suffix(".frag")
    fragment.write_text(
        "#version 450\nlayout(location = 0) in vec3 normal;\nlayout(location = 0) out vec4 color;\n"
        "void main() { color = vec4(normal, 1.0); }\n"
    )
    assert check(fragment, "turnip:740") == 0
    assert "compiles on 1 of 1 GPU" in capsys.readouterr().out


def test_each_shader_of_a_folder_has_its_result(
    shader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shader.parent / "second.comp").write_text(_SHADER.replace("64", "32"))
    (shader.parent / "wrong.comp").write_text("#version 450\nvoid main() { lacking(); }\n")
    opened = []

    def costs(device: DeviceInfo, jobs: Sequence[CompileJob], timeout: float) -> list[list[Cost]]:
        opened.append(device.choice)
        crash = Cost(device.choice, "GPU", 64, CompileStatus.CRASH, "Assertion `x' failed.")
        compiled = Cost(device.choice, "GPU", 64, CompileStatus.COMPILED, quantities={"spills": 3.0})
        return [[crash], [compiled]]

    monkeypatch.setattr(measuring, "costs_of_jobs", costs)
    file = shader.parent / "all.json"
    folder = [str(shader.parent), "--subgroup-size", "32", "--jobs", "1", "--json", str(file)]
    assert main(["check", *folder, "--compile-on", "turnip:740,turnip:750"]) == 1
    assert len(opened) == 2
    entries = {entry["name"]: entry for entry in json.loads(file.read_text())["configurations"]}
    assert entries["wrong.comp"]["outcome"] == "does not compile"
    first, second = entries["second.comp"], entries["shader.comp"]
    assert first["report"]["findings"][0]["kind"] == "compile"
    assert first["summary"].endswith("; compiles on 0 of 2 GPUs")
    assert second["outcome"] == "clean"
    assert second["report"]["compilations"][1:] == [
        "turnip:740, turnip:750, subgroups of 64: 3 spills",
    ]
    assert "    turnip:740, turnip:750: Crash: Assertion `x' failed." in capsys.readouterr().out


def test_a_changed_result_of_a_driver_is_not_taken_from_the_cache(
    shader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = shader.parent / "all.json"
    codes = []
    for status in (CompileStatus.COMPILED, CompileStatus.CRASH, CompileStatus.CRASH):
        costs = [Cost("turnip-26.1.6:740", "GPU", 64, status, "why")]
        monkeypatch.setattr(measuring, "costs_of_jobs", lambda device, jobs, timeout, costs=costs: [costs])
        folder = [str(shader.parent), "--subgroup-size", "32", "--jobs", "1", "--json", str(file)]
        codes.append(main(["check", *folder, "--compile-on", "turnip:740"]))
    assert codes == [0, 1, 1]
    assert json.loads(file.read_text())["configurations"][0]["unchanged"]
