"""Amber scripts on the software drivers and on the reference device."""

from __future__ import annotations

from pathlib import Path

import pytest
from amber.scripts import COLORED, DOUBLES, START, run

import vkgroup
from vkgroup.amber import ScriptStatus
from vkgroup.dispatch import Device

RUN = "RUN pipeline 1 1 1\n"


@pytest.mark.parametrize(
    ("expectation", "difference"),
    [
        ("EXPECT data IDX 0 EQ 2 4 6 8", ""),
        ("EXPECT data IDX 4 EQ 4 6", ""),
        ("EXPECT data IDX 4 EQ 4 7", "value 1 is 6, expected EQ 7"),
        ("EXPECT data IDX 0 NE 1 1 1 1", ""),
        ("EXPECT data IDX 8 NE 6", "value 0 is 6, expected NE 6"),
        ("EXPECT data IDX 0 LT 3 5 7 9", ""),
        ("EXPECT data IDX 0 LT 2", "value 0 is 2, expected LT 2"),
        ("EXPECT data IDX 0 LE 2", ""),
        ("EXPECT data IDX 0 GT 1", ""),
        ("EXPECT data IDX 0 GE 3", "value 0 is 2, expected GE 3"),
        ("EXPECT data IDX 0 TOLERANCE 1 EQ 3 3", ""),
        ("EXPECT data IDX 0 TOLERANCE 1 EQ 4", "value 0 is 2, expected EQ 4"),
        ("EXPECT data IDX 12 TOLERANCE 20% EQ 10", ""),
        ("EXPECT data IDX 12 TOLERANCE 19% EQ 10", "value 0 is 8, expected EQ 10"),
        ("EXPECT data EQ_BUFFER right", ""),
        ("EXPECT data EQ_BUFFER wrong", "1 bytes differ; element 3 is [8], expected [9]"),
        ("EXPECT data RMSE_BUFFER wrong TOLERANCE 0.5", ""),
        # The square root of (9 - 8)² / 4.
        ("EXPECT data RMSE_BUFFER wrong TOLERANCE 0.49", "the root mean square error is 0.5, more than 0.49"),
    ],
)
def test_expectations(device: Device, tmp_path: Path, expectation: str, difference: str) -> None:
    others = (
        "BUFFER right DATA_TYPE uint32 DATA 2 4 6 8 END\nBUFFER wrong DATA_TYPE uint32 DATA 2 4 6 9 END\n"
    )
    text = START + others + RUN + expectation
    outcome = run(device, tmp_path, text)
    if difference:
        line = text.count("\n") + 1
        assert outcome.status is ScriptStatus.FAIL
        assert outcome.reason == f"{tmp_path / 'a.amber'}:{line}: data: {difference}"
    else:
        assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


@pytest.mark.parametrize(
    ("expectation", "reason"),
    [
        ("EXPECT data IDX 2 EQ 1", "IDX 2 with 1 values is not in the buffer"),
        ("EXPECT data IDX 12 EQ 1 2", "IDX 12 with 2 values is not in the buffer"),
        ("EXPECT data EQ_BUFFER short", "the buffers have different sizes or types"),
        ("EXPECT data EQ_HISTOGRAM_EMD_BUFFER data TOLERANCE 0.1", "four channels of 8 bits"),
    ],
)
def test_expectations_that_do_not_fit(device: Device, tmp_path: Path, expectation: str, reason: str) -> None:
    text = f"{START}BUFFER short DATA_TYPE uint32 DATA 1 END\n{RUN}{expectation}\n"
    outcome = run(device, tmp_path, text)
    assert outcome.status is ScriptStatus.ERROR
    assert outcome.reason.startswith(f"{tmp_path / 'a.amber'}:{text.count(chr(10))}: ")
    assert reason in outcome.reason


def test_repeat_and_copy(device: Device, tmp_path: Path) -> None:
    text = (
        START + "BUFFER kept DATA_TYPE uint32 SIZE 4 FILL 0\n"
        "REPEAT 3\n  RUN pipeline 1 1 1\n  EXPECT data IDX 0 GE 2\nEND\n"
        "COPY data TO kept\nRUN pipeline 1 1 1\n"
        "EXPECT data IDX 0 EQ 16 32 48 64\nEXPECT kept IDX 0 EQ 8 16 24 32\n"
    )
    assert run(device, tmp_path, text).status is ScriptStatus.PASS


