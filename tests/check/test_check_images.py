"""Images of a checked shader: arrays of descriptors, generated extents, cubes, and accesses out of bounds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vkgroup.base.errors import InvalidDispatch
from vkgroup.check import check
from vkgroup.cli.main import main

#: Two levels of a mip chain as an array of descriptors; OFFSET moves the texel of the second level.
_CHAIN = """#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32f) uniform readonly image2D source;
layout(binding = 1, r32f) uniform writeonly image2D levels[2];
shared float tile[8][8];
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy), l = ivec2(gl_LocalInvocationID.xy);
    float v = imageLoad(source, p).x;
    imageStore(levels[0], p, vec4(v));
    tile[l.y][l.x] = v;
    barrier();
    if ((l.x & 1) == 0 && (l.y & 1) == 0) {
        float m = max(tile[l.y][l.x], tile[l.y][l.x + 1]);
        float n = max(tile[l.y + 1][l.x], tile[l.y + 1][l.x + 1]);
        imageStore(levels[1], p / 2 + OFFSET, vec4(max(m, n)));
    }
}
"""


def chain(folder: Path, offset: str = "ivec2(0)", sizes: tuple[int, ...] = (16, 8)) -> Path:
    """Write the shader of a mip chain with its inputs; return the file of the inputs."""
    (folder / "chain.comp").write_text(_CHAIN.replace("OFFSET", offset))
    levels = [{"fill": 0, "shape": [size, size]} for size in sizes]
    inputs = {"source": {"random": [0, 1], "shape": [16, 16]}, "levels": {"each": levels}}
    file = folder / "chain.json"
    file.write_text(json.dumps({"shader": "chain.comp", "groups": [2, 2], "inputs": inputs}))
    return file


# --- arrays of descriptors ----------------------------------------------------------------------------


def test_images_of_an_array_of_descriptors_may_differ_in_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = chain(tmp_path)
    assert main(["check", "--with", str(file), "--device", "none", "--device", "swiftshader"]) == 0
    assert f"{16 * 16 + 8 * 8} numbers of the outputs compared" in capsys.readouterr().out


def test_images_of_different_sizes_are_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, copy, folder = chain(tmp_path), tmp_path / "copy.json", tmp_path / "repro"
    words = ["--device", "none", "--save-with", str(copy), "--repro", str(folder)]
    assert main(["check", "--with", str(file), *words]) == 0
    assert main(["check", "--with", str(copy), "--device", "none"]) == 0
    record = json.loads((folder / "repro.json").read_text())
    shapes = [np.load(folder / file).shape for file in record["bindings"]["0.1"]]
    assert shapes == [(16, 16), (8, 8)]
    assert [np.load(folder / run["file"]).shape for run in record["runs"]] == shapes
    capsys.readouterr()
    assert main(["run", str(folder), "--device", "reference"]) == 0
    assert "levels: given" in capsys.readouterr().out


def test_buffers_of_an_array_of_descriptors_may_differ_in_length(written) -> None:
    shader = written(
        """#version 450
layout(local_size_x = 16) in;
layout(binding = 0) buffer Data { uint data[]; } many[2];
void main() { uint i = gl_LocalInvocationIndex; many[0].data[i] += 1u; many[1].data[i + 16u] += 1u; }
"""
    )
    given = [np.zeros(16, np.uint32), np.zeros(32, np.uint32)]
    report = check(shader, groups=(1,), inputs={"Data": given})
    assert report.findings == ()
    # The first half of the second buffer is not written.
    assert report.covered.compared == 32
    (finding,) = check(shader, groups=(1,), inputs={"Data": given[::-1]}).findings
    assert (finding.kind, finding.place.line) == ("bounds", 4)
    assert "many[1]" in finding.message


def test_a_difference_names_the_descriptor_of_an_image(written) -> None:
    shader = written(
        """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 16) in;
