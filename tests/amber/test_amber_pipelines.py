"""What pipelines of Amber scripts may leave out or give in another form, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from amber.scripts import COLORED, run

from vkgroup.amber import ScriptStatus
from vkgroup.dispatch import Device


def passes(device: Device, folder: Path, text: str) -> None:
    outcome = run(device, folder, text)
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


def script(code: str, buffers: str, pipeline: str, end: str) -> str:
    return (
        f"#!amber\nSHADER compute shader GLSL\n#version 450\n{code}\nEND\n{buffers}"
        f"PIPELINE compute pipeline\n  ATTACH shader{pipeline}END\nRUN pipeline 1 1 1\n{end}"
    )


FOUND = "BUFFER found DATA_TYPE uint32 DATA 0 END\n"
BIND = "\n  BIND BUFFER found AS storage DESCRIPTOR_SET 0 BINDING 0\n"
BLOCK = "layout(set = 0, binding = 0) buffer Found { uint found; };\n"


def test_a_buffer_that_no_shader_uses_may_be_missing(device: Device, tmp_path: Path) -> None:
    code = BLOCK + (
        "layout(set = 0, binding = 1) buffer Never { uint never[]; };\n"
        "layout(set = 0, binding = 2) uniform Ever { vec4 ever[2]; };\nvoid main() { found = 7u; }"
    )
    passes(device, tmp_path, script(code, FOUND, BIND, "EXPECT found IDX 0 EQ 7\n"))
    used = script(code.replace("7u", "never[0]"), FOUND, BIND, "")
    outcome = run(device, tmp_path, used)
    assert outcome.status is ScriptStatus.ERROR
    assert "No array or buffer is given for: Never" in outcome.reason


@pytest.mark.parametrize(
    ("given", "declared", "expected"),
    [
        ("uint32 0x3fc00000", "float k = 0.0", "floatBitsToUint(k)"),
        ("float 1.5", "int k = 0", "uint(k)"),
        ("int32 0x3fc00000", "uint k = 0", "k"),
    ],
)
def test_a_constant_has_the_bits_of_its_type(
    device: Device, tmp_path: Path, given: str, declared: str, expected: str
) -> None:
    code = f"layout(constant_id = 3) const {declared};\n{BLOCK}void main() {{ found = {expected}; }}"
    pipeline = f" SPECIALIZE 3 AS {given} SPECIALIZE 9 AS int32 1{BIND}"
    passes(device, tmp_path, script(code, FOUND, pipeline, f"EXPECT found IDX 0 EQ {0x3FC00000}\n"))


@pytest.mark.parametrize(("value", "expected"), [(0, 5), (1, 6), (256, 6)])
def test_a_constant_that_is_a_bool(device: Device, tmp_path: Path, value: int, expected: int) -> None:
    code = f"layout(constant_id = 3) const bool k = false;\n{BLOCK}void main() {{ found = k ? 6u : 5u; }}"
    pipeline = f" SPECIALIZE 3 AS uint32 {value}{BIND}"
    passes(device, tmp_path, script(code, FOUND, pipeline, f"EXPECT found IDX 0 EQ {expected}\n"))


def test_a_constant_of_another_size_is_not_supported(device: Device, tmp_path: Path) -> None:
    code = f"layout(constant_id = 3) const int k = 1;\n{BLOCK}void main() {{ found = uint(k); }}"
    outcome = run(device, tmp_path, script(code, FOUND, f" SPECIALIZE 3 AS uint64 2{BIND}", ""))
    assert outcome.status is ScriptStatus.NOT_SUPPORTED
    assert "SPECIALIZE 3 with a type of another size" in outcome.reason


def test_push_constants_may_be_longer_than_the_block(device: Device, tmp_path: Path) -> None:
    push = "layout(push_constant) uniform Push { uint one, two; };\n"
    code = f"{push}{BLOCK}void main() {{ found = one + two; }}"
    pushed = FOUND + "BUFFER pushed DATA_TYPE uint32 DATA 3 4 100 END\n"
    pipeline = BIND + "  BIND BUFFER pushed AS push_constant\n"
    passes(device, tmp_path, script(code, pushed, pipeline, "EXPECT found IDX 0 EQ 7\n"))


def test_a_small_buffer_at_two_bindings(device: Device, tmp_path: Path) -> None:
    code = BLOCK + (
        "layout(set = 0, binding = 1) buffer More { uint more[16]; };\n"
        "void main() { found = 1u; memoryBarrierBuffer(); more[9] = 2u; }"
    )
    pipeline = BIND + "  BIND BUFFER found AS storage DESCRIPTOR_SET 0 BINDING 1\n"
    outcome = run(device, tmp_path, script(code, FOUND, pipeline, "EXPECT found IDX 0 EQ 1\n"))
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


def test_a_buffer_without_a_size_gets_that_of_its_copy(device: Device, tmp_path: Path) -> None:
    draw = (
        "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\nCOPY frame TO copied\n"
        "EXPECT copied IDX 15 7 SIZE 1 1 EQ_RGBA 255 51 0 255\n"
    )
    passes(device, tmp_path, COLORED + "BUFFER copied FORMAT B8G8R8A8_UNORM\n" + draw)


TWO = """\
PIPELINE compute other
  ATTACH stores
  BIND BUFFER frame AS storage DESCRIPTOR_SET 0 BINDING 0
