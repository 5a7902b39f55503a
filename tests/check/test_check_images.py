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
    assert report.covered.compared == 48
    (finding,) = check(shader, groups=(1,), inputs={"Data": given[::-1]}).findings
    assert (finding.kind, finding.place.line) == ("bounds", 4)


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