layout(binding = 0, r32ui) uniform writeonly uimage2D pictures[2];
void main() {
    imageStore(pictures[0], ivec2(gl_LocalInvocationIndex, 0), uvec4(0));
    imageStore(pictures[1], ivec2(gl_LocalInvocationIndex, 0), uvec4(gl_SubgroupID));
}
"""
    )
    given = [np.zeros((1, 20), np.uint32), np.zeros((2, 16), np.uint32)]
    (finding,) = check(shader, groups=(1,), sizes=(4, 32), inputs={"pictures": given}).findings
    assert (finding.kind, finding.place.line) == ("differs", 7)
    assert finding.element.startswith("pictures[1][0][")


def test_images_of_an_array_of_descriptors_with_different_formats_are_refused(written) -> None:
    shader = written(
        """#version 450
layout(local_size_x = 16) in;
layout(binding = 0) uniform sampler2D pictures[2];
layout(binding = 1) buffer Sums { float sums[]; };
void main() { sums[gl_GlobalInvocationID.x] = texelFetch(pictures[1], ivec2(0), 0).x; }
"""
    )
    given = [np.zeros((4, 4), np.float32), np.zeros((4, 4, 2), np.float32)]
    with pytest.raises(InvalidDispatch, match=r"pictures: all images .* need one format"):
        check(shader, inputs={"pictures": given})


# --- messages -----------------------------------------------------------------------------------------


def test_an_access_outside_of_an_image_names_descriptor_texel_and_extent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, report = chain(tmp_path, "ivec2(2, 0)"), tmp_path / "report.json"
    assert main(["check", "--with", str(file), "--device", "none", "--json", str(report)]) == 1
    (finding,) = json.loads(report.read_text())["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("bounds", 15)
    assert finding["message"] == "texel (8, 0) of levels[1] is outside its extent 8×8"


def test_an_atomic_outside_of_an_image_names_the_texel(written) -> None:
    shader = written(
        """#version 450
