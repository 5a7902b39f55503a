"""Shaders that have a host: specialization constants, local sizes, and guarantees of the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vkgroup.cli.main import main
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
