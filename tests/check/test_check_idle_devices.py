"""Devices that execute nothing: one is refused, and left out and named where there are others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import vkgroup
from vkgroup import testing
from vkgroup.base.errors import NoDevice
from vkgroup.check import CheckRequest, check, device_jobs, perform, state
from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import select

SHADER = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x; }
"""
FEW = ["--subgroup-size", "4", "--groups", "1"]


@pytest.fixture
def shader(tmp_path: Path) -> Path:
    path = tmp_path / "right.comp"
    path.write_text(SHADER)
    return path


@pytest.mark.parametrize("gpu", ["turnip:740", "turnip:702"])
def test_one_is_refused_as_by_run(
    gpu: str, shader: Path, turnip: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(shader), "--groups", "1", "--device", gpu]) == 3
    by_run = capsys.readouterr().err
    assert main(["check", str(shader), "--device", gpu, *FEW]) == 3
    said = capsys.readouterr()
    assert said.err == by_run
    assert "differs" not in said.out
    for refused in (
        lambda: testing.check_shader(shader, devices=[gpu]),
        lambda: check(shader, devices=[select(gpu)]),
        lambda: vkgroup.open(gpu, isolated=True),
    ):
        with pytest.raises(NoDevice, match="compile-only"):
            refused()


def test_they_are_named_beside_others(
    shader: Path, turnip: CachedDriver, swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    given = configuration_of(shader)
    report = shader.with_suffix(".report.json")
    for what in ([str(shader.parent)], [str(shader), "--with", str(given)], ["--with", str(given)]):
        devices = ["--device", "turnip:740", "--device", swiftshader.name]
        assert main(["check", *what, *devices, "--json", str(report)]) == 0
        said = capsys.readouterr().out
        assert f"Left out, since they execute nothing: {turnip.name}:740" in said
    assert main(["check", str(shader), "--device", "all", *FEW, "--json", str(report)]) == 0
    count = sum(driver.name == turnip.name for driver, _ in vkgroup.device.fetched.fetched_gpus())
    assert f"{turnip.name} ({count} compile-only devices)" in capsys.readouterr().out
    covered = json.loads(report.read_text())["covered"]["devices"]
    assert any(swiftshader.name in name for name in covered)
    assert not any("turnip" in name for name in covered)


def configuration_of(shader: Path) -> Path:
    path = shader.with_suffix(".json")
    path.write_text(json.dumps({"shader": shader.name, "subgroup_sizes": [4], "groups": 1}))
    return path


@pytest.mark.parametrize("skip", [False, True])
def test_a_driver_without_its_gpu_accuses_no_shader(
    skip: bool, shader: Path, swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first pipeline raises NoDevice, in the process that runs the shader."""

    def idle(job: device_jobs.DispatchJob) -> device_jobs.JobAnswer:
        session = device_jobs.JobSession(job.device, job.timeout)
        monkeypatch.setattr(device_jobs, "open_device", lambda device: Idle())
        return session.perform(device_jobs.JobCompilation(job))

    monkeypatch.setattr(state, "run_job", idle)
    monkeypatch.setattr(device_jobs, "missing", lambda *given: [])
    request = CheckRequest(shader, sizes=(4,), groups=(1,), devices=[select(swiftshader.name)])
    if not skip:
        with pytest.raises(NoDevice, match="executes nothing"):
            perform(request)
        return
    report = perform(replace(request, skip_idle_devices=True))
    assert report.findings == ()
    ((_, why),) = report.covered.not_covered
    assert why.startswith("left out: ")


class Idle:
    """A device that raises NoDevice where its first pipeline is made."""

    def __init__(self) -> None:
        with vkgroup.open("reference") as device:
            self.capabilities = device.capabilities

    def prepare(self, *given: object, **options: object) -> None:
        raise NoDevice("It executes nothing.")

    def close(self) -> None:
        """Do nothing."""