layout(local_size_x = 8) in;
layout(binding = 0, r32ui) uniform uimage2D counts[2];
void main() {
    imageAtomicAdd(counts[0], ivec2(gl_LocalInvocationIndex, 0), 1u);
    imageAtomicAdd(counts[1], ivec2(0, gl_LocalInvocationIndex), 1u);
}
"""
    )
    given = [np.zeros((1, 8), np.uint32), np.zeros((6, 8), np.uint32)]
    (finding,) = check(shader, groups=(1,), inputs={"counts": given}).findings
    assert (finding.kind, finding.place.line) == ("bounds", 6)
    assert finding.message == "texel (0, 6) of counts[1] is outside its extent 8×6"


# --- extents of generated images ----------------------------------------------------------------------

#: Shaders without errors by name: the local size, the images, and the body.
_RIGHT = {
    "a tile of 8x8 texels for each group of 64x1": (
        "64",
        "layout(binding = 0, r32f) uniform readonly image2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "uint i = gl_LocalInvocationIndex; ivec2 p = ivec2(gl_WorkGroupID.xy * 8u + uvec2(i & 7u, i >> 3u));"
        "imageStore(target, p, imageLoad(source, p));",
    ),
    "half the resolution of a storage image": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform readonly image2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "imageStore(target, p, imageLoad(source, 2 * p) + imageLoad(source, 2 * p + ivec2(1)));",
    ),
    "half the resolution of a sampled image, with a comparison": (
        "8, local_size_y = 8",
        "layout(binding = 0) uniform sampler2D source;"
        "layout(binding = 1, rgba16f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "if (any(greaterThanEqual(p, imageSize(target)))) return;"
        "imageStore(target, p, texelFetch(source, 2 * p, 0) + texelFetch(source, 2 * p + ivec2(1), 0));",
    ),
    "twice the resolution": (
        "8, local_size_y = 4",
        "layout(binding = 0) uniform texture2D source; layout(binding = 1) uniform sampler nearest;"
        "layout(binding = 2, rgba8) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "vec4 c = texelFetch(sampler2D(source, nearest), p, 0);"
        "for (int k = 0; k < 4; k++) imageStore(target, 2 * p + ivec2(k & 1, k >> 1), c);",
    ),
    "a coordinate from 0 to 1 by the size of a tile's image": (
        "64",
        "layout(binding = 0) uniform sampler2D source;"
        "layout(binding = 1, rgba8) uniform writeonly image2D target;",
        "uint i = gl_LocalInvocationIndex; ivec2 p = ivec2(gl_WorkGroupID.xy * 8u + uvec2(i & 7u, i >> 3u));"
        "vec2 uv = (vec2(p) + 0.5) / vec2(imageSize(target));"
        "if (uv.x < 2.0) imageStore(target, p, textureLod(source, uv, 0.0));",
    ),
    "a distance from the centre, compared": (
        "8, local_size_y = 8",
        "layout(binding = 0, rgba8) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy); ivec2 c = p - imageSize(target) / 2;"
        "imageStore(target, p, vec4(c.x * c.x + c.y * c.y < 25 ? 1.0 : 0.0));",
    ),
    "the opposite texel": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform readonly image2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "imageStore(target, p, imageLoad(source, imageSize(source) - 1 - p));",
    ),
    "neighbours clamped to the border": (
        "8, local_size_y = 8",
        "layout(binding = 0) uniform sampler2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy), last = textureSize(source, 0) - 1;"
        "imageStore(target, p, texelFetch(source, clamp(p - 1, ivec2(0), last), 0)"
        " + texelFetch(source, min(p + 1, last), 0));",
    ),
    "a transposed image": (
        "10, local_size_y = 8",
        "layout(binding = 0, r32f) uniform readonly image2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy); imageStore(target, p.yx, imageLoad(source, p));",
    ),
    "a size in a function, compared as floats": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform image2D target;"
        "bool inside(ivec2 p) { vec2 size = vec2(imageSize(target)); return all(lessThan(vec2(p), size)); }",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy); if (inside(p)) imageStore(target, p, vec4(1.0));",
    ),
    "three texels of a line for each invocation": (
        "32",
        "layout(binding = 0, r32ui) uniform writeonly uimage1D line;",
        "for (int k = 0; k < 3; k++) imageStore(line, 3 * int(gl_GlobalInvocationID.x) + k, uvec4(k));",
    ),
    "four texels of a texel buffer for each invocation": (
        "32",
        "layout(binding = 0) uniform samplerBuffer source;"
        "layout(binding = 1, r32f) uniform writeonly imageBuffer target;",
        "int i = int(gl_GlobalInvocationID.x); float sum = 0.0;"
        "for (int k = 0; k < 4; k++) sum += texelFetch(source, 4 * i + k).x;"
        "imageStore(target, i, vec4(sum));",
    ),
    "a volume of bricks": (
        "64",
        "layout(binding = 0, r32f) uniform image3D volume;",
        "uint i = gl_LocalInvocationIndex;"
        "ivec3 p = ivec3(gl_WorkGroupID.x * 4u + (i & 3u), (i >> 2u) & 3u, i >> 4u);"
        "imageStore(volume, p, imageLoad(volume, p) + 1.0);",
    ),
    "five layers": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform writeonly image2DArray layers;",
        "for (int k = 0; k < 5; k++) imageStore(layers, ivec3(gl_GlobalInvocationID.xy, k), vec4(k));",
    ),
    "a loop over all layers": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform readonly image2DArray layers;"
        "layout(binding = 1, r32f) uniform writeonly image2D sums;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy); vec4 sum = vec4(0.0); ivec3 size = imageSize(layers);"
        "for (int k = 0; k < size.z; k++) sum += imageLoad(layers, ivec3(p, k)); imageStore(sums, p, sum);",
    ),
    "layers of lines": (
        "16",
        "layout(binding = 0) uniform sampler1DArray source; layout(binding = 1) buffer O { vec4 o[]; };",
        "int i = int(gl_GlobalInvocationID.x); o[i] = texelFetch(source, ivec2(2 * i, 3), 0);",
    ),
    "the faces of a cube": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform imageCube cube;",
        "for (int k = 0; k < 6; k++) { ivec3 p = ivec3(gl_GlobalInvocationID.xy, k);"
        "imageStore(cube, p, imageLoad(cube, p) + 1.0); }",
    ),
    "the faces of cubes, from a dispatch of one dimension": (
        "32",
        "layout(binding = 0, r32f) uniform writeonly imageCubeArray cubes;",
        "for (int k = 0; k < 18; k++) imageStore(cubes, ivec3(gl_GlobalInvocationID.x, 0, k), vec4(k));",
    ),
    "cubes that are sampled": (
        "32",
        "layout(binding = 0) uniform samplerCubeArray cubes; layout(binding = 1) uniform samplerCube cube;"
        "layout(binding = 2) uniform samplerCubeArrayShadow depths;"
        "layout(binding = 3) buffer O { vec4 o[]; };",
        "uint i = gl_GlobalInvocationID.x; float last = float(textureSize(cubes, 0).z - 1);"
        "vec3 at = vec3(float(i) - 60.0, float(i % 7u) - 3.0, 5.0);"
        "o[i] = textureLod(cubes, vec4(at, last), 0.0) + textureLod(cube, at, 0.0)"
        " + texture(depths, vec4(at, 0.0), 0.5);",
    ),
    "several textures": (
        "16",
        "layout(binding = 0) uniform sampler2D textures[3]; layout(binding = 1) buffer O { vec4 o[]; };",
        "int i = int(gl_GlobalInvocationID.x); o[i] = texelFetch(textures[i % 2 == 0 ? 0 : 0], ivec2(i), 0)"
        " + texelFetch(textures[2], ivec2(2 * i, i), 0);",
    ),
    "the second level": (
        "8, local_size_y = 8",
        "layout(binding = 0) uniform sampler2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy); imageStore(target, p, texelFetch(source, p, 1));",
    ),
    "atomics in tiles": (
        "64",
        "layout(binding = 0, r32ui) uniform uimage2D counts;",
        "uint i = gl_LocalInvocationIndex; ivec2 p = ivec2(gl_WorkGroupID.xy * 8u + uvec2(i & 7u, i >> 3u));"
        "imageAtomicAdd(counts, p, 1u);",
    ),
}


def source(local_size: str, images: str, body: str) -> str:
    """Return a compute shader with its body in line 4."""
    return f"#version 460\nlayout(local_size_x = {local_size}) in;\n{images}\nvoid main() {{ {body} }}\n"


@pytest.mark.parametrize("name", _RIGHT)
def test_generated_images_contain_what_a_right_shader_accesses(name: str, written) -> None:
    report = check(written(source(*_RIGHT[name])), sizes=(8, 32))
    assert report.findings == ()
    assert report.questions == ()


_WRONG = {
    "no comparison in y": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "if (p.x < imageSize(target).x) imageStore(target, p, vec4(1.0));",
        "texel (0, 12) of target is outside its extent 12×12",
    ),
    "a comparison with one too many": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "if (all(lessThanEqual(p, imageSize(target)))) imageStore(target, p, vec4(1.0));",
        "texel (12, 0) of target is outside its extent 12×12",
    ),
    "no comparison at one access": (
        "64",
        "layout(binding = 0) uniform samplerBuffer source;"
        "layout(binding = 1, r32f) uniform writeonly imageBuffer target;",
        "int i = int(gl_GlobalInvocationID.x); vec4 c = texelFetch(source, i);"
        "if (i < textureSize(source)) imageStore(target, i, c);",
        "texel 252 of source is outside its extent 252",
    ),
    "the texel at the size": (
        "8",
        "layout(binding = 0, r32ui) uniform writeonly uimage1D line;",
        "imageStore(line, imageSize(line), uvec4(1));",
        "texel 8 of line is outside its extent 8",
    ),
    "the right neighbour": (
        "8, local_size_y = 8",
        "layout(binding = 0) uniform sampler2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
        "imageStore(target, p, texelFetch(source, p + ivec2(1, 0), 0));",
        "texel (16, 0) of source is outside its extent 16×16",
    ),
    "the left neighbour": (
        "16",
        "layout(binding = 0, r32f) uniform readonly image1DArray source;"
        "layout(binding = 1) buffer O { vec4 o[]; };",
        "int i = int(gl_GlobalInvocationID.x); o[i] = imageLoad(source, ivec2(i - 1, 5));",
        "texel -1 of layer 5 of source is outside its extent 64 with 6 layers",
    ),
    "the right neighbour in tiles": (
        "64",
        "layout(binding = 0, r32f) uniform readonly image2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "uint i = gl_LocalInvocationIndex; ivec2 p = ivec2(gl_WorkGroupID.xy * 8u + uvec2(i & 7u, i >> 3u));"
        "imageStore(target, p, imageLoad(source, p + ivec2(0, 1)));",
        "texel (0, 16) of source is outside its extent 128×16",
    ),
    "face 6 of a cube": (
        "8, local_size_y = 8",
        "layout(binding = 0, r32f) uniform writeonly imageCube cube;",
        "for (int k = 0; k < 7; k++) imageStore(cube, ivec3(gl_GlobalInvocationID.xy, k), vec4(1.0));",
        "texel (0, 0) of face 6 of cube is outside its extent 16×16 with 6 faces",
    ),
    "the slice behind a volume": (
        "4, local_size_y = 4, local_size_z = 4",
        "layout(binding = 0, r32f) uniform readonly image3D volume;"
        "layout(binding = 1, r32f) uniform writeonly image3D sums;",
        "ivec3 p = ivec3(gl_GlobalInvocationID);"
        "imageStore(sums, p, imageLoad(volume, p) + imageLoad(volume, p + ivec3(0, 0, 1)));",
        "texel (0, 0, 8) of volume is outside its extent 8×8×8",
    ),
    "coordinates that no image contains": (
        "8",
        "layout(binding = 0, r32f) uniform writeonly image2D target;",
        "imageStore(target, ivec2(gl_GlobalInvocationID.x * 100000u), vec4(1.0));",
        "texel (100000, 100000) of target is outside its extent 32×1",
    ),
}


@pytest.mark.parametrize("name", _WRONG)
def test_an_access_outside_of_a_generated_image_is_found(name: str, written) -> None:
    *parts, message = _WRONG[name]
    (finding,) = check(written(source(*parts)), sizes=(8, 32)).findings
    assert (finding.kind, finding.place.line) == ("bounds", 4)
    assert finding.message == message


def test_a_given_image_does_not_grow(written) -> None:
    shader = written(source(*_RIGHT["half the resolution of a storage image"]))
    given = np.zeros((16, 16), np.float32)
    (finding,) = check(shader, inputs={"source": given}).findings
    assert (finding.kind, finding.message) == (
        "bounds",
        "texel (16, 0) of source is outside its extent 16×16",
    )
    assert check(shader, inputs={"source": np.zeros((32, 32), np.float32)}).findings == ()


def test_images_grow_together(checked, written) -> None:
    report = checked(written(source(*_RIGHT["half the resolution of a storage image"])))
    assert [line.split(": ")[1] for line in report["covered"]["inputs"]] == ["random (32, 32)"] * 2


@pytest.mark.parametrize(("images", "faces"), [("samplerCube", 12), ("samplerCubeArray", 10)])
def test_an_array_without_the_faces_of_cubes_is_refused(images: str, faces: int, written) -> None:
    text = source(
        "8",
        f"layout(binding = 0) uniform {images} cubes; layout(binding = 1) buffer O {{ vec4 o[]; }};",
        "o[gl_GlobalInvocationID.x] = vec4(textureSize(cubes, 0).x);",
    )
    with pytest.raises(InvalidDispatch, match="the first axis must have 6 faces"):
        check(written(text), inputs={"cubes": np.zeros((faces, 4, 4), np.float32)})


def test_levels_and_cubes_are_those_of_a_real_device(checked, written) -> None:
    shader = written(
        """#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D pictures[2];