INPUTS = """\
#!amber
SHADER compute shader GLSL
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const float factor = 1.0;
layout(push_constant) uniform Push { int added; };
layout(set = 0, binding = 0) uniform Part { int part; };
layout(set = 0, binding = 2) buffer Results { float results[]; };
void main() { results[gl_GlobalInvocationID.x] = factor * float(added + part) + float(gl_WorkGroupSize.x); }
END
BUFFER part DATA_TYPE int32 SIZE 128 SERIES_FROM 0 INC_BY 1
BUFFER push DATA_TYPE int32 DATA -3 END
BUFFER results DATA_TYPE float SIZE 8 FILL 0
PIPELINE compute pipeline
  ATTACH shader SPECIALIZE 0 AS uint32 4 SPECIALIZE 1 AS float 0.5
  BIND BUFFER part AS uniform_dynamic DESCRIPTOR_SET 0 BINDING 0 OFFSET 256
  BIND BUFFER results AS storage DESCRIPTOR_SET 0 BINDING 2
  BIND BUFFER push AS push_constant
END
RUN pipeline 2 1 1
"""


def test_constants_offsets_and_push_constants(device: Device, tmp_path: Path) -> None:
    # 0.5 · (-3 + 256 / 4) + 4.
    expected = " ".join(["34.5"] * 8)
    outcome = run(device, tmp_path, f"{INPUTS}EXPECT results IDX 0 EQ {expected}\n")
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


def test_arrays_of_buffers(device: Device, tmp_path: Path) -> None:
    text = """\
#!amber
SHADER compute shader GLSL
#version 450
layout(set = 1, binding = 3) buffer Data { uint data; } parts[2];
void main() { parts[0].data = 10u; parts[1].data += 20u; }
END
BUFFER one DATA_TYPE uint32 DATA 1 END
BUFFER two DATA_TYPE uint32 DATA 2 END
PIPELINE compute pipeline
  ATTACH shader
  BIND BUFFER_ARRAY one two AS storage DESCRIPTOR_SET 1 BINDING 3
END
RUN pipeline 1 1 1
EXPECT one IDX 0 EQ 10
EXPECT two IDX 0 EQ 22
"""
    assert run(device, tmp_path, text).status is ScriptStatus.PASS


SIZES = """\
#!amber
SHADER compute shader GLSL TARGET_ENV spv1.3
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Size { uint size; };
void main() { size = gl_SubgroupSize; }
END
BUFFER size DATA_TYPE uint32 DATA 0 END
PIPELINE compute pipeline
  ATTACH shader
  BIND BUFFER size AS storage DESCRIPTOR_SET 0 BINDING 0
  SUBGROUP shader
    FULLY_POPULATED on
    REQUIRED_SIZE {size}
  END
END
RUN pipeline 1 1 1
"""


@pytest.mark.parametrize("size", [4, 16, "MIN", "MAX"])
def test_required_sizes(tmp_path: Path, size: int | str) -> None:
    with vkgroup.open("reference:8") as device:
        control = device.capabilities.size_control
        sizes = {"MIN": control.min_size, "MAX": 32}
        expected = sizes.get(str(size), size)
        text = SIZES.replace("{size}", str(size)).replace("local_size_x = 32", "local_size_x = 128")
        outcome = run(
            device,
            tmp_path,
            f"{text}EXPECT size IDX 0 EQ {control.max_size if size == 'MAX' else expected}\n",
        )
        assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


def test_a_size_that_the_device_lacks_is_named(tmp_path: Path) -> None:
    with vkgroup.open("swiftshader") as device:
        outcome = run(device, tmp_path, SIZES.replace("{size}", "64"))
    assert outcome.status is ScriptStatus.NOT_SUPPORTED
    assert "64" in outcome.reason