END
SHADER compute stores GLSL
#version 450
layout(set = 0, binding = 0) buffer Words { uint words[]; };
void main() { words[0] = 1u; }
END
"""


def test_a_color_buffer_that_is_also_a_storage_buffer_is_not_supported(
    device: Device, tmp_path: Path
) -> None:
    pipeline, _, shader = TWO.partition("SHADER")
    outcome = run(device, tmp_path, f"{COLORED}SHADER{shader}{pipeline}CLEAR pipeline\n")
    assert outcome.status is ScriptStatus.NOT_SUPPORTED
    assert "frame is an image and a buffer" in outcome.reason


def test_a_second_draw_to_several_samples_is_not_supported(device: Device, tmp_path: Path) -> None:
    text = COLORED.replace(
        "BUFFER frame FORMAT B8G8R8A8_UNORM\n",
        "BUFFER many FORMAT B8G8R8A8_UNORM SAMPLES 4\nBUFFER frame FORMAT B8G8R8A8_UNORM\n",
    ).replace("BIND BUFFER frame AS color LOCATION 0", "BIND BUFFER many AS color LOCATION 0\n"
              "  BIND BUFFER frame AS resolve")  # fmt: skip
    draw = "RUN pipeline DRAW_RECT POS 0 0 SIZE 8 8\n"
    expected = "EXPECT frame IDX 0 0 SIZE 8 8 EQ_RGBA 255 51 0 255\n"
    passes(device, tmp_path, text + draw + expected)
    passes(device, tmp_path, text + draw + "CLEAR pipeline\n" + draw + expected)
    outcome = run(device, tmp_path, text + draw + draw)
    assert outcome.status is ScriptStatus.NOT_SUPPORTED
    assert "two draws to several samples" in outcome.reason


def test_a_framebuffer_that_is_too_large_is_not_supported(device: Device, tmp_path: Path) -> None:
    outcome = run(device, tmp_path, COLORED.replace("16 8", "4194304 4194304") + "CLEAR pipeline\n")
    assert outcome.status is ScriptStatus.NOT_SUPPORTED
    assert "frame has more than" in outcome.reason


def test_one_constant_with_two_values_is_not_supported(device: Device, tmp_path: Path) -> None:
    text = COLORED.replace("SHADER vertex vertices PASSTHROUGH\n", (
        "SHADER vertex vertices GLSL\n#version 450\nlayout(constant_id = 1) const float k = 1.0;\n"
        "layout(location = 0) in vec4 position;\nvoid main() { gl_Position = k * position; }\nEND\n"
    )).replace("color = light;", "color = k * light;").replace(
        "layout(set = 0, binding = 0) uniform Light", "layout(constant_id = 1) const float k = 1.0;\n"
        "layout(set = 0, binding = 0) uniform Light"
    )  # fmt: skip
    draw = "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\n"
    text = text.replace("ATTACH vertices", "ATTACH vertices SPECIALIZE 1 AS float 1")
    one, two = (
        text.replace("ATTACH colors", f"ATTACH colors SPECIALIZE 1 AS float {number}") + draw
        for number in (1, 2)
    )
    passes(device, tmp_path, one)
    outcome = run(device, tmp_path, two)
    assert outcome.status is ScriptStatus.NOT_SUPPORTED
    assert "one specialization constant with two values" in outcome.reason


def test_an_include_of_a_virtual_file(device: Device, tmp_path: Path) -> None:
    text = script(
        f'#extension GL_GOOGLE_include_directive : require\n#include "parts/seven.glsl"\n{BLOCK}'
        "void main() { found = seven(); }",
        FOUND,
        BIND,
        "EXPECT found IDX 0 EQ 7\n",
    )
    virtual = 'VIRTUAL_FILE "parts/seven.glsl"\nuint seven() { return 7u; }\nEND\n'
    passes(device, tmp_path, text.replace("#!amber\n", f"#!amber\n{virtual}"))
    outside = run(
        device, tmp_path, text.replace("#!amber\n", f"#!amber\n{virtual.replace('parts', '../..')}")
    )
    assert outside.status is ScriptStatus.ERROR
    assert "a VIRTUAL_FILE cannot be outside: ../../seven.glsl" in outside.reason


@pytest.mark.parametrize(
    ("dimension", "extent", "kind", "place"),
    [
        ("1D", "WIDTH 4", "uimage1D", "3"),
        ("2D", "WIDTH 2 HEIGHT 2", "uimage2D", "ivec2(1, 1)"),
        ("3D", "WIDTH 1 HEIGHT 2 DEPTH 2", "uimage3D", "ivec3(0, 1, 1)"),
    ],
)
def test_images_of_each_dimension(
    device: Device, tmp_path: Path, dimension: str, extent: str, kind: str, place: str
) -> None:
    code = (
        f"layout(set = 0, binding = 1, r32ui) uniform {kind} image;\n{BLOCK}"
        f"void main() {{ found = imageLoad(image, {place}).x; imageStore(image, {place}, uvec4(9)); }}"
    )
    image = f"IMAGE image FORMAT R32_UINT DIM_{dimension} {extent} DATA 1 2 3 4 END\n"
    pipeline = BIND + "  BIND BUFFER image AS storage_image DESCRIPTOR_SET 0 BINDING 1\n"
    expected = "EXPECT found IDX 0 EQ 4\nEXPECT image IDX 0 EQ 1 2 3 9\n"
    passes(device, tmp_path, script(code, FOUND + image, pipeline, expected))