layout(binding = 1) uniform samplerCubeArray cubes;
layout(binding = 2, rgba32f) uniform writeonly image2D sums;
layout(binding = 3, rgba8) uniform writeonly imageCube faces;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    vec4 v = texelFetch(pictures[1], p, 1) + textureLod(pictures[0], (vec2(p) + 0.5) / 16.0, float(p.x % 3));
    v += textureLod(cubes, vec4(p.x - 5, p.y - 5, 20, 1), 1.0) + float(textureQueryLevels(pictures[1]));
    imageStore(sums, p, v + float(textureSize(cubes, 0).z));
    imageStore(faces, ivec3(p, p.x % 6), v / 64.0);
}
"""
    )
    report = checked(shader, devices=("swiftshader",))
    assert report["code"] == 0
    assert report["covered"]["devices"]
    inputs = dict(line.split(": ") for line in report["covered"]["inputs"])
    assert inputs["pictures"] == inputs["sums"] == "random (32, 32, 4)"
    assert inputs["cubes"] == "random (12, 16, 16, 4)"


def test_a_level_that_a_given_image_does_not_have_is_found(written) -> None:
    shader = written(
        source(
            "8, local_size_y = 8",
            "layout(binding = 0) uniform sampler2D source;"
            "layout(binding = 1, r32f) uniform writeonly image2D target;",
            "ivec2 p = ivec2(gl_GlobalInvocationID.xy);"
            "imageStore(target, p, texelFetch(source, p / 16, 4 + p.x / 8));",
        )
    )
    (finding,) = check(shader, inputs={"source": np.zeros((16, 16), np.float32)}).findings
    assert (finding.kind, finding.place.line) == ("bounds", 4)
    assert finding.message == "texel (0, 0) of level 5 of source is outside its extent 16×16 with 5 levels"


_FRAGMENT = """#version 460
layout(binding = 0) uniform sampler2D source;
layout(location = 0) out vec4 color;
void main() { color = EXPRESSION; }
"""


@pytest.mark.parametrize(
    ("expression", "kinds"),
    [
        # Helper invocations at the border read texels beyond it.
        ("texelFetch(source, ivec2(gl_FragCoord.xy), 0)", []),
        ("texelFetch(source, 2 * ivec2(gl_FragCoord.xy) + ivec2(1), 0)", []),
        ("texelFetch(source, 2 * ivec2(gl_FragCoord.xy) - ivec2(1), 0)", ["bounds"]),
        ("texelFetch(source, ivec2(gl_FragCoord.xy) + ivec2(0, 1), 0)", ["bounds"]),
        ("dFdx(texelFetch(source, ivec2(gl_FragCoord.xy), 0))", ["undefined"]),
    ],
)
def test_images_of_fragment_shaders(expression: str, kinds: list[str], written) -> None:
    shader = written(_FRAGMENT.replace("EXPRESSION", expression), "some.frag")
    report = check(shader, sizes=(4, 32))
    assert [(finding.kind, finding.place.line) for finding in report.findings] == [
        (kind, 4) for kind in kinds
    ]


def test_an_image_of_a_fragment_shader_on_a_real_device(checked, written) -> None:
    expression = "texelFetch(source, 2 * ivec2(gl_FragCoord.xy), 1)"
    report = checked(
        written(_FRAGMENT.replace("EXPRESSION", expression), "some.frag"), devices=("swiftshader",)
    )
    assert report["code"] == 0
    assert report["covered"]["devices"]


def test_the_expected_values_of_a_reproduction_folder_are_those_of_levels(
    checked, written, tmp_path: Path
) -> None:
    text = source(
        "8, local_size_y = 8",
        "layout(binding = 0) uniform sampler2D source;"
        "layout(binding = 1, r32f) uniform writeonly image2D target;",
        "ivec2 p = ivec2(gl_GlobalInvocationID.xy); imageStore(target, p, texelFetch(source, p / 2, 1));",
    )
    folder = tmp_path / "repro"
    assert checked(written(text), "--repro", str(folder))["code"] == 0
    record = json.loads((folder / "repro.json").read_text())
    texels = np.load(folder / record["bindings"]["0.0"])[..., 0]
    found = np.load(folder / record["runs"][0]["file"])
    assert np.array_equal(found, texels[::2, ::2].repeat(2, axis=0).repeat(2, axis=1))