@pytest.mark.parametrize(
    ("commands", "difference"),
    [
        (
            "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\nEXPECT frame IDX 0 0 SIZE 16 8 EQ_RGBA 255 51 0 255\n",
            "",
        ),
        ("RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\nEXPECT frame IDX 3 2 SIZE 1 1 EQ_RGB 255 51 0\n", ""),
        (
            "CLEAR_COLOR pipeline 0 0 255 0\nCLEAR pipeline\nRUN pipeline DRAW_RECT POS 0 0 SIZE 8 8\n"
            "EXPECT frame IDX 0 0 SIZE 8 8 EQ_RGBA 255 51 0 255\n"
            "EXPECT frame IDX 8 0 SIZE 8 8 EQ_RGBA 0 0 255 0\n",
            "",
        ),
        (
            "RUN pipeline DRAW_GRID POS 0 0 SIZE 16 8 CELLS 4 2\n"
            "EXPECT frame IDX 0 0 SIZE 16 8 EQ_RGBA 255 51 0 255\n",
            "",
        ),
        (
            "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 4\nEXPECT frame IDX 0 0 SIZE 16 8 EQ_RGBA 255 51 0 255\n",
            "frame: pixel (0, 4) is (0, 0, 0, 0), expected (255, 51, 0, 255); 64 of 128 pixels differ",
        ),
        # The default tolerance is 0.002, which is less than 1 / 255.
        (
            "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\nEXPECT frame IDX 0 0 SIZE 1 1 EQ_RGBA 254 51 0 255\n",
            "pixel",
        ),
        (
            "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\n"
            "EXPECT frame IDX 0 0 SIZE 1 1 EQ_RGBA 254 52 0 255 TOLERANCE 0.004\n",
            "",
        ),
    ],
)
def test_draws(device: Device, tmp_path: Path, commands: str, difference: str) -> None:
    outcome = run(device, tmp_path, COLORED + commands)
    assert outcome.status is (ScriptStatus.FAIL if difference else ScriptStatus.PASS), outcome.reason
    assert difference in outcome.reason


def test_histograms(device: Device, tmp_path: Path) -> None:
    text = COLORED.replace(
        "BUFFER frame FORMAT", "BUFFER other FORMAT B8G8R8A8_UNORM\nBUFFER frame FORMAT"
    ).replace("  BIND BUFFER light", "  BIND BUFFER other AS color LOCATION 1\n  BIND BUFFER light")
    draw = "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\n"
    # All of red moves from 0 to 255, over 255 of 256 bins.
    most = "EXPECT frame EQ_HISTOGRAM_EMD_BUFFER other TOLERANCE 0.997\n"
    assert run(device, tmp_path, text + draw + most).status is ScriptStatus.PASS
    outcome = run(device, tmp_path, text + draw + most.replace("0.997", "0.99"))
    assert outcome.status is ScriptStatus.FAIL
    assert f"the distance of the histograms is {255 / 256:g}, more than 0.99" in outcome.reason


def test_vertices_indices_and_arrays_of_inputs(device: Device, tmp_path: Path) -> None:
    text = """\
#!amber
SHADER vertex vertices GLSL
#version 450
layout(location = 0) in vec2 position;
layout(location = 1) in vec3 parts[2];
layout(location = 0) out vec3 sum;
void main() { gl_Position = vec4(position, 0.0, 1.0); sum = parts[0] + parts[1]; }
END
SHADER fragment colors GLSL
#version 450
layout(location = 0) in vec3 sum;
layout(location = 0) out vec4 color;
void main() { color = vec4(sum, 1.0); }
END
BUFFER position DATA_TYPE vec2<float> DATA -1 -1  3 -1  -1 3 END
BUFFER one DATA_TYPE R8G8B8A8_UNORM DATA 0 51 0 0  0 51 0 0  0 51 0 0 END
BUFFER two DATA_TYPE vec3<float> DATA 1 0 0.2  1 0 0.2  1 0 0.2 END
BUFFER order DATA_TYPE uint16 DATA 9 2 1 0 END
BUFFER frame FORMAT R8G8B8A8_UNORM
PIPELINE graphics pipeline
  ATTACH vertices
  ATTACH colors
  FRAMEBUFFER_SIZE 8 8
  VERTEX_DATA position LOCATION 0
  VERTEX_DATA one LOCATION 1
  VERTEX_DATA two LOCATION 2
  INDEX_DATA order
  BIND BUFFER frame AS color LOCATION 0
END
RUN pipeline DRAW_ARRAY AS TRIANGLE_LIST INDEXED START_IDX 1 COUNT 3
EXPECT frame IDX 0 0 SIZE 8 8 EQ_RGBA 255 51 51 255
"""
    outcome = run(device, tmp_path, text)
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


