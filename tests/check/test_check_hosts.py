"""Shaders that have a host: specialization constants, local sizes, and guarantees of the host."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.dispatch import Device
from vkgroup.drivers import Driver

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
_SEVERAL = "specialization id 0 has several defaults (BLOCK_SIZE 32, local size 1)"


def test_constants_with_one_id_have_one_value(
    checked, written: Callable[..., Path], swiftshader: Driver, lavapipe: Driver
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
    assert report["covered"]["notes"] == []


def test_an_id_that_the_shader_does_not_have_is_ignored_with_a_note(
    checked, written, capsys: pytest.CaptureFixture[str]
) -> None:
    report = checked(written(_BLOCK), "--spec", "0=32", "--spec", "7=1")
    assert report["findings"] == []
    note = "specialization id 7 is ignored: the shader does not have it. It has: 0, 1."
    assert report["covered"]["notes"] == [note]
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
    checked, written, swiftshader: Driver, lavapipe: Driver
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
    assert report["covered"]["notes"] == []
    assert len(report["covered"]["devices"]) == 2


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
