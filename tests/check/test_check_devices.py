"""Checks that include real devices: silent where the device is right, a finding where it is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vkgroup.base import processes
from vkgroup.base.errors import NoDevice
from vkgroup.check import check, device_jobs, state
from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import select

_RIGHT, _WRONG = Path(__file__).parent / "right", Path(__file__).parent / "wrong"
_NAMES = (
    "compact_with_ballots",
    "decoupled_look_back",
    "float_mean_and_variance",
    "matrix_times_vector",
    "n_body",
    "picture_to_grey",
    "polynomial_of_many_terms",
    "records",
    "scan_of_a_workgroup",
    "softmax_of_a_workgroup",
    "virtual_machine",
)

# SwiftShader compares the first component only (docs/results/index.md).
_ALL_EQUAL = """#version 460
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer Flags { uint flags[]; };
void main() {
    uvec2 value = uvec2(7u, gl_GlobalInvocationID.x);
    flags[gl_GlobalInvocationID.x] = subgroupAllEqual(value) ? 1u : 0u;
}
"""


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("name", _NAMES)
def test_right_shaders_agree_with_real_devices(
    name: str, checked, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    report = checked(_RIGHT / f"{name}.comp", devices=(swiftshader.name, lavapipe.name))
    assert report["findings"] == []
    assert len(report["covered"]["devices"]) == 2


def test_what_a_device_lacks_is_not_covered(checked, swiftshader: CachedDriver) -> None:
    report = checked(_RIGHT / "doubles.comp", devices=(swiftshader.name,))
    assert report["findings"] == []
    ((what, why),) = report["covered"]["not_covered"]
    assert swiftshader.name in what
    assert "shaderFloat64" in why


def test_a_workgroup_over_the_limit_is_not_covered(
    written: Callable[..., Path], checked, swiftshader: CachedDriver
) -> None:
    file = written(
        "#version 460\nlayout(local_size_x = 1024) in;\nlayout(binding = 0) buffer B { uint b[]; };\n"
        "void main() { b[gl_GlobalInvocationID.x] += 1u; }\n"
    )
    report = checked(file, "--subgroup-size", "4", devices=(swiftshader.name,))
    assert report["findings"] == []
    assert "maxComputeWorkGroupInvocations" in report["covered"]["not_covered"][0][1]


def test_a_wrong_device_is_found(written: Callable[..., Path], checked, swiftshader: CachedDriver) -> None:
    report = checked(written(_ALL_EQUAL), "--subgroup-size", "4", devices=(swiftshader.name,))
    (finding,) = report["findings"]
    assert finding["kind"] == "differs"
    assert finding["element"] == "flags[0]"
    assert [value for _, value in finding["values"]] == ["0", "1"]
    assert finding["devices"]
    assert finding["sizes"] == []
    assert finding["place"]["line"] == 7
    assert f"--device {swiftshader.name}" in finding["command"]


def test_a_shader_that_hangs_is_kept_from_devices(
    written: Callable[..., Path], checked, swiftshader: CachedDriver
) -> None:
    file = written(
        "#version 460\nlayout(local_size_x = 4) in;\nlayout(binding = 0) buffer B { uint n[]; };\n"
        "void main() {\n    while (true)\n        atomicAdd(n[0], 1u);\n}\n"
    )
    report = checked(file, "--step-limit", "100", devices=(swiftshader.name,))
    assert [finding["kind"] for finding in report["findings"]] == ["hang"]
    assert any("not run, because of the hang" in why for _, why in report["covered"]["not_covered"])


def _dying(text: str) -> Callable[..., list[str]]:
    return lambda module: [sys.executable, "-c", text]


def test_a_crashing_driver_costs_one_finding(
    monkeypatch: pytest.MonkeyPatch, swiftshader: CachedDriver
) -> None:
    script = (
        "import os, sys; from vkgroup.base.processes import receive, send;"
        "receive(sys.stdin.buffer); send(sys.stdout.buffer, 'ready'); os.abort()"
    )
    device = select(swiftshader.name)
    monkeypatch.setattr(processes, "command", _dying(script))
    report = check(_RIGHT / "histogram_shared.comp", sizes=(4,), devices=[device])
    (finding,) = report.findings
    assert finding.kind == "differs"
    assert "killed by signal 6" in finding.message
    assert finding.devices == (f"{device.name} ({device.icd})",)


def test_a_worker_that_does_not_start_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, swiftshader: CachedDriver
) -> None:
    device = select(swiftshader.name)
    monkeypatch.setattr(processes, "command", _dying("raise SystemExit('no')"))
    with pytest.raises(NoDevice, match="it printed: no"):
        check(_RIGHT / "histogram_shared.comp", sizes=(4,), devices=[device])


def test_a_device_runs_at_every_size_that_it_can_be_made_to_use(checked) -> None:
    report = checked(
        _RIGHT / "reduce_in_two_levels.comp",
        *("--subgroup-size", "8,32", "--full-subgroups"),
        devices=("reference:8",),
    )
    assert report["findings"] == []
    runs = [run for run in report["covered"]["configurations"] if run["device"]]
    assert [(run["subgroup_size"], run["required"]) for run in runs] == [
        (8, False),
        *((1 << k, True) for k in range(8)),
    ]
    assert "(reference), also at size 1, 2, 4, 8, 16, 32, 64 and 128" in report["text"]


@pytest.mark.slow
def test_a_device_is_compared_at_its_own_size(written: Callable[..., Path], checked) -> None:
    """Sums of subgroups differ between sizes; that is no difference between devices of one size."""
    file = written(
        "#version 460\n#extension GL_KHR_shader_subgroup_arithmetic : require\n"
        "layout(local_size_x = 64) in;\n"
        "layout(binding = 0) buffer B { uint b[]; };\n"
        "void main() { b[gl_GlobalInvocationID.x] = subgroupAdd(b[gl_GlobalInvocationID.x]); }\n"
    )
    report = checked(file, "--subgroup-size", "32", devices=("reference:4",))
    assert [finding["devices"] for finding in report["findings"]] == [[]]


@pytest.mark.slow
def test_a_device_that_goes_wrong_at_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(job: device_jobs.DispatchJob) -> device_jobs.JobAnswer:
        answer = device_jobs.run_job(job)
        if job.subgroup_size == 16:
            (values,) = (array for place, array in answer.outputs.items())
            values.view("u1")[0] ^= 1
        return answer

    monkeypatch.setattr(state, "run_job", run)
    report = check(
        _RIGHT / "reduce_in_two_levels.comp", sizes=(8,), devices=[select("reference:32")], groups=(1,)
    )
    (finding,) = report.findings
    assert finding.message.startswith("the output differs between the reference device and a real one")
    assert [(where.subgroup_size, where.required) for where in finding.configurations] == [(16, True)]


def test_a_device_with_another_order_of_lanes_may_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(job: device_jobs.DispatchJob) -> device_jobs.JobAnswer:
        answer = device_jobs.run_job(job)
        for values in answer.outputs.values():
            values[:] = values[::-1].copy()
        return answer

    monkeypatch.setattr(state, "run_job", run)
    report = check(
        _WRONG / "noise_from_the_lane.comp", sizes=(4,), groups=(1,), devices=[select("reference:4")]
    )
    found = [finding for finding in report.findings if finding.devices]
    assert found
    assert all("may assign lanes in another order" in finding.notes[-1].message for finding in found)


def test_the_environment_chooses_the_device_where_no_option_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, swiftshader: CachedDriver
) -> None:
    shader = _RIGHT / "compact_with_ballots.comp"
    monkeypatch.setenv("VKGROUP_DEVICE", swiftshader.name)
    assert main(["check", str(shader), "--json", str(tmp_path / "report.json")]) == 0
    devices = json.loads((tmp_path / "report.json").read_text())["covered"]["devices"]
    assert [name for name in devices if "SwiftShader" in name] == devices
    monkeypatch.setenv("VKGROUP_DEVICE", "no such device")
    assert main(["check", str(shader)]) == 3