DEPTHS = """\
#!amber
SHADER vertex vertices GLSL
#version 450
layout(location = 0) in vec2 position;
layout(push_constant) uniform Push { float depth; };
void main() { gl_Position = vec4(position, depth, 1.0); }
END
SHADER fragment colors GLSL
#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(1.0); }
END
BUFFER depth DATA_TYPE float DATA 0.5 END
BUFFER frame FORMAT R8G8B8A8_UNORM
BUFFER depths FORMAT D32_SFLOAT
PIPELINE graphics pipeline
  ATTACH vertices
  ATTACH colors
  FRAMEBUFFER_SIZE 4 4
  BIND BUFFER frame AS color LOCATION 0
  BIND BUFFER depths AS depth_stencil
  BIND BUFFER depth AS push_constant
  DEPTH
    TEST on
    WRITE on
    COMPARE_OP greater
  END
END
CLEAR_DEPTH pipeline {clear}
CLEAR pipeline
RUN pipeline DRAW_RECT POS 0 0 SIZE 4 4
"""


@pytest.mark.parametrize(("clear", "red", "depth"), [(0.25, 255, 0.5), (0.75, 0, 0.75)])
def test_depth(device: Device, tmp_path: Path, clear: float, red: int, depth: float) -> None:
    text = DEPTHS.replace("{clear}", str(clear))
    end = f"EXPECT frame IDX 0 0 SIZE 4 4 EQ_RGB {red} {red} {red}\nEXPECT depths IDX 0 EQ {depth} {depth}\n"
    outcome = run(device, tmp_path, text + end)
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


IMAGES = """\
#!amber
SHADER compute shader GLSL
#version 450
layout(set = 0, binding = 0, r32i) uniform iimage2D written;
layout(set = 0, binding = 1) uniform sampler2D read;
layout(set = 0, binding = 2) uniform samplerBuffer texels;
layout(set = 0, binding = 3) buffer Found { vec4 found[2]; };
void main()
{
    imageStore(written, ivec2(1, 2), ivec4(-7));
    found[0] = textureLod(read, vec2(1.25, 0.5), 0.0);
    found[1] = texelFetch(texels, 1);
}
END
IMAGE written DATA_TYPE int32 DIM_2D WIDTH 2 HEIGHT 3 FILL 5
IMAGE read FORMAT R8G8B8A8_UNORM DIM_2D WIDTH 2 HEIGHT 1 DATA 255 0 0 255  0 255 0 255 END
BUFFER texels DATA_TYPE R8G8B8A8_SNORM DATA 0 0 0 0  127 -127 0 127 END
BUFFER found DATA_TYPE vec4<float> SIZE 2 FILL 0
SAMPLER repeated ADDRESS_MODE_U repeat
SAMPLER clamped ADDRESS_MODE_U clamp_to_edge
PIPELINE compute pipeline
  ATTACH shader
  BIND BUFFER written AS storage_image DESCRIPTOR_SET 0 BINDING 0
  BIND BUFFER read AS combined_image_sampler SAMPLER {sampler} DESCRIPTOR_SET 0 BINDING 1
  BIND BUFFER texels AS uniform_texel_buffer DESCRIPTOR_SET 0 BINDING 2
  BIND BUFFER found AS storage DESCRIPTOR_SET 0 BINDING 3
END
RUN pipeline 1 1 1
EXPECT written IDX 0 EQ 5 5 5 5 5 -7
"""


@pytest.mark.parametrize(("sampler", "color"), [("repeated", "1 0 0 1"), ("clamped", "0 1 0 1")])
def test_images_and_samplers(device: Device, tmp_path: Path, sampler: str, color: str) -> None:
    text = IMAGES.replace("{sampler}", sampler) + f"EXPECT found IDX 0 EQ {color} 1 -1 0 1\n"
    outcome = run(device, tmp_path, text)
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


def test_an_undefined_value_that_is_compared_is_named(tmp_path: Path) -> None:
    text = START.replace(
        "data[gl_GlobalInvocationID.x] *= 2u;", "uint never; data[gl_GlobalInvocationID.x] = never;"
    )
    with vkgroup.open("reference") as device:
        found = run(device, tmp_path, f"{text}{RUN}EXPECT data IDX 0 EQ 0\n")
        assert found.status is ScriptStatus.PASS
        assert "byte 0, which is compared, is undefined" in found.reason
        outcome = run(device, tmp_path, f"{text}{RUN}EXPECT data IDX 0 EQ 1\n")
    assert outcome.status is ScriptStatus.INVALID
    assert "the shader has an error" in outcome.reason


