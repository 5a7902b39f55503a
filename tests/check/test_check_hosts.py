"""Shaders that have a host: specialization constants, local sizes, and guarantees of the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.check import check
from vkgroup.cli.main import main
from vkgroup.compiler import compile_file
from vkgroup.compiler.front_ends import compiler_name
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

# ggml's shaders declare the local size and a constant under one id.
_BLOCK = """#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint BLOCK_SIZE = 32;
layout(constant_id = 1) const bool REVERSED = true;
layout(binding = 0) buffer B { uint b[]; };
shared uint t[BLOCK_SIZE];
void main() {
    uint i = gl_LocalInvocationID.x;
    t[i] = i;
    barrier();
    b[gl_GlobalInvocationID.x] = t[REVERSED ? BLOCK_SIZE - 1u - i : i];
}
"""
_INDEPENDENT = "nothing in the shader depends on subgroups: runs at size 32 and 1 stand for the others"
_SEVERAL = "specialization id 0 has several defaults (BLOCK_SIZE 32, local size 1)"


def test_constants_with_one_id_have_one_value(
    checked, written: Callable[..., Path], swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    report = checked(written(_BLOCK), devices=(swiftshader.name, lavapipe.name))
    assert report["findings"] == []
    assert report["covered"]["local_size"] == [32, 1, 1]
    assert len(report["covered"]["devices"]) == 2
    assert report["covered"]["specialization"] == [
        {"id": 0, "name": "BLOCK_SIZE", "value": 32},
        {"id": 1, "name": "REVERSED", "value": True},
    ]
    assert "specialization constants: BLOCK_SIZE (id 0) = 32, REVERSED (id 1) = true" in report["text"]
    assert _SEVERAL in report["text"]


@pytest.mark.parametrize("given", ["0=64", "BLOCK_SIZE=64"])
def test_a_given_value_holds_for_all_constants_with_the_id(given: str, checked, written) -> None:
    report = checked(written(_BLOCK), "--spec", given)
    assert report["findings"] == []
    assert report["covered"]["local_size"] == [64, 1, 1]
    assert report["covered"]["specialization"][0]["value"] == 64
    assert report["covered"]["notes"] == [_INDEPENDENT]


def test_an_id_that_the_shader_does_not_have_is_ignored_with_a_note(
    checked, written, capsys: pytest.CaptureFixture[str]
) -> None:
    report = checked(written(_BLOCK), "--spec", "0=32", "--spec", "7=1")
    assert report["findings"] == []
    note = "specialization id 7 is ignored: the shader does not have it. It has: 0, 1."
    assert report["covered"]["notes"] == [note, _INDEPENDENT]
    file = str(written(_BLOCK))
    words = ["run", file, "--groups", "1", "--out", "B=uint[32]", "--device", "reference", "--spec", "7=1"]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert f"Note: {note}" in captured.err
    assert f"Note: {_SEVERAL}" in captured.err
    assert "B = [31, 30," in captured.out


@pytest.mark.parametrize("command", [("check",), ("run", "--groups", "1", "--out", "B=uint[32]")])
def test_a_name_that_the_shader_does_not_have_is_an_error(
    command: tuple[str, ...], written, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *words = command
    device = "none" if name == "check" else "reference"
    assert main([name, str(written(_BLOCK)), *words, "--device", device, "--spec", "BLOCK=1"]) == 2
    assert "no specialization constant 'BLOCK'. There are: BLOCK_SIZE, REVERSED." in capsys.readouterr().err


# --- local size -----------------------------------------------------------------------------------------

# The host sets the local size of this shader; each workgroup of 64 invocations reverses its part.
_REVERSAL = """#version 450
layout(binding = 0) buffer B { uint b[]; };
shared uint t[64];
void main() {
    uint i = gl_LocalInvocationID.x;
    t[i] = b[gl_GlobalInvocationID.x];
    barrier();
    b[gl_GlobalInvocationID.x] = t[63u - i];
}
"""


def test_a_shader_without_a_local_size_is_checked_with_the_given_one(
    checked, written, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    file = written(_REVERSAL)
    report = checked(file)
    assert [finding["kind"] for finding in report["findings"]] == ["undefined"]
    assert report["covered"]["notes"] == [
        "the shader declares no local size: 1×1×1 was used. If the host sets one, give --local-size X,Y,Z."
    ]
    report = checked(file, "--local-size", "64", devices=(swiftshader.name, lavapipe.name))
    assert report["findings"] == []
    assert report["covered"]["local_size"] == [64, 1, 1]
    assert report["covered"]["notes"] == [_INDEPENDENT]
    assert len(report["covered"]["devices"]) == 2


def test_a_local_size_with_the_default_of_its_constants_is_noted(checked, written) -> None:
    size = "layout(local_size_x_id = 3, local_size_y_id = 4) in;\n"
    file = written(_REVERSAL.replace("layout(binding", size + "layout(binding", 1))
    report = checked(file)
    assert report["covered"]["notes"] == [
        "the local size has no default in the source: id 3 = 64, id 4 = 1 was chosen;"
        " give --spec 3=V --spec 4=V.",
        _INDEPENDENT,
    ]
    assert report["covered"]["local_size"] == [64, 1, 1]
    (question,) = report["questions"]
    assert {value["name"] for value in question["values"]} <= {"local size 3", "local size 4"}
    assert all(value["value"] == 8 for value in question["values"])
    report = checked(file, "--spec", "3=64")
    assert report["findings"] == []
    assert report["covered"]["notes"] == [_INDEPENDENT]


def test_the_local_size_is_part_of_the_repeated_command(checked, written) -> None:
    finding, *_ = checked(written(_REVERSAL), "--local-size", "8,2")["findings"]
    assert "--local-size 8,2" in finding["command"]


def test_run_takes_a_local_size(
    device: Device, written, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vkgroup.open", lambda choice: nullcontext(device))
    file = written(_REVERSAL)
    np.save(file.parent / "b.npy", np.arange(64, dtype=np.uint32))
    words = ["run", str(file), "--groups", "1", "--local-size", "64"]
    words += ["--in", f"B={file.parent / 'b.npy'}", "--out", f"B={file.parent / 'out.npy'}"]
    assert main(words) == 0, capsys.readouterr().err
    assert np.load(file.parent / "out.npy").tolist() == list(range(63, -1, -1))


def test_a_declared_local_size_is_not_replaced(checked, written) -> None:
    report = checked(written(_BLOCK), "--local-size", "64")
    assert report["code"] == 2
    assert "Give their values instead of a local size: --spec 0=64" in report["error"]


def test_a_mended_shader_keeps_the_local_size(checked, written, tmp_path: Path, capsys) -> None:
    file = written(_REVERSAL.replace("63u - i", "64u - i"))
    folder = tmp_path / "made"
    report = checked(file, "--local-size", "64", "--repro", str(folder))
    assert report["code"] == 1
    source = folder / "shaders" / "0.comp.glsl"
    source.write_text(source.read_text().replace("64u - i", "63u - i"))
    assert main(["run", str(folder), "--device", "reference"]) == 0
    output = capsys.readouterr().out
    assert "workgroups of (64, 1, 1)" in output
    assert "nothing found" in output


# --- guarantees of the host -----------------------------------------------------------------------------

# The number of the subgroup is computed from the local index, which is right only for linear lanes.
_LINEAR = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer S { uint sums[]; };
shared uint partials[64];
void main() {
    uint sum = subgroupAdd(a[gl_GlobalInvocationID.x]);
    if (gl_LocalInvocationIndex % gl_SubgroupSize == 0u)
        partials[gl_LocalInvocationIndex / gl_SubgroupSize] = sum;
    barrier();
    uint total = 0u;
    for (uint i = 0u; i < (64u + gl_SubgroupSize - 1u) / gl_SubgroupSize; i++) total += partials[i];
    if (gl_LocalInvocationIndex == 0u) sums[gl_WorkGroupID.x] = total;
}
"""

