"""Modules at the limits of the reference device: a message with the limit, no traceback, no memory taken."""

from __future__ import annotations

import resource
import struct
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.cli.main import NO_DEVICE, main
from vkgroup.compiler import compile_source
from vkgroup.spirv import Module

SHADER = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { x[gl_GlobalInvocationID.x] += 1u; }
"""

OP_CONSTANT, OP_DECORATE, OP_MEMBER_DECORATE = 43, 71, 72
ARRAY_STRIDE, MATRIX_STRIDE = 6, 7


def chain(length: int) -> str:
    """Return a shader whose functions call each other."""
    calls = [f"uint f{n}(uint a) {{ return f{n - 1}(a) + 1u; }}" for n in range(1, length)]
    functions = ["uint f0(uint a) { return a + 1u; }", *calls]
    main_ = f"void main() {{ x[gl_GlobalInvocationID.x] = f{length - 1}(0u); }}"
    return "\n".join([*SHADER.splitlines()[:3], *functions, main_, ""])


@pytest.mark.parametrize("length", [600, 5000])
def test_deep_calls_are_refused(length: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shader = tmp_path / "deep.comp"
    shader.write_text(chain(length))
    run = ["run", str(shader), "--groups", "1", "--out", "0=uint[64]", "--device", "reference"]
    for command in (run, ["check", str(shader), "--device", "none", "--subgroup-size", "4"]):
        assert main(command) == NO_DEVICE
        assert "call each other over 256 levels deep" in capsys.readouterr().err


def test_calls_up_to_the_limit_run() -> None:
    with vkgroup.open("reference") as device:
        result = device.run(chain(256), 1, {0: np.zeros(64, np.uint32)})
        assert (result[0] == 256).all()


def _changed(module: Module, opcode: int, *ending: int, new: int) -> bytes:
    """Return a module in which instructions whose last operands are `ending` have another last operand."""
    words = list(module.words)
    position, found = 5, False
    while position < len(words):
        end = position + (words[position] >> 16)
        if words[position] & 0xFFFF == opcode and tuple(words[end - len(ending) : end]) == ending:
            words[end - 1], found = new, True
        position = end
    assert found
    return struct.pack(f"<{len(words)}I", *words)


def _assert_refused_before_allocation(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["check", str(module), "--device", "none", "--subgroup-size", "4"]) == NO_DEVICE
    assert "the limit of all generated buffers and images is 64 MiB" in capsys.readouterr().err
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.mark.parametrize("bit", [20, 26, 31])
def test_a_stride_with_a_flipped_bit(bit: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "stride.spv"
    valid = compile_source(SHADER, stage="compute")
    module.write_bytes(_changed(valid, OP_DECORATE, ARRAY_STRIDE, 4, new=4 ^ 1 << bit))
    _assert_refused_before_allocation(module, capsys)


@pytest.mark.parametrize(
    ("declaration", "element", "change", "new"),
    [
        ("uint x[8][4]", "x[1][0]", (OP_CONSTANT, 4), 1 << 31),
        ("mat4 x[8]", "x[1][0][0]", (OP_MEMBER_DECORATE, MATRIX_STRIDE, 16), 1 << 30),
    ],
    ids=["arrays", "matrices"],
)
def test_elements_that_overlap(
    declaration: str,
    element: str,
    change: tuple[int, ...],
    new: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Elements of 4 or 8 GiB, 16 or 64 bytes apart: SPIRV-Tools computes sizes with 32 bits."""
    source = SHADER.replace("uint x[]", declaration).replace("x[gl_GlobalInvocationID.x]", element)
    module = tmp_path / "overlap.spv"
    module.write_bytes(_changed(compile_source(source, stage="compute"), *change, new=new))
    _assert_refused_before_allocation(module, capsys)


IMAGES = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) uniform sampler2D images[100000];
layout(binding = 1) buffer B { float b[]; };
void main() { b[gl_GlobalInvocationID.x] = texture(images[3], vec2(0)).x; }
"""

DESCRIPTORS = IMAGES.replace("uniform sampler2D images", "buffer I { float i; } images").replace(
    "texture(images[3], vec2(0)).x", "images[3].i"
)


@pytest.mark.parametrize(("source", "size"), [(IMAGES, "390.6 MiB"), (DESCRIPTORS, "97.66 MiB")])
def test_many_descriptors_are_refused(source: str, size: str, tmp_path: Path, capsys) -> None:
    """The budget counts images, and at least 1 KiB for each descriptor."""
    shader = tmp_path / "many.comp"
    shader.write_text(source)
    assert main(["check", str(shader), "--device", "none", "--subgroup-size", "4"]) == NO_DEVICE
    err = capsys.readouterr().err
    assert f"The generated contents of images would need {size}; the limit of all generated" in err


@pytest.mark.parametrize("data", [float("nan"), float("inf"), 1.5, True, "x", 1j])
@pytest.mark.parametrize("device", ["reference", "swiftshader"])
def test_a_buffer_is_made_of_bytes_or_an_array(data: object, device: str) -> None:
    with vkgroup.open(device) as opened:
        with pytest.raises(InvalidDispatch, match="is neither a number of bytes"):
            opened.buffer(data)
        assert opened.buffer(np.float32(1.5)).nbytes == 4