def test_an_access_outside_makes_a_script_invalid(tmp_path: Path) -> None:
    text = f"{START}RUN pipeline 2 1 1\nEXPECT data IDX 0 EQ 1\n"
    with vkgroup.open("reference") as device:
        outcome = run(device, tmp_path, text)
    assert outcome.status is ScriptStatus.INVALID
    assert "value 0 is 2, expected EQ 1 (the shader has an error:" in outcome.reason


def test_a_buffer_smaller_than_its_block(tmp_path: Path) -> None:
    text = START.replace("uint data[]", "uint data[8]")
    with vkgroup.open("reference") as device:
        assert run(device, tmp_path, f"{text}{RUN}EXPECT data IDX 0 EQ 2 4 6 8\n").status is ScriptStatus.PASS
        # The bytes that the script does not give are undefined.
        read = text.replace("*= 2u", "= data[7]")
        assert "undefined" in run(device, tmp_path, f"{read}{RUN}EXPECT data IDX 0 EQ 0\n").reason


def test_errors_of_shaders_have_the_line_of_the_script(device: Device, tmp_path: Path) -> None:
    text = START.replace("*= 2u;", "*= two;")
    line = next(number for number, words in enumerate(text.split("\n"), 1) if "two" in words)
    outcome = run(device, tmp_path, text + RUN)
    assert outcome.status is ScriptStatus.ERROR
    assert outcome.reason.startswith(f"{tmp_path / 'a.amber'}:{line}:")


def test_the_environment_is_the_first_that_compiles(device: Device, tmp_path: Path) -> None:
    uses = "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\n"
    text = START.replace("#version 450\n", uses).replace("*= 2u", "= gl_SubgroupSize / gl_SubgroupSize")
    passes = run(device, tmp_path, f"{text}{RUN}EXPECT data IDX 0 EQ 1\n")
    assert (passes.status, passes.reason) == (ScriptStatus.PASS, "")
    old = run(device, tmp_path, text.replace("doubles GLSL", "doubles GLSL TARGET_ENV spv1.0") + RUN)
    assert old.status is ScriptStatus.ERROR


VKRUNNER = """\
# A comment.
[require]
VK_KHR_spirv_1_4

[compute shader]
#version 450
layout(set = 0, binding = 0) buffer Data { ivec2 data[]; };
layout(set = 0, binding = 1) uniform Added { int added; };
layout(push_constant) uniform Push { uint times; };
void main() { data[gl_WorkGroupID.x] = (data[gl_WorkGroupID.x] + added) * int(times); }

[test]
ssbo 0:0 24
ssbo 0:0 subdata ivec2 8 3 -4
uniform ubo 0:1 int 0 2
uniform uint 0 10
compute 3 1 1
probe ssbo int 0:0 0 == 20 20
probe ssbo ivec2 0:0 8 == {expected}
"""


@pytest.mark.parametrize(
    ("expected", "status"), [("50 -20", ScriptStatus.PASS), ("50 20", ScriptStatus.FAIL)]
)
def test_scripts_of_vkrunner(device: Device, tmp_path: Path, expected: str, status: ScriptStatus) -> None:
    assert run(device, tmp_path, VKRUNNER.replace("{expected}", expected)).status is status


def test_draws_of_vkrunner(device: Device, tmp_path: Path) -> None:
    text = """\
[vertex shader passthrough]
[fragment shader]
#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(0.2, 0.4, 0.6, 1.0); }
[test]
clear color 1 0 0 1
clear
draw rect -1 -1 1 2
probe rect rgba (0, 0, 125, 250) (0.2, 0.4, 0.6, 1.0)
relative probe rect rgb (0.5, 0.0, 0.5, 1.0) (1.0, 0.0, 0.0)
"""
    outcome = run(device, tmp_path, text)
    assert (outcome.status, outcome.reason) == (ScriptStatus.PASS, "")


def test_shaders_as_words(device: Device, tmp_path: Path) -> None:
    module = device.compile(DOUBLES.split("\n", 1)[1].rpartition("END")[0])
    words = " ".join(f"{word:08x}" for word in memoryview(module.to_bytes()).cast("I"))
    text = START.replace(DOUBLES, f"SHADER compute doubles SPIRV-HEX\n{words}\nEND\n")
    assert run(device, tmp_path, f"{text}{RUN}EXPECT data IDX 0 EQ 2 4 6 8\n").status is ScriptStatus.PASS