# The last invocation of a full subgroup writes the sum.
_FULL = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer S { uint sums; };
void main() {
    uint sum = subgroupAdd(1u);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u) atomicAdd(sums, sum);
}
"""

# A constant tells this shader the subgroup size 32.
_TOLD_32 = Path(__file__).parent / "wrong" / "partials_by_warp.comp"


def test_linear_lanes_leave_out_the_runs_with_shuffled_lanes(checked, written) -> None:
    file = written(_LINEAR)
    (finding,) = checked(file)["findings"]
    assert finding["kind"] == "assumes"
    assert "--lanes linear" in finding["help"]
    report = checked(file, "--lanes", "linear", "--full-subgroups")
    assert report["findings"] == []
    assert not any(run["shuffled"] for run in report["covered"]["configurations"])
    assert report["covered"]["sizes"] == [1, 4, 8, 16, 32, 64]
    assert "  assumed: linear lanes: no run had shuffled lanes" in report["text"]


def test_full_subgroups_leave_out_sizes_and_keep_shuffled_lanes(checked, written) -> None:
    file = written(_FULL)
    assert [finding["kind"] for finding in checked(file)["findings"]] == ["differs"]
    report = checked(file, "--full-subgroups")
    assert report["findings"] == []
    assert report["covered"]["sizes"] == [1, 4, 8, 16, 32, 64]
    assert any(run["shuffled"] for run in report["covered"]["configurations"])
    assert report["covered"]["not_covered"] == [
        ["size 128", "full subgroups need a local size in x that is a multiple (it is 64)"]
    ]
    assert "assumed: full subgroups: only sizes that divide the local size in x were run" in report["text"]
    # Vulkan does not order the lanes of full subgroups.
    assert checked(written(_LINEAR), "--full-subgroups")["findings"] != []
    assert checked(written(_LINEAR), "--full-subgroups", "--lanes", "linear")["findings"] == []


def test_full_subgroups_at_no_size_are_refused(checked, written) -> None:
    report = checked(written(_FULL), "--full-subgroups", "--subgroup-size", "128")
    assert report["code"] == 2
    assert "choose a subgroup size that divides it" in report["error"]


def test_devices_require_full_subgroups(
    checked, written, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    devices = (swiftshader.name, lavapipe.name)
    report = checked(written(_FULL), "--full-subgroups", devices=devices)
    assert report["findings"] == []
    lacking = {what: why for what, why in report["covered"]["not_covered"] if what != "size 128"}
    covered = report["covered"]["devices"]
    assert len(covered) + len(lacking) == 2
    assert all("computeFullSubgroups" in why for why in lacking.values())
    narrow = checked(written(_FULL.replace("= 64", "= 6")), "--full-subgroups", devices=(lavapipe.name,))
    ((_, why),) = [entry for entry in narrow["covered"]["not_covered"] if "size " not in entry[0][:5]]
    assert "a local size in x that is a multiple of 8" in why


def test_without_size_control_devices_choose_their_size(checked) -> None:
    required = {run["subgroup_size"] for run in _device_runs(checked(_TOLD_32, devices=("reference:16",)))}
    report = checked(_TOLD_32, "--no-size-control", devices=("reference:16",))
    assert len(required) > 1
    assert {(run["subgroup_size"], run["required"]) for run in _device_runs(report)} == {(16, False)}
    # The constant does not restrict the sizes of the reference device.
    assert report["covered"]["sizes"] == [1, 4, 8, 16, 32, 64, 128]
    assert "assumed: no size control: no run required a subgroup size of a device" in report["text"]
    assert [finding["kind"] for finding in report["findings"]] == ["assumes"]


def _device_runs(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [run for run in report["covered"]["configurations"] if run["device"]]


def test_guarantees_are_part_of_the_repeated_command_and_of_the_folder(
    checked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    given = ("--full-subgroups", "--lanes", "linear", "--no-size-control")
    report = checked(_TOLD_32, *given, "--repro", str(folder))
    (finding,) = report["findings"]
    assert "--full-subgroups --lanes linear --no-size-control" in finding["command"]
    assert main(["run", str(folder), "--device", "reference"]) == 1
    output = capsys.readouterr().out
    for sentence in report["covered"]["assumed"]:
        assert f"assumed: {sentence}" in output


def test_the_compiler_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.comp"
    file.write_text("#version 460\nlayout(local_size_x = 4) in;\nvoid main() {}\n")
    words = ["check", str(file), "--device", "none", "--subgroup-size", "4", "--json", "-"]
    assert main(words) == 0
    printed = capsys.readouterr()
    name = compiler_name()
    assert json.loads(printed.out)["covered"]["compiler"] == name
    assert f"compiled by {name}" in printed.err
    assert check(file, sizes=[4]).covered.compiler == name
    module = compile_file(file)
    assert check(module, sizes=[4]).covered.compiler == ""


def test_two_kinds_on_one_binding_are_refused_as_by_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.comp"
    file.write_text(
        "#version 460\nlayout(local_size_x = 4) in;\nlayout(binding = 0) uniform C { uint n; };\n"
        "layout(binding = 0) buffer B { uint x[]; };\nvoid main() { x[gl_LocalInvocationIndex] = n; }\n"
    )
    messages = []
    for words in (["run", "--groups", "1", "--out", "B=uint[4]"], ["check", "--subgroup-size", "4"]):
        assert main([words[0], str(file), *words[1:], "--device", "reference"]) == 3
        messages.append(capsys.readouterr().err)
    assert messages[0] == messages[1]
    assert "storage buffer and uniform buffer, which cannot be bound" in messages[0]
